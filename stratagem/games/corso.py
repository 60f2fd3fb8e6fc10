"""Corso: place marbles, expand them in chain reactions, own most of the board when it is full.

A turn is one action on one cell. On an empty cell it places a marble of the mover. On a marble of the mover it
expands the 4-connected component of marbles, of any colour, that holds it: the component and its neighbours
become dyed in the mover's colour. The game ends when no cell is empty; most cells (marbles and dyed) wins.

The board is kept in bits, 32 cells a word: cell `row · width + column` is bit `cell % 32` of word `cell // 32`.
A dense board of one byte a cell was measured beside it and was slower (see docs/speed.md).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.core.errors import BadOption
from stratagem.core.game import GameSpec, Symmetries, winners_share

Bits = Array  # uint32[L]: a set of cells, L words


class State(NamedTuple):
    """A position. The cells that are in no set are empty."""

    marbles: Array  # uint32[P, L]
    dyed: Array  # uint32[P, L]
    mover: Array  # int32: the seat whose turn it is


@dataclass(frozen=True)
class Corso:
    """Corso on a rectangle, for two to four players."""

    width: int = 5
    """Columns, 1 to 8."""
    height: int = 5
    """Rows, 1 to 8."""
    players: int = 2
    """Seats, 2 to 4."""

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("width", self.width, 1, 8),
            ("height", self.height, 1, 8),
            ("players", self.players, 2, 4),
        ):
            if not low <= value <= high:
                raise BadOption(f"corso: {name} is {low} to {high}, not {value}")

    @cached_property
    def spec(self) -> GameSpec:
        return GameSpec(
            name="corso",
            seats=self.players,
            actions=self.cells,
            # A placement for each cell that ever holds a marble, and no more expansions than other cells:
            # two neighbours that held marbles go together or not at all.
            longest=self.cells,
            parameters={"width": self.width, "height": self.height, "players": self.players},
        )

    @property
    def cells(self) -> int:
        return self.width * self.height

    def init(self, key: Array) -> State:
        nothing = jnp.zeros((self.players, self._words), jnp.uint32)
        return State(nothing, nothing, jnp.int32(0))

    def to_move(self, state: State) -> Array:
        return (jnp.arange(self.players) == state.mover) & ~self.done(state)

    def legal(self, state: State) -> Array:
        playable = self._unpack(self._empty(state) | state.marbles[state.mover])
        return self.to_move(state)[:, None] & playable[None, :]

    def sample(self, state: State, points: Array) -> Array:
        playable = self._empty(state) | state.marbles[state.mover]
        counts = lax.population_count(playable).astype(jnp.int32)
        through = jnp.cumsum(counts)
        target = jnp.floor(points[state.mover] * through[-1]).astype(jnp.int32)
        word = jnp.sum(through[:-1] <= target)
        place = _find_bit(playable[word], target - (through[word] - counts[word]))
        return jnp.full(self.players, 32 * word + place, jnp.int32)

    def step(self, state: State, actions: Array, key: Array) -> State:
        cell = self._bit(actions[state.mover])
        seats = (jnp.arange(self.players) == state.mover)[:, None]
        expanded = self._component(cell & state.marbles[state.mover], _union(state.marbles))
        spread = expanded | self._neighbours(expanded)
        placed = cell & ~_union(state.marbles)
        return State(
            marbles=state.marbles & ~spread | jnp.where(seats, placed, 0),
            dyed=state.dyed & ~spread | jnp.where(seats, spread, 0),
            mover=(state.mover + 1) % self.players,
        )

    def returns(self, state: State) -> Array:
        scores = self.scores(state)
        return jnp.where(self.done(state), winners_share(scores == scores.max()), 0.0)

    def done(self, state: State) -> Array:
        return ~self._empty(state).any()

    def scores(self, state: State) -> Array:
        """int32[P]: the cells that each player controls."""
        return lax.population_count(state.marbles | state.dyed).sum(axis=1).astype(jnp.int32)

    # What an agent sees.

    def view(self, state: State, seat: Array) -> Array:
        """uint8[H, W, 2·P + 1]: a marble and a dyed plane for each player, then the index of the mover."""
        planes = self._unpack(jnp.stack([state.marbles, state.dyed], axis=1).reshape(-1, self._words))
        mover = jnp.full((1, self.cells), state.mover)
        stacked = jnp.concatenate([planes, mover]).astype(jnp.uint8)  # [C, cells]
        return stacked.T.reshape(self.height, self.width, 2 * self.players + 1)

    def state_of(self, view: Array) -> State:
        planes = view.reshape(self.cells, -1).T
        sets = self._pack(planes[:-1] > 0).reshape(self.players, 2, self._words)
        return State(sets[:, 0], sets[:, 1], planes[-1, 0].astype(jnp.int32))

    # Symmetries: those of the board, times colour inversion when there are two players.

    def symmetries(self) -> Symmetries:
        cells = np.arange(self.cells).reshape(self.height, self.width)
        boards = [cells, np.flipud(cells), np.fliplr(cells), np.flip(cells)]
        if self.width == self.height:
            boards += [np.transpose(board) for board in boards]
        # board[i] is the cell whose content comes to cell i; its inverse says where a cell goes.
        # On a board of one row or column some of them coincide, and are kept once.
        distinct = {np.argsort(board.ravel()).tobytes(): np.argsort(board.ravel()) for board in boards}
        moves = np.stack(list(distinct.values()))
        swaps = [np.arange(self.players)] + ([np.array([1, 0])] if self.players == 2 else [])
        actions = np.concatenate([moves] * len(swaps))
        seats = np.repeat(np.stack(swaps), len(moves), axis=0)
        both = np.concatenate([actions, seats + self.cells], axis=1)
        index = {row.tobytes(): g for g, row in enumerate(both)}
        product = np.array([[index[g[h].tobytes()] for h in both] for g in both])
        return Symmetries(*(jnp.asarray(part, jnp.int32) for part in (actions, seats, product)))

    def turn_state(self, state: State, g: Array) -> State:
        group = self.symmetries()
        come_from = jnp.argsort(group.actions[g])
        seats = group.seats[g]
        turned = [
            self._pack(self._unpack(sets)[:, come_from])[jnp.argsort(seats)]
            for sets in (state.marbles, state.dyed)
        ]
        return State(turned[0], turned[1], seats[state.mover])

    def turn_view(self, view: Array, g: Array) -> Array:
        return self.view(self.turn_state(self.state_of(view), g), jnp.int32(0))

    # Text: rows from the top, `/` between them, then the player to move. `OOO/OAb/OOO 2`

    def write(self, state: State) -> str:
        symbols = np.full(self.cells, "O")
        for player in range(self.players):
            letter = "ABCD"[player]
            symbols[self._on_host(state.marbles)[player]] = letter
            symbols[self._on_host(state.dyed)[player]] = letter.lower()
        rows = ["".join(row) for row in symbols.reshape(self.height, self.width)]
        return f"{'/'.join(rows)} {int(state.mover) + 1}"

    def read(self, text: str) -> State:
        board, _, player = text.strip().partition(" ")
        rows = board.split("/")
        letters = "ABCD"[: self.players]
        if len(rows) != self.height or any(len(row) != self.width for row in rows):
            raise ValueError(f"{text!r}: a board of {self.height} rows of {self.width} cells is needed")
        strange = set(board) - set("O/" + letters + letters.lower())
        if strange:
            raise ValueError(
                f"{text!r}: {''.join(sorted(strange))!r} is not O or one of {letters + letters.lower()}"
            )
        if player not in [str(seat + 1) for seat in range(self.players)]:
            raise ValueError(f"{text!r}: after the board comes the player to move, 1 to {self.players}")
        symbols = np.array(list("".join(rows)))
        marbles = self._pack(jnp.asarray([symbols == letter for letter in letters]))
        dyed = self._pack(jnp.asarray([symbols == letter.lower() for letter in letters]))
        return State(marbles, dyed, jnp.int32(int(player) - 1))

    def write_action(self, action: int) -> str:
        """As on a chess board: column letter, then row number from the top. `c3`"""
        row, column = divmod(int(action), self.width)
        return f"{'abcdefgh'[column]}{row + 1}"

    def read_action(self, text: str) -> int:
        text = text.strip().lower()
        column = "abcdefgh"[: self.width].find(text[:1]) if text else -1
        row = int(text[1:]) - 1 if text[1:].isdecimal() else -1
        if column < 0 or not 0 <= row < self.height:
            last = self.write_action(self.cells - 1)
            raise ValueError(f"{text!r} is not a cell; cells are a1 to {last}")
        return row * self.width + column

    def why_not(self, state: State, seat: int, action: int) -> str:
        name = self.write_action(action)
        sign = self.write(state).replace("/", "")[action]
        if sign.islower():
            return f"{name} is dyed; nothing can be done on a dyed cell"
        if sign != "O" and sign != "ABCD"[seat]:
            return f"{name} holds a marble of player {'ABCD'.index(sign) + 1}; only your own can be expanded"
        return "the game is over" if bool(self.done(state)) else f"it is player {int(state.mover) + 1}'s turn"

    def draw(self, state: State, seat: int | None) -> dict[str, Any]:
        board, _, player = self.write(state).partition(" ")
        return {
            "kind": "corso",
            "rows": board.split("/"),
            "mover": int(player) - 1,
            "scores": np.asarray(self.scores(state)).tolist(),
        }

    # Sets of cells.

    @property
    def _words(self) -> int:
        return -(-self.cells // 32)

    def _constant(self, cells: np.ndarray) -> Bits:
        """A set that is known before the game, from bool[H, W]."""
        padded = np.zeros(self._words * 32, bool)
        padded[: self.cells] = cells.ravel()
        return jnp.asarray(np.packbits(padded, bitorder="little").view("<u4"))

    def _column(self, column: int) -> np.ndarray:
        return np.arange(self.cells).reshape(self.height, self.width) % self.width == column

    def _bit(self, cell: Array) -> Bits:
        words = jnp.arange(self._words) == cell // 32
        return jnp.where(words, jnp.uint32(1) << (cell % 32).astype(jnp.uint32), 0).astype(jnp.uint32)

    def _unpack(self, sets: Bits) -> Array:
        """bool[..., cells] from uint32[..., L]."""
        cells = np.arange(self.cells)
        return (sets[..., cells // 32] >> jnp.asarray(cells % 32, jnp.uint32)) & 1 == 1

    def _on_host(self, sets: Bits) -> np.ndarray:
        """`_unpack` without a device: a hundred times faster for a single position."""
        words = np.asarray(sets).astype("<u4")
        return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")[..., : self.cells] == 1

    def _pack(self, cells: Array) -> Bits:
        """uint32[..., L] from bool[..., cells]."""
        padding = [(0, 0)] * (cells.ndim - 1) + [(0, self._words * 32 - self.cells)]
        words = jnp.pad(cells, padding).reshape(*cells.shape[:-1], self._words, 32)
        return (words.astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)).sum(axis=-1, dtype=jnp.uint32)

    def _empty(self, state: State) -> Bits:
        board = self._constant(np.ones((self.height, self.width), bool))
        return board & ~(_union(state.marbles) | _union(state.dyed))

    def _neighbours(self, cells: Bits) -> Bits:
        """The cells beside these, which may include some of them."""
        board = self._constant(np.ones((self.height, self.width), bool))
        not_first, not_last = (self._constant(~self._column(edge)) for edge in (0, self.width - 1))
        sideways = _later(cells & not_last, 1) | _earlier(cells & not_first, 1)
        return (sideways | _later(cells, self.width) | _earlier(cells, self.width)) & board

    def _component(self, seed: Bits, among: Bits) -> Bits:
        """All of `among` that is connected to `seed`, a part of it."""

        def spread(cells: tuple[Bits, Bits]) -> tuple[Bits, Bits]:
            _, cells_now = cells
            once = (cells_now | self._neighbours(cells_now)) & among
            return once, (once | self._neighbours(once)) & among

        return lax.while_loop(lambda pair: (pair[0] != pair[1]).any(), spread, (jnp.zeros_like(seed), seed))[
            1
        ]


def _union(sets: Array) -> Bits:
    """uint32[L] from uint32[P, L]: what any of them holds."""
    return lax.reduce(sets, np.uint32(0), lax.bitwise_or, (0,))


def _find_bit(word: Array, number: Array) -> Array:
    """int32: where in a word its set bit of that number is, counted from zero, by halving."""
    place, left = jnp.uint32(0), number.astype(jnp.uint32)
    for half in (16, 8, 4, 2, 1):
        below = lax.population_count((word >> place) & jnp.uint32((1 << half) - 1))
        beyond = left >= below
        place, left = jnp.where(beyond, place + half, place), jnp.where(beyond, left - below, left)
    return place.astype(jnp.int32)


def _later(cells: Bits, by: int) -> Bits:
    """Every cell moved `by` places on."""
    if cells.shape[0] == 1:
        return cells << by
    carry = jnp.concatenate([jnp.zeros(1, jnp.uint32), cells[:-1] >> (32 - by)])
    return cells << by | carry


def _earlier(cells: Bits, by: int) -> Bits:
    """Every cell moved `by` places back."""
    if cells.shape[0] == 1:
        return cells >> by
    carry = jnp.concatenate([cells[1:] << (32 - by), jnp.zeros(1, jnp.uint32)])
    return cells >> by | carry
