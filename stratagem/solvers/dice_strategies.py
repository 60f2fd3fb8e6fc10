"""Strategies that ignore the opponents, as tables of decisions: maximus, joe and two that never roll again.

What the paper leaves to its code is read here as follows. Joe: the distance of dice to a combination is the
number of dice that must change; he keeps the dice that serve the nearest open combination, the one lower on the
sheet when two are equally near. He scores the nearest combination among those that bring points, by the same rule;
when none does he waives the lowest on the sheet, the hardest. Greedy and random never roll again; greedy scores
most points, and when that is a tie, the category that could have brought least; random takes any open category.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from stratagem.games.dice.family import Category, Dice, Family
from stratagem.games.dice.keeps import keeps, scores
from stratagem.solvers.dice_onesided import UNIFORM, Partisan, maximus


@lru_cache
def strategy(family: Family, name: str) -> Partisan:
    """The strategy of that name as a table."""
    makers: dict[str, Callable[[Family], Partisan]] = {
        "maximus": maximus,
        "joe": joe,
        "standing-greedy": greedy,
        "standing-random": anything,
    }
    if name not in makers:
        raise ValueError(f"no strategy is called {name!r}; there is {', '.join(makers)}")
    return makers[name](family)


def serving(category: Category, dice: Dice, family: Family) -> Dice:
    """The largest part of the dice that can stay when one goes for this category."""
    k = keeps(family.dice, family.faces)
    best: Dice = ()
    for target in _targets(family)[category]:
        counts = np.minimum(k.counts[target], k.counts[k.index[dice]])
        if counts.sum() > len(best):
            best = tuple(face + 1 for face in range(family.faces) for _ in range(counts[face]))
    return best


@lru_cache
def _targets(family: Family) -> dict[Category, list[int]]:
    """For each category the multisets that complete it: of least size, best points first."""
    k = keeps(family.dice, family.faces)
    targets = {}
    for category in family.categories:
        worth = np.array([category.score(roll) for roll in k.rolls])
        if category.fits in ("face", "any"):  # more is better, so only the best counts as complete
            made = worth == worth.max()
        else:
            made = worth > 0
        rolls = k.partial + np.flatnonzero(made)
        # A part is enough if every way to fill it up is made: four equal dice for four of a kind.
        enough = [
            i
            for i in range(len(k.multisets))
            if set(rolls)
            >= {r for r in range(k.partial, len(k.multisets)) if (k.counts[i] <= k.counts[r]).all()}
        ]
        least = [i for i in enough if not any(j != i and (k.counts[j] <= k.counts[i]).all() for j in enough)]
        targets[category] = least
    return targets


def joe(family: Family) -> Partisan:
    """Goes for the nearest combination."""
    k = keeps(family.dice, family.faces)
    points = scores(family)
    kept = np.empty((len(family.categories), len(k.rolls)), np.int64)
    distance = np.empty_like(kept)
    for c, category in enumerate(family.categories):
        size = min(len(k.multisets[target]) for target in _targets(family)[category])
        for r, roll in enumerate(k.rolls):
            part = serving(category, roll, family)
            kept[c, r], distance[c, r] = k.index[part], size - len(part)
            if distance[c, r] == 0:
                kept[c, r] = k.partial + r
    sets = 1 << len(family.categories)
    shape = (sets, len(k.rolls))
    going_for, scoring = np.zeros(shape, np.int8), np.zeros(shape, np.int8)
    nearest, nearest_scoring = np.full(shape, 99), np.full(shape, 99)
    for c in reversed(range(len(family.categories))):  # the lowest on the sheet goes first, and so wins ties
        is_open = (np.arange(sets) >> c & 1).astype(bool)[:, None]
        nearer = is_open & (distance[c] < nearest)
        going_for[nearer], nearest = c, np.where(nearer, distance[c], nearest)
        # A category that brings nothing is only waived for want of another.
        far = np.where(points[c] > 0, distance[c], 50)
        nearer = is_open & (far < nearest_scoring)
        scoring[nearer], nearest_scoring = c, np.where(nearer, far, nearest_scoring)
    keep = kept[going_for, np.arange(len(k.rolls))].astype(np.int16)
    return Partisan(family, "joe", np.stack([scoring] * 2), np.stack([keep] * (family.rolls - 1)))


def _stand(family: Family, name: str, category: np.ndarray) -> Partisan:
    """Never roll again."""
    k = keeps(family.dice, family.faces)
    sets = 1 << len(family.categories)
    keep = np.broadcast_to(k.partial + np.arange(len(k.rolls)), (family.rolls - 1, sets, len(k.rolls)))
    return Partisan(family, name, category, keep.astype(np.int16))


def greedy(family: Family) -> Partisan:
    """Scores the first roll where it brings most."""
    sets = 1 << len(family.categories)
    open_ = (np.arange(sets)[:, None] >> np.arange(len(family.categories)) & 1).astype(bool)
    category = []
    for first in (False, True):
        points = scores(family, first).astype(np.int64)
        # Ties, waives among them, go to the category that could have brought least.
        rank = points * 1000 - points.max(axis=1)[:, None]
        worth = np.where(open_[:, :, None], rank[None], -(10**9))
        category.append(worth.argmax(axis=1))
    return _stand(family, "standing-greedy", np.stack(category).astype(np.int8))


def anything(family: Family) -> Partisan:
    """Scores the first roll anywhere."""
    shape = (2, 1 << len(family.categories), len(keeps(family.dice, family.faces).rolls))
    return _stand(family, "standing-random", np.full(shape, UNIFORM, np.int8))
