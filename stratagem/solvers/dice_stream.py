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
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.games.dice.family import FAMILIES, Family
from stratagem.solvers.dice_layers import LayerReport, layout

MOST_FUSED_DICE = 4  # with five the compiler was not done after 150 s on an H200
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


def fused_is_better(family: Family, patience: float = 150.0) -> bool:
    """Whether the fused kernels compile here, give the same numbers, and are faster.

    Tried in a process of its own, because a kernel that the compiler chokes on cannot be interrupted.
    """
    if family.has_first_roll_bonus or family.rolls < 2 or family.dice > MOST_FUSED_DICE:
        return False
    name = family.name if family.name in FAMILIES else "generala"
    words = [sys.executable, "-m", "stratagem.solvers.dice_stream", name, "--try-fused"]
    frugal = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    try:
        done = subprocess.run(
            words, env=frugal, timeout=patience, stdout=subprocess.PIPE, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"the fused kernels were not compiled in {patience:.0f} s", file=sys.stderr, flush=True)
        return False
    return done.stdout.strip().endswith("fused")


def try_fused(family: Family) -> str:
    """`fused` if that way is right and faster on this machine, else `plain`."""
    import jax

    from stratagem.core.compile_cache import use_compile_cache
    from stratagem.solvers.dice_jax import Stream, plan_layer

    if jax.devices()[0].platform != "gpu":
        return "plain"
    use_compile_cache()
    layer = len(family.categories)
    answers, rates = {}, {}
    for fused in (False, True):
        stream = Stream(family, fused, largest=1 << 12)  # rows beyond are read from the last ones
        stream.solved = jax.random.uniform(
            jax.random.key(0), stream.solved.shape, minval=-1.0, maxval=1.0
        ).sort(axis=1)
        plans, theirs = (jax.numpy.asarray(part) for part in plan_layer(stream.board, layer, stream.shape))
        rows = min(stream.shape.rows, int((theirs >= 0).sum()))
        start = time.perf_counter()
        first = stream.turn(plans, jax.numpy.int32(0), theirs).block_until_ready()
        compiled = time.perf_counter()
        for _ in range(10):
            again = stream.turn(plans, jax.numpy.int32(0), theirs)
        again.block_until_ready()
        rates[fused] = 10 * stream.shape.positions / (time.perf_counter() - compiled)
        answers[fused] = first.reshape(stream.shape.rows, -1)[:rows, : stream.shape.columns]
        what = "fused" if fused else "plain"
        print(
            f"{what}: compiled in {compiled - start:.1f} s, {rates[fused]:,.0f} positions/s",
            file=sys.stderr,
            flush=True,
        )
    difference = float(abs(answers[True] - answers[False]).max())
    print(f"largest difference {difference:.2g}", file=sys.stderr, flush=True)
    return "fused" if difference < 1e-5 and rates[True] > rates[False] else "plain"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m stratagem.solvers.dice_stream", description=__doc__)
    parser.add_argument("game", choices=sorted(FAMILIES))
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the results")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds this run may take")
    parser.add_argument("--engine", choices=("auto", "numba", "plain", "fused"), default="auto")
    parser.add_argument(
        "--try-fused", action="store_true", help="only find out which of the jax ways is faster"
    )
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.96")
    family = FAMILIES[chosen.game](**({"upper_bonus": False} if chosen.game == "yatzy" else {}))
    if chosen.try_fused:
        print(try_fused(family))
        return 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    engine = chosen.engine
    if engine == "auto":
        engine = "fused" if fused_is_better(family) else "plain"
    if engine != "numba":
        from stratagem.core.compile_cache import use_compile_cache

        use_compile_cache()
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
