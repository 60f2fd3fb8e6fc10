"""The fields of a query: what each must be. All readers take (value, game) and return what the query keeps."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from stratagem.analysis.bad_query import BadQuery, kind_of, shown
from stratagem.analysis.evaluators import check_evaluator
from stratagem.core.errors import StratagemError
from stratagem.core.game import Game, Textual
from stratagem.core.registry import read_options, split_choice
from stratagem.games import GAMES
from stratagem.protocols.fair_dice import dice_of

MOST_MOVES = 10_000
MOST_VISITS = 100_000
MOST_INCLUDED = 8
LONGEST_NAME = 200
NAME = re.compile(r"[\w+-]*|[+-]?\d+\.\d*(e[+-]?\d+)?")  # a word or a number, never the path of a file


def read_game(content: Mapping[str, Any]) -> Game:
    """The game with its options, from `game` or from `rules`."""
    text = content.get("game")
    if not isinstance(text, str):
        raise BadQuery(
            "game", f"name a game, such as corso or corso:width=7,height=7; this is {kind_of(text)}"
        )
    field = "game"
    try:
        name, options = split_choice(text)
        kind: Any = GAMES.row(name).load()
        if "rules" in content:
            field = "rules"
            if options:
                raise ValueError("the options stand in `game` already; give them in one place")
            options = _texts(content["rules"])
        if not all(NAME.fullmatch(value) for value in options.values()):
            raise ValueError("options are names and numbers; files are not read for a query")
        return kind(**read_options(f"game {name}", kind, options))
    except (StratagemError, ValueError, TypeError, OverflowError) as error:
        raise BadQuery(field, str(error)[:500]) from None


def _texts(rules: Any) -> dict[str, str]:
    if not isinstance(rules, dict):
        raise ValueError(f"rules are an object of options, not {kind_of(rules)}")
    texts = {}
    for name, value in rules.items():
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"option {name!r} is text, a number, true, false or null, not {kind_of(value)}")
        texts[name] = (
            "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        )
    return texts


def _text(field: str) -> Callable[[Any, Game], str]:
    def read(value: Any, game: Game) -> str:
        if not isinstance(value, str):
            raise BadQuery(field, f"{field} is text, not {kind_of(value)}")
        return value

    return read


def _whole(field: str, low: int, high: int) -> Callable[[Any, Game], int]:
    def read(value: Any, game: Game) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadQuery(field, f"{field} is a whole number from {low} to {high}, not {shown(value)}")
        return value

    return read


def _ruleset(value: Any, game: Game) -> str:
    if value != game.spec.ruleset:
        raise BadQuery("ruleset", f"{game.spec.title} has ruleset {game.spec.ruleset}, not {shown(value)}")
    return value


def _position(value: Any, game: Game) -> str:
    if not isinstance(game, Textual):
        raise BadQuery("position", f"{game.spec.name} has no text form of positions; give moves")
    return _text("position")(value, game)


def _moves(value: Any, game: Game) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list) or len(value) > MOST_MOVES:
        raise BadQuery("moves", f"moves are a list of up to {MOST_MOVES} turns, not {kind_of(value)}")
    return tuple(_turn(number, turn, game) for number, turn in enumerate(value, 1))


def _turn(number: int, turn: Any, game: Game) -> tuple[int, ...]:
    seats = game.spec.seats
    if isinstance(turn, list):
        if len(turn) != seats:
            raise BadQuery(
                "moves", f"turn {number}: a list has one move for each of {seats} seats, not {len(turn)}"
            )
        return tuple(-1 if move is None else _move(number, move, game) for move in turn)
    if game.spec.dynamics == "simultaneous":
        raise BadQuery("moves", f"turn {number}: several seats move at once; give a list of {seats} moves")
    return (_move(number, turn, game),) * seats


def _move(number: int, move: Any, game: Game) -> int:
    if isinstance(move, int) and not isinstance(move, bool):
        if -1 <= move < game.spec.actions:
            return move
        raise BadQuery("moves", f"turn {number}: actions are 0 to {game.spec.actions - 1}, not {shown(move)}")
    if not isinstance(move, str):
        raise BadQuery(
            "moves", f"turn {number}: a move is text or the number of an action, not {kind_of(move)}"
        )
    if not isinstance(game, Textual):
        raise BadQuery("moves", f"turn {number}: {game.spec.name} has no text form of moves; give numbers")
    try:
        return int(game.read_action(move[:1000]))
    except (ValueError, KeyError, IndexError, StratagemError) as error:
        raise BadQuery("moves", f"turn {number}: {str(error)[:300]}") from None


def _include(value: Any, game: Game) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MOST_INCLUDED:
        raise BadQuery(
            "includeMoves", f"includeMoves is a list of up to {MOST_INCLUDED} moves, not {kind_of(value)}"
        )
    try:
        found = [_move(number, move, game) for number, move in enumerate(value, 1)]
    except BadQuery as error:
        raise BadQuery("includeMoves", str(error).replace("turn", "entry", 1)) from None
    return tuple(dict.fromkeys(found))


def _outcomes(value: Any, game: Game) -> tuple[int, ...]:
    fits = isinstance(value, list) and len(value) <= MOST_MOVES + 1
    if not fits or not all(type(one) is int and 0 <= one < 2**31 for one in value):
        raise BadQuery("outcomes", "outcomes are a list of whole numbers, one a turn, the opening's first")
    return tuple(value)


def _fair(value: Any, game: Game) -> dict[str, Any]:
    try:
        dice_of(value)
    except StratagemError as error:
        raise BadQuery("fair", str(error)[:500]) from None
    return value


def _turns(value: Any, game: Game) -> tuple[int, ...]:
    fits = isinstance(value, list) and 1 <= len(value) <= MOST_MOVES + 1
    if not fits or not all(type(one) is int and 0 <= one <= MOST_MOVES for one in value):
        raise BadQuery(
            "analyzeTurns", f"analyzeTurns is a list of turns, 0 to {MOST_MOVES}, not {shown(value)}"
        )
    if len(set(value)) != len(value):
        raise BadQuery("analyzeTurns", "analyzeTurns names a turn twice; each is answered once")
    return tuple(value)


def _seat(value: Any, game: Game) -> int:
    return _whole("seat", 0, game.spec.seats - 1)(value, game)


def _evaluator(value: Any, game: Game) -> str:
    try:
        check_evaluator(_text("evaluator")(value, game)[:LONGEST_NAME], game)
    except BadQuery:
        raise
    except StratagemError as error:
        raise BadQuery("evaluator", str(error)) from None
    return value


def _every(value: Any, game: Game) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.05 <= value <= 1e6 or not math.isfinite(value):
        raise BadQuery("reportDuringSearchEvery", f"this is seconds, 0.05 or more, not {shown(value)}")
    return float(value)


def _yes_or_no(field: str) -> Callable[[Any, Game], bool]:
    def read(value: Any, game: Game) -> bool:
        if not isinstance(value, bool):
            raise BadQuery(field, f"{field} is true or false, not {kind_of(value)}")
        return value

    return read


READERS: dict[str, Callable[[Any, Game], Any]] = {
    "ruleset": _ruleset,
    "moves": _moves,
    "position": _position,
    "seed": _whole("seed", 0, 2**31 - 1),
    "outcomes": _outcomes,
    "fair": _fair,
    "analyzeTurns": _turns,
    "seat": _seat,
    "evaluator": _evaluator,
    "maxVisits": _whole("maxVisits", 1, MOST_VISITS),
    "maxMoves": _whole("maxMoves", 1, 1_000_000),
    "includeMoves": _include,
    "includeRolls": _yes_or_no("includeRolls"),
    "reportDuringSearchEvery": _every,
    "priority": _whole("priority", -1_000_000, 1_000_000),
}
