"""The board of GENERAL as sets of cells, and the moves that a set of units has.

A set is a word a row: cell `(row, column)` is bit `column` of word `row`. Moving every cell of a set one step in some
direction is then a shift of all words, so the moves of all units at all dice cost as much as those of one.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

SIDE = 10
CELLS = SIDE * SIDE
ATTACKER, DEFENDER = 0, 1  # roles

Cells = Array  # uint16[10]

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


def shift(cells: Cells, down: int, right: int) -> Cells:
    """Every cell moved; what leaves the board is gone."""
    sideways = cells << right if right > 0 else cells >> -right
    if down:
        sideways = lax.pad(sideways, np.uint16(0), [(down, -down, 0)])
    return sideways & BOARD


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


def movable(own: Cells, theirs: Cells, role: Array) -> list[list[Cells]]:
    """For each direction and die, the units that have a normal move."""
    free: Cells = jnp.asarray(BOARD) & ~(own | theirs | GENERAL)
    open_ends: Cells = jnp.asarray(BOARD) & ~(own | jnp.where(role == ATTACKER, np.uint16(0), GENERAL))
    found = []
    for down, right in STEPS:
        unhindered, line = own, []
        for die in range(1, 7):
            # What lies `die` steps ahead is brought back to the unit, so that all sets are read at the same place.
            line.append(unhindered & shift(open_ends, -die * down, -die * right))
            unhindered = unhindered & shift(free, -die * down, -die * right)
        found.append(line)
    return found


def nth(counts: Array, number: Array) -> tuple[Array, Array]:
    """(int32, int32): in which bin the item of this number lies, counted from zero, and its number in there."""
    # For so few bins a triangle of sums compiles to less than a scan does.
    through = jnp.where(np.tri(len(counts), dtype=bool), counts, 0).sum(axis=1, dtype=jnp.int32)
    beyond = number >= through[:-1]
    before = jnp.where(beyond, counts[:-1], 0).sum(dtype=jnp.int32)
    return beyond.sum(dtype=jnp.int32), number - before


def nth_cell(cells: Cells, number: Array) -> Array:
    """int32: the cell of this number in a set, counted from zero in reading order."""
    row, rest = nth(lax.population_count(cells).astype(jnp.int32), number)
    column, _ = nth(((cells[row] >> jnp.arange(SIDE, dtype=jnp.uint16)) & 1).astype(jnp.int32), rest)
    return row * SIDE + column
