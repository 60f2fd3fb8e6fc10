"""The players of the dice games: malina, maximus, mindful, joe, and two that never roll again.

All but the last three look at a turn through `TurnValues`: the value of every keep and every category, in the
currency that the player cares about (equity or points).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from stratagem.agents.agent import Forgetful
from stratagem.core.errors import Unsupported
from stratagem.core.game import View
from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import keeps, scores
from stratagem.games.dice.rules import OPEN, DiceGame
from stratagem.solvers.dice_duel import ahead_or_behind
from stratagem.solvers.dice_onesided import UNIFORM, Partisan, distributions, expected_scores, maximus
from stratagem.solvers.dice_strategies import strategy
from stratagem.solvers.dice_table import Table, load_table
from stratagem.solvers.dice_turn import TurnValues, contained, turn_values

DECIDED = 1e-9  # all actions this close in equity: the game is decided


@dataclass(frozen=True)
class Sheet:
    """What one seat has left and has scored."""

    open: int
    """Bit mask of open categories."""
    score: int
    upper: int
    """Points in face categories, up to the bonus's target."""


def sheets(game: DiceGame, view: View) -> tuple[int, list[Sheet]]:
    """(the mover, every seat's sheet)."""
    family = game.family
    rows = np.asarray(view.sheet)
    upper = [c for c, category in enumerate(family.categories) if category.fits == "face"]
    found = []
    for row in rows:
        points = np.maximum(row, 0)
        mask = sum(1 << c for c in range(len(row)) if row[c] == OPEN)
        high = int(points[upper].sum())
        bonus = family.upper_bonus if family.upper_bonus and high >= family.upper_target else 0
        found.append(Sheet(mask, int(points.sum()) + bonus, min(high, family.upper_target)))
    return int(view.mover), found


def action_values(game: DiceGame, turn: TurnValues, view: View) -> np.ndarray:
    """float64[A]: what each action is worth; -inf where it is not allowed."""
    k, dice, left = game.keeps, int(view.dice), int(view.left)
    values = np.full(game.spec.actions, -np.inf)
    if left > 0:
        allowed = contained(k, dice)
        values[allowed] = turn.kept[game.family.rolls - 1 - left][allowed]
    else:
        mask = np.asarray(view.sheet)[int(view.mover)] == OPEN
        values[len(k.multisets) + np.flatnonzero(mask)] = turn.scoring[int(view.first)][:, dice]
    return values


class Evaluating(Forgetful):
    """Does what is worth most by its own reckoning."""

    game: DiceGame
    traceable: ClassVar[bool] = False

    def turn(self, mover: int, sheets: tuple[Sheet, ...]) -> TurnValues:
        """The mover's turn, as this player sees it."""
        raise NotImplementedError

    def values(self, view: View) -> np.ndarray:
        """float64[A]: what each action is worth to this player; -inf where it is not allowed."""
        mover, found = sheets(self.game, view)
        return action_values(self.game, self.turn(mover, tuple(found)), view)

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        return int(np.argmax(self.values(view)))


@lru_cache(maxsize=4)
def solved(family: Family) -> Table:
    """One mapped table a game for the whole process."""
    return load_table(family)


@dataclass(frozen=True)
class Malina(Evaluating):
    """Plays for the highest equity, from the solved table.

    With more than two players she plays against the most dangerous opponent: the one against whom her equity in a
    game of two would be lowest.
    """

    game: DiceGame

    def __post_init__(self) -> None:
        solved(self.game.family)

    def turn(self, mover: int, sheets: tuple[Sheet, ...]) -> TurnValues:
        me, table = sheets[mover], solved(self.game.family)
        return _malina_turn(self.game.family, me.open, *self.dangerous(mover, sheets, table))

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        values = self.values(view)
        if np.ptp(values[np.isfinite(values)]) < DECIDED:  # nothing can change the result: play for points
            return Maximus(self.game).act(memory, view, legal, key)
        return int(np.argmax(values))

    def dangerous(self, mover: int, sheets: tuple[Sheet, ...], table: Table) -> tuple[int, int]:
        """The most dangerous opponent's open categories, and the lead over that opponent."""
        me = sheets[mover]
        others = [(other.open, me.score - other.score) for seat, other in enumerate(sheets) if seat != mover]
        return min(others, key=lambda other: table.equity(me.open, *other))


