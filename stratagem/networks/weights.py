"""Weight files: a network, the choice that names it, and the rules it was trained under."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.core.errors import DamagedFile, RulesetMismatch
from stratagem.core.game import Game
from stratagem.networks import cast, full_choice, make_network
from stratagem.networks.senses import Senses
from stratagem.networks.tensors import read_facts, read_tree, write_tree


def save_weights(
    path: Path | str,
    network: Any,
    choice: str,
    games: Sequence[Game],
    summary: dict[str, Any],
    stored: str = "float32",
) -> None:
    """Write a network that plays `games` (one, or the sizes of one family); `stored` in bfloat16 it takes half."""
    facts = {
        "kind": "weights",
        "game": games[0].spec.name,
        "rulesets": {game.spec.ruleset: game.spec.title for game in games},
        "network": full_choice(choice, games[0]),
        "stored": stored,
        "summary": summary,
    }
    write_tree(path, cast(network, jnp.dtype(stored)), facts)


def load_weights(path: Path | str, game: Game) -> Any:
    """The network of a file, if it was trained for this game."""
    facts = weight_facts(path)
    if game.spec.ruleset not in facts["rulesets"]:
        trained = ", ".join(facts["rulesets"].values())
        raise RulesetMismatch(f"{path} was trained for {trained}, not for {game.spec.title}")
    return _as_stored(path, facts, game)


def save_policy(
    path: Path | str,
    network: Any,
    choice: str,
    senses: Senses,
    summary: dict[str, Any],
    stored: str = "float32",
) -> None:
    """Write a network that plays a game by feel, on boards of any size; `stored` in bfloat16 it takes half."""
    spec = senses.spec
    facts = {
        "kind": "weights",
        "policy": True,
        "game": spec.name,
        "version": spec.version,
        "rulesets": {spec.ruleset: spec.title},
        "network": full_choice(choice, senses.game),
        "stored": stored,
        "summary": summary,
    }
    write_tree(path, cast(network, jnp.dtype(stored)), facts)


def load_policy(path: Path | str, senses: Senses) -> Any:
    """The network of a file, if it was trained for this game, whatever the size of its board."""
    facts = weight_facts(path)
    if not facts.get("policy"):
        raise DamagedFile(f"{path}: holds a network for search, not a policy")
    if (facts["game"], facts["version"]) != (senses.spec.name, senses.spec.version):
        trained = ", ".join(facts["rulesets"].values())
        raise RulesetMismatch(
            f"{path} was trained for {trained} (rules {facts['version']}), not for {senses.spec.title} "
            f"(rules {senses.spec.version})"
        )

    return _as_stored(path, facts, senses)


def _as_stored(path: Path | str, facts: dict[str, Any], game: Any) -> Any:
    """The network of a file in float32, from the precision that it is stored in."""

    def stored(key: Array) -> Any:
        return cast(make_network(facts["network"], game, key), jnp.dtype(facts.get("stored", "float32")))

    return cast(read_tree(path, jax.eval_shape(stored, jax.random.key(0))), jnp.float32)


def weight_facts(path: Path | str) -> dict[str, Any]:
    """The facts of a file, if it holds weights."""
    facts = read_facts(path)
    if facts.get("kind") != "weights":
        raise DamagedFile(f"{path}: holds {facts.get('kind', 'something else')}, not weights")
    return facts
