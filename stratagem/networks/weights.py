"""Weight files: a network, the choice that names it, and the rules it was trained under."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from stratagem.core.errors import DamagedFile, RulesetMismatch
from stratagem.core.game import Game
from stratagem.networks import full_choice, make_network
from stratagem.networks.tensors import read_facts, read_tree, write_tree


def save_weights(
    path: Path | str, network: Any, choice: str, games: Sequence[Game], summary: dict[str, Any]
) -> None:
    """Write a network that plays `games` (one, or the sizes of one family)."""
    facts = {
        "kind": "weights",
        "game": games[0].spec.name,
        "rulesets": {game.spec.ruleset: game.spec.title for game in games},
        "network": full_choice(choice, games[0]),
        "summary": summary,
    }
    write_tree(path, network, facts)


def load_weights(path: Path | str, game: Game) -> Any:
    """The network of a file, if it was trained for this game."""
    facts = read_facts(path)
    if facts.get("kind") != "weights":
        raise DamagedFile(f"{path}: holds {facts.get('kind', 'something else')}, not weights")
    if game.spec.ruleset not in facts["rulesets"]:
        trained = ", ".join(facts["rulesets"].values())
        raise RulesetMismatch(f"{path} was trained for {trained}, not for {game.spec.title}")
    like = jax.eval_shape(lambda: make_network(facts["network"], game, jax.random.key(0)))
    return read_tree(path, like)