@lru_cache(maxsize=4096)
def _malina_turn(family: Family, mine: int, theirs: int, lead: int) -> TurnValues:
    return solved(family).turn(mine, theirs, lead)


def _open(family: Family, mask: int) -> list[int]:
    return [c for c in range(len(family.categories)) if mask >> c & 1]


@dataclass(frozen=True)
class Maximus(Evaluating):
    """Plays for the highest expected score of its own."""

    game: DiceGame

    def turn(self, mover: int, sheets: tuple[Sheet, ...]) -> TurnValues:
        return _maximus_turn(self.game.family, sheets[mover].open, sheets[mover].upper)


@lru_cache(maxsize=4096)
def _maximus_turn(family: Family, mask: int, upper: int) -> TurnValues:
    expected = expected_scores(family)
    scoring = []
    for first in (False, True):
        rows = []
        for c in _open(family, mask):
            points = scores(family, first)[c].astype(np.int64)
            then = np.zeros_like(points)
            if family.upper_bonus:
                gain = points if family.categories[c].fits == "face" else 0
                then = np.minimum(upper + gain, family.upper_target) + np.zeros_like(points)
            rows.append(points + expected[mask ^ (1 << c), then])
        scoring.append(rows)
    return turn_values(family, np.array(scoring))


@dataclass(frozen=True)
class Mindful(Evaluating):
    """Plays for the highest equity under the belief that everybody will maximise their own score from now on."""

    game: DiceGame

    def __post_init__(self) -> None:
        if self.game.family.upper_bonus:
            raise Unsupported(
                f"mindful needs score distributions, and those of {self.game.family.name} with the upper bonus "
                f"are not computed. Try: {self.game.family.name}:upper_bonus=false"
            )

    def turn(self, mover: int, sheets: tuple[Sheet, ...]) -> TurnValues:
        me = sheets[mover]
        others = tuple(sorted((one.open, one.score) for seat, one in enumerate(sheets) if seat != mover))
        return _mindful_turn(self.game.family, me.open, me.score, others)


@lru_cache(maxsize=4)
def _maximus_distributions(family: Family) -> np.ndarray:
    return distributions(maximus(family))


@lru_cache(maxsize=4096)
def _mindful_turn(family: Family, mask: int, score: int, others: tuple[tuple[int, int], ...]) -> TurnValues:
    chances = _maximus_distributions(family)
    reach = chances.shape[1]
    highest = max([score, *(points for _, points in others)]) + 2 * reach
    up_to = np.ones(highest)  # chance that every opponent ends with at most this many points
    for their_open, their_score in others:
        final = np.zeros(highest)
        final[their_score : their_score + reach] = chances[their_open]
        up_to *= np.cumsum(final)
    best_opponent = np.diff(up_to, prepend=0.0)
    versus = ahead_or_behind(best_opponent[None])[0]
    scoring = []
    for first in (False, True):
        rows = []
        for c in _open(family, mask):
            rest = chances[mask ^ (1 << c)]
            worth = np.correlate(versus, rest, "valid")  # equity by the score right after this turn
            rows.append(worth[score + scores(family, first)[c]])
        scoring.append(rows)
    return turn_values(family, np.array(scoring))


class Tabled(Forgetful):
    """Follows a table of decisions."""

    game: DiceGame
    name: ClassVar[str]
    traceable: ClassVar[bool] = False

    @property
    def decisions(self) -> Partisan:
        return strategy(self.game.family, self.name)

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        mover, found = sheets(self.game, view)
        mask, dice, left = found[mover].open, int(view.dice), int(view.left)
        if left > 0:
            return int(self.decisions.keep[self.game.family.rolls - 1 - left, mask, dice])
        category = int(self.decisions.category[int(view.first), mask, dice])
        if category == UNIFORM:
            category = int(key.choice(_open(self.game.family, mask)))
        return len(keeps(self.game.family.dice, self.game.family.faces).multisets) + category


@dataclass(frozen=True)
class Joe(Tabled):
    """Goes for the nearest pattern."""

    game: DiceGame
    name: ClassVar[str] = "joe"


@dataclass(frozen=True)
class StandingGreedy(Tabled):
    """Never rolls again; scores where it brings most."""

    game: DiceGame
    name: ClassVar[str] = "standing-greedy"


@dataclass(frozen=True)
class StandingRandom(Tabled):
    """Never rolls again; scores anywhere."""

    game: DiceGame
    name: ClassVar[str] = "standing-random"
