"""Solve games whose tables are too large to keep: two layers on one accelerator, the rest is forgotten.

    python -m stratagem.solvers.dice_stream yacht --out results/

Writes `<game>.json` (a line a layer: positions, seconds, checksum; then the value of the game) and
`<game>-top.npz`, the last layers, from which the openings can be read.

Memory is twice the largest layer: on an accelerator 1.9 GiB for Yacht, 5.4 for Crag, 101 for Yatzy; with the
numba engine, which stores no padding, 1.6 GiB for Yacht and 4.8 for Crag.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.games.dice.family import FAMILIES, Family
from stratagem.solvers.dice_layers import LayerReport, layout

FUSED_DICE = 3  # the kernel of five dice, 462 values unrolled, took over 100 s to compile on an H200
KEPT = 1 << 20  # positions of the top layers that are written out


class CpuStream:
    """Two layers in main memory, solved by the numba engine; speaks like `dice_jax.Stream`."""

    def __init__(self, family: Family):
        self.board, self.layer, self.solved = layout(family), 0, np.zeros(1, np.float32)

    def advance(self, chunks: int | None = None) -> Iterator[float]:
        from stratagem.solvers.dice_numba import solve_layer

        layer = self.layer + 1
        out = np.empty(self.board.size(layer), np.float32)
        for done in solve_layer(self.board, layer, self.solved, out):
            yield done / len(out)
        self.solved, self.layer = out, layer

    def report(self) -> LayerReport:
        bits = int(self.solved.view(np.uint32).sum(dtype=np.uint64)) % 2**32
        mean = float(self.solved.mean(dtype=np.float64))
        pairs, size = self.board.pairs(self.layer), len(self.solved)
        return LayerReport(self.layer, self.board.sizes(self.layer), pairs, size, f"{bits:08x}", mean)

    def compact(self) -> np.ndarray:
        return self.solved


def open_stream(family: Family, engine: str) -> Any:
    if engine == "numba":
        return CpuStream(family)
    from stratagem.solvers.dice_jax import Stream

    return Stream(family, fused=engine == "fused")


def device_facts(engine: str) -> tuple[str, int]:
    """(what it runs on, the most bytes that were in use)."""
    if engine == "numba":
        return f"cpu, {os.cpu_count()} cores", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    import jax

    device = jax.devices()[0]
    return device.device_kind, (device.memory_stats() or {}).get("peak_bytes_in_use", 0)


def stream_solve(
    family: Family,
    engine: str,
    budget: float = float("inf"),
    report: Callable[[dict[str, Any]], None] = lambda line: None,
) -> dict[int, np.ndarray]:
    """Solve a game layer by layer; the small layers at the top, by number.

    Stops with TimeoutError, after reporting where it got to, when the next layer would overrun `budget` seconds.
    """
    board, stream = layout(family), open_stream(family, engine)
    device, _ = device_facts(engine)
    kept: dict[int, np.ndarray] = {}
    started, solved = time.perf_counter(), 0
    for layer in range(1, board.layers + 1):
        before = time.perf_counter()
        size = board.size(layer)
        speed = solved / (before - started)
        if layer > board.layers // 2 and before - started + size / speed > budget:
            left = board.positions - solved
            report({"stopped": layer - 1, "seconds": before - started, "speed": speed, "left": left})
            raise TimeoutError(
                f"{family.name}: layer {layer} would take {size / speed:.0f} s, over the budget"
            )
        said = before
        for fraction in stream.advance(chunks=2048):
            if time.perf_counter() - said > 10:
                said = time.perf_counter()
                print(
                    f"layer {layer}: {fraction:.0%} after {said - before:.0f} s", file=sys.stderr, flush=True
                )
        facts = asdict(stream.report())
        solved += size
        seconds, memory = time.perf_counter() - before, device_facts(engine)[1]
        report(facts | {"seconds": seconds, "peak_bytes": memory})
        if size <= KEPT and layer > board.layers // 2:
            kept[layer] = stream.compact()
    seconds = time.perf_counter() - started
    value = float(kept[board.layers][0])
    report(
        {
            "game": family.name,
            "ruleset": family.ruleset,
            "value": value,
            "positions": board.positions,
            "seconds": seconds,
            "positions_per_second": board.positions / seconds,
            "engine": engine,
            "device": device,
            "peak_bytes": device_facts(engine)[1],
        }
    )
    return kept


def fused_is_better(family: Family) -> bool:
    """Whether the fused kernel runs here, gives the same numbers, and is faster."""
    import jax

    from stratagem.solvers.dice_jax import finish, shape_for

    if jax.devices()[0].platform != "gpu" or family.has_first_roll_bonus or family.rolls < 2:
        return False
    if family.dice > FUSED_DICE:
        return False
    from stratagem.games.dice.keeps import keeps
    from stratagem.solvers.dice_pallas import fused_finish

    shape = shape_for(family, fused=True)
    rolls = len(keeps(family.dice, family.faces).rolls)
    rolled = jax.random.uniform(jax.random.key(0), (1, rolls, shape.positions), minval=-1.0, maxval=1.0)
    seconds = {}
    answers = {}
    for name, way in (("plain", finish), ("fused", fused_finish)):
        try:
            start = time.perf_counter()
            answers[name] = way(rolled, shape=shape).block_until_ready()
            compiled = time.perf_counter()
            for _ in range(5):
                way(rolled, shape=shape).block_until_ready()
            seconds[name] = (time.perf_counter() - compiled) / 5
            rate = shape.positions / seconds[name]
            print(
                f"{name}: compiled in {compiled - start:.1f} s, {rate:,.0f} positions/s",
                file=sys.stderr,
                flush=True,
            )
        except Exception as error:  # the plain way is always there
            print(f"{name}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr, flush=True)
    if len(answers) < 2:
        return False
    difference = float(abs(answers["plain"] - answers["fused"]).max())
    print(f"largest difference {difference:.2g}", file=sys.stderr, flush=True)
    return difference < 1e-6 and seconds["fused"] < seconds["plain"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m stratagem.solvers.dice_stream", description=__doc__)
    parser.add_argument("game", choices=sorted(FAMILIES))
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the results")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds this run may take")
    parser.add_argument("--engine", choices=("auto", "numba", "plain", "fused"), default="auto")
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.96")
    family = FAMILIES[chosen.game](**({"upper_bonus": False} if chosen.game == "yatzy" else {}))
    chosen.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    engine = chosen.engine
    if engine == "auto":
        engine = "fused" if fused_is_better(family) else "plain"
    with (chosen.out / f"{chosen.game}.json").open("w", encoding="utf-8") as file:

        def report(line: dict[str, Any]) -> None:
            print(json.dumps(line), file=file, flush=True)
            print(json.dumps(line), flush=True)

        try:
            kept = stream_solve(family, engine, chosen.budget - (time.perf_counter() - started), report)
        except TimeoutError as error:
            print(error, file=sys.stderr)
            return 1
    layers: dict[str, Any] = {f"layer{number}": values for number, values in kept.items()}
    np.savez_compressed(chosen.out / f"{chosen.game}-top.npz", **layers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
