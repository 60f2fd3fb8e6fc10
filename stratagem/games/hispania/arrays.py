"""Reading and writing small arrays at places that differ from game to game.

A comparison and a sum compile to less, and run faster in a batch, than an indexed read.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array


def at(values: Array | np.ndarray, index: Array) -> Array:
    """`values[index]` along the first axis; zero if the index is out of range."""
    values = jnp.asarray(values)
    here = (jnp.arange(values.shape[0]) == index).reshape(-1, *[1] * (values.ndim - 1))
    if values.dtype == bool:
        return (here & values).any(axis=0)
    return jnp.where(here, values, 0).sum(axis=0, dtype=values.dtype)


def put(values: Array, index: Array, value: Array | int) -> Array:
    """The array with the entry, or row, at one index of its first axis replaced; as it was if there is none."""
    here = (jnp.arange(values.shape[0]) == index).reshape(-1, *[1] * (values.ndim - 1))
    return jnp.where(here, value, values)


def lookup(values: Sequence[int] | np.ndarray, index: Array) -> Array:
    """int32[…]: a short constant list, read at every index of an array."""
    found = jnp.zeros(index.shape, jnp.int32)
    for number, value in enumerate(values):
        if value:
            found = jnp.where(index == number, int(value), found)
    return found


def pack(sets: Array) -> Array:
    """uint32[…, W] from bool[…, R]: a set of regions as bits."""
    regions = sets.shape[-1]
    words = -(-regions // 32)
    padded = jnp.pad(sets, [(0, 0)] * (sets.ndim - 1) + [(0, 32 * words - regions)])
    bits = padded.reshape(*sets.shape[:-1], words, 32).astype(jnp.uint32) << np.arange(32, dtype=np.uint32)
    return bits.sum(axis=-1, dtype=jnp.uint32)


def unpack(words: Array, regions: int) -> Array:
    """bool[…, R] from uint32[…, W]: what `pack` packed."""
    bits = (words[..., None] >> np.arange(32, dtype=np.uint32)) & 1
    return bits.reshape(*words.shape[:-1], -1)[..., :regions] == 1
