"""Two-player Corso solved exactly: outcome, final margin and best moves of any position of a small board.

    solve(cells, player, width, height)      one question, one `Solution`
    first_moves(width, height)               the margin of every opening on the empty board
    Solver(width, height)                    many questions that share one table
    PerfectCorso(width, height)              a player that never gives away a cell

Cells are `int8[H*W]`: 0 empty, 1 and 2 marble and dyed of player 1, 3 and 4 of player 2; `player` is 0 or 1.
A margin is the number of own cells minus the number of the opponent's at the end, when both play for it.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from typing import Literal

import numpy as np

from stratagem.solvers.corso_bits import Position, empties, is_over, legal, make_board, margin, pack, play
from stratagem.solvers.corso_notes import Notes, take
from stratagem.solvers.corso_search import LIMIT, NODES, STOPPED, make_desk, search
from stratagem.solvers.corso_table import MOST_CELLS, look_up

Goal = Literal["outcome", "margin", "moves"]
"""How much to find out: the winner, also the margin and the best moves, also the margin of every move."""

LARGEST_FINISHED = 25
"""Boards up to this many cells are solved from the first move in about a minute or less; see docs/corso.md."""

QUICK = 10_000
"""Nodes that are searched on the spot, in about ten milliseconds, before a thread is started."""

HEARTBEAT = 0.1
"""Seconds between looks at the clock, at Ctrl-C and at the progress callback during a search."""


@dataclass(frozen=True)
class Solution:
    """What is known about a position, from the side of the player to move."""

    width: int
    height: int
    outcome: int
    """+1 the player to move wins, 0 a draw, -1 the other player wins."""
    margin: int | None
    """Cells ahead at the end with best play; None if only the outcome was asked for."""
    best: tuple[int, ...] | None
    """Every action that reaches the margin, ascending; None if only the outcome was asked for."""
    margins: dict[int, int] | None
    """The margin of every legal action; None unless asked for."""
    nodes: int
    seconds: float


@dataclass(frozen=True)
class Progress:
    """News from a running search."""

    done: int
    """Distinct moves finished."""
    total: int
    """Distinct moves to be searched."""
    nodes: int
    seconds: float
    moves: tuple[int, ...] = ()
    """The moves just finished, equal by symmetry or because they expand one component; empty for a heartbeat."""
    margin: int | None = None
    """The exact margin of those moves; None for a heartbeat."""


class Solver:
    """Answers questions about positions of one board, and remembers what it found in a table of fixed size.

    One question at a time: threads must not share a solver.
    """

    def __init__(
        self,
        width: int,
        height: int,
        megabytes: float | None = None,
        progress: Callable[[Progress], None] | None = None,
        seconds: float | None = None,
        notes: int = 0,
    ):
        """`megabytes` bounds the table (default: by the size of the board, 512 at most up to 25 cells, 4096 beyond).

        `progress` hears about every finished move and, a few times a second, that the search is alive. `seconds`
        bounds each question; a `TimeoutError` then says so, and asking again continues from the table. `notes` is how
        many of the positions with the same number of empty cells are kept for `take_notes`.
        """
        if width * height > MOST_CELLS:
            raise ValueError(
                f"exact Corso handles up to {MOST_CELLS} cells, got {width}×{height}. "
                "Use a smaller board, or a search agent such as mm:depth=6."
            )
        self.board = make_board(width, height)
        self.width, self.height, self.cells = width, height, width * height
        self.progress, self.seconds = progress, seconds
        self.nodes = 0
        self._desk = make_desk(
            width, height, default_megabytes(self.cells) if megabytes is None else megabytes, notes
        )
        self._began = time.perf_counter()
        self._done = self._total = 0

    @property
    def megabytes(self) -> float:
        """The size of the table."""
        return self._desk.table.nbytes / 2**20

    def outcome(self, cells: np.ndarray, player: int) -> int:
        """+1, 0 or -1 for the player to move: one or two null-window searches, far cheaper than the margin."""
        position = self._start(cells, player)
        return self._outcome(position)

    def decide(self, position: Position) -> int:
        """`outcome` of a position that is packed already, and not over."""
        self._began = time.perf_counter()
        return self._outcome(position)

    def margin(self, cells: np.ndarray, player: int) -> int:
        """The final margin of the player to move when both play for it."""
        return self._margin(self._start(cells, player), self.cells % 2)

    def margins(self, cells: np.ndarray, player: int) -> dict[int, int]:
        """The margin of every legal action."""
        return self._margins(self._start(cells, player))

    def best(self, cells: np.ndarray, player: int) -> tuple[int, ...]:
        """Every action that reaches the margin of the position, ascending; none after the end."""
        position = self._start(cells, player)
        return self._best(position, self._margin(position, self.cells % 2))

    def take_notes(self) -> Notes:
        """Some of the positions decided on the way to the answers since the last call; see `corso_notes`."""
        return take(self._desk.notes, self.cells)

    def solve(self, cells: np.ndarray, player: int, goal: Goal = "margin") -> Solution:
        """All that `goal` asks for about one position."""
        position = self._start(cells, player)
        before = self.nodes
        value, best, margins = None, None, None
        if goal == "outcome":
            outcome = self._outcome(position)
        else:
            if goal == "moves" and not is_over(position, self.board):
                margins = self._margins(position)
                value = max(margins.values())
                best = tuple(action for action in sorted(margins) if margins[action] == value)
            else:
                value = self._margin(position, self.cells % 2)
                best = self._best(position, value)
                margins = {} if goal == "moves" else None
            outcome = int(np.sign(value))
        seconds = time.perf_counter() - self._began
        return Solution(self.width, self.height, outcome, value, best, margins, self.nodes - before, seconds)

    def _start(self, cells: np.ndarray, player: int) -> Position:
        """The bitboards of a checked position; starts the clock of a question."""
        cells = np.ascontiguousarray(cells, np.int8).ravel()
        if cells.size != self.cells or cells.min() < 0 or cells.max() > 4:
            raise ValueError(
                f"a {self.width}×{self.height} position is {self.cells} codes from 0 to 4, "
                f"got {cells.size} from {cells.min(initial=0)} to {cells.max(initial=0)}"
            )
        if player not in (0, 1):
            raise ValueError(f"the player to move is 0 or 1, got {player}")
        self._began = time.perf_counter()
        self._done, self._total = 0, 1
        return _typed(pack(cells, player))

    def _outcome(self, position: Position) -> int:
        if is_over(position, self.board):
            return int(np.sign(margin(position)))
        odd = self.cells % 2
        if self._bound(position, 2 - odd) > 0:
            return 1
        return 0 if not odd and self._bound(position, 0) >= 0 else -1

    def _margin(self, position: Position, guess: int) -> int:
        """MTD(f): null-window searches that start at `guess` and follow the bounds until they meet."""
        if is_over(position, self.board):
            return margin(position)
        low, high = -self.cells, self.cells
        while low < high:
            target = max(guess, low + 2)
            guess = self._bound(position, target)
            if guess >= target:
                low = guess
            else:
                high = guess
        return low

    def _margins(self, position: Position) -> dict[int, int]:
        groups = self._distinct_moves(position)
        self._done, self._total = 0, len(groups)
        margins: dict[int, int] = {}
        guess = self.cells % 2
        for child, actions in groups:
            guess = -self._margin(child, -guess)
            margins.update(dict.fromkeys(actions, guess))
            self._done += 1
            self._report(tuple(actions), guess)
        return dict(sorted(margins.items()))

    def _best(self, position: Position, value: int) -> tuple[int, ...]:
        best: list[int] = []
        for child, actions in self._distinct_moves(position):
            if is_over(child, self.board):
                reaches = -margin(child) >= value
            else:
                reaches = self._bound(child, 2 - value) <= -value
            if reaches:
                best += actions
        return tuple(sorted(best))

    def _distinct_moves(self, position: Position) -> list[tuple[Position, list[int]]]:
        """Successors that differ in more than a symmetry, each with the actions that lead to it."""
        groups: dict[tuple[int, ...], tuple[Position, list[int]]] = {}
        actions = int(legal(position, self.board))
        for action in range(self.cells):
            if actions >> action & 1:
                child = _typed(play(position, np.uint64(1 << action), self.board))
                groups.setdefault(self._identity(child), (child, []))[1].append(action)
        return list(groups.values())

    def _identity(self, position: Position) -> tuple[int, ...]:
        """Equal for positions whose margins are equal by symmetry or but for settled cells."""
        if is_over(position, self.board):
            return (margin(position),)
        empty = np.uint64(empties(position, self.board))
        _, _, settled, _, shape, own = look_up(
            position, empty, self.board, self._desk.images, self._desk.shapes, self._desk.table
        )
        return settled, shape, own

    def _bound(self, position: Position, target: int) -> int:
        """`search`, in a thread if it takes long: Ctrl-C, the clock and the callback are never kept waiting."""
        counters = self._desk.counters
        counters[: LIMIT + 1] = 0, QUICK
        bound = search(position, target, 0, self.board, self._desk)
        self.nodes += int(counters[NODES])
        counters[: LIMIT + 1] = 0, np.iinfo(np.int64).max
        if bound != STOPPED:
            return bound
        with ThreadPoolExecutor(1) as pool:
            task = pool.submit(search, position, target, 0, self.board, self._desk)
            try:
                while True:
                    try:
                        return task.result(timeout=HEARTBEAT)
                    except TimeoutError:
                        self._check_time()
                        self._report()
            finally:
                counters[LIMIT] = -1
                wait([task])
                self.nodes += int(counters[NODES])
                counters[NODES] = 0

    def _check_time(self) -> None:
        if self.seconds is not None and time.perf_counter() - self._began > self.seconds:
            raise TimeoutError(
                f"{self.width}×{self.height} Corso was not solved in {self.seconds:g} s. "
                "Allow more seconds, ask for goal='outcome', or use a smaller board."
            )

    def _report(self, moves: tuple[int, ...] = (), value: int | None = None) -> None:
        if self.progress is not None:
            seconds = time.perf_counter() - self._began
            nodes = self.nodes + int(self._desk.counters[NODES])
            self.progress(Progress(self._done, self._total, nodes, seconds, moves, value))


def default_megabytes(cells: int) -> int:
    """A table that comfortably holds what solving a board of that many cells needs, if that is affordable."""
    if cells <= 12:
        return 4
    if cells <= 20:
        return 128
    return 512 if cells <= 25 else 4096


def _typed(position: tuple[int, ...]) -> Position:
    """The four bitboards as numba wants them: compiled code hands plain integers back."""
    own_marbles, other_marbles, own_dyed, other_dyed = (np.uint64(plane) for plane in position)
    return own_marbles, other_marbles, own_dyed, other_dyed


def solve(
    cells: np.ndarray,
    player: int,
    width: int,
    height: int,
    *,
    goal: Goal = "margin",
    megabytes: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    seconds: float | None = None,
) -> Solution:
    """Solve one position; see `Solver` for the options and `Solution` for the answer."""
    return Solver(width, height, megabytes, progress, seconds).solve(cells, player, goal)


def first_moves(
    width: int,
    height: int,
    *,
    megabytes: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    seconds: float | None = None,
) -> tuple[Solution, np.ndarray]:
    """The empty board solved, and the first player's margin after each first move, int64[H, W]."""
    empty = np.zeros(width * height, np.int8)
    solution = solve(
        empty, 0, width, height, goal="moves", megabytes=megabytes, progress=progress, seconds=seconds
    )
    assert solution.margins is not None
    table = np.array([solution.margins[cell] for cell in range(width * height)])
    return solution, table.reshape(height, width)


class PerfectCorso:
    """Plays a board perfectly from any position, and keeps its table from move to move.

    Threads may share one: questions are answered one at a time.
    """

    def __init__(self, width: int, height: int, megabytes: float | None = None):
        if width * height > LARGEST_FINISHED:
            raise ValueError(
                f"perfect play is available up to {LARGEST_FINISHED} cells (5×5), got {width}×{height}. "
                "Use a smaller board, or a search agent such as mm:depth=6."
            )
        self.solver = Solver(width, height, megabytes)
        self._asking = Lock()

    def best_moves(self, cells: np.ndarray, player: int) -> tuple[int, ...]:
        """Every action that keeps the best margin, ascending; none after the end."""
        with self._asking:
            return self.solver.best(cells, player)

    def value(self, cells: np.ndarray, player: int) -> int:
        """+1, 0 or -1 for the player to move."""
        with self._asking:
            return self.solver.outcome(cells, player)
