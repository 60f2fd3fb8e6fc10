"""A position of GENERAL, whose turn it is, and how actions are numbered.

Actions: moves and garrisonings are `from · 100 + to` (what could be both is a move), the offensive is from 44 to the
unit that it removes, a conversion from its cell to the same cell, and 10,000 passes.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from stratagem.games.general.board import CELLS

PASS = CELLS * CELLS
ACTIONS = PASS + 4  # the last three are reserved
OFFENSIVE_FROM = 44
HITS_TO_WIN = 3


class State(NamedTuple):
    """A position with the die on the table. Whose turn it is follows from the turn: the Attacker has the even ones."""

    units: Array  # uint16[2, 10]: the Attacker's and the Defender's, a word a row
    attacker: Array  # int8: the seat that plays the Attacker
    turn: Array  # int16: turns finished
    die: Array  # int8: 1 to 6; 0 while a conversion is chosen, when nothing is possible, and after the end
    converting: Array  # int8: 0, or 1 + the triangle (left, right) in which the Defender must choose a unit
    hits: Array  # int8: on the General
    garrisoned: Array  # bool[2]: by role, whether the right is used up
    stormed: Array  # bool: whether the offensive of the General is used up


def role_of(state: State) -> Array:
    return (state.turn % 2).astype(jnp.int32)


def seat_of(state: State) -> Array:
    """int32: whose turn it is."""
    return state.attacker.astype(jnp.int32) ^ role_of(state)
