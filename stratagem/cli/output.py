"""How commands speak: one JSON object or a table on stdout; progress and logs on stderr."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

out = Console()
log = Console(stderr=True)

PLAIN_EVERY = 5.0  # seconds between progress lines when nobody watches a terminal


def print_json(content: Any) -> None:
    """One object, one line, on stdout."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")
    sys.stdout.flush()


@contextmanager
def progress_bar(label: str, total: float | None = None) -> Iterator[Callable[[float, float], None]]:
    """A bar with an ETA on a terminal, a line now and then elsewhere. Yields update(done, total)."""
    if log.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=log, transient=True) as bars:
            task = bars.add_task(label, total=total)
            yield lambda done, total: bars.update(task, completed=done, total=total)
        return
    began = shown = time.monotonic()

    def plain(done: float, total: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= PLAIN_EVERY and done:
            shown = now
            left = (now - began) * (total - done) / done
            print(f"{label}: {done:g} of {total:g}, about {left:.0f} s left", file=sys.stderr, flush=True)

    yield plain
