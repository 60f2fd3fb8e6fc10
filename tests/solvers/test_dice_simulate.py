"""Sampled games agree with exact duels, within what chance allows."""

import numpy as np
import pytest

from stratagem.games.dice.family import generala
from stratagem.solvers.dice import solve
from stratagem.solvers.dice_duel import duel, player
from stratagem.solvers.dice_onesided import distributions
from stratagem.solvers.dice_simulate import simulate
from stratagem.solvers.dice_strategies import strategy

FAMILY = generala().reduced("ones", "sixes", "escalera", "generala")
GAMES = 4000


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return solve(FAMILY, folder=tmp_path_factory.mktemp("solved"))


@pytest.mark.parametrize("other", ["maximus", "mindful", "standing-random"])
def test_sampled_results_are_near_the_exact_ones(table, other):
    opponent = player(other, FAMILY)
    scores = simulate([table, opponent], FAMILY, GAMES, seed=1).scores
    results = np.sign(scores[:, 0] - scores[:, 1])
    # Five standard errors: a right program fails once in two million seeds, and the seed is fixed.
    assert results.mean() == pytest.approx(duel(table, opponent, FAMILY), abs=5 * results.std() / GAMES**0.5)


def test_sampled_scores_have_the_exact_mean():
    joe = strategy(FAMILY, "joe")
    scores = simulate([joe, joe, joe], FAMILY, GAMES, seed=2).scores
    chances = distributions(joe)[-1]
    expected = chances @ np.arange(len(chances))
    assert scores.mean() == pytest.approx(expected, abs=5 * scores.std() / scores.size**0.5)


def test_winnings_add_up_to_nothing():
    joe = strategy(FAMILY, "joe")
    winnings = simulate([joe, joe, joe], FAMILY, 500, seed=3).winnings()
    np.testing.assert_allclose(winnings.sum(axis=1), 0, atol=1e-12)
