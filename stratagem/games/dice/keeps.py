"""The multisets of at most `dice` dice, in the order that actions and tables share.

Order: fewest dice first; among equals, ascending dice compared from the left. So with five dice index 0 keeps
nothing, 1–6 keep one die, and the last 252 indices are the full rolls. Generala has 462 of them, Crag 84.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np

from stratagem.games.dice.family import Dice, Family


@dataclass(frozen=True, eq=False)
class Keeps:
    """Multisets of dice and how one die leads from one to the next."""

    dice: int
    faces: int
    multisets: tuple[Dice, ...]  # K of them
    index: dict[Dice, int]
    add: np.ndarray  # int32[partial, faces]: the multiset with one more die of that face
    drop: np.ndarray  # int32[K, faces]: the multiset with one die of that face fewer, or -1
    ways: np.ndarray  # int64[rolls]: orderings of each full roll; they sum to faces ** dice
    counts: np.ndarray  # int8[K, faces]

    @property
    def partial(self) -> int:
        """How many multisets have at least one die left to roll; the full rolls follow them."""
        return len(self.add)

    @property
    def rolls(self) -> tuple[Dice, ...]:
        return self.multisets[self.partial :]

    def full(self, dice: Dice) -> int:
        """Which roll this is, counted from 0; the dice in any order."""
        return self.index[tuple(sorted(dice))] - self.partial


@lru_cache
def keeps(dice: int, faces: int) -> Keeps:
    multisets = tuple(
        multiset
        for size in range(dice + 1)
        for multiset in combinations_with_replacement(range(1, faces + 1), size)
    )
    index = {multiset: i for i, multiset in enumerate(multisets)}
    counts = np.array([[multiset.count(f) for f in range(1, faces + 1)] for multiset in multisets], np.int8)
    partial = sum(len(multiset) < dice for multiset in multisets)
    add = np.zeros((partial, faces), np.int32)
    drop = np.full((len(multisets), faces), -1, np.int32)
    for i, multiset in enumerate(multisets[:partial]):
        for face in range(1, faces + 1):
            add[i, face - 1] = index[tuple(sorted((*multiset, face)))]
            drop[add[i, face - 1], face - 1] = i
    ways = [factorial(dice) // prod(factorial(int(n)) for n in row) for row in counts[partial:]]
    return Keeps(dice, faces, multisets, index, add, drop, np.array(ways, np.int64), counts)


def scores(family: Family, first: bool = False) -> np.ndarray:
    """int16[categories, rolls]: points of every full roll in every category."""
    rolls = keeps(family.dice, family.faces).rolls
    return np.array(
        [[category.score(roll, first) for roll in rolls] for category in family.categories], np.int16
    )
