"""The historical player of Hispania, as the built-in one is described: it looks at what is near, and no turn ahead.

Its nations go where the scenario rewards them for going, the way their history went; they garrison and reinforce what
they hold, attack when the odds are good, and are slow to submit and careful not to starve.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.agent import Forgetful
from stratagem.agents.hispania_odds import (
    Force,
    enemies_of,
    groups_of,
    keeping,
    stacks_of,
    threats,
    victory,
    whole,
)
from stratagem.agents.hispania_worth import coming, gains
from stratagem.core.game import View
from stratagem.games.hispania.arrays import at, lookup
from stratagem.games.hispania.encoding import distances
from stratagem.games.hispania.movement import destinations
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.stacks import BITS, friends_of, row_of, slots_of
from stratagem.games.hispania.state import ATTACK, CHOOSE, DEFEND, GO, GROW, PICK, REMOVE, State, widen

UNIT = 0.6  # points that a unit is worth
LEADER = 2.0
CLAIM = 0.3  # for land that nobody holds: it feeds two units
STOP = 0.02


class Outlook(NamedTuple):
    """What the deciding nation makes of the map."""

    hold: Array  # float32[R]: what a region is worth to it
    prize: Array  # float32[R]: what taking it is worth, where enemies hold it
    group: Force  # [R, 64], its attack [R, 64, R]: its groups
    led: Array  # bool[R, 64]
    units: Array  # float32[R, 64]
    own: Force  # [R]: all of its pieces
    enemies: Force  # [R]
    threat: Force  # [R]
    hostile: Array  # bool[R]: held by enemies


@dataclass(frozen=True)
class Historical(Forgetful):
    """Goes where its nations are rewarded, garrisons, attacks when the odds are good."""

    game: Hispania
    traceable: ClassVar[bool] = True

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        liking = self.liking(self.game.state_of(view)).reshape(-1)
        noise = jax.random.uniform(key, liking.shape, maxval=0.005)
        return jnp.argmax(jnp.where(legal, liking + noise, -jnp.inf)).astype(jnp.int32)

    def liking(self, kept: State) -> Array:
        """float32[R + 1, 64]: how much it likes each token."""
        state = widen(kept)
        phase = state.phase
        seen = self.outlook(state)
        moves = self.moves(state, seen)  # [R, 64, R]
        ways = destinations(self.game.tables, state)
        pick = jnp.where(ways, moves, -jnp.inf).max(axis=2)
        stand, leave = self.battle(state, seen)
        tile = jnp.where(
            phase == GO, self.picked(state, moves), jnp.where(phase == CHOOSE, seen.prize, leave)
        )
        tokens = jnp.broadcast_to(tile[:, None], pick.shape)
        tokens = jnp.where(phase == GROW, self.purchases(state, seen), tokens)
        tokens = jnp.where(phase == PICK, pick, tokens)
        tokens = jnp.where(phase == REMOVE, self.left_behind(state, seen) - 0.02 * seen.units, tokens)
        fights = (phase == ATTACK) | (phase == DEFEND)
        stop = jnp.where(fights, stand, STOP)
        return jnp.concatenate([tokens, jnp.full((1, tokens.shape[1]), stop)])

    def outlook(self, state: State) -> Outlook:
        tables = self.game.tables
        nation = self.game.decider(state)
        worth = self.worth(state)
        hold = at(worth, nation)
        stacks = stacks_of(tables, row_of(tables, state, nation))
        group, led = groups_of(tables, state, stacks)
        enemies, foes, leaders = enemies_of(tables, state, nation)
        foe = ~friends_of(tables, state, nation)
        held = (state.holder[:, None] == jnp.arange(len(state.vp))) & foe  # bool[R, N]
        rivals = self.game.spec.seats - 1
        denied = (held * worth.T).sum(axis=1) / rivals
        glory = (held * jnp.maximum(at(tables.foes, nation) - at(state.kills, nation), 0)).sum(axis=1)
        prize = hold + denied + jnp.minimum(foes, glory) + LEADER * leaders
        units = (BITS & stacks.units[:, None]).sum(axis=2).astype(jnp.float32)
        return Outlook(
            hold, prize, group, led, units, whole(group), enemies, threats(tables, enemies), held.any(axis=1)
        )

    def worth(self, state: State) -> Array:
        """float32[N, R]: points at the next count, less for a distant one; some for later ones, and for people."""
        tables = self.game.tables
        following = gains(tables, state)
        later = at(coming(tables)[1], state.round) - at(coming(tables)[0], state.round)
        counts = np.array(tables.scenario.vp_rounds)
        wait = jnp.where(counts >= state.round, counts - state.round, 99).min()
        left = tables.scenario.rounds - state.round
        people = tables.of_region("pop") * jnp.minimum(left, 3) * 0.1
        return following * 0.9**wait + 0.3 * jnp.minimum(later, 4.0) + people

    def moves(self, state: State, seen: Outlook) -> Array:
        """float32[R, 64, R]: what is gained if a group goes somewhere, near and far, and left behind."""
        tables = self.game.tables
        group = Force(seen.group.attack, seen.group.defence[..., None], seen.group.endurance[..., None])
        joined = seen.own + group  # [R, 64, R]: together with those who are there
        kept = keeping(tables, state, joined, seen.threat) - keeping(tables, state, seen.own, seen.threat)
        settles = seen.hold * kept + CLAIM * ((state.holder < 0) & tables.on_map)
        strikes = self.attack(seen, joined, seen.units[..., None], seen.led[..., None]) - self.attack(
            seen, seen.own, 0.0, False
        )
        there = jnp.where(seen.hostile, strikes, settles)
        pull = self.pull(state, seen)
        onward = 0.1 * seen.units[..., None] * (pull - pull[:, None, None])
        return there + onward + self.left_behind(state, seen)[..., None]

    def attack(self, seen: Outlook, force: Force, units: Array | float, led: Array | bool) -> Array:
        """[…, R]: what an attack is worth: the prize if it is won, and the units that it may cost."""
        enemies = seen.enemies
        chance = victory(force.attack, force.endurance, enemies.defence, enemies.endurance)
        risk = UNIT * units + jnp.where(led, LEADER, 0.0)
        return jnp.where(force.endurance > 0, chance * seen.prize - (1 - chance) * risk, 0.0)

    def left_behind(self, state: State, seen: Outlook) -> Array:
        """float32[R, 64]: what is lost at home when a group leaves."""
        tables = self.game.tables
        own, group = seen.own, seen.group
        rest = Force(0.0, own.defence - group.defence.T, own.endurance - group.endurance.T)  # [64, R]
        before, after = (keeping(tables, state, force, seen.threat) for force in (own, rest))
        home = state.holder == self.game.decider(state)
        return jnp.where(home, seen.hold * (after - before), 0.0).T

    def pull(self, state: State, seen: Outlook) -> Array:
        """float32[R]: how near the best region is that the nation does not hold: the way it is expected to go."""
        tables = self.game.tables
        nation = self.game.decider(state)
        wanted = jnp.where((state.holder == nation) | ~tables.on_map, 0.0, seen.hold)
        wanted = jnp.where(friends_of(tables, state, nation)[state.holder] & (state.holder >= 0), 0.0, wanted)
        by_land = 0.6 ** np.minimum(tables.far, 30)
        by_sea = 0.6 ** np.minimum(distances(tables), 30)
        near = jnp.where(at(tables.of_nation("ships"), nation) > 0, by_sea, by_land)
        return (near * wanted).max(axis=1)

    def picked(self, state: State, moves: Array) -> Array:
        """float32[R]: what the picked group gains in each region."""
        row = row_of(self.game.tables, state, state.nation)
        origin = jnp.where(state.picked, row.region, -1).max()
        mask = jnp.where(state.picked, 1 << slots_of(row), 0).sum()
        return at(at(moves, origin), mask)

    def purchases(self, state: State, seen: Outlook) -> Array:
        """float32[R, 64]: units where they hold most or are nearest to what is wanted; buildings for their points."""
        tables = self.game.tables
        menu = at(tables.menu, state.nation)  # [6, 3]
        unit, building, price = menu[:, 0], menu[:, 1], menu[:, 2]
        attack, defence = (lookup(tables.of_unit(field), unit) for field in ("attack", "defence"))
        fresh = Force(0.0, (7 - defence)[:, None] / 6, lookup(tables.of_unit("hp"), unit)[:, None] * 1.0)
        before = keeping(tables, state, seen.own, seen.threat)
        kept = keeping(tables, state, seen.own + fresh, seen.threat) - before  # [6, R]
        strength = (14 - attack - defence) / 10.0
        units = strength[:, None] + seen.hold * kept + 0.5 * self.pull(state, seen)
        counts = np.array(tables.scenario.vp_rounds)
        remaining = (counts >= state.round).sum()
        points = lookup(tables.of_building("built_vp"), building)
        points = points + 0.7 * remaining * lookup(tables.of_building("vp"), building)
        walls = lookup(tables.of_building("defence"), building)
        buildings = (points + 0.1)[:, None] + 0.3 * walls[:, None] * seen.hold * (1 - before)
        liking = jnp.where((unit >= 0)[:, None], units, buildings) / price[:, None]
        return jnp.zeros((len(seen.hold), 64)).at[:, 1 << np.arange(6)].set(liking.T)

    def battle(self, state: State, seen: Outlook) -> tuple[Array, Array]:
        """(float32: what fighting on is worth, float32[R]: what leaving for a region, or submitting, is worth)."""
        tables = self.game.tables
        here = state.battle
        own, enemies = (force.each(lambda part: at(part, here)) for force in (seen.own, seen.enemies))
        defends = state.phase == DEFEND
        mine = jnp.where(defends, own.defence, own.attack)
        theirs = jnp.where(defends, enemies.attack, enemies.defence)
        chance = victory(mine, own.endurance, theirs, enemies.endurance)
        risk = UNIT * at(seen.units[:, -1], here) + LEADER * at(seen.led[:, -1], here)
        denied = at(at(self.worth(state), state.nation), here) / (self.game.spec.seats - 1)
        stake = jnp.where(defends, at(seen.hold, here) + denied, at(seen.prize, here))
        fighting = chance * stake - (1 - chance) * risk
        joined = seen.own + own
        kept = keeping(tables, state, joined, seen.threat) - keeping(tables, state, seen.own, seen.threat)
        held = state.holder == self.game.decider(state)
        submitting = -1.0 - 0.25 * jnp.where(held, seen.hold, 0.0).sum()
        # What is gained elsewhere could have been had in its own turn too, so it does not count in full.
        leaving = jnp.where(jnp.arange(len(held)) == here, submitting, 0.3 * seen.hold * kept)
        return fighting, leaving
