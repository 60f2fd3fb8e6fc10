"""The numba core of MM-k, the classical Corso agents of the paper: depth-k minimax with a counting heuristic.

A leaf is worth `m1 + w*d1 - (m2 + w*d2)` to player 1 (m marbles, d dyed cells) and the opposite to player 2;
a finished game is worth `WIN` to its winner, and a drawn one what the formula says. The root samples from
`softmax(scores / temperature)`, so every root move gets its exact score: alpha-beta prunes only below the
root, and the scores are bit for bit those of plain minimax.

Cells come as `int8[H*W]` with codes 0 empty, 1 and 2 marble and dyed of player 1, 3 and 4 of player 2;
`player` is 0 or 1. `B` counts positions in a batch.
"""

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
    make_board,
    margin,
    pack,
    place,
)

WIN = 1e6
"""The paper's M, the score of a decided game: far above any count of cells."""


@njit(cache=True, nogil=True)
def heuristic(position, weight):
    """The formula of the paper from the side of the player to move."""
    own_marbles, other_marbles, own_dyed, other_dyed = position
    own = count(own_marbles) + weight * count(own_dyed)
    other = count(other_marbles) + weight * count(other_dyed)
    return own - other


@njit(cache=True, nogil=True)
def leaf(position, board, weight):
    """What the search sees when it stops at a position: `WIN` for a decided game, else the heuristic."""
    if empties(position, board) == ZERO:
        lead = margin(position)
        if lead != 0:
            return WIN if lead > 0 else -WIN
    return heuristic(position, weight)


@njit(cache=True, nogil=True)
def best_leaf(position, board, weight):
    """The best score one ply ahead. The game must not be over.

    While two cells are empty all placings are worth the same, so one of them stands for the others.
    """
    best = -leaf(place(position, first(empties(position, board))), board, weight)
    own = position[0]
    while own:
        group, dyed = expansion(position, first(own), board)
        best = max(best, -leaf(dye(position, group, dyed), board, weight))
        own &= ~group
    return best


@njit(cache=True, nogil=True)
def children(position, board, out):
    """Write the distinct successors into `out` (uint64[moves, 4]), expansions first; return how many."""
    number = 0
    own = position[0]
    while own:
        group, dyed = expansion(position, first(own), board)
        write(out, number, dye(position, group, dyed))
        number += 1
        own &= ~group
    empty = empties(position, board)
    while empty:
        write(out, number, place(position, first(empty)))
        number += 1
        empty &= empty - ONE
    return number


@njit(cache=True, nogil=True)
def write(out, row, position):
    """Store a position in a row of `out`."""
    out[row, 0], out[row, 1], out[row, 2], out[row, 3] = position


@njit(cache=True, nogil=True)
def read(out, row):
    """The position stored in a row of `out`."""
    return out[row, 0], out[row, 1], out[row, 2], out[row, 3]


@njit(cache=True, nogil=True)
def order(guesses, positions, number, board, weight):
    """Sort the first `number` successors by the best answer to each, worst for the answering player first."""
    for row in range(number):
        child = read(positions, row)
        guesses[row] = (
            best_leaf(child, board, weight) if empties(child, board) else leaf(child, board, weight)
        )
    for row in range(1, number):
        guess, child = guesses[row], read(positions, row)
        slot = row
        while slot > 0 and guesses[slot - 1] > guess:
            guesses[slot] = guesses[slot - 1]
            write(positions, slot, read(positions, slot - 1))
            slot -= 1
        guesses[slot] = guess
        write(positions, slot, child)


@njit(cache=True, nogil=True)
def search(position, board, depth, weight, alpha, beta, positions, guesses):
    """Minimax value for the player to move, `depth` plies deep, exact inside the window `(alpha, beta)`.

    `positions` (uint64[depths, moves, 4]) and `guesses` (float64[depths, moves]) are room to work in.
    """
    if depth == 0 or empties(position, board) == ZERO:
        return leaf(position, board, weight)
    if depth == 1:
        return best_leaf(position, board, weight)
    number = children(position, board, positions[depth])
    if depth > 2:
        order(guesses[depth], positions[depth], number, board, weight)
    best = -np.inf
    for row in range(number):
        child = read(positions[depth], row)
        score = -search(child, board, depth - 1, weight, -beta, -max(alpha, best), positions, guesses)
        if score > best:
            best = score
            if best >= beta:
                break
    return best


