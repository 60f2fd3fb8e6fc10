"""Where every two-player position lives: layers, pairs of category sets, windows of score differences.

A position before a roll is (mover's open set A, opponent's open set B, mover's lead d). Seats alternate, so
the mover has as many open categories as the opponent, or one more. Layer t holds the positions with t open
categories in all, (t + 1) // 2 and t // 2; a turn leads from layer t to layer t - 1. Layer 0 is finished games.

In a layer, pairs are ordered by A and then B; of each pair only the undecided, reachable leads are stored:

    -min(M, total - N) <= d <= min(N, total - M)        M, N: the most the mover, the opponent can still score

Above the window the mover has won, below it lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import scores


@dataclass(frozen=True, eq=False)
class Layout:
    """The arithmetic of the table's layout for one game."""

    family: Family
    best: np.ndarray  # int32[categories]: the most each category can score
    most: np.ndarray  # int32[2 ** categories]: the most a set of open categories can still score
    rank: np.ndarray  # int32[2 ** categories]: place of a set among the sets of its size
    sets: tuple[np.ndarray, ...]  # sets[size]: int32 masks, ascending

    @property
    def total(self) -> int:
        return int(self.most[-1])

    @property
    def layers(self) -> int:
        """Layers to be computed; the finished games of layer 0 are not stored."""
        return 2 * len(self.best)

    def sizes(self, layer: int) -> tuple[int, int]:
        """Open categories of the mover and of the opponent."""
        return (layer + 1) // 2, layer // 2

    def window(self, mover: int, opponent: int) -> tuple[int, int]:
        """Lowest stored lead, and how many there are."""
        mine, theirs = int(self.most[mover]), int(self.most[opponent])
        low = -min(mine, self.total - theirs)
        return low, min(theirs, self.total - mine) - low + 1

    def starts(self, layer: int) -> np.ndarray:
        """int64[pairs + 1]: where each pair's window starts in its layer; the last entry is its size."""
        mine, theirs = (self.most[self.sets[size]].astype(np.int64) for size in self.sizes(layer))
        width = self.total + 1 - np.abs(self.total - mine[:, None] - theirs[None, :])
        return np.concatenate([[0], np.cumsum(width.ravel())])

    def size(self, layer: int) -> int:
        """Positions stored for a layer: `starts(layer)[-1]` without a list of the pairs, which may be millions."""
        scores = np.arange(self.total + 1)
        mine, theirs = (
            np.bincount(self.most[self.sets[size]], minlength=self.total + 1) for size in self.sizes(layer)
        )
        width = self.total + 1 - np.abs(self.total - scores[:, None] - scores[None, :])
        return int(mine @ width @ theirs)

    def pairs(self, layer: int) -> int:
        mover, opponent = self.sizes(layer)
        return len(self.sets[mover]) * len(self.sets[opponent])

    @cached_property
    def layer_starts(self) -> np.ndarray:
        """int64[layers + 1]: where each layer starts in the table; entry t belongs to layer t + 1."""
        return np.concatenate([[0], np.cumsum([self.size(t) for t in range(1, self.layers + 1)])])

    @property
    def positions(self) -> int:
        """Positions that are computed and stored."""
        return int(self.layer_starts[-1])


@dataclass(frozen=True)
class LayerReport:
    """One finished layer of a streaming solve."""

    layer: int
    open: tuple[int, int]
    pairs: int
    positions: int
    """Undecided positions, the ones that count."""
    checksum: str
    """Sum of the equities' float32 bit patterns, modulo 2 ** 32."""
    mean: float
    """Mean equity of the mover over those positions."""


@lru_cache
def layout(family: Family) -> Layout:
    """The layout of a game; refuses rules whose value needs more than sets and a lead."""
    if family.upper_bonus:
        raise ValueError(
            f"the two-player solution of {family.name} has no room for the upper bonus: "
            "a position would need both players' upper scores. Try: upper_bonus=False"
        )
    best = np.maximum(scores(family), scores(family, first=True)).max(axis=1).astype(np.int32)
    n = len(best)
    masks = np.arange(1 << n, dtype=np.int32)
    member = (masks[:, None] >> np.arange(n)) & 1
    size = member.sum(axis=1)
    sets = tuple(masks[size == k] for k in range(n + 1))
    rank = np.zeros(1 << n, np.int32)
    for group in sets:
        rank[group] = np.arange(len(group))
    return Layout(family, best, (member @ best).astype(np.int32), rank, sets)
