"""Positions a second of the dice solver, engine by engine, on Generala; one JSON line each.

    python benchmarks/dice.py                     # both engines; jax on whatever device it finds
    python benchmarks/dice.py --engines numba

A run of the numba engine solves the whole game as `stratagem solve generala` does, file included. A run of the
jax engine keeps all layers on the device; what is timed ends when the last equity is there. With both engines the
jax layers are compared with the numba layers, position by position.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.games.dice.family import generala
from stratagem.solvers.dice import solve
from stratagem.solvers.dice_layers import layout
from stratagem.solvers.dice_table import Table

GAME = generala()


def line(engine: str, device: str, seconds: list[float], **more: Any) -> dict[str, Any]:
    positions = layout(GAME).positions
    median = statistics.median(seconds)
    return {
        "benchmark": "dice",
        "engine": engine,
        "game": GAME.name,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "device": device,
        "positions": positions,
        "seconds": round(median, 3),
        "spread": [round(min(seconds), 3), round(max(seconds), 3)],
        "positions_per_second": round(positions / median),
        **more,
    }


def with_numba(repeats: int) -> tuple[dict[str, Any], Table]:
    seconds = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            table = solve(GAME, folder=Path(folder))
            seconds.append(time.perf_counter() - start)
            table = Table(table.board, table.kind, np.array(table.numbers))  # outlives the folder
    return line("numba", "cpu", seconds, first_run_with_compilation=round(seconds[0], 3)), table


def with_jax(repeats: int, table: Table | None) -> dict[str, Any]:
    import jax

    from stratagem.core.compile_cache import use_compile_cache
    from stratagem.solvers.dice_jax import Stream
    from stratagem.solvers.dice_stream import fused_is_better

    fused = fused_is_better(GAME)
    use_compile_cache()  # what the trial of the fused kernels compiled is used again
    seconds, worst, differences = [], 0.0, 0
    for run in range(repeats + 1):  # the first compiles
        start = time.perf_counter()
        stream = Stream(GAME, fused)
        for layer in range(1, stream.board.layers + 1):
            for _ in stream.advance():
                pass
            if run == repeats and table is not None:
                difference = np.abs(stream.compact() - table.layer(layer))
                worst, differences = max(worst, float(difference.max())), differences + difference.size
        stream.solved.block_until_ready()
        seconds.append(time.perf_counter() - start)
    facts = {
        "fused": fused,
        "first_run_with_compilation": round(seconds[0], 3),
        "value": float(-stream.solved[0, -1]),
        "checksum_of_last_layer": stream.report().checksum,
    }
    if table is not None:
        facts |= {"positions_compared_with_numba": differences, "largest_difference": worst}
    timed = seconds[1:repeats] if table is not None and repeats > 1 else seconds[1:]
    return line("jax", jax.devices()[0].device_kind, timed, **facts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", default="numba,jax")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for a copy of the lines, dice-benchmark.json")
    chosen = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    lines, table = [], None
    if "numba" in chosen.engines:
        result, table = with_numba(chosen.repeats)
        lines.append(result)
        print(json.dumps(result), flush=True)
    if "jax" in chosen.engines:
        lines.append(with_jax(chosen.repeats, table))
        print(json.dumps(lines[-1]), flush=True)
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        (chosen.out / "dice-benchmark.json").write_text("".join(json.dumps(one) + "\n" for one in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
