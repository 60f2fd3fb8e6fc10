"""A turn as a few GPU kernels that keep the recursion on the chip.

As plain array operations a re-roll reads and writes the values of all keeps some twenty times. Here one program of
the grid holds `BLOCK` score differences of one pair of sets: it reads the value of every roll, adds it to the keeps
that it can come from, works the keeps out in registers, and writes the value of every roll one re-roll earlier.

    score   ahead[categories, rows, reach]  ->  rolled[rolls, rows, width]
    reroll  rolled                          ->  rolled, one decision earlier
    last    rolled                          ->  equity[rows, width], as a sum over all falls of the dice

Only the keeps of fewer than all dice live in registers (210 values with five dice, under the 255 of a thread); the
rolls are read twice through two arguments, or the compiler would merge the reads and keep all of them alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import keeps, scores
from stratagem.solvers.dice_jax import apart, divide, falls

BLOCK = 32  # score differences a program: one warp


def padded(columns: int) -> int:
    """Columns rounded up to whole blocks."""
    return -(-columns // BLOCK) * BLOCK


def keep_values(load: Callable[[int], Array], family: Family) -> list[Array]:
    """The best value among all keeps of fewer than all dice that each of them contains, times the falls of all."""
    k = keeps(family.dice, family.faces)
    sums: list[Any] = [None] * k.partial
    kept: list[Any] = [None] * k.partial
    for i in range(len(k.multisets) - 1, 0, -1):
        if i >= k.partial:
            value = load(i - k.partial)
        else:
            value = sums[i]
            kept[i] = value * np.float32(family.faces ** int(k.counts[i].sum()))
        for fewer in k.drop[i][k.drop[i] >= 0]:
            sums[fewer] = value if sums[fewer] is None else sums[fewer] + value
    kept[0] = sums[0]
    for i in range(1, k.partial):
        for fewer in k.drop[i][k.drop[i] >= 0]:
            kept[i] = jnp.maximum(kept[i], kept[fewer])
    return kept


def earlier_rolls(kept: Sequence[Array], load: Callable[[int], Array], family: Family) -> Iterator[Array]:
    """The value of each roll before the decision: all dice kept, or the best of fewer."""
    k = keeps(family.dice, family.faces)
    for roll in range(len(k.rolls)):
        value = load(roll) * np.float32(falls(family))
        drop = k.drop[k.partial + roll]
        for fewer in drop[drop >= 0]:
            value = jnp.maximum(value, kept[fewer])
        yield value


def _score_kernel(ahead, rolled, *, family: Family):
    """A lead is worth no less than a smaller one, so scoring nothing need only be compared once."""
    row, start = pl.program_id(0), pl.program_id(1) * BLOCK
    points = scores(family)
    known: dict[tuple[int, int], Array] = {}

    def after(category: int, gain: int) -> Array:
        if (category, gain) not in known:
            known[category, gain] = ahead[category, row, pl.ds(start + gain, BLOCK)]
        return known[category, gain]

    nothing = after(0, 0)
    for category in range(1, len(points)):
        nothing = jnp.maximum(nothing, after(category, 0))
    for roll in range(points.shape[1]):
        value = nothing
        for scoring in np.flatnonzero(points[:, roll]):
            value = jnp.maximum(value, after(int(scoring), int(points[scoring, roll])))
        rolled[roll, row, pl.ds(start, BLOCK)] = value


def _reroll_kernel(rolled, again, out, *, family: Family):
    row, here = pl.program_id(0), pl.ds(pl.program_id(1) * BLOCK, BLOCK)
    kept = keep_values(lambda roll: rolled[roll, row, here], family)
    for roll, value in enumerate(earlier_rolls(kept, lambda roll: again[roll, row, here], family)):
        out[roll, row, here] = value


def _last_kernel(rolled, again, out, *, family: Family):
    row, here = pl.program_id(0), pl.ds(pl.program_id(1) * BLOCK, BLOCK)
    kept = keep_values(lambda roll: rolled[roll, row, here], family)
    ways = keeps(family.dice, family.faces).ways
    sums: list[
        tuple[int, Array]
    ] = []  # (how many rolls, their sum), in pairs: a long float32 sum loses digits
    for roll, value in enumerate(earlier_rolls(kept, lambda roll: again[roll, row, here], family)):
        sums.append((1, apart(value * np.float32(ways[roll]))))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            (count, right), (_, left) = sums.pop(), sums.pop()
            sums.append((2 * count, left + right))
    while len(sums) > 1:
        (count, right), (more, left) = sums.pop(), sums.pop()
        sums.append((count + more, left + right))
    out[row, here] = sums[0][1]


@partial(jax.jit, static_argnames=("family", "interpret"))
def fused_turn(ahead: Array, *, family: Family, interpret: bool = False) -> Array:
    """float32[rows, width]: a turn's value; ahead[c, row, i + s] is what scoring s in category c leads to."""
    if family.has_first_roll_bonus or family.rolls < 2:
        raise ValueError(f"the kernels know no first-roll bonus and need two rolls; {family.name} differs")
    rows = ahead.shape[1]
    width = (ahead.shape[2] - int(scores(family).max())) // BLOCK * BLOCK
    rolls = len(keeps(family.dice, family.faces).rolls)
    call: Any = partial(
        pl.pallas_call,
        grid=(rows, width // BLOCK),
        interpret=interpret,
        compiler_params=None if interpret else triton.CompilerParams(num_warps=1, num_stages=1),
    )
    every_roll = jax.ShapeDtypeStruct((rolls, rows, width), jnp.float32)
    rolled = call(partial(_score_kernel, family=family), out_shape=every_roll)(ahead)
    for _ in range(family.rolls - 2):
        rolled = call(partial(_reroll_kernel, family=family), out_shape=every_roll)(rolled, rolled)
    equity = jax.ShapeDtypeStruct((rows, width), jnp.float32)
    total = call(partial(_last_kernel, family=family), out_shape=equity)(rolled, rolled)
    return divide(total, falls(family) ** family.rolls)
