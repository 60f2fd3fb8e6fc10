"""The accelerator engine: the same recursion in JAX, two layers in device memory at a time.

A layer is a matrix with one row a pair of category sets and one column a score difference. Row and column are
chosen for the player who has just scored and waits: row (waiting set, mover's set), column k for the lead
k - (columns - 1) - low of the waiting player, so that the layer above reads contiguous slabs of it:

    all ways to score (`score_rolls`)  ->  values of the rolls, [rolls, positions]
    re-rolls and the mean over the first roll (`finish`)  ->  equities, [positions]
    turned into rows of the next matrix (`write_rows`)

The first two can also run as the kernels of `dice_pallas`.

One mover's set and up to `rows` opponent's sets are done at a time, so a handful of shapes is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import keeps, scores
from stratagem.solvers.dice_layers import LayerReport, Layout, layout

CHUNK = 1 << 20  # positions at a time, at most
COARSE = 0xFFFFF000  # of the 23 binary digits of a float32 fraction, the first 11


@dataclass(frozen=True)
class Shape:
    """What the compiled programs depend on."""

    family: Family
    rows: int
    """Opponent's sets at a time."""
    columns: int
    """Score differences of every pair, the undecided ones and some padding."""
    fused: bool
    """Whether a turn runs as the kernels of `dice_pallas` or as plain array operations."""

    @property
    def positions(self) -> int:
        return self.rows * self.columns


