"""A serious classical player of Generals: a cascade of plans, the first that applies is carried out.

1. win: what can reach the enemy general and beat its guard, before the enemy does the same, goes there.
2. defend: a stack that could take my general is met, or the general is reinforced in time.
3. win, although the enemy may be first: nothing could be done against it.
4. take a castle that is near and pays.
5. assault, after each tick: gather along the richest way to where the enemy general is likeliest.
6. expand, in the rest of every fifty turns, so that as much land as can be has grown at the next tick; first towards
   where the enemy general may be, because the land that is taken shows what lies beside it.

Plans are made of one thing, `flow`: what arrives at a goal, from each cell, and in how many moves. Each turn is
planned anew; a stack under way stays the best choice because its way has become shorter.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from stratagem.agents.generals_belief import Mind, density, empty_mind, look
from stratagem.agents.generals_memory import Memory, note_move
from stratagem.agents.generals_paths import Flow, downhill, flow, neighbours
from stratagem.agents.generals_simple import act_best, one_move, takings
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import (
    BUILD,
    ME,
    OPPONENT,
    SEEN_CASTLE,
    SEEN_GENERAL,
    SEEN_MOUNTAIN,
    STRUCTURE,
    View,
    possessors,
    seen,
)

TICK = 50
SETTLED = 75  # the turn from which the general keeps a guard
# Places count less by this power of their distance, which hardly matters when it is short.
NEAR, HASTE = 10, 0.4
ENDLESS = jnp.int32(1 << 20)  # turns


class Field(NamedTuple):
    """The board as the player believes it to be now."""

    mine: Array  # bool[H, W]
    theirs: Array  # bool[H, W]
    army: Array  # int32[H, W]
    castle: Array  # bool[H, W]: a neutral castle
    passable: Array  # bool[H, W]: no wall, as far as is known; castles of nobody are walls too
    home: Array  # bool[H, W]: my general
    movable: Array  # bool[H, W]: my cells that can send units


class Raid(NamedTuple):
    """What the enemy can send to my general."""

    ways: Flow
    stacks: Array  # bool[H, W]: those that may be on their way, in sight or just out of it
    excess: Array  # int32[H, W]: what would be left of each when it has beaten the guard
    time: Array  # int32[H, W]: turns in which each can be there

    @property
    def dangers(self) -> Array:
        """bool[H, W]: the stacks that would take my general."""
        return self.stacks & (self.excess > 0)

    @property
    def deadline(self) -> Array:
        """int32: turns until my general can fall."""
        return jnp.where(self.dangers, self.time, ENDLESS).min()


class Plan(NamedTuple):
    """One move, and whether it should be made."""

    scores: Array  # float32[4, H, W]
    applies: Array  # bool


def survey(known: Memory, view: View) -> Field:
    """What stands where, remembered or seen."""
    mine = possessors(view) == ME
    theirs = known.owner == OPPONENT
    wall = (known.kind == SEEN_MOUNTAIN) | (known.kind == STRUCTURE)
    castle = (known.kind == SEEN_CASTLE) & ~mine & ~theirs
    home = (seen(view) == SEEN_GENERAL) & mine
    return Field(mine, theirs, known.army, castle, ~wall & ~castle, home, mine & (known.army >= 2))


def my_gain(field: Field) -> Array:
    """int32[H, W]: what passing a cell adds to a stack of mine."""
    return jnp.where(field.mine, field.army - 1, -(field.army + 1))


def my_harvest(field: Field) -> Array:
    """int32[H, W]: what a cell of mine adds to a stack that passes it; whatever others have counts for nothing."""
    return jnp.where(field.mine, field.army - 1, 0)


def first_of(worth: Array, among: Array) -> Array:
    """bool[H, W]: the cell with the highest worth among those given; none if there is none."""
    best = jnp.argmax(jnp.where(among, worth, -jnp.inf).reshape(-1))
    return (jnp.arange(among.size) == best).reshape(among.shape) & among


def rounds_for(steps: int) -> int:
    """The rounds in which `flow` finds all ways of so many steps."""
    return steps // 2 + 1


def along(ways: Flow, start: Array) -> Array:
    """float32[4, H, W]: the first step of the way from `start`."""
    return one_move(downhill(ways.cost), start)


@dataclass(frozen=True)
class Cascade:
    """Wins if it can, defends if it must, expands before the tick, takes castles, gathers and attacks."""

    game: Any
    alarm: int = 14
    """Steps from my general within which an enemy stack is a threat."""
    harvest: int = 42
    """Turns after each tick that go into the assault."""
    reach: int = 8
    """Steps from the suspected general within which an assault goes on whatever the turn."""
    least_stack: int = 15
    """Army that such an assault needs at least."""
    share: int = 10
    """Per cent of the enemy's army that it needs."""
    detour: int = 6
    """Steps that a castle may be away from what takes it."""
    scout: float = 5.0
    """What showing the likeliest place of the enemy general is worth when land is taken; a plain cell counts 1."""
    lost_sight: int = 8
    """Turns for which a stack that went out of sight is still a threat."""
    siege: int = 8
    """Army that, arriving at an empty general, keeps the general's guard at home."""
    guard: int = 10
    """Per cent of the enemy's army that stays on the general."""
    traceable: ClassVar[bool] = True

    def memory(self) -> Mind:
        return empty_mind(self.game)

    def remember(self, memory: Mind, view: View, action: Array) -> Mind:
        seen_now = look(self.game, memory, view)
        return seen_now._replace(known=note_move(self.game, seen_now.known, action))

    def act(self, memory: Mind, view: View, legal: Array, key: Array) -> Array:
        game: Generals = self.game
        mind = look(game, memory, view)
        known = mind.known
        field = survey(known, view)
        rounds = (game.height + game.width) // 2 + 4
        # What stands on the general stays there, out of all plans but the winning one, until it is a strong guard.
        raid = self.raid(known, field)
        besieged = (raid.stacks & (raid.ways.arrives - raid.ways.steps // 2 >= self.siege)).any()
        weak = (field.army * 100 < view.total[1] * self.guard) & (view.turn >= SETTLED)
        away = field._replace(movable=field.movable & ~(field.home & (weak | besieged)))
        stack = first_of(field.army.astype(jnp.float32), away.movable)
        dense = density(mind)
        enemy = self.suspect(mind, dense, field, stack, rounds)
        to_enemy = flow(enemy, away.passable | enemy, my_gain(field), rounds)
        gathering = flow(enemy, away.passable | enemy, my_harvest(field), rounds)
        plans = [
            self.win(known, field, enemy, to_enemy, raid.deadline),
            self.defend(known, field, raid),
            self.win(known, field, enemy, to_enemy, ENDLESS),
            self.take_castle(away, view),
            self.assault(away, view, gathering),
            self.expand(away, view, dense, rounds // 2),
        ]
        scores = jnp.zeros((4, *game.shape), jnp.float32)
        for plan in reversed(plans):
            scores = jnp.where(plan.applies, plan.scores, scores)
        move = act_best(game, scores, legal, key)
        if not game.build:
            return move
        urgent = plans[0].applies | plans[1].applies | plans[2].applies
        return self.build(field, view, legal, move, urgent)

    def build(self, field: Field, view: View, legal: Array, move: Array, urgent: Array) -> Array:
        """A castle where one can be built, while there is time for it to pay; else the move."""
        can = legal.reshape(*self.game.shape, self.game.per_cell)[:, :, BUILD]
        place = jnp.argmax(first_of(field.army.astype(jnp.float32), can).reshape(-1))
        pays = can.any() & ~urgent & (view.total[0] >= view.total[1]) & (view.turn < self.game.cap - 200)
        return jnp.where(pays, place * self.game.per_cell + BUILD, move).astype(jnp.int32)

    def suspect(self, mind: Mind, dense: Array, field: Field, stack: Array, rounds: int) -> Array:
        """bool[H, W]: where to look for the enemy general: known, or where belief is densest, not far off our way."""
        game: Generals = self.game
        from_stack = flow(stack, field.passable, jnp.zeros(game.shape, jnp.int32), rounds)
        worth = dense / (NEAR + jnp.minimum(from_stack.steps, 100)) ** HASTE
        known = mind.known
        guess = first_of(worth, known.possible & from_stack.open)
        found = (jnp.arange(game.cells) == known.general).reshape(game.shape)
        return jnp.where(known.general >= 0, found, guess)

    def win(self, known: Memory, field: Field, enemy: Array, to_enemy: Flow, deadline: Array) -> Plan:
        """The shortest way that beats the guard of a general whose place is known, if it is short enough."""
        guard = jnp.where(enemy, field.army, 0).sum()
        # The guard grows by one every other turn, also since it was last seen.
        age = known.turn - jnp.where(enemy, known.seen_at, 0).sum()
        needed = guard + (age + to_enemy.steps) // 2 + 1
        able = field.movable & to_enemy.open & (to_enemy.arrives > needed) & (to_enemy.steps < deadline)
        start = first_of(-to_enemy.steps.astype(jnp.float32), able)
        return Plan(along(to_enemy, start), able.any() & (known.general >= 0))

    def raid(self, known: Memory, field: Field) -> Raid:
        """The enemy's ways to my general, as far as they were seen lately."""
        their_gain = jnp.where(field.theirs, field.army - 1, -(field.army + 1))
        gain = jnp.where(field.theirs | field.mine, their_gain, -1)
        ways = flow(field.home, field.passable, gain, rounds_for(self.alarm))
        age = known.turn - known.seen_at
        near = (age <= self.lost_sight) & ways.open & (ways.steps <= self.alarm)
        guard = jnp.where(field.home, field.army, 0).sum() + ways.steps // 2
        return Raid(ways, field.theirs & (field.army >= 2) & near, ways.arrives - guard, ways.steps - age)

    def defend(self, known: Memory, field: Field, raid: Raid) -> Plan:
        """Meet the stack that can be there first, or bring home what comes in time."""
        rounds = rounds_for(self.alarm)
        raider = first_of(raid.excess - 1000.0 * raid.time, raid.dangers)
        threatened = raider.any()
        time_left = jnp.where(raider, raid.time, 0).sum()
        strength = jnp.where(raider, field.army, 0).sum()

        homeward = flow(field.home, field.passable, my_gain(field), rounds)
        meeting = flow(raider, field.passable, my_gain(field), rounds)
        # The general's own guard goes out only to what stands beside it, and nobody runs after what is ahead of it.
        ahead = (~field.home & (homeward.steps <= time_left)) | (meeting.steps <= 1)
        able = (
            field.movable & ahead & meeting.open & (meeting.arrives > strength) & (meeting.steps <= time_left)
        )
        meets = first_of(-meeting.steps.astype(jnp.float32), able)
        rallying = flow(field.home, field.mine, my_gain(field), rounds)
        in_time = field.movable & rallying.open & (rallying.steps <= time_left) & ~field.home
        rallies = first_of(rallying.arrives / (1.0 + rallying.steps), in_time)
        scores = jnp.where(able.any(), along(meeting, meets), along(rallying, rallies))
        return Plan(scores, threatened & (able.any() | in_time.any()))

    def expand(self, field: Field, view: View, dense: Array, rounds: int) -> Plan:
        """Take land. A stack of n at distance d takes n cells in d + n moves; the best such share moves."""
        taking = takings(view)
        frontier = field.passable & ~field.mine & ~(field.theirs & (field.army > 1))
        ways = flow(frontier, field.passable, jnp.zeros_like(field.army), rounds)
        spare = (field.army - 1).astype(jnp.float32)
        share = spare / (spare + ways.steps - 1.0 + 1e-6)
        # What takes a cell now comes before what must walk first, and the smaller stack before the larger.
        worth = taking + 1.0 / (1.0 + spare) + neighbours(dense, 0) * self.scout
        straight = jnp.where((taking > 0) & field.movable, worth, 0.0)
        walking = one_move(downhill(ways.cost), field.movable & ways.open) * share
        scores = jnp.where(straight.max() > 0, straight, walking)
        return Plan(scores, scores.max() > 0)

    def take_castle(self, field: Field, view: View) -> Plan:
        """The castle that can be had in the fewest moves, when we are well ahead: it pays back only after 80 turns."""
        ways = flow(field.castle, field.passable, my_gain(field), rounds_for(self.detour))
        # The garrison at the end of each way: all are 40 to 49, so the largest known is a safe bound.
        garrison = jnp.where(field.castle, field.army, 0).max()
        able = field.movable & ways.open & (ways.arrives > garrison + 1) & (ways.steps <= self.detour)
        start = first_of(-ways.steps.astype(jnp.float32), able)
        strong = (view.total[0] * 4 >= view.total[1] * 5) & (view.turn < 600)
        return Plan(along(ways, start), strong & able.any())

    def assault(self, field: Field, view: View, gathering: Flow) -> Plan:
        """After each tick, the way to the enemy on which most is gathered for every move; and on, once it is close.

        What stands in the way does not count: a stack that gets stuck has shown what is there and taken land.
        """
        able = field.movable & gathering.open & (gathering.arrives > 0)
        yields = gathering.arrives / jnp.maximum(1.0, gathering.steps)
        start = first_of(yields, able)
        size = jnp.where(start, gathering.arrives, 0).sum()
        close = jnp.where(start, gathering.steps, 1000).min() <= self.reach
        early = view.turn % TICK < self.harvest
        engaged = close & (size >= jnp.maximum(self.least_stack, view.total[1] * self.share // 100))
        return Plan(along(gathering, start), able.any() & (view.turn >= TICK) & (early | engaged))