@njit(cache=True, nogil=True)
def fill_root_scores(position, board, depth, weight, positions, guesses, scores):
    """Write the exact score of every action into `scores` (float64[H*W]); illegal ones get -inf."""
    scores[:] = -np.inf
    empty = empties(position, board)
    if empty == ZERO:
        return
    own = position[0]
    while own:
        group, dyed = expansion(position, first(own), board)
        child = dye(position, group, dyed)
        score = -search(child, board, depth - 1, weight, -np.inf, np.inf, positions, guesses)
        same = group & position[0]
        while same:
            scores[np.int64(lowest(same))] = score
            same &= same - ONE
        own &= ~group
    while empty:
        child = place(position, first(empty))
        score = -search(child, board, depth - 1, weight, -np.inf, np.inf, positions, guesses)
        scores[np.int64(lowest(empty))] = score
        empty &= empty - ONE


@njit(cache=True, nogil=True)
def fill_many(cells, players, board, depth, weight, scores):
    """`fill_root_scores` for each of B positions.

    `cells` is int8[B, H*W], `players` int64[B], `scores` float64[B, H*W].
    """
    positions = np.empty((depth + 1, cells.shape[1], 4), np.uint64)
    guesses = np.empty((depth + 1, cells.shape[1]), np.float64)
    for row in range(cells.shape[0]):
        position = pack(cells[row], players[row])
        fill_root_scores(position, board, depth, weight, positions, guesses, scores[row])


@njit(cache=True, nogil=True)
def sample(scores, temperature, uniform):
    """An action drawn from `softmax(scores / temperature)` by `uniform` in [0, 1); -1 if nothing is legal.

    Temperature 0 draws uniformly among the best actions.
    """
    best = scores.max()
    if best == -np.inf:
        return -1
    total = 0.0
    for action in range(scores.size):
        total += chance(scores[action], best, temperature)
    threshold = uniform * total
    chosen = -1
    for action in range(scores.size):
        mass = chance(scores[action], best, temperature)
        if mass > 0.0:
            chosen = action
            threshold -= mass
            if threshold < 0.0:
                break
    return chosen


@njit(cache=True, nogil=True)
def chance(score, best, temperature):
    """The weight of an action in the softmax, relative to a best action."""
    if temperature == 0.0:
        return 1.0 if score == best else 0.0
    return np.exp((score - best) / temperature)


@njit(cache=True, nogil=True)
def sample_many(scores, temperature, uniforms):
    """`sample` for each of B rows of scores: int64[B]."""
    actions = np.empty(scores.shape[0], np.int64)
    for row in range(scores.shape[0]):
        actions[row] = sample(scores[row], temperature, uniforms[row])
    return actions


def root_scores_many(
    cells: np.ndarray, players: np.ndarray, width: int, height: int, depth: int, weight: float = 0.7
) -> np.ndarray:
    """Minimax scores of every action for B positions, each from the side of its player to move.

    `cells` is int8[B, H*W] and `players` int[B]; the result is float64[B, H*W] with -inf for illegal actions.
    """
    cells = np.ascontiguousarray(cells, np.int8)
    players = np.ascontiguousarray(players, np.int64)
    if cells.ndim != 2 or cells.shape[1] != width * height:
        raise ValueError(
            f"cells must be [B, {width * height}] for a {width}×{height} board, got {cells.shape}"
        )
    if players.shape != cells.shape[:1]:
        raise ValueError(f"players must be [B] = {cells.shape[:1]}, got {players.shape}")
    if depth < 1:
        raise ValueError(f"minimax looks at least one move ahead, got depth {depth}")
    scores = np.empty(cells.shape, np.float64)
    fill_many(cells, players, make_board(width, height), int(depth), float(weight), scores)
    return scores


def root_scores(
    cells: np.ndarray, player: int, width: int, height: int, depth: int, weight: float = 0.7
) -> np.ndarray:
    """`root_scores_many` for one position: `cells` int8[H*W], result float64[H*W]."""
    one = np.asarray(cells, np.int8).reshape(1, -1)
    return root_scores_many(one, np.array([player]), width, height, depth, weight)[0]


def choose_many(
    cells: np.ndarray,
    players: np.ndarray,
    width: int,
    height: int,
    depth: int,
    weight: float,
    temperature: float,
    uniforms: np.ndarray,
) -> np.ndarray:
    """An action for each of B positions, int64[B], sampled from `softmax(scores / temperature)`.

    `uniforms` (float[B] in [0, 1)) is the only chance in it; temperature 0 picks uniformly among the best.
    Finished games get -1.
    """
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}")
    scores = root_scores_many(cells, players, width, height, depth, weight)
    return sample_many(scores, float(temperature), np.ascontiguousarray(uniforms, np.float64))
