"""A serious classical player of Generals: a cascade of plans, the first that applies is carried out.

1. win: what can reach the enemy general and beat its guard goes there.
2. defend: a stack that could take my general is met, or the general is reinforced in time.
3. take a castle that is near and pays.
4. assault, after each tick: gather along the richest way to where the enemy general is likeliest.
5. expand, in the rest of every fifty turns, so that as much land as can be has grown at the next tick.

Plans are made of one thing, `flow`: what arrives at a goal, from each cell, and in how many moves. Each turn is
planned anew; a stack under way stays the best choice because its way has become shorter.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from stratagem.agents.generals_memory import Memory, Remembering, take_in
from stratagem.agents.generals_paths import Flow, downhill, flow
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


class Field(NamedTuple):
    """The board as the player believes it to be now."""

    mine: Array  # bool[H, W]
    theirs: Array  # bool[H, W]
    army: Array  # int32[H, W]
    castle: Array  # bool[H, W]: a neutral castle
    passable: Array  # bool[H, W]: no wall, as far as is known; castles of nobody are walls too
    home: Array  # bool[H, W]: my general
    movable: Array  # bool[H, W]: my cells that can send units


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


def first_of(worth: Array, among: Array) -> Array:
    """bool[H, W]: the cell with the highest worth among those given; none if there is none."""
    best = jnp.argmax(jnp.where(among, worth, -jnp.inf).reshape(-1))
    return (jnp.arange(among.size) == best).reshape(among.shape) & among


def along(ways: Flow, start: Array) -> Array:
    """float32[4, H, W]: the first step of the way from `start`."""
    return one_move(downhill(ways.cost), start)


@dataclass(frozen=True)
class Cascade(Remembering):
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
    traceable: ClassVar[bool] = True

    def act(self, memory: Memory, view: View, legal: Array, key: Array) -> Array:
        game: Generals = self.game
        known = take_in(game, memory, view)
        field = survey(known, view)
        rounds = (game.height + game.width) // 2 + 4
        stack = first_of(field.army.astype(jnp.float32), field.movable)
        enemy = self.suspect(known, field, stack, rounds)
        to_enemy = flow(enemy, field.passable | enemy, my_gain(field), rounds)
        plans = [
            self.win(known, field, enemy, to_enemy),
            self.defend(field, view, rounds),
            self.take_castle(field, view, rounds),
            self.assault(field, view, to_enemy),
            self.expand(field, view, rounds),
        ]
        scores = jnp.zeros((4, *game.shape), jnp.float32)
        for plan in reversed(plans):
            scores = jnp.where(plan.applies, plan.scores, scores)
        move = act_best(game, scores, legal, key)
        if not game.build:
            return move
        urgent = plans[0].applies | plans[1].applies
        return self.build(field, view, legal, move, urgent)

    def build(self, field: Field, view: View, legal: Array, move: Array, urgent: Array) -> Array:
        """A castle where one can be built, while there is time for it to pay; else the move."""
        can = legal.reshape(*self.game.shape, self.game.per_cell)[:, :, BUILD]
        place = jnp.argmax(first_of(field.army.astype(jnp.float32), can).reshape(-1))
        pays = can.any() & ~urgent & (view.total[0] >= view.total[1]) & (view.turn < self.game.cap - 200)
        return jnp.where(pays, place * self.game.per_cell + BUILD, move).astype(jnp.int32)

    def suspect(self, known: Memory, field: Field, stack: Array, rounds: int) -> Array:
        """bool[H, W]: where to look for the enemy general: known, or the densest part of the belief on our way.

        A general sits inside its land, so belief is highest a little beyond the land that is known to be theirs.
        """
        game: Generals = self.game
        nothing = jnp.zeros(game.shape, jnp.int32)
        theirs = field.theirs
        away = flow(theirs, field.passable, nothing, rounds).steps
        depth = jnp.clip(jnp.sqrt(known.land[1, -1].astype(jnp.float32)) / 2, 1.0, 5.0)
        near_theirs = jnp.exp(-jnp.abs(away - depth) / 3.0)
        belief = jnp.where(known.possible, jnp.where(theirs.any(), near_theirs, 1.0), 0.0)
        reach = 2
        padded = jnp.pad(belief, reach)
        dense = jnp.zeros(game.shape, jnp.float32)
        for down in range(2 * reach + 1):
            for across in range(2 * reach + 1):
                dense = dense + padded[down : down + game.height, across : across + game.width]
        from_stack = flow(stack, field.passable, nothing, rounds)
        worth = dense / (10.0 + jnp.minimum(from_stack.steps, 100))
        guess = first_of(worth, known.possible & from_stack.open)
        found = (jnp.arange(game.cells) == known.general).reshape(game.shape)
        return jnp.where(known.general >= 0, found, guess)

    def win(self, known: Memory, field: Field, enemy: Array, to_enemy: Flow) -> Plan:
        """The shortest way that beats the guard of a general whose place is known."""
        guard = jnp.where(enemy, field.army, 0).sum()
        # The guard grows by one every other turn, also since it was last seen.
        age = known.turn - jnp.where(enemy, known.seen_at, 0).sum()
        needed = guard + (age + to_enemy.steps) // 2 + 1
        able = field.movable & to_enemy.open & (to_enemy.arrives > needed)
        start = first_of(-to_enemy.steps.astype(jnp.float32), able)
        return Plan(along(to_enemy, start), able.any() & (known.general >= 0))

    def defend(self, field: Field, view: View, rounds: int) -> Plan:
        """Meet the most dangerous stack, or bring home what comes in time."""
        visible = (seen(view) != 0) & (seen(view) != STRUCTURE)
        their_gain = jnp.where(field.theirs, field.army - 1, -(field.army + 1))
        raid = flow(field.home, field.passable, jnp.where(field.theirs | field.mine, their_gain, -1), rounds)
        guard = jnp.where(field.home, field.army, 0).sum()
        raiders = field.theirs & visible & (field.army >= 2) & raid.open & (raid.steps <= self.alarm)
        danger = jnp.where(raiders, raid.arrives - guard - raid.steps // 2, -1)
        raider = first_of(danger.astype(jnp.float32) - raid.steps, raiders & (danger > 0))
        threatened = raider.any()
        time_left = jnp.where(raider, raid.steps, 0).sum()
        strength = jnp.where(raider, field.army, 0).sum()

        meeting = flow(raider, field.passable, my_gain(field), rounds)
        able = field.movable & meeting.open & (meeting.arrives > strength) & (meeting.steps <= time_left)
        meets = first_of(-meeting.steps.astype(jnp.float32), able)
        rallying = flow(field.home, field.mine, my_gain(field), rounds)
        in_time = field.movable & rallying.open & (rallying.steps <= time_left) & ~field.home
        rallies = first_of(rallying.arrives / (1.0 + rallying.steps), in_time)
        scores = jnp.where(able.any(), along(meeting, meets), along(rallying, rallies))
        return Plan(scores, threatened & (able.any() | in_time.any()))

    def expand(self, field: Field, view: View, rounds: int) -> Plan:
        """Take land. A stack of n at distance d takes n cells in d + n moves; the best such share moves."""
        taking = takings(view)
        frontier = field.passable & ~field.mine & ~(field.theirs & (field.army > 1))
        ways = flow(frontier, field.passable, jnp.zeros_like(field.army), rounds)
        spare = (field.army - 1).astype(jnp.float32)
        share = spare / (spare + ways.steps - 1.0 + 1e-6)
        # What takes a cell now comes before what must walk first, and the smaller stack before the larger.
        straight = jnp.where(taking > 0, taking + 1.0 / (1.0 + spare), 0.0)
        walking = one_move(downhill(ways.cost), field.movable & ways.open) * share
        scores = jnp.where(straight.max() > 0, straight, walking)
        return Plan(scores, scores.max() > 0)

    def take_castle(self, field: Field, view: View, rounds: int) -> Plan:
        """The castle that can be had in the fewest moves, when we are well ahead: it pays back only after 80 turns."""
        ways = flow(field.castle, field.passable, my_gain(field), rounds)
        # The garrison at the end of each way: all are 40 to 49, so the largest known is a safe bound.
        garrison = jnp.where(field.castle, field.army, 0).max()
        able = field.movable & ways.open & (ways.arrives > garrison + 1) & (ways.steps <= self.detour)
        start = first_of(-ways.steps.astype(jnp.float32), able)
        strong = (view.total[0] * 4 >= view.total[1] * 5) & (view.turn < 600)
        return Plan(along(ways, start), strong & able.any())

    def assault(self, field: Field, view: View, to_enemy: Flow) -> Plan:
        """After each tick, the way on which most arrives at the enemy for every move; and on, once it is close."""
        able = field.movable & to_enemy.open & (to_enemy.arrives > 0)
        yields = to_enemy.arrives / jnp.maximum(1.0, to_enemy.steps)
        start = first_of(yields, able)
        size = jnp.where(start, to_enemy.arrives, 0).sum()
        close = jnp.where(start, to_enemy.steps, 1000).min() <= self.reach
        early = view.turn % TICK < self.harvest
        engaged = close & (size >= jnp.maximum(self.least_stack, view.total[1] * self.share // 100))
        return Plan(along(to_enemy, start), able.any() & (view.turn >= TICK) & (early | engaged))
