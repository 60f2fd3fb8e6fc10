"""Ways across the board: what arrives where, from whom, and in how many moves.

A stack that walks along a path picks up what its owner has on the way (army − 1 a cell) and pays for what others
have (army + 1). `flow` finds, for every cell at once, the shortest way to the goal and among those the one on
which most arrives.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

STEP = 1 << 14  # what a step costs, in units; more than any army that is gathered on one way
NOWHERE = jnp.int32(1 << 30)


class Flow(NamedTuple):
    """Ways to a goal."""

    cost: Array  # int32[H, W]: steps · STEP − what arrives; NOWHERE where there is no way

    @property
    def steps(self) -> Array:
        """int32[H, W]: moves to the goal; large where there is no way."""
        return (self.cost + STEP // 2) // STEP

    @property
    def arrives(self) -> Array:
        """int32[H, W]: units that reach the goal, those of the start included."""
        return self.steps * STEP - self.cost

    @property
    def open(self) -> Array:
        return self.cost < NOWHERE // 2


def neighbours(values: Array, edge: Array | int) -> Array:
    """[4, H, W]: the value up, down, left, right of each cell; `edge` beyond the board."""
    padded = jnp.pad(values, 1, constant_values=edge)
    return jnp.stack([padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]])


def flow(goal: Array, passable: Array, gain: Array, rounds: int) -> Flow:
    """The best ways to bool[H, W] `goal`; `gain` is what a passed cell adds. Ways of up to 2 · `rounds` steps."""
    weight = jnp.where(passable, STEP - gain, NOWHERE)
    start = jnp.where(goal, 0, NOWHERE)

    def relax(cost: Array) -> Array:
        padded = jnp.pad(cost, 1, constant_values=NOWHERE)
        beside = jnp.minimum(
            jnp.minimum(padded[:-2, 1:-1], padded[2:, 1:-1]), jnp.minimum(padded[1:-1, :-2], padded[1:-1, 2:])
        )
        through = jnp.where(beside < NOWHERE // 2, beside + weight, NOWHERE)
        return jnp.where(goal, 0, jnp.minimum(cost, jnp.minimum(through, NOWHERE)))

    return Flow(lax.fori_loop(0, rounds, lambda _, cost: relax(relax(cost)), start))


def downhill(values: Array) -> Array:
    """int32[H, W]: the direction of the neighbour with the least value."""
    return jnp.argmin(neighbours(values, NOWHERE), axis=0).astype(jnp.int32)
