"""`stratagem analyze`"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from stratagem.analysis.engine import Engine, Limits
from stratagem.analysis.query import LONGEST_LINE
from stratagem.core.compile_cache import use_compile_cache


@dataclass(frozen=True)
class Command:
    """Judge positions: queries on stdin, answers on stdout, one JSON object a line; docs/analysis.md has the fields.

    Try: {"id": "a", "game": "corso", "moves": ["c3"]}
    """

    queue: int = Limits.waiting
    """Queries that may wait; more are told that the engine is busy."""

    def run(self) -> int:
        use_compile_cache()
        engine = Engine(Limits(waiting=self.queue))
        writer = threading.Thread(target=write_answers, args=(engine,), daemon=True)
        writer.start()
        try:
            for line in lines(sys.stdin.buffer):
                engine.wait_for_room()
                engine.submit(line)
            engine.close()
            writer.join()
        except KeyboardInterrupt:
            leave(
                130
            )  # the engine's thread may be in the middle of compiling; nothing of it is needed any more
        return 0


def lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, without what is beyond the longest that will be read."""
    while line := source.readline(LONGEST_LINE + 2):
        rest = line
        while not rest.endswith(b"\n") and (rest := source.readline(LONGEST_LINE)):
            pass
        if line.strip():
            yield line.rstrip(b"\r\n")


def write_answers(engine: Engine) -> None:
    """One line an answer, as they come."""
    try:
        for answer in engine.answers():
            sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:
        leave(0)  # nobody listens any more


def leave(status: int) -> None:
    """End the process, whatever its threads do."""
    sys.stderr.flush()
    os._exit(status)
