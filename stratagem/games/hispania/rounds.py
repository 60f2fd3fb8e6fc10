"""What happens between nation turns: points, clean-up, events, arrivals, and whose turn is next."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.hispania.arrays import at, lookup, put
from stratagem.games.hispania.growth import held_by, income
from stratagem.games.hispania.stacks import (
    Counts,
    hold,
    others_of,
    room_of,
)
from stratagem.games.hispania.state import DONE, GROW, TURN_OVER, State
from stratagem.games.hispania.tables import Tables


class Arriving(NamedTuple):
    """What arrivals change, and which of them are still to be placed."""

    region: Array  # int32[N, S]
    age: Array  # int32[N, S]
    births: Array  # int32[N]
    holder: Array  # int32[R]
    waiting: Array  # bool[K]
    due: Array  # bool[K]


def table_points(tables: Tables, state: State, held: Array, nation: Array) -> Array:
    """int32[N]: what the lines of `nation`, int32[N], give in this round for the regions in each row of `held`."""
    worth = at(tables.worth, state.round)  # int32[N, R]
    own = jnp.arange(len(state.vp))[:, None] == nation  # bool[owner, row]
    total = jnp.where(own[..., None], worth[:, None], 0).sum(axis=0, dtype=jnp.int32)
    total = (held * total).sum(axis=1, dtype=jnp.int32)
    for owner, when, where, least, points in tables.least:
        enough = (held & where).sum(axis=1) >= least
        total += jnp.where(enough & (nation == owner) & at(when, state.round), points, 0)
    return total


def count(tables: Tables, state: State) -> State:
    """A VP count, if this round has one."""
    held, nations = held_by(state), jnp.arange(len(state.vp))
    worth = tables.of_region("vp") + lookup(tables.of_building("vp"), state.building)
    capital = held[nations, tables.of_nation("capital")] * tables.scenario.rules.capital_vp
    total = table_points(tables, state, held, nations) + (held * worth).sum(axis=1, dtype=jnp.int32) + capital
    vassal = state.suzerain >= 0
    total -= jnp.where(vassal, total // 2, 0)
    tribute = jnp.where(vassal, table_points(tables, state, held, jnp.maximum(state.suzerain, 0)) // 2, 0)
    total += jnp.where(state.suzerain[None] == nations[:, None], tribute[None], 0).sum(
        axis=1, dtype=jnp.int32
    )
    return state._replace(vp=state.vp + jnp.where(at(tables.counted, state.round), total, 0))


def clean_up(tables: Tables, state: State) -> State:
    """Leaders whose stay is over leave; vassals may break free."""
    over = tables.leads & (tables.leaves <= state.round)
    lost = (tables.of_arrival("place") >= 0) & (tables.of_arrival("leave") <= state.round)
    regions = held_by(state).sum(axis=1)
    strong = jnp.where(state.suzerain[:, None] == jnp.arange(len(regions)), regions, 0).sum(axis=1)
    free = (strong == 0) | (strong < regions)
    return state._replace(
        region=jnp.where(over, -1, state.region),
        waiting=state.waiting & ~lost,
        suzerain=jnp.where(free, -1, state.suzerain),
    )


def events(tables: Tables, state: State) -> State:
    """Withdrawals and transformations of this round."""
    for event in tables.scenario.events:
        now = state.round == event.round
        gone = np.arange(len(tables.kind)) == event.nation
        left = state
        state = state._replace(
            region=jnp.where(now & gone[:, None], -1, state.region),
            holder=jnp.where(now & (state.holder == event.nation), -1, state.holder),
            points=jnp.where(now & gone, 0, state.points),
            suzerain=jnp.where(now & (gone | (state.suzerain == event.nation)), -1, state.suzerain),
            waiting=state.waiting & ~(now & (tables.of_arrival("nation") == event.nation)),
        )
        if event.to >= 0:
            state = transform(tables, left, state, event.nation, event.to, dict(event.convert), now)
    return state


def transform(
    tables: Tables, left: State, state: State, old: int, new: int, convert: dict[int, int], now: Array
) -> State:
    """The on-map units of `left` become units of the new nation, the oldest first, as far as counters go."""
    becomes = np.array([convert.get(int(kind), -1) for kind in tables.kind[old]], np.int32)
    place, age = left.region[old], left.age[old]
    there = (becomes >= 0) & (place >= 0) & jnp.asarray(tables.on_map)[place]
    older = age[None] < age[:, None]
    rank = (older & there[None] & (becomes[None] == becomes[:, None])).sum(axis=1)
    kinds = tables.kind[new]
    free = state.region[new] < 0
    earlier = (free[None] & (kinds[None] == kinds[:, None]) & np.tri(len(kinds), k=-1, dtype=bool)).sum(
        axis=1
    )
    same = (
        (becomes[:, None] == kinds) & (rank[:, None] == earlier) & there[:, None] & free & now
    )  # [old, new]
    made = same.any(axis=1)
    number = state.births[new] + (older & made[None]).sum(axis=1)
    taken = same.any(axis=0)

    def carried(values: Array) -> Array:
        return jnp.where(same, values[:, None], 0).sum(axis=0, dtype=jnp.int32)

    region = jnp.where(taken, carried(place), state.region[new])
    hp = jnp.where(taken, tables.of_unit("hp")[kinds], state.hp[new])
    ages = jnp.where(taken, carried(number), state.age[new])
    state = state._replace(
        region=state.region.at[new].set(region),
        hp=state.hp.at[new].set(hp),
        age=state.age.at[new].set(ages),
        births=state.births.at[new].add(made.sum(dtype=jnp.int32)),
    )
    return hold(tables, state, jnp.int32(new))


def arrive(tables: Tables, state: State, due: Array) -> State:
    """Place these arrivals, bool[K], one by one; what finds no room goes on waiting."""

    def some(carry: Arriving) -> Array:
        return carry.due.any()

    def one(carry: Arriving) -> Arriving:
        return place(tables, state, carry)

    start = Arriving(state.region, state.age, state.births, state.holder, state.waiting, due)
    end = lax.while_loop(some, one, start)
    full = tables.of_unit("hp")[np.maximum(tables.kind, 0)]
    return state._replace(
        region=end.region,
        hp=jnp.where((state.region < 0) & (end.region >= 0), full, state.hp),
        age=end.age,
        births=end.births,
        holder=end.holder,
        waiting=end.waiting,
    )


def place(tables: Tables, state: State, now: Arriving) -> Arriving:
    """The first of those that are due."""
    number = jnp.argmax(now.due)
    facts = at(np.stack([tables.of_arrival(field) for field in ("nation", "uprising", "leader")], 1), number)
    nation, uprising, leader = facts[0], facts[1] > 0, facts[2]
    ours, leads = at(now.region, nation), at(tables.leads, nation)
    free = at(tables.arrival_places, number) & (ours < 0)
    state = state._replace(holder=now.holder)
    here = ours[:, None] == jnp.arange(len(tables.on_map))
    led = (here & leads[:, None]).sum(axis=0, dtype=jnp.int32)
    counts = Counts(here.sum(axis=0, dtype=jnp.int32) - led, led)
    room = room_of(tables, state, nation, counts, 1 - leader, leader)
    open_to = (now.holder == nation) | (now.holder < 0) | ~tables.on_map
    if any(one.uprising for one in tables.arrivals):
        open_to |= uprising & others_of(tables, state, nation)[1]
    takes = room & open_to & ((leader == 0) | (counts.units > 0) | ~tables.on_map)
    listed = at(tables.arrival_at, number)
    fits = ((listed[:, None] == jnp.arange(len(takes))) & takes).any(axis=1)
    rank = jnp.where(room & (now.holder == nation), tables.of_region("pop") + 1, 0)
    found = fits.any() | (rank > 0).any()
    region = jnp.where(fits.any(), at(listed, jnp.argmax(fits)), jnp.argmax(rank))

    comes = found & free.any()
    own = jnp.arange(len(tables.kind)) == nation
    piece = comes & own[:, None] & (jnp.arange(len(free)) == jnp.argmax(free))
    settles = comes & (leader == 0) & (jnp.arange(len(takes)) == region) & tables.on_map & (now.holder < 0)
    return Arriving(
        region=jnp.where(piece, region, now.region),
        age=jnp.where(piece, now.births[:, None], now.age),
        births=now.births + (comes & own),
        holder=jnp.where(settles, nation, now.holder),
        waiting=put(now.waiting, jnp.where(found | ~free.any(), number, -1), False),
        due=put(now.due, number, False),
    )


def due_arrivals(tables: Tables, state: State, uprising: Array) -> Array:
    """bool[K]: arrivals that come now, or the uprisings of the active nation."""
    nation = tables.of_arrival("nation")
    start, end = tables.of_nation("start")[nation], tables.of_nation("end")[nation]
    alive = (start <= state.round) & (state.round <= end)
    rises = tables.of_arrival("uprising") > 0
    chosen = jnp.where(uprising, rises & (nation == state.nation), ~rises)
    return state.waiting & (tables.of_arrival("round") <= state.round) & alive & chosen


def takes_turn(tables: Tables, state: State) -> Array:
    """bool[N]: the nations that have a turn in this round."""
    present = (state.region >= 0).any(axis=1)
    nation = tables.of_arrival("nation")
    rising = state.waiting & (tables.of_arrival("uprising") > 0) & (tables.of_arrival("round") <= state.round)
    uprising = [number for number, one in enumerate(tables.arrivals) if one.uprising]
    for number in uprising:
        present = present | (rising[number] & (np.arange(len(tables.kind)) == nation[number]))
    alive = (tables.of_nation("start") <= state.round) & (state.round <= tables.of_nation("end"))
    return present & alive


def next_turn(tables: Tables, state: State) -> State:
    """From the end of one nation's turn to the start of the next one's, through as many rounds as that takes."""

    def over(state: State) -> Array:
        return state.phase == TURN_OVER

    def choose(state: State) -> State:
        nations = jnp.arange(len(state.vp))
        able = takes_turn(tables, state) & (nations > state.nation)
        found = able.any()
        ended = cond_state(found, state, clean_up(tables, count(tables, state)))
        last = state.round >= tables.scenario.rounds
        new_round = ended._replace(round=state.round + ~last, nation=jnp.int32(-1))
        changed = cond_state(last, ended, events(tables, new_round))
        turn = state._replace(nation=jnp.argmax(able).astype(jnp.int32))
        state = cond_state(found, turn, changed)
        return arrive(
            tables, start_turn(tables, state, found, ~found & last), due_in(tables, state, found, last)
        )

    return lax.while_loop(over, choose, state)


def due_in(tables: Tables, state: State, found: Array, last: Array) -> Array:
    """bool[K]: what comes now: uprisings at the start of a turn, the rest at the start of a round."""
    return due_arrivals(tables, state, found) & (found | ~last)


def start_turn(tables: Tables, state: State, found: Array, ended: Array) -> State:
    """The active nation recovers; its phase is set."""
    heals = found & (jnp.arange(len(state.vp)) == state.nation)
    full = tables.of_unit("hp")[np.maximum(tables.kind, 0)]
    phase = jnp.where(found, GROW, jnp.where(ended, DONE, TURN_OVER))
    return state._replace(
        hp=jnp.where(heals[:, None], full, state.hp), half=jnp.int32(1), phase=phase.astype(jnp.int32)
    )


def earn(tables: Tables, state: State, now: Array) -> State:
    """Growth begins with the income."""
    own = jnp.arange(len(state.vp)) == state.nation
    return state._replace(points=state.points + jnp.where(now & own, income(tables, state), 0))


def cond_state(condition: Array, one: State, other: State) -> State:
    """Field by field: `one` if the condition holds, else the other."""
    return State(*(jnp.where(condition, a, b) for a, b in zip(one, other, strict=True)))
