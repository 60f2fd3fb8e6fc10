"""The lines of GENERAL's board: rays of single units, and who is the next one along a row, column or diagonal.

An occupied line is a word, bit `p` for its place `p`. The General's cells count as occupied, since nobody passes them.
"""

import numpy as np

from stratagem.agents.general_heuristic import DOWN, IS_GENERAL, RIGHT


def _rays() -> tuple[np.ndarray, np.ndarray]:
    """(int64[100, 8, 6], int64[100, 8]): the cells along each way, and how many of them are on the board."""
    along, reach = np.zeros((100, 8, 6), np.int64), np.zeros((100, 8), np.int64)
    for cell in range(100):
        for way in range(8):
            for die in range(1, 7):
                row, column = cell // 10 + die * DOWN[way], cell % 10 + die * RIGHT[way]
                if 0 <= row < 10 and 0 <= column < 10:
                    along[cell, way, die - 1], reach[cell, way] = row * 10 + column, die
    return along, reach


def _lines() -> tuple[np.ndarray, np.ndarray]:
    """(int64[4, 100], int64[4, 100]): the row, column and two diagonals of each cell, and its place in them."""
    row, column = np.divmod(np.arange(100), 10)
    return np.stack([row, column, row - column + 9, row + column]), np.stack([column, row, row, row])


def _neighbours() -> np.ndarray:
    """int8[10, 1024, 2]: how far the next one is from a place in a line, forwards and backwards, 0 if over six."""
    far = np.zeros((10, 1024, 2), np.int8)
    for place in range(10):
        for taken in range(1024):
            for distance in range(6, 0, -1):
                if (taken >> (place + distance)) & 1:
                    far[place, taken, 0] = distance
                if place >= distance and (taken >> (place - distance)) & 1:
                    far[place, taken, 1] = distance
    return far


ALONG, REACH = _rays()
LINE, PLACE = _lines()
NEIGHBOUR = _neighbours()
ONWARD = np.array([1, 10, 11, 9])  # from a cell to the next one in its line
OFFSETS = 10 * DOWN + RIGHT
HITHER = np.array([[list(OFFSETS).index(sign * step) for sign in (-1, 1)] for step in ONWARD])
"""int64[4, 2]: the way to a cell from its neighbour that is forwards, backwards in its line."""
CENTRE = np.zeros((4, 19), np.int64)  # the General's cells
for _kind in range(4):
    for _cell in np.flatnonzero(IS_GENERAL):
        CENTRE[_kind, LINE[_kind, _cell]] |= 1 << PLACE[_kind, _cell]
