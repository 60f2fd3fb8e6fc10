"""Who can judge the decisions of which game, best first."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from stratagem.analysis.judgement import Evaluator
from stratagem.core.errors import StratagemError, UnknownName
from stratagem.core.game import Game
from stratagem.core.registry import Registry, Row, suggestion

HERE = "stratagem.analysis.evaluators"

EVALUATORS: Registry[Evaluator] = Registry(
    "evaluator",
    [
        Row("perfect", f"{HERE}.perfect:Perfect", "the exact margin of every move", games=("corso",)),
        Row(
            "search",
            f"{HERE}.search:Search",
            "tree search with the shipped network",
            games=("corso", "general"),
        ),
        Row("minimax", f"{HERE}.minimax:Looking", "three moves ahead, counting cells", games=("corso",)),
        Row("solved", f"{HERE}.dice:Solved", "exact equities from the table", games=("generala", "yacht")),
        Row(
            "mindful",
            f"{HERE}.dice:MindfulValues",
            "equities if all played for points",
            games=("generala", "yacht", "crag", "yatzy"),
        ),
        Row(
            "points",
            f"{HERE}.dice:Points",
            "points on average when playing for points",
            games=("generala", "yacht", "crag", "yatzy"),
        ),
        Row(
            "expectimax",
            f"{HERE}.expectimax:Averaging",
            "two actions ahead over the dice",
            games=("general",),
        ),
        Row(
            "fog",
            f"{HERE}.fog:Fog",
            "games played on from boards that a seat may believe in",
            games=("generals",),
        ),
        Row("likes", f"{HERE}.likes:Likes", "what the historical player likes", games=("hispania",)),
        Row("rollouts", f"{HERE}.rollouts:Rollouts", "games played on"),
    ],
)

EVERYWHERE = ("rollouts",)
CHOICE: Mapping[str, tuple[str, ...]] = {
    "corso": ("perfect", "search", "minimax", "rollouts"),
    "generala": ("solved", "mindful", "points"),
    "yacht": ("solved", "mindful", "points"),
    "crag": ("mindful", "points"),
    "yatzy": ("mindful", "points"),
    "general": ("search", "expectimax"),
    "generals": ("fog",),
    "hispania": ("rollouts", "likes"),
}
"""The evaluators of each game, in the order in which they are tried; EVERYWHERE for the others."""

WEIGHERS: Mapping[str, str] = {"hispania": "likes"}
"""Who says what outcomes of a roll are worth, where the first evaluator cannot: a few games do not tell them apart."""

QUICK_CELLS = 16
"""Boards up to this many cells are solved at once; larger ones only when `perfect` is asked for by name."""


def evaluators_for(game: Game) -> tuple[str, ...]:
    """The names of those that may judge a game."""
    return CHOICE.get(game.spec.name, EVERYWHERE)


def check_evaluator(name: str, game: Game) -> None:
    """UnknownName unless an evaluator of that name is meant for the game."""
    known = evaluators_for(game)
    if name not in known:
        raise UnknownName(
            f"no evaluator of {game.spec.name} is called {name!r}{suggestion(name, list(known))}"
        )


def make_evaluator(game: Any, name: str | None = None) -> tuple[str, Evaluator]:
    """(Its name, the evaluator asked for, or the first that fits the game)."""
    if name is not None:
        check_evaluator(name, game)
        return name, _made(name, game)
    refusals = []
    for candidate in evaluators_for(game):
        if candidate == "perfect" and game.cells > QUICK_CELLS:
            continue
        try:
            return candidate, _made(candidate, game)
        except StratagemError as error:
            refusals.append(f"{candidate}: {error}")
    raise UnknownName(f"nobody judges {game.spec.title}: {'; '.join(refusals)}")


def make_weigher(game: Any, name: str | None = None) -> Evaluator:
    """Who says what outcomes of chance are worth, in a game that is judged by `name`."""
    return make_evaluator(game, WEIGHERS.get(game.spec.name, name))[1]


@lru_cache(maxsize=16)
def _made(name: str, game: Any) -> Evaluator:
    return EVALUATORS.make(name, game)
