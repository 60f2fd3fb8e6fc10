"""A game under way, as arrays of fixed size.

Axes: R regions, N nations, S piece places of a nation, K arrivals, H remembered tokens.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

GROW, PICK, GO, CHOOSE, DEFEND, ATTACK, REMOVE, DONE = range(8)  # what is decided next
ROLL, FOUGHT, TURN_OVER = 8, 9, 10  # never seen by a player
TYPES = ("Growth", "Movement", "Battle", "Overpopulation")
TYPE_OF = np.array([0, 1, 1, 2, 2, 2, 3, 3, 2, 2, 3], np.int32)
REMEMBERED = 32


class State(NamedTuple):
    """Whatever moves. Pieces stand in fixed places: nation by nation, counter by counter."""

    region: Array  # int8[N, S]: where a piece is; −1 if it is not in play
    hp: Array  # int8[N, S]
    age: Array  # int16[N, S]: how many pieces of the nation came before it
    births: Array  # int16[N]
    moved: Array  # bool[S]: the active nation's pieces that have moved in this phase
    entry: Array  # int8[S]: where they came from; −1 if they did not move
    crossed: Array  # int8[S]: the kind of the last border
    picked: Array  # bool[S]: the group that is about to go
    holder: Array  # int8[R]: the nation with units here, the defender if two have; −1 for none
    building: Array  # int8[R]
    points: Array  # int16[N]: population points
    vp: Array  # int16[N]
    kills: Array  # int8[N, N]: points scored for units destroyed
    suzerain: Array  # int8[N]: −1 if free
    waiting: Array  # bool[K]: arrivals that have not come
    round: Array  # int8: from 1
    nation: Array  # int8: the active one; −1 between rounds
    half: Array  # int8: 2 in a Major Invasion
    phase: Array  # int8: what is decided next
    battle: Array  # int8: the region that is fought over; −1 for none
    combat: Array  # int8: combat rounds fought in it
    past: (
        Array  # int8[H, 3]: tile, units and battle of the active nation's tokens in this phase, latest first
    )
    steps: Array  # int8: how many there are


DTYPES = {
    "age": jnp.int16,
    "births": jnp.int16,
    "points": jnp.int16,
    "vp": jnp.int16,
    "moved": bool,
    "picked": bool,
    "waiting": bool,
}


def widen(state: State) -> State:
    """Whole numbers as int32, to compute with."""
    return jax.tree.map(lambda leaf: leaf if leaf.dtype == bool else leaf.astype(jnp.int32), state)


def narrow(state: State) -> State:
    """Back to the types in which a state is kept."""
    return State(*(leaf.astype(DTYPES.get(name, jnp.int8)) for name, leaf in state._asdict().items()))


class After(NamedTuple):
    """A game after a token was played, before dice and consequences."""

    state: State  # the phase may be one that no player sees
    strays: Array  # bool[S]: the active nation's pieces that must go home after a submission
    begun: Array  # int32[4]: phase, nation, half and round in which the token was played
