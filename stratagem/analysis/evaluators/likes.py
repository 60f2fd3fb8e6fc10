"""Hispania judged at a glance: what its historical player likes, in points."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.hispania_historical import UNIT
from stratagem.agents.hispania_worth import by_player, prospects
from stratagem.analysis.evaluators.rollouts import LIKING, POINTS, opinions, shares_of_the_win
from stratagem.analysis.judgement import Judgement, Kind, Line, Progress, Question, by_value, softmax
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.state import widen

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

    def worths(self, states: list[Any], seat: int) -> np.ndarray:
        """From the points that each player would have if the next count came now, and what stands on the map."""
        stand = standing(self.game)
        return np.array([float(stand(state)[seat]) for state in states])


@lru_cache(maxsize=8)
def standing(game: Hispania) -> Callable[[Any], Array]:
    """From a state to float32[P]: values by player."""
    tables = game.tables

    def stand(kept: Any) -> Array:
        state = widen(kept)
        pieces = (state.region >= 0).sum(axis=1)
        points = by_player(tables, prospects(tables, state) + UNIT * pieces)
        return shares_of_the_win(points.astype(jnp.float32))

    return jax.jit(stand)
