"""How far a network that is still learning has come: its score against players that need no training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents import make_agent
from stratagem.agents.agent import Forgetful
from stratagem.arena.match import play_games
from stratagem.core.game import Game, View


@dataclass(frozen=True)
class Learning(Forgetful):
    """The network as it is now, without search: an agent whose weights are an argument, so it compiles once."""

    game: Any
    network: Any
    traceable: ClassVar[bool] = False

    def act(self, memory: Any, view: View, legal: np.ndarray, key: np.random.Generator) -> int:
        return int(self.act_many([memory], view[None], legal[None], [key])[0])

    def act_many(
        self, memories: list[Any], views: View, legals: np.ndarray, keys: list[np.random.Generator]
    ) -> np.ndarray:
        rows = 1 << (len(legals) - 1).bit_length()  # few shapes, so few compilations
        spread = np.arange(rows) % len(legals)
        chosen = likeliest(self.network, jnp.asarray(views[spread]), jnp.asarray(legals[spread]))
        return np.asarray(chosen)[: len(legals)]


@eqx.filter_jit
def likeliest(network: Any, views: jax.Array, legals: jax.Array) -> jax.Array:
    """int[R]: the network's first choice in each row."""
    logits = jax.vmap(network)(views).logits
    return jnp.argmax(jnp.where(legals, logits, -jnp.inf), axis=-1)


def climb(game: Game, ladder: Sequence[str], games: int, network: Any, iteration: int) -> Mapping[str, float]:
    """The score of the network alone against each opponent, seats in turn, and in each role where there are roles."""
    scores: dict[str, float] = {}
    for name in ladder:
        agents = [Learning(game, network), make_agent(name, game)]
        seatings = [[(seat + index) % 2 for seat in range(game.spec.seats)] for index in range(games)]
        played = play_games(game, agents, seatings, [index // 2 for index in range(games)])
        points = [(one.returns[one.seating.index(0)] + 1) / 2 for one in played]
        scores[f"against {name}"] = float(np.mean(points))
        roles = [one.roles[one.seating.index(0)] if one.roles else "" for one in played]
        for role in sorted(set(filter(None, roles))):
            held = [score for score, one in zip(points, roles, strict=True) if one == role]
            scores[f"against {name} as {role}"] = float(np.mean(held))
    return scores
