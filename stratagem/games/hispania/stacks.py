"""Who stands where: the pieces of one nation as rows, slots and counts.

Code is for one nation of one game. A set of pieces is bool[S], a set of regions bool[R].
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.hispania.arrays import at, lookup
from stratagem.games.hispania.scenario import SLOTS
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import MASKS, Tables

AGES = 1 << 14
BITS = (np.arange(MASKS)[:, None] >> np.arange(SLOTS)) & 1 == 1  # bool[64, 6]
SIZES = BITS.sum(axis=1).astype(np.int32)  # int32[64]


class Row(NamedTuple):
    """The pieces of one nation."""

    nation: Array  # int32
    region: Array  # int32[S]
    hp: Array  # int32[S]
    age: Array  # int32[S]
    moved: Array  # bool[S]: none but the active nation's pieces count as moved
    kind: Array  # int32[S]: −1 for no piece
    leads: Array  # bool[S]
    full: Array  # int32[S]: hit points of a fresh one
    attack: Array  # int32[S]
    defence: Array  # int32[S]
    min_die: Array  # int32[S]
    mp: Array  # int32[S]
    price: Array  # int32[S]


def row_of(tables: Tables, state: State, nation: Array) -> Row:
    pieces = at(jnp.stack([state.region, state.hp, state.age], axis=-1), nation)
    facts = at(tables.facts, nation)
    return Row(
        nation,
        pieces[:, 0],
        pieces[:, 1],
        pieces[:, 2],
        state.moved & (nation == state.nation),
        facts[:, 0],
        facts[:, 1] > 0,
        *(facts[:, number] for number in range(2, facts.shape[1])),
    )


def standing(row: Row, regions: int) -> Array:
    """bool[S, R]: where each piece stands."""
    return row.region[:, None] == jnp.arange(regions)


class Counts(NamedTuple):
    """How many of a nation stand in each region."""

    units: Array  # int32[R]
    leaders: Array  # int32[R]

    @property
    def pieces(self) -> Array:
        return self.units + self.leaders


def counts_of(row: Row, regions: int) -> Counts:
    here = standing(row, regions)
    leaders = (here & row.leads[:, None]).sum(axis=0, dtype=jnp.int32)
    return Counts(here.sum(axis=0, dtype=jnp.int32) - leaders, leaders)


def key_of(row: Row) -> Array:
    """int32[S]: grows in the order of slots: leaders, unit table, fewer hits left, not moved, older."""
    rank = jnp.where(row.leads, 0, 1 + row.kind)
    return ((rank * 16 + row.hp) * 2 + row.moved) * AGES + row.age


def slots_of(row: Row) -> Array:
    """int32[S]: the slot of each piece in its region."""
    key = key_of(row)
    before = (row.region[:, None] == row.region[None]) & (key[None] < key[:, None])
    return before.sum(axis=1, dtype=jnp.int32)


def codes_of(row: Row, slots: Array, regions: int) -> Array:
    """int32[R, 6]: what stands in each slot: equal numbers for pieces that are alike, 0 for nothing."""
    code = ((row.kind + 1) * 16 + row.hp) * 2 + row.moved
    place = jnp.where(row.region >= 0, row.region * SLOTS + slots, -1)
    found = jnp.where(place[:, None] == jnp.arange(regions * SLOTS), code[:, None], 0)
    return found.sum(axis=0, dtype=jnp.int32).reshape(regions, SLOTS)


def picks_of(codes: Array) -> Array:
    """bool[R, 64]: the choices of pieces that there are; of pieces alike the lower slots come first."""
    there = codes > 0
    repeats = jnp.concatenate([jnp.zeros_like(there[:, :1]), codes[:, 1:] == codes[:, :-1]], axis=1)
    weights = jnp.asarray(1 << np.arange(SLOTS), jnp.int32)
    present, repeated = (there * weights).sum(axis=1), ((repeats & there) * weights).sum(axis=1)
    masks = jnp.arange(MASKS)
    skipped = ((masks & repeated[:, None]) >> 1) & ~masks
    return ((masks & ~present[:, None]) == 0) & (skipped == 0) & (masks > 0)


def limit_of(tables: Tables, state: State, nation: Array) -> Array:
    """int32[R]: units that a nation may have in a region without a leader; buildings do not help among others."""
    base = jnp.asarray(tables.of_region("stack"))
    bonus = lookup(tables.of_building("stack"), state.building)
    alone = (state.holder == nation) | (state.holder < 0)
    return base + jnp.where(alone, bonus, 0)


def room_of(
    tables: Tables, state: State, nation: Array, counts: Counts, units: Array | int, leaders: Array | int
) -> Array:
    """bool[R]: where so many units and leaders of the nation may be added."""
    rules = tables.scenario.rules
    led = (counts.leaders > 0) | (jnp.asarray(leaders) > 0)
    limit = limit_of(tables, state, nation) + jnp.where(led, rules.leader_stack_bonus, 0)
    fits = (counts.units + units <= limit) | (jnp.asarray(units) == 0) | ~tables.on_map
    return fits & (counts.pieces + units + leaders <= rules.max_stack)


def friends_of(tables: Tables, state: State, nation: Array) -> Array:
    """bool[N]: nations of the same player, suzerain and vassals; itself too."""
    player = tables.of_nation("player")
    lord = at(state.suzerain, nation)
    suzerain = (jnp.arange(len(player)) == lord) & (lord >= 0)
    return (at(player, nation) == player) | suzerain | (state.suzerain == nation)


def others_of(tables: Tables, state: State, nation: Array) -> tuple[Array, Array]:
    """(bool[R], bool[R]): regions held by friends of the nation, and by its enemies."""
    other = (state.holder >= 0) & (state.holder != nation)
    held = state.holder[:, None] == jnp.arange(len(state.vp))
    friend = (held & friends_of(tables, state, nation)).any(axis=1)
    return other & friend, other & ~friend


def hold(tables: Tables, state: State, nation: Array) -> State:
    """The regions that a nation holds, after its pieces have moved."""
    row = row_of(tables, state, nation)
    units = counts_of(row, len(tables.on_map)).units > 0
    free = (state.holder == nation) | (state.holder < 0)
    held = jnp.where(units & tables.on_map, nation, -1)
    return state._replace(holder=jnp.where(free, held, state.holder))
