"""A board of Generals that a seat may believe in, drawn from what it sees and remembers and from nothing else.

What is visible stays. In the fog: a structure is a mountain unless a castle was seen there; the enemy general is where
it was seen, or is drawn from the cascade's belief; the enemy's land and army are known from the score: the land goes
where it was last seen and around the general, the army is strewn over it unevenly, most of it on few cells.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.agents.generals_belief import Mind, belief
from stratagem.games.generals.board import CASTLE, GENERAL, MOUNTAIN, NOBODY, PLAIN, State, new_state
from stratagem.games.generals.rules import (
    FOG,
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

STRAYING = 2.0  # steps by which land may be nearer or farther than it would be in a plain circle
UNEVEN = 1.5  # how unevenly the army lies; 0 would be evenly
AT_HOME = 1.5  # how much more lies on the general, as a power of e
GARRISON = 45  # of a castle that is not in sight


def guess(game: Any, mind: Mind, view: View, seat: Array, key: Array) -> State:
    """A state in which `seat` sees what it sees now. `mind` has taken in the view."""
    place_key, land_key, army_key = jax.random.split(key, 3)
    looks, holder = seen(view).reshape(-1), possessors(view).reshape(-1)
    known = jax.tree.map(lambda leaf: leaf.reshape(-1) if leaf.shape == game.shape else leaf, mind.known)
    visible = (looks != FOG) & (looks != STRUCTURE)
    castle_there = (looks == STRUCTURE) & (known.kind == SEEN_CASTLE)
    ground = looks == FOG

    general = jax.random.categorical(place_key, jnp.log(jnp.maximum(general_chances(mind, view), 1e-30)))
    enemy = visible & (holder == OPPONENT)
    hidden_general = (jnp.arange(game.cells) == general) & ~visible
    wanted = view.land[1] - enemy.sum() - hidden_general.sum()
    enemy_castle = castle_there & (known.owner == OPPONENT)
    may_hold = (ground | enemy_castle) & ~hidden_general
    far = distance(game, general) + STRAYING * jax.random.normal(land_key, (game.cells,))
    likely = jnp.where(known.owner == OPPONENT, 1000.0, 0.0) - far
    held = first_of_all(likely, may_hold, wanted) | hidden_general

    mine = visible & (holder == ME)
    army = view.army.reshape(-1).astype(jnp.int32)
    hidden_army = strewn(held, hidden_general, view.total[1] - jnp.where(enemy, army, 0).sum(), army_key)
    castle_army = jnp.where(known.army > 0, known.army, GARRISON)

    kind = jnp.where(looks == STRUCTURE, jnp.where(castle_there, CASTLE, MOUNTAIN), PLAIN)
    for sign, meaning in ((SEEN_MOUNTAIN, MOUNTAIN), (SEEN_CASTLE, CASTLE), (SEEN_GENERAL, GENERAL)):
        kind = jnp.where(visible & (looks == sign), meaning, kind)
    kind = jnp.where(hidden_general, GENERAL, kind)
    owner = jnp.where(mine, seat + 1, jnp.where(enemy | held, 2 - seat, 0))
    army = jnp.where(visible, army, jnp.where(held, hidden_army, jnp.where(castle_there, castle_army, 0)))
    return new_state(
        kind.astype(jnp.int32),
        owner.astype(jnp.int32),
        army.astype(jnp.int32),
        view.turn.astype(jnp.int32),
        jnp.int32(NOBODY),
    )


def general_chances(mind: Mind, view: View) -> Array:
    """float32[N]: where the enemy general is: where it was seen, or else as the cascade believes."""
    ground = seen(view).reshape(-1) == FOG
    likely = jnp.where(ground, belief(mind).reshape(-1), 0.0)
    likely = jnp.where(likely.sum() > 0, likely, ground.astype(jnp.float32))
    known = (jnp.arange(likely.size) == mind.known.general).astype(jnp.float32)
    likely = jnp.where(mind.known.general >= 0, known, likely)
    return likely / jnp.maximum(likely.sum(), 1e-30)


def distance(game: Any, cell: Array) -> Array:
    """float32[N]: steps from a cell, as the crow flies."""
    rows, columns = jnp.divmod(jnp.arange(game.cells), game.width)
    return (jnp.abs(rows - cell // game.width) + jnp.abs(columns - cell % game.width)).astype(jnp.float32)


def first_of_all(worth: Array, among: Array, number: Array) -> Array:
    """bool[N]: the so many cells of highest worth among those given."""
    order = jnp.argsort(jnp.where(among, -worth, jnp.inf))
    rank = jnp.zeros_like(order).at[order].set(jnp.arange(order.size))
    return among & (rank < number)


def strewn(held: Array, general: Array, total: Array, key: Array) -> Array:
    """int32[N]: so much army on the cells held: one on each, the rest unevenly, what is left over on the largest."""
    weight = jnp.exp(UNEVEN * jax.random.normal(key, held.shape) + AT_HOME * general)
    weight = jnp.where(held, weight, 0.0)
    spare = jnp.maximum(total - held.sum(), 0)
    share = jnp.floor(spare * weight / jnp.maximum(weight.sum(), 1e-9)).astype(jnp.int32)
    rest = spare - share.sum()
    largest = jnp.arange(held.size) == jnp.argmax(weight)
    return jnp.where(held, 1 + share + jnp.where(largest, rest, 0), 0)
