"""Players with a trained network: `net` plays what it says, `az` searches with it.

Weights come from the folder that ships with the package, or from `weights=FILE`; a file that was trained under
other rules is refused. Several networks, `weights=FILE+FILE`, play as a committee.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.agents.agent import Forgetful
from stratagem.agents.weight_files import SHIPPED, loaded
from stratagem.core.errors import BadOption
from stratagem.core.game import Game, Listing, Perfect, Symmetric, View, require
from stratagem.networks.outputs import all_sides, committee, evaluator
from stratagem.networks.tensors import read_facts
from stratagem.networks.weights import load_weights
from stratagem.search import Evaluate, Gumbel, Puct, Rule, search
from stratagem.search.tree import check_searchable


@dataclass(frozen=True)
class Net(Forgetful):
    """The network alone: its likeliest move, or a draw from its policy."""

    game: Any
    weights: str = ""
    """A weight file, or several with + between them, whose mean plays; what ships for this game unless given."""
    temperature: float = 0.0
    """0 plays the likeliest move, 1 draws from the policy."""
    sides: bool = False
    """Ask the network from every side of the board and take the mean: better, and as many times slower."""
    traceable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self.game, Perfect, "agent net")
        opinion_of(self.game, self.weights, self.sides)

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        opinion = opinion_of(self.game, self.weights, self.sides)
        logits = jnp.where(legal, opinion(self.game.state_of(view))[0], -jnp.inf)
        if self.temperature == 0:
            return jnp.argmax(logits).astype(jnp.int32)
        return jax.random.categorical(key, logits / self.temperature).astype(jnp.int32)


@dataclass(frozen=True)
class AlphaZero(Forgetful):
    """Tree search with the network."""

    game: Any
    simulations: int = 100
    """Positions looked at for each move."""
    weights: str = ""
    """A weight file, or several with + between them, whose mean plays; what ships for this game unless given."""
    search: Literal["gumbel", "puct"] = "puct"
    """How it searches."""
    considered: int = 16
    """Gumbel: moves that the root looks at."""
    exploration: float = 1.25
    """PUCT: c_puct."""
    contenders: float = 0.1
    """PUCT: plays the best value among moves with this share of the most visits; 1 plays the most visited."""
    temperature: float = 0.0
    """0 plays the best move found, 1 as in self-play."""
    sides: bool = False
    """Ask the network from every side of the board and take the mean: better, and as many times slower."""
    breadth: int = 64
    """In games with thousands of actions: how many a node looks at, its likeliest; 0 for all that are legal."""
    traceable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self.game, Perfect, "agent az")
        check_searchable(self.game)
        if self.simulations < 1:
            raise BadOption(f"agent az: simulations is 1 or more, not {self.simulations}; try agent net")
        if not 0 < self.contenders <= 1:
            raise BadOption(f"agent az: contenders is a share above 0 and up to 1, not {self.contenders}")
        opinion_of(self.game, self.weights, self.sides)

    @property
    def rule(self) -> Rule:
        if self.search == "puct":
            return Puct(self.simulations, self.exploration, noise=0.0, contenders=self.contenders)
        return Gumbel(self.simulations, self.considered, scale=1.0 if self.temperature else 0.0)

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        evaluate = opinion_of(self.game, self.weights, self.sides)
        breadth = (self.breadth or None) if isinstance(self.game, Listing) else None
        state = self.game.state_of(view)
        return search(self.game, evaluate, self.rule, state, key, self.temperature, breadth).action


def opinion_of(game: Game, weights: str, sides: bool) -> Evaluate:
    """What the network says of a state, or a committee of them, from one side of the board or from all."""
    members = [evaluator(game, network) for network in networks_of(game, weights)]
    evaluate = members[0] if len(members) == 1 else committee(game, members)
    if not sides:
        return evaluate
    require(game, Symmetric, "option sides")
    return all_sides(game, evaluate)


def networks_of(game: Game, weights: str) -> list[Any]:
    """The networks that play this game together, from files or as shipped."""
    return [loaded(load_weights, path, game) for path in (_named(weights) if weights else shipped(game))]


def _named(weights: str) -> list[Path]:
    """The files that an option names; the name of one file may have a + in it."""
    return [Path(weights)] if Path(weights).is_file() else [Path(name) for name in weights.split("+")]


def shipped(game: Game) -> list[Path]:
    """The weight files in the package that play this game together; the most special if several could."""
    fitting = []
    for path in sorted(SHIPPED.glob("*.safetensors")):
        rulesets = read_facts(path)["rulesets"]
        if game.spec.ruleset in rulesets:
            fitting.append((len(rulesets), path))
    if not fitting:
        raise BadOption(
            f"no shipped weights play {game.spec.title}; give weights=FILE, or: stratagem train {game.spec.title}"
        )
    fewest = min(fitting)[0]
    return [path for rulesets, path in fitting if rulesets == fewest]
