"""Battles: dice, losses, retreats and submission. The active nation attacks, whoever holds the region defends."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.hispania.arrays import at, lookup, put
from stratagem.games.hispania.scenario import LAND, SLOTS
from stratagem.games.hispania.stacks import (
    AGES,
    Row,
    counts_of,
    hold,
    others_of,
    room_of,
    row_of,
    slots_of,
    standing,
)
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import Tables

FACES = np.arange(1, 7)


class Sides(NamedTuple):
    """The two nations in the battle, and their pieces there."""

    attacker: Row
    defender: Row
    attacking: Array  # bool[S]: units
    defending: Array  # bool[S]: units


def sides_of(tables: Tables, state: State) -> Sides:
    attacker = row_of(tables, state, state.nation)
    defender = row_of(tables, state, at(state.holder, state.battle))
    here = state.battle >= 0
    return Sides(
        attacker=attacker,
        defender=defender,
        attacking=here & (attacker.region == state.battle) & ~attacker.leads,
        defending=here & (defender.region == state.battle) & ~defender.leads,
    )


def leaders_in(row: Row, battle: Array) -> Array:
    return (row.region == battle) & row.leads


# Dice.


def hit_levels(tables: Tables, state: State) -> tuple[Array, Array, Array, Array]:
    """For each side the level (0 for a miss) of every unit at every face, int32[S, 6], and its die, int32[S]."""
    rules, sides = tables.scenario.rules, sides_of(tables, state)
    battle = state.battle
    helped = jnp.where(leaders_in(sides.attacker, battle).any(), rules.leader_die_bonus, 0)
    inspired = jnp.where(leaders_in(sides.defender, battle).any(), rules.leader_die_bonus, 0)
    walls = lookup(tables.of_building("defence"), at(state.building, battle))
    slope = at(tables.of_terrain("defence"), battle)
    wet = (state.combat == 1) & (state.entry >= 0) & (state.crossed != LAND)
    change = helped - slope - walls - jnp.where(wet, rules.crossing_penalty, 0)

    def levels(change: Array, strength: Array, fights: Array) -> Array:
        value = FACES + change[:, None]
        hits = (FACES == 6) | ((FACES != 1) & (value >= strength[:, None]))
        worth = jnp.where(FACES == 6, 6, jnp.clip(value, 1, 6))
        level = (tables.levels <= worth[..., None]).sum(axis=2, dtype=jnp.int32)
        return jnp.where(hits & fights[:, None], level, 0)

    def die(row: Row) -> Array:
        leaders = leaders_in(row, battle).sum(dtype=jnp.int32)
        return jnp.clip(slots_of(row) - leaders, 0, SLOTS - 1)

    calm = jnp.full_like(change, inspired)
    return (
        levels(change, sides.attacker.attack, sides.attacking),
        levels(calm, sides.defender.defence, sides.defending),
        die(sides.attacker),
        die(sides.defender),
    )


def outcome_of(tables: Tables, state: State, dice: Array) -> Array:
    """int32: the outcome that these faces, int32[2, 6], bring; 0 when nothing is rolled."""
    attack, defence, attack_die, defence_die = hit_levels(tables, state)

    def index(levels: Array, die: Array, faces: Array) -> Array:
        face = jnp.where(die[:, None] == np.arange(SLOTS), faces, 0).sum(axis=1, dtype=jnp.int32)
        level = jnp.where(face[:, None] == FACES, levels, 0).sum(axis=1)
        counts = jnp.stack(
            [(level == number + 1).sum(dtype=jnp.int32) for number in range(len(tables.levels))]
        )
        return jnp.argmax((tables.hits == counts).all(axis=1)).astype(jnp.int32)

    return index(attack, attack_die, dice[0]) * len(tables.hits) + index(defence, defence_die, dice[1])


def outcome_chances(tables: Tables, state: State) -> Array:
    """float32[J · J]: how likely each outcome is; when nothing is rolled all levels are misses, and it is the first."""
    attack, defence, *_ = hit_levels(tables, state)
    sides = sides_of(tables, state)

    def spread(levels: Array, fights: Array) -> Array:
        """float32[J]: units are added one by one to the hits so far."""
        depth = len(tables.levels)
        chances = jnp.zeros((SLOTS + 1,) * depth).at[(0,) * depth].set(1.0)
        # Only six units at most fight, but they may stand anywhere in the row: bring them to the front.
        first = jnp.argsort(~fights, stable=True)[:SLOTS]
        for unit in range(min(SLOTS, fights.shape[0])):
            faces = levels[first[unit]]
            share = [(faces == level).sum() / 6 for level in range(depth + 1)]
            added = share[0] * chances
            for level in range(depth):
                shifted = jnp.roll(chances, 1, axis=level)
                added = added + share[level + 1] * shifted
            chances = added
        return chances[tuple(tables.hits.T)]

    attacks, defends = spread(attack, sides.attacking), spread(defence, sides.defending)
    return (attacks[:, None] * defends[None]).reshape(-1).astype(jnp.float32)


# Losses.


def losses(tables: Tables, row: Row, targets: Array, hits: Array) -> Array:
    """int32[S]: the hit points left after these hits, int32[L] by level, from the lowest to the highest."""
    order = (row.price * 16 + row.kind) * AGES + row.age
    last = (1 << 31) - 1
    through = jnp.cumsum(hits)
    hp = row.hp
    for number in range(SLOTS):
        level = (number >= through).sum(dtype=jnp.int32)  # the level of this hit; none left if it is too high
        value = lookup(tables.levels, level)
        eligible = targets & (hp > 0) & (row.min_die <= value)
        key = jnp.where(eligible, order + jnp.where(hp == row.full, 1 << 28, 0), last)
        hp = hp - (eligible & (key == key.min()))
    return hp


def fight(tables: Tables, state: State, outcome: Array) -> State:
    """A combat round: what the outcome of the dice does to both sides."""
    sides = sides_of(tables, state)
    rules, battle = tables.scenario.rules, state.battle
    wide = len(tables.hits)
    defender_hp = losses(tables, sides.defender, sides.defending, at(tables.hits, outcome // wide))
    attacker_hp = losses(tables, sides.attacker, sides.attacking, at(tables.hits, outcome % wide))
    killed = sides.defending & (defender_hp <= 0)
    lost = sides.attacking & (attacker_hp <= 0)
    attackers_left = (sides.attacking & ~lost).any()
    defenders_left = (sides.defending & ~killed).any()
    widows = leaders_in(sides.attacker, battle) & ~attackers_left
    orphans = leaders_in(sides.defender, battle) & ~defenders_left
    attacker, defender = sides.attacker.nation, sides.defender.nation
    state = state._replace(
        region=put(
            put(state.region, defender, jnp.where(killed | orphans, -1, sides.defender.region)),
            attacker,
            jnp.where(lost | widows, -1, sides.attacker.region),
        ),
        hp=put(put(state.hp, defender, defender_hp), attacker, attacker_hp),
    )
    glory = rules.leader_kill_vp
    state = score_kills(
        tables, state, attacker, defender, killed, jnp.where(attackers_left, orphans.sum() * glory, 0)
    )
    state = score_kills(
        tables, state, defender, attacker, lost, jnp.where(defenders_left, widows.sum() * glory, 0)
    )
    return state._replace(holder=put(state.holder, jnp.where(defenders_left, -1, battle), -1))


def score_kills(
    tables: Tables, state: State, killer: Array, victim: Array, fallen: Array, extra: Array
) -> State:
    """Points for units destroyed, up to the limit of the whole game, and for leaders."""
    most = at(at(tables.foes - state.kills, killer), victim)
    gained = jnp.minimum(fallen.sum(dtype=jnp.int32), most)
    nations = jnp.arange(len(state.vp))
    pair = (nations[:, None] == killer) & (nations[None] == victim)
    return state._replace(
        kills=state.kills + jnp.where(pair, gained, 0),
        vp=state.vp + jnp.where(nations == killer, gained + extra, 0),
    )


def destroy_attackers(tables: Tables, state: State, now: Array) -> State:
    """The attacker could not leave after the last combat round."""
    sides = sides_of(tables, state)
    fallen, leaders = now & sides.attacking, now & leaders_in(sides.attacker, state.battle)
    region = jnp.where(fallen | leaders, -1, sides.attacker.region)
    return score_kills(
        tables,
        state._replace(region=put(state.region, state.nation, region)),
        sides.defender.nation,
        sides.attacker.nation,
        fallen,
        leaders.sum() * tables.scenario.rules.leader_kill_vp,
    )


# Retreats.


def refuges(tables: Tables, state: State) -> Array:
    """bool[R]: where the defender may retreat to."""
    sides, regions = sides_of(tables, state), len(tables.on_map)
    nation, counts = sides.defender.nation, counts_of(sides.defender, regions)
    entered = (sides.attacking[:, None] & (state.entry[:, None] == jnp.arange(regions))).any(axis=0)
    free = ((state.holder == nation) | (state.holder < 0)) & (counts_of(sides.attacker, regions).units == 0)
    border = at(tables.border >= 0, state.battle)
    leaders = leaders_in(sides.defender, state.battle).sum(dtype=jnp.int32)
    room = room_of(tables, state, nation, counts, sides.defending.sum(dtype=jnp.int32), leaders)
    return border & tables.on_map & free & ~entered & room


def ways_back(tables: Tables, state: State) -> Array:
    """bool[R]: where the attacker may retreat to."""
    sides, regions = sides_of(tables, state), len(tables.on_map)
    entered = (sides.attacking[:, None] & (state.entry[:, None] == jnp.arange(regions))).any(axis=0)
    free = (state.holder == state.nation) | (state.holder < 0)
    leaders = leaders_in(sides.attacker, state.battle).sum(dtype=jnp.int32)
    counts = counts_of(sides.attacker, regions)
    room = room_of(tables, state, state.nation, counts, sides.attacking.sum(dtype=jnp.int32), leaders)
    return entered & tables.on_map & free & room


def retreat(tables: Tables, state: State, nation: Array, to: Array, now: Array) -> State:
    """All pieces of a side go to one region."""
    row = row_of(tables, state, nation)
    goes = now & (row.region == state.battle)
    defends = now & (nation == at(state.holder, state.battle))
    entry = jnp.where(goes & (nation == state.nation), -1, state.entry)
    holder = put(state.holder, jnp.where(now, to, -1), nation)
    holder = put(holder, jnp.where(defends, state.battle, -1), -1)
    return state._replace(
        region=put(state.region, nation, jnp.where(goes, to, row.region)), entry=entry, holder=holder
    )


# Submission.


def may_submit(tables: Tables, state: State) -> Array:
    """bool: whether the defender may become a vassal of the attacker."""
    attacker, defender = state.nation, at(state.holder, state.battle)
    free = (at(state.suzerain, defender) < 0) & ~(state.suzerain == defender).any()
    willing = (at(tables.of_nation("subdues"), attacker) > 0) & (
        at(tables.of_nation("submits"), defender) > 0
    )
    return willing & free & tables.scenario.rules.submission


def submit(tables: Tables, state: State, now: Array) -> tuple[State, Array]:
    """The defender becomes a vassal; the attackers of all its regions, bool[S], are to go home."""
    defender = at(state.holder, state.battle)
    row = row_of(tables, state, state.nation)
    strays = now & (standing(row, len(tables.on_map)) & (state.holder == defender)).any(axis=1)
    suzerain = put(state.suzerain, jnp.where(now, defender, -1), state.nation)
    return state._replace(suzerain=suzerain), strays


def send_home(tables: Tables, state: State, strays: Array) -> State:
    """Strays go back to where they came from, one by one; leaders without units go to the nearest own region."""
    rules, regions = tables.scenario.rules, len(tables.on_map)
    nation = state.nation
    first = row_of(tables, state, nation)
    order = first.region * (SLOTS + 2) + slots_of(first)
    never = 1 << 20

    def lonely(state: State) -> Array:
        row = row_of(tables, state, nation)
        empty = (counts_of(row, regions).units == 0) & tables.on_map
        return row.leads & (standing(row, regions) & empty).any(axis=1)

    def one(carry: tuple[State, Array]) -> tuple[State, Array]:
        state, strays = carry
        row = row_of(tables, state, nation)
        alone = row.region * (SLOTS + 2) + slots_of(row)
        key = jnp.where(strays.any(), jnp.where(strays, order, never), jnp.where(lonely(state), alone, never))
        piece = jnp.argmin(key)
        here, entry = at(row.region, piece), at(state.entry, piece)
        pieces = counts_of(row, regions).pieces
        spare = pieces < rules.max_stack
        free = (state.holder == nation) | (state.holder < 0)
        back = strays.any() & (entry >= 0) & at(spare & free, entry)
        near = at(tables.far, here) * 128 + jnp.arange(regions)
        near = jnp.where(spare & (state.holder == nation), near, never)
        nearest = jnp.where(near.min() < never, near.argmin(), -1)
        region = put(row.region, piece, jnp.where(back, entry, nearest))
        state = state._replace(region=put(state.region, nation, region), entry=put(state.entry, piece, -1))
        return hold(tables, state, nation), put(strays, piece, False)

    def astray(carry: tuple[State, Array]) -> Array:
        state, strays = carry
        return strays.any() | lonely(state).any()

    return lax.while_loop(astray, one, (state, strays))[0]


def battles_of(tables: Tables, state: State) -> Array:
    """bool[R]: where a battle waits."""
    row = row_of(tables, state, state.nation)
    _, hostile = others_of(tables, state, state.nation)
    return hostile & (counts_of(row, len(tables.on_map)).units > 0)
