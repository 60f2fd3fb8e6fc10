"""The legal actions of GENERAL by number: marked in a table, listed, or drawn."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.general.board import (
    ATTACKER,
    CELLS,
    GARRISON_CELLS,
    MOAT_CELLS,
    OPEN_CELLS,
    SIDE,
    STEPS,
    ahead,
    aside,
    count_bits,
    nth_cell,
    nth_set,
    rows,
    unpack,
)
from stratagem.games.general.options import choices, garrisoning, movable, shown_rows, storming
from stratagem.games.general.state import ACTIONS, OFFENSIVE_FROM, PASS, State, role_of, seat_of

AHEAD = [down * SIDE + right for down, right in STEPS]  # what one step adds to the number of a cell


def _lines() -> tuple[np.ndarray, np.ndarray]:
    """(int8[100, 100], int8[100, 100]): steps between two cells on a line, else 0; and the direction."""
    row, column = np.divmod(np.arange(CELLS), SIDE)
    down, right = row[None] - row[:, None], column[None] - column[:, None]
    far = np.maximum(abs(down), abs(right))
    straight = (down == 0) | (right == 0) | (abs(down) == abs(right))
    way = np.zeros((CELLS, CELLS), np.int8)
    for number, (one_down, one_right) in enumerate(STEPS):
        way[(np.sign(down) == one_down) & (np.sign(right) == one_right)] = number
    return np.where(straight, far, 0).astype(np.int8), way


DISTANCE, DIRECTION = _lines()


def legal(state: State) -> Array:
    """bool[A]: of the side whose turn it is, while the game is on."""
    start = unpack(movable(state))  # bool[8, 100]
    moves = (state.die == DISTANCE) & (state.die > 0) & start[DIRECTION, np.arange(CELLS)[:, None]]
    units, places = garrisoning(state)
    moves |= (state.die == 6) & unpack(units)[:, None] & unpack(places)[None]
    general = np.arange(CELLS) == OFFENSIVE_FROM
    moves |= (state.die == 1) & general[:, None] & unpack(storming(state))[None]
    moves |= np.eye(CELLS, dtype=bool) & unpack(choices(state))[None]
    passes = (state.die == 0) & (state.converting == 0)
    return jnp.concatenate([moves.reshape(-1), passes[None], jnp.zeros(ACTIONS - PASS - 1, bool)])


def listed(state: State) -> Array:
    """int32[1689]: 8 × 100 moves, 12 × 72 garrisonings, 12 offensives, 12 conversions, the pass."""
    garrisoned, places = garrisoning(state)
    units = jnp.where(state.die == 6, garrisoned, np.uint16(0))
    storms = jnp.where(state.die == 1, storming(state), np.uint16(0))
    # A move that could be a garrisoning is listed there.
    both = jnp.stack([units & ahead(places, 6 * down, 6 * right) for down, right in STEPS])
    cells = np.arange(CELLS)
    ends = cells + np.array(AHEAD)[:, None] * state.die.astype(jnp.int32)
    home, open_cells = jnp.asarray(GARRISON_CELLS)[role_of(state)], OPEN_CELLS
    garrisons = unpack(units)[home][:, None] & unpack(places)[open_cells]
    triangles = GARRISON_CELLS[ATTACKER]
    passes = (state.die == 0) & (state.converting == 0)
    parts = [
        (unpack(movable(state) & ~both), cells * CELLS + ends),
        (garrisons, home[:, None] * CELLS + open_cells),
        (unpack(storms)[MOAT_CELLS], OFFENSIVE_FROM * CELLS + MOAT_CELLS),
        (unpack(choices(state))[triangles], triangles * (CELLS + 1)),
        (passes[None], np.array([PASS])),
    ]
    return jnp.concatenate([jnp.where(there, actions, -1).reshape(-1) for there, actions in parts])


def sample(state: State, points: Array) -> Array:
    """int32[2]: the same actions, drawn without listing them, in numbers alone."""
    garrisoned, free = garrisoning(state)
    units = rows(jnp.where(state.die == 6, garrisoned, np.uint16(0)))
    places = rows(free)
    moves = shown_rows(state)
    for words, (down, right) in zip(moves, STEPS, strict=True):
        for row in range(max(0, -6 * down), SIDE - max(0, 6 * down)):
            words[row] = words[row] & ~(units[row] & aside(places[row + 6 * down], -6 * right))
    storms = rows(jnp.where(state.die == 1, storming(state), np.uint16(0)))
    sets = [*moves, storms, rows(choices(state))]
    plain, room = sum(count_bits(words) for words in sets), count_bits(places)
    total = plain + count_bits(units) * room
    target = jnp.floor(points[seat_of(state)] * total).astype(jnp.int32)
    target = jnp.minimum(target, total - 1)

    way, words, rest = nth_set(sets, target)  # 8 is the offensive, 9 a conversion
    cell = nth_cell(words, rest)
    further = sum(jnp.where(way == one, step, 0) for one, step in enumerate(AHEAD)) * state.die
    action = jnp.where(way == 8, OFFENSIVE_FROM, cell) * CELLS + cell + further

    # Garrisonings come after the moves; with a die of 6 there is nothing else.
    rest, wide = target - plain, jnp.maximum(room, 1)
    posted = nth_cell(units, rest // wide) * CELLS + nth_cell(places, rest % wide)
    action = jnp.where(rest >= 0, posted, action)
    return jnp.full(2, jnp.where(total > 0, action, PASS), jnp.int32)
