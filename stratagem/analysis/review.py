"""Any finished game looked back at: every decision judged, what it gave away, and where the game turned.

Solved dice games have a review of their own, exact and with luck told from skill: see `dice_review`.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np

from stratagem.analysis.answers import move_text
from stratagem.analysis.evaluators import make_evaluator
from stratagem.analysis.judgement import Evaluator, Judgement, Line, Question, winrate
from stratagem.analysis.programs import programs
from stratagem.protocols.replay import Replay, positions

MARKS = ((0.3, "??"), (0.15, "?"), (0.05, "?!"))  # value lost, and how it is marked
SAME = 1e-6  # closer than this is equally good


@dataclass(frozen=True)
class Decision:
    """One decision judged, from the side of the seat that took it."""

    turn: int
    """Counted from 0: the position before it is that of `analyzeTurns`."""
    seat: int
    action: str
    number: int
    """The action as a number."""
    best: str
    bestNumber: int
    before: float
    """The value with the best move."""
    after: float
    """The value with what was played."""
    loss: float
    rank: int
    """1 for the best; how many moves are known to be better, plus one."""
    alternatives: int
    mark: str
    """?! inaccuracy, ? error, ?? blunder."""
    winrate: float
    """The share of the win before it."""
    score: float | None
    """Of the best move, in the evaluator's unit."""
    pv: tuple[str, ...]
    """How the best move may go on."""


@dataclass(frozen=True)
class Summary:
    """One seat's game."""

    name: str
    result: float
    lost: float
    """Value given away in all."""
    decisions: int
    inaccuracies: int
    errors: int
    blunders: int


@dataclass(frozen=True)
class GameReview:
    """A game judged."""

    game: str
    finished: bool
    evaluator: str
    kind: str
    visits: int
    decisions: tuple[Decision, ...]
    graph: tuple[tuple[float | None, ...], ...]
    """By turn, the values of the seats before it; then the result. None where nobody can tell."""
    seats: tuple[Summary, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Judged:
    """One seat at one turn."""

    turn: int
    seat: int
    played: int
    judgement: Judgement


def review_game(
    replay: Replay,
    visits: int = 100,
    evaluator: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GameReview:
    """Judge every decision of a recorded game; `progress(done, total)` is called after each turn."""
    game: Any = replay.rules()
    name, judge = make_evaluator(game, evaluator)
    states = list(positions(replay, game))
    seen: list[Judged] = []
    for turn, row in enumerate(replay.actions):
        seen += judge_turn(judge, game, states, replay.actions, turn, row, visits)
        if progress:
            progress(turn + 1, len(replay.actions))
    result = [float(value) + 0.0 for value in replay.returns]  # a draw is no minus zero
    graph = (*(values_at(game.spec.seats, seen, turn) for turn in range(len(replay.actions))), tuple(result))
    over = bool(programs(game).done(states[-1]))
    nobody = (None,) * game.spec.seats  # who resigns has not played a losing move
    known = graph if over else (*graph[:-1], nobody)
    exchange = judge.kind == "search" and game.spec.chance == "none"
    decisions = tuple(grade(game, one, known if exchange else None, judge.kind == "rollouts") for one in seen)
    finished = bool(replay.resigned) or over
    seats = tuple(
        summary(replay.seats[seat], result[seat], [one for one in decisions if one.seat == seat])
        for seat in range(game.spec.seats)
    )
    return GameReview(game.spec.title, finished, name, judge.kind, visits, decisions, graph, seats)


def judge_turn(
    judge: Evaluator,
    game: Any,
    states: list[Any],
    actions: list[list[int]],
    turn: int,
    row: list[int],
    visits: int,
) -> list[Judged]:
    """The decision of every seat that had a choice at this turn."""
    secret = game.spec.information == "imperfect"
    past = tuple((states[t], tuple(actions[t])) for t in range(turn)) if secret else ()
    found = []
    for seat in np.flatnonzero(np.asarray(programs(game).to_move(states[turn]))).tolist():
        question = Question(game, states[turn], seat, visits, past, (row[seat],))
        found.append(Judged(turn, seat, row[seat], judge.judge(question, lambda so_far: True)))
    return found


def values_at(seats: int, seen: list[Judged], turn: int) -> tuple[float | None, ...]:
    """The values of all seats before a turn: as one judge sees them, or each as its own seat does."""
    values: list[float | None] = [None] * seats
    for one in seen:
        if one.turn == turn:
            if one.judgement.values is not None:
                return one.judgement.values
            values[one.seat] = one.judgement.value
    return tuple(values)


def grade(
    game: Any, one: Judged, graph: tuple[tuple[float | None, ...], ...] | None, sampled: bool
) -> Decision:
    """What a decision gave away. With `graph`, a move is worth what the next position was found to be worth.

    A value that was `sampled` from games is uncertain: only a loss beyond that is marked.
    """
    lines = one.judgement.lines
    best = lines[0]
    played = next(line for line in lines if line.action == one.played)
    after = value_after(one, played, graph) if played is not best else best.value
    loss = max(0.0, best.value - after)
    better = sum(line.visits > 0 and line.value > after + SAME for line in lines if line is not played)
    good_enough = loss <= SAME
    noise = 1 / sqrt(max(played.visits, 1)) if sampled else 0.0
    return Decision(
        turn=one.turn,
        seat=one.seat,
        action=move_text(game, one.played),
        number=one.played,
        best=move_text(game, one.played if good_enough else best.action),
        bestNumber=one.played if good_enough else best.action,
        before=best.value,
        after=after,
        loss=loss,
        rank=1 if good_enough else max(better, 1) + 1,
        alternatives=len(lines),
        mark=mark_of(loss - noise),
        winrate=winrate(best.value, game.spec.seats),
        score=best.score,
        pv=tuple(move_text(game, action) for action in (best.action, *best.pv)),
    )


def mark_of(loss: float) -> str:
    return next((mark for least, mark in MARKS if loss >= least), "")


def value_after(one: Judged, played: Line, graph: tuple[tuple[float | None, ...], ...] | None) -> float:
    """What the move that was played is worth to the seat that played it."""
    onward = None if graph is None else graph[one.turn + 1][one.seat]
    return played.value if onward is None else onward


def summary(name: str, result: float, own: list[Decision]) -> Summary:
    """One seat's sums."""
    return Summary(
        name=name,
        result=result,
        lost=sum(one.loss for one in own),
        decisions=len(own),
        inaccuracies=sum(one.mark == "?!" for one in own),
        errors=sum(one.mark == "?" for one in own),
        blunders=sum(one.mark == "??" for one in own),
    )
