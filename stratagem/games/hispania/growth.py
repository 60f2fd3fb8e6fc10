"""Income, purchases and overpopulation."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.hispania.arrays import at, lookup, put
from stratagem.games.hispania.scenario import FORT, SLOTS
from stratagem.games.hispania.stacks import (
    BITS,
    SIZES,
    codes_of,
    counts_of,
    picks_of,
    room_of,
    row_of,
    slots_of,
)
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import Tables


def held_by(state: State) -> Array:
    """bool[N, R]: who holds what."""
    return state.holder[None] == jnp.arange(len(state.vp))[:, None]


def income(tables: Tables, state: State) -> Array:
    """int32: the population points that the active nation receives; vassals give half of theirs."""
    yields = tables.of_region("pop") + lookup(tables.of_building("income"), state.building)
    due = state.round >= tables.of_nation("income_from")
    harvest = jnp.where(due, (held_by(state) * yields).sum(axis=1, dtype=jnp.int32), 0)
    own = at(harvest, state.nation)
    own = own - jnp.where(at(state.suzerain, state.nation) >= 0, own // 2, 0)
    tribute = jnp.where(state.suzerain == state.nation, harvest // 2, 0).sum(dtype=jnp.int32)
    return own + jnp.where(at(due, state.nation), tribute, 0)


def purchases(tables: Tables, state: State) -> tuple[Array, Array]:
    """(bool[R, 6], bool[6]): what may be bought where, by place on the menu, and which of it are units."""
    nation = state.nation
    menu = at(tables.menu, nation)
    unit, building, price = menu[:, 0], menu[:, 1], menu[:, 2]
    row = row_of(tables, state, nation)
    counts = counts_of(row, len(tables.on_map))
    held = state.holder == nation
    room = room_of(tables, state, nation, counts, 1, 0)
    counter = ((row.kind == unit[:, None]) & (row.region < 0)).any(axis=1)
    standing = (held & (state.building == building[:, None])).sum(axis=1, dtype=jnp.int32)
    counters = at(tables.building_counters, nation)
    plot = standing < jnp.where(building[:, None] == np.arange(4), counters, 0).sum(axis=1)
    bare = (state.building[:, None] == 0) | ((state.building[:, None] == FORT) & (building > FORT))
    is_unit = unit >= 0
    fine = jnp.where(is_unit, room[:, None] & counter, bare & plot & (building > 0))
    return fine & held[:, None] & (price <= at(state.points, nation)), is_unit


def buy(tables: Tables, state: State, region: Array, slot: Array, now: Array) -> State:
    """One item of the menu."""
    nation = state.nation
    item = at(at(tables.menu, nation), slot)
    unit, building, price = item[0], item[1], item[2]
    state = born(tables, state, nation, unit, region, now & (unit >= 0))
    built = now & (building > 0)
    nations = jnp.arange(len(state.vp))
    worth = lookup(tables.of_building("built_vp"), building)
    return state._replace(
        building=put(state.building, jnp.where(built, region, -1), building),
        points=state.points - jnp.where(now & (nations == nation), price, 0),
        vp=state.vp + jnp.where(built & (nations == nation), worth, 0),
    )


def born(tables: Tables, state: State, nation: Array, kind: Array, region: Array, now: Array) -> State:
    """A new unit takes the first free counter of its kind."""
    free = (at(tables.kind, nation) == kind) & (at(state.region, nation) < 0)
    return appear(tables, state, nation, jnp.argmax(free), region, now & free.any())


def appear(tables: Tables, state: State, nation: Array, place: Array, region: Array, now: Array) -> State:
    """A piece comes into play."""
    facts = at(tables.facts, nation)
    _, leads, hp = (at(facts, place)[field] for field in range(3))
    nations = jnp.arange(len(state.vp))
    unit = now & (leads == 0) & at(tables.on_map, region)
    settles = unit & (at(state.holder, region) < 0)
    here = now & (nations[:, None] == nation) & (jnp.arange(state.region.shape[1]) == place)
    return state._replace(
        region=jnp.where(here, region, state.region),
        hp=jnp.where(here, hp, state.hp),
        age=jnp.where(here, at(state.births, nation), state.age),
        births=state.births + (now & (nations == nation)),
        holder=put(state.holder, jnp.where(settles, region, -1), nation),
    )


# Overpopulation.


def surplus(tables: Tables, state: State) -> Array:
    """int32: units of the active nation above what its regions feed."""
    row = row_of(tables, state, state.nation)
    held = state.holder == state.nation
    units = jnp.where(held, counts_of(row, len(tables.on_map)).units, 0).sum(dtype=jnp.int32)
    return units - tables.scenario.rules.overpopulation_factor * held.sum(dtype=jnp.int32)


def removals(tables: Tables, state: State) -> Array:
    """bool[R, 64]: the units that the active nation may remove."""
    regions = len(tables.on_map)
    row = row_of(tables, state, state.nation)
    leads = jnp.arange(SLOTS) < counts_of(row, regions).leaders[:, None]
    spared = ~(BITS & leads[:, None]).any(axis=2)
    few = surplus(tables, state) >= SIZES
    held = state.holder == state.nation
    return picks_of(codes_of(row, slots_of(row), regions)) & spared & few & held[:, None]
