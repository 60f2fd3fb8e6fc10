"""Reading what is asked: one line of JSON becomes a `Query` or an `Order`, or a `BadQuery` that names the field."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stratagem.analysis.evaluators import check_evaluator
from stratagem.core.errors import StratagemError
from stratagem.core.game import Chance, Game, Textual
from stratagem.core.registry import read_options, split_choice, suggestion
from stratagem.games import GAMES
from stratagem.protocols.fair_dice import dice_of

LONGEST_LINE = 256 * 1024
LONGEST_ID = 200
MOST_MOVES = 10_000
MOST_VISITS = 100_000
MOST_INCLUDED = 8
ORDERS = ("query_version", "terminate", "terminate_all", "clear_cache")
NAME = re.compile(r"[\w.+-]*")


class BadQuery(StratagemError, ValueError):
    """Something is wrong with one field of a query."""

    def __init__(self, field: str | None, message: str, id: str | None = None, busy: bool = False):
        super().__init__(message)
        self.field, self.id, self.busy = field, id, busy

    def as_json(self) -> dict[str, Any]:
        """The answer to such a query."""
        answer = {"error": str(self), "field": self.field, "id": self.id}
        return {**answer, "busy": True} if self.busy else answer


@dataclass(frozen=True)
class Order:
    """Something to be done at once."""

    id: str
    action: str
    target: str | None = None
    """The query to be terminated."""


@dataclass(frozen=True)
class Query:
    """A game so far, and which of its positions to judge."""

    id: str
    game: Any
    moves: tuple[tuple[int, ...], ...] = ()
    """What every seat did, turn by turn; −1 for a seat that was not to move."""
    position: str | None = None
    seed: int | None = None
    outcomes: tuple[int, ...] | None = None
    fair: dict[str, Any] | None = None
    turns: tuple[int, ...] = ()
    seat: int | None = None
    evaluator: str | None = None
    visits: int = 100
    most: int = 100
    """Moves to tell of."""
    asked: tuple[int, ...] = ()
    """Moves to tell of in any case."""
    every: float | None = None
    """Seconds between answers on the way."""
    priority: int = 0


def decode(line: bytes | str) -> dict[str, Any]:
    """The JSON object of one line."""
    try:
        if len(line) > LONGEST_LINE:
            raise BadQuery("line", f"a line has at most {LONGEST_LINE} bytes; ask with fewer moves")
        text = line.decode("utf-8") if isinstance(line, bytes) else line
        content = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise BadQuery("line", f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise BadQuery("line", "nested too deeply; a query is one flat JSON object") from None
    except json.JSONDecodeError as error:
        raise BadQuery(
            "line", f"not JSON: {error.msg} at sign {error.pos}; write one object a line"
        ) from None
    except ValueError as error:
        if isinstance(error, BadQuery):
            raise
        raise BadQuery("line", f"not JSON: {str(error)[:200]}") from None
    if not isinstance(content, dict):
        raise BadQuery("line", f"a query is a JSON object, not {_kind(content)}")
    return content


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def read_query(content: Mapping[str, Any]) -> Query | Order:
    """What a decoded line asks for."""
    id = content.get("id")
    if not isinstance(id, str) or not 1 <= len(id) <= LONGEST_ID:
        shown = "none is given" if id is None else f"this is {_kind(id)}"
        raise BadQuery("id", f"every query needs an id, text of 1 to {LONGEST_ID} signs; {shown}")
    try:
        if "action" in content:
            return _order(id, content)
        return _query(id, content)
    except BadQuery as error:
        raise BadQuery(error.field, str(error), id) from None


def _order(id: str, content: Mapping[str, Any]) -> Order:
    action = content["action"]
    if action not in ORDERS:
        raise BadQuery("action", f"an action is one of {', '.join(ORDERS)}, not {_shown(action)}")
    target = content.get("terminateId")
    if action == "terminate" and not isinstance(target, str):
        raise BadQuery("terminateId", "terminate needs terminateId, the id of the query to end")
    _only(content, {"id", "action"} | ({"terminateId"} if action == "terminate" else set()))
    return Order(id, action, target)


def _query(id: str, content: Mapping[str, Any]) -> Query:
    _only(content, set(READERS) | {"id", "game", "rules"})
    game = _game(content)
    found = {field: READERS[field](content[field], game) for field in content if field in READERS}
    moves = found.get("moves", ())
    turns = found.get("analyzeTurns", (len(moves),))
    beyond = [turn for turn in turns if turn > len(moves)]
    if beyond:
        raise BadQuery("analyzeTurns", f"turn {beyond[0]} is asked for, but there are {len(moves)} moves")
    query = Query(
        id=id,
        game=game,
        moves=moves,
        position=found.get("position"),
        seed=found.get("seed"),
        outcomes=found.get("outcomes"),
        fair=found.get("fair"),
        turns=turns,
        seat=found.get("seat"),
        evaluator=found.get("evaluator"),
        visits=found.get("maxVisits", 100),
        most=found.get("maxMoves", 100),
        asked=found.get("includeMoves", ()),
        every=found.get("reportDuringSearchEvery"),
        priority=found.get("priority", 0),
    )
    _check_luck(query)
    if query.seat is None and game.spec.dynamics == "simultaneous":
        raise BadQuery("seat", f"several seats move at once: say whose decision, 0 to {game.spec.seats - 1}")
    return query


def _only(content: Mapping[str, Any], allowed: set[str]) -> None:
    for field in content:
        if field not in allowed:
            raise BadQuery(
                field[:LONGEST_ID], f"no such field{suggestion(field[:LONGEST_ID], sorted(allowed))}"
            )


def _game(content: Mapping[str, Any]) -> Game:
    """The game with its options, from `game` or from `rules`."""
    text = content.get("game")
    if not isinstance(text, str):
        raise BadQuery("game", f"name a game, such as corso or corso:width=7,height=7; this is {_kind(text)}")
    field = "game"
    try:
        name, options = split_choice(text[:LONGEST_LINE])
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
        raise ValueError(f"rules are an object of options, not {_kind(rules)}")
    texts = {}
    for name, value in rules.items():
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"option {name!r} is text, a number, true, false or null, not {_kind(value)}")
        texts[name] = (
            "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        )
    return texts


def _check_luck(query: Query) -> None:
    """Luck must be known, from one source."""
    chance = query.game.spec.chance
    sources = [name for name in ("seed", "fair") if getattr(query, name) is not None]
    if len(sources) > 1:
        raise BadQuery("fair", "the dice come from `seed` or from `fair`, not from both")
    if query.outcomes is not None and not isinstance(query.game, Chance):
        raise BadQuery(
            "outcomes", f"{query.game.spec.name} has no outcomes of chance; give a seed or a position"
        )
    known = bool(sources) or query.outcomes is not None
    if known or chance == "none" or (query.position is not None and (chance == "setup" or not query.moves)):
        return
    raise BadQuery(
        "seed", f"{query.game.spec.name} has luck: give a seed, outcomes, or a position without moves"
    )


# What each field must be. All take (value, game) and return what the query keeps.


def _text(field: str) -> Callable[[Any, Game], str]:
    def read(value: Any, game: Game) -> str:
        if not isinstance(value, str):
            raise BadQuery(field, f"{field} is text, not {_kind(value)}")
        return value

    return read


def _whole(field: str, low: int, high: int) -> Callable[[Any, Game], int]:
    def read(value: Any, game: Game) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadQuery(field, f"{field} is a whole number from {low} to {high}, not {_shown(value)}")
        return value

    return read


def _ruleset(value: Any, game: Game) -> str:
    if value != game.spec.ruleset:
        raise BadQuery("ruleset", f"{game.spec.title} has ruleset {game.spec.ruleset}, not {_shown(value)}")
    return value


def _position(value: Any, game: Game) -> str:
    if not isinstance(game, Textual):
        raise BadQuery("position", f"{game.spec.name} has no text form of positions; give moves")
    return _text("position")(value, game)


def _moves(value: Any, game: Game) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list) or len(value) > MOST_MOVES:
        raise BadQuery("moves", f"moves are a list of up to {MOST_MOVES} turns, not {_kind(value)}")
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
        raise BadQuery(
            "moves", f"turn {number}: actions are 0 to {game.spec.actions - 1}, not {_shown(move)}"
        )
    if not isinstance(move, str):
        raise BadQuery(
            "moves", f"turn {number}: a move is text or the number of an action, not {_kind(move)}"
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
            "includeMoves", f"includeMoves is a list of up to {MOST_INCLUDED} moves, not {_kind(value)}"
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
            "analyzeTurns", f"analyzeTurns is a list of turns, 0 to {MOST_MOVES}, not {_shown(value)}"
        )
    if len(set(value)) != len(value):
        raise BadQuery("analyzeTurns", "analyzeTurns names a turn twice; each is answered once")
    return tuple(value)


def _seat(value: Any, game: Game) -> int:
    return _whole("seat", 0, game.spec.seats - 1)(value, game)


def _evaluator(value: Any, game: Game) -> str:
    try:
        check_evaluator(_text("evaluator")(value, game)[:LONGEST_ID], game)
    except BadQuery:
        raise
    except StratagemError as error:
        raise BadQuery("evaluator", str(error)) from None
    return value


def _every(value: Any, game: Game) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.05 <= value <= 1e6 or not math.isfinite(value):
        raise BadQuery("reportDuringSearchEvery", f"this is seconds, 0.05 or more, not {_shown(value)}")
    return float(value)


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
    "reportDuringSearchEvery": _every,
    "priority": _whole("priority", -1_000_000, 1_000_000),
}


def _kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "nothing"
    names = {
        bool: "true or false",
        str: "text",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    """A value for a message, cut short; numbers too long to print are only named."""
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number with more than 30 digits"
    return repr(value)[:60]
