"""The board of Generals: one word a cell, armies without their growth.

Growth is implied by the turn: by turn t every owned cell has gained t // 50, and an owned general or castle
t // 2 besides. The words hold the army minus that, so an idle cell costs nothing to step and a turn touches only
the cells that moved.

Every function here takes one game, or many with their batch axes *last* (`cells: int32[N, …]`, `turn: int32[…]`):
the arithmetic is the same, and a batch that lies last needs no index arithmetic cell by cell.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

PLAIN, MOUNTAIN, CASTLE, GENERAL = range(4)
NEUTRAL = 0  # an owner is 0 for nobody, else the seat plus one
NOBODY, DRAW, CAPPED = -1, 2, 3  # what `winner` holds besides a seat: not over, drawn, out of turns

OWNER_BITS, ARMY_BITS = 2, 4  # where owner and army start in a word; the kind is below them
TICK, SPROUT = 50, 2  # turns between the growth of all land, and of generals and castles


class State(NamedTuple):
    """A position. N = H · W cells, P = 2 seats."""

    cells: Array  # int32[N]: (army minus implied growth) · 16 + owner · 4 + kind
    turn: Array  # int32: turns played
    winner: Array  # int32: a seat, NOBODY, DRAW or CAPPED
    generals: Array  # int32[P]: the cell of each seat's general
    land: Array  # int32[P]: cells owned
    sites: Array  # int32[P]: generals and castles owned
    base: Array  # int32[P]: army in all, minus implied growth


def pack(kind: Array, owner: Array, army: Array, clock: Array) -> Array:
    """int32 words from the three parts; `army` is the true one."""
    return ((army - growth(kind, owner, clock)) << ARMY_BITS) | (owner << OWNER_BITS) | kind


def kind_of(word: Array) -> Array:
    return word & 3


def owner_of(word: Array) -> Array:
    return (word >> OWNER_BITS) & 3


def army_of(word: Array, clock: Array) -> Array:
    """The true army at this time."""
    return (word >> ARMY_BITS) + growth(kind_of(word), owner_of(word), clock)


def growth(kind: Array, owner: Array, clock: Array) -> Array:
    """What an idle cell has gained since turn 0 under its present owner."""
    each = ticks(clock) + jnp.where(kind >= CASTLE, sprouts(clock), 0)
    return jnp.where(owner != NEUTRAL, each, 0)


def ticks(clock: Array) -> Array:
    """How often all land has grown."""
    return lax.div(clock, jnp.full_like(clock, TICK))


def sprouts(clock: Array) -> Array:
    """How often generals and castles have grown."""
    return lax.div(clock, jnp.full_like(clock, SPROUT))


def clock_of(state: State) -> Array:
    """Turns that have brought growth: the one in which a general falls brings none."""
    return grown_turns(state.turn, state.winner)


def grown_turns(turn: Array, winner: Array) -> Array:
    return turn - ((winner >= 0) & (winner <= DRAW))


def decided(state: State) -> Array:
    """bool: one seat has won."""
    return (state.winner == 0) | (state.winner == 1)


def totals(state: State) -> Array:
    """int32[P]: army in all, before the winner takes over."""
    clock = clock_of(state)
    return state.base + state.land * ticks(clock) + state.sites * sprouts(clock)


def standing(state: State) -> tuple[Array, Array]:
    """int32[P] twice: land and army of each seat as the score shows them."""

    def taken_over(count: Array) -> Array:
        seats = jnp.arange(2).reshape(2, *[1] * (count.ndim - 1))
        return jnp.where(decided(state), jnp.where(seats == state.winner, count.sum(axis=0), 0), count)

    return taken_over(state.land), taken_over(totals(state))


def owners(state: State) -> Array:
    """int32[N]: who owns each cell now; the loser's cells go to the winner."""
    owner = owner_of(state.cells)
    return jnp.where(decided(state) & (owner != NEUTRAL), state.winner + 1, owner)


def new_state(kind: Array, owner: Array, army: Array, turn: Array, winner: Array) -> State:
    """A position from its cells; counts what the state keeps counted. There is one general a seat.

    `owner` is as it was before any takeover: of the loser's cells, the loser.
    """
    clock = grown_turns(turn, winner)
    cells = pack(kind, owner, army, clock)
    mine = jnp.stack([owner == 1, owner == 2])  # bool[P, N]
    land = mine.sum(axis=1, dtype=jnp.int32)
    sites = (mine & (kind >= CASTLE)).sum(axis=1, dtype=jnp.int32)
    total = jnp.where(mine, army, 0).sum(axis=1, dtype=jnp.int32)
    generals = jnp.argmax(mine & (kind == GENERAL), axis=1).astype(jnp.int32)
    base = total - land * ticks(clock) - sites * sprouts(clock)
    return State(cells, turn, winner, generals, land, sites, base)


# Sets of cells in bits, one row of the board a word, column c in bit c: boards are at most 32 wide.


def rows_of_bits(cells: Array, axis: int = 1) -> Array:
    """uint32[H, …] from bool[H, W, …]; `axis` is that of the columns."""
    rows = jnp.zeros((), jnp.uint32)
    for column in range(cells.shape[axis]):
        rows = rows | (lax.index_in_dim(cells, column, axis, keepdims=False).astype(jnp.uint32) << column)
    return rows


def cells_of_bits(rows: Array, width: int) -> Array:
    """bool[H, W, …] from uint32[H, …]."""
    columns = np.arange(width, dtype=np.uint32).reshape(1, width, *[1] * (rows.ndim - 1))
    return (rows[:, None] >> columns) & 1 == 1


def above(rows: Array) -> Array:
    """Every cell moved one row down: bit (r, c) says what stood at (r − 1, c)."""
    return jnp.concatenate([jnp.zeros_like(rows[:1]), rows[:-1]])


def below(rows: Array) -> Array:
    """Bit (r, c) says what stood at (r + 1, c)."""
    return jnp.concatenate([rows[1:], jnp.zeros_like(rows[:1])])


def left(rows: Array) -> Array:
    """Bit (r, c) says what stood at (r, c − 1)."""
    return rows << 1


def right(rows: Array) -> Array:
    """Bit (r, c) says what stood at (r, c + 1)."""
    return rows >> 1


def and_around(rows: Array) -> Array:
    """These cells and their eight neighbours. Bits past the width may be set."""
    wide = rows | left(rows) | right(rows)
    return wide | above(wide) | below(wide)
