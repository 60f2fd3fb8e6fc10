"""Many games of the dice players at once, in compiled code: for questions that have no exact answer yet.

Strategies are the same as in `dice_duel`; with three and more seats malina plays against the most dangerous
opponent, and mindful against the highest of the opponents' scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from stratagem.games.dice.family import Family
from stratagem.solvers.dice_duel import MindfulBeliefs, Player
from stratagem.solvers.dice_layers import layout
from stratagem.solvers.dice_numba import turn
from stratagem.solvers.dice_onesided import UNIFORM, Partisan, decide
from stratagem.solvers.dice_table import Table

MALINA, MINDFUL = -1, -2  # kinds of seats; 0, 1, ... is a row of decision tables


@dataclass(frozen=True, eq=False)
class Tally:
    """What happened."""

    scores: np.ndarray  # int32[games, P]
    turns: (
        np.ndarray
    )  # int64[P]: turns that were scored while the game was open; only those are counted below
    waived: np.ndarray  # int64[P, categories]: turns that ended with a waive
    by_choice: np.ndarray  # int64[P]: waives although an open category would have brought points
    first_turn: np.ndarray  # int64[P]: those on the first turn

    def winnings(self) -> np.ndarray:
        """float64[games, P]: everybody stakes 1; the highest score takes all, equal ones share."""
        best = self.scores == self.scores.max(axis=1, keepdims=True)
        return best * (self.scores.shape[1] / best.sum(axis=1, keepdims=True)) - 1.0


@njit(nogil=True, cache=True)
def _equity(numbers, offsets, starts, starts_from, rank, most, counts, columns, mover, opponent, lead):
    """A look into the solved table."""
    total = most[-1]
    low = -min(most[mover], total - most[opponent])
    width = min(most[opponent], total - most[mover]) - low + 1
    if lead < low:
        return -1.0
    if lead >= low + width:
        return 1.0
    layer = counts[mover] + counts[opponent]
    if layer == 0:
        return 0.0
    pair = rank[mover] * columns[counts[opponent]] + rank[opponent]
    return float(numbers[offsets[layer - 1] + starts[starts_from[layer] + pair] + lead - low])


@njit(nogil=True, cache=True)
def _play(
    games, kinds, rng, scores, turns, waived, by_choice, first_turn, numbers, offsets, starts, starts_from, rank, most,
    counts, columns, category, keep, chances, summed, points, more, fewer, fewer_from, ways, rolls,
):  # fmt: skip
    seats, categories, outcomes = len(kinds), points.shape[1], points.shape[2]
    partial, everything = len(more), (1 << points.shape[1]) - 1
    sums = np.cumsum(ways) / ways.sum()
    leaf, first = np.empty(outcomes), np.empty(outcomes)
    kept, source = np.empty(len(fewer_from) - 1), np.empty(len(fewer_from) - 1, np.int64)
    choice = np.empty((max(rolls - 1, 1), outcomes), np.int64)
    pick = np.empty((2, outcomes), np.int64)
    reach = chances.shape[1]
    versus = np.empty(3 * reach + most[-1])
    for game in range(games):
        open_ = np.full(seats, everything)
        score = np.zeros(seats, np.int64)
        for number in range(categories * seats):
            seat = number % seats
            mask = open_[seat]
            kind = kinds[seat]
            rival, lead = 0, 0
            if kind == MALINA:
                worst = 2.0
                for other in range(seats):
                    if other != seat:
                        equity = _equity(
                            numbers, offsets, starts, starts_from, rank, most, counts, columns,
                            mask, open_[other], score[seat] - score[other],
                        )  # fmt: skip
                        if equity < worst:
                            worst, rival, lead = equity, open_[other], score[seat] - score[other]
            elif kind == MINDFUL:
                # versus[s]: chance that all others end below s, minus the chance that one ends above.
                for final in range(len(versus)):
                    below, up_to = 1.0, 1.0
                    for other in range(seats):
                        if other != seat:
                            left = final - score[other]
                            under = summed[open_[other], min(left, reach) - 1] if left > 0 else 0.0
                            below *= under
                            up_to *= under + (chances[open_[other], left] if 0 <= left < reach else 0.0)
                    versus[final] = below - (1.0 - up_to)
            if kind < 0:
                for moment in range(2):
                    values = leaf if moment == 0 else first
                    values[:] = -9.0
                    for c in range(categories):
                        if not mask >> c & 1:
                            continue
                        rest = mask ^ (1 << c)
                        known = np.full(points.max() + 1, np.nan)
                        for roll in range(outcomes):
                            gain = points[moment, c, roll]
                            if np.isnan(known[gain]):
                                if kind == MALINA:
                                    known[gain] = -_equity(
                                        numbers, offsets, starts, starts_from, rank, most, counts, columns,
                                        rival, rest, -(lead + gain),
                                    )  # fmt: skip
                                else:
                                    total = 0.0
                                    for later in range(most[rest] + 1):
                                        total += chances[rest, later] * versus[score[seat] + gain + later]
                                    known[gain] = total
                            tie = (
                                known[gain] == values[roll]
                                and gain > points[moment, pick[moment, roll], roll]
                            )
                            if known[gain] > values[roll] or tie:
                                values[roll] = known[gain]
                                pick[moment, roll] = c
                decide(leaf, first, more, fewer, fewer_from, ways, rolls, kept, source, choice)
            dice = np.searchsorted(sums, rng.random(), side="right")
            moment = 1
            for stage in range(rolls - 1):
                chosen = choice[stage, dice] if kind < 0 else keep[kind, stage, mask, dice]
                if chosen == partial + dice:
                    break
                moment = 0
                now = chosen
                while now < partial:
                    now = more[now, int(rng.random() * more.shape[1])]
                dice = now - partial
            if kind < 0:
                c = pick[moment, dice]
            else:
                c = category[kind, moment, mask, dice]
                if c == UNIFORM:
                    nth = int(rng.random() * counts[mask])
                    for candidate in range(categories):
                        if mask >> candidate & 1:
                            if nth == 0:
                                c = candidate
                            nth -= 1
            gain = points[moment, c, dice]
            undecided = kind >= 0 or abs((first if moment else leaf)[dice]) < 1 - 1e-6
            turns[seat] += undecided
            if gain == 0 and undecided:
                waived[seat, c] += 1
                for other in range(categories):
                    if mask >> other & 1 and points[moment, other, dice] > 0:
                        by_choice[seat] += 1
                        first_turn[seat] += mask == everything
                        break
            score[seat] += gain
            open_[seat] = mask ^ (1 << c)
        for seat in range(seats):
            scores[game, seat] = score[seat]


def simulate(seats: list[Player], family: Family, games: int, seed: int) -> Tally:
    """Play that many games with these strategies at the seats."""
    board, rules = layout(family), turn(family)
    table = next((one for one in seats if isinstance(one, Table)), None)
    tables = [one for one in seats if isinstance(one, Partisan)]
    beliefs = next((one for one in seats if isinstance(one, MindfulBeliefs)), None)
    kinds = []
    for one in seats:
        kinds.append(MALINA if one is table else MINDFUL if one is beliefs else tables.index(one))  # type: ignore[arg-type]
    numbers = table.numbers if table is not None else np.zeros(1, np.float32)
    if numbers.dtype != np.float32:
        raise ValueError("games are simulated with the float32 table")
    starts = [board.starts(layer) for layer in range(board.layers + 1)]
    sets, outcomes = 1 << len(family.categories), rules.points.shape[2]
    category = np.zeros((max(len(tables), 1), 2, sets, outcomes), np.int8)
    keep = np.zeros((max(len(tables), 1), family.rolls - 1, sets, outcomes), np.int16)
    for i, one in enumerate(tables):
        category[i], keep[i] = one.category, one.keep
    chances = beliefs.chances if beliefs is not None else np.zeros((1, 1))
    tally = Tally(
        np.zeros((games, len(seats)), np.int32),
        np.zeros(len(seats), np.int64),
        np.zeros((len(seats), len(family.categories)), np.int64),
        np.zeros(len(seats), np.int64),
        np.zeros(len(seats), np.int64),
    )
    _play(
        games, np.array(kinds), np.random.default_rng(seed), tally.scores, tally.turns, tally.waived,
        tally.by_choice, tally.first_turn,
        np.asarray(numbers), table.offsets if table is not None else np.zeros(1, np.int64),
        np.concatenate(starts), np.concatenate([[0], np.cumsum([len(one) for one in starts])]),
        board.rank, board.most.astype(np.int64), np.array([mask.bit_count() for mask in range(sets)]),
        np.array([len(group) for group in board.sets]), category, keep,
        chances, np.cumsum(chances, axis=1),
        rules.points, rules.more, rules.fewer, rules.fewer_from, rules.ways.astype(np.float64), rules.rolls,
    )  # fmt: skip
    return tally
