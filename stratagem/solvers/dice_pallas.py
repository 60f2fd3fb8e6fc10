"""The re-rolls of a turn as one GPU kernel each: every value of the recursion stays on the chip.

As plain array operations a re-roll reads and writes the values of all keeps some twenty times; here a program
of the grid reads the values of the rolls for `BLOCK` positions once and writes the answer once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import keeps
from stratagem.solvers.dice_jax import Shape, divide

BLOCK = 128  # positions a program; with four warps that is one position a thread


def reroll_values(rolled: Sequence[Array], family: Family) -> list[Array]:
    """The values of the rolls before one more decision, from those after it; one vector each."""
    k = keeps(family.dice, family.faces)
    kept: list[Array] = [rolled[0]] * k.partial + list(rolled)
    for keep in range(k.partial - 1, -1, -1):
        kept[keep] = divide(tree_sum([kept[more] for more in k.add[keep]]), family.faces)
    for keep in range(1, len(kept)):
        for fewer in k.drop[keep][k.drop[keep] >= 0]:
            kept[keep] = jnp.maximum(kept[keep], kept[fewer])
    return kept[k.partial :]


def tree_sum(terms: Sequence[Array]) -> Array:
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + list(
            terms[len(terms) & ~1 :]
        )
    return terms[0]


def _reroll_kernel(rolled, out, *, family: Family):
    here = pl.ds(pl.program_id(0) * BLOCK, BLOCK)
    values = [rolled[roll, here] for roll in range(rolled.shape[0])]
    for roll, value in enumerate(reroll_values(values, family)):
        out[roll, here] = value


def _last_kernel(rolled, out, *, family: Family):
    here = pl.ds(pl.program_id(0) * BLOCK, BLOCK)
    values = [rolled[roll, here] for roll in range(rolled.shape[0])]
    ways = keeps(family.dice, family.faces).ways.astype(np.float32)
    weighted = [value * n for value, n in zip(reroll_values(values, family), ways, strict=True)]
    out[here] = divide(tree_sum(weighted), family.faces**family.dice)


@partial(jax.jit, static_argnames=("shape", "interpret"))
def fused_finish(rolled: Array, *, shape: Shape, interpret: bool = False) -> Array:
    """float32[positions]: the turn's value from the values of its rolls, as `dice_jax.finish` gives it."""
    family = shape.family
    if family.has_first_roll_bonus or family.rolls < 2:
        raise ValueError(
            f"the fused kernel knows no first-roll bonus and needs two rolls; {family.name} differs"
        )
    rolls, positions = rolled.shape[1:]
    if positions % BLOCK:
        raise ValueError(f"{positions} positions are no multiple of {BLOCK}")
    call = partial(
        pl.pallas_call,
        grid=(positions // BLOCK,),
        interpret=interpret,
        compiler_params=None if interpret else triton.CompilerParams(num_warps=4, num_stages=1),
    )
    values = rolled[0]
    for _ in range(family.rolls - 2):
        like = jax.ShapeDtypeStruct((rolls, positions), jnp.float32)
        values = call(partial(_reroll_kernel, family=family), out_shape=like)(values)
    return call(
        partial(_last_kernel, family=family), out_shape=jax.ShapeDtypeStruct((positions,), jnp.float32)
    )(values)
