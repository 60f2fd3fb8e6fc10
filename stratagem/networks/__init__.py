"""Networks, and the table that matches them to games.

A network is written as a choice, `global:channels=64,blocks=4`; what the choice names is a recipe, a frozen
dataclass that holds the game and the sizes, and whose `build` makes the network from a key.
"""

import dataclasses
from typing import Any, Protocol

import equinox as eqx
import jax
from jax import Array

from stratagem.core.errors import UnknownName
from stratagem.core.game import Game
from stratagem.core.registry import Registry, Row, split_choice


class Recipe(Protocol):
    """How to make a network for a game."""

    def build(self, key: Array) -> eqx.Module: ...


NETWORKS: Registry[Recipe] = Registry(
    "network",
    [
        Row(
            "paper",
            "stratagem.networks.recipes:Paper",
            "the Corso paper's: 4×64, two heads",
            games=("corso",),
        ),
        Row(
            "classic",
            "stratagem.networks.recipes:Classic",
            "AlphaGo Zero's residual network; as it stands, GENERAL's of 7 blocks of 196",
        ),
        Row(
            "from-to",
            "stratagem.networks.from_to:FromTo",
            "moves as pairs of cells: what is learned of one cell is known of all",
            games=("general",),
        ),
        Row(
            "global",
            "stratagem.networks.recipes:Global",
            "the best found: any board size, every block hears the whole board",
            games=("corso",),
        ),
        Row(
            "patch",
            "stratagem.networks.policy_recipes:Patch",
            "a transformer over 3×3 patches of the board and the scoreboards, any board size",
            games=("generals",),
        ),
        Row(
            "unet",
            "stratagem.networks.policy_recipes:Pyramid",
            "DeepNash's shape: convolutions to coarser boards and back, any board size",
            games=("generals",),
        ),
        Row(
            "hierarchical",
            "stratagem.networks.hispania_recipes:Hierarchical",
            "tiles and pieces apart, then together, then a decoder that writes tokens; any map",
            games=("hispania",),
        ),
        Row(
            "flat",
            "stratagem.networks.hispania_recipes:Flat",
            "layers over all numbers of the map at once, to compare with",
            games=("hispania",),
        ),
        Row("mlp", "stratagem.networks.policy_recipes:Small", "layers over all numbers of a small view"),
    ],
)


WAYS = ("flash",)  # options that say how a network is worked out, not what it is


def make_network(text: str, game: Game, key: Array) -> Any:
    """The network that a choice names, for this game, with fresh weights."""
    row = NETWORKS.row(split_choice(text)[0])
    if row.games and game.spec.name not in row.games:
        fitting = ", ".join(one.name for one in NETWORKS if not one.games or game.spec.name in one.games)
        raise UnknownName(f"network {row.name!r} does not fit {game.spec.name}; these do: {fitting}")
    return NETWORKS.make(text, game).build(key)


def full_choice(text: str, game: Game) -> str:
    """The choice with every option spelled out, so that it names the same network when defaults have changed."""
    recipe: Any = NETWORKS.make(text, game)
    options = [one.name for one in dataclasses.fields(recipe)][1:]
    return f"{split_choice(text)[0]}:" + ",".join(f"{name}={getattr(recipe, name)}" for name in options)


def same_weights(one: str, other: str) -> bool:
    """Whether two full choices name networks with the same weights, however they are worked out."""

    def kept(text: str) -> tuple[str, dict[str, str]]:
        name, options = split_choice(text)
        return name, {option: value for option, value in options.items() if option not in WAYS}

    return kept(one) == kept(other)


def worked_out_as(network: Any, choice: str, game: Game) -> Any:
    """The weights of a network in one that a choice names, which may work them out in another way."""
    chosen = jax.eval_shape(lambda key: make_network(choice, game, key), jax.random.key(0))
    return jax.tree.unflatten(jax.tree.structure(chosen), jax.tree.leaves(network))


def cast(network: Any, dtype: Any) -> Any:
    """The same network in another precision."""
    return jax.tree.map(
        lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf,
        network,
        is_leaf=eqx.is_array,
    )


def parameters(network: Any) -> int:
    """How many numbers it has."""
    return sum(leaf.size for leaf in jax.tree.leaves(network) if eqx.is_array(leaf))


__all__ = [
    "NETWORKS",
    "Recipe",
    "cast",
    "full_choice",
    "make_network",
    "parameters",
    "same_weights",
    "worked_out_as",
]
