"""How networks read the view of GENERAL: as the rules give it, with the die unfolded, or with what units can reach."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption
from stratagem.networks.boards import Reader

SIDE, FACES = 10, 6
WAYS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]


def _outward() -> np.ndarray:
    """int32[100, 8, 6]: the cell so many steps away in each direction; 100 beyond the edge."""
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    away = np.arange(1, FACES + 1)
    down, right = np.array(WAYS).T[:, None, :, None] * away  # [1, 8, 6] each
    rows, columns = row[:, None, None] + down, column[:, None, None] + right
    inside = (rows >= 0) & (rows < SIDE) & (columns >= 0) & (columns < SIDE)
    return np.where(inside, rows * SIDE + columns, SIDE * SIDE).astype(np.int32)


_OUTWARD = _outward()


def read_nine(view: Array) -> Array:
    """The first nine planes."""
    return view[..., :9].astype(jnp.float32)


def read_twelve(view: Array) -> Array:
    """The first twelve planes."""
    return view[..., :12].astype(jnp.float32)


def read_general(view: Array) -> Array:
    """float32[H, W, 19]: all of GENERAL's planes but the die and the seat, and a plane for each value of the die."""
    die = jnp.round(view[..., 6:7] * FACES) == jnp.arange(1, FACES + 1)
    return jnp.concatenate([view[..., :6], view[..., 7:14], die], axis=-1).astype(jnp.float32)


def read_reach(view: Array) -> Array:
    """float32[H, W, 31]: and, for either side and each die, how many units have a free way to a cell, over two."""
    return jnp.concatenate([read_general(view), reach(view) / 2], axis=-1)


def reach(view: Array) -> Array:
    """float32[H, W, 12]: how many of my units, then of the opponent's, have a free way to each cell, die by die.

    Whoever stands on the cell does not count, so it also tells which units are covered by others.
    """
    mine, others, general = view[..., 0], view[..., 1], view[..., 2]
    free = 1 - jnp.maximum(jnp.maximum(mine, others), general)
    looked = jnp.pad(jnp.stack([mine, others, free]).reshape(3, -1), ((0, 0), (0, 1)))[:, _OUTWARD]
    passed = jnp.cumprod(looked[2], axis=-1)  # from the cell outward, so the way is the same
    clear = jnp.concatenate([jnp.ones_like(passed[..., :1]), passed[..., :-1]], axis=-1)
    seen = (looked[:2] * clear).sum(axis=2)  # [2, 100, 6]
    return jnp.moveaxis(seen, 0, 1).reshape(SIDE, SIDE, 2 * FACES).astype(jnp.float32)


PLANES: dict[int, Reader] = {0: read_general, 9: read_nine, 12: read_twelve, 31: read_reach}


def reader_of(planes: int) -> Reader:
    """How so many planes are read."""
    if planes not in PLANES:
        raise BadOption(f"planes is one of {', '.join(map(str, PLANES))}, not {planes}")
    return PLANES[planes]
