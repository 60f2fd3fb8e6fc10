"""One player alone: expected scores, strategies that look at their own sheet only, and score distributions.

Such a strategy decides from its open categories and the dice, so it is a table of decisions (`Partisan`), and the
distribution of its final score follows from it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from stratagem.games.dice.family import Family
from stratagem.solvers.dice_numba import turn

UNIFORM = -1  # in place of a category: any open one, with equal chances


@dataclass(frozen=True, eq=False)
class Partisan:
    """A strategy that ignores the opponents."""

    family: Family
    name: str
    category: np.ndarray  # int8[2, sets, rolls]: what to score; [1] on the first roll
    keep: np.ndarray  # int16[rolls - 1, sets, rolls]: which multiset to keep; the full roll scores at once


@njit(nogil=True, cache=True)
def decide(leaf, first, more, fewer, fewer_from, ways, rolls, kept, source, keep):
    """Work a turn backwards; fills keep[stage, roll] with the best keeps and returns the turn's value."""
    partial, outcomes = len(more), len(ways)
    for roll in range(outcomes):
        kept[partial + roll] = leaf[roll]
    for stage in range(rolls - 2, -1, -1):
        for i in range(partial - 1, -1, -1):
            total = 0.0
            for face in range(more.shape[1]):
                total += kept[more[i, face]]
            kept[i] = total / more.shape[1]
        for i in range(len(fewer_from) - 1):
            source[i] = i
            if stage == 0 and i >= partial:
                kept[i] = max(kept[i], first[i - partial])
            for at in range(fewer_from[i], fewer_from[i + 1]):
                if kept[fewer[at]] > kept[i]:
                    kept[i] = kept[fewer[at]]
                    source[i] = source[fewer[at]]
        for roll in range(outcomes):
            keep[stage, roll] = source[partial + roll]
    total = 0.0
    for roll in range(outcomes):
        total += ways[roll] * max(kept[partial + roll], first[roll])
    return total / ways.sum()


@njit(nogil=True, cache=True)
def _maximise(expected, category, keep, is_face, target, points, more, fewer, fewer_from, ways, rolls):
    """Fill expected[set, upper] in place, and for upper 0 the decisions, from smaller sets to larger."""
    sets, uppers = expected.shape
    categories, outcomes = points.shape[1:]
    leaf, first = np.empty(outcomes), np.empty(outcomes)
    kept, source = np.empty(len(fewer_from) - 1), np.empty(len(fewer_from) - 1, np.int64)
    scratch = np.empty((max(rolls - 1, 1), outcomes), np.int64)
    for mask in range(1, sets):
        reachable = 0
        for c in range(categories):
            if is_face[c] and not mask >> c & 1:
                reachable += points[0, c].max()
        for upper in range(min(uppers, reachable + 1)):
            for moment in range(2):
                values = leaf if moment == 0 else first
                for roll in range(outcomes):
                    best, choice = -1.0, -1
                    for c in range(categories):
                        if mask >> c & 1:
                            gain = points[moment, c, roll]
                            then = min(upper + gain, target) if is_face[c] else upper
                            value = gain + expected[mask ^ (1 << c), then]
                            if value > best:
                                best, choice = value, c
                    values[roll] = best
                    if upper == 0 and len(category):
                        category[moment, mask, roll] = choice
            expected[mask, upper] = decide(
                leaf, first, more, fewer, fewer_from, ways, rolls, kept, source, scratch
            )
            if upper == 0 and len(category):
                for stage in range(rolls - 1):
                    for roll in range(outcomes):
                        keep[stage, mask, roll] = scratch[stage, roll]


def _arguments(family: Family):
    rules = turn(family)
    return rules.points, rules.more, rules.fewer, rules.fewer_from, rules.ways.astype(np.float64), rules.rolls


