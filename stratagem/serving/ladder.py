"""One compiled program for each of a few batch sizes, made ahead, so that no question ever waits for a compiler."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np


def rungs(largest: int, factor: int = 2) -> list[int]:
    """1, 2, 4 … up to `largest`, which is always the last."""
    sizes, size = [], 1
    while size < largest:
        sizes.append(size)
        size *= factor
    return [*sizes, largest]


def like(tree: Any) -> Any:
    """The shapes and types of a tree of arrays."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


class Ladder:
    """A batched function, compiled for every rung.

    `function(constants, rows)` takes any tree first and then rows with a leading batch axis; `row` is the shape of one.
    """

    def __init__(self, function: Callable[..., Any], constants: Any, row: Any, sizes: Sequence[int]):
        self.row, self.sizes = row, list(sizes)
        self.largest = self.sizes[-1]
        jitted = jax.jit(function)
        self._programs = {}
        for size in self.sizes:
            rows = jax.tree.map(
                lambda leaf, size=size: jax.ShapeDtypeStruct((size, *leaf.shape), leaf.dtype), row
            )
            self._programs[size] = jitted.lower(like(constants), rows).compile()

    def __call__(self, constants: Any, rows: Sequence[Any]) -> tuple[Any, int]:
        """(the answers as arrays with one row each, the places computed). At most `largest` rows, at least one."""
        size = next(size for size in self.sizes if size >= len(rows))
        padded = [*rows, *[rows[0]] * (size - len(rows))]
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
        answers = self._programs[size](constants, stacked)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: len(rows)], answers), size
