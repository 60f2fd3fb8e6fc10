"""What the exact Corso search remembers: bounds on the margin of positions, equal up to symmetry.

Three facts make the table small. Each is checked against brute force in the tests.

1. Seen by the player to move, colour inversion is the identity; of the 4 or 8 images of the board under its
   symmetries only one, the canonical one, is stored.
2. A dyed cell that no marble and no empty cell can reach any more is settled: its colour is only worth a
   constant. Bounds are stored without that constant, so positions that differ in settled cells share them.
3. The colours of marbles and dyed cells never change what an expansion reaches, only who may start it and who
   owns the result. Giving one more cell to the player to move therefore never hurts, and if the cell is dyed it
   is worth at most 2. So an entry bounds every position of the same shape (which cells are empty, marble, dyed):
   its lower bound holds when the player to move owns at least the cells of the entry, its upper bound when at
   most those, and each dyed cell of difference costs 2.

The shape is a number in base 3, so up to 40 cells it fits a 64-bit word with no collisions: results are exact,
not merely likely.

The table is uint64[slots * WAYS * 2]. An entry is two words: the shape; and, from the low end, the lower bound
(8 bits, plus 128), the upper bound (8 bits, plus 128), the size of the searched tree (8 bits, logarithm) and the
cells of the player to move (40 bits). A second word of zero is a free entry.
"""

import numpy as np
from numba import njit

from stratagem.solvers.corso_bits import ONE, ZERO, count, flood, margin, neighbours, symmetries

MOST_CELLS = 40
"""3**40 is the largest power of three below 2**64."""

WAYS = 4
"""Entries that share a slot: 4 entries of 16 bytes are one line of the processor's cache."""

BYTE = np.uint64(255)
EIGHT = np.uint64(8)
SIXTEEN = np.uint64(16)
TWENTY_FOUR = np.uint64(24)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SCATTER = np.uint64(0xD6E8FEB86659FD93)


def make_table(megabytes: float) -> np.ndarray:
    """An empty table of at most `megabytes`, with a power of two of slots and at least one."""
    slots = 1
    while 2 * slots * WAYS * 16 <= megabytes * 2**20:
        slots *= 2
    return np.zeros(slots * WAYS * 2, np.uint64)


