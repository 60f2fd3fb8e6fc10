"""How many two-player positions a game has, counted as Heled counts them.

A position is a pair of used-up category sets, as alternating seats allow them, and a score difference
that play can reach; finished games count too. Yatzy has 300 million pairs, but the differences depend only
on which points are added and subtracted. Points that are their own mirror image, such as {0, 3, 6, 9, 12, 15},
give as many differences on either side: such a category is used by nobody, by one player, or by both.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import scores


@njit
def _shifted_union(bits, steps, words):
    """Bit set of all sums of a member of `bits` and one of `steps`."""
    out = np.zeros(words, np.uint64)
    for step in steps:
        jump, shift = step // 64, np.uint64(step % 64)
        for word in range(words - 1, jump - 1, -1):
            out[word] |= bits[word - jump] << shift
            if shift and word > jump:
                out[word] |= bits[word - jump - 1] >> (np.uint64(64) - shift)
    return out


@njit
def _ones(bits):
    total = 0
    for word in bits:
        while word:
            word &= word - np.uint64(1)
            total += 1
    return total


@njit
def _count(plus, minus, sizes, mirror, binomial, words):
    """Walk the tree of who has used what; plus and minus are the points of a category added or subtracted."""
    n = len(sizes)
    sums = np.zeros((n + 1, words), np.uint64)
    sums[0, 0] = 1
    choice = np.full(n, -1, np.int64)  # 0 nobody, 1 the mover (mirrored: either), 2 both, 3 the opponent
    level, answer = 0, 0
    while level >= 0:
        if level == n:
            free, lead = 0, 0
            for c in range(n):
                if mirror[c]:
                    free += choice[c] == 1
                else:
                    lead += (choice[c] == 1) - (choice[c] == 3)
            ways = 0
            for behind in range(2):  # the mover has used as many as the opponent, or one fewer
                twice = free - lead - behind
                if twice >= 0 and twice % 2 == 0 and twice // 2 <= free:
                    ways += binomial[free, twice // 2]
            if ways:
                answer += ways * _ones(sums[n])
            level -= 1
            continue
        choice[level] += 1
        if choice[level] > (2 if mirror[level] else 3):
            choice[level] = -1
            level -= 1
            continue
        bits = sums[level]
        if choice[level] in (1, 2):
            bits = _shifted_union(bits, plus[level, : sizes[level]], words)
        if choice[level] in (2, 3):
            bits = _shifted_union(bits, minus[level, : sizes[level]], words)
        sums[level + 1] = bits
        level += 1
    return answer


def positions(family: Family) -> int:
    """Distinct score differences summed over pairs of category sets, finished games included."""
    worth = [np.unique(np.append(row, 0)) for row in scores(family)]
    sizes = np.array([len(row) for row in worth])
    plus = np.zeros((len(worth), sizes.max()), np.int64)
    minus = np.zeros_like(plus)
    for c, row in enumerate(worth):
        plus[c, : len(row)] = row
        minus[c, : len(row)] = row[-1] - row[::-1]
    mirror = np.array([np.array_equal(row, row[-1] - row[::-1]) for row in worth])
    binomial = np.zeros((len(worth) + 1, len(worth) + 1), np.int64)
    binomial[:, 0] = 1
    for n in range(1, len(worth) + 1):
        binomial[n, 1:] = binomial[n - 1, 1:] + binomial[n - 1, :-1]
    words = 2 * sum(int(row[-1]) for row in worth) // 64 + 1
    # Categories with many steps go first, so that the tree repeats the cheap ones.
    order = np.argsort(-sizes, kind="stable")
    return int(_count(plus[order], minus[order], sizes[order], mirror[order], binomial, words))
