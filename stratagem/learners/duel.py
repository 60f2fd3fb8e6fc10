"""Matches of a network that is still learning against a player that is not, compiled once for all its ages."""

from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.core.game import Game, View
from stratagem.learners.ppo_rollout import spread
from stratagem.networks.judgements import masked
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
    rival: Any  # [B]: of the other
    turn: Array  # int32


def duel(
    game: Game, senses: Senses, rival: Rival, games: int, heat: float, network: Any, key: Array
) -> Array:
    """float32[B]: the results of the network, which has the first seat in every other game of two.

    It draws from its policy with this heat; 0 plays what it likes best.
    """
    start_key, key = jax.random.split(key)
    states = jax.vmap(game.init)(jax.random.split(start_key, games))
    own = jnp.arange(games) % 2
    table = Table(states, spread(senses.blank(), (games,)), spread(rival.memory(), (games,)), jnp.int32(0))

    def one(state: Any, seat: Array, memory: Any, other: Any, key: Array) -> tuple[Any, Any, Any]:
        act_key, rival_key, step_key = jax.random.split(key, 3)
        legal = game.legal(state)
        memory, record = senses.observe(memory, game.view(state, seat))
        logits = masked(network(senses.features(record)).logits, legal[seat])
        drawn = jax.random.categorical(act_key, logits / heat) if heat else jnp.argmax(logits)
        view = game.view(state, 1 - seat)
        answer = rival.act(other, view, legal[1 - seat], rival_key)
        to_move = game.to_move(state)
        mine = jnp.where(to_move[seat], drawn, -1).astype(jnp.int32)
        theirs = jnp.where(to_move[1 - seat], answer, -1).astype(jnp.int32)
        actions = jnp.where(jnp.arange(2) == seat, drawn, answer).astype(jnp.int32)
        stepped = game.step(state, actions, step_key)
        done = game.done(state)
        state = jax.tree.map(lambda old, new: jnp.where(done, old, new), state, stepped)
        return state, senses.note(memory, mine), rival.remember(other, view, theirs)

    def turn(table: Table) -> Table:
        keys = jax.random.split(jax.random.fold_in(key, table.turn), games)
        played = jax.vmap(one)(table.state, own, table.memory, table.rival, keys)
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
