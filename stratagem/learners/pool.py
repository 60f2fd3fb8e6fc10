"""A pool of a learner's earlier versions to play against: beat them, and join them.

Every lane has the learner in one seat and a version from the pool in the other; all lanes have the same one for a
chunk of turns, then another is drawn, so that long games meet several. When the learner's share of points against the
pool passes a threshold, a copy of it takes the place of the oldest. Shares are kept version by version.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import Unsupported
from stratagem.core.game import Game
from stratagem.learners.guests import Guest, Snapshot
from stratagem.learners.ppo_rollout import Lanes, Turn
from stratagem.networks.senses import Senses


class Pool(NamedTuple):
    """K versions and how the learner fares against each."""

    networks: Any  # [K]
    points: Array  # float32[K]: of the learner, a draw is half a point
    games: Array  # float32[K]
    oldest: Array  # int32: who goes next
    joined: Array  # int32: how many have joined since the start


def new_pool(network: Any, size: int) -> Pool:
    """The same network in all places."""
    networks = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (size, *leaf.shape)), network)
    return Pool(networks, jnp.zeros(size), jnp.zeros(size), jnp.int32(0), jnp.int32(0))


def seat_at(game: Game, senses: Senses, network: Any, lanes: int) -> Guest:
    """A version in the second seat of even lanes and the first of odd ones."""
    if game.spec.seats != 2:
        raise Unsupported(f"a pool of opponents is for two seats; {game.spec.name} has {game.spec.seats}")
    numbers = np.arange(lanes)
    return Guest(Snapshot(senses, network), numbers, (numbers + 1) % 2)


def play_pool(
    game: Game,
    senses: Senses,
    pool: Pool,
    lanes: Lanes,
    steps: int,
    chunk: int,
    play: Callable[[Lanes, int, Array, Guest], tuple[Lanes, Turn]],
    key: Array,
) -> tuple[Pool, Lanes, Turn]:
    """`steps` turns by `play`, another opponent in each chunk of them; the pool with the results added."""
    parts = []
    for number, first in enumerate(range(0, steps, chunk)):
        draw_key, play_key = jax.random.split(jax.random.fold_in(key, number))
        drawn = jax.random.randint(draw_key, (), 0, pool.points.shape[0])
        network = jax.tree.map(lambda leaf, drawn=drawn: leaf[drawn], pool.networks)
        count = lanes.length.shape[0]
        lanes, turns = play(lanes, min(chunk, steps - first), play_key, seat_at(game, senses, network, count))
        pool = tally(pool, drawn, turns)
        parts.append(turns)
    return pool, lanes, jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)


def tally(pool: Pool, drawn: Array, turns: Turn) -> Pool:
    """The results of the games that ended, for the learner in seat (lane mod 2)."""
    own = jnp.where(jnp.arange(turns.first.shape[1]) % 2 == 0, turns.first, -turns.first)
    points = jnp.where(turns.done, (own + 1) / 2, 0.0).sum()
    return pool._replace(
        points=pool.points.at[drawn].add(points),
        games=pool.games.at[drawn].add(turns.done.sum().astype(jnp.float32)),
    )


def share_of(pool: Pool) -> Array:
    """float32: the mean of the learner's shares against each version; a half where none has been met."""
    shares = jnp.where(pool.games > 0, pool.points / jnp.maximum(pool.games, 1), 0.5)
    return shares.mean()


def renewed(pool: Pool, network: Any, wanted: float, least: int) -> Pool:
    """With a copy of the learner in the place of the oldest, if it has beaten the pool in enough games."""
    ready = (share_of(pool) > wanted) & (pool.games >= least).all()
    place = pool.oldest

    def put(leaf: Array, new: Array) -> Array:
        return leaf.at[place].set(jnp.where(ready, new, leaf[place]))

    return Pool(
        networks=jax.tree.map(put, pool.networks, network),
        points=put(pool.points, jnp.float32(0)),
        games=put(pool.games, jnp.float32(0)),
        oldest=(place + ready) % pool.points.shape[0],
        joined=pool.joined + ready,
    )
