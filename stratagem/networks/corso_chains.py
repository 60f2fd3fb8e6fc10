"""Who hangs together on a Corso board, told to a network: its rules act on whole chains of marbles at once.

A convolution has to find out cell by cell how far a chain goes; here that is worked out beforehand, and each block of
the network hears along four kinds of links: the marbles of the same chain, the cells that expanding this marble
would dye, the marbles whose expansion would dye this cell, and the region of marbles and empty cells that hang together
(nothing that is played in one region is felt in another, but for the dyed cells between them).
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.networks.blocks import Sight

LINKS = 4  # kinds of them
EXTRA_PLANES = 11


def read_chains(planes: Array) -> Sight:
    """What `read_corso` says, float32[H, W, C] with the mover first, and the links; 11 more planes count them."""
    height, width, _ = planes.shape
    cells = height * width
    flat = planes.reshape(cells, -1)
    players = (flat.shape[1] - 1) // 2
    own_marble, marble = flat[:, 0], flat[:, 0 : 2 * players : 2].sum(axis=1)
    own = own_marble + flat[:, 1]
    taken = flat[:, : 2 * players].sum(axis=1)
    empty, other = 1 - taken, taken - own
    beside = jnp.asarray(neighbours_of(height, width))
    chain = together(beside, marble)
    dyes = jnp.minimum(chain + chain @ beside, 1)
    region = together(beside, marble + empty)
    size, reach, fills, wins = (
        dyes_or @ what for dyes_or, what in _counts(chain, dyes, marble, empty, other)
    )
    starts = chain @ own_marble > 0
    answers = chain @ (marble - own_marble) > 0
    mine = jnp.where(starts, wins + fills, 0)  # what the mover gains by expanding here
    counted = [
        size / cells,
        reach / cells,
        fills / cells,
        wins / cells,
        starts,
        answers,
        mine / cells,
        (region @ empty) / cells,
        jnp.full(cells, (own.sum() - other.sum()) / cells),
        jnp.full(cells, empty.sum() / cells),
        jnp.full(cells, empty.sum() % 2),
    ]
    more = jnp.stack([jnp.asarray(plane, jnp.float32) for plane in counted], axis=-1)
    links = jnp.stack([chain, dyes, dyes.T, region])
    shares = links / jnp.maximum(links.sum(axis=-1, keepdims=True), 1)
    return Sight(jnp.concatenate([flat, more], axis=-1).reshape(height, width, -1), shares)


def _counts(
    chain: Array, dyes: Array, marble: Array, empty: Array, other: Array
) -> list[tuple[Array, Array]]:
    return [(chain, marble), (dyes, jnp.ones_like(marble)), (dyes, empty), (dyes, other)]


def together(beside: Array, there: Array) -> Array:
    """float32[N, N] of noughts and ones: which of the cells that are `there` hang together; the others with none."""
    joined = (beside + jnp.eye(len(there))) * there[:, None] * there[None, :]
    for _ in range(math.ceil(math.log2(max(len(there), 2)))):  # each time the ways are twice as long
        joined = jnp.minimum(joined @ joined, 1)
    return joined


def neighbours_of(height: int, width: int) -> np.ndarray:
    """float32[N, N]: one for cells that share a side."""
    rows, columns = np.divmod(np.arange(height * width), width)
    apart = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns)
    return (apart == 1).astype(np.float32)
