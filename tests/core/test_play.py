"""Playing any game: guards, absorption, resets and rollouts."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.core import Unsupported, play, require, winners_share
from stratagem.core.game import Chance, Symmetric
from tests.tiny_games import KuhnPoker, MatchingPennies, TicTacToe


def test_a_winning_line_ends_the_game_for_the_one_who_made_it():
    game = TicTacToe()
    playing = play.start(game, jax.random.key(0))
    for turn, cell in enumerate([0, 3, 1, 4, 2]):  # crosses take the top row
        assert not play.over(game, playing)
        actions = jnp.zeros(2, jnp.int32).at[turn % 2].set(cell)
        playing = play.advance(game, playing, actions, jax.random.key(turn))
    assert play.over(game, playing)
    assert play.returns(game, playing).tolist() == [1, -1]
    assert int(playing.turn) == 5


def test_a_foul_loses_and_keeps_the_position():
    game = TicTacToe()
    playing = play.resume(game, game.read("X........ 2"))
    after = play.advance(game, playing, jnp.array([0, 0]), jax.random.key(0))
    assert play.over(game, after)
    assert play.returns(game, after).tolist() == [1, -1]
    assert game.write(after.state) == "X........ 2"


def test_two_fouls_in_one_simultaneous_turn_draw():
    game = MatchingPennies()
    playing = play.start(game, jax.random.key(0))
    both = play.advance(game, playing, jnp.array([2, -1]), jax.random.key(0))
    assert play.returns(game, both).tolist() == [0, 0]
    one = play.advance(game, playing, jnp.array([0, 5]), jax.random.key(0))
    assert play.returns(game, one).tolist() == [1, -1]


def test_a_seat_that_is_not_to_move_cannot_foul():
    game = TicTacToe()
    playing = play.start(game, jax.random.key(0))
    after = play.advance(game, playing, jnp.array([4, 99]), jax.random.key(0))
    assert not after.fouls.any()


def test_auto_reset_keeps_the_final_state_and_goes_on_with_a_new_game():
    game = TicTacToe()
    last = play.resume(game, game.read("XX.OO.... 1"))
    onward, reached = play.advance_and_reset(game, last, jnp.array([2, 0]), jax.random.key(0))
    assert game.write(reached.state) == "XXXOO.... 2"
    assert game.write(onward.state) == "......... 1"
    assert int(onward.turn) == 0


def test_rollouts_show_each_final_state_once_and_never_a_reset_one():
    game = TicTacToe()
    run = jax.jit(
        lambda key: play.rollout(game, partial(play.random_actions, game), play.start(game, key), key, 100)
    )
    _, steps = run(jax.random.key(1))
    done = np.asarray(steps.done)
    assert done.sum() >= 10  # a game lasts at most nine turns
    returns = np.asarray(steps.returns)
    assert not returns[~done].any()
    # After a finished turn the next one starts from an empty board.
    starts = np.asarray(steps.before.state.cells)[1:][done[:-1]]
    assert not starts.any()
    ends = np.asarray(jax.vmap(game.done)(steps.after.state))
    assert np.array_equal(ends, done)


def test_a_batch_of_random_games_plays_like_games_one_by_one():
    game = TicTacToe()
    ends = jax.jit(partial(play.random_games, game, 20_000))(jax.random.key(0))
    assert np.asarray(jax.vmap(game.done)(ends.state)).all()
    assert np.array_equal(ends.turn, np.asarray((ends.state.cells != 0).sum(axis=1)))
    first = np.asarray(jax.vmap(game.returns)(ends.state))[:, 0]
    # Of all move sequences weighted as random play weights them, 58.5 % are won by crosses, 28.8 % by noughts.
    assert abs((first == 1).mean() - 0.585) < 0.015
    assert abs((first == -1).mean() - 0.288) < 0.015


def test_random_play_of_kuhn_poker_earns_what_arithmetic_says():
    # Uniform play, first seat's mean gain in antes. By card order the showdowns cancel, so only folds count:
    # bet-fold (1/4) wins 1, check-bet-fold (1/8) loses 1, and all else is symmetric: 1/4 − 1/8 = 1/8.
    # Our returns are halved stakes.
    game = KuhnPoker()
    run = jax.jit(
        jax.vmap(
            lambda key: play.playout(game, partial(play.random_actions, game), play.start(game, key), key)
        )
    )
    ends = run(jax.random.split(jax.random.key(0), 40_000))
    gains = 2 * np.asarray(jax.vmap(partial(play.returns, game))(ends))[:, 0]
    assert abs(gains.mean() - 1 / 8) < 4 * gains.std() / 200


@settings(deadline=None, max_examples=50)
@given(st.lists(st.booleans(), min_size=1, max_size=40).filter(any), st.floats(0, 0.999999))
def test_pick_finds_the_legal_action_at_a_point(legal, point):
    action = int(play.pick(jnp.array(legal), jnp.float32(point)))
    assert legal[action]


def test_pick_is_uniform_over_legal_actions():
    legal = jnp.array([False, True, True, False, True])
    chosen = jax.vmap(lambda u: play.pick(legal, u))(jnp.arange(3000) / 3000)
    assert np.bincount(chosen, minlength=5).tolist() == [0, 1000, 1000, 0, 1000]


@pytest.mark.parametrize(
    ("winners", "returns"),
    [
        ([True, False], [1, -1]),
        ([True, True], [0, 0]),
        ([False, False], [0, 0]),
        ([True, False, False], [1, -0.5, -0.5]),
        ([True, True, False], [0.25, 0.25, -0.5]),  # (1/2 − 1/3) · 3/2 and (0 − 1/3) · 3/2
    ],
)
def test_winners_share_what_losers_lose(winners, returns):
    assert winners_share(jnp.array(winners)).tolist() == pytest.approx(returns, abs=1e-6)


def test_a_missing_capability_is_refused_by_name():
    with pytest.raises(Unsupported, match="solving needs a game that is Chance; tic-tac-toe is not"):
        require(TicTacToe(), Chance, "solving")
    require(TicTacToe(), Symmetric, "augmentation")


def test_the_deal_of_kuhn_poker_is_fair():
    game = KuhnPoker()
    deals = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), 6000))
    names, counts = np.unique(np.asarray(deals.cards), axis=0, return_counts=True)
    assert len(names) == 6
    # Each of six deals has mean 1000 and standard deviation sqrt(6000 · 5/36) = 29.
    assert np.abs(counts - 1000).max() < 150
