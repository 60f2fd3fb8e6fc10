"""Other players at the tables of a learner: a teacher whose moves it learns, or opponents that it learns to beat.

A guest has one seat in each of some neighbouring lanes, the seats in turn, and a memory of its own there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.core.game import Game, View
from stratagem.networks.senses import Senses


@dataclass(frozen=True)
class Guest:
    """Who plays seat (lane + flip) of the lanes from `first` on."""

    agent: Any  # traceable: memory, act, remember
    first: int
    count: int
    flip: int = 0

    def lanes(self) -> Array:
        return jnp.arange(self.first, self.first + self.count)

    def seats(self, game: Game) -> Array:
        return (self.lanes() + self.flip) % game.spec.seats

    def blank(self) -> Any:
        """Its memories [count] before the game."""
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (self.count, *jnp.shape(leaf))), self.agent.memory()
        )


@dataclass(frozen=True)
class Snapshot:
    """A network as a player: draws from its policy, from its own memory."""

    senses: Senses
    network: Any

    def memory(self) -> Any:
        return self.senses.blank()

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        record = self.senses.observe(memory, view)[1]
        chances = self.network(self.senses.features(record)).chances(legal)
        return jax.random.categorical(key, chances).astype(jnp.int32)

    def remember(self, memory: Any, view: View, action: Array) -> Any:
        return self.senses.note(self.senses.observe(memory, view)[0], action)


def guests_act(
    game: Game,
    guests: Sequence[Guest],
    memories: tuple[Any, ...],
    state: Any,
    legal: Array,
    moved: Array,
    action: Array,
    key: Array,
) -> tuple[Array, Array, tuple[Any, ...]]:
    """(The actions [B, P] with those of the guests in place, bool[B, P] where they sit, their memories)."""
    led, kept = jnp.zeros_like(moved), []
    for number, (guest, memory) in enumerate(zip(guests, memories, strict=True)):
        lanes, seats = guest.lanes(), guest.seats(game)
        there = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], state)
        views = jax.vmap(game.view)(there, seats)
        keys = jax.random.split(jax.random.fold_in(key, number), guest.count)
        answers = jax.vmap(guest.agent.act)(memory, views, legal[lanes, seats], keys)
        noted = jnp.where(moved[lanes, seats], answers, -1)
        kept.append(jax.vmap(guest.agent.remember)(memory, views, noted))
        action = action.at[lanes, seats].set(jnp.where(noted >= 0, answers, action[lanes, seats]))
        led = led.at[lanes, seats].set(True)
    return action, led, tuple(kept)
