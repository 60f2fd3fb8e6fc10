"""The rules of Generals: what a turn does, what a seat may do, what it sees.

Functions of one game, or of many with their batch axes last, as in `board`. A turn reads and writes four cells:
the source and the target of either seat.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.generals.board import (
    CAPPED,
    CASTLE,
    DRAW,
    MOUNTAIN,
    NEUTRAL,
    NOBODY,
    State,
    army_of,
    clock_of,
    kind_of,
    owner_of,
    owners,
    pack,
    sprouts,
    standing,
    ticks,
)

UP, DOWN, LEFT, RIGHT = range(4)
HALF, PASS, BUILD = 4, 8, 9  # an action of a cell: direction, direction + HALF, PASS or BUILD

FOG, SEEN_PLAIN, SEEN_MOUNTAIN, SEEN_CASTLE, SEEN_GENERAL, STRUCTURE = range(6)  # what a seat sees of a cell
ME, OPPONENT = 1, 2
OWNER_IN_VIEW = 3  # the bit at which the owner starts in a view's `look`; what is seen is below it


class View(NamedTuple):
    """What one seat knows. Seats are told apart as me (first) and the opponent (second)."""

    look: (
        Array  # uint8[H, W]: what is seen of the cell + 8 · its owner (0 nobody or unknown, 1 me, 2 opponent)
    )
    army: Array  # int16 or int32[H, W]: zero where not visible
    land: Array  # int32[2]
    total: Array  # int32[2]: army in all
    turn: Array  # int32


class Move(NamedTuple):
    """One seat's action, decoded. For a pass, source and target are some cell and `given` is false."""

    source: Array  # int32
    target: Array  # int32
    half: Array  # bool
    given: Array  # bool: it is a move to a cell of the board


class Outcome(NamedTuple):
    """A turn before it is known whether it decided the game."""

    state: State
    taken: Array  # bool[P]: the seat took the enemy general
    touched: Array  # bool[P]: the seat's move executed onto the enemy general's cell


Turn = Callable[[State, Array], Outcome]  # (state, actions int32[P]) -> Outcome


def decode(action: Array, shape: tuple[int, int], per_cell: int) -> Move:
    """What an action index asks for; whatever is not a move on the board is a pass."""
    height, width = shape
    index = action.astype(jnp.uint32)  # so that a negative one is out of range, and division is quick
    known = index < height * width * per_cell
    index = jnp.where(known, index, 0)
    cell, k = _divmod(index, per_cell)
    row, column = _divmod(cell, width)
    direction = k & 3
    sideways, onward = direction >> 1 == 1, direction & 1 == 1
    at = jnp.where(sideways, column, row)
    last = jnp.where(sideways, jnp.uint32(width - 1), jnp.uint32(height - 1))
    given = known & (k < PASS) & (at != jnp.where(onward, last, 0))
    step = jnp.where(sideways, 1, width) * jnp.where(onward, 1, -1)
    source = cell.astype(jnp.int32)
    return Move(source, jnp.where(given, source + step, source), k >= HALF, given)


def _divmod(number: Array, by: int) -> tuple[Array, Array]:
    quotient = lax.div(number, jnp.full_like(number, by))
    return quotient, number - quotient * by


