"""The exact Corso search: can the player to move reach a given margin?

A null-window negamax over `corso_table`. The margin of a finished game has the parity of the number of cells,
so "not at least t" means "at most t - 2", and the other player's target after a move is 2 - t.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from stratagem.solvers.corso_bits import (
    ONE,
    ZERO,
    count,
    dye,
    empties,
    expansion,
    first,
    lowest,
    margin,
    neighbours,
    place,
)
from stratagem.solvers.corso_notes import NO_MOVE, make_notes, note
from stratagem.solvers.corso_table import look_up, make_images, make_table, store

STOPPED = -1000
"""What a search returns when it ran into its limit."""

NODES, LIMIT, NOTING = 0, 1, 2
"""The counters (int64[3]) that a search shares with its caller: nodes so far, when to give up, whether to take notes.

Another thread may lower the limit to stop a search at once.
"""

PEEK = 5
"""With at least this many empty cells it pays to look up every successor before searching one of them."""

LEAST = -128
"""Below every margin."""


class Desk(NamedTuple):
    """What a search works with: its table, and paper for the successors at every depth."""

    images: np.ndarray
    """uint64[bytes, 256, 2 * G], see `make_images`."""
    shapes: np.ndarray
    """uint64[8]"""
    table: np.ndarray
    """uint64[slots * WAYS * 2], see `corso_table`."""
    rows: np.ndarray
    """uint64[depth, moves, 5]: four bitboards and an action."""
    promises: np.ndarray
    """int64[depth, moves]"""
    history: np.ndarray
    """int64[2, 128]: how often an action of either side proved its node, weighted by the empty cells."""
    counters: np.ndarray
    """int64[3], see `NODES`, `LIMIT` and `NOTING`."""
    notes: np.ndarray
    """uint64[…], see `make_notes`; empty unless what is proved is to be noted."""


def make_desk(width: int, height: int, megabytes: float, notes: int = 0) -> Desk:
    """A clean desk for a board, with a table of at most `megabytes`. A game lasts at most one turn a cell.

    `notes` is how many of the positions with the same number of empty cells it keeps of what it proves.
    """
    cells = width * height
    return Desk(
        images=make_images(width, height),
        shapes=np.zeros(8, np.uint64),
        table=make_table(megabytes),
        rows=np.zeros((cells + 1, cells, 5), np.uint64),
        promises=np.zeros((cells + 1, cells), np.int64),
        history=np.zeros((2, 128), np.int64),
        counters=np.array([0, 0, notes > 0], np.int64),
        notes=make_notes(cells, notes),
    )


@njit(cache=True, nogil=True)
def threats(position, side, empty, board):
    """What expansions would gain for one side (0 the mover, 1 the other) if it were to move.

    The largest gain, the second largest and the sum over components, in units of margin.
    """
    marbles, theirs = position[side], position[1 - side] | position[3 - side]
    best, second, total = 0, 0, 0
    while marbles:
        group, dyed = expansion(position, first(marbles), board)
        gain = count(dyed & empty) + 2 * count(dyed & theirs)
        total += gain
        if gain > best:
            best, second = gain, best
        elif gain > second:
            second = gain
        marbles &= ~group
    return best, second, total


@njit(cache=True, nogil=True)
def promise(position, empty, board):
    """How soon a position may be proved good for the player who has just moved; higher is searched first.

    The weights come from coordinate descent on the number of nodes on 3×5, 3×6, 4×4 and 4×5. They favour moves that win
    quickly, not only those that win: a better judge of positions (a deeper look-ahead) made larger trees.
    """
    best, second, total = threats(position, 1, empty, board)
    their_best, their_second, their_total = threats(position, 0, empty, board)
    liberties = count(neighbours(position[1], board) & empty) - count(neighbours(position[0], board) & empty)
    return (
        -9 * margin(position)
        + (6 * best + 4 * second + total)
        - (4 * their_best + 2 * their_second + their_total)
        + 2 * liberties
        - 2 * count(empty)
        - 2 * count(position[1])
        - 8 * count(position[0])
    )


@njit(cache=True, nogil=True)
def write(rows, row, position, action):
    """Store a successor and the action that led to it."""
    rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3] = position
    rows[row, 4] = action


@njit(cache=True, nogil=True)
def read(rows, row):
    """The successor stored in a row."""
    return rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3]


@njit(cache=True, nogil=True)
def successors(position, empty, board, rows):
    """Write the successors that do not end the game; return how many, and the best margin and action of those that do.

    Marbles of one component expand alike, so a component is one move. The action is the cell, plus 64 for an
    expansion.
    """
    number, best, action = 0, LEAST, np.int64(NO_MOVE)
    own = position[0]
    while own:
        group, dyed = expansion(position, first(own), board)
        child = dye(position, group, dyed)
        if empty & ~dyed:
            write(rows, number, child, lowest(own) + np.uint64(64))
            number += 1
        elif -margin(child) > best:
            best, action = -margin(child), np.int64(lowest(own) + np.uint64(64))
        own &= ~group
    if empty & (empty - ONE) == ZERO:
        if margin(position) + 1 > best:
            best, action = margin(position) + 1, np.int64(lowest(empty))
        return number, best, action
    while empty:
        write(rows, number, place(position, first(empty)), lowest(empty))
        number += 1
        empty &= empty - ONE
    return number, best, action


@njit(cache=True, nogil=True)
def insert(rows, promises, row, child, action, value):
    """Put a successor in its place among the `row` best so far."""
    while row > 0 and promises[row - 1] < value:
        promises[row] = promises[row - 1]
        write(rows, row, read(rows, row - 1), rows[row - 1, 4])
        row -= 1
    promises[row] = value
    write(rows, row, child, action)


@njit(cache=True, nogil=True)
def arrange(number, best, target, left, ply, board, desk):
    """Put the successors in the order of their promise, and drop those that the table already answers.

    Returns how many remain and the best margin the others are known to reach, with its action; at `target` there is
    no need to search the rest.
    """
    rows, promises = desk.rows[ply], desk.promises[ply]
    kept = 0
    for row in range(number):
        child, action = read(rows, row), rows[row, 4]
        empty = empties(child, board)
        if left >= PEEK:
            known = look_up(child, empty, board, desk.images, desk.shapes, desk.table)
            if known[0] >= 2 - target:
                best = max(best, -known[0])
                continue
            if known[1] < 2 - target:
                return kept, -known[1], np.int64(action)
        value = 4 * promise(child, empty, board)
        value += np.int64(np.log2(desk.history[ply & 1, np.int64(action)] + 1.0))
        insert(rows, promises, kept, child, action, value)
        kept += 1
    return kept, best, np.int64(NO_MOVE)


@njit(cache=True, nogil=True)
def search(position, target, ply, board, desk):
    """A bound on the margin of the player to move: at least `target` and true, or below it and not exceeded.

    If the result is at least `target`, so is the margin, and the result is a lower bound; otherwise it is an
    upper bound. The game must not be over. Returns `STOPPED` when the limit is reached.
    """
    counters, history = desk.counters, desk.history
    counters[NODES] += 1
    if counters[NODES] > counters[LIMIT]:
        return STOPPED
    before = counters[NODES]
    empty = empties(position, board)
    low, high, settled, slot, shape, own = look_up(
        position, empty, board, desk.images, desk.shapes, desk.table
    )
    if low >= target or high < target:
        if counters[NOTING] and counters[NODES] & 3 == 0:  # such positions are easy, and many
            note(desk.notes, position, count(board.full), count(empty), NO_MOVE, low >= target)
        return low if low >= target else high
    rows = desk.rows[ply]
    number, best, action = successors(position, empty, board, rows)
    if best < target:
        number, best, action = arrange(number, best, target, count(empty), ply, board, desk)
        row = 0
        while best < target and row < number:
            reply = search(read(rows, row), 2 - target, ply + 1, board, desk)
            if reply == STOPPED:
                return STOPPED
            best = max(best, -reply)
            if best >= target:
                action = np.int64(rows[row, 4])
                history[ply & 1, action] += count(empty) ** 2
            row += 1
    if counters[NOTING]:
        note(desk.notes, position, count(board.full), count(empty), action, best >= target)
    if best >= target:
        low = max(low, best)
    else:
        high = min(high, best)
    store(desk.table, slot, shape, own, low - settled, high - settled, counters[NODES] - before)
    return best
