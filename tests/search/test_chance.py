"""Dice: the search averages over them and never knows what will fall."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_games import DiceRace

from stratagem.search import Gumbel, Puct, search

GAME = DiceRace()


def blank(state):
    return jnp.zeros(3), jnp.zeros(2)


@cache
def looked(simulations, seeds=16):
    rule = Puct(simulations=simulations, noise=0.0)
    keys = jax.random.split(jax.random.key(0), seeds)
    state = GAME.init(jax.random.key(0))
    return jax.jit(jax.vmap(partial(search, GAME, blank, rule), in_axes=(None, 0, None)))(state, keys, 0.0)


def test_values_of_a_dice_game_come_closer_to_expectimax_as_simulations_grow():
    value, actions = GAME.expectimax()
    best = int(np.argmax(actions))
    errors = [np.abs(looked(count).qvalues[:, best] - value).mean() for count in (30, 300, 3000)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.06


def test_the_best_action_of_a_dice_game_is_found():
    _, actions = GAME.expectimax()
    assert (looked(3000).action == int(np.argmax(actions))).mean() > 0.9


def test_outcomes_are_visited_as_often_as_their_odds_say():
    tree = jax.tree.map(lambda leaf: np.asarray(leaf[0]), looked(3000).tree)
    chance = tree.children[0, 1]  # after action 1 from the root: odds 3 : 1 : 1
    assert tree.chance[chance]
    assert tree.arrival[chance] == 1
    children = tree.children[chance]
    shares = tree.visits[children] / tree.visits[chance]
    np.testing.assert_allclose(shares, [0.6, 0.2, 0.2], atol=0.03)
    # A sure thing has one outcome only.
    safe = tree.children[tree.children[0, 0]]
    assert (safe > 0).tolist() == [True, False, False]


def test_the_search_does_not_see_the_die_that_will_fall():
    """What it chooses must not follow the key that the game is then played with."""
    state = GAME.init(jax.random.key(0))
    rule = Gumbel(simulations=24, considered=3)
    keys = jax.random.split(jax.random.key(5), 2000)

    def move_and_fall(key):
        action = search(GAME, blank, rule, state, key).action
        # The worst a caller could do: let the dice fall by the very key of the search.
        after = GAME.afterstate(state, jnp.full(2, 1))
        gained = GAME.step(state, jnp.full(2, 1), key).scores[0]
        return action, gained > 0, GAME.outcomes(after)[0]

    actions, lucky, _ = jax.jit(jax.vmap(move_and_fall))(keys)
    risky = np.asarray(actions) == 1
    assert 50 < risky.sum() < 1950
    with_luck, without = risky[np.asarray(lucky)].mean(), risky[~np.asarray(lucky)].mean()
    # Two shares of about 1,000 draws each differ by less than four standard errors, √(¼/800 + ¼/1200) ≈ 0.023.
    assert abs(with_luck - without) < 0.09


@pytest.mark.parametrize("simulations", [1, 30])
def test_every_simulation_evaluates_one_state(simulations):
    found = jax.tree.map(lambda leaf: leaf[0], looked(simulations))
    assert found.visits.sum() == simulations
    assert found.tree.visits[0] == simulations + 1
