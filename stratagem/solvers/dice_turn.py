"""One turn, looked at closely: the value of every keep and every roll, at every stage.

Works on float64 for players and reviews, and on `Fraction` objects when an answer must be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import Keeps, keeps, scores


@dataclass(frozen=True, eq=False)
class TurnValues:
    """What a turn is worth at each stage. Stage 0 is after the first roll."""

    scoring: np.ndarray  # [2, open categories, rolls]: of each category; [1] on the first roll
    kept: tuple[np.ndarray, ...]  # kept[stage][K]: value of keeping each multiset after that roll
    rolled: tuple[np.ndarray, ...]  # rolled[stage][rolls]: value of each roll before deciding
    value: float  # before the first roll


def turn_values(family: Family, scoring: np.ndarray) -> TurnValues:
    """Work a turn backwards from the value of every way to score it, [2, open categories, rolls]."""
    k = keeps(family.dice, family.faces)
    rolled = [scoring[0].max(axis=0)]
    kept: list[np.ndarray] = []
    for stage in range(family.rolls - 2, -1, -1):
        values = keep_values(k, rolled[0])
        # Keeping everything scores at once, on the first roll with the first roll's points.
        values[k.partial :] = scoring[1 if stage == 0 else 0].max(axis=0)
        kept.insert(0, values)
        rolled.insert(0, best_of_keeps(k, values)[k.partial :])
    value = (k.ways * rolled[0]).sum() / family.faces**family.dice
    return TurnValues(scoring, tuple(kept), tuple(rolled), value)


def keep_values(k: Keeps, rolled: np.ndarray) -> np.ndarray:
    """[K]: value of keeping each multiset and rolling the rest, from the value of each full roll."""
    values = np.concatenate([np.zeros(k.partial, rolled.dtype), rolled])
    for size in range(k.dice - 1, -1, -1):
        these = slice(*_of_size(k, size))
        values[these] = values[k.add[these]].sum(axis=1) / k.faces
    return values


def best_of_keeps(k: Keeps, values: np.ndarray) -> np.ndarray:
    """[K]: the best value among all multisets contained in each."""
    best = values.copy()
    for size in range(1, k.dice + 1):
        first, last = _of_size(k, size)
        drop = k.drop[first:last]
        candidates = best[np.where(drop >= 0, drop, np.arange(first, last)[:, None])]
        best[first:last] = np.maximum(best[first:last], candidates.max(axis=1))
    return best


def contained(k: Keeps, roll: int) -> np.ndarray:
    """int64[...]: the keeps that a full roll allows, fewest dice first."""
    return np.flatnonzero((k.counts <= k.counts[k.partial + roll]).all(axis=1))


def last_turn_chance(family: Family, category: str) -> Fraction:
    """Exact probability of making a combination when nothing else is left to play for."""
    made = scores(family)[family.index(category)] > 0
    leaf = np.array([Fraction(int(fits)) for fits in made], object)[None]
    return Fraction(turn_values(family, np.stack([leaf, leaf])).value)


def _of_size(k: Keeps, size: int) -> tuple[int, int]:
    sizes = k.counts.sum(axis=1)
    return int(np.searchsorted(sizes, size)), int(np.searchsorted(sizes, size, side="right"))
