"""What a lane counts: how full, how fast, how often it had to say no."""

import threading
from collections import deque
from typing import Any

import numpy as np

REMEMBERED = 8192  # questions whose times are kept for the percentiles
ENDINGS = ("answered", "busy", "late", "cancelled", "failed")


class Metrics:
    """Counters of one lane. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.endings = dict.fromkeys(ENDINGS, 0)
        self.batches = self.rows = self.slots = self.distinct = 0
        self.batch_s = 0.0  # of a usual batch; recent ones weigh more
        self._seconds: deque[float] = deque(maxlen=REMEMBERED)

    def ended(self, how: str, seconds: list[float]) -> None:
        """So many questions ended like this, so long after they were asked."""
        with self._lock:
            self.endings[how] += len(seconds)
            if how == "answered":
                self._seconds.extend(seconds)

    def ran(self, rows: int, distinct: int, slots: int, seconds: float) -> None:
        """One batch: questions, different ones among them, and the places that were computed for them."""
        with self._lock:
            self.batches += 1
            self.rows += rows
            self.distinct += distinct
            self.slots += slots
            self.batch_s += (seconds - self.batch_s) * (0.1 if self.batches > 1 else 1.0)

    def as_json(self) -> dict[str, Any]:
        with self._lock:
            seconds = np.array(self._seconds)
            content: dict[str, Any] = dict(self.endings)
            content |= {
                "batches": self.batches,
                "mean_batch": round(self.rows / self.batches, 2) if self.batches else None,
                "batch_fill": round(self.distinct / self.slots, 3) if self.slots else None,
                "asked_alike": round(1 - self.distinct / self.rows, 3) if self.rows else None,
                "batch_ms": round(1000 * self.batch_s, 3),
            }
        percentiles = np.percentile(seconds, [50, 90, 99]) if len(seconds) else [None] * 3
        names = ("p50_ms", "p90_ms", "p99_ms")
        content["latency"] = {
            name: None if value is None else round(1000 * float(value), 3)
            for name, value in zip(names, percentiles, strict=True)
        }
        return content
