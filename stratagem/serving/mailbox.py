"""From any thread into an event loop, with one knock for many letters."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Mailbox:
    """Calls functions in the loop that made it."""

    def __init__(self, after: Callable[[], None] | None = None):
        self.loop = asyncio.get_running_loop()
        self._letters: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._lock = threading.Lock()
        self._knocked = False
        self._after = after
        """Called in the loop whenever the box has been emptied."""

    def post(self, function: Callable[..., None], *arguments: Any) -> None:
        """Have `function(*arguments)` called soon; from any thread. Dropped if the loop is closed."""
        self._letters.append((function, arguments))
        with self._lock:
            if self._knocked:
                return
            self._knocked = True
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._empty)

    def _empty(self) -> None:
        with self._lock:
            self._knocked = False
        while self._letters:
            function, arguments = self._letters.popleft()
            function(*arguments)
        if self._after:
            self._after()
