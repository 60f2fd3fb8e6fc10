"""A GENERAL player that learned against one opponent, and expects everybody to answer as that one does."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from stratagem.agents.agent import Forgetful
from stratagem.agents.general import position_of
from stratagem.agents.general_belief import Belief, read_beliefs, space_of
from stratagem.agents.general_foresight import foreseen
from stratagem.agents.weight_files import SHIPPED, loaded
from stratagem.core.errors import BadOption
from stratagem.core.game import View
from stratagem.games.general import General

ROLES = ("attacker", "defender")


@dataclass(frozen=True)
class Nemesis(Forgetful):
    """What it learned in games against expectimax, with expectimax's answers looked ahead to; a rival of that one."""

    game: General
    ahead: int = 5
    """1 looks at the own action, 2 also at expectimax's answer to every die, 3 also at the own next action, and so on
    to 5, where actions are close. Each own action more takes ten times as long; 4 answers at once."""
    width: int = 6
    """Of how many own actions it looks at the answers."""
    margin: float = 0.05
    """Actions that seem worse than the best by more than this share of a game are not looked at."""
    attacker: str = ""
    """A file of beliefs to attack by, as `general_best_response.py` learns them; the shipped one unless given."""
    defender: str = ""
    """The same to defend by."""
    traceable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.ahead <= 5:
            raise BadOption(f"agent nemesis: ahead is 1 to 5, not {self.ahead}")
        if self.width < 1:
            raise BadOption(f"agent nemesis: width is 1 or more, not {self.width}")
        if not 0 <= self.margin <= 1:
            raise BadOption(f"agent nemesis: margin is a share of a game, not {self.margin}")
        for role in range(2):
            self.beliefs(role)

    def beliefs(self, role: int) -> tuple[Belief, Belief]:
        name = (self.attacker, self.defender)[role]
        path = Path(name) if name else SHIPPED / "beliefs" / f"general-{ROLES[role]}.safetensors"
        return loaded(read_beliefs, path, self.game)

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        actions, values = self.values(view, legal)
        return int(key.choice(actions[values >= values.max() - 1e-12]))

    def values(self, view: View, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(int64[N], float64[N]): the legal actions, and what it expects of each: its share of the game.

        Actions that it did not look at come out below nought.
        """
        board, facts, role, die = position_of(view, self.game.turns)
        actions = np.flatnonzero(legal)
        beliefs = self.beliefs(role)
        space = space_of(beliefs[0])
        settings = self.ahead, self.width, self.margin
        return actions, foreseen(beliefs, board, facts, role, die, actions, space, *settings)
