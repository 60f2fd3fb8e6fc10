"""The functions of one game, compiled: what judging asks of it again and again."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np


class Programs(NamedTuple):
    """All take one state; `view` also a seat, `step` also actions and a key."""

    view: Callable[..., Any]
    legal: Callable[..., Any]
    to_move: Callable[..., Any]
    done: Callable[..., Any]
    returns: Callable[..., Any]
    step: Callable[..., Any]


@lru_cache(maxsize=16)
def programs(game: Any) -> Programs:
    names = ("view", "legal", "to_move", "done", "returns", "step")
    return Programs(*(jax.jit(getattr(game, name)) for name in names))


def legal_actions(game: Any, state: Any, seat: int) -> np.ndarray:
    """int64[L]: what a seat may do, ascending."""
    return np.flatnonzero(np.asarray(programs(game).legal(state))[seat])


def view_of(game: Any, state: Any, seat: int) -> Any:
    """What a seat sees, in NumPy arrays."""
    return jax.tree.map(np.asarray, programs(game).view(state, np.int32(seat)))
