"""The CPU engine: one layer of two-player equities from the layer below, on all cores.

For every roll the best category is a maximum over the open ones; then, for each re-roll, the value of
keeping k dice is the mean over one more die, and the best keep of a roll is the maximum over dropping one die.
Everything runs on `LANES` score differences at once, in float32.

Means are kept as sums over all falls of the dice, and divided once, at the end of a turn. What comes before is sums
and products that are rounded the same way by every compiler, so the engines agree to the last digits: a rounding that
differs does not average out where equities are all alike, but grows with the layers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numba import njit

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import keeps, scores
from stratagem.solvers.dice_lanes import LANES, add, coarse, larger, load, minus, scale, store
from stratagem.solvers.dice_layers import Layout

CHUNK = 1 << 17  # positions a thread solves at a time


@dataclass(frozen=True, eq=False)
class Turn:
    """The combinatorics of a turn as the arrays that compiled code walks through."""

    more: np.ndarray  # int64[partial, faces]: keep with one more die
    fewer: np.ndarray  # int64[...]: keeps with one die fewer, all lists joined
    fewer_from: np.ndarray  # int64[K + 1]: where each keep's list starts
    falls: np.ndarray  # float32[K]: ways in which as many dice as a keep holds can fall
    ways: np.ndarray  # float32[rolls]: orderings of each roll
    points: np.ndarray  # int64[2, categories, rolls]: later rolls, first roll
    rolls: int
    first_roll_bonus: bool


@lru_cache
def turn(family: Family) -> Turn:
    k = keeps(family.dice, family.faces)
    fewer = [row[row >= 0] for row in k.drop]
    return Turn(
        more=k.add.astype(np.int64),
        fewer=np.concatenate(fewer).astype(np.int64),
        fewer_from=np.concatenate([[0], np.cumsum([len(row) for row in fewer])]).astype(np.int64),
        falls=(float(family.faces) ** k.counts.sum(axis=1)).astype(np.float32),
        ways=k.ways.astype(np.float32),
        points=np.stack([scores(family), scores(family, first=True)]).astype(np.int64),
        rolls=family.rolls,
        first_roll_bonus=family.has_first_roll_bonus,
    )


@njit(nogil=True, cache=True)
def reciprocal(n):
    """1 / n as the sum of two float32 numbers, the first of 12 digits: its products with such numbers are exact."""
    share = np.float32(1.0 / n)
    share = np.float32(share - np.float32(share % np.float32(2.0 ** (np.floor(np.log2(share)) - 11))))
    return share, np.float32(1.0 / n - np.float64(share))


@njit(nogil=True, cache=True)
def divide(vector, share, rest):
    """Every lane divided by n, of which these are the `reciprocal`; the same with fused multiplication or without."""
    high = coarse(vector)
    low = add(scale(high, rest), scale(minus(vector, high), share + rest))
    return add(scale(high, share), low)


@njit(nogil=True, cache=True)
def sum_over_one_more_die(rows, more):
    """Fill the rows of partial keeps, from the rows of full rolls, with sums over all falls of the other dice."""
    for keep in range(len(more) - 1, -1, -1):
        total = load(rows, more[keep, 0] * LANES)
        for face in range(1, more.shape[1]):
            total = add(total, load(rows, more[keep, face] * LANES))
        store(rows, keep * LANES, total)


@njit(nogil=True, cache=True)
def best_keep(rows, fewer, fewer_from, falls):
    """Raise every row to the best of the keeps it contains, all as sums over the falls of all dice."""
    for keep in range(1, len(fewer_from) - 1):
        best = scale(load(rows, keep * LANES), falls[keep])
        for at in range(fewer_from[keep], fewer_from[keep + 1]):
            best = larger(best, load(rows, fewer[at] * LANES))
        store(rows, keep * LANES, best)


@njit(nogil=True, cache=True)
def mean_over_rolls(rows, partial, ways, summed):
    """The mean over the first roll, of sums over `summed` falls; added in pairs: a long float32 sum loses digits."""
    everything = 0.0
    for roll in range(len(ways)):
        everything += ways[roll]
        at = (partial + roll) * LANES
        store(rows, at, scale(load(rows, at), ways[roll]))
    left = len(ways)
    while left > 1:
        for pair in range(left // 2):
            sum_ = add(load(rows, (partial + 2 * pair) * LANES), load(rows, (partial + 2 * pair + 1) * LANES))
            store(rows, (partial + pair) * LANES, sum_)
        if left % 2:
            store(rows, (partial + left // 2) * LANES, load(rows, (partial + left - 1) * LANES))
        left = (left + 1) // 2
    share, rest = reciprocal(everything * summed)
    return divide(load(rows, partial * LANES), share, rest)


@njit(nogil=True, cache=True)
def after_scoring(row, table, start, low, width, from_lead, count):
    """Write the scorer's equity for leads from_lead, from_lead + 1, ... once the opponent is to move."""
    for i in range(count):
        at = -(from_lead + i) - low
        if at < 0:
            row[i] = np.float32(1.0)
        elif at >= width:
            row[i] = np.float32(-1.0)
        else:
            row[i] = -table[start + at]


