"""What a network that plays by feel says: how much it likes each action, and what it expects for itself.

The expectation is a distribution over results from −1 to 1 in equal bins (HL-Gauss: learned from a bell curve around
the target), or one plain number where there is a single bin.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Judgement(NamedTuple):
    """One position judged by the seat that sees it."""

    logits: Array  # float32[A]
    belief: Array  # float32[K]: log-odds of the bins; with K = 1, the value itself

    def chances(self, legal: Array) -> Array:
        """float32[A]: log-probabilities. Networks that draw an action part by part have judgements of their own."""
        return jax.nn.log_softmax(masked(self.logits, legal))


def masked(logits: Array, legal: Array) -> Array:
    """float32[A]: so low on what is not legal that its probability is exactly zero, and its gradient too."""
    return jnp.where(legal, logits, -2e9)


def drawn(chances: Array, heat: Array | float, key: Array) -> Array:
    """int32: an action drawn from log-probabilities; the hotter, the more at random, and 0 takes the likeliest."""
    some = jax.random.categorical(key, chances / jnp.maximum(heat, 1e-6))
    return jnp.where(jnp.asarray(heat) > 0, some, jnp.argmax(chances)).astype(jnp.int32)


def value_of(belief: Array) -> Array:
    """float32 in [−1, 1] from float32[…, K]."""
    bins = belief.shape[-1]
    if bins == 1:
        return belief[..., 0]
    return jax.nn.softmax(belief) @ centres(bins)


def centres(bins: int) -> Array:
    """float32[K]: the middle of each bin."""
    return (jnp.arange(bins) + 0.5) * (2 / bins) - 1


def bell(target: Array, bins: int, sigma: float) -> Array:
    """float32[K]: how much of a bell curve around the target falls into each bin; sums to 1."""
    edges = jnp.linspace(-1.0, 1.0, bins + 1)
    below = jax.scipy.stats.norm.cdf((edges - target) / sigma)
    return jnp.diff(below) / (below[-1] - below[0])


def belief_loss(belief: Array, target: Array, sigma: float) -> Array:
    """Cross-entropy against a bell curve around the target; the squared error of a plain number."""
    bins = belief.shape[-1]
    target = jnp.clip(target, -1.0, 1.0)
    if bins == 1:
        return jnp.square(belief[0] - target)
    return -(bell(target, bins, sigma) * jax.nn.log_softmax(belief)).sum()
