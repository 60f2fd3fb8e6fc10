"""Where the enemy general may be, as the cascade believes it.

Maps are fair: the second general is far enough from the first to walk, with comparable room around it. Mountains and
castles can be told from plain even in the fog, so that a player who knows the rules can rule out most of the board in
the first turn. Among the places that remain possible, land of the enemy close by speaks for a place, and land that was
still nobody's after the opening speaks against it: by then a player holds what is around its general. The two powers
were fitted to positions from recorded games, as was the scale.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.agents.generals_memory import Memory, blank, take_in
from stratagem.agents.generals_paths import flow
from stratagem.games.generals.game import Generals
from stratagem.games.generals.maps import FAIR, bits_of, walk
from stratagem.games.generals.rules import (
    ME,
    OPPONENT,
    SEEN_CASTLE,
    SEEN_GENERAL,
    SEEN_MOUNTAIN,
    STRUCTURE,
    View,
    possessors,
    seen,
)

SCALE = 1.5  # steps over which what was seen tells of what was not
LITTLE = 0.2  # what a neighbourhood counts in which nothing was seen
FOR, AGAINST = 2, 2  # the powers of enemy land and of nobody's land
UNFAIR = 0.02  # what a place counts that is against the rules of maps, which others may not keep
OPENING = 60  # turns after which a general's surroundings are taken


class Mind(NamedTuple):
    """What was seen, what the enemy ever held, and what the map told from the start."""

    known: Memory
    held: Array  # bool[H, W]: the cell was seen in the enemy's hands
    sites: Array  # bool[H, W]: where a fair map may have the enemy general


def empty_mind(game: Generals) -> Mind:
    return Mind(blank(game), jnp.zeros(game.shape, bool), jnp.zeros(game.shape, bool))


def look(game: Generals, mind: Mind, view: View) -> Mind:
    """The mind with one more view in it; the same view again changes nothing."""
    known = take_in(game, mind.known, view)
    first = mind.known.turn < 0
    sites = jnp.where(first, fair_sites(game, view, first), mind.sites)
    return Mind(known, mind.held | (known.owner == OPPONENT), sites)


def fair_sites(game: Generals, view: View, wanted: Array) -> Array:
    """bool[H, W]: cells that are far enough from my general to walk, with comparable room around them.

    The room is worked out only if `wanted`; a batch of games of which none wants it does nothing.
    """
    kind = seen(view)
    plain = (kind != SEEN_MOUNTAIN) & (kind != STRUCTURE) & (kind != SEEN_CASTLE)
    home = (kind == SEEN_GENERAL) & (possessors(view) == ME)
    nothing = jnp.zeros(game.shape, jnp.int32)
    far = flow(home, plain, nothing, game.apart // 2 + 1).steps >= game.apart
    room = rooms(plain, jnp.where(wanted, game.wishes.reach, 0)).astype(jnp.float32)
    mine = jnp.where(home, room, 0).sum()
    fair = jnp.minimum(room, mine) >= FAIR * jnp.maximum(room, mine)
    return plain & far & fair


def rooms(ground: Array, steps: Array) -> Array:
    """int32[H, W]: how many cells so many steps reach from each."""
    height, width = ground.shape
    cells = np.arange(height * width)
    alone = np.where(np.arange(height)[:, None] == cells // width, 1 << (cells % width), 0).astype(np.uint32)
    reached = walk(jnp.asarray(alone), bits_of(ground)[:, None], steps)  # uint32[H, start]
    return lax.population_count(reached).sum(axis=0, dtype=jnp.int32).reshape(ground.shape)


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
    return jnp.where(known.possible, jnp.where(mind.sites, likely, likely * UNFAIR), 0.0)


def density(mind: Mind) -> Array:
    """float32[H, W]: the belief in a cell and those beside it, which one visit would show; the largest is 1."""
    likely = jnp.pad(belief(mind), 1)
    height, width = mind.held.shape
    dense = jnp.zeros((height, width), jnp.float32)
    for down in range(3):
        for across in range(3):
            dense = dense + likely[down : down + height, across : across + width]
    return dense / jnp.maximum(dense.max(), 1e-9)
