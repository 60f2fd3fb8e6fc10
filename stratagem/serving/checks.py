"""Arrays from outside, held against what a game expects."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.core.game import Game
from stratagem.serving.errors import BadRequest


class Shapes(NamedTuple):
    """What a game's trees look like: one row each."""

    state: Any
    view: Any
    legal: Any


@lru_cache(maxsize=64)
def shapes_of(game: Game) -> Shapes:
    state = jax.eval_shape(game.init, jax.random.key(0))
    view = jax.eval_shape(lambda one: game.view(one, jnp.int32(0)), state)
    return Shapes(state, view, jax.ShapeDtypeStruct((game.spec.actions,), np.bool_))


def fitted(what: str, tree: Any, arrays: Sequence[Any]) -> Any:
    """The arrays in the structure of `tree`; BadRequest names the one that does not fit."""
    wanted, structure = jax.tree.flatten(tree)
    if len(arrays) != len(wanted):
        raise BadRequest(f"{what} has {len(wanted)} arrays, got {len(arrays)}", what)
    leaves = []
    for index, (array, expected) in enumerate(zip(arrays, wanted, strict=True)):
        leaf = np.asarray(array)
        if leaf.shape != expected.shape or leaf.dtype != expected.dtype:
            field = what if len(wanted) == 1 else f"{what}[{index}]"
            raise BadRequest(
                f"{field} is {expected.dtype}{list(expected.shape)}, got {leaf.dtype}{list(leaf.shape)}",
                field,
            )
        leaves.append(leaf)
    return jax.tree.unflatten(structure, leaves)


def leaves_of(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree, in order."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