@njit(nogil=True, cache=True)
def solve_pairs(
    first, last, below, out, below_starts, below_columns, out_starts, movers, opponents, rank, most, best,
    more, fewer, fewer_from, falls, ways, points, rolls, first_roll_bonus,
):  # fmt: skip
    """Solve pairs first..last of a layer: `below` is the solved layer, `out` the one being filled."""
    total = most[-1]
    stride = total + 1 + best.max() + 2 * LANES
    partial, outcomes = len(more), len(ways)
    ahead = np.empty(len(best) * stride, np.float32)
    rows = np.empty((len(fewer_from) - 1) * LANES, np.float32)
    answer = np.empty(LANES, np.float32)
    open_ = np.empty(len(best), np.int64)
    summed = float(falls[-1]) ** (rolls - 1)
    gains, gains_to = np.empty(len(best) * outcomes, np.int64), np.empty(outcomes, np.int64)
    for pair in range(first, last):
        mover, opponent = movers[pair // len(opponents)], opponents[pair % len(opponents)]
        low = -min(most[mover], total - most[opponent])
        width = out_starts[pair + 1] - out_starts[pair]
        n = 0
        for category in range(len(best)):
            if not mover >> category & 1:
                continue
            rest = mover ^ (1 << category)
            open_[n] = category
            # The opponent moves next: same pair, roles swapped, one category fewer.
            next_low = -min(most[opponent], total - most[rest])
            next_width = min(most[rest], total - most[opponent]) - next_low + 1
            next_pair = rank[opponent] * below_columns + rank[rest]
            after_scoring(
                ahead[n * stride : (n + 1) * stride], below, below_starts[next_pair], next_low, next_width,
                low, width + best[category] + LANES,
            )  # fmt: skip
            n += 1
        if pair == first or pair % len(opponents) == 0:  # another mover's set
            count = 0
            for roll in range(outcomes):
                for i in range(n):
                    if points[0, open_[i], roll] > 0:
                        gains[count] = i * stride + points[0, open_[i], roll]
                        count += 1
                gains_to[roll] = count
        for lead in range(0, width, LANES):
            # A lead is worth no less than a smaller one, so scoring nothing need only be compared once.
            nothing = load(ahead, lead)
            for i in range(1, n):
                nothing = larger(nothing, load(ahead, i * stride + lead))
            start = 0
            for roll in range(outcomes):
                value = nothing
                for at in range(start, gains_to[roll]):
                    value = larger(value, load(ahead, lead + gains[at]))
                start = gains_to[roll]
                store(rows, (partial + roll) * LANES, value)
            for _ in range(rolls - 1):
                sum_over_one_more_die(rows, more)
                best_keep(rows, fewer, fewer_from, falls)
            if first_roll_bonus:
                for roll in range(outcomes):
                    value = load(rows, (partial + roll) * LANES)
                    for i in range(n):
                        now = load(ahead, i * stride + lead + points[1, open_[i], roll])
                        value = larger(value, scale(now, np.float32(summed)))
                    store(rows, (partial + roll) * LANES, value)
            store(answer, 0, mean_over_rolls(rows, partial, ways, summed))
            for i in range(min(LANES, width - lead)):
                out[out_starts[pair] + lead + i] = answer[i]


def solve_layer(
    board: Layout, layer: int, below: np.ndarray, out: np.ndarray, threads: int | None = None
) -> Iterator[int]:
    """Fill `out`, layer `layer`, from `below`; yields the positions finished so far."""
    rules = turn(board.family)
    mover, opponent = board.sizes(layer)
    starts = board.starts(layer)
    arguments = (
        below, out, board.starts(layer - 1), len(board.sets[mover - 1]), starts,
        board.sets[mover], board.sets[opponent], board.rank, board.most, board.best,
        rules.more, rules.fewer, rules.fewer_from, rules.falls, rules.ways, rules.points, rules.rolls,
        rules.first_roll_bonus,
    )  # fmt: skip
    cuts = np.searchsorted(starts, np.arange(0, starts[-1] + CHUNK, CHUNK))
    cuts = np.unique(cuts.clip(0, len(starts) - 1))
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        jobs = [pool.submit(solve_pairs, a, b, *arguments) for a, b in pairwise(cuts)]
        try:
            for job, cut in zip(jobs, cuts[1:], strict=True):
                job.result()
                yield int(starts[cut])
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
