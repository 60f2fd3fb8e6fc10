"""How much a client may ask for. Everything that a page can make grow has a bound here."""

import time
from collections import OrderedDict
from dataclasses import dataclass

from stratagem.core.errors import StratagemError


class TooMuch(StratagemError):
    """A client asked for more than it may have; it can ask again later."""


@dataclass(frozen=True)
class Limits:
    """The bounds of one studio."""

    games: int = 1000
    """Running games in memory."""
    connections: int = 1500
    """Open websockets."""
    watchers: int = 64
    """Open websockets of one game."""
    message: int = 16_384
    """Bytes of a websocket message."""
    body: int = 4_000_000
    """Bytes of an HTTP request: a replay that is dropped on the page."""
    queue: int = 256
    """Moves that wait at a seat of a game that does not wait for them."""
    outgoing: int = 256
    """Messages that wait for a client that does not read; then it is hung up on."""
    messages_s: float = 50.0
    """Messages a second of one websocket, after a burst of twice as many."""
    creations_s: float = 10.0
    """New games a second of one address, after a burst of twenty times as many."""
    requests_s: float = 100.0
    """HTTP requests a second of one address, after a burst of five times as many."""
    hints: int = 4
    """Hints that are thought about at a time, in all."""
    thinking_s: float = 120.0
    """An agent that thinks longer has failed."""
    replays: int = 32
    """Replays that are kept ready for watching."""


class Bucket:
    """Lets so many through a second, after a burst."""

    def __init__(self, rate: float, burst: float):
        self.rate, self.burst = rate, burst
        self.level, self.seen = burst, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self.level = min(self.burst, self.level + (now - self.seen) * self.rate)
        self.seen = now
        if self.level < 1:
            return False
        self.level -= 1
        return True


class Buckets:
    """One bucket an address; the addresses that were silent longest are forgotten."""

    def __init__(self, rate: float, burst: float, most: int = 4096):
        self.rate, self.burst, self.most = rate, burst, most
        self._known: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, who: str) -> bool:
        bucket = self._known.pop(who, None) or Bucket(self.rate, self.burst)
        self._known[who] = bucket
        while len(self._known) > self.most:
            self._known.popitem(last=False)
        return bucket.take()
