"""Self-play and learning on boards so small that one can follow."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_run import CONFIG, GAME

from stratagem.core.errors import Unsupported
from stratagem.core.play import over, start
from stratagem.games.corso import Corso
from stratagem.learners import buffer
from stratagem.learners.alphazero import AlphaZero, AlphaZeroConfig, play_iteration, turned
from stratagem.learners.gate import match
from stratagem.learners.presets import PRESETS
from stratagem.learners.selfplay import Sample, random_opening, start_lanes
from stratagem.networks import make_network

pytestmark = pytest.mark.usefixtures("compile_cache")  # several tests play by the same program


@pytest.fixture(scope="module")
def played():
    """(all samples of five iterations, one list a lane, in the order in which they were played)."""
    network = make_network(CONFIG.network, GAME, jax.random.key(0))
    lanes = start_lanes(GAME, CONFIG.lanes, jax.random.key(1))
    play = jax.jit(partial(play_iteration, GAME, CONFIG))
    found = []
    for index in range(8):
        lanes, samples, _ = play(network, lanes, jax.random.key(2 + index))
        found.append(jax.tree.map(lambda leaf: np.asarray(leaf).reshape(4, 4, *leaf.shape[1:]), samples))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *found)


def test_every_move_comes_out_once_and_in_order(played):
    # Nine turns wait, so the first nine rows of 32 are empty and all later ones are real.
    assert (~played.real[:9]).all()
    assert played.real[9:].all()
    filled = np.array(jax.vmap(jax.vmap(lambda s: jnp.bitwise_count(s.marbles | s.dyed).sum()))(played.state))
    for lane in range(4):
        steps = np.diff(filled[9:, lane].astype(int))
        # A game only fills its board; where it seems to empty, the next game has begun.
        assert (steps >= 0).sum() > 15


def test_values_are_results_and_the_same_for_a_whole_game(played):
    values = played.values[9:]
    assert set(np.unique(values)) <= {-1.0, 0.0, 1.0}
    np.testing.assert_array_equal(values[..., 0], -values[..., 1])


def test_policies_are_distributions_over_legal_moves(played):
    policy = played.policy[9:].astype(np.float32)
    np.testing.assert_allclose(policy.sum(-1), 1, atol=2e-3)
    legal = jax.vmap(jax.vmap(lambda state: GAME.legal(state).any(0)))(played.state)[9:]
    assert (policy[~np.asarray(legal)] == 0).all()


def test_a_turned_sample_is_the_sample_of_the_turned_game():
    state = GAME.read("AOO/OBO/OOb 1")
    policy = jnp.arange(9, dtype=jnp.float16)
    sample = Sample(state, None, policy, jnp.array([0.25, -0.25]), jnp.bool_(True))
    group = GAME.symmetries()
    for g in range(16):
        other = turned(GAME, sample, jnp.int32(g))
        legal = GAME.legal(other.state).any(0)
        # A move that was legal is legal where it went, and carries its number with it.
        assert legal[group.actions[g, 0]] == GAME.legal(state).any(0)[0]
        assert other.policy[group.actions[g, 5]] == 5
        assert other.values[group.seats[g, 0]] == 0.25


def test_random_openings_are_unfinished_and_of_all_lengths():
    make = jax.jit(jax.vmap(partial(random_opening, GAME, 5, 0.5)))
    openings = make(jax.random.split(jax.random.key(0), 200))
    assert not jax.vmap(partial(over, GAME))(openings).any()
    counts = np.bincount(np.asarray(openings.turn), minlength=6)
    assert counts[0] > 70
    assert (counts[1:6] > 3).all()


def test_the_ring_forgets_the_oldest_first():
    ring = buffer.empty_ring({"x": jnp.zeros(2)}, 3)
    for iteration in range(5):
        ring = buffer.insert(ring, {"x": jnp.full(2, iteration + 1.0)}, jnp.int32(iteration))
    assert sorted(ring.samples["x"][:, 0].tolist()) == [3, 4, 5]
    first = buffer.insert(buffer.empty_ring({"x": jnp.zeros(2)}, 3), {"x": jnp.ones(2)}, jnp.int32(0))
    assert (buffer.draw_batch(first, jnp.int32(1), 50, jax.random.key(0))["x"] == 1).all()


def test_a_network_draws_with_itself_and_loses_to_nobody_in_a_gate():
    network = make_network(CONFIG.network, GAME, jax.random.key(0))
    score = jax.jit(partial(match, GAME, CONFIG.playing_rule, games=16))(
        network, network, key=jax.random.key(0)
    )
    assert 0.2 < score < 0.8


def test_gating_keeps_the_old_network_until_the_new_one_wins():
    config = AlphaZeroConfig(**{**vars(CONFIG), "gate": True, "gate_share": 1.1, "gate_games": 4})
    learner = AlphaZero([GAME], config)
    first = learner.start(jax.random.key(0))
    state, metrics = learner.iterate(first)
    assert 0 <= metrics["gate_score"] <= 1
    for old, new in zip(
        jax.tree.leaves(first.learned.best), jax.tree.leaves(learner.network(state)), strict=True
    ):
        np.testing.assert_array_equal(old, new)


def test_a_family_of_sizes_shares_one_network():
    learner = AlphaZero([GAME, Corso(2, 3)], CONFIG)
    state = learner.start(jax.random.key(0))
    for _ in range(3):
        state, metrics = learner.iterate(state)
    assert np.isfinite(metrics["loss"])
    assert len(state.rings) == 2


def test_the_loss_falls_where_there_is_something_to_learn():
    config = AlphaZeroConfig(
        network="global:channels=16,blocks=1", lanes=32, steps=9, simulations=8, considered=6, kept=8,
        updates=20, batch=64, rate=5e-3, iterations=14,
    )  # fmt: skip
    learner = AlphaZero([Corso(3, 2)], config)
    state, losses = learner.start(jax.random.key(0)), []
    for _ in range(config.iterations):
        state, metrics = learner.iterate(state)
        losses.append(metrics["value_loss"])
    assert losses[-1] < 0.8 * max(losses[2:4])


def test_presets_are_what_they_say():
    paper = PRESETS["paper"]
    # 30 iterations of 100 games, 100 playouts, c_puct 1, Adam at 1e-3, L2 of 1e-4, batches of 64.
    assert (paper.iterations, paper.lanes, paper.simulations) == (30, 100, 100)
    assert (paper.exploration, paper.rate, paper.decay, paper.batch) == (1.0, 1e-3, 1e-4, 64)
    assert set(PRESETS) == {"quick", "paper", "best", "gpu"}


def test_a_game_that_cannot_be_searched_is_refused_before_anything_starts():
    class Foggy(Corso):
        @property
        def spec(self):
            from dataclasses import replace

            return replace(Corso().spec, information="imperfect")

    with pytest.raises(Unsupported, match="perfect information"):
        AlphaZero([Foggy()], CONFIG)
    assert start(GAME, jax.random.key(0)).turn == 0
