"""Two-player Corso on bitboards: one bit a cell, `row * width + column`, at most 64 cells.

A position is four bitboards seen by the player to move:

    (own marbles, other marbles, own dyed, other dyed)

Every move hands the position to the other player, so the two halves of each pair change places. Colour
inversion therefore costs nothing: a position and its inverse with the other player to move are the same four
numbers. Everything here is compiled by numba, and `cache=True` keeps the machine code for the next start. (The
cache of a file that imports this one does not notice a change here: touch it, or delete `__pycache__`.)
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic

ZERO = np.uint64(0)
ONE = np.uint64(1)

Position = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


class Board(NamedTuple):
    """The shape of a board in the form the bit operations want. Every field is a `uint64`."""

    width: np.uint64
    height: np.uint64
    full: np.uint64
    """Every cell."""
    not_west: np.uint64
    """Every cell but the first column."""
    not_east: np.uint64
    """Every cell but the last column."""


def make_board(width: int, height: int) -> Board:
    """The board of `width` by `height` cells; at least one cell and at most 64."""
    if width < 1 or height < 1 or width * height > 64 or width > 63:
        raise ValueError(f"a bitboard holds 1 to 64 cells, got {width}×{height}. Use a board up to 8×8.")
    full = (1 << (width * height)) - 1
    west = sum(1 << (row * width) for row in range(height))
    east = west << (width - 1)
    return Board(*(np.uint64(field) for field in (width, height, full, full & ~west, full & ~east)))


def _popcount(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


def _lowest(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        undefined_at_zero = context.get_constant(types.boolean, True)
        return builder.cttz(args[0], undefined_at_zero)

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)
"""Number of cells in a set, one machine instruction."""
lowest: Any = intrinsic(_lowest)
"""Index of the lowest cell of a set that is not empty, one machine instruction."""


@njit(cache=True)
def count(cells):
    """Number of cells in a set, as a signed integer that is safe to subtract."""
    return np.int64(popcount(cells))


@njit(cache=True)
def first(cells):
    """The set with only the lowest cell of `cells`; empty if `cells` is."""
    return cells & (~cells + ONE)


@njit(cache=True)
def neighbours(cells, board):
    """Cells that share a side with a cell of the set (some of them may be in the set)."""
    sideways = ((cells << ONE) & board.not_west) | ((cells >> ONE) & board.not_east)
    return (sideways | (cells << board.width) | (cells >> board.width)) & board.full


@njit(cache=True)
def flood(seed, within, board):
    """All cells of `within` that are 4-connected through `within` to a cell of `seed & within`."""
    reached = seed & within
    while True:
        grown = (reached | neighbours(reached, board)) & within
        if grown == reached:
            return reached
        reached = grown


@njit(cache=True)
def empties(position, board):
    """Cells that hold nothing. The game is over when there are none."""
    return board.full & ~(position[0] | position[1] | position[2] | position[3])


@njit(cache=True)
def is_over(position, board):
    """True when no cell is empty."""
    return empties(position, board) == ZERO


@njit(cache=True)
def margin(position):
    """Cells of the player to move minus cells of the other player."""
    return count(position[0] | position[2]) - count(position[1] | position[3])


@njit(cache=True)
def place(position, cell):
    """The next player's position after a marble on `cell` (one bit), which must be empty."""
    own_marbles, other_marbles, own_dyed, other_dyed = position
    return other_marbles, own_marbles | cell, other_dyed, own_dyed


@njit(cache=True)
def expansion(position, cell, board):
    """The component of marbles of any colour around the marble on `cell`, and what its expansion dyes."""
    group = flood(cell, position[0] | position[1], board)
    return group, group | neighbours(group, board)


@njit(cache=True)
def dye(position, group, dyed):
    """The next player's position after the expansion of `group`, which dyes `dyed` (see `expansion`)."""
    own_marbles, other_marbles, own_dyed, other_dyed = position
    return other_marbles & ~group, own_marbles & ~group, other_dyed & ~dyed, own_dyed | dyed


@njit(cache=True)
def expand(position, cell, board):
    """The next player's position after expanding the mover's own marble on `cell` (one bit)."""
    group, dyed = expansion(position, cell, board)
    return dye(position, group, dyed)


@njit(cache=True)
def play(position, cell, board):
    """The next player's position after the legal action on `cell` (one bit)."""
    if position[0] & cell:
        return expand(position, cell, board)
    return place(position, cell)


@njit(cache=True)
def legal(position, board):
    """Cells on which the mover has an action: the empty ones and the mover's marbles; none after the end."""
    empty = empties(position, board)
    if empty == ZERO:
        return ZERO
    return empty | position[0]


@njit(cache=True)
def pack(cells, player):
    """The position of `cells` with `player` (0 or 1) to move.

    `cells` is int8[H*W]: 0 empty, 1 and 2 marble and dyed of player 0, 3 and 4 of player 1.
    """
    own_marbles, other_marbles, own_dyed, other_dyed = ZERO, ZERO, ZERO, ZERO
    for index in range(cells.size):
        bit = ONE << np.uint64(index)
        code = cells[index]
        if code == 1 + 2 * player:
            own_marbles |= bit
        elif code == 2 + 2 * player:
            own_dyed |= bit
        elif code == 3 - 2 * player:
            other_marbles |= bit
        elif code == 4 - 2 * player:
            other_dyed |= bit
    return own_marbles, other_marbles, own_dyed, other_dyed


@njit(cache=True)
def unpack(position, player, board):
    """The int8[H*W] cell codes of a position in which `player` (0 or 1) is to move. The inverse of `pack`."""
    cells = np.zeros(np.int64(board.width * board.height), np.int8)
    for index in range(cells.size):
        bit = ONE << np.uint64(index)
        if position[0] & bit:
            cells[index] = 1 + 2 * player
        elif position[2] & bit:
            cells[index] = 2 + 2 * player
        elif position[1] & bit:
            cells[index] = 3 - 2 * player
        elif position[3] & bit:
            cells[index] = 4 - 2 * player
    return cells


def symmetries(width: int, height: int) -> np.ndarray:
    """The symmetries of the board, int64[G, H*W], identity first: `g` moves cell `i` to `result[g, i]`.

    G is 8 for a square and 4 for another rectangle. On a strip one cell wide some of them coincide.
    """
    cells = np.arange(width * height).reshape(height, width)
    grids = [cells, cells[::-1], cells[:, ::-1], cells[::-1, ::-1]]
    if width == height:
        grids += [grid.T for grid in grids]
    # grid[target] = source, so the destinations are the inverse permutation.
    return np.stack([np.argsort(grid.ravel()) for grid in grids])


@njit(cache=True)
def image(position, destination):
    """The position moved by one symmetry (`destination`: int64[H*W], a row of `symmetries`)."""
    moved = [ZERO, ZERO, ZERO, ZERO]
    for plane in range(4):
        rest = position[plane]
        while rest:
            moved[plane] |= ONE << np.uint64(destination[np.int64(lowest(rest))])
            rest &= rest - ONE
    return moved[0], moved[1], moved[2], moved[3]
