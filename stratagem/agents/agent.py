"""What an agent is: something that chooses an action from what one seat may see.

An agent is a frozen dataclass whose first field is the game and whose other fields are its options, so that
`mm:depth=4` on the command line is `Minimax(game, depth=4)`. Memory belongs to the agent, because on a real server
only views arrive: it is made by `memory`, handed to every `act`, and renewed by `remember` after every turn.

There are two kinds, told apart by `traceable`:
- traceable: pure JAX for one seat of one game; `key` is a JAX key; whoever runs it adds `vmap` and `jit`.
- host: plain Python on NumPy arrays; `key` is a `numpy.random.Generator`; may also offer `act_many`.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from stratagem.core.game import Game, View


@runtime_checkable
class Agent(Protocol):
    """One player."""

    traceable: ClassVar[bool]

    @property
    def game(self) -> Game: ...

    def __hash__(self) -> int: ...

    def memory(self) -> Any:
        """What it knows before the game, for one seat: a pytree of arrays if traceable, else anything."""

    def act(self, memory: Any, view: View, legal: Any, key: Any) -> Any:
        """The action of a seat that is to move. `legal` is bool[A]."""

    def remember(self, memory: Any, view: View, action: Any) -> Any:
        """The memory after a turn in which this seat saw `view` and did `action` (−1 if not to move)."""


@runtime_checkable
class BatchAgent(Agent, Protocol):
    """A host agent that is faster when asked about many positions at once."""

    def act_many(
        self, memories: list[Any], views: View, legals: np.ndarray, keys: list[np.random.Generator]
    ) -> np.ndarray:
        """int[R]: one action for each of R rows; `views` is one tree of arrays with R rows."""


@runtime_checkable
class Closing(Protocol):
    """A host agent whose memory holds something to be given back, such as a process."""

    def close(self, memory: Any) -> None: ...


class Forgetful:
    """For agents that decide from the view alone."""

    def memory(self) -> Any:
        return ()

    def remember(self, memory: Any, view: View, action: Any) -> Any:
        return memory
