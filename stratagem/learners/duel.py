"""Matches of a network that is still learning against a player that is not, compiled once for all its ages."""

from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.core.game import Game, View
from stratagem.learners.ppo_rollout import spread
from stratagem.networks.judgements import drawn
from stratagem.networks.senses import Senses


class Rival(Protocol):
    """A traceable agent, for one seat of one game."""

    def memory(self) -> Any: ...

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array: ...

    def remember(self, memory: Any, view: View, action: Array) -> Any: ...


class Table(NamedTuple):
    """Games of a duel under way."""

    state: Any  # [B]
    memory: Any  # [B]: of the network
    rival: Any  # [B, P − 1]: of the other, who plays all other seats
    turn: Array  # int32


def duel(
    game: Game, senses: Senses, rival: Rival, games: int, heat: float | Array, network: Any, key: Array
) -> Array:
    """float32[B]: the results of the network, which has each seat of each map in turn; the rival has all others.

    It draws from its policy with this heat, which may be another one for each game; 0 plays what it likes best.
    """
    start_key, key = jax.random.split(key)
    seats = game.spec.seats
    own, number = jnp.arange(games) % seats, jnp.arange(games) // seats
    maps = jax.vmap(game.init)(jax.random.split(start_key, -(-games // seats)))
    states = jax.tree.map(lambda leaf: leaf[number], maps)
    others = spread(rival.memory(), (games, seats - 1))
    table = Table(states, spread(senses.blank(), (games,)), others, jnp.int32(0))

    heats = jnp.broadcast_to(jnp.asarray(heat, jnp.float32), (games,))

    def one(
        state: Any, seat: Array, heat: Array, memory: Any, other: Any, key: Array
    ) -> tuple[Any, Any, Any]:
        act_key, rival_key, step_key = jax.random.split(key, 3)
        legal = game.legal(state)
        memory, record = senses.observe(memory, game.view(state, seat))
        chances = network(senses.features(record)).chances(legal[seat])
        mine = drawn(chances, heat, act_key)
        rest = (seat + 1 + jnp.arange(seats - 1)) % seats
        views = jax.vmap(partial(game.view, state))(rest)
        answers = jax.vmap(rival.act)(other, views, legal[rest], jax.random.split(rival_key, seats - 1))
        actions = jnp.zeros(seats, jnp.int32).at[seat].set(mine).at[rest].set(answers)
        noted = jnp.where(game.to_move(state), actions, -1)
        stepped = game.step(state, actions, step_key)
        done = game.done(state)
        state = jax.tree.map(lambda old, new: jnp.where(done, old, new), state, stepped)
        return state, senses.note(memory, noted[seat]), jax.vmap(rival.remember)(other, views, noted[rest])

    def turn(table: Table) -> Table:
        keys = jax.random.split(jax.random.fold_in(key, table.turn), games)
        played = jax.vmap(one)(table.state, own, heats, table.memory, table.rival, keys)
        return Table(*played, table.turn + 1)

    def unfinished(table: Table) -> Array:
        return ~jax.vmap(game.done)(table.state).all()

    table = lax.while_loop(unfinished, turn, table)
    return jax.vmap(game.returns)(table.state)[jnp.arange(games), own]


def ladder(game: Game, senses: Senses, rivals: dict[str, Rival], games: int, heat: float) -> Any:
    """A function from (network, iterations done) to its share of points against each rival."""
    matches = {
        name: jax.jit(partial(duel, game, senses, rival, games, heat)) for name, rival in rivals.items()
    }

    def climb(network: Any, iteration: int) -> dict[str, float]:
        key = jax.random.key(iteration)
        scores = {name: jnp.asarray(match(network, key)) for name, match in matches.items()}
        points = {f"against {name}": float((one.mean() + 1) / 2) for name, one in scores.items()}
        wins = {f"wins against {name}": float((one > 0).mean()) for name, one in scores.items()}
        return points | wins

    return climb
