"""Gradient descent as AlphaZero and lessons share it: Adam, a falling rate, a moving average that plays."""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

# The weight of the drift of logits beside the other losses: a pull that is felt only where nothing else pulls.
STEADY = 1e-4

Loss = Callable[[Any, Array], tuple[Array, tuple[Any, dict[str, Array]]]]
"""From a network and a key to (the loss to go down, (what batch norms saw, its parts))."""


class Pace(Protocol):
    """What a config says of the descent."""

    @property
    def rate(self) -> float: ...
    @property
    def rate_end(self) -> float: ...
    @property
    def updates(self) -> int: ...
    @property
    def decay(self) -> float: ...
    @property
    def clip(self) -> float: ...


def optimiser(config: Pace, iterations: Array | int) -> optax.GradientTransformation:
    """Adam with decay of whatever has two axes or more."""

    def rate(step: Array) -> Array:
        along = jnp.minimum(step / (iterations * config.updates), 1.0)
        fallen = config.rate_end + (1 - config.rate_end) * (1 + jnp.cos(jnp.pi * along)) / 2
        return config.rate * fallen * jnp.minimum((step + 1) / 100, 1.0)

    return optax.chain(
        optax.clip_by_global_norm(config.clip),
        optax.adamw(
            rate, weight_decay=config.decay, mask=lambda tree: jax.tree.map(lambda x: x.ndim > 1, tree)
        ),
    )


def descend(
    loss: Loss, adam: optax.GradientTransformation, average: float, done: Array, carry: Any, keys: Array
) -> tuple[Any, dict[str, Array]]:
    """A step for each key: (network, state of Adam and moving average after them, parts of the loss [N] each).

    `carry` is those three before, `done` how many steps came before; `average` is the decay of the moving average.
    """

    def update(carry: tuple[Any, Any, Any], indexed: tuple[Array, Array]) -> tuple[tuple[Any, Any, Any], Any]:
        network, state, mean = carry
        index, key = indexed
        (_, (moments, losses)), gradients = jax.value_and_grad(loss, has_aux=True)(network, key)
        changes, state = adam.update(gradients, state, network)
        network = optax.apply_updates(network, changes)
        if moments:
            network = network.absorb(moments)
        # Early on a long average would hold what the network was before it knew anything.
        pace = jnp.minimum(average, (done + index) / (done + index + 10))
        mean = jax.tree.map(lambda old, new: pace * old + (1 - pace) * new, mean, network)
        return (network, state, mean), losses

    return lax.scan(update, carry, (jnp.arange(len(keys)), keys))
