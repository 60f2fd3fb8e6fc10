"""An agent played by a running service: `remote:socket=PATH,model=NAME` or `remote:socket=PATH,agent=mm:depth=4`.

Commas separate the options of `remote` itself, so those of the served agent are separated by semicolons:
`remote:socket=PATH,agent=az:simulations=32;temperature=1`.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import jax
import numpy as np

from stratagem.agents.agent import Forgetful
from stratagem.core.errors import BadOption
from stratagem.core.game import Perfect, View, require
from stratagem.serving.client import Client


@dataclass(frozen=True)
class Remote(Forgetful):
    """A served network's likeliest move, or what a served agent does."""

    game: Any
    socket: str = ""
    """The path of the service's socket, or its port."""
    model: str = ""
    """A served network: plays its likeliest action, or is what `agent` plays with."""
    agent: str = ""
    """A served agent, its options separated by semicolons."""
    traceable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require(self.game, Perfect, "agent remote")
        if not self.socket:
            raise BadOption(
                "agent remote: give socket=PATH; start a server with: stratagem serve --socket PATH"
            )
        if not self.model and not self.agent:
            raise BadOption("agent remote: give either model= or agent=")

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        rows = jax.tree.map(lambda leaf: np.asarray(leaf)[None], view)
        return int(self.act_many([memory], rows, legal[None], [key])[0])

    def act_many(
        self, memories: list[Any], views: View, legals: np.ndarray, keys: list[np.random.Generator]
    ) -> np.ndarray:
        line = connection(self.socket)
        if not self.agent:
            rows = [jax.tree.map(lambda leaf, row=row: leaf[row], views) for row in range(len(legals))]
            answers = line.evaluate_many(self.model, rows, list(legals))
            return np.array([int(np.argmax(answer.logits)) for answer in answers])
        states = jax.vmap(self.game.state_of)(views)
        positions = [
            jax.tree.map(lambda leaf, row=row: np.asarray(leaf)[row], states) for row in range(len(legals))
        ]
        options = [{"seed": int(key.integers(1 << 32)), "model": self.model} for key in keys]
        agent = self.agent.replace(";", ",")
        return np.array(line.act_many(agent, self.game.spec.title, positions, options))


@lru_cache(maxsize=8)
def connection(socket: str) -> Client:
    """One client a service, for all games of this process."""
    return Client(int(socket) if socket.isdecimal() else socket)