@lru_cache
def expected_scores(family: Family) -> np.ndarray:
    """float64[sets, upper]: the most points, on average, that the open categories still bring.

    `upper` counts points in face categories up to the bonus's target; without a bonus it is always 0.
    """
    sets = 1 << len(family.categories)
    expected = np.zeros((sets, family.upper_target + 1 if family.upper_bonus else 1))
    if family.upper_bonus:
        expected[0, -1] = family.upper_bonus
    nothing = np.empty((0, 0, 0), np.int8)
    _maximise(
        expected, nothing, nothing.astype(np.int16), _faces(family), family.upper_target, *_arguments(family)
    )
    return expected


@lru_cache
def maximus(family: Family) -> Partisan:
    """The strategy that maximises its own expected score."""
    refuse_bonus(family, "a table of decisions")
    sets, outcomes = 1 << len(family.categories), turn(family).points.shape[2]
    category = np.zeros((2, sets, outcomes), np.int8)
    keep = np.zeros((family.rolls - 1, sets, outcomes), np.int16)
    _maximise(np.zeros((sets, 1)), category, keep, _faces(family), 0, *_arguments(family))
    return Partisan(family, "maximus", category, keep)


def _faces(family: Family) -> np.ndarray:
    upper = bool(family.upper_bonus)
    return np.array([upper and category.fits == "face" for category in family.categories])


def refuse_bonus(family: Family, what: str) -> None:
    if family.upper_bonus:
        raise ValueError(
            f"{what} of {family.name} would need the upper score of every position. Try: upper_bonus=False"
        )


@njit(nogil=True, cache=True)
def final_rolls(mask, keep, more, ways, scored_first, scored_later):
    """The chances of scoring each roll, on the first roll or later, when a set's decisions are followed."""
    partial, outcomes = len(more), len(ways)
    stages = keep.shape[0]
    scored_first[:] = 0.0
    scored_later[:] = 0.0
    now = ways / ways.sum()
    held = np.empty(partial + outcomes)
    for stage in range(stages):
        held[:] = 0.0
        for roll in range(outcomes):
            chosen = keep[stage, mask, roll]
            if chosen == partial + roll and stage == 0:
                scored_first[roll] += now[roll]
            elif chosen == partial + roll:
                scored_later[roll] += now[roll]
            else:
                held[chosen] += now[roll]
        for i in range(partial):
            share = held[i] / more.shape[1]
            for face in range(more.shape[1]):
                held[more[i, face]] += share
        now[:] = held[partial:]
    if stages == 0:
        scored_first += now
    else:
        scored_later += now


@njit(nogil=True, cache=True)
def _distribute(distribution, category, keep, points, more, ways):
    sets, scores = distribution.shape
    categories, outcomes = points.shape[1:]
    first, later = np.empty(outcomes), np.empty(outcomes)
    for mask in range(1, sets):
        final_rolls(mask, keep, more, ways, first, later)
        open_ = 0
        for c in range(categories):
            open_ += mask >> c & 1
        for c in range(categories):
            if not mask >> c & 1:
                continue
            gains = np.zeros(points.max() + 1)
            for roll in range(outcomes):
                for moment in range(2):
                    chance = first[roll] if moment == 1 else later[roll]
                    if category[moment, mask, roll] == c:
                        gains[points[moment, c, roll]] += chance
                    elif category[moment, mask, roll] == UNIFORM:
                        gains[points[moment, c, roll]] += chance / open_
            for gain in range(len(gains)):
                if gains[gain] > 0:
                    for score in range(scores - gain):
                        distribution[mask, score + gain] += gains[gain] * distribution[mask ^ (1 << c), score]


def distributions(strategy: Partisan) -> np.ndarray:
    """float64[sets, scores]: the chance of each total that the open categories will still bring."""
    refuse_bonus(strategy.family, "the score distribution")
    rules = turn(strategy.family)
    total = int(rules.points.max(axis=(0, 2)).sum())
    answer = np.zeros((1 << len(strategy.family.categories), total + 1))
    answer[0, 0] = 1.0
    _distribute(
        answer, strategy.category, strategy.keep, rules.points, rules.more, rules.ways.astype(np.float64)
    )
    return answer
