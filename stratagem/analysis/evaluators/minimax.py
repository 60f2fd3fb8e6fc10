"""Corso judged by looking a few moves ahead and counting cells."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stratagem.agents.corso import Minimax
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
from stratagem.games.corso import Corso

NOTE = "three moves ahead, counting cells; the value is a guess from the count"


@dataclass(frozen=True)
class Looking:
    """Agent `mm`'s scores. The value is a guess, fitted to solved positions: a quarter of the board ahead is 0.76."""

    game: Corso
    kind: ClassVar[Kind] = "heuristic"
    unit: ClassVar[str | None] = "cells"

    def __post_init__(self) -> None:
        Minimax(self.game)

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        legal = question.legal
        scores = Minimax(self.game).scores(question.view)[legal]
        priors = softmax(scores, 1.0)
        values = np.tanh(scores / (0.25 * self.game.cells))
        lines = by_value(
            [
                Line(int(action), 1, float(value), float(prior), float(score))
                for action, value, prior, score in zip(legal, values, priors, scores, strict=True)
            ]
        )
        best = lines[0]
        return Judgement(
            lines, best.value, two_sided(best.value, question.seat), len(lines), best.score, NOTE
        )
