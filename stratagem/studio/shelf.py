"""Weight files that a page may name: those of training runs, by their place in the folder of runs, and no others."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from stratagem.agents.policy import shipped_policy
from stratagem.agents.weight_files import card
from stratagem.core.errors import BadOption, StratagemError
from stratagem.core.game import Game
from stratagem.core.registry import split_choice

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}/weights\.safetensors")
SHIPPED = "shipped"  # stands for the file of the package
MOST = 50  # files that are looked at, the newest


class Weights(NamedTuple):
    """One file."""

    name: str
    """`run/weights.safetensors`, as a page writes it."""
    policy: bool
    """Plays by feel; otherwise it searches."""
    network: str


class Shelf:
    """The weight files of one studio."""

    def __init__(self, runs: Path):
        self.runs = runs.resolve()

    def path(self, name: str) -> Path:
        """Where a file is; BadOption for anything that is not the weights of a run."""
        place = self.runs / name
        if not NAME.fullmatch(name) or not place.is_file() or not place.resolve().is_relative_to(self.runs):
            known = "the weights of a training run, such as RUN/weights.safetensors"
            raise BadOption(f"weights: the studio opens {known}, and has no {name[:120]!r}")
        return place

    def playing(self, game: Game) -> list[Weights]:
        """The files that play a game, the newest first."""
        found = sorted(self.runs.glob("*/weights.safetensors"), key=lambda one: -one.stat().st_mtime)
        names = [f"{one.parent.name}/{one.name}" for one in found[:MOST]]
        cards = [(name, self._card(name)) for name in names if NAME.fullmatch(name)]
        return [
            Weights(name, bool(facts.get("policy")), facts["network"])
            for name, facts in cards
            if facts is not None and fits(facts, game)
        ]

    def looking(self, game: Game) -> list[str]:
        """The policies of a game whose attention can be seen: they look at patches of the board."""
        found = [one.name for one in self.playing(game) if one.policy and one.network.startswith("patch")]
        try:
            shipped = card(shipped_policy(game))["network"]
        except StratagemError:
            return found
        return [SHIPPED, *found] if shipped.startswith("patch") else found

    def check(self, name: str, game: Game) -> None:
        """BadOption unless the file plays this game."""
        if not fits(card(self.path(name)), game):
            raise BadOption(f"weights: {name} was not trained for {game.spec.title}")

    def opened(self, choice: str) -> str:
        """A choice that was checked, with the place of its weights in full, for the process that makes the agent."""
        name, options = split_choice(choice)
        if "weights" not in options:
            return choice
        options["weights"] = str(self.path(options["weights"]))
        return f"{name}:" + ",".join(f"{key}={value}" for key, value in options.items())

    def _card(self, name: str) -> dict[str, Any] | None:
        try:
            return card(self.path(name))
        except StratagemError:  # being written, or from another version
            return None


def fits(facts: dict[str, Any], game: Game) -> bool:
    """Policies play boards of any size; networks for search the rules that they were trained under."""
    if facts.get("policy"):
        return (facts["game"], facts["version"]) == (game.spec.name, game.spec.version)
    return game.spec.ruleset in facts["rulesets"]
