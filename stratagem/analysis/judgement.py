"""What is asked of an evaluator, and what it says: one decision, its moves, and how much to believe it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import jax
import numpy as np

from stratagem.analysis.programs import legal_actions, view_of
from stratagem.core.game import Game

Kind = Literal["exact", "search", "rollouts", "heuristic"]


@dataclass(frozen=True)
class Question:
    """One decision to be judged."""

    game: Any
    state: Any
    seat: int
    """Who decides."""
    visits: int
    """How much to think."""
    past: tuple[tuple[Any, tuple[int, ...]], ...] = ()
    """The states before this one and what was done in each; only in games with secrets, for what a seat remembers."""

    asked: tuple[int, ...] = ()
    """Moves that must be judged even if they look poor."""

    @property
    def legal(self) -> np.ndarray:
        """int64[L]: what the seat may do, ascending."""
        return legal_actions(self.game, self.state, self.seat)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for equal questions about a game, as far as the past does not matter."""
        state = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(self.state))
        return self.seat, self.visits, self.asked, state

    def to_try(self, legal: np.ndarray, shares: np.ndarray, most: int) -> np.ndarray:
        """int64[…]: the moves that were asked about, then the likeliest, up to `most` in all."""
        likely = legal[np.argsort(-shares, kind="stable")]
        asked = [action for action in self.asked if action in legal][:most]
        rest = [action for action in likely.tolist() if action not in asked]
        return np.array([*asked, *rest][:most], np.int64)

    @property
    def view(self) -> Any:
        """What the seat sees, in NumPy arrays."""
        return view_of(self.game, self.state, self.seat)


@dataclass(frozen=True)
class Line:
    """One move judged, from the side of the seat that decides."""

    action: int
    visits: int
    value: float
    """The expected result: +1 a win, −1 a loss."""
    prior: float
    """What share it had before any thinking."""
    score: float | None = None
    """In the evaluator's own unit."""
    pv: tuple[int, ...] = ()
    """How play may go on after it; without the move itself."""
    outlook: dict[str, Any] | None = None
    """With dice: what the turn may become after it."""


@dataclass(frozen=True)
class Judgement:
    """One decision judged, from the side of the seat that decides."""

    lines: tuple[Line, ...]
    """Every legal move, the best first."""
    value: float
    values: tuple[float, ...] | None
    """By seat; None where the seat cannot know."""
    visits: int
    score: float | None = None
    note: str = ""
    belief: tuple[tuple[float, ...], ...] | None = None
    """Under fog, row by row: how likely each cell is to hold what the seat looks for."""


# Called now and then with a way to say what is known so far; false means: stop, and say what you have.
Progress = Callable[[Callable[[], Judgement]], bool]


class Evaluator(Protocol):
    """Someone who can judge the decisions of a game. Built for one game; refuses those that it does not fit."""

    kind: ClassVar[Kind]
    unit: ClassVar[str | None]
    """What its scores count."""

    @property
    def game(self) -> Game: ...

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        """Judge an unfinished position. Equal questions get equal answers."""


def winrate(value: float, seats: int) -> float:
    """The share of the win that a value stands for, a draw counting as an equal share."""
    return (1 + (seats - 1) * value) / seats


def two_sided(value: float, seat: int) -> tuple[float, ...]:
    """Values by seat in a game of two."""
    return (value, -value) if seat == 0 else (-value, value)


def by_value(lines: list[Line]) -> tuple[Line, ...]:
    """The best first: by value, then by score, then by prior."""

    def worth(line: Line) -> tuple[float, ...]:
        return -line.value, -(line.score or 0.0), -line.prior, line.action

    return tuple(sorted(lines, key=worth))


def softmax(scores: np.ndarray, temperature: float) -> np.ndarray:
    """float64[L]: shares that favour high scores."""
    weights = np.exp((scores - scores.max()) / temperature)
    return weights / weights.sum()
