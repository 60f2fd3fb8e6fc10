"""What one seat of Generals is told from outside, as the simulator would show it; and what it may do.

`look` is as in the simulator's views: what is seen in its low three bits, whose it is above them. NumPy only, because
a bot must answer before JAX is there.
"""

import numpy as np

FOG, PLAIN, MOUNTAIN, CASTLE, GENERAL, STRUCTURE = range(6)  # as in `rules`: the last is a structure in fog
ME, OPPONENT = 1, 2
KIND_BITS = 3
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right
HALF, PASS, BUILD = 4, 8, 9
PRICE, NEAR_PRICE, FALL = 35, 14, 2  # of a castle: 35 + Σ max(0, 14 − 2 · distance) over the own sites


def look_of(kind: np.ndarray, owner: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """uint8[H, W] of the board, from the map in its upper left corner.

    The rest is mountain: seen beside own cells, a structure in fog elsewhere.
    """
    height, width = kind.shape
    look = np.full(shape, STRUCTURE, np.uint8)
    look[beside(owner == ME, shape)] = MOUNTAIN
    look[:height, :width] = kind + (owner << KIND_BITS)
    return look


def beside(cells: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """bool[H, W] of the board: these cells and their eight neighbours."""
    wide = np.zeros((shape[0] + 2, shape[1] + 2), bool)
    for row, column in np.argwhere(cells):
        wide[row : row + 3, column : column + 3] = True
    return wide[1:-1, 1:-1]


def army_of(army: np.ndarray, shape: tuple[int, int], kind: type) -> np.ndarray:
    """[H, W] of the board in that type: the armies of the map, as far as the type holds them."""
    board: np.ndarray = np.zeros(shape, kind)
    board[: army.shape[0], : army.shape[1]] = np.minimum(army, np.iinfo(board.dtype).max)
    return board


def legal_actions(look: np.ndarray, army: np.ndarray, build: bool) -> np.ndarray:
    """bool[H, W, 9], or 10 with `build`: what the seat that sees this may do. Nothing without its general."""
    height, width = look.shape
    kind, mine = look & 7, look >> KIND_BITS == ME
    allowed = np.zeros((height, width, 10 if build else 9), bool)
    walls = np.pad((kind == MOUNTAIN) | (kind == STRUCTURE), 1, constant_values=True)
    for way, (down, across) in enumerate(STEPS):
        clear = ~walls[1 + down : 1 + down + height, 1 + across : 1 + across + width]
        allowed[:, :, way] = allowed[:, :, way + HALF] = mine & (army >= 2) & clear
    allowed[:, :, PASS] = mine & (kind == GENERAL)
    if build:
        sites = np.argwhere(mine & ((kind == CASTLE) | (kind == GENERAL)))
        for row, column in np.argwhere(mine & (kind == PLAIN) & (army >= PRICE)):
            distance = np.abs(sites - (row, column)).sum(axis=1)
            price = PRICE + np.maximum(0, NEAR_PRICE - FALL * distance).sum()
            allowed[row, column, BUILD] = army[row, column] >= price
    return allowed
