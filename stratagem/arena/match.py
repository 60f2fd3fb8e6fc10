"""Many games at once, in lockstep: every turn, each agent is asked once about all the positions where it is to move.

That is one batched call for a traceable agent and one `act_many` (or a loop) for a host agent, so the same code
plays thousands of compiled games and a handful of games against a foreign program.

A game is a function of its seed, its seating and the agents: what else is played beside it does not matter.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.agent import Agent, BatchAgent, Closing
from stratagem.core import play
from stratagem.core.game import Game, Roles

# Apart from the key of any turn, so that an agent's draws never follow the dice of the game.
AGENT_STREAM = 0x5EA7


@dataclass(frozen=True)
class Played:
    """One finished game."""

    seating: tuple[int, ...]
    """Which agent sat at each seat."""
    seed: int
    returns: tuple[float, ...]
    """Per seat."""
    turns: int
    fouls: tuple[int, ...]
    """Seats that lost by an illegal action."""
    seconds: tuple[float, ...]
    """Thinking time per seat; games that were asked together share it equally."""
    roles: tuple[str, ...] = ()
    """Per seat, in games that have roles."""
    actions: list[list[int]] = field(default_factory=list)
    """Per turn and seat; −1 for a seat that was not to move. Empty unless asked for."""


class Look(NamedTuple):
    """What the host must know of a batch each turn."""

    to_move: Array  # bool[B, P]
    over: Array  # bool[B]


class Compiled(NamedTuple):
    """The batched functions of one game."""

    start: Callable[[Array], play.Playing]
    look: Callable[[play.Playing], Look]
    observe: Callable[[play.Playing, Array, Array], tuple[Any, Array]]
    advance: Callable[[play.Playing, Array, Array], play.Playing]
    results: Callable[[play.Playing], Array]
    roles: Callable[[play.Playing], Array] | None  # int32[B, P]; None in a game without roles


@lru_cache(maxsize=32)
def compiled(game: Any) -> Compiled:
    """The batched functions of a game, traced once a shape."""

    def look(playing: play.Playing) -> Look:
        over = play.over(game, playing)
        return Look(game.to_move(playing.state) & ~over, over)

    def observe(playing: play.Playing, games: Array, seats: Array) -> tuple[Any, Array]:
        states = jax.tree.map(lambda leaf: leaf[games], playing.state)
        views = jax.vmap(game.view)(states, seats)
        return views, jax.vmap(lambda state, seat: game.legal(state)[seat])(states, seats)

    def advance(playing: play.Playing, actions: Array, seeds: Array) -> play.Playing:
        keys = jax.vmap(play.turn_key)(seeds, playing.turn)
        return jax.vmap(partial(play.advance, game))(playing, actions, keys)

    return Compiled(
        start=jax.jit(jax.vmap(lambda seed: play.start(game, play.turn_key(seed, -1)))),
        look=jax.jit(jax.vmap(look)),
        observe=jax.jit(observe),
        advance=jax.jit(advance),
        results=jax.jit(jax.vmap(partial(play.returns, game))),
        roles=jax.jit(jax.vmap(lambda playing: game.roles(playing.state)))
        if isinstance(game, Roles)
        else None,
    )


@lru_cache(maxsize=64)
def compiled_act(agent: Any) -> Callable[..., Array]:
    """A traceable agent's `act` over rows, with keys made from (seed, seat, turn)."""

    def act(memory: Any, view: Any, legal: Array, seed: Array, seat: Array, turn: Array) -> Array:
        stream = jax.random.fold_in(jax.random.key(seed), AGENT_STREAM)
        key = jax.random.fold_in(jax.random.fold_in(stream, seat), turn)
        return jnp.asarray(agent.act(memory, view, legal, key), jnp.int32)

    return jax.jit(jax.vmap(act))


@lru_cache(maxsize=64)
def compiled_remember(agent: Any) -> Callable[..., Any]:
    return jax.jit(jax.vmap(agent.remember))


def play_games(
    game: Game,
    agents: Sequence[Agent],
    seatings: Sequence[Sequence[int]],
    seeds: Sequence[int],
    *,
    record: bool = False,
    one_shape: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Played]:
    """Play one game for each seating (agent index per seat) and seed; in the order given.

    `progress` is called each turn with the number of games finished so far. With `one_shape` a compiled agent is always
    asked about as many rows as it has seats, however few are left: it is compiled once, which on a graphics card takes
    longer than the rows that nobody needs.
    """
    batch, seats = len(seeds), game.spec.seats
    if not batch:
        return []
    seated = np.asarray(seatings, int).reshape(batch, seats)
    seed_row = np.asarray(seeds, np.uint32)
    functions = compiled(game)
    device_seeds = jnp.asarray(seed_row)
    playing = functions.start(device_seeds)
    players = [
        _Player(agent, functions, seated == index, seed_row, one_shape) for index, agent in enumerate(agents)
    ]
    seconds = np.zeros((batch, seats))
    moves: list[np.ndarray] = []
    try:
        while True:
            to_move, over = (np.asarray(part) for part in functions.look(playing))
            if progress:
                progress(int(over.sum()))
            if over.all():
                break
            actions = np.full((batch, seats), -1, np.int32)
            for player in players:
                player.turn(playing, to_move, over, actions, seconds, len(moves))
            moves.append(actions)
            playing = functions.advance(playing, jnp.asarray(actions), device_seeds)
    finally:
        for player in players:
            player.close()
    returns, fouls = np.asarray(functions.results(playing)), np.asarray(playing.fouls)
    turns = np.asarray(playing.turn)
    roles = [()] * batch if functions.roles is None else _named(game, functions.roles(playing))
    return [
        Played(
            seating=tuple(int(index) for index in seated[b]),
            seed=int(seed_row[b]),
            returns=tuple(float(value) for value in returns[b]),
            turns=int(turns[b]),
            fouls=tuple(int(seat) for seat in np.flatnonzero(fouls[b])),
            seconds=tuple(float(value) for value in seconds[b]),
            roles=roles[b],
            actions=[move[b].tolist() for move in moves[: turns[b]]] if record else [],
        )
        for b in range(batch)
    ]


