"""Left and right of GENERAL are alike. The offensive keeps its name, 44, for its General cell."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.game import Symmetries
from stratagem.games.general.board import CELLS, GENERAL_CELLS, SIDE, mirror
from stratagem.games.general.state import ACTIONS, PASS, State


def symmetries() -> Symmetries:
    row, column = np.divmod(np.arange(CELLS), SIDE)
    across = row * SIDE + SIDE - 1 - column
    general = np.isin(np.arange(CELLS), GENERAL_CELLS)
    moved = np.where(general, np.arange(CELLS), across)[:, None] * CELLS + across[None]
    reflected = np.concatenate([moved.ravel(), np.arange(PASS, ACTIONS)])
    actions = np.stack([np.arange(ACTIONS), reflected])
    product = np.array([[0, 1], [1, 0]])
    parts = (actions, np.tile(np.arange(2), (2, 1)), product)
    return Symmetries(*(jnp.asarray(part, jnp.int32) for part in parts))


def turn_state(state: State, g: Array) -> State:
    other = jnp.where(state.converting > 0, 3 - state.converting, 0).astype(jnp.int8)
    return state._replace(
        units=jnp.where(jnp.asarray(g) == 1, mirror(state.units), state.units),
        converting=jnp.where(jnp.asarray(g) == 1, other, state.converting),
    )


def turn_view(view: Array, g: Array) -> Array:
    return jnp.where(jnp.asarray(g) == 1, view[:, ::-1], view)
