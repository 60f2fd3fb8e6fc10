"""`stratagem bot`"""

import os
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Command:
    """Speak the competition protocol on stdin and stdout, as one of our agents; ends with its input."""

    game: Annotated[Literal["generals"], tyro.conf.arg(metavar="GAME")]
    """The game: generals."""
    agent: str = "cascade"
    """Who plays."""
    limit: float = 0.1
    """Seconds for an answer; a simpler player answers in time when the agent cannot."""
    first: float = 0.0
    """Seconds for the first answer, if that may take longer: while the agent is made ready."""
    build: bool = True
    """Castles can be built."""
    seed: int = 0
    """Other seeds break ties otherwise."""

    def run(self) -> int:
        from stratagem.protocols.generals_stdio import run_bot

        source = open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        run_bot(self.agent, source, sys.stdout, self.limit, self.build, self.seed, self.first)
        sys.stdout.flush()
        # The player's thread may be in the middle of compiling; nothing of it is needed any more.
        os._exit(0)
