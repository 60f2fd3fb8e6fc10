"""A GENERAL player that needs no training: expectimax with a hand heuristic."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stratagem.agents.agent import Forgetful
from stratagem.agents.general_expectimax import root_values
from stratagem.core.errors import BadOption
from stratagem.core.game import View
from stratagem.games.general import General


@dataclass(frozen=True)
class Expectimax(Forgetful):
    """The best action on average over the dice, by a heuristic of units, hits and places; ties are drawn."""

    game: General
    depth: int = 2
    """1 looks at the own action, 2 also at the best answer to every die."""
    position: float = 1.0
    """How much the places of units count beside their number; 0 counts units and hits alone."""
    traceable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.depth not in (1, 2):
            raise BadOption(f"agent expectimax: depth is 1 or 2, not {self.depth}")
        if not 0 <= self.position < np.inf:
            raise BadOption(f"agent expectimax: position is 0 or more, not {self.position}")

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        actions, values = self.values(view, legal)
        return int(key.choice(actions[values >= values.max() - 1e-9]))

    def values(self, view: View, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(int64[N], float64[N]): the legal actions and what it thinks of each, in units."""
        board, facts, role, die = position_of(view, self.game.turns)
        actions = np.flatnonzero(legal)
        return actions, root_values(board, facts, role, die, actions, self.depth, self.position)


def position_of(view: View, turns: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """(int8[100], int64[6], role, die): a view of the seat to move as `general_expectimax` takes it."""
    planes = np.asarray(view).reshape(100, -1)
    facts = planes[0]
    role = int(facts[4])
    board = (planes[:, role] + 2 * planes[:, 1 - role]).astype(np.int8)
    used = [int(facts[9 + role] == 0), int(facts[10 - role] == 0), int(facts[11] == 0)]
    numbers = [round(float(facts[7]) * 3), *used, round(float(facts[13]) * turns), turns]
    return board, np.array(numbers, np.int64), role, round(float(facts[6]) * 6)
