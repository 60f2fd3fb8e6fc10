"""GENERAL judged by expectimax: the mean over the dice of the best answers, by a hand heuristic."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stratagem.agents.general import Expectimax
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
from stratagem.games.general import General

NOTE = "two actions ahead by a rule of thumb; the score is in units, the value a guess from it"
UNITS = (
    6.0  # the lead in units that is worth a value of 0.76; fitted to results of games between such players
)


@dataclass(frozen=True)
class Averaging:
    """Agent `expectimax`'s values."""

    game: General
    kind: ClassVar[Kind] = "heuristic"
    unit: ClassVar[str | None] = "units"

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        legal = np.zeros(self.game.spec.actions, bool)
        legal[question.legal] = True
        actions, scores = Expectimax(self.game).values(question.view, legal)
        lines = by_value(
            [
                Line(int(action), 1, float(np.tanh(score / UNITS)), float(prior), float(score))
                for action, score, prior in zip(actions, scores, softmax(scores, 1.0), strict=True)
            ]
        )
        best = lines[0]
        return Judgement(
            lines, best.value, two_sided(best.value, question.seat), len(lines), best.score, NOTE
        )
