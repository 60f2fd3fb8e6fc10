"""Notes of an exact search: some of the positions that it decided on its way, and which move decided them.

A search for one answer proves thousands of others, each of them exact: whether the player to move reaches the target.
With target 1 on a board with an odd number of cells that is who wins. For each number of empty cells an even sample of
fixed size is kept, so early positions, which are few, do not drown.

A note is uint64[5]: the four bitboards of the position as `corso_bits` has them, and the action (7 bits, as
`successors` writes it, or `NO_MOVE`), plus 256 if the target is reached.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from stratagem.solvers.corso_bits import ONE

NO_MOVE = 127
"""The action of a note when it is lost, or when a bound decided it without a move."""

REACHED = 256
SPREAD = np.uint64(0x9E3779B97F4A7C15)


def make_notes(cells: int, room: int) -> np.ndarray:
    """Empty paper for `room` notes with each number of empty cells, uint64[(cells + 1) * (1 + 5 * room)].

    First how many were offered with each number of empty cells, then the notes. One flat array: every search of the
    recursion carries it along, and with three axes and a second array for the numbers the solver was an eighth slower.
    """
    return np.zeros((cells + 1) * (1 + 5 * room) if room else 0, np.uint64)


@njit(cache=True, nogil=True)
def note(notes, position, cells, left, action, reached):
    """Offer a decided position with `left` of `cells` empty; every one offered is kept with the same probability."""
    room = (notes.size // (cells + 1) - 1) // 5
    place = np.int64(notes[left])
    notes[left] += ONE
    if place >= room:
        # Splitmix64 of the number offered: no state, and the same search leaves the same notes.
        mixed = (np.uint64(place) + position[0]) * SPREAD
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        place = np.int64((mixed >> np.uint64(33)) % np.uint64(place + 1))
        if place >= room:
            return
    start = cells + 1 + 5 * (left * room + place)
    for plane in range(4):
        notes[start + plane] = position[plane]
    notes[start + 4] = np.uint64((action if reached else NO_MOVE) + REACHED * reached)


class Notes(NamedTuple):
    """What was noted, N positions."""

    positions: np.ndarray
    """uint64[N, 4]: own marbles, other marbles, own dyed, other dyed."""
    moves: np.ndarray
    """int8[N]: the cell of the move that decided it, -1 if it is lost or no move was needed."""
    reached: np.ndarray
    """bool[N]"""


def take(notes: np.ndarray, cells: int) -> Notes:
    """All notes, and the paper is clean for the next."""
    offered = notes[: cells + 1]
    pages = notes[cells + 1 :].reshape(offered.size, -1, 5) if notes.size else np.zeros((0, 0, 5), np.uint64)
    rows = pages[np.arange(pages.shape[1]) < offered[:, None]]
    offered[:] = 0
    actions = (rows[:, 4] & np.uint64(127)).astype(np.int64)
    moves = np.where(actions == NO_MOVE, -1, actions % 64).astype(np.int8)
    return Notes(rows[:, :4], moves, (rows[:, 4] & np.uint64(REACHED)) != 0)
