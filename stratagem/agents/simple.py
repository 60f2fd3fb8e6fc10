"""Players that need no search: the floor of every rating list."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.agents.agent import Forgetful
from stratagem.core.game import Game, Perfect, Scored, View, require
from stratagem.core.play import pick


@dataclass(frozen=True)
class Random(Forgetful):
    """Any legal action, each as likely as the others."""

    game: Game
    traceable: ClassVar[bool] = True

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        return pick(legal, jax.random.uniform(key))


@dataclass(frozen=True)
class Greedy(Forgetful):
    """Whatever is best for the score right after it: own points minus the best opponent's."""

    game: Any
    traceable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self.game, Perfect, "the greedy agent")
        require(self.game, Scored, "the greedy agent")

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        step_key, tie_key = jax.random.split(key)
        state = self.game.state_of(view)
        seat = jnp.argmax(self.game.to_move(state))

        def margin(action: Array) -> Array:
            actions = jnp.full(self.game.spec.seats, action, jnp.int32)
            scores = self.game.scores(self.game.step(state, actions, step_key)).astype(jnp.float32)
            others = jnp.where(jnp.arange(self.game.spec.seats) == seat, -jnp.inf, scores)
            return scores[seat] - others.max()

        margins = jnp.where(legal, jax.vmap(margin)(jnp.arange(self.game.spec.actions)), -jnp.inf)
        return pick(margins == margins.max(), jax.random.uniform(tie_key))
