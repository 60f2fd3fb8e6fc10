"""PPO on decisions that are tokens: what is played is what is learned, and a resumed run is the same run."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.hispania_senses import HispaniaSenses
from stratagem.cli.train_ppo import first_weights, fits
from stratagem.core.errors import BadOption
from stratagem.games.hispania.rules import Hispania
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.learners.ppo_presets import FAMILIES
from stratagem.learners.ppo_token_presets import TOKEN_PRESETS
from stratagem.networks import make_network
from stratagem.networks.weights import save_policy
from tests.hispania_maps import still

GAME = Hispania("iberia-small")
TINY = "hierarchical:width=8,piece_width=8,heads=2,feed=1,depth=1,memory=2,bins=4"
CONFIG = PPOConfig(
    network=TINY, games=4, steps=12, top=1.0, minibatch=16, shaping=0.5, shaping_until=2, normalise=True,
    rate_low=1e-2, rate_high=1e-2, average=0.9, iterations=3,
)  # fmt: skip


def leaves(tree):
    for leaf in jax.tree.leaves(tree):
        yield np.asarray(
            jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        )


def test_a_run_learns_checkpoints_and_goes_on_bit_for_bit(tmp_path):
    learner = PPO(GAME, HispaniaSenses(GAME), CONFIG)
    state = learner.start(jax.random.key(0))
    once, metrics = learner.iterate(state)
    # Before the first step of the first iteration the policy that learns is the one that played.
    assert 0 <= metrics["divergence"] < 0.05
    assert metrics["entropy"] > 0.1
    assert metrics["moves_a_game"] == 0, "no game ends within twelve decisions"
    learner.save(once, tmp_path)
    onward, _ = learner.iterate(once)
    again, _ = learner.iterate(learner.load(tmp_path))
    for one, other in zip(leaves(onward), leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
    heads = [learned.network.units.out.weight for learned in (state, onward)]
    assert (heads[0] != heads[1]).any()


def test_weights_of_one_map_are_where_another_begins(tmp_path):
    senses, larger = still("iberia-small"), still("iberia-medium")
    first = jax.jit(lambda key: make_network(TINY, senses, key))(jax.random.key(3))
    path = tmp_path / "small.safetensors"
    save_policy(path, first, TINY, senses, {})
    begun = first_weights(path, larger, CONFIG)
    assert all((a == b).all() for a, b in zip(leaves(first), leaves(begun), strict=True))
    with pytest.raises(BadOption, match="--set network="):
        first_weights(path, larger, replace(CONFIG, network="flat"))


def test_presets_name_rivals_that_there_are_and_networks_that_fit():
    assert fits(GAME)
    assert set(FAMILIES["tokens"]) >= {"smoke", "laptop", "gpu", "quick"}
    for preset in TOKEN_PRESETS.values():
        assert preset.config.shaping_until <= preset.config.iterations, "shaping is off at the end"
        for agent in (*preset.rivals, *preset.teachers):
            assert make_agent(agent, GAME).traceable
