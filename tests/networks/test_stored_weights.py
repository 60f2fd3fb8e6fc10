"""Policies in files of half the length, and attention with tokens that nobody hears."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.networks import make_network
from stratagem.networks.transformer import Attention, rounded_up
from stratagem.networks.weights import load_policy, save_policy
from tests.small_generals import hand_drawn

CHOICE = "patch:depth=1,width=32,heads=2,feed=2,bins=8"


@pytest.mark.parametrize("stored", ["bfloat16", "float16"])
def test_weights_stored_in_two_bytes_come_back_rounded_and_otherwise_the_same(stored, tmp_path):
    senses = GeneralsSenses(hand_drawn(5))
    network = jax.jit(lambda key: make_network(CHOICE, senses, key))(jax.random.key(0))
    save_policy(tmp_path / "whole", network, CHOICE, senses, {})
    save_policy(tmp_path / "half", network, CHOICE, senses, {}, stored)
    read = load_policy(tmp_path / "half", senses)
    for one, other in zip(jax.tree.leaves(network), jax.tree.leaves(read), strict=True):
        assert other.dtype == jnp.float32
        np.testing.assert_array_equal(one.astype(stored).astype(jnp.float32), other)
    sizes = [(tmp_path / name).stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]


def test_tokens_added_to_a_whole_number_of_eights_change_nothing():
    attention = Attention(16, 2, 1, False, jax.random.key(0))
    tokens = jax.random.normal(jax.random.key(1), (19, 16))  # 3 and the patches of a 12 × 12 board
    present = jnp.arange(19) % 5 != 4

    @jax.jit
    def heard(tokens):
        mixed, there = rounded_up(attention.mix(tokens).reshape(19, 3, 2, 8), present)
        query, key, value = jnp.moveaxis(mixed, 1, 0)
        mask = jnp.broadcast_to(there, (1, len(there), len(there)))
        out = jax.nn.dot_product_attention(query, key, value, mask=mask)
        return len(there), attention.out(out[:19].reshape(19, 16)), attention(tokens, present)

    count, rounded, plain = heard(tokens)
    assert count == 24
    np.testing.assert_allclose(rounded, plain, atol=1e-6)