def play_moves(state: State, actions: Array, shape: tuple[int, int], per_cell: int = 9) -> Outcome:
    """Both moves, one after the other. `turn`, `winner` and growth are left to `close`."""
    clock = clock_of(state)
    move = [decode(actions[seat], shape, per_cell) for seat in range(2)]
    places = rows(move[0].source, move[0].target, move[1].source, move[1].target)
    words = look_up(state.cells, places)
    running = state.winner == NOBODY

    # Who goes first only matters when both move. The one that chases, then the one that reinforces, then the
    # smaller army, then seat 0.
    chases = move[0].target == move[1].source, move[1].target == move[0].source
    reinforces = owner_of(words[1]) == 1, owner_of(words[3]) == 2
    smaller = army_of(words[2], clock) < army_of(words[0], clock)
    swapped = jnp.where(
        chases[0] != chases[1],
        chases[1],
        jnp.where(reinforces[0] != reinforces[1], reinforces[1], smaller),
    )

    def in_order(of_0: Array, of_1: Array) -> tuple[Array, Array]:
        return jnp.where(swapped, of_1, of_0), jnp.where(swapped, of_0, of_1)

    source, target = in_order(places[0], places[2]), in_order(places[1], places[3])
    source_word, target_word = in_order(words[0], words[2]), in_order(words[1], words[3])
    half = in_order(move[0].half, move[1].half)
    given = in_order(move[0].given, move[1].given)
    seat = in_order(jnp.int32(0), jnp.int32(1))

    first = apply(source_word[0], target_word[0], seat[0], half[0], given[0] & running, clock)
    first = first._replace(source=settle(first.source), target=settle(first.target))
    # The second move is judged on the board that the first one left.
    late_source = jnp.where(source[1] == target[0], first.target, source_word[1])
    late_source = jnp.where(source[1] == source[0], first.source, late_source)
    late_target = jnp.where(target[1] == target[0], first.target, target_word[1])
    late_target = jnp.where(target[1] == source[0], first.source, late_target)
    second = apply(late_source, late_target, seat[1], half[1], given[1] & running, clock)

    # The four cells need not be four: each is written as the last move left it. A pass has one cell, unchanged.
    def at_last(cell: Array, word: Array) -> Array:
        word = jnp.where(cell == source[1], second.source, word)
        return jnp.where((cell == target[1]) & given[1], second.target, word)

    first_target = jnp.where(given[0], first.target, first.source)
    second_target = jnp.where(given[1], second.target, second.source)
    after = at_last(source[0], first.source), at_last(target[0], first_target), second.source, second_target
    cells = put(state.cells, rows(source[0], target[0], source[1], target[1]), rows(*after))

    def by_seat(of_first: Array, of_second: Array) -> Array:
        return rows(*in_order(of_first, of_second))

    land_won = by_seat(first.won - second.lost, second.won - first.lost)
    sites_won = by_seat(first.won_site - second.lost_site, second.won_site - first.lost_site)
    died = by_seat(first.spent + second.killed, second.spent + first.killed)
    enemy_general = in_order(state.generals[1], state.generals[0])
    touched = by_seat(
        first.moved & (target[0] == enemy_general[0]), second.moved & (target[1] == enemy_general[1])
    )
    taken = touched & by_seat(first.won > 0, second.won > 0)
    moved = state._replace(
        cells=cells,
        land=state.land + land_won,
        sites=state.sites + sites_won,
        # A cell that changes hands brings its stored army, not its growth.
        base=state.base - died - land_won * ticks(clock) - sites_won * sprouts(clock),
    )
    return Outcome(moved, taken, touched)


def rows(*parts: Array) -> Array:
    """The parts stacked, as a choice by row: compilers vectorise that, and do not vectorise a concatenation."""
    number = np.arange(len(parts)).reshape(-1, *[1] * parts[0].ndim)
    stacked = parts[-1]
    for row, part in enumerate(parts[:-1]):
        stacked = jnp.where(number == row, part, stacked)
    return stacked


def settle(values: Array) -> Array:
    """On a CPU, have this worked out once: the compiler would work it out again in each loop that uses it.

    An optimisation barrier is dropped there before loops are fused; a scatter is never fused.
    """
    if jax.default_backend() != "cpu" or values.ndim == 0:
        return values
    flat = values.reshape(-1)
    places = lax.iota(jnp.int32, flat.size)
    return jnp.zeros_like(flat).at[places].set(flat, mode="promise_in_bounds").reshape(values.shape)


class Applied(NamedTuple):
    """What one move did."""

    source: Array  # int32: the words it leaves
    target: Array
    moved: Array  # bool: it executed
    won: Array  # int32 0 or 1: the mover gained the cell; it is a general or castle; the enemy lost it; both
    won_site: Array
    lost: Array
    lost_site: Array
    spent: Array  # int32: units that the mover and the enemy lost
    killed: Array


