"""What one strategy is worth against another, computed by backward induction instead of played.

A duel is solved like the game itself, layer by layer, except that the mover's decisions come from a strategy: from
its table of decisions (`Partisan`), or from equities that it believes in (`Beliefs`): the solved table's for malina,
those of two Maximuses for mindful. The belief picks the keep or the category; the value that follows is the duel's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numba import njit

from stratagem.games.dice.family import Family
from stratagem.solvers.dice_lanes import LANES, add, fill, follow, larger, load, store
from stratagem.solvers.dice_layers import Layout, layout
from stratagem.solvers.dice_numba import (
    CHUNK,
    after_scoring,
    divide,
    mean_over_rolls,
    reciprocal,
    turn,
)
from stratagem.solvers.dice_onesided import UNIFORM, Partisan, distributions, maximus
from stratagem.solvers.dice_strategies import strategy
from stratagem.solvers.dice_table import Table


class Beliefs(Protocol):
    """Equities by which a strategy chooses, whoever it plays against."""

    def layer(self, layer: int) -> np.ndarray:
        """float32: the mover's equity in every position of a layer, in layout order."""


@dataclass(frozen=True, eq=False)
class MindfulBeliefs:
    """Equities as if both players maximised their own scores from now on."""

    board: Layout
    chances: np.ndarray  # float64[sets, scores]

    def layer(self, layer: int) -> np.ndarray:
        mover, opponent = self.board.sizes(layer)
        starts = self.board.starts(layer)
        out = np.empty(starts[-1], np.float32)
        _compare(
            out, starts, self.board.sets[mover], self.board.sets[opponent], self.board.most, self.chances,
            ahead_or_behind(self.chances),
        )  # fmt: skip
        return out


def ahead_or_behind(chances: np.ndarray) -> np.ndarray:
    """float64[sets, scores]: chance that the set brings less than a score, minus the chance that it brings more."""
    up_to = np.cumsum(chances, axis=1)
    return (up_to - chances) - (up_to[:, -1:] - up_to)


