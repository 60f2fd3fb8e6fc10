"""What the side whose turn it is may do in GENERAL, as sets of units and cells."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.general.board import (
    ATTACKER,
    BOARD,
    DEFENDER,
    GARRISONS,
    GENERAL,
    MOAT,
    SIDE,
    TRIANGLES,
    Cells,
    Rows,
    count,
    first_row,
    holds,
    movable_rows,
    moves_of,
    rows,
)
from stratagem.games.general.state import State, role_of


def moves(state: State) -> Array:
    """`moves_of` for the side whose turn it is."""
    role = role_of(state)
    return moves_of(state.units[role], state.units[1 - role], role == ATTACKER)


def lines(state: State) -> list[list[Rows]]:
    """`movable_rows` for the side whose turn it is."""
    attacking = role_of(state) == ATTACKER
    sides = [rows(units) for units in state.units]
    own = [jnp.where(attacking, *pair) for pair in zip(*sides, strict=True)]
    theirs = [jnp.where(attacking, *pair[::-1]) for pair in zip(*sides, strict=True)]
    return movable_rows(own, theirs, attacking)


def movable(state: State) -> Array:
    """uint16[8, 10]: for each direction the units that have a normal move with this die."""
    shown = (jnp.arange(1, 7) == state.die)[:, None]
    return jnp.where(shown, moves(state), np.uint16(0)).sum(axis=1, dtype=jnp.uint16)


def shown_rows(state: State) -> list[Rows]:
    """`movable` in numbers alone."""
    shown = [jnp.where(state.die == die, np.uint16(0xFFFF), np.uint16(0)) for die in range(1, 7)]
    found = []
    for way, line in enumerate(lines(state)):
        words = [jnp.uint16(0)] * SIDE
        for die in range(1, 7):
            for row, word in enumerate(line[die - 1], first_row(way, die)):
                words[row] = words[row] | word & shown[die - 1]
        found.append(words)
    return found


def garrisoning(state: State) -> tuple[Cells, Cells]:
    """(Units that may go, cells where they may go), when the die shows 6; no units if the right is used up."""
    role = role_of(state)
    available = ~state.garrisoned[role]
    units = state.units[role] & jnp.asarray(GARRISONS)[role]
    closed = GARRISONS[0] | GARRISONS[1] | GENERAL
    places = BOARD & ~(state.units[0] | state.units[1] | closed)
    return jnp.where(available, units, np.uint16(0)), places


def storming(state: State) -> Cells:
    """The units that an offensive of the General may remove, when the die shows 1."""
    few = count(state.units[DEFENDER]) < 3
    ready = (role_of(state) == DEFENDER) & few & ~state.stormed
    return jnp.where(ready, state.units[ATTACKER] & MOAT, np.uint16(0))


def choices(state: State) -> Cells:
    """The units among which the Defender must choose one to convert."""
    here = jnp.where(state.converting == 2, TRIANGLES[1], TRIANGLES[0])
    return jnp.where(state.converting > 0, state.units[ATTACKER] & here, np.uint16(0))


def is_line_of_six(state: State, start: Array, end: Array) -> Array:
    """bool: whether a normal move of six leads there, if the end is no own unit."""
    row, column, to_row, to_column = start // SIDE, start % SIDE, end // SIDE, end % SIDE
    down, right = to_row - row, to_column - column
    straight = (jnp.abs(down) % 6 == 0) & (jnp.abs(right) % 6 == 0)
    occupied = state.units[0] | state.units[1] | GENERAL
    blocked = jnp.bool_(False)
    for one in range(1, 6):
        passed = (row + down * one // 6) * SIDE + column + right * one // 6
        blocked |= holds(occupied, passed)
    return straight & ~blocked