def shape_for(family: Family, fused: bool = False) -> Shape:
    board = layout(family)
    columns = board.total + 1
    widest = max(len(group) for group in board.sets)
    parts = -(-widest * columns // CHUNK)
    rows = -(-widest // parts)
    return Shape(family, rows, columns, fused)


CLOSED = -1  # in a plan, in place of a category


def look_ahead(below: Array, plan: Array, theirs: Array, shape: Shape, reach: int) -> list[Array]:
    """For each way to score, float32[rows, reach]: the scorer's equity by the lead afterwards, from the lowest on.

    `plan` is int32[3 * ways + 3]: for each way the row in `below` where the opponent's sets start, the category,
    and the most that the rest can still score; then the most that the mover's whole set can, its rank, and the
    first opponent's set.
    """
    ways = (plan.shape[0] - 3) // 3
    row, category, rest = plan[:ways], plan[ways : 2 * ways], plan[2 * ways : 3 * ways]
    mine, first = plan[-3], plan[-1]
    total, columns = shape.columns - 1, shape.columns
    most = lax.dynamic_slice(theirs, (first,), (shape.rows,))
    low = -jnp.minimum(mine, total - most)  # [rows]
    ahead = []
    for way in range(ways):
        slab = lax.dynamic_slice(below, (row[way] + first, 0), (shape.rows, columns))
        start = low - jnp.minimum(most, total - rest[way]) + columns - 1
        at = start[:, None] + jnp.arange(reach)
        value = jnp.take_along_axis(slab, jnp.clip(at, 0, columns - 1), axis=1)
        value = jnp.where(at < 0, -1.0, jnp.where(at >= columns, 1.0, value))
        ahead.append(jnp.where(category[way] == CLOSED, -2.0, value))
    return ahead


@partial(jax.jit, static_argnames="shape")
def score_rolls(
    below: Array, plans: Array, chunk: Array, theirs: Array, points: Array, *, shape: Shape
) -> Array:
    """float32[1 or 2, rolls, positions]: the best category for every roll; a second layer for the first roll."""
    columns = shape.columns
    ahead = look_ahead(below, plans[chunk], theirs, shape, columns + points_ceiling(shape.family))
    ahead = lax.optimization_barrier(ahead)  # else each is worked out again for every roll
    ways = len(ahead)
    category = plans[chunk, ways : 2 * ways]
    best = None
    for way in range(ways):
        shifted = jax.vmap(jax.vmap(partial(_window, ahead[way], columns)))(points[:, category[way]])
        best = shifted if best is None else jnp.maximum(best, shifted)
    assert best is not None
    return best.reshape(*best.shape[:2], shape.positions)


@partial(jax.jit, static_argnames=("shape", "reach"))
def ahead_of_all(
    below: Array, plans: Array, chunk: Array, theirs: Array, *, shape: Shape, reach: int
) -> Array:
    """float32[categories, rows, reach]: `look_ahead` for every category of the sheet, closed ones included."""
    return jnp.stack(look_ahead(below, plans[chunk], theirs, shape, reach))


def _window(ahead: Array, columns: int, points: Array) -> Array:
    return lax.dynamic_slice(ahead, (0, points), (ahead.shape[0], columns))


def points_ceiling(family: Family) -> int:
    return int(max(scores(family).max(), scores(family, first=True).max()))


def turn_points(family: Family) -> Array:
    """int32[1 or 2, categories, rolls]: points on later rolls, and on the first roll where that differs."""
    rows = [scores(family)] + [scores(family, first=True)] * family.has_first_roll_bonus
    return jnp.asarray(np.stack(rows).astype(np.int32))


@partial(jax.jit, static_argnames="shape")
def finish(rolled: Array, *, shape: Shape) -> Array:
    """float32[positions]: the turn's value from the values of its rolls."""
    family = shape.family
    later, first = rolled[0], rolled[-1]
    for _ in range(family.rolls - 1):
        later = reroll(later, family)
    if family.has_first_roll_bonus:
        later = jnp.maximum(later, first * np.float32(float(falls(family)) ** (family.rolls - 1)))
    k = keeps(family.dice, family.faces)
    weighted = apart(later * k.ways.astype(np.float32)[:, None])
    while len(weighted) > 1:  # summed in pairs, as the other engines do: a long float32 sum loses digits
        paired = len(weighted) // 2 * 2
        weighted = jnp.concatenate([weighted[0:paired:2] + weighted[1:paired:2], weighted[paired:]])
    return divide(weighted[0], falls(family) ** family.rolls)


def falls(family: Family) -> int:
    """Ways in which all dice can fall."""
    return family.faces**family.dice


def apart(product: Array) -> Array:
    """The same number, which a compiler cannot fuse with the addition that follows: that would round otherwise."""
    return jnp.maximum(product, np.float32(-3e38))


def divide(values: Array, n: int) -> Array:
    """values / n, the same with fused multiplication or without; see `dice_numba`."""
    share = (np.float32(1 / n).view(np.uint32) & np.uint32(COARSE)).view(np.float32)
    rest = np.float32(1 / n - float(share))
    high = coarse(values)
    return high * share + (apart(high * rest) + apart((values - high) * (share + rest)))


def coarse(values: Array) -> Array:
    """Cut to the first 12 digits of the fraction, so that a product of two such numbers is exact."""
    bits = lax.bitcast_convert_type(values, jnp.uint32) & np.uint32(COARSE)
    return lax.bitcast_convert_type(bits, jnp.float32)


def reroll(rolled: Array, family: Family) -> Array:
    """[rolls, N]: the value of each roll before one more decision, from its value after it, times `falls`.

    The value of fewer dice is kept as a sum over all falls of the others: nothing is divided before the end.
    """
    k = keeps(family.dice, family.faces)
    sizes = k.counts.sum(axis=1)
    first = [int(np.searchsorted(sizes, size)) for size in range(family.dice + 2)]
    kept = {family.dice: rolled}
    for size in range(family.dice - 1, -1, -1):
        more = k.add[first[size] : first[size + 1]] - first[size + 1]
        total = kept[size + 1][more[:, 0]]
        for face in range(1, family.faces):
            total = total + kept[size + 1][more[:, face]]
        kept[size] = total
    best = kept[0]
    for size in range(1, family.dice + 1):
        fewer = dropped(k.drop[first[size] : first[size + 1]]) - first[size - 1]
        raised = kept[size] * np.float32(family.faces**size)
        for column in fewer.T:
            raised = jnp.maximum(raised, best[column])
        best = raised
    return best


def dropped(drop: np.ndarray) -> np.ndarray:
    """int32[keeps, most kinds of faces]: what is left after dropping one die; repeats where faces are fewer."""
    lists = [row[row >= 0] for row in drop]
    widest = max(len(row) for row in lists)
    return np.stack([np.concatenate([row, np.full(widest - len(row), row[0])]) for row in lists])


@partial(jax.jit, static_argnames="shape", donate_argnums=0)
def write_rows(
    out: Array, values: Array, plans: Array, chunk: Array, theirs: Array, movers: Array, *, shape: Shape
) -> tuple[Array, Array, Array]:
    """Put a chunk's equities in place; also the sum of their bit patterns and of the equities themselves."""
    mine, rank, first = plans[chunk, -3], plans[chunk, -2], plans[chunk, -1]
    values = values.reshape(shape.rows, -1)[:, : shape.columns]
    most = lax.dynamic_slice(theirs, (first,), (shape.rows,))
    total = shape.columns - 1
    width = jnp.where(most < 0, 0, total + 1 - jnp.abs(total - mine - most))
    counts = jnp.arange(shape.columns) < width[:, None]
    bits = jnp.where(counts, lax.bitcast_convert_type(values, jnp.uint32), 0).sum(dtype=jnp.uint32)
    row = jnp.where(most < 0, out.shape[0], (first + jnp.arange(shape.rows)) * movers + rank)
    out = out.at[row].set(-values[:, ::-1], mode="drop", unique_indices=True)
    return out, bits, jnp.where(counts, values, 0).sum()


class Stream:
    """Two layers on the device; `advance` turns the lower into the next one up."""

    def __init__(self, family: Family, fused: bool = False, largest: int | None = None):
        self.board = layout(family)
        self.shape = shape_for(family, fused)
        self.points = turn_points(family)
        if largest is None:
            largest = max(self.board.pairs(layer) for layer in range(self.board.layers + 1))
        size = (largest + self.shape.rows, self.shape.columns)
        self.layer = 0
        self.solved, self.spare = empty_layers(size)

    def advance(self, chunks: int | None = None) -> Iterator[float]:
        """Solve the next layer; yields the finished fraction every `chunks` chunks. Then see `report`."""
        layer = self.layer + 1
        plans, theirs = plan_layer(self.board, layer, self.shape)
        mover, _ = self.board.sizes(layer)
        movers = jnp.int32(len(self.board.sets[mover]))
        plans_there, theirs_there = jnp.asarray(plans), jnp.asarray(theirs)
        sums = []
        for number in range(len(plans)):
            chunk = jnp.int32(number)
            values = self.turn(plans_there, chunk, theirs_there)
            self.spare, bits, total = write_rows(
                self.spare, values, plans_there, chunk, theirs_there, movers, shape=self.shape
            )
            sums.append((bits, total))
            if chunks and number % chunks == chunks - 1:
                total.block_until_ready()
                yield (number + 1) / len(plans)
        self.solved, self.spare, self.layer = self.spare, self.solved, layer
        self.sums = sums

    def turn(self, plans: Array, chunk: Array, theirs: Array) -> Array:
        """float32[rows, columns]: the equities of a chunk."""
        shape, family = self.shape, self.board.family
        if not shape.fused:
            rolled = score_rolls(self.solved, plans, chunk, theirs, self.points, shape=shape)
            return finish(rolled, shape=shape)
        from stratagem.solvers.dice_pallas import fused_turn, padded

        reach = padded(shape.columns) + points_ceiling(family)
        ahead = ahead_of_all(self.solved, plans, chunk, theirs, shape=shape, reach=reach)
        return fused_turn(ahead, family=family, interpret=jax.default_backend() == "cpu")

    def report(self) -> LayerReport:
        positions = self.board.size(self.layer)
        bits, totals = (np.array(jax.device_get(column)) for column in zip(*self.sums, strict=True))
        checksum = f"{int(bits.astype(np.uint64).sum()) % 2**32:08x}"
        mean = float(totals.astype(np.float64).sum()) / positions
        return LayerReport(
            self.layer, self.board.sizes(self.layer), self.board.pairs(self.layer), positions, checksum, mean
        )

    def compact(self) -> np.ndarray:
        """float32[positions]: the solved layer on the host, in the order of `dice_layers`."""
        movers, waiting = (len(self.board.sets[size]) for size in self.board.sizes(self.layer))
        rows = np.asarray(self.solved[: movers * waiting]).reshape(waiting, movers, -1)
        values = -rows.transpose(1, 0, 2)[:, :, ::-1].reshape(movers * waiting, -1)
        widths = np.diff(self.board.starts(self.layer))
        return values[np.arange(values.shape[1]) < widths[:, None]]

    def restore(self, layer: int, values: np.ndarray) -> None:
        """Go on from a layer that `compact` gave."""
        movers, waiting = (len(self.board.sets[size]) for size in self.board.sizes(layer))
        widths = np.diff(self.board.starts(layer))
        rows = np.ones((movers * waiting, self.shape.columns), np.float32)
        rows[np.arange(rows.shape[1]) < widths[:, None]] = values
        turned = -rows.reshape(movers, waiting, -1).transpose(1, 0, 2)[:, :, ::-1]
        self.solved = replace_rows(self.solved, turned.reshape(movers * waiting, -1))
        self.layer = layer


@partial(jax.jit, static_argnames="size")
def empty_layers(size: tuple[int, int]) -> tuple[Array, Array]:
    """Layer 0, whose only pair has lost unless its lead is 0 (the last column), and room for layer 1."""
    finished = jnp.where(jnp.arange(size[1]) == size[1] - 1, 0.0, -1.0)
    return jnp.zeros(size, jnp.float32).at[0].set(finished), jnp.zeros(size, jnp.float32)


@partial(jax.jit, donate_argnums=0)
def replace_rows(layer: Array, rows: Array) -> Array:
    return lax.dynamic_update_slice(layer, rows, (0, 0))


def plan_layer(board: Layout, layer: int, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """The chunks of a layer as `score_rolls` wants them, and the most each opponent's set can score (-1: none)."""
    mover, opponent = board.sizes(layer)
    sets = board.sets[mover]
    waiting = len(board.sets[opponent])
    padded = -(-waiting // shape.rows) * shape.rows
    theirs = np.full(padded, -1, np.int32)
    theirs[:waiting] = board.most[board.sets[opponent]]
    # The fused way looks at all categories; the plain one at the open ones, rounded up to even numbers, so that
    # half as many programs are compiled.
    ways = len(board.best) if shape.fused else mover + mover % 2
    plans = []
    for rank, mask in enumerate(sets.tolist()):
        open_ = [c for c in range(len(board.best)) if mask >> c & 1]
        if shape.fused:
            listed = [c if c in open_ else CLOSED for c in range(ways)]
        else:
            listed = open_ + open_[: ways - mover]
        rests = [mask if c == CLOSED else mask ^ (1 << c) for c in listed]
        rows = [
            0 if c == CLOSED else int(board.rank[rest]) * waiting
            for c, rest in zip(listed, rests, strict=True)
        ]
        most = [int(board.most[rest]) for rest in rests]
        for first in range(0, waiting, shape.rows):
            plans.append([*rows, *listed, *most, int(board.most[mask]), rank, first])
    return np.array(plans, np.int32), theirs


def solve_layer(
    board: Layout, layer: int, below: np.ndarray, out: np.ndarray, threads: int | None = None
) -> Iterator[int]:
    """Fill `out`, layer `layer`, from `below`; yields the positions finished so far. `threads` is the CPU's."""
    stream = Stream(board.family)
    if layer > 1:
        stream.restore(layer - 1, below)
    for fraction in stream.advance(chunks=16):
        yield int(fraction * len(out))
    out[:] = stream.compact()
    yield len(out)
