"""Ratings: known answers, honest intervals, and honesty where there is no answer."""

import itertools
import math

import numpy as np
import pytest

from stratagem.arena.ratings import expected_score, rate, wilson
from stratagem.core.errors import BadOption


def record(one, other, wins, draws, losses):
    return [(one, other, 1.0)] * wins + [(one, other, 0.5)] * draws + [(one, other, 0.0)] * losses


def by_name(rows):
    return {row.name: row for row in rows}


def test_ten_to_one_is_four_hundred_points():
    rows = by_name(rate(["a", "b"], record("a", "b", 100, 0, 10), "b"))
    assert rows["a"].rating == pytest.approx(400, abs=1e-3)
    assert rows["b"].rating == 0
    assert rows["b"].range == "anchor"


def test_the_interval_of_a_two_player_match_is_the_binomial_one():
    # The log odds of a share p from n games have variance 1 / (n·p·(1 − p)).
    rows = by_name(rate(["a", "b"], record("a", "b", 300, 0, 100), "b"))
    error = math.sqrt(1 / (400 * 0.75 * 0.25)) * 400 / math.log(10)
    assert (rows["a"].high - rows["a"].low) / 2 == pytest.approx(1.96 * error, rel=1e-3)


def test_the_anchor_only_shifts_the_scale():
    results = record("a", "b", 30, 5, 15) + record("b", "c", 25, 5, 20) + record("a", "c", 40, 0, 10)
    one, other = (by_name(rate(["a", "b", "c"], results, anchor)) for anchor in ("a", "c"))
    for x, y in itertools.combinations("abc", 2):
        assert one[x].rating - one[y].rating == pytest.approx(other[x].rating - other[y].rating, abs=0.01)


def test_ratings_recover_the_strengths_that_made_the_results():
    rng = np.random.default_rng(1)
    truth = {"a": 0.0, "b": 150.0, "c": 300.0, "d": -100.0}
    results = []
    for one, other in itertools.combinations(truth, 2):
        share = expected_score(truth[one] - truth[other])
        results += [(one, other, float(win)) for win in rng.random(4000) < share]
    rows = by_name(rate(list(truth), results, "a"))
    for name, strength in truth.items():
        assert rows[name].rating == pytest.approx(strength, abs=25)
        assert rows[name].low <= strength <= rows[name].high


def test_draws_are_evidence_of_equality():
    # Davidson's fit of all-draw results puts both at the same strength.
    rows = by_name(rate(["a", "b"], record("a", "b", 1, 98, 1), "a"))
    assert rows["b"].rating == pytest.approx(0, abs=1e-3)
    many_draws = rate(["a", "b"], record("a", "b", 20, 60, 20), "a")
    few_draws = rate(["a", "b"], record("a", "b", 50, 0, 50), "a")
    assert many_draws[0].rating == pytest.approx(few_draws[0].rating, abs=1e-3)


def test_who_won_everything_is_above_the_range_and_gets_only_a_bound():
    results = record("best", "a", 50, 0, 0) + record("best", "b", 50, 0, 0) + record("a", "b", 30, 0, 20)
    rows = by_name(rate(["a", "b", "best"], results, "a"))
    assert rows["best"].range == "above"
    assert rows["best"].rating is None
    assert rows["best"].high is None
    assert rows["a"].range == "anchor"
    assert rows["b"].range == "measured"
    # At the bound, winning all hundred games has a chance of 5 %.
    against_a = expected_score(rows["best"].low - 0)
    against_b = expected_score(rows["best"].low - rows["b"].rating)
    assert against_a**50 * against_b**50 == pytest.approx(0.05, rel=1e-3)


def test_who_lost_everything_is_below_the_range():
    results = record("a", "worst", 50, 0, 0) + record("a", "b", 30, 0, 20)
    rows = by_name(rate(["a", "b", "worst"], results, "a"))
    assert rows["worst"].range == "below"
    assert rows["worst"].rating is None
    assert rows["worst"].low is None


def test_groups_that_never_met_are_not_compared():
    results = record("a", "b", 3, 0, 2) + record("c", "d", 3, 0, 2)
    rows = by_name(rate(["a", "b", "c", "d"], results, "a"))
    assert rows["c"].range == rows["d"].range == "unconnected"


def test_an_unknown_anchor_is_refused():
    with pytest.raises(BadOption, match="anchor 'z'"):
        rate(["a", "b"], record("a", "b", 1, 0, 1), "z")


def test_wilson_covers_what_it_promises():
    rng = np.random.default_rng(0)
    share, games = 0.93, 60
    covered = [
        low <= share <= high for low, high in (wilson(rng.binomial(games, share), games) for _ in range(4000))
    ]
    assert 0.93 <= np.mean(covered) <= 0.98
