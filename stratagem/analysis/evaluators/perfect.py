"""Corso judged exactly: the final margin of every move when both sides play for it."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import jax
import numpy as np

from stratagem.agents.corso import cell_codes, two_players
from stratagem.analysis.judgement import Judgement, Kind, Line, Progress, Question, by_value, two_sided
from stratagem.analysis.programs import programs, view_of
from stratagem.core.errors import BadOption
from stratagem.games.corso import Corso
from stratagem.solvers.corso import LARGEST_FINISHED, Solver

LONGEST_LINE = 8  # moves of best play that are shown


class Stopped(Exception):
    """The question is not wanted any more."""


@dataclass(frozen=True)
class Perfect:
    """Solves the position; the score is the margin in cells, the value its sign."""

    game: Corso
    kind: ClassVar[Kind] = "exact"
    unit: ClassVar[str | None] = "cells"

    def __post_init__(self) -> None:
        two_players(self.game, "perfect")
        if self.game.cells > LARGEST_FINISHED:
            raise BadOption(
                f"evaluator perfect solves boards of up to {LARGEST_FINISHED} cells; try search or minimax"
            )

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        margins: dict[int, int] = {}
        legal = question.legal.tolist()

        def hear(news: Any) -> None:
            margins.update(dict.fromkeys(news.moves, news.margin))
            if not goes_on(partial(judgement, legal, margins, question.seat)):
                raise Stopped

        solver = solver_of(self.game.width, self.game.height)
        solver.progress = hear
        try:
            margins.update(solver.margins(*codes(self.game, question.state)))
            line = self.best_play(solver, question.state, margins)
        except Stopped:
            line = ()
        finally:
            solver.progress = None
        return judgement(legal, margins, question.seat, line)

    def best_play(self, solver: Solver, state: Any, margins: dict[int, int]) -> tuple[int, ...]:
        """The best move and what may follow it."""
        play = programs(self.game)
        line = [max(margins, key=lambda action: (margins[action], -action))]
        while len(line) < LONGEST_LINE:
            state = play.step(state, np.full(2, line[-1], np.int32), jax.random.key(0))
            if bool(play.done(state)):
                break
            line.append(solver.best(*codes(self.game, state))[0])
        return tuple(line)


def judgement(
    legal: list[int], margins: dict[int, int], seat: int, best_line: tuple[int, ...] = ()
) -> Judgement:
    """What the margins that are known so far say."""
    best = max(margins.values(), default=0)
    lines = []
    for action in legal:
        margin = margins.get(action)
        pv = best_line[1:] if best_line and action == best_line[0] else ()
        value = float(np.sign(best if margin is None else margin))
        score = None if margin is None else float(margin)
        lines.append(Line(action, int(margin is not None), value, 1 / len(legal), score, pv))
    known = [line for line in lines if line.visits]
    unknown = [line for line in lines if not line.visits]
    value = float(np.sign(best))
    return Judgement(
        (*by_value(known), *unknown),
        value,
        two_sided(value, seat),
        len(known),
        float(best) if known else None,
    )


def codes(game: Corso, state: Any) -> tuple[np.ndarray, int]:
    """(int8[cells], the player to move) as the solver takes them."""
    cells, movers = cell_codes(view_of(game, state, 0)[None])
    return cells[0], int(movers[0])


@lru_cache(maxsize=4)
def solver_of(width: int, height: int) -> Solver:
    """One solver a board size, whose table serves all questions."""
    return Solver(width, height)
