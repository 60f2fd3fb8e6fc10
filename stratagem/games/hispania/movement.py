"""Where groups may go. For all groups at once the regions are sets, a bit each; for one group costs are counted."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.hispania.arrays import at, lookup, pack, unpack
from stratagem.games.hispania.scenario import LAND, SEA, SLOTS, STRAIT
from stratagem.games.hispania.stacks import (
    BITS,
    SIZES,
    Counts,
    codes_of,
    counts_of,
    limit_of,
    others_of,
    picks_of,
    room_of,
    row_of,
    slots_of,
)
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import Tables

NEVER = 999


def longest_march(tables: Tables) -> int:
    """The most movement points that a group can have."""
    return int(tables.of_unit("mp").max())


def marches(tables: Tables, hostile: Array) -> Array:
    """uint32[mp + 1, 2, R, W]: the regions that a group with so many points, without or with a leader, can enter."""
    there = np.maximum(tables.neighbours, 0)
    exists = tables.neighbours >= 0
    price = tables.of_terrain("cost")  # int32[R]
    halts = tables.of_terrain("stop").astype(bool)[there] | (tables.borders_of == STRAIT)
    on = ~hostile[there] & np.stack([~halts, np.ones_like(halts)])  # bool[2, R, D]: may march on from there
    single = pack(jnp.eye(len(price), dtype=bool))[there]  # uint32[R, D, W]
    nothing = jnp.zeros((2, len(price), single.shape[-1]), jnp.uint32)
    onward, found = [nothing], [nothing]  # by points left; at the start any region can be entered
    for points in range(1, longest_march(tables) + 1):
        rest = nothing
        for cost in sorted(set(price.tolist())):
            if cost < points:
                rest = jnp.where((price == cost)[:, None], onward[points - cost], rest)
        sets = single | jnp.where(on[..., None], rest[:, there], jnp.uint32(0))
        for able, result in ((exists, found), (exists & (price[there] <= points), onward)):
            allowed = jnp.where(able[..., None], sets, jnp.uint32(0))
            result.append(lax.reduce(allowed, np.uint32(0), lax.bitwise_or, (2,)))
    return jnp.stack(found)


def fitting(tables: Tables, state: State, counts: Counts) -> Array:
    """uint32[7, 7, W]: the regions in which so many leaders and units may end a move."""
    friend, _ = others_of(tables, state, state.nation)
    ends = ~friend & tables.on_map
    leaders, units = np.arange(SLOTS + 1)[:, None, None], np.arange(SLOTS + 1)[None, :, None]
    rules = tables.scenario.rules
    led = (counts.leaders > 0) | (leaders > 0)
    limit = limit_of(tables, state, state.nation) + jnp.where(led, rules.leader_stack_bonus, 0)
    fits = jnp.where(units > 0, counts.units + units <= limit, counts.units > 0)
    return pack(ends & fits & (counts.pieces + units + leaders <= rules.max_stack))


def groups(tables: Tables, state: State) -> Array:
    """bool[R, 64]: the groups of the active nation that may move and have somewhere to go."""
    return (reaches(tables, state) != 0).any(axis=-1)


def destinations(tables: Tables, state: State) -> Array:
    """bool[R, 64, R]: where each group of the active nation may go."""
    return unpack(reaches(tables, state), len(tables.on_map))


def reaches(tables: Tables, state: State) -> Array:
    """uint32[R, 64, W]: the regions to which each group of the active nation may go; none if it may not move."""
    regions = len(tables.on_map)
    row = row_of(tables, state, state.nation)
    counts = counts_of(row, regions)
    codes = codes_of(row, slots_of(row), regions)
    kind, moved = codes // 32 - 1, codes % 2 == 1
    led_by = jnp.minimum(counts.leaders, SLOTS)
    is_leader = np.arange(SLOTS) < led_by[:, None]  # bool[R, 6]
    leaders = (BITS & is_leader[:, None]).sum(axis=2, dtype=jnp.int32)  # int32[R, 64]
    units = SIZES - leaders
    mp = lookup(tables.of_unit("mp"), kind)
    slowest = jnp.where(BITS & ~is_leader[:, None], mp[:, None], NEVER).min(axis=2)
    rules, leader = tables.scenario.rules, tables.scenario.units[tables.scenario.leader]
    led = leaders > 0
    points = jnp.where(led, jnp.minimum(slowest + rules.leader_mp_bonus, leader.mp), slowest)
    points = jnp.minimum(points, longest_march(tables))

    _, hostile = others_of(tables, state, state.nation)
    sea = pack(jnp.asarray(tables.sails))
    sea = jnp.where(at(tables.of_nation("ships"), state.nation) > 0, sea, jnp.uint32(0))
    self_set = pack(jnp.eye(regions, dtype=bool))
    ways = (marches(tables, hostile) | sea) & ~self_set  # uint32[mp + 1, 2, R, W]
    there = ways[points, led.astype(jnp.int32), np.arange(regions)[:, None]]  # uint32[R, 64, W]
    room = fitting(tables, state, counts)[leaders, units]
    tired = (BITS & moved[:, None]).any(axis=2)
    left, staying = counts.units[:, None] - units, counts.leaders[:, None] - leaders
    limit = limit_of(tables, state, state.nation)[:, None]
    bonus = rules.leader_stack_bonus
    before = counts.units[:, None] - limit - jnp.where(counts.leaders[:, None] > 0, bonus, 0)
    after = left - limit - jnp.where(staying > 0, bonus, 0)
    alone = (staying > 0) & (left == 0)
    crowded = jnp.maximum(after, 0) > jnp.maximum(before, 0)
    leaves = (~alone & ~crowded) | ~tables.on_map[:, None]
    free = picks_of(codes) & ~tired & leaves & ~hostile[:, None]
    return jnp.where(free[..., None], there & room, jnp.uint32(0))


class Ways(NamedTuple):
    """Where the picked group may go."""

    open: Array  # bool[R]
    entry: Array  # int32[R]: the region before the last step
    crossed: Array  # int32[R]: the last border


def ways_of(tables: Tables, state: State) -> Ways:
    """For the picked group: the cheapest paths, and the voyages where no path leads."""
    regions = len(tables.on_map)
    row = row_of(tables, state, state.nation)
    picked = state.picked
    origin = jnp.where(picked, row.region, -1).max()
    leaders = (picked & row.leads).sum(dtype=jnp.int32)
    units = picked.sum(dtype=jnp.int32) - leaders
    rules = tables.scenario.rules
    bonus = jnp.where((leaders > 0) & ~row.leads, rules.leader_mp_bonus, 0)
    points = jnp.where(picked, row.mp + bonus, NEVER).min()

    # Seen from the region that is entered, so that every region reads its own neighbours.
    before = np.maximum(tables.neighbours, 0)  # int32[R, D]
    exists = tables.neighbours >= 0
    price = tables.of_terrain("cost")[:, None]
    _, hostile = others_of(tables, state, state.nation)
    halts = tables.of_terrain("stop").astype(bool)[:, None] | (tables.borders_of == STRAIT)
    goes = ~hostile[:, None] & ((leaders > 0) | ~halts)
    spent = jnp.where(jnp.arange(regions) == origin, 0, NEVER)

    def arriving(spent: Array) -> Array:
        cost = spent[before] + price
        return jnp.where(exists & ((cost <= points) | (before == origin)), cost, NEVER)

    for _ in range(longest_march(tables) - 1):
        spent = jnp.minimum(spent, jnp.where(goes, arriving(spent), NEVER).min(axis=1))
    cost = arriving(spent)
    key = ((cost * 2 + (tables.borders_of != LAND)) * 128 + before).min(axis=1)
    by_land = cost.min(axis=1) < NEVER
    entry = key % 128
    ships = at(tables.of_nation("ships"), state.nation) > 0
    by_sea = ships & at(tables.sails, origin)

    counts = counts_of(row, regions)
    friend, _ = others_of(tables, state, state.nation)
    home = (units > 0) | (counts.units > 0)
    fits = room_of(tables, state, state.nation, counts, units, leaders) & tables.on_map & ~friend & home
    crossed = jnp.where(before == entry[:, None], tables.borders_of, 0).max(axis=1)
    return Ways(
        open=(by_land | by_sea) & fits & (jnp.arange(regions) != origin),
        entry=jnp.where(by_land, entry, origin),
        crossed=jnp.where(by_land, crossed, SEA),
    )