def apply(source: Array, target: Array, seat: Array, half: Array, given: Array, clock: Array) -> Applied:
    """One move from one word to another; it does nothing unless the rules let it."""
    me = seat + 1
    standing_army, defenders = army_of(source, clock), army_of(target, clock)
    kind, owner = kind_of(target), owner_of(target)
    moved = given & (owner_of(source) == me) & (standing_army >= 2) & (kind != MOUNTAIN)
    units = jnp.where(moved, jnp.where(half, standing_army >> 1, standing_army - 1), 0)
    own = owner == me
    won = moved & ~own & (units > defenders)
    fallen = jnp.where(own, 0, jnp.minimum(units, defenders))
    remaining = jnp.where(own, defenders + units, jnp.abs(defenders - units))
    left_behind = pack(kind_of(source), owner_of(source), standing_army - units, clock)
    reached = pack(kind, jnp.where(won, me, owner), remaining, clock)
    site, enemy = kind >= CASTLE, owner != NEUTRAL
    return Applied(
        source=jnp.where(moved, left_behind, source),
        target=jnp.where(moved, reached, target),
        moved=moved,
        won=won.astype(jnp.int32),
        won_site=(won & site).astype(jnp.int32),
        lost=(won & enemy).astype(jnp.int32),
        lost_site=(won & enemy & site).astype(jnp.int32),
        spent=fallen,
        killed=jnp.where(enemy, fallen, 0),
    )


def close(state: State, fell: Array, cap: int) -> State:
    """The end of a turn, given who brought the enemy general down (bool[P]); growth follows by itself.

    A game that is over stays as it is.
    """
    running = state.winner == NOBODY
    turn = state.turn + running.astype(jnp.int32)
    won = jnp.where(fell[0], jnp.where(fell[1], DRAW, 0), 1)
    result = jnp.where(fell[0] | fell[1], won, jnp.where(turn >= cap, CAPPED, NOBODY))
    return state._replace(turn=turn, winner=jnp.where(running, result, state.winner).astype(jnp.int32))


# Cells by index.


def look_up(cells: Array, places: Array) -> Array:
    """int32[K, …]: the words at int32[K, …] places."""
    if cells.ndim == 1:
        return cells[places]
    return cells.reshape(-1)[_flat(cells, places)]


def put(cells: Array, places: Array, words: Array) -> Array:
    """The cells with K words written; places that coincide hold the same word."""
    if cells.ndim == 1:
        return cells.at[places].set(words, mode="promise_in_bounds")
    flat = cells.reshape(-1).at[_flat(cells, places)].set(words, mode="promise_in_bounds")
    return flat.reshape(cells.shape)


def _flat(cells: Array, places: Array) -> Array:
    games = lax.iota(jnp.int32, cells[0].size).reshape(cells.shape[1:])
    return places * cells[0].size + games


# What a seat may do.


def exits(state: State, shape: tuple[int, int]) -> Array:
    """uint8[H, W, …]: bits 0–3 say whether the way up, down, left, right is open. It never changes in a game."""
    ground = kind_of(state.cells).reshape(*shape, *state.cells.shape[1:]) != MOUNTAIN
    up, down, left, right = (shifted(ground, way).astype(jnp.uint8) << way for way in range(4))
    return up | down | left | right


def choices(state: State, ways_out: Array, shape: tuple[int, int]) -> Array:
    """uint8[P, H, W, …] from `exits`: bits 0–3 say where a seat can move from a cell, bit 4 that it may pass.

    Everything that the legal mask holds, in a ninth of its size.
    """
    cells = state.cells.reshape(*shape, *state.cells.shape[1:])
    able = (army_of(cells, clock_of(state)) >= 2) & (state.winner == NOBODY)
    here = np.arange(shape[0] * shape[1]).reshape(*shape, *[1] * (cells.ndim - 2))

    def of_seat(seat: int) -> Array:
        moves = jnp.where((owner_of(cells) == seat + 1) & able, ways_out, 0)
        rests = (here == state.generals[seat]) & (state.winner == NOBODY)
        return moves | (rests.astype(jnp.uint8) << 4)

    return rows(of_seat(0), of_seat(1))


def shifted(cells: Array, way: int) -> Array:
    """bool[H, W, …]: what stands one step in that direction; false beyond the edge."""
    axis = way >> 1
    size = cells.shape[axis]
    edge = jnp.zeros_like(lax.slice_in_dim(cells, 0, 1, axis=axis))
    if way & 1:  # down or right
        return jnp.concatenate([lax.slice_in_dim(cells, 1, size, axis=axis), edge], axis=axis)
    return jnp.concatenate([edge, lax.slice_in_dim(cells, 0, size - 1, axis=axis)], axis=axis)


def spread_actions(chosen: Array) -> Array:
    """bool[P, H, W, 9, …] from `choices`: the legal mask."""
    lanes = [1] * (chosen.ndim - 3)
    places = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4], np.uint8).reshape(1, 1, 1, 9, *lanes)
    return (chosen[:, :, :, None] >> places) & 1 == 1


