"""The dice games judged: by the solved table, as if all played for points, or by points alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erf, sqrt
from typing import Any, ClassVar

import numpy as np

from stratagem.agents.dice import Evaluating, Malina, Maximus, Mindful, Sheet, sheets
from stratagem.analysis.judgement import (
    Judgement,
    Kind,
    Line,
    Progress,
    Question,
    by_value,
    softmax,
    two_sided,
)
from stratagem.core.errors import Unsupported
from stratagem.games.dice.rules import DiceGame
from stratagem.solvers.dice_onesided import expected_scores
from stratagem.solvers.dice_outlook import outlook

OUTLOOKS = 3  # the best keeps that an outlook is given for
SPREAD = 9.0  # points by which one category's result strays; fitted to solved positions of Generala


@dataclass(frozen=True)
class Solved:
    """Exact equities of a game of two; the table must be in the cache."""

    game: DiceGame
    kind: ClassVar[Kind] = "exact"
    unit: ClassVar[str | None] = "equity"

    def __post_init__(self) -> None:
        if self.game.players != 2:
            raise Unsupported(f"only games of two are solved; this one has {self.game.players} players")
        Malina(self.game)

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        check_rounds(self.game, question)
        values = Malina(self.game).values(question.state)[question.legal]
        return judgement(question, Malina(self.game), values, values, "")

    def worths(self, states: list[Any], seat: int) -> np.ndarray:
        return for_seat(states, seat, [float(Malina(self.game).values(state).max()) for state in states])


@dataclass(frozen=True)
class MindfulValues:
    """Agent `mindful`'s equities."""

    game: DiceGame
    kind: ClassVar[Kind] = "heuristic"
    unit: ClassVar[str | None] = "equity"

    def __post_init__(self) -> None:
        Mindful(self.game)

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        check_rounds(self.game, question)
        equities = Mindful(self.game).values(question.state)[question.legal]
        shares = (1 + equities) / 2
        note = "equities that hold if everybody plays for points from now on"
        return judgement(question, Mindful(self.game), values_of(shares, self.game.players), equities, note)

    def worths(self, states: list[Any], seat: int) -> np.ndarray:
        equities = np.array([Mindful(self.game).values(state).max() for state in states])
        return for_seat(states, seat, values_of((1 + equities) / 2, self.game.players).tolist())


@dataclass(frozen=True)
class Points:
    """Agent `maximus`'s expected points; the value is a guess from the lead."""

    game: DiceGame
    kind: ClassVar[Kind] = "heuristic"
    unit: ClassVar[str | None] = "points"

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        check_rounds(self.game, question)
        mover, found = sheets(self.game, question.state)
        finals = found[mover].score + Maximus(self.game).values(question.state)[question.legal]
        shares = np.array([self.share(final, mover, found) for final in finals])
        note = (
            "the score is the points at the end when playing for points; the value is a guess from the lead"
        )
        return judgement(question, Maximus(self.game), values_of(shares, self.game.players), finals, note)

    def worths(self, states: list[Any], seat: int) -> np.ndarray:
        shares = []
        for state in states:
            mover, found = sheets(self.game, state)
            shares.append(
                self.share(found[mover].score + Maximus(self.game).values(state).max(), mover, found)
            )
        return for_seat(states, seat, values_of(np.array(shares), self.game.players).tolist())

    def share(self, final: float, mover: int, found: Sequence[Sheet]) -> float:
        """The chance to end ahead of all others, as if results were bell curves of a usual width."""
        expected = expected_scores(self.game.family)
        chance = 1.0
        for seat, other in enumerate(found):
            if seat != mover:
                upper = other.upper if self.game.family.upper_bonus else 0
                theirs = other.score + expected[other.open, upper]
                open_ = found[mover].open.bit_count() + other.open.bit_count()
                chance *= 0.5 + 0.5 * erf((final - theirs) / (SPREAD * sqrt(2 * max(open_, 1))))
        return chance


def values_of(shares: np.ndarray, seats: int) -> np.ndarray:
    """Values from shares of the win: the inverse of `winrate`."""
    return (seats * shares - 1) / (seats - 1)


def for_seat(states: list[Any], seat: int, values: list[float]) -> np.ndarray:
    """float64[…]: the movers' values as one seat has them, in a game of two; with more seats it must be the mover."""
    movers = [int(state.mover) for state in states]
    return np.array([value if mover == seat else -value for mover, value in zip(movers, values, strict=True)])


def judgement(
    question: Question, player: Evaluating, values: np.ndarray, scores: np.ndarray, note: str
) -> Judgement:
    """Every legal action with its value (float64[L]) and score (float64[L]); `player` plays the rest of the turn."""
    priors = softmax(values, 0.1)
    parts = zip(question.legal, values, priors, scores, strict=True)
    lines = by_value([Line(int(a), 1, float(v), float(p), float(s)) for a, v, p, s in parts])
    lines = with_outlooks(question, player, lines)
    best = lines[0]
    two = question.game.players == 2
    values_by_seat = two_sided(best.value, question.seat) if two else None
    return Judgement(lines, best.value, values_by_seat, len(lines), best.score, note)


def with_outlooks(question: Question, player: Evaluating, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Adds to the best keeps, and to those that were asked about, what the turn may become after them."""
    game, state = player.game, question.state
    if int(state.left) == 0:
        return lines
    mover, found = sheets(game, state)
    turn = player.turn(mover, tuple(found))
    stage = game.family.rolls - 1 - int(state.left)

    def looked_at(place: int, line: Line) -> Line:
        if place >= OUTLOOKS and line.action not in question.asked:
            return line
        ahead = outlook(game.family, found[mover].open, turn, stage, line.action)
        made, waived = (chances(game, part) for part in (ahead.made, ahead.waived))
        return replace(line, outlook={"made": made, "waived": waived, "points": float(ahead.points)})

    return tuple(looked_at(place, line) for place, line in enumerate(lines))


def chances(game: DiceGame, part: np.ndarray) -> dict[str, float]:
    """By category, without those that cannot be."""
    return {name: float(chance) for name, chance in zip(game.family.names, part, strict=True) if chance > 0}


def check_rounds(game: DiceGame, question: Question) -> None:
    """Refuse sheets that no game leads to: seats fill theirs in turn."""
    mover, found = sheets(game, question.state)
    left = [sheet.open.bit_count() for sheet in found]
    fitting = [left[mover] - (seat < mover) for seat in range(game.players)]
    if left != fitting:
        raise Unsupported(
            f"seats score in turn: with {left[mover]} categories open at seat {mover}, the sheets must have "
            f"{fitting} open, not {left}"
        )
