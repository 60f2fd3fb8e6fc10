"""What may be chosen on the page: games with their options, and agents with their strengths.

A page is not trusted: a choice that names a file, or that would think for an hour, is refused here.
"""

import dataclasses
import typing
from typing import Any

from stratagem.agents import AGENTS, DICE, agents_for
from stratagem.agents.readiness import check_ready
from stratagem.core.errors import BadOption, StratagemError, UnknownName
from stratagem.core.game import Game
from stratagem.core.registry import read_options, split_choice
from stratagem.games import GAMES, make_game
from stratagem.games.hispania.loading import shipped
from stratagem.studio.shelf import Shelf

PERSON = "human"

TITLES = {
    "corso": "Corso",
    "general": "GENERAL",
    "generala": "Generala",
    "generals": "Generals",
    "hispania": "Hispania",
    "yacht": "Yacht",
    "crag": "Crag",
    "yatzy": "Yatzy",
}

DEFAULTS = {"corso": "mm:depth=3", "general": "expectimax:depth=1", "generals": "hunter", "hispania": "naive"}
ADVISERS = {
    "corso": "mm:depth=5,temperature=0",
    "general": "expectimax:depth=2",
    "generals": "cascade",
    "hispania": "historical",
} | dict.fromkeys(DICE, "maximus")

LIMITS = {"depth": (1, 6), "simulations": (1, 1600), "temperature": (0, 10), "weight": (0, 1), "considered": (1, 64),
          "breadth": (0, 256), "hunt": (0, 50), "exploration": (0, 10), "position": (0, 10),
          "ahead": (1, 4)}  # fmt: skip
"""The agents' options that a page may set, and how far."""

ELSEWHERE = ("remote",)
"""Agents that are another program; not offered to strangers."""

BOARDS: dict[str, tuple[tuple[str, str], ...]] = {
    "corso": (
        ("5 × 5", "corso"),
        ("4 × 4", "corso:width=4,height=4"),
        ("6 × 6", "corso:width=6,height=6"),
        ("8 × 8", "corso:width=8,height=8"),
        ("5 × 5, three players", "corso:players=3"),
        ("6 × 6, four players", "corso:width=6,height=6,players=4"),
    ),
    "general": (("the board", "general"), ("short: 60 turns", "general:turns=60")),
    "generals": (
        ("16 × 16", "generals:width=16,height=16,castles_from=4,castles_to=6,apart=10"),
        ("10 × 10", "generals:width=10,height=10,castles_from=2,castles_to=3,apart=7"),
        ("24 × 24", "generals"),
    ),
    "hispania": tuple(
        (name, f"hispania:scenario={name}") for name in ("iberia-small", "iberia-medium", "hispania")
    ),
    "generala": (("two players", "generala"), ("with first-roll bonus", "generala:first_roll_bonus=true")),
}
"""Per game: the boards and variants that a page offers first; any other set of options may be typed."""


def read_game(text: str) -> Game:
    """The game that a page asks for; a StratagemError says what is wrong with it."""
    name, options = split_choice(text)
    if name == "hispania":
        scenario = options.get("scenario", "iberia-small")
        if scenario not in shipped():
            raise BadOption(f"hispania: scenario is one of {', '.join(shipped())}, not {scenario!r}")
    try:
        return make_game(text)
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, StratagemError):
            raise
        raise BadOption(f"{text!r} is not a game that can be played: {error}") from error


def check_agent(text: str, game: Game, shelf: Shelf) -> str:
    """The agent that a page asks for, if it may have it; it is made later, in another process."""
    name, options = split_choice(text)
    row = AGENTS.row(name)
    offered = [one.name for one in agents_for(game) if one.name not in ELSEWHERE]
    if row.name not in offered:
        raise UnknownName(
            f"the studio has no agent {name!r} for {game.spec.name}; it has {', '.join(offered)}"
        )
    read_options(f"agent {name}", row.load(), options, skip=1)
    for key, value in options.items():
        if key == "weights":
            shelf.check(value, game)
            continue
        if key not in LIMITS:
            raise BadOption(
                f"agent {name}: option {key!r} cannot be set from the page; these can: {', '.join(LIMITS)}"
            )
        low, high = LIMITS[key]
        try:
            number = float(value)
        except ValueError:
            raise BadOption(f"agent {name}: {key} is a number, not {value!r}") from None
        if not low <= number <= high:
            raise BadOption(f"agent {name}: {key} is {low} to {high} here, not {value}")
    check_ready(text, game)
    return text


def catalogue() -> list[dict[str, Any]]:
    """Every game for the page, with who plays it."""
    return [describe(row) for row in GAMES if row.name in TITLES]


def describe(row: Any) -> dict[str, Any]:
    game = make_game(row.name)
    spec = game.spec
    return {
        "name": row.name,
        "title": TITLES[row.name],
        "summary": row.summary,
        "seats": spec.seats,
        "simultaneous": spec.dynamics == "simultaneous",
        "fog": spec.information == "imperfect",
        "boards": [
            {"label": label, "game": text, "seats": make_game(text).spec.seats}
            for label, text in BOARDS.get(row.name, (("two players", row.name),))
        ],
        "options": options_of(row.load()),
        "against": DEFAULTS.get(row.name, "maximus"),
    }


def options_of(kind: type) -> list[dict[str, Any]]:
    """The parameters of a game: name, kind and default."""
    hints = typing.get_type_hints(kind)
    return [
        {"name": one.name, "kind": getattr(hints[one.name], "__name__", "text"), "default": one.default}
        for one in dataclasses.fields(kind)
        if one.init and one.name != "digest"
    ]