def draw_action(able: Array, ways: Array, resting_place: Array, bits: Array, width: int) -> Array:
    """int32: one legal action, each as likely as the others, from uint32 random `bits`.

    In rows of bits, `able` (uint32[H, …]) are the cells from which the seat could move and `ways` (uint32[4, H, …])
    those with an open way in each direction. Counts them instead of running through a mask: a row, then a direction,
    then the n-th bit. One of 2 · moves + 1 actions is taken; the bias of reducing 32 random bits to so few is
    below 1e-5.
    """
    height = able.shape[0]
    in_row = []
    for row in range(height):
        counts = [lax.population_count(able[row] & ways[way, row]) for way in range(4)]
        in_row.append((counts[0] + counts[1] + counts[2] + counts[3]).astype(jnp.int32))
    moves = sum(in_row[1:], in_row[0])
    ticket = lax.rem(bits, (2 * moves + 1).astype(jnp.uint32)).astype(jnp.int32)
    half, rank = ticket & 1, ticket >> 1
    resting = rank >= moves
    row_found, skipped, before = jnp.zeros_like(rank), jnp.zeros_like(rank), jnp.zeros_like(rank)
    words = [able[0] & ways[way, 0] for way in range(4)]
    for row in range(1, height):
        before = before + in_row[row - 1]
        passed = before <= rank
        row_found = jnp.where(passed, row, row_found)
        skipped = jnp.where(passed, before, skipped)
        words = [jnp.where(passed, able[row] & ways[way, row], words[way]) for way in range(4)]
    rank = rank - skipped
    direction, word = jnp.zeros_like(rank), words[0]
    for way in range(3):
        count = lax.population_count(words[way]).astype(jnp.int32)
        passed = (direction == way) & (rank >= count)
        rank = jnp.where(passed, rank - count, rank)
        direction = jnp.where(passed, way + 1, direction)
        word = jnp.where(passed, words[way + 1], word)
    move = (row_found * width + nth_bit(word, rank)) * 9 + direction + HALF * half
    return jnp.where(resting, resting_place * 9 + PASS, move)


def nth_bit(word: Array, rank: Array) -> Array:
    """int32: the place of the bit with this rank among the bits that are set; 0 is the lowest."""
    place = jnp.zeros_like(rank)
    for step in (16, 8, 4, 2, 1):
        low = (word >> place.astype(jnp.uint32)) & ((1 << step) - 1)
        count = lax.population_count(low).astype(jnp.int32)
        beyond = rank >= count
        rank = jnp.where(beyond, rank - count, rank)
        place = place + jnp.where(beyond, step, 0)
    return jnp.minimum(place, 31)


# What a seat sees.


def seen_from(mine: Array) -> Array:
    """bool[H, W, …]: these cells and their eight neighbours."""
    wide = mine | shifted(mine, LEFT) | shifted(mine, RIGHT)
    return wide | shifted(wide, UP) | shifted(wide, DOWN)


def view_of(state: State, visible: Array, seat: Array, shape: tuple[int, int], army_type: Any) -> View:
    """Everything that `seat` may know, given the cells that it sees."""
    cells = state.cells.reshape(*shape, *state.cells.shape[1:])
    kind, army = kind_of(cells), army_of(cells, clock_of(state))
    owner = owners(state).reshape(cells.shape)
    hidden = jnp.where((kind == MOUNTAIN) | (kind == CASTLE), STRUCTURE, FOG)
    possessor = jnp.where(owner == NEUTRAL, 0, jnp.where(owner == seat + 1, ME, OPPONENT))
    look = jnp.where(visible, kind + SEEN_PLAIN + (possessor << OWNER_IN_VIEW), hidden)
    land, total = (jnp.where(seat == 0, both, both[::-1]) for both in standing(state))
    seen_army = jnp.where(visible, army, 0).astype(army_type)
    return View(look.astype(jnp.uint8), seen_army, land, total, state.turn)


def seen(view: View) -> Array:
    """uint8[H, W]: FOG, SEEN_… or STRUCTURE."""
    return view.look & 7


def possessors(view: View) -> Array:
    """uint8[H, W]: 0 nobody or unknown, ME or OPPONENT."""
    return view.look >> OWNER_IN_VIEW
