"""Income, purchases and overpopulation."""

import jax.numpy as jnp
from jax import Array

from stratagem.games.hispania.scenario import FORT, SLOTS
from stratagem.games.hispania.stacks import (
    BITS,
    SIZES,
    codes_of,
    counts_of,
    picks_of,
    put,
    put_row,
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
    yields = tables.of_region("pop") + jnp.asarray(tables.of_building("income"))[state.building]
    due = state.round >= jnp.asarray(tables.of_nation("income_from"))
    harvest = jnp.where(due, (held_by(state) * yields).sum(axis=1, dtype=jnp.int32), 0)
    own = harvest[state.nation]
    own = own - jnp.where(state.suzerain[state.nation] >= 0, own // 2, 0)
    tribute = jnp.where(state.suzerain == state.nation, harvest // 2, 0).sum(dtype=jnp.int32)
    return own + jnp.where(due[state.nation], tribute, 0)


def purchases(tables: Tables, state: State) -> tuple[Array, Array]:
    """(bool[R, 6], bool[6]): what may be bought where, by place on the menu, and which of it are units."""
    nation = state.nation
    menu = jnp.asarray(tables.menu)[nation]
    unit, building, price = menu[:, 0], menu[:, 1], menu[:, 2]
    row = row_of(tables, state, nation)
    counts = counts_of(row, len(tables.on_map))
    held = state.holder == nation
    room = room_of(tables, state, nation, counts, 1, 0)
    counter = ((row.kind == unit[:, None]) & (row.region < 0)).any(axis=1)
    standing = (held & (state.building == building[:, None])).sum(axis=1, dtype=jnp.int32)
    plot = standing < jnp.asarray(tables.building_counters)[nation][building]
    bare = (state.building[:, None] == 0) | ((state.building[:, None] == FORT) & (building > FORT))
    is_unit = unit >= 0
    fine = jnp.where(is_unit, room[:, None] & counter, bare & plot & (building > 0))
    return fine & held[:, None] & (price <= state.points[nation]), is_unit


def buy(tables: Tables, state: State, region: Array, slot: Array, now: Array) -> State:
    """One item of the menu."""
    nation = state.nation
    item = jnp.asarray(tables.menu)[nation, slot]
    unit, building, price = item[0], item[1], item[2]
    state = born(tables, state, nation, unit, region, now & (unit >= 0))
    built = now & (building > 0)
    nations = jnp.arange(len(state.vp))
    worth = jnp.asarray(tables.of_building("built_vp"))[building]
    return state._replace(
        building=put(state.building, jnp.where(built, region, -1), building),
        points=state.points - jnp.where(now & (nations == nation), price, 0),
        vp=state.vp + jnp.where(built & (nations == nation), worth, 0),
    )


def born(tables: Tables, state: State, nation: Array, kind: Array, region: Array, now: Array) -> State:
    """A new unit takes the first free counter of its kind."""
    free = (jnp.asarray(tables.kind)[nation] == kind) & (state.region[nation] < 0)
    return appear(tables, state, nation, jnp.argmax(free), region, now & free.any())


def appear(tables: Tables, state: State, nation: Array, place: Array, region: Array, now: Array) -> State:
    """A piece comes into play."""
    kind = jnp.asarray(tables.kind)[nation, place]
    hp = jnp.asarray(tables.of_unit("hp"))[kind]
    index = jnp.where(now, place, -1)
    nations = jnp.arange(len(state.vp))
    unit = now & (kind != tables.scenario.leader) & jnp.asarray(tables.on_map)[region]
    settles = unit & (state.holder[region] < 0)
    return state._replace(
        region=put_row(state.region, nation, put(state.region[nation], index, region)),
        hp=put_row(state.hp, nation, put(state.hp[nation], index, hp)),
        age=put_row(state.age, nation, put(state.age[nation], index, state.births[nation])),
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
