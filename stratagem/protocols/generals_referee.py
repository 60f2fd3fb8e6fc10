"""A referee for recorded games of Generals: plays them through and says of every action what became of it.

Games of any size are judged on one board, padded with mountains, which play like the edge: so there is one program
to compile, whatever sizes the games have.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.generals.board import (
    MOUNTAIN,
    NOBODY,
    State,
    army_of,
    clock_of,
    kind_of,
    new_state,
    owner_of,
)
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import PASS, close

CHUNK = 128  # turns judged at once


class Ground(NamedTuple):
    """A position's cells, at turn 0."""

    kind: np.ndarray  # int32[H, W]
    owner: np.ndarray  # int32[H, W]: 0 nobody, else the seat plus one
    army: np.ndarray  # int32[H, W]


class Judged(NamedTuple):
    """Some turns of a game, judged."""

    first: int
    before: State  # [T]: as each turn found it
    legal: np.ndarray  # bool[T, P]: the action was; else a pass took its place
    executed: np.ndarray  # bool[T, P]: it changed the board; a move may come too late to
    after: State


def ground_of(state: State, shape: tuple[int, int]) -> Ground:
    """The cells of a position."""
    parts = kind_of(state.cells), owner_of(state.cells), army_of(state.cells, clock_of(state))
    return Ground(*(np.asarray(part, np.int32).reshape(shape) for part in parts))


def state_of(ground: Ground) -> State:
    """The first position on this ground."""
    kind, owner, army = (jnp.asarray(part, jnp.int32).reshape(-1) for part in ground)
    return new_state(kind, owner, army, turn=jnp.int32(0), winner=jnp.int32(NOBODY))


def pad(ground: Ground, shape: tuple[int, int]) -> Ground:
    """The same ground in the upper left corner of a larger board, with mountains around it."""
    height, width = ground.kind.shape
    room = ((0, shape[0] - height), (0, shape[1] - width))
    kind = np.pad(ground.kind, room, constant_values=MOUNTAIN)
    return Ground(kind, np.pad(ground.owner, room), np.pad(ground.army, room))


def rewidth(actions: Any, width: int, to: int, per_cell: int) -> np.ndarray:
    """int32: the same actions on a board of another width; −1 stays −1."""
    actions = np.asarray(actions, np.int32)
    cell, k = np.divmod(actions, per_cell)
    row, column = np.divmod(cell, width)
    return np.where(actions < 0, -1, (row * to + column) * per_cell + k).astype(np.int32)


def judge(game: Generals, start: State, actions: np.ndarray) -> Iterator[Judged]:
    """Play int32[T, P] actions through, some turns at a time.

    What is not legal is replaced by a pass, and the game goes on.
    """
    state = start
    for first in range(0, len(actions), CHUNK):
        some = actions[first : first + CHUNK]
        asked = np.full((CHUNK, 2), -1, np.int32)
        asked[: len(some)] = some
        turns = np.arange(CHUNK) < len(some)
        state, found = _judge_chunk(game)(state, asked, turns)
        before, legal, executed = jax.tree.map(lambda part, turns=turns: np.asarray(part)[turns], found)
        yield Judged(first, before, legal, executed, state)


@lru_cache(maxsize=8)
def _judge_chunk(game: Generals) -> Any:
    def turn(state: State, asked: tuple[Array, Array]) -> tuple[State, tuple[State, Array, Array]]:
        actions, live = asked
        known = (actions >= 0) & (actions < game.spec.actions)
        mask = game.legal(state)
        legal = known & mask[jnp.arange(2), jnp.where(known, actions, 0)]
        passes = state.generals * game.per_cell + PASS
        played = jnp.where(legal, actions, passes)
        alone = jnp.stack([played.at[0].set(passes[0]), played.at[1].set(passes[1])])
        outcomes = jax.vmap(game.turn, (None, 0))(state, jnp.concatenate([played[None], alone]))
        both: Any = jax.tree.map(lambda part: part[0], outcomes)
        # An executed move always shows: its source holds fewer units than without it, or has changed hands.
        executed = (outcomes.state.cells[1:] != both.state.cells).any(axis=1)
        after = close(both.state, both.taken, game.cap)
        onward = jax.tree.map(lambda old, new: jnp.where(live, new, old), state, after)
        return onward, (state, legal, executed)

    return jax.jit(lambda state, actions, live: lax.scan(turn, state, (actions, live)))
