"""Reading what is asked: one line of JSON becomes a `Query` or an `Order`, or a `BadQuery` that names the field."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stratagem.analysis.bad_query import BadQuery, kind_of, shown
from stratagem.analysis.fields import READERS, read_game
from stratagem.core.game import Chance
from stratagem.core.registry import suggestion

LONGEST_LINE = 256 * 1024
LONGEST_ID = 200
ORDERS = ("query_version", "terminate", "terminate_all", "clear_cache")


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
    rolls: bool = False
    """Whether to tell of the roll before each position."""


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
        raise BadQuery("line", f"a query is a JSON object, not {kind_of(content)}")
    return content


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def read_query(content: Mapping[str, Any]) -> Query | Order:
    """What a decoded line asks for."""
    id = content.get("id")
    if not isinstance(id, str) or not 1 <= len(id) <= LONGEST_ID:
        given = "none is given" if id is None else f"this is {kind_of(id)}"
        raise BadQuery("id", f"every query needs an id, text of 1 to {LONGEST_ID} signs; {given}")
    try:
        if "action" in content:
            return _order(id, content)
        return _query(id, content)
    except BadQuery as error:
        raise BadQuery(error.field, str(error), id) from None


def _order(id: str, content: Mapping[str, Any]) -> Order:
    action = content["action"]
    if action not in ORDERS:
        raise BadQuery("action", f"an action is one of {', '.join(ORDERS)}, not {shown(action)}")
    target = content.get("terminateId")
    if action == "terminate" and not isinstance(target, str):
        raise BadQuery("terminateId", "terminate needs terminateId, the id of the query to end")
    _only(content, {"id", "action"} | ({"terminateId"} if action == "terminate" else set()))
    return Order(id, action, target)


def _query(id: str, content: Mapping[str, Any]) -> Query:
    _only(content, set(READERS) | {"id", "game", "rules"})
    game = read_game(content)
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
        rolls=found.get("includeRolls", False),
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