def _named(game: Any, roles: Array) -> list[tuple[str, ...]]:
    """The names of int32[B, P] roles, a row a game."""
    return [tuple(game.role_names[role] for role in row) for row in np.asarray(roles)]


class _Player:
    """One agent with its rows: the (game, seat) places where it sits."""

    def __init__(
        self, agent: Agent, functions: Compiled, sits: np.ndarray, seeds: np.ndarray, one_shape: bool
    ):
        self.agent, self.functions, self.seeds = agent, functions, seeds
        self.games, self.places = np.nonzero(sits)  # sits is bool[B, P]
        rows = len(self.games)
        self.fewest = rows if one_shape else 1
        one = agent.memory()
        self.forgetful = isinstance(one, tuple) and not one
        self.memory: Any
        if agent.traceable:
            self.memory = jax.tree.map(lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], rows, axis=0), one)
        else:
            self.memory = [one, *(agent.memory() for _ in range(rows - 1))]

    def turn(
        self,
        playing: play.Playing,
        to_move: np.ndarray,
        over: np.ndarray,
        actions: np.ndarray,
        seconds: np.ndarray,
        turn: int,
    ) -> None:
        """Fill in this agent's actions."""
        wanted = to_move if self.forgetful else np.broadcast_to(~over[:, None], to_move.shape)
        rows = np.flatnonzero(wanted[self.games, self.places])
        if not len(rows):
            return
        padded = _pad(rows, self.fewest)  # few shapes, so few compilations
        games, places = self.games[padded], self.places[padded]
        views, legals = self.functions.observe(playing, jnp.asarray(games), jnp.asarray(places))
        acting = to_move[self.games[rows], self.places[rows]]
        began = time.perf_counter()
        if self.agent.traceable:
            chosen = self._act_traced(padded, len(rows), views, legals, turn)
        else:
            chosen = self._act_host(rows, views, legals, acting, turn)
        chosen = np.where(acting, chosen, -1)
        spent = (time.perf_counter() - began) / max(acting.sum(), 1)
        seconds[self.games[rows], self.places[rows]] += np.where(acting, spent, 0)
        actions[self.games[rows], self.places[rows]] = chosen
        if not self.forgetful:
            self._remember(padded, rows, views, chosen)

    def _act_traced(self, padded: np.ndarray, count: int, views: Any, legals: Array, turn: int) -> np.ndarray:
        memory = jax.tree.map(lambda leaf: leaf[padded], self.memory)
        seeds = jnp.asarray(self.seeds[self.games[padded]])
        turns = jnp.full(len(padded), turn)
        places = jnp.asarray(self.places[padded])
        return np.asarray(compiled_act(self.agent)(memory, views, legals, seeds, places, turns))[:count]

    def _act_host(
        self, rows: np.ndarray, views: Any, legals: Array, acting: np.ndarray, turn: int
    ) -> np.ndarray:
        asked = np.flatnonzero(acting)
        chosen = np.full(len(rows), -1)
        if not len(asked):
            return chosen
        views = jax.tree.map(lambda leaf: np.asarray(leaf)[asked], views)
        legal_rows = np.asarray(legals)[asked]
        memories = [self.memory[row] for row in rows[asked]]
        keys = [
            np.random.default_rng(
                [AGENT_STREAM, int(self.seeds[self.games[row]]), int(self.places[row]), turn]
            )
            for row in rows[asked]
        ]
        if isinstance(self.agent, BatchAgent):
            chosen[asked] = self.agent.act_many(memories, views, legal_rows, keys)
            return chosen
        for index, row in enumerate(asked):
            view = jax.tree.map(lambda leaf, index=index: leaf[index], views)
            chosen[row] = self.agent.act(memories[index], view, legal_rows[index], keys[index])
        return chosen

    def _remember(self, padded: np.ndarray, rows: np.ndarray, views: Any, chosen: np.ndarray) -> None:
        if self.agent.traceable:
            memory = jax.tree.map(lambda leaf: leaf[padded], self.memory)
            done = jnp.asarray(np.concatenate([chosen, np.repeat(chosen[:1], len(padded) - len(rows))]))
            renewed = compiled_remember(self.agent)(memory, views, done.astype(jnp.int32))
            self.memory = jax.tree.map(
                lambda leaf, new: leaf.at[rows].set(new[: len(rows)]), self.memory, renewed
            )
            return
        for index, row in enumerate(rows):
            view = jax.tree.map(lambda leaf, index=index: np.asarray(leaf)[index], views)
            self.memory[row] = self.agent.remember(self.memory[row], view, int(chosen[index]))

    def close(self) -> None:
        if isinstance(self.agent, Closing):
            for memory in self.memory:
                self.agent.close(memory)


def _pad(rows: np.ndarray, fewest: int) -> np.ndarray:
    """The rows, with the first repeated up to the next power of two, or to that of the fewest wanted."""
    size = 1 << (max(len(rows), fewest) - 1).bit_length()
    return np.concatenate([rows, np.repeat(rows[:1], size - len(rows))])
