"""Attention in one kernel is for graphics cards; what is done for its sake changes nothing, as a CPU can tell."""

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.networks import cast
from stratagem.networks.transformer import Attention, Layer, rounded_up


def test_tokens_added_up_to_a_whole_number_of_eights_are_heard_by_nobody():
    layers = [Layer(16, 2, 2, 2, False, jax.random.key(number)) for number in range(2)]
    tokens = jax.random.normal(jax.random.key(2), (19, 16))  # 3 and the patches of a 12 × 12 board
    present = jnp.arange(19) % 5 != 4

    @jax.jit
    def through(tokens, present):
        for layer in layers:
            tokens = layer(tokens, present)
        return tokens

    more, there = rounded_up(tokens, present)
    assert more.shape == (24, 16)
    assert there.sum() == present.sum()
    np.testing.assert_allclose(through(more, there)[:19], through(tokens, present), atol=1e-5)


def test_three_products_are_the_parts_of_one():
    attention = Attention(16, 2, 1, True, jax.random.key(0))
    tokens = jax.random.normal(jax.random.key(1), (5, 16))
    apart, mixed = jax.jit(lambda tokens: (attention.apart(tokens), attention.mix(tokens)))(tokens)
    np.testing.assert_allclose(jnp.concatenate(apart, axis=1), mixed, atol=1e-6)


def test_the_kernel_is_asked_for_only_where_it_is(monkeypatch):
    attention = Attention(16, 2, 1, True, jax.random.key(0))
    assert not cast(attention, jnp.bfloat16).in_one_kernel
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert cast(attention, jnp.bfloat16).in_one_kernel
    assert not attention.in_one_kernel
    assert not cast(Attention(16, 2, 1, False, jax.random.key(0)), jnp.bfloat16).in_one_kernel
