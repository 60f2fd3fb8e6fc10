"""What stands between a view and a network that plays by feel: memory, a compact record, and features.

A learner stores the compact record of every turn and makes features of it again when it learns, so that a long
rollout of large boards fits in memory. An agent does the same from views alone.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.core.game import GameSpec, View


class Senses(Protocol):
    """How a player of one game takes in what it sees. All functions are for one seat of one game."""

    @property
    def game(self) -> Any: ...

    @property
    def spec(self) -> GameSpec: ...

    def __hash__(self) -> int: ...

    def blank(self) -> Any:
        """The memory before the first view."""

    def observe(self, memory: Any, view: View) -> tuple[Any, Any]:
        """(The memory with the view in it, a record in small types of all that the network may know)."""

    def note(self, memory: Any, action: Array) -> Any:
        """The memory after an action of one's own."""

    def features(self, record: Any) -> Any:
        """What the network reads: floats."""


class BoardFeatures(NamedTuple):
    """What a network for boards reads."""

    cells: Array  # float32[H, W, C]; all zero where there is no cell
    present: Array  # bool[H, W]: where the board is; the rest is padding
    scores: Array  # float32[2, K]: two scoreboards over time
    clock: Array  # float32[N]: what is the same for the whole board


@dataclass(frozen=True)
class PlainSenses:
    """For games whose view says it all: no memory, and every number of the view as it is."""

    game: Any

    @property
    def spec(self) -> GameSpec:
        return self.game.spec

    def blank(self) -> Any:
        return ()

    def observe(self, memory: Any, view: View) -> tuple[Any, Any]:
        return memory, view

    def note(self, memory: Any, action: Array) -> Any:
        return memory

    def features(self, record: Any) -> Array:
        """float32[N]"""
        leaves = [jnp.ravel(leaf).astype(jnp.float32) for leaf in jax.tree.leaves(record)]
        return jnp.concatenate(leaves)


def shapes_of(senses: Senses) -> Any:
    """The shapes of the features that a network for these senses reads."""

    def seen(state: Any) -> Any:
        view = senses.game.view(state, jnp.int32(0))
        return senses.features(senses.observe(senses.blank(), view)[1])

    # From the shapes of a state, not from a state: nothing is worked out even where a first state is a constant.
    return jax.eval_shape(seen, jax.eval_shape(senses.game.init, jax.random.key(0)))
