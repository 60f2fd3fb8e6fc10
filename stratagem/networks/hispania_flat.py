"""A flat network for campaigns, to compare with: layers over all numbers of the map at once, a logit for each token.

Tiles have their place in the atlas, so it too runs on every map, but what it learns of one tile it knows of no other.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from stratagem.networks.blocks import Dense
from stratagem.networks.hispania_features import MASKS, PLAYERS, STACK, STEPS, Campaign
from stratagem.networks.hispania_layers import stacks_of
from stratagem.networks.judgements import Judgement


class FlatNet(eqx.Module):
    """From the features of one decision to a judgement."""

    tiles: Array  # float[atlas, numbers of a tile and its stack, C]
    facts: Dense  # facts, the kind of decision and the last token's units
    layers: list[Dense]
    out: Array  # float[atlas + 1, C, 64]
    bias: Array  # float[atlas + 1, 64]
    value: Dense
    bins: int = eqx.field(static=True)

    def __init__(self, like: Campaign, atlas: int, width: int, depth: int, bins: int, key: Array):
        tile_key, facts_key, out_key, value_key, layers_key = jax.random.split(key, 5)
        inputs = like.tiles.shape[-1] + STACK * like.pieces.shape[-1]
        tiles = like.tiles.shape[0]
        self.tiles = (1 / (inputs * tiles)) ** 0.5 * jax.random.normal(tile_key, (atlas, inputs, width))
        self.facts = Dense(like.facts.shape[-1] + STEPS + STACK, width, facts_key, gain=1.0)
        self.layers = [Dense(width, width, one) for one in jax.random.split(layers_key, depth)]
        self.out = (0.01 / width) ** 0.5 * jax.random.normal(out_key, (atlas + 1, width, MASKS))
        self.bias = jnp.zeros((atlas + 1, MASKS))
        self.value = Dense(width, PLAYERS * bins, value_key, gain=0.01)
        self.bins = bins

    def __call__(self, features: Campaign, learning: bool = False) -> Judgement:
        stacks = stacks_of(features.pieces, features.stacked)
        rows = jnp.concatenate([features.tiles, stacks], axis=1).astype(self.tiles.dtype)
        step = jnp.arange(STEPS) == features.step
        known = self.facts(jnp.concatenate([features.facts, step, features.past_units[0]]))
        hidden = jax.nn.relu(known + jnp.einsum("ri,ric->c", rows, self.tiles[features.regions]))
        for layer in self.layers:
            hidden = jax.nn.relu(layer(hidden))
        named = jnp.concatenate([features.regions, jnp.full(1, len(self.bias) - 1)])
        logits = jnp.einsum("c,rcm->rm", hidden, self.out[named]) + self.bias[named]
        beliefs = self.value(hidden).astype(jnp.float32).reshape(PLAYERS, self.bins)
        return Judgement(logits.astype(jnp.float32).reshape(-1), beliefs[features.player])
