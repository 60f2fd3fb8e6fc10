"""From a query to the decisions that it asks about."""

from typing import Any, NamedTuple

import numpy as np

from stratagem.analysis.bad_query import BadQuery
from stratagem.analysis.judgement import Question
from stratagem.analysis.programs import programs
from stratagem.analysis.query import Query
from stratagem.core.errors import DamagedFile, IllegalAction
from stratagem.protocols.replay import BadOutcome, Replay, positions

Turn = tuple[Any, tuple[int, ...]]  # a state, and what every seat did there


class Place(NamedTuple):
    """One position of a game, and how it came about."""

    state: Any
    past: tuple[Turn, ...]
    """All turns before it, the first one first; only in games with secrets."""
    before: Turn | None
    """The turn before it; None at the start."""


def play_through(query: Query) -> dict[int, Place]:
    """The positions that are asked for, by turn."""
    game, moves = query.game, query.moves
    spec = game.spec
    if query.position is not None:
        _check_position(query)
    luck = query.seed
    if luck is None and query.fair is None and spec.chance == "none":
        luck = 0
    replay = Replay(
        game=spec.name,
        parameters=dict(spec.parameters),
        ruleset=spec.ruleset,
        seats=[""] * spec.seats,
        actions=[list(row) for row in moves],
        returns=[],
        seed=luck,
        start=query.position,
        outcomes=None if query.outcomes is None else list(query.outcomes),
        fair=query.fair,
    )
    asked, remembers = set(query.turns), spec.information == "imperfect"
    found: dict[int, Place] = {}
    past: list[Turn] = []
    before: Turn | None = None
    try:
        for turn, state in enumerate(positions(replay, game)):
            if turn in asked:
                found[turn] = Place(state, tuple(past), before)
            before = (state, moves[turn]) if turn < len(moves) else None
            if remembers and before is not None:
                past.append(before)
    except BadOutcome as error:
        raise BadQuery("outcomes", str(error), query.id) from None
    except (IllegalAction, DamagedFile) as error:
        raise BadQuery("moves", str(error), query.id) from None
    return found


def _check_position(query: Query) -> None:
    try:
        query.game.read(query.position)
    except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
        raise BadQuery("position", str(error)[:500] or type(error).__name__, query.id) from None


def question_at(query: Query, turn: int, place: Place) -> Question | None:
    """The decision to be judged; None in a game that is over."""
    play, state = programs(query.game), place.state
    if bool(play.done(state)):
        return None
    movers = np.flatnonzero(np.asarray(play.to_move(state))).tolist()
    seat = movers[0] if query.seat is None else query.seat
    if seat not in movers:
        raise BadQuery("seat", f"seat {seat} is not to move at turn {turn}; seat {movers[0]} is", query.id)
    played = (query.moves[turn][seat],) if turn < len(query.moves) else ()
    asked = tuple(dict.fromkeys((*played, *query.asked)))
    question = Question(query.game, state, seat, query.visits, place.past, asked)
    if not len(question.legal):
        raise BadQuery("position", f"seat {seat} is to move but can do nothing: no game leads here", query.id)
    return question
