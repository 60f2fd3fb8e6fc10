"""The board of GENERAL as sets of cells, and the moves that a set of units has.

A set is a word a row: cell `(row, column)` is bit `column` of word `row`. Moving every cell of a set one step in some
direction is then a shift of all words, so the moves of all units at all dice cost as much as those of one.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

SIDE = 10
CELLS = SIDE * SIDE
ATTACKER, DEFENDER = 0, 1  # roles

Cells = Array  # uint16[10]
Rows = list[Array]  # the same as ten numbers

STEPS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))  # (down, right), 8 directions


def picture(*cells: tuple[int, int]) -> np.ndarray:
    """uint16[10]: a set that is known before the game."""
    rows = np.zeros(SIDE, np.uint16)
    for row, column in cells:
        rows[row] |= 1 << column
    return rows


def _triangle(bottom: bool, right: bool) -> np.ndarray:
    corner = [(row, column) for row in range(3) for column in range(3 - row)]
    return picture(*((9 - row if bottom else row, 9 - column if right else column) for row, column in corner))


_MIDDLE = [(row, column) for row in range(3, 7) for column in range(3, 7)]

BOARD = np.full(SIDE, (1 << SIDE) - 1, np.uint16)
GENERAL = picture((4, 4), (4, 5), (5, 4), (5, 5))
MOAT = picture(*_MIDDLE) & ~GENERAL
TRIANGLES = np.stack([_triangle(False, False), _triangle(False, True)])  # uint16[2, 10]: the Attacker's two
GARRISONS = np.stack([TRIANGLES[0] | TRIANGLES[1], _triangle(True, False) | _triangle(True, True)])  # by role


def _numbers(rows: np.ndarray) -> np.ndarray:
    """int32[N]: the numbers of the cells of a set."""
    return np.flatnonzero((rows[:, None] >> np.arange(SIDE)) & 1).astype(np.int32)


GENERAL_CELLS, MOAT_CELLS = _numbers(GENERAL), _numbers(MOAT)
GARRISON_CELLS = np.stack([_numbers(rows) for rows in GARRISONS])  # int32[2, 12]
OPEN_CELLS = _numbers(
    BOARD & ~(GARRISONS[0] | GARRISONS[1] | GENERAL)
)  # int32[72]: where a garrisoning may lead


def cell_set(cell: Array) -> Cells:
    """The set of one cell; of none if the number is not that of a cell."""
    row, column = cell // SIDE, cell % SIDE
    bit = jnp.uint16(1) << column.astype(jnp.uint16)
    return jnp.where(jnp.arange(SIDE) == row, bit, jnp.uint16(0))


def holds(cells: Cells, cell: Array) -> Array:
    """bool: whether a set has this cell."""
    return (cells & cell_set(cell)).any()


def count(cells: Array) -> Array:
    """int32[...] from uint16[..., 10]: how many cells."""
    return lax.population_count(cells).astype(jnp.int32).sum(axis=-1)


def unpack(cells: Array) -> Array:
    """bool[..., 100] from uint16[..., 10]."""
    bits = (cells[..., None] >> jnp.arange(SIDE, dtype=jnp.uint16)) & 1
    return bits.reshape(*cells.shape[:-1], CELLS) == 1


def pack(cells: Array) -> Array:
    """uint16[..., 10] from bool[..., 100]."""
    rows = cells.reshape(*cells.shape[:-1], SIDE, SIDE).astype(jnp.uint16)
    return (rows << jnp.arange(SIDE, dtype=jnp.uint16)).sum(axis=-1, dtype=jnp.uint16)


def mirror(cells: Array) -> Array:
    """uint16[..., 10]: left and right swapped."""
    return pack(
        unpack(cells).reshape(*cells.shape[:-1], SIDE, SIDE)[..., ::-1].reshape(*cells.shape[:-1], CELLS)
    )


def ahead(cells: Cells, down: int, right: int) -> Cells:
    """What lies so far ahead, brought back, so that it is read where the unit stands."""
    gap = jnp.zeros(abs(down), jnp.uint16)
    parts = [cells[down:], gap] if down >= 0 else [gap, cells[:down]]
    return aside(jnp.concatenate(parts), -right)


@partial(jax.jit, inline=True)
def moves_of(own: Cells, theirs: Cells, attacking: Array) -> Array:
    """uint16[8, 6, 10]: for each way and die the units that have a normal move."""
    board = jnp.asarray(BOARD)
    nobody = board & ~(own | theirs | GENERAL)
    open_ends = board & ~(own | jnp.where(attacking, np.uint16(0), GENERAL))
    found = []
    for down, right in STEPS:
        unhindered = own
        for die in range(1, 7):
            found.append(unhindered & ahead(open_ends, die * down, die * right))
            unhindered = unhindered & ahead(nobody, die * down, die * right)
    return jnp.stack(found).reshape(len(STEPS), 6, SIDE)


def rows(cells: Cells) -> Rows:
    """The ten words one by one: code in which every value is a number runs on whole batches of games at once."""
    return [cells[row] for row in range(SIDE)]


@partial(jax.jit, inline=True)  # thousands of tiny operations, which only a compiler should see
def movable_rows(own: Rows, theirs: Rows, attacking: Array) -> list[list[Rows]]:
    """[way][die − 1]: `moves_of` in those rows in which a move could stay on the board.

    In whole batches it is several times faster, where it is most of the work; it is slow to compile.
    """
    nobody = [BOARD[row] & ~(own[row] | theirs[row] | GENERAL[row]) for row in range(SIDE)]
    closed = jnp.where(attacking, np.uint16(0), np.uint16((1 << SIDE) - 1))
    open_ends = [BOARD[row] & ~(own[row] | closed & GENERAL[row]) for row in range(SIDE)]
    found = []
    for down, right in STEPS:
        unhindered, line = dict(enumerate(own)), []
        for die in range(1, 7):
            there = {row: row + die * down for row in unhindered if 0 <= row + die * down < SIDE}
            line.append([unhindered[row] & aside(open_ends[there[row]], -die * right) for row in there])
            unhindered = {row: unhindered[row] & aside(nobody[there[row]], -die * right) for row in there}
        found.append(line)
    return found


def aside(word: Array, right: int) -> Array:
    """A word of a row moved to the right; what leaves on that side must be cut off by whoever uses it."""
    return word << right if right > 0 else word >> -right if right else word


def first_row(way: int, die: int) -> int:
    """The first row in which a move of this way and die could stay on the board."""
    return die if STEPS[way][0] < 0 else 0


def nth_bit(word: Array, number: Array, bits: int = SIDE) -> Array:
    """int32: the place of the set bit of this number, counted from zero."""
    before = place = jnp.int32(0)
    for bit in range(bits):
        there = ((word >> bit) & 1).astype(jnp.int32)
        place = place | jnp.where((there == 1) & (before == number), bit, 0)
        before = before + there
    return place


@partial(jax.jit, inline=True)
def nth_set(sets: Sequence[Rows], number: Array) -> tuple[Array, Rows, Array]:
    """(int32, Rows, int32): which set holds the cell of this number, the set, and the number within it."""
    before = index = rest = jnp.int32(0)
    chosen = [jnp.zeros_like(word) for word in sets[0]]
    for place, words in enumerate(sets):
        through = before + count_bits(words)
        here = (before <= number) & (number < through)
        index = index | jnp.where(here, place, 0)
        rest = rest | jnp.where(here, number - before, 0)
        chosen = [old | jnp.where(here, new, np.uint16(0)) for old, new in zip(chosen, words, strict=True)]
        before = through
    return index, chosen, rest


def nth_cell(words: Rows, number: Array) -> Array:
    """int32: the cell of this number in a set, counted from zero in reading order."""
    row, (word,), rest = nth_set([[word] for word in words], number)
    return row * SIDE + nth_bit(word, rest)


def count_bits(words: Sequence[Array]) -> Array:
    """int32: the set bits of all words."""
    return sum((lax.population_count(word).astype(jnp.int32) for word in words), jnp.int32(0))
