"""Solve a two-player dice game: layer after layer, on the CPU or on an accelerator, resumable.

table = solve(generala())              # or load_table(generala()) once it is solved
table.equity(mover, opponent, lead)    # masks of open categories; the mover's lead in points
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from stratagem.core.errors import StratagemError
from stratagem.games.dice.family import Family
from stratagem.solvers.dice_layers import Layout, layout
from stratagem.solvers.dice_table import Table, growing_table, load_table, table_path

Engine = Literal["numba", "jax"]
LARGEST = 1 << 31  # positions; beyond this a table is not kept, see dice_stream


@dataclass(frozen=True)
class Progress:
    """How far a solve has come."""

    layer: int
    layers: int
    done: int
    """Positions solved, those of an earlier run included."""
    total: int
    seconds: float
    """Since this run started."""
    resumed: int
    """Positions that an earlier run had finished."""

    @property
    def fraction(self) -> float:
        return self.done / self.total

    @property
    def seconds_left(self) -> float:
        """At the average speed of this run; infinite before it has solved anything."""
        fresh = self.done - self.resumed
        return self.seconds * (self.total - self.done) / fresh if fresh else float("inf")


def solve(
    family: Family,
    engine: Engine = "numba",
    kind: str = "float32",
    folder: Path | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    threads: int | None = None,
) -> Table:
    """The solved table of a game: loaded if it is there, finished if it was begun, else computed.

    Raises StratagemError, with what to do, for a damaged table, other rules or a full disk. Ctrl-C and
    kill leave the finished layers behind for the next run.
    """
    board = layout(family)
    if sys.byteorder != "little":
        raise StratagemError("solved tables are little-endian; this machine is not")
    if board.positions > LARGEST:
        raise StratagemError(
            f"{family.name} has {board.positions:,} undecided positions, too many for a table. "
            f"Do: python -m stratagem.solvers.dice_stream {family.name}"
        )
    if table_path(family, kind, folder).exists():
        return load_table(family, kind, folder)
    started = time.perf_counter()
    with growing_table(family, kind, folder) as (table, below):
        if below is None:
            below = np.zeros(1, np.float32)
        resumed = int(board.layer_starts[table.finished])
        for layer in range(table.finished + 1, board.layers + 1):
            out = np.empty(board.size(layer), np.float32)
            before = int(board.layer_starts[layer - 1])
            for done in layer_solver(engine)(board, layer, below, out, threads):
                seconds = time.perf_counter() - started
                progress(Progress(layer, board.layers, before + done, board.positions, seconds, resumed))
            table.append(out)
            below = out
    return load_table(family, kind, folder)


LayerSolver = Callable[[Layout, int, np.ndarray, np.ndarray, int | None], Iterator[int]]


def layer_solver(engine: Engine) -> LayerSolver:
    """The function that fills one layer from the one below."""
    if engine == "jax":
        from stratagem.solvers import dice_jax

        return dice_jax.solve_layer
    from stratagem.solvers import dice_numba

    return dice_numba.solve_layer
