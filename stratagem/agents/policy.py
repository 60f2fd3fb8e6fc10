"""A trained policy: plays what its network likes, from its own views and what it remembers of them.

One network plays boards of all sizes, so a file is only asked to be of the same game: sizes, caps and maps may differ
from those it was trained on, and how well it plays there is for the arena to say. Of several shipped files the one
trained on the map at hand plays it, or on the board that is nearest in size.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from stratagem.agents.senses import senses_for
from stratagem.agents.weight_files import SHIPPED, loaded
from stratagem.core.errors import BadOption
from stratagem.core.game import Game, View
from stratagem.core.registry import split_choice
from stratagem.networks.judgements import drawn
from stratagem.networks.senses import Senses
from stratagem.networks.tensors import read_facts
from stratagem.networks.weights import load_policy


@dataclass(frozen=True)
class Policy:
    """The network alone, with memory."""

    game: Any
    weights: str = ""
    """A weight file; the shipped one for this game unless given."""
    temperature: float = 0.25
    """1 draws from the policy as it was trained, 0 plays the likeliest action, and may go round in circles."""
    traceable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise BadOption(f"agent policy: temperature is 0 or more, not {self.temperature}")
        policy_of(self.game, self.weights)

    @cached_property
    def senses(self) -> Senses:
        return senses_for(self.game)

    @property
    def network(self) -> Any:
        return policy_of(self.game, self.weights)

    def memory(self) -> Any:
        return self.senses.blank()

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        record = self.senses.observe(memory, view)[1]
        chances = self.network(self.senses.features(record)).chances(legal)
        return drawn(chances, self.temperature, key)

    def remember(self, memory: Any, view: View, action: Array) -> Any:
        return self.senses.note(self.senses.observe(memory, view)[0], jnp.asarray(action))


def policy_of(game: Game, weights: str) -> Any:
    """The network that plays this game, from a file or as shipped."""
    return loaded(_policy_in, Path(weights) if weights else shipped_policy(game), game)


def _policy_in(path: str, game: Game) -> Any:
    return load_policy(path, senses_for(game))


def shipped_policy(game: Game) -> Path:
    """The weight file in the package that plays this game.

    One trained under these very rules comes before the others, then boards nearest in size, then the plainest name.
    """
    policies = {
        path: read_facts(path) for path in sorted(SHIPPED.glob("*.safetensors"), key=lambda path: path.stem)
    }
    able = [
        path for path, facts in policies.items() if facts.get("policy") and facts["game"] == game.spec.name
    ]
    if not able:
        name = game.spec.name
        raise BadOption(
            f"no shipped weights play {name} by policy; give weights=FILE, or: stratagem train {name}"
        )
    return min(able, key=lambda path: _distance(game, policies[path]["rulesets"]))


def _distance(game: Game, rulesets: dict[str, str]) -> float:
    """How far the boards of a file are from those of the game; less than nothing under the same rules."""
    if game.spec.ruleset in rulesets:
        return -1.0
    return min(abs(math.log(_cells(title) / _cells(game.spec.title))) for title in rulesets.values())


def _cells(title: str) -> int:
    """The size of the largest board; one for games without boards."""
    options = split_choice(title)[1]
    return int(options.get("width", 1)) * int(options.get("height", 1))
