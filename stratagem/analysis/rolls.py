"""Luck, one roll at a time: what could have fallen before a decision, how likely it was, and what it is worth.

Values are those of the seat that decides next. What fell, less the mean over all that could have fallen, is luck.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.analysis.judgement import Evaluator, Question
from stratagem.analysis.programs import programs
from stratagem.analysis.roll_words import fall_words
from stratagem.core.game import Chance

LEAST_VISITS = 8  # of the judgement of each outcome


@runtime_checkable
class Weighing(Protocol):
    """An evaluator that can say what many positions are worth, faster than by judging each."""

    def worths(self, states: list[Any], seat: int) -> np.ndarray:
        """float64[…]: the value of each unfinished position for a seat."""


@dataclass(frozen=True)
class Fall:
    """One thing that could fall."""

    words: str
    chance: float
    value: float
    fell: bool

    def as_json(self) -> dict[str, Any]:
        return {"words": self.words, "chance": self.chance, "value": self.value, "fell": self.fell}


@dataclass(frozen=True)
class Roll:
    """Everything that could fall at one moment, the best first."""

    seat: int
    falls: tuple[Fall, ...]

    @property
    def expected(self) -> float:
        return sum(fall.chance * fall.value for fall in self.falls)

    @property
    def luck(self) -> float:
        return next(fall.value for fall in self.falls if fall.fell) - self.expected

    def as_json(self) -> dict[str, Any]:
        return {
            "seat": self.seat,
            "expected": self.expected,
            "luck": self.luck,
            "outcomes": [fall.as_json() for fall in self.falls],
        }


def rolls_dice(game: Any) -> bool:
    """Whether what falls before a decision can be told: nothing may be hidden."""
    return game.spec.chance == "dice" and game.spec.information == "perfect" and isinstance(game, Chance)


def roll_before(
    evaluator: Evaluator, question: Question, before: tuple[Any, tuple[int, ...]] | None
) -> Roll | None:
    """The roll that led to a decision, after a state and its actions, or the opening; None if there was none."""
    game, play = question.game, falling(question.game)
    after = game.opening() if before is None else play.afterstate(before[0], np.array(before[1], np.int32))
    chances = np.asarray(play.outcomes(after), np.float64)
    possible = np.flatnonzero(chances > 0)
    if len(possible) < 2:
        return None
    merged = merge(play.resolve_all(after), possible)
    if len(merged) < 2:
        return None
    values = worths(evaluator, game, [end for end, _ in merged.values()], question.seat, question.visits)
    fell = identity(jax.tree.map(np.asarray, question.state))
    falls = [
        Fall(fall_words(game, after, outcomes), float(chances[outcomes].sum()), float(value), key == fell)
        for (key, (_, outcomes)), value in zip(merged.items(), values, strict=True)
    ]
    if not any(
        fall.fell for fall in falls
    ):  # the position was given, and does not follow from what came before
        return None
    return Roll(question.seat, tuple(sorted(falls, key=lambda fall: (-fall.value, -fall.chance))))


class End(NamedTuple):
    """Where an outcome leads; in `resolve_all` every outcome, along the first axis."""

    state: Any
    done: Any  # bool
    returns: Any  # float32[P]


def merge(ends: End, possible: np.ndarray) -> dict[bytes, tuple[End, list[int]]]:
    """By identity: each position that may come about, and the outcomes that lead to it."""
    host = jax.tree.map(np.asarray, ends)
    found: dict[bytes, tuple[End, list[int]]] = {}
    for outcome in possible.tolist():
        end = jax.tree.map(lambda leaf, outcome=outcome: leaf[outcome], host)
        found.setdefault(identity(end.state), (end, []))[1].append(outcome)
    return found


def identity(state: Any) -> bytes:
    return b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state))


def worths(evaluator: Evaluator, game: Any, ends: list[End], seat: int, visits: int) -> np.ndarray:
    """float64[…]: what each position is worth to a seat."""
    values = np.array([float(end.returns[seat]) for end in ends])
    open_ = [place for place, end in enumerate(ends) if not end.done]
    states = [ends[place].state for place in open_]
    if isinstance(evaluator, Weighing) and states:
        values[open_] = evaluator.worths(states, seat)
    else:
        each = max(LEAST_VISITS, visits // max(1, len(states)))
        values[open_] = [judged(evaluator, game, state, seat, each) for state in states]
    return values


def judged(evaluator: Evaluator, game: Any, state: Any, seat: int, visits: int) -> float:
    """What one position is worth to a seat of a game of two, whoever decides there."""
    mover = int(np.argmax(np.asarray(programs(game).to_move(state))))
    found = evaluator.judge(Question(game, state, mover, visits), lambda so_far: True)
    if found.values is not None:
        return found.values[seat]
    return found.value if mover == seat else -found.value


class Falling(NamedTuple):
    """The functions of a game around a roll, compiled."""

    afterstate: Callable[..., Any]
    outcomes: Callable[..., Any]
    resolve_all: Callable[..., Any]


@lru_cache(maxsize=16)
def falling(game: Any) -> Falling:
    def resolve_all(after: Any) -> End:
        def one(outcome: Array) -> End:
            state = game.resolve(after, outcome)
            return End(state, game.done(state), game.returns(state))

        return jax.vmap(one)(jnp.arange(jax.eval_shape(game.outcomes, after).shape[0]))

    return Falling(jax.jit(game.afterstate), jax.jit(game.outcomes), jax.jit(resolve_all))
