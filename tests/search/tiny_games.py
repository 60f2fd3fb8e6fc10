"""Tiny games for the tests of the search."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from stratagem.core.game import ChanceSteps, GameSpec


class Moment(NamedTuple):
    turn: Any  # int32
    code: Any  # int32: the actions so far, in binary


@dataclass(frozen=True)
class Relay:
    """Three choices of 0 or 1: two by seat 0, one by seat 1. After 1, 1 seat 0 wins whatever seat 1 does;
    after 0, 0 and 0, 1 seat 1 wins whatever it does; after 1, 0 seat 1 chooses the winner.
    """

    @property
    def spec(self):
        return GameSpec(name="relay", seats=2, actions=2, longest=3)

    def init(self, key):
        return Moment(jnp.int32(0), jnp.int32(0))

    def done(self, state):
        return state.turn >= 3

    def to_move(self, state):
        return (jnp.arange(2) == (state.turn == 2)) & ~self.done(state)

    def legal(self, state):
        return jnp.broadcast_to(self.to_move(state)[:, None], (2, 2))

    def step(self, state, actions, key):
        action = actions[(state.turn == 2).astype(jnp.int32)]
        return Moment(state.turn + 1, state.code * 2 + action)

    def returns(self, state):
        first = jnp.where(state.code >= 6, 1.0, jnp.where(state.code == 4, 1.0, -1.0))
        return jnp.where(self.done(state), jnp.stack([first, -first]), 0.0)

    def view(self, state, seat):
        return jnp.stack([state.turn, state.code])


@dataclass(frozen=True)
class FogDuel(Relay):
    @property
    def spec(self):
        return GameSpec(name="fog", seats=2, actions=2, longest=3, information="imperfect")


@dataclass(frozen=True)
class Ultimatum(Relay):
    """Three seats; seat 0 chooses, then seat 1, then seat 2, whose choice changes nothing. After 0 seat 2 wins or
    draws nothing for seat 0; after 1 seat 1 chooses between sharing with seat 0 and giving all to seat 2.
    """

    @property
    def spec(self):
        return GameSpec(name="ultimatum", seats=3, actions=2, longest=3)

    def to_move(self, state):
        return (jnp.arange(3) == state.turn) & ~self.done(state)

    def legal(self, state):
        return jnp.broadcast_to(self.to_move(state)[:, None], (3, 2))

    def step(self, state, actions, key):
        return Moment(state.turn + 1, state.code * 2 + actions[state.turn])

    def returns(self, state):
        shared, betrayed, dull = jnp.array([[0.5, 0.5, -1.0], [-0.5, -0.5, 1.0], [0.0, 0.0, 0.0]])
        result = jnp.where(state.code >= 6, shared, jnp.where(state.code >= 4, betrayed, dull))
        return jnp.where(self.done(state), result, 0.0)


class Race(NamedTuple):
    scores: Any  # int32[2]
    mover: Any  # int32
    turn: Any  # int32


@dataclass(frozen=True)
class DiceRace(ChanceSteps):
    """Each seat moves `rounds` times: 0 takes a safe 2 points, 1 rolls a die of faces 0, 0, 0, 5, 6 with odds
    3 : 1 : 1 by outcome (mean 2.2 but risky), 2 rolls 1 or 4 evenly. Most points win.
    """

    rounds: int = 2

    @property
    def spec(self):
        return GameSpec(
            name="dicerace", seats=2, actions=3, longest=2 * self.rounds, chance="dice",
            parameters={"rounds": self.rounds},
        )  # fmt: skip

    # Outcome k adds POINTS[action][k] with ODDS[action][k]; the opening has action 3 and adds nothing.
    POINTS = np.array([[2, 0, 0], [0, 5, 6], [1, 4, 0], [0, 0, 0]])
    ODDS = np.array([[1, 0, 0], [0.6, 0.2, 0.2], [0.5, 0.5, 0], [1, 0, 0]], np.float32)

    def opening(self):
        return Race(jnp.zeros(2, jnp.int32), jnp.int32(1), jnp.int32(-1)), jnp.int32(3)

    def afterstate(self, state, actions):
        return state, actions[state.mover]

    def outcomes(self, after):
        return jnp.asarray(self.ODDS)[after[1]]

    def resolve(self, after, outcome):
        state, action = after
        gained = jnp.asarray(self.POINTS)[action, outcome]
        return Race(state.scores.at[state.mover].add(gained), 1 - state.mover, state.turn + 1)

    def done(self, state):
        return state.turn >= 2 * self.rounds

    def to_move(self, state):
        return (jnp.arange(2) == state.mover) & ~self.done(state)

    def legal(self, state):
        return jnp.broadcast_to(self.to_move(state)[:, None], (2, 3))

    def returns(self, state):
        first = jnp.sign(state.scores[0] - state.scores[1]).astype(jnp.float32)
        return jnp.where(self.done(state), jnp.stack([first, -first]), 0.0)

    def view(self, state, seat):
        return jnp.concatenate([state.scores, state.mover[None], state.turn[None]])

    def expectimax(self, scores=(0, 0), turn=0):
        """(value of seat 0, list of the values of the mover's three actions): exact, in plain Python."""
        if turn >= 2 * self.rounds:
            return float(np.sign(scores[0] - scores[1])), []
        mover = turn % 2
        values = []
        for action in range(3):
            total = 0.0
            for points, odds in zip(self.POINTS[action], self.ODDS[action], strict=True):
                after = list(scores)
                after[mover] += points
                total += odds * self.expectimax(tuple(after), turn + 1)[0]
            values.append(total)
        return (min(values) if mover else max(values)), values
