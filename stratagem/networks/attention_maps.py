"""Where a patch transformer looks: how much its value token hears from each patch, layer by layer, head by head."""

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.networks.senses import BoardFeatures
from stratagem.networks.transformer import Attention, PatchNet


def attention_maps(network: PatchNet, features: BoardFeatures) -> Array:
    """float32[L, heads, R, S]: the share of the value token's attention that goes to each patch of the board.

    What is missing to one goes to the scoreboards and to the value token itself.
    """
    height, width = features.present.shape
    down, across = -(-height // network.size), -(-width // network.size)
    first = len(network.boards) + 1  # the value token and the scoreboards come before the patches
    tokens, present = network.embed(features)
    maps = []
    for layer in network.layers:
        heard = heard_by_value(layer.attention, layer.norm(tokens), present)
        maps.append(heard[:, first:].reshape(-1, down, across))
        tokens = layer(tokens, present)
    return jnp.stack(maps)


def heard_by_value(attention: Attention, tokens: Array, present: Array) -> Array:
    """float32[heads, N]: the weights with which the first token hears all; each row adds up to one."""
    count, width = tokens.shape
    each = width // attention.heads
    query, key, _ = jnp.moveaxis(attention.mix(tokens).reshape(count, 3, attention.heads, each), 1, 0)
    likeness = jnp.einsum("hc,nhc->hn", query[0].astype(jnp.float32), key.astype(jnp.float32))
    return jax.nn.softmax(jnp.where(present, likeness / each**0.5, -jnp.inf), axis=-1)
