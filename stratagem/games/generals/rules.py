"""The rules of Generals: what a turn does, what a seat may do, what it sees.

Functions of one game, or of many with their batch axes last, as in `board`. A turn reads and writes four cells:
the source and the target of either seat.
"""

from collections.abc import Callable
from typing import NamedTuple

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
    SPROUT,
    TICK,
    State,
    above,
    and_around,
    army_of,
    below,
    cells_of_bits,
    clock_of,
    kind_of,
    left,
    owner_of,
    owners,
    pack,
    right,
    rows_of_bits,
    standing,
)

UP, DOWN, LEFT, RIGHT = range(4)
HALF, PASS, BUILD = 4, 8, 9  # an action of a cell: direction, direction + HALF, PASS or BUILD

FOG, SEEN_PLAIN, SEEN_MOUNTAIN, SEEN_CASTLE, SEEN_GENERAL, STRUCTURE = range(6)  # what a seat sees of a cell
ME, OPPONENT = 1, 2
OWNER_IN_VIEW = 3  # the bit at which the owner starts in a view's `look`; what is seen is below it


class View(NamedTuple):
    """What one seat knows. Seats are told apart as me (first) and the opponent (second)."""

    look: Array  # uint8[H, W]: what is seen of the cell + 8 · its owner (0 nobody or unknown, 1 me, 2 opponent)
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
    known = (action >= 0) & (action < height * width * per_cell)
    action = jnp.where(known, action, 0)
    source, k = action // per_cell, action % per_cell
    direction = k & 3
    row, column = source // width, source % width
    step = jnp.where(direction == UP, -width, jnp.where(direction == DOWN, width, 2 * direction - 5))
    inside = jnp.where(
        direction < LEFT,
        jnp.where(direction == UP, row > 0, row < height - 1),
        jnp.where(direction == LEFT, column > 0, column < width - 1),
    )
    given = known & (k < PASS) & inside
    return Move(source, jnp.where(given, source + step, source), k >= HALF, given)


