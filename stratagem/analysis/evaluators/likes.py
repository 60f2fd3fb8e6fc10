"""Hispania judged at a glance: what its historical player likes, in points."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stratagem.analysis.evaluators.rollouts import LIKING, POINTS, opinions
from stratagem.analysis.judgement import Judgement, Kind, Line, Progress, Question, by_value, softmax
from stratagem.games.hispania.rules import Hispania

NOTE = "what agent historical likes, in points; the value is a guess from the points so far"


@dataclass(frozen=True)
class Likes:
    """One look, no games: quick enough for a hint."""

    game: Hispania
    kind: ClassVar[Kind] = "heuristic"
    unit: ClassVar[str | None] = "points"

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        liking, leads = (np.asarray(part, np.float64) for part in opinions(self.game)(question.state))
        legal = question.legal
        scores, value = liking[legal], float(leads[question.seat])
        values = np.clip(value + (scores - scores.max()) / POINTS, -1.0, 1.0)
        parts = zip(legal, values, softmax(scores, LIKING), scores, strict=True)
        lines = by_value([Line(int(a), 1, float(v), float(p), float(s)) for a, v, p, s in parts])
        return Judgement(lines, value, tuple(leads.tolist()), len(lines), lines[0].score, NOTE)
