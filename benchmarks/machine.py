"""What every benchmark says about where it ran, and how it measures."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any


def machine() -> dict[str, Any]:
    """The machine, in words that mean something to a reader elsewhere."""
    import jax

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "device": jax.devices()[0].device_kind,
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "jax": jax.__version__,
    }


def measure(work: Callable[[], Any], repeats: int = 5, least: float = 0.0) -> dict[str, Any]:
    """Seconds of `work` after one warm-up: median, lowest and highest of at least `repeats` and `least` seconds."""
    work()
    seconds: list[float] = []
    began = time.perf_counter()
    while len(seconds) < repeats or time.perf_counter() - began < least:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return {
        "median": statistics.median(seconds),
        "low": min(seconds),
        "high": max(seconds),
        "repeats": len(seconds),
    }


def report(name: str, **facts: Any) -> None:
    """One JSON line."""
    print(json.dumps({"benchmark": name, **facts, "machine": machine()}), flush=True)
