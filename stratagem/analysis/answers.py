"""What is said in answer: judgements as JSON."""

from typing import Any

from stratagem.analysis.judgement import Evaluator, Judgement, Line, Question, winrate
from stratagem.analysis.query import Query
from stratagem.core.game import Textual


def final_or_not(query: Query, turn: int, during: bool) -> dict[str, Any]:
    """What every answer begins with."""
    return {"id": query.id, "turnNumber": turn, "isDuringSearch": during}


def no_results(query: Query, turn: int) -> dict[str, Any]:
    """For a turn that was ended before anything was found."""
    return {**final_or_not(query, turn, False), "noResults": True}


def answer(
    query: Query,
    turn: int,
    question: Question,
    judged: Judgement,
    name: str,
    evaluator: Evaluator,
    during: bool = False,
) -> dict[str, Any]:
    """One judgement."""
    seats = query.game.spec.seats
    told = {
        **final_or_not(query, turn, during),
        "game": query.game.spec.title,
        "ruleset": query.game.spec.ruleset,
        "evaluator": name,
        "kind": evaluator.kind,
        "moveInfos": [
            move_info(query.game, place, line)
            for place, line in enumerate(judged.lines)
            if place < query.most or line.action in question.asked
        ],
        "rootInfo": {
            "seat": question.seat,
            "over": False,
            "visits": judged.visits,
            "winrate": winrate(judged.value, seats),
            "value": judged.value,
            "values": None if judged.values is None else list(judged.values),
            "score": judged.score,
            "scoreUnit": evaluator.unit,
            "legal": len(judged.lines),
        },
    }
    if judged.belief is not None:
        told["belief"] = [list(row) for row in judged.belief]
    return {**told, "note": judged.note} if judged.note else told


def ended(query: Query, turn: int, returns: list[float]) -> dict[str, Any]:
    """For a game that is over."""
    seat = query.seat or 0
    return {
        **final_or_not(query, turn, False),
        "game": query.game.spec.title,
        "ruleset": query.game.spec.ruleset,
        "evaluator": "rules",
        "kind": "exact",
        "moveInfos": [],
        "rootInfo": {
            "seat": seat,
            "over": True,
            "visits": 0,
            "winrate": winrate(returns[seat], query.game.spec.seats),
            "value": returns[seat],
            "values": returns,
            "score": None,
            "scoreUnit": None,
            "legal": 0,
        },
    }


def move_info(game: Any, place: int, line: Line) -> dict[str, Any]:
    """One move."""
    told: dict[str, Any] = {
        "move": move_text(game, line.action),
        "action": line.action,
        "order": place,
        "visits": line.visits,
        "winrate": winrate(line.value, game.spec.seats),
        "value": line.value,
        "score": line.score,
        "prior": line.prior,
        "pv": [move_text(game, action) for action in (line.action, *line.pv)],
    }
    return told if line.outlook is None else {**told, "outlook": line.outlook}


def move_text(game: Any, action: int) -> str:
    """The game's own notation, or the number where it has none."""
    return game.write_action(action) if isinstance(game, Textual) else str(action)