@njit(nogil=True, cache=True)
def _compare(out, starts, movers, opponents, most, chances, versus):
    total = most[-1]
    for pair in range(len(starts) - 1):
        mover, opponent = movers[pair // len(opponents)], opponents[pair % len(opponents)]
        low = -min(most[mover], total - most[opponent])
        for i in range(starts[pair + 1] - starts[pair]):
            equity = 0.0
            for score in range(most[mover] + 1):
                reached = low + i + score
                if reached < 0:
                    equity -= chances[mover, score]
                elif reached > most[opponent]:
                    equity += chances[mover, score]
                else:
                    equity += chances[mover, score] * versus[opponent, reached]
            out[starts[pair] + i] = equity


def mindful_beliefs(family: Family) -> MindfulBeliefs:
    return MindfulBeliefs(layout(family), distributions(maximus(family)))


@njit(nogil=True, cache=True)
def mean_over_one_more_die(rows, more):
    """Fill the rows of partial keeps from the rows of full rolls."""
    share, rest = reciprocal(more.shape[1])
    for keep in range(len(more) - 1, -1, -1):
        total = load(rows, more[keep, 0] * LANES)
        for face in range(1, more.shape[1]):
            total = add(total, load(rows, more[keep, face] * LANES))
        store(rows, keep * LANES, divide(total, share, rest))


@njit(nogil=True, cache=True)
def mean_of_two(rows, values, more):
    """`mean_over_one_more_die` for the belief and for the value."""
    mean_over_one_more_die(rows, more)
    mean_over_one_more_die(values, more)


@njit(nogil=True, cache=True)
def best_keep_followed(rows, values, fewer, fewer_from):
    """Choose keeps by `rows`; `values` follows."""
    for keep in range(1, len(fewer_from) - 1):
        best, value = load(rows, keep * LANES), load(values, keep * LANES)
        for at in range(fewer_from[keep], fewer_from[keep + 1]):
            other = load(rows, fewer[at] * LANES)
            value = follow(other, best, load(values, fewer[at] * LANES), value)
            best = larger(other, best)
        store(rows, keep * LANES, best)
        store(values, keep * LANES, value)


@njit(nogil=True, cache=True)
def _duel_pairs(
    first, last, below, believed, category, keep, out, below_starts, below_columns, out_starts, movers, opponents,
    rank, most, best, more, fewer, fewer_from, ways, points, rolls,
):  # fmt: skip
    """One layer of a duel; the mover follows `believed` equities if there are any, else its table of decisions."""
    total = most[-1]
    stride = total + 1 + best.max() + 2 * LANES
    partial, outcomes, categories = len(more), len(ways), len(best)
    by_belief = len(believed) > 0
    ahead = np.empty(categories * stride, np.float32)
    hoped = np.empty(categories * stride, np.float32)
    rows = np.empty((len(fewer_from) - 1) * LANES, np.float32)
    values = np.empty((len(fewer_from) - 1) * LANES, np.float32)
    answer = np.empty(LANES, np.float32)
    for pair in range(first, last):
        mover, opponent = movers[pair // len(opponents)], opponents[pair % len(opponents)]
        low = -min(most[mover], total - most[opponent])
        width = out_starts[pair + 1] - out_starts[pair]
        open_ = 0
        for c in range(categories):
            if not mover >> c & 1:
                continue
            open_ += 1
            rest = mover ^ (1 << c)
            next_low = -min(most[opponent], total - most[rest])
            next_width = min(most[rest], total - most[opponent]) - next_low + 1
            start = below_starts[rank[opponent] * below_columns + rank[rest]]
            row = slice(c * stride, (c + 1) * stride)
            count = width + best[c] + LANES
            after_scoring(ahead[row], below, start, next_low, next_width, low, count)
            if by_belief:
                after_scoring(hoped[row], believed, start, next_low, next_width, low, count)
        share, remainder = reciprocal(open_)
        for lead in range(0, width, LANES):
            for roll in range(outcomes):
                at = (partial + roll) * LANES
                if by_belief:
                    belief, value = fill(np.float32(-2.0)), fill(np.float32(0.0))
                    for c in range(categories):
                        if mover >> c & 1:
                            place = c * stride + lead + points[0, c, roll]
                            other = load(hoped, place)
                            value = follow(other, belief, load(ahead, place), value)
                            belief = larger(other, belief)
                    store(rows, at, belief)
                    store(values, at, value)
                elif category[0, mover, roll] == UNIFORM:
                    value = fill(np.float32(0.0))
                    for c in range(categories):
                        if mover >> c & 1:
                            value = add(value, load(ahead, c * stride + lead + points[0, c, roll]))
                    store(values, at, divide(value, share, remainder))
                else:
                    c = category[0, mover, roll]
                    store(values, at, load(ahead, c * stride + lead + points[0, c, roll]))
            for stage in range(rolls - 2, -1, -1):
                if by_belief:
                    mean_of_two(rows, values, more)
                    best_keep_followed(rows, values, fewer, fewer_from)
                else:
                    mean_over_one_more_die(values, more)
                    for roll in range(outcomes):
                        chosen = load(values, keep[stage, mover, roll] * LANES)
                        store(values, (partial + roll) * LANES, chosen)
            store(answer, 0, mean_over_rolls(values, partial, ways, 1.0))
            for i in range(min(LANES, width - lead)):
                out[out_starts[pair] + lead + i] = answer[i]


NOTHING = np.empty(0, np.float32)
Player = Partisan | Table | MindfulBeliefs


def duel_layer(
    board: Layout, layer: int, mover_plays: Player, below: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """The mover's expected result in every position of a layer, from the layer below."""
    rules = turn(board.family)
    mover, opponent = board.sizes(layer)
    starts = board.starts(layer)
    out = np.empty(starts[-1], np.float32)
    if isinstance(mover_plays, Partisan):
        believed, category, keep = NOTHING, mover_plays.category, mover_plays.keep
    else:
        believed = np.ascontiguousarray(mover_plays.layer(layer - 1))
        category, keep = np.empty((0, 0, 0), np.int8), np.empty((0, 0, 0), np.int16)
    arguments = (
        below, believed, category, keep, out, board.starts(layer - 1), len(board.sets[mover - 1]), starts,
        board.sets[mover], board.sets[opponent], board.rank, board.most, board.best,
        rules.more, rules.fewer, rules.fewer_from, rules.ways, rules.points, rules.rolls,
    )  # fmt: skip
    cuts = np.unique(
        np.searchsorted(starts, np.arange(0, starts[-1] + CHUNK, CHUNK)).clip(0, len(starts) - 1)
    )
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for job in [pool.submit(_duel_pairs, a, b, *arguments) for a, b in pairwise(cuts)]:
            job.result()
    return out


def duel_layers(
    first: Player, second: Player, family: Family, threads: int | None = None
) -> Iterator[np.ndarray]:
    """The layers of a duel from the end to the start; with an even number of open categories `first` moves."""
    board, below = layout(family), np.zeros(1, np.float32)
    if family.has_first_roll_bonus:
        raise ValueError(
            f"exact duels know no first-roll bonus, which {family.name} has here. Try: match without --exact"
        )
    for layer in range(1, board.layers + 1):
        below = duel_layer(board, layer, first if layer % 2 == 0 else second, below, threads)
        yield below


def duel(
    first: Player,
    second: Player,
    family: Family,
    progress: Callable[[float], None] = lambda fraction: None,
    threads: int | None = None,
) -> float:
    """Expected result, +1 win to -1 loss, of the player who begins."""
    board, done, layer = layout(family), 0, NOTHING
    for layer in duel_layers(first, second, family, threads):
        done += len(layer)
        progress(done / board.positions)
    return float(layer[0])


def player(name: str, family: Family, table: Table | None = None) -> Player:
    """A strategy by name; malina needs the solved table."""
    if name == "malina":
        if table is None:
            raise ValueError(f"malina plays from the solved table. Do: stratagem solve {family.name}")
        return table
    if name == "mindful":
        return mindful_beliefs(family)
    return strategy(family, name)