def play_moves(state: State, actions: Array, shape: tuple[int, int], per_cell: int = 9) -> Outcome:
    """Both moves, one after the other. `turn`, `winner` and growth are left to `close`."""
    clock = clock_of(state)
    moves = decode(actions, shape, per_cell)
    words = look_up(state.cells, jnp.stack([moves.source, moves.target]))  # int32[2, P]
    sources, targets = words[0], words[1]
    seats = jnp.arange(2).reshape(2, *[1] * (actions.ndim - 1))

    # Who goes first only matters when both move. The one that chases, then the one that reinforces, then the
    # smaller army, then seat 0.
    chases = jnp.stack([moves.target[0] == moves.source[1], moves.target[1] == moves.source[0]])
    reinforces = owner_of(targets) == seats + 1
    army = army_of(sources, clock)
    second_leads = jnp.where(
        chases[0] != chases[1],
        chases[1],
        jnp.where(reinforces[0] != reinforces[1], reinforces[1], army[1] < army[0]),
    )

    def in_order(pair: Array) -> tuple[Array, Array]:
        return jnp.where(second_leads, pair[1], pair[0]), jnp.where(second_leads, pair[0], pair[1])

    source, target = in_order(moves.source), in_order(moves.target)
    half, given = in_order(moves.half), in_order(moves.given)
    enemy_general = in_order(jnp.stack([state.generals[1], state.generals[0]]))
    source_word, target_word = in_order(sources), in_order(targets)
    seat = jnp.where(second_leads, 1, 0), jnp.where(second_leads, 0, 1)

    running = state.winner == NOBODY
    first = apply(source_word[0], target_word[0], seat[0], half[0], given[0] & running, clock)
    # The second move is judged on the board that the first one left.
    late_source = jnp.where(source[1] == target[0], first.target, source_word[1])
    late_source = jnp.where(source[1] == source[0], first.source, late_source)
    late_target = jnp.where(target[1] == target[0], first.target, target_word[1])
    late_target = jnp.where(target[1] == source[0], first.source, late_target)
    second = apply(late_source, late_target, seat[1], half[1], given[1] & running, clock)

    # The four cells need not be four: each is written as the last move left it.
    def at_last(cell: Array, word: Array) -> Array:
        word = jnp.where(cell == source[1], second.source, word)
        return jnp.where((cell == target[1]) & (target[1] != source[1]), second.target, word)

    places = jnp.stack([source[0], target[0], source[1], target[1]])
    after = jnp.stack(
        [
            at_last(source[0], first.source),
            at_last(target[0], jnp.where(target[0] == source[0], first.source, first.target)),
            second.source,
            jnp.where(target[1] == source[1], second.source, second.target),
        ]
    )

    def by_seat(of_first: Array, of_second: Array) -> Array:
        return jnp.stack(
            [jnp.where(second_leads, of_second, of_first), jnp.where(second_leads, of_first, of_second)]
        )

    land_won = by_seat(first.won - second.lost, second.won - first.lost)
    sites_won = by_seat(first.won_site - second.lost_site, second.won_site - first.lost_site)
    died = by_seat(first.spent + second.killed, second.spent + first.killed)
    land, sites = state.land + land_won, state.sites + sites_won
    # A cell that changes hands brings its stored army, not its growth.
    base = state.base - died - land_won * (clock // TICK) - sites_won * (clock // SPROUT)
    touched = by_seat(
        first.moved & (target[0] == enemy_general[0]), second.moved & (target[1] == enemy_general[1])
    )
    taken = touched & by_seat(first.won > 0, second.won > 0)
    moved = state._replace(cells=put(state.cells, places, after), land=land, sites=sites, base=base)
    return Outcome(moved, taken, touched)


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
    units = jnp.where(moved, jnp.where(half, standing_army // 2, standing_army - 1), 0)
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
    if jax.default_backend() == "cpu":
        # XLA writes scattered words one at a time on a CPU; comparing every cell's index is faster there.
        index = np.arange(cells.shape[0]).reshape(-1, *[1] * (cells.ndim - 1))
        for place, word in zip(places, words, strict=True):
            cells = jnp.where(index == place, word, cells)
        return cells
    flat = cells.reshape(-1).at[_flat(cells, places)].set(words, mode="promise_in_bounds")
    return flat.reshape(cells.shape)


def _flat(cells: Array, places: Array) -> Array:
    games = lax.iota(jnp.int32, cells[0].size).reshape(cells.shape[1:])
    return places * cells[0].size + games


# What a seat may do.


def directions(state: State, shape: tuple[int, int]) -> Array:
    """uint32[P, 4, H, …]: in bits, the cells from which each seat can move up, down, left, right."""
    cells = state.cells.reshape(*shape, *state.cells.shape[1:])
    owner, army = owner_of(cells), army_of(cells, clock_of(state))
    strong = army >= 2
    open_ground = rows_of_bits(kind_of(cells) != MOUNTAIN)
    ways = jnp.stack([above(open_ground), below(open_ground), left(open_ground), right(open_ground)])
    able = jnp.stack([rows_of_bits((owner == seat + 1) & strong) for seat in range(2)])
    return jnp.where(state.winner == NOBODY, able[:, None] & ways[None], 0)


def spread_actions(ways: Array, state: State, shape: tuple[int, int]) -> Array:
    """bool[P, H, W, 9, …] from `directions`: the legal mask with its parts apart."""
    width = shape[1]
    rows, columns = np.arange(shape[0]), np.arange(width)
    on_board = [1] * (ways.ndim - 3)
    here = (rows[:, None] * width + columns).reshape(1, *shape, *on_board)
    rests = (here == state.generals[:, None, None]) & (state.winner == NOBODY)
    shifts = columns.astype(np.uint32).reshape(1, 1, width, 1, *on_board)
    moves = (jnp.moveaxis(ways, 1, 2)[:, :, None] >> shifts) & 1 == 1  # [P, H, W, 4, …]
    return jnp.concatenate([moves, moves, rests[:, :, :, None]], axis=3)


def draw_action(ways: Array, state: State, seat: int, bits: Array, shape: tuple[int, int]) -> Array:
    """int32: a legal action of a seat, each as likely as the others, from uint32 random `bits`.

    Counts in rows of bits instead of running through the mask: a row, then one of its words, then its n-th bit.
    The n-th of 2 · moves + 1 actions is taken; the bias of reducing 32 random bits to so few is below 1e-5.
    """
    height, width = shape
    mine = ways[seat]  # uint32[4, H, …]
    counts = lax.population_count(mine).astype(jnp.int32)
    in_row = counts.sum(axis=0)
    moves = in_row.sum(axis=0)
    ticket = lax.rem(bits, (2 * moves + 1).astype(jnp.uint32)).astype(jnp.int32)
    half, rank = ticket & 1, ticket >> 1
    resting = rank >= moves
    row, skipped, before = jnp.zeros_like(rank), jnp.zeros_like(rank), jnp.zeros_like(rank)
    for number in range(height):
        before_next = before + in_row[number]
        passed = before_next <= rank
        row = row + passed
        skipped = jnp.where(passed, before_next, skipped)
        before = before_next
    row = jnp.minimum(row, height - 1)
    words = look_up_rows(mine, row)  # uint32[4, …]
    rank = rank - skipped
    direction, word = jnp.zeros_like(rank), words[0]
    for number in range(3):
        count = lax.population_count(words[number]).astype(jnp.int32)
        passed = (direction == number) & (rank >= count)
        rank = jnp.where(passed, rank - count, rank)
        direction = direction + passed
        word = jnp.where(passed, words[number + 1], word)
    move = (row * width + nth_bit(word, rank)) * 9 + direction + HALF * half
    return jnp.where(resting, state.generals[seat] * 9 + PASS, move)


def look_up_rows(rows: Array, row: Array) -> Array:
    """uint32[K, …]: word `row` of each of uint32[K, H, …]."""
    found = jnp.zeros_like(rows[:, 0])
    for number in range(rows.shape[1]):
        found = jnp.where(row == number, rows[:, number], found)
    return found


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


def view_of(state: State, seat: Array, shape: tuple[int, int], army_type: jnp.dtype) -> View:
    """Everything that `seat` may know."""
    cells = state.cells.reshape(*shape, *state.cells.shape[1:])
    kind, army = kind_of(cells), army_of(cells, clock_of(state))
    owner = owners(state).reshape(cells.shape)
    mine = owner == seat + 1
    visible = cells_of_bits(and_around(rows_of_bits(mine)), shape[1])
    hidden = jnp.where((kind == MOUNTAIN) | (kind == CASTLE), STRUCTURE, FOG)
    possessor = jnp.where(mine, ME, jnp.where(owner != NEUTRAL, OPPONENT, 0))
    look = jnp.where(visible, kind + SEEN_PLAIN + (possessor << OWNER_IN_VIEW), hidden)
    land, total = standing(state)
    turned = jnp.where(seat == 0, land, land[::-1]), jnp.where(seat == 0, total, total[::-1])
    seen = jnp.where(visible, army, 0).astype(army_type)
    return View(look.astype(jnp.uint8), seen, turned[0], turned[1], state.turn)


def seen(view: View) -> Array:
    """uint8[H, W]: FOG, SEEN_… or STRUCTURE."""
    return view.look & 7


def possessors(view: View) -> Array:
    """uint8[H, W]: 0 nobody or unknown, ME or OPPONENT."""
    return view.look >> OWNER_IN_VIEW

