"""Other players at the tables of a learner: a teacher whose moves it learns, or opponents that it learns to beat.

A guest has seats in some of the lanes, and a memory of its own in each. However many they are, it is asked once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.game import Game, View
from stratagem.networks.judgements import drawn
from stratagem.networks.senses import Senses


@dataclass(frozen=True, eq=False)
class Guest:
    """Who sits where: one entry a seat, so a lane comes twice if it has two of them there."""

    agent: Any  # traceable: memory, act, remember
    lanes: np.ndarray  # int[K]
    seats: np.ndarray  # int[K]

    def blank(self) -> Any:
        """Its memories [K] before the game."""
        return jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (len(self.lanes), *jnp.shape(leaf))), self.agent.memory()
        )


@dataclass(frozen=True)
class Snapshot:
    """A network as a player: draws from its policy, from its own memory."""

    senses: Senses
    network: Any
    heat: float = 1.0

    def memory(self) -> Any:
        return self.senses.blank()

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        record = self.senses.observe(memory, view)[1]
        chances = self.network(self.senses.features(record)).chances(legal)
        return drawn(chances, self.heat, key)

    def remember(self, memory: Any, view: View, action: Array) -> Any:
        return self.senses.note(self.senses.observe(memory, view)[0], action)


def partners_at(game: Game, agents: Sequence[Any], lanes: int) -> list[Guest]:
    """Agents who share the first so many lanes equally and have all seats there but one, which goes round."""
    number = np.arange(lanes)
    who = number * len(agents) // max(lanes, 1)
    free = np.arange(game.spec.seats)[:, None] != number % game.spec.seats  # [P, lanes]
    found = []
    for index, agent in enumerate(agents):
        seats, places = np.nonzero(free & (who == index))
        if len(places):
            found.append(Guest(agent, places, seats))
    return found


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
        lanes, seats = jnp.asarray(guest.lanes), jnp.asarray(guest.seats)
        there = jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], state)
        views = jax.vmap(game.view)(there, seats)
        own_key = jax.random.fold_in(key, number)
        if game.spec.dynamics == "simultaneous":
            keys = jax.random.split(own_key, len(lanes))
            answers = jax.vmap(guest.agent.act)(memory, views, legal[lanes, seats], keys)
        else:
            answers = in_turn(game, guest, memory, state, legal, moved, own_key)
        noted = jnp.where(moved[lanes, seats], answers, -1)
        kept.append(jax.vmap(guest.agent.remember)(memory, views, noted))
        action = action.at[lanes, seats].set(jnp.where(noted >= 0, answers, action[lanes, seats]))
        led = led.at[lanes, seats].set(True)
    return action, led, tuple(kept)


def in_turn(
    game: Game, guest: Guest, memory: Any, state: Any, legal: Array, moved: Array, key: Array
) -> Array:
    """int32[K]: what the seat to move would do, for all seats of its lane: one question a lane."""
    lanes, lane_of = np.unique(guest.lanes, return_inverse=True)
    entries = np.zeros((len(lanes), game.spec.seats), np.int32)  # someone else's seat: any answer does
    entries[lane_of, guest.seats] = np.arange(len(guest.lanes))
    mover = jnp.argmax(moved[lanes], axis=1)
    entry = jnp.asarray(entries)[jnp.arange(len(lanes)), mover]
    there, mine = (
        jax.tree.map(lambda leaf: leaf[lanes], state),
        jax.tree.map(lambda leaf: leaf[entry], memory),
    )
    views = jax.vmap(game.view)(there, mover)
    keys = jax.random.split(key, len(lanes))
    return jax.vmap(guest.agent.act)(mine, views, legal[lanes, mover], keys)[lane_of]