def make_images(width: int, height: int) -> np.ndarray:
    """How sets of cells move under the G symmetries, eight cells at a time: uint64[bytes, 256, 2 * G].

    `[b, v, g]` is the sum of 3**cell over the images of the cells in byte `b` with value `v`, and
    `[b, v, G + g]` the set of those images.
    """
    destinations = symmetries(width, height).astype(np.uint64)
    group, cells = destinations.shape
    images = np.zeros(((cells + 7) // 8, 256, 2 * group), np.uint64)
    for cell in range(cells):
        has = (np.arange(256) >> (cell % 8)) & 1 == 1
        images[cell // 8, has, :group] += np.uint64(3) ** destinations[:, cell]
        images[cell // 8, has, group:] |= ONE << destinations[:, cell]
    return images


@njit(cache=True, nogil=True)
def moved(cells, column, images):
    """The image of a set of cells under one symmetry (`column` is G + g)."""
    result = ZERO
    for byte in range(images.shape[0]):
        result |= images[byte, np.int64((cells >> np.uint64(8 * byte)) & BYTE), column]
    return result


@njit(cache=True, nogil=True)
def canonical(marbles, dyed, own, images, shapes):
    """The canonical image of a position: its shape, the mover's cells and the marbles in that image.

    `shapes` (uint64[8]) is room to work in.
    """
    group = images.shape[2] // 2
    for g in range(group):
        shapes[g] = ZERO
    for byte in range(images.shape[0]):
        shift = np.uint64(8 * byte)
        of_marbles = images[byte, np.int64((marbles >> shift) & BYTE)]
        of_dyed = images[byte, np.int64((dyed >> shift) & BYTE)]
        for g in range(group):
            shapes[g] += of_marbles[g] + of_dyed[g] + of_dyed[g]
    shape = shapes[0]
    for g in range(1, group):
        shape = min(shape, shapes[g])
    best, best_own = 0, ~ZERO
    for g in range(group):
        if shapes[g] == shape:
            image = moved(own, group + g, images)
            if image < best_own:
                best, best_own = g, image
    return shape, best_own, moved(marbles, group + best, images)


@njit(cache=True, nogil=True)
def reaches(position, empty, board):
    """Cells that the mover, and that the other player, may still come to own or dye anew.

    A player acts on a region of marbles and empty cells only if it holds one of the player's marbles or an empty
    cell; such a region and its neighbours are all that can ever be dyed from it.
    """
    free = empty | position[0] | position[1]
    own = flood(empty | position[0], free, board)
    other = flood(empty | position[1], free, board)
    return own | neighbours(own, board), other | neighbours(other, board)


@njit(cache=True, nogil=True)
def static_bounds(position, empty, own_reach, other_reach, board):
    """Bounds on the final margin that need no search; see `reaches`."""
    cells = count(board.full)
    high = 2 * count(own_reach | position[0] | position[2]) - cells
    low = cells - 2 * count(other_reach | position[1] | position[3])
    if empty & (empty - ONE) == ZERO:
        low = max(low, margin(position) + 1)  # Placing on the last empty cell ends the game.
    return low, high


@njit(cache=True, nogil=True)
def look_up(position, empty, board, images, shapes, table):
    """Bounds `low <= margin <= high` from statics and the table, and where to store better ones.

    Returns (low, high, settled, slot, shape, own): `settled` is the margin over the settled cells, and the last
    three are what `store` wants. The game must not be over.
    """
    own_reach, other_reach = reaches(position, empty, board)
    low, high = static_bounds(position, empty, own_reach, other_reach, board)
    unsettled = own_reach | other_reach
    settled = count(position[2] & ~unsettled) - count(position[3] & ~unsettled)
    own_cells = position[0] | (position[2] & unsettled)
    shape, own, marbles = canonical(
        position[0] | position[1], position[2] | position[3], own_cells, images, shapes
    )
    # Only dyed colours may differ inside a slot: popular shapes would crowd a slot of their own.
    mixed = (shape + (own & marbles) * SCATTER) * GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(32))) * SCATTER
    slot = np.int64((mixed >> np.uint64(20)) & np.uint64(table.size // (2 * WAYS) - 1)) * 2 * WAYS
    for entry in range(slot, slot + 2 * WAYS, 2):
        word = table[entry + 1]
        if table[entry] == shape and word != ZERO:
            theirs = word >> TWENTY_FOUR
            missing, extra = theirs & ~own, own & ~theirs
            if missing & marbles == ZERO:
                low = max(low, np.int64(word & BYTE) - 128 + settled - 2 * count(missing))
            if extra & marbles == ZERO:
                high = min(high, np.int64((word >> EIGHT) & BYTE) - 128 + settled + 2 * count(extra))
    return low, high, settled, slot, shape, own


@njit(cache=True, nogil=True)
def store(table, slot, shape, own, low, high, nodes):
    """Remember bounds (without the settled cells) that took `nodes` to find.

    Replaces the entry of the same position, else a free one, else the one that was cheapest to find.
    """
    effort = 0
    while nodes > 0:
        effort += 1
        nodes >>= 1
    chosen, cheapest = slot, np.int64(256)
    for entry in range(slot, slot + 2 * WAYS, 2):
        word = table[entry + 1]
        if word == ZERO or (table[entry] == shape and word >> TWENTY_FOUR == own):
            chosen = entry
            break
        price = np.int64((word >> SIXTEEN) & BYTE)
        if price < cheapest:
            chosen, cheapest = entry, price
    bounds = np.uint64(low + 128) | (np.uint64(high + 128) << EIGHT)
    table[chosen] = shape
    table[chosen + 1] = bounds | (np.uint64(effort) << SIXTEEN) | (own << TWENTY_FOUR)
