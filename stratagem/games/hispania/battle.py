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
    key_of,
    others_of,
    room_of,
    row_of,
    slots_of,
    standing,
)
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import Tables

FACES = np.arange(1, 7)
LAST = (1 << 31) - 1


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


def losses(tables: Tables, sides: Sides, hits: Array) -> Array:
    """int32[2, S]: the hit points left to attackers and defenders, after the hits that each suffers.

    `hits`, int32[2, L], are by level; they strike from the lowest to the highest.
    """

    def both(field: str) -> Array:
        return jnp.stack([getattr(sides.attacker, field), getattr(sides.defender, field)])

    targets = jnp.stack([sides.attacking, sides.defending])
    hp, full, tough = both("hp"), both("full"), both("min_die")
    order = (both("price") * 16 + both("kind")) * AGES + both("age")
    through = [hits[:, : level + 1].sum(axis=1, dtype=jnp.int32) for level in range(len(tables.levels))]
    for number in range(SLOTS):
        value = jnp.zeros(2, jnp.int32)  # of this hit; none is left if it stays 0
        for level, die in reversed(list(enumerate(tables.levels.tolist()))):
            value = jnp.where(number < through[level], die, value)
        eligible = targets & (hp > 0) & (tough <= value[:, None])
        key = jnp.where(eligible, order + jnp.where(hp == full, 1 << 28, 0), LAST)
        hp = hp - (eligible & (key == key.min(axis=1, keepdims=True)))
    return hp


def fight(tables: Tables, state: State, outcome: Array) -> State:
    """A combat round: what the outcome of the dice does to both sides."""
    sides = sides_of(tables, state)
    battle, wide = state.battle, len(tables.hits)
    suffered = jnp.asarray(tables.hits)[jnp.stack([outcome % wide, outcome // wide])]
    hp = losses(tables, sides, suffered)
    targets = jnp.stack([sides.attacking, sides.defending])
    fallen = targets & (hp <= 0)
    left = (targets & ~fallen).any(axis=1)
    leaders = jnp.stack([leaders_in(sides.attacker, battle), leaders_in(sides.defender, battle)])
    widowed = leaders & ~left[:, None]
    glory = widowed.sum(axis=1, dtype=jnp.int32) * tables.scenario.rules.leader_kill_vp
    state = strike(state, sides, fallen | widowed, hp)
    state = score_kills(tables, state, sides, fallen, jnp.where(left[::-1], glory, 0))
    return state._replace(holder=put(state.holder, jnp.where(left[1], -1, battle), -1))


def strike(state: State, sides: Sides, gone: Array, hp: Array) -> State:
    """Pieces leave the game, bool[2, S], and the others keep their wounds."""
    nations = jnp.arange(len(state.vp))[:, None]
    attackers, defenders = nations == sides.attacker.nation, nations == sides.defender.nation
    lost = (attackers & gone[0]) | (defenders & gone[1])
    hits = jnp.where(attackers, hp[0], jnp.where(defenders, hp[1], state.hp))
    return state._replace(region=jnp.where(lost, -1, state.region), hp=hits)


def score_kills(tables: Tables, state: State, sides: Sides, fallen: Array, glory: Array) -> State:
    """Points for units destroyed, bool[2, S], up to the limit of the whole game, and for leaders, int32[2]."""
    nations = jnp.arange(len(state.vp))
    attacker, defender = nations == sides.attacker.nation, nations == sides.defender.nation
    attacks, defends = attacker[:, None] & defender, defender[:, None] & attacker
    lost = fallen.sum(axis=1, dtype=jnp.int32)
    number = jnp.where(attacks, lost[1], jnp.where(defends, lost[0], 0))
    gained = jnp.minimum(number, tables.foes - state.kills)
    extra = jnp.where(attacker, glory[1], jnp.where(defender, glory[0], 0))
    return state._replace(
        kills=state.kills + gained, vp=state.vp + gained.sum(axis=1, dtype=jnp.int32) + extra
    )


def destroy_attackers(tables: Tables, state: State, now: Array) -> State:
    """The attacker could not leave after the last combat round."""
    sides = sides_of(tables, state)
    units, leaders = now & sides.attacking, now & leaders_in(sides.attacker, state.battle)
    nobody = jnp.zeros_like(units)
    glory = leaders.sum(dtype=jnp.int32) * tables.scenario.rules.leader_kill_vp
    hp = jnp.stack([sides.attacker.hp, sides.defender.hp])
    state = strike(state, sides, jnp.stack([units | leaders, nobody]), hp)
    return score_kills(
        tables, state, sides, jnp.stack([units, nobody]), jnp.stack([glory, jnp.zeros_like(glory)])
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
    regions, nation = len(tables.on_map), state.nation
    row = row_of(tables, state, nation)
    rank = (key_of(row)[None] < key_of(row)[:, None]).sum(axis=1, dtype=jnp.int32)
    ours = (state.holder == nation) | (state.holder < 0)

    def units_at(region: Array) -> Array:
        """bool[R]"""
        return ((region[:, None] == jnp.arange(regions)) & ~row.leads[:, None]).any(axis=0)

    def lonely(region: Array) -> Array:
        empty = ~units_at(region) & tables.on_map
        return row.leads & ((region[:, None] == jnp.arange(regions)) & empty).any(axis=1)

    def one(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        region, strays = carry
        stray = strays.any()
        piece = jnp.argmin(jnp.where(jnp.where(stray, strays, lonely(region)), region * AGES + rank, LAST))
        spare = (region[:, None] == jnp.arange(regions)).sum(axis=0) < tables.scenario.rules.max_stack
        entry = at(state.entry, piece)
        back = stray & (entry >= 0) & at(spare & ours, entry)
        near = at(tables.far, at(region, piece)) * 128 + jnp.arange(regions)
        near = jnp.where(spare & ours & tables.on_map & units_at(region), near, LAST)
        nearest = jnp.where(near.min() < LAST, near.argmin(), -1)
        return put(region, piece, jnp.where(back, entry, nearest)), put(strays, piece, False)

    def astray(carry: tuple[Array, Array]) -> Array:
        region, strays = carry
        return strays.any() | lonely(region).any()

    region, _ = lax.while_loop(astray, one, (row.region, strays))
    went = region != row.region
    state = state._replace(region=put(state.region, nation, region), entry=jnp.where(went, -1, state.entry))
    return hold(tables, state, nation)


def battles_of(tables: Tables, state: State) -> Array:
    """bool[R]: where a battle waits."""
    row = row_of(tables, state, state.nation)
    _, hostile = others_of(tables, state, state.nation)
    return hostile & (counts_of(row, len(tables.on_map)).units > 0)
