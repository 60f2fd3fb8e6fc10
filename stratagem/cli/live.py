"""`stratagem live`"""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import jax
import numpy as np
import tyro

from stratagem.agents import make_agent
from stratagem.agents.agent import Agent, Closing
from stratagem.arena.session import decide
from stratagem.cli.output import log, out, print_json
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption
from stratagem.games.generals import Generals, View
from stratagem.protocols.generals_live import Address, play, rehearse

SECRET = "STRATAGEM_USER_ID"


@dataclass(frozen=True)
class Command:
    """Have an agent play Generals on a generals.io server: in a private room, or one against one from the queue.

    Bots are welcome on the bots' server only, under a name that begins with [Bot].
    """

    game: Annotated[Literal["generals"], tyro.conf.arg(metavar="GAME")]
    """The game: generals."""
    agent: str = ""
    """Who plays: a name, with options after a colon. `stratagem games` lists them."""
    server: str = ""
    """The server's address: https://…, or ws://127.0.0.1:8080 for one of your own."""
    user_id: str = ""
    """The player's secret id. Better in the variable STRATAGEM_USER_ID, where other users do not see it."""
    username: str = ""
    """The name that the player has there."""
    room: str | None = None
    """Play in this private room."""
    queue: Annotated[bool, tyro.conf.arg(name="1v1")] = False
    """Play whoever comes next in the queue of one against one."""
    games: int = 1
    """How many games to play, one after the other."""
    board: int = 24
    """Sides of the largest map that can come; smaller ones are filled up with mountains."""
    connect_s: float = 10.0
    """Longest wait for a connection, in seconds."""
    start_s: float = 600.0
    """Longest wait for a game to start."""
    silence_s: float = 30.0
    """Longest silence of the server in a game."""
    retries: int = 5
    """How often a connection that is lost before the game is made again."""
    seed: int = 0
    """Other seeds give other choices, where the agent draws any."""
    json: bool = False
    """Print one JSON object instead of lines."""

    def run(self) -> int:
        for option in ("agent", "server", "username"):
            if not getattr(self, option):
                raise BadOption(f"live needs --{option}; see stratagem live --help")
        if (self.room is None) != self.queue:
            raise BadOption("give either --room NAME or --1v1")
        user_id = self.user_id or os.environ.get(SECRET, "")
        if not user_id:
            raise BadOption(f"live needs --user-id, or the variable {SECRET}")
        address = Address(
            server=self.server,
            user_id=user_id,
            username=self.username,
            room=self.room,
            connect_s=self.connect_s,
            start_s=self.start_s,
            silence_s=self.silence_s,
            retries=self.retries,
        )
        use_compile_cache()
        game = Generals(self.board, self.board)
        agent = make_agent(self.agent, game)
        log.print(f"Preparing {self.agent} …", highlight=False)
        rehearse(game, AgentSeat(agent, self.seed))
        outcomes = []
        for number in range(self.games):
            seat = AgentSeat(agent, self.seed + number)
            try:
                outcome = play(
                    address, game, seat, lambda line: log.print(line, highlight=False, markup=False)
                )
            finally:
                seat.close()
            outcomes.append(asdict(outcome))
            if not self.json:
                text = f"{outcome.result} in {outcome.turns} turns against {outcome.opponent}"
                out.print(text, highlight=False, markup=False)
        if self.json:
            won = sum(one["result"] == "won" for one in outcomes)
            print_json({"agent": self.agent, "server": self.server, "won": won, "games": outcomes})
        return 0


@lru_cache(maxsize=1)
def renewal(agent: Agent) -> Callable[..., Any]:
    """`remember`, compiled once for all games."""
    return jax.jit(agent.remember) if agent.traceable else agent.remember


class AgentSeat:
    """An agent with its memory, for one game."""

    def __init__(self, agent: Agent, seed: int):
        self.agent, self.seed = agent, seed
        self.memory: Any = agent.memory()

    def decide(self, view: View, legal: np.ndarray, turn: int) -> int:
        return decide(self.agent, self.memory, view, legal, self.seed, 0, turn)

    def remember(self, view: View, action: int) -> None:
        done = np.int32(action) if self.agent.traceable else action
        self.memory = renewal(self.agent)(self.memory, view, done)

    def close(self) -> None:
        if isinstance(self.agent, Closing):
            self.agent.close(self.memory)
