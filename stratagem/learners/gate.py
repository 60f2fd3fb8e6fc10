"""Matches of one network against another, many games side by side, both with the same search."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.core.game import Game
from stratagem.core.play import Playing, advance, over, returns, start
from stratagem.networks.outputs import evaluator
from stratagem.search import Rule, search


def match(
    game: Game,
    rule: Rule,
    new: Any,
    old: Any,
    games: int,
    key: Array,
    breadth: int | None = None,
    warm: int = 2,
) -> Array:
    """float32: the share of points of `new`, which sits at each seat in turn; the games of one round start alike.

    The first `warm` moves are played with temperature 1, so that the games differ.
    """
    start_key, play_key = jax.random.split(key)
    rounds, seats = jnp.divmod(
        jnp.arange(games), game.spec.seats
    )  # `new` has each seat, and so each role, once
    playing = jax.vmap(partial(start, game))(jax.random.split(start_key, games)[rounds])

    def choose(network: Any, playing: Playing, key: Array) -> Array:
        look = partial(search, game, evaluator(game, network), rule, breadth=breadth)
        heat = jnp.where(playing.turn < warm, 1.0, 0.0)
        return jax.vmap(look)(playing.state, jax.random.split(key, games), heat).action

    def turn(carry: tuple[Playing, Array]) -> tuple[Playing, Array]:
        playing, key = carry
        new_key, old_key, step_key, key = jax.random.split(key, 4)
        movers = jax.vmap(lambda state: jnp.argmax(game.to_move(state)))(playing.state)
        action = jnp.where(movers == seats, choose(new, playing, new_key), choose(old, playing, old_key))
        actions = jnp.broadcast_to(action[:, None], (games, game.spec.seats))
        return jax.vmap(partial(advance, game))(playing, actions, jax.random.split(step_key, games)), key

    def unfinished(carry: tuple[Playing, Array]) -> Array:
        return ~jax.vmap(partial(over, game))(carry[0]).all()

    playing, _ = lax.while_loop(unfinished, turn, (playing, play_key))
    results = jax.vmap(partial(returns, game))(playing)[jnp.arange(games), seats]
    return ((results + 1) / 2).mean()
