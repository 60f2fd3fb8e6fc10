"""AlphaZero in a game with thousands of actions: searched, stored and learned as short lists."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core.errors import UnknownName
from stratagem.games.corso import Corso
from stratagem.games.general import General
from stratagem.learners.alphazero import AlphaZero, AlphaZeroConfig, turned
from stratagem.learners.presets import LISTING_PRESETS, preset
from stratagem.learners.selfplay import Sample
from stratagem.networks.outputs import Output, listed_policy_loss, policy_loss

GAME = General()
CONFIG = AlphaZeroConfig(
    network="from-to:channels=4,blocks=1,width=4", lanes=4, steps=6, simulations=3, considered=3, breadth=12,
    horizon=6, updates=2, batch=8, kept=2, iterations=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def learned():
    """(a learner, its state after four iterations, the metrics of the last)."""
    learner = AlphaZero([GAME], CONFIG)
    state = learner.start(jax.random.key(0))
    for _ in range(CONFIG.iterations):
        state, metrics = learner.iterate(state)
    return learner, state, metrics


def test_samples_hold_the_actions_looked_at_and_their_shares(learned):
    samples = learned[1].rings[0].samples
    assert samples.choices.dtype == jnp.int16
    assert samples.choices.shape[-1] == samples.policy.shape[-1] == 12
    real = np.asarray(samples.real)
    assert real.any()
    np.testing.assert_allclose(np.asarray(samples.policy, np.float32).sum(-1)[real], 1, atol=5e-3)
    legal = np.asarray(jax.jit(jax.vmap(jax.vmap(lambda state: GAME.legal(state).any(0))))(samples.state))[
        real
    ]
    for allowed, choices, policy in zip(
        legal, np.asarray(samples.choices)[real], np.asarray(samples.policy)[real], strict=True
    ):
        assert allowed[choices[choices >= 0]].all()
        assert not policy[choices < 0].any()
        assert len(set(choices[choices >= 0])) == min(allowed.sum(), 12)


def test_both_roles_are_reported_while_it_learns(learned):
    assert -1 <= learned[2]["first_role"] <= 1
    assert np.isfinite(learned[2]["loss"])


def test_a_run_is_saved_and_loaded_with_its_lists(learned, tmp_path):
    learner, state, _ = learned
    learner.save(state, tmp_path)
    again = learner.load(tmp_path)
    for one, other in zip(jax.tree.leaves(state.rings), jax.tree.leaves(again.rings), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_move_of_an_open_game_comes_out_after_the_horizon_with_the_last_value_found(learned):
    learner = learned[0]
    first = learner.start(jax.random.key(1)).learned
    play = learner._play[0]
    lanes, samples, _ = play(first.network, first.lanes[0], jax.random.key(2))
    assert not samples.real.any()  # six moves were played, and six wait
    lanes, samples, _ = play(first.network, lanes, jax.random.key(3))
    assert samples.real.all()
    # No game is over after twelve moves, so all moves of a lane have the value of its newest one.
    values = np.asarray(samples.values).reshape(CONFIG.steps, CONFIG.lanes, 2)
    newest = np.asarray(lanes.pending.values[-1])
    np.testing.assert_allclose(values, np.broadcast_to(newest, values.shape), atol=1e-6)


def test_the_loss_over_lists_is_the_loss_over_all_actions():
    logits = jax.random.normal(jax.random.key(0), (30,))
    output = Output(logits, jnp.zeros(2), None)
    listed = jnp.array([4, -1, 7, 20, -1, 11])
    choices, target = jnp.array([20, 4, -1]), jnp.array([0.75, 0.25, 0.0])
    legal = jnp.zeros(30, bool).at[jnp.array([4, 7, 20, 11])].set(True)
    dense = jnp.zeros(30).at[20].set(0.75).at[4].set(0.25)
    for of_list, of_all in zip(
        listed_policy_loss(output, listed, choices, target), policy_loss(output, dense, legal), strict=True
    ):
        np.testing.assert_allclose(of_list, of_all, rtol=1e-6)


def test_a_reflected_sample_names_the_reflected_actions():
    state = jax.jit(GAME.init)(jax.random.key(3))
    action = int(jax.jit(GAME.sample)(state, jnp.array([0.4, 0.4]))[0])
    choices = jnp.array([action, -1], jnp.int16)
    sample = Sample(state, choices, jnp.array([1, 0], jnp.float16), jnp.array([0.5, -0.5]), jnp.bool_(True))
    other = jax.jit(turned, static_argnums=0)(GAME, sample, jnp.int32(1))
    across = int(GAME.symmetries().actions[1, action])
    assert other.choices.tolist() == [across, -1]
    assert jax.jit(GAME.legal)(other.state).any(0)[across]
    np.testing.assert_array_equal(other.policy, sample.policy)


def test_the_seeds_preset_has_the_seeds_numbers():
    seed = LISTING_PRESETS["seed"]
    assert (seed.lanes, seed.simulations, seed.rate, seed.kept) == (32, 100, 5e-4, 20)
    assert (seed.gate, seed.gate_games, seed.gate_share) == (True, 20, 0.55)
    assert [float(seed.temperature(jnp.int32(turn))) for turn in (0, 9, 10, 200)] == pytest.approx(
        [1, 1, 0.1, 0.1]
    )
    # Three epochs over twenty iterations of 32 · 100 moves, in batches of 32.
    assert seed.updates * seed.batch == 3 * seed.kept * seed.lanes * seed.steps
    assert seed.network == "classic:channels=196,blocks=7,planes=9"


def test_presets_follow_the_kind_of_game():
    assert preset("gpu", GAME).network.startswith("from-to")
    assert preset("gpu", Corso()).network.startswith("global")
    with pytest.raises(UnknownName, match="quick, seed, gpu"):
        preset("paper", GAME)
