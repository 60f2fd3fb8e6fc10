"""Where moves to imitate come from: teachers who play each other, or recorded games."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.core.errors import BadOption
from stratagem.core.game import Game
from stratagem.learners.guests import Guest
from stratagem.learners.ppo_rollout import (
    Lanes,
    look,
    restock,
    rewarding,
    rollout,
    scattered,
    spread,
    start_lanes,
)
from stratagem.learners.ppo_update import advantages_of


class Moves(NamedTuple):
    """Moves that were made, [T, B, P], as those saw the game who made them."""

    record: Any
    legal: Array  # uint8[…, A / 8]: eight actions a byte
    action: Array  # int32
    target: Array  # float32: what the game brought, or seems to bring, to the one who moved
    known: Array  # bool: there was a move, and its target is known


class Source(Protocol):
    """Gives an iteration its moves."""

    def start(self, key: Array) -> Any:
        """What it carries from iteration to iteration; traced."""

    def fetch(self, iteration: int) -> Any:
        """What it brings from outside for an iteration: arrays of the same shapes each time."""

    def moves(
        self, student: Any, carried: Any, fetched: Any, key: Array
    ) -> tuple[Any, Moves, dict[str, Array]]:
        """(What it carries on, the moves of an iteration, numbers to log); traced."""


@dataclass(frozen=True)
class Teachers:
    """Traceable agents who meet each other in equal shares of the lanes, themselves included."""

    game: Any
    senses: Any
    agents: tuple[Any, ...]
    lanes: int = 512
    steps: int = 64
    """Turns of each game an iteration."""
    stock: int = 0
    """First positions made in advance; 0 makes each when it is needed."""
    restock: int = 64
    """How many of them are made anew in each iteration."""
    scatter: int = 0
    """Iterations over which the lanes begin one after another."""
    trace: float = 0.98
    """Lambda: how far a target looks ahead where a game has not ended yet."""

    def start(self, key: Array) -> Lanes:
        return start_lanes(self.game, self.senses, self.lanes, self.stock, key, self.guests)

    def fetch(self, iteration: int) -> Array:
        return jnp.int32(iteration)

    def moves(
        self, student: Any, carried: Lanes, fetched: Array, key: Array
    ) -> tuple[Any, Moves, dict[str, Array]]:
        stock_key, play_key = jax.random.split(key)
        lanes = restock(self.game, carried, self.restock, stock_key)
        if self.scatter:
            own_key = jax.random.fold_in(stock_key, 0)
            lanes = scattered(self.game, self.senses, lanes, self.guests, fetched, self.scatter, own_key)
        reward = rewarding(self.game, None, 0.0)
        lanes, turns = rollout(
            self.game, self.senses, student, lanes, self.steps, reward, play_key, self.guests
        )
        advantage, known = advantages_of(turns, 1.0, self.trace, cut_is_end=True)
        moves = Moves(turns.record, turns.legal, turns.action, turns.value + advantage, known)
        games = turns.done.sum()
        return lanes, moves, {"games": games, "undecided": turns.cut.sum() / jnp.maximum(games, 1)}

    @property
    def guests(self) -> list[Guest]:
        return seated(self.game, self.agents, self.lanes)


def seated(game: Game, teachers: Sequence[Any], lanes: int) -> list[Guest]:
    """A guest for each teacher: each meets each, itself included, in equal shares of the lanes, in all seats."""
    if not teachers:
        raise BadOption("cloning: at least one teacher, please")
    count, seats = len(teachers), game.spec.seats
    tables = [(first, step) for step in range(count) for first in range(count)][:lanes]
    number = np.arange(lanes)
    first, step = np.array(tables)[number * len(tables) // lanes].T  # of the table that each lane is
    place = np.arange(seats)[:, None]  # at the table; seats are taken in turn
    who = (first + place * step) % count
    where = (number + place) % seats
    lane = np.broadcast_to(number, who.shape)
    sitting = [(agent, who == one) for one, agent in enumerate(teachers)]
    return [Guest(agent, lane[there], where[there]) for agent, there in sitting if there.any()]


class Games(NamedTuple):
    """Recorded games side by side."""

    start: Any  # [B]: their first positions
    actions: Array  # int32[T, B, P]: −1 after a game's end
    returns: Array  # float32[B, P]


@dataclass(frozen=True, eq=False)
class Recorded:
    """Recorded games, whole: what each seat saw and remembered is rebuilt turn by turn. Draws are left out."""

    game: Any
    senses: Any
    read: Callable[[int], Games]
    """The games of an iteration; the same number of games and turns each time."""

    def start(self, key: Array) -> Any:
        return ()

    def fetch(self, iteration: int) -> Games:
        return self.read(iteration)

    def moves(
        self, student: Any, carried: Any, fetched: Games, key: Array
    ) -> tuple[Any, Moves, dict[str, Array]]:
        count, seats = fetched.returns.shape
        memory = spread(self.senses.blank(), (count, seats))
        lanes = Lanes(fetched.start, memory, jnp.zeros(count, jnp.int32), None)

        def turn(lanes: Lanes, actions: Array) -> tuple[Lanes, Any]:
            memory, record, legal, moved = look(self.game, self.senses, lanes)
            moved = moved & (actions >= 0)
            memory = jax.vmap(jax.vmap(self.senses.note))(memory, jnp.where(moved, actions, -1))
            keys = jax.random.split(
                key, count
            )  # recorded games have no more secrets: what was drawn is in them
            state = jax.vmap(self.game.step)(lanes.state, jnp.maximum(actions, 0), keys)
            return lanes._replace(state=state, memory=memory), (record, jnp.packbits(legal, axis=-1), moved)

        _, (record, legal, moved) = lax.scan(turn, lanes, fetched.actions)
        decided = (fetched.returns != 0).any(axis=1)
        target = jnp.broadcast_to(fetched.returns, moved.shape)
        known = moved & decided[:, None]
        moves = Moves(record, legal, jnp.maximum(fetched.actions, 0), target, known)
        return (), moves, {"games": decided.sum(), "moves": known.sum()}
