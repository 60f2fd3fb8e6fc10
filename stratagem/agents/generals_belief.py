"""Where the enemy general may be, as the cascade believes it.

Among the places that remain possible, land of the enemy close by speaks for a place, and land that was still nobody's
after the opening speaks against it: by then a player holds what is around its general. The two powers were fitted to
positions from recorded games, as was the scale.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.generals_memory import Memory, blank, take_in
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import OPPONENT, SEEN_MOUNTAIN, View

SCALE = 1.5  # steps over which what was seen tells of what was not
LITTLE = 0.2  # what a neighbourhood counts in which nothing was seen
FOR, AGAINST = 2, 3  # the powers of enemy land and of nobody's land
OPENING = 60  # turns after which a general's surroundings are taken


class Mind(NamedTuple):
    """What was seen, and what the enemy ever held."""

    known: Memory
    held: Array  # bool[H, W]: the cell was seen in the enemy's hands


def empty_mind(game: Generals) -> Mind:
    return Mind(blank(game), jnp.zeros(game.shape, bool))


def look(game: Generals, mind: Mind, view: View) -> Mind:
    """The mind with one more view in it; the same view again changes nothing."""
    known = take_in(game, mind.known, view)
    return Mind(known, mind.held | (known.owner == OPPONENT))


def around(cells: Array) -> Array:
    """float32[H, W]: how many of bool[H, W] cells are close to each, the nearer the more."""
    down, across = (nearness(side) for side in cells.shape)
    return down @ cells.astype(jnp.float32) @ across


def nearness(side: int) -> np.ndarray:
    """float32[side, side]"""
    places = np.arange(side)
    return np.exp(-np.abs(places[:, None] - places[None, :]) / SCALE).astype(np.float32)


def belief(mind: Mind) -> Array:
    """float32[H, W]: how likely each cell is to hold the enemy general, up to a factor."""
    known = mind.known
    neutral = (known.seen_at >= OPENING) & (known.kind != SEEN_MOUNTAIN) & (known.owner == 0) & ~mind.held
    likely = (LITTLE + around(mind.held)) ** FOR / (LITTLE + around(neutral)) ** AGAINST
    return jnp.where(known.possible, likely, 0.0)


def density(mind: Mind) -> Array:
    """float32[H, W]: the belief in a cell and those beside it, which one visit would show; the largest is 1."""
    likely = jnp.pad(belief(mind), 1)
    height, width = mind.held.shape
    dense = jnp.zeros((height, width), jnp.float32)
    for down in range(3):
        for across in range(3):
            dense = dense + likely[down : down + height, across : across + width]
    return dense / jnp.maximum(dense.max(), 1e-9)
