"""A small network for small games: some layers over all numbers of the view."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from stratagem.networks.blocks import Dense
from stratagem.networks.judgements import Judgement


class Mlp(eqx.Module):
    """From float32[N] to a judgement."""

    layers: list[Dense]
    policy: Dense
    value: Dense

    def __init__(self, inputs: int, actions: int, width: int, depth: int, bins: int, key: Array):
        keys = iter(jax.random.split(key, depth + 2))
        sizes = [inputs] + [width] * depth
        self.layers = [Dense(before, width, next(keys)) for before in sizes[:-1]]
        self.policy = Dense(sizes[-1], actions, next(keys), gain=0.01)
        self.value = Dense(sizes[-1], bins, next(keys), gain=0.01)

    def __call__(self, features: Array, learning: bool = False) -> Judgement:
        for layer in self.layers:
            features = jax.nn.relu(layer(features))
        return Judgement(self.policy(features).astype(jnp.float32), self.value(features).astype(jnp.float32))
