"""Corso players that calculate: the minimax of the paper, and perfect play on boards that can be solved."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from stratagem.agents.agent import Forgetful
from stratagem.agents.corso_minimax import choose_many, root_scores
from stratagem.core.errors import BadOption, Unsupported
from stratagem.core.game import View
from stratagem.games.corso import Corso
from stratagem.solvers.corso import LARGEST_FINISHED, PerfectCorso


@dataclass(frozen=True)
class Minimax(Forgetful):
    """MM-k: depth-k minimax on marbles plus weighted dyed cells; the move is drawn from softmax(scores / T)."""

    game: Corso
    depth: int = 3
    """Moves looked ahead."""
    weight: float = 0.7
    """What a dyed cell is worth beside a marble, 0 to 1."""
    temperature: float = 0.1
    """1 in the paper's tournaments, where it costs strength; 0 plays one of the best moves."""
    traceable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        two_players(self.game, "mm")
        if not 1 <= self.depth <= 64:
            raise BadOption(f"agent mm: depth is 1 to 64, not {self.depth}")
        if not 0 <= self.weight <= 1:
            raise BadOption(f"agent mm: weight is 0 to 1, not {self.weight}")
        if not 0 <= self.temperature < np.inf:
            raise BadOption(f"agent mm: temperature is 0 or more, not {self.temperature}")

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        return int(self.act_many([memory], view[None], legal[None], [key])[0])

    def act_many(
        self, memories: list[Any], views: View, legals: np.ndarray, keys: list[np.random.Generator]
    ) -> np.ndarray:
        cells, movers = cell_codes(views)
        uniforms = np.array([key.random() for key in keys])
        return choose_many(
            cells,
            movers,
            self.game.width,
            self.game.height,
            self.depth,
            self.weight,
            self.temperature,
            uniforms,
        )

    def scores(self, view: View) -> np.ndarray:
        """float64[A]: what it thinks of every move; −inf where illegal."""
        cells, movers = cell_codes(view[None])
        return root_scores(
            cells[0], int(movers[0]), self.game.width, self.game.height, self.depth, self.weight
        )


def two_players(game: Corso, agent: str) -> None:
    """Refuse games that these agents are not defined for."""
    if game.players != 2:
        raise Unsupported(f"agent {agent} is for two players, not {game.players}; try greedy or random")


def cell_codes(views: View) -> tuple[np.ndarray, np.ndarray]:
    """(int8[B, cells], int64[B]) from views uint8[B, H, W, 5]: 0 empty, 1 + 2·player marble, 2 + 2·player dyed."""
    planes = np.asarray(views).reshape(len(views), -1, views.shape[-1])
    codes = (planes[:, :, :-1] * np.arange(1, planes.shape[-1], dtype=np.int8)).sum(axis=-1, dtype=np.int8)
    return codes, planes[:, 0, -1].astype(np.int64)


@dataclass(frozen=True)
class PerfectPlayer(Forgetful):
    """Any move that keeps the best possible margin. On 5×5 the first moves take it a while."""

    game: Corso
    traceable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        two_players(self.game, "perfect")
        if self.game.cells > LARGEST_FINISHED:
            raise BadOption(
                f"agent perfect plays boards of up to {LARGEST_FINISHED} cells, "
                f"not {self.game.width}×{self.game.height}; try mm:depth=6"
            )

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        cells, movers = cell_codes(view[None])
        best = oracle(self.game.width, self.game.height).best_moves(cells[0], int(movers[0]))
        return int(key.choice(best))


@lru_cache(maxsize=4)
def oracle(width: int, height: int) -> PerfectCorso:
    """One solver a board size, whose table serves every game of this process."""
    return PerfectCorso(width, height)
