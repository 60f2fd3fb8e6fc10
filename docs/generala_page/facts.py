"""What takes minutes to work out, kept in facts.json: exact duels and sampled games."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from generala_page.page import FOLDER, GAME

from stratagem.core.files import write_json
from stratagem.solvers.dice_duel import duel, player
from stratagem.solvers.dice_simulate import simulate
from stratagem.solvers.dice_strategies import strategy
from stratagem.solvers.dice_table import Table

OPPONENTS = ("maximus", "mindful", "joe", "standing-greedy", "standing-random")


def facts_of(table: Table, again: set[str]) -> dict[str, Any]:
    """What takes minutes, kept in facts.json."""
    path = FOLDER / "facts.json"
    facts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if "duels" in again or "duels" not in facts:
        facts["duels"] = {}
    for name in OPPONENTS:
        if name not in facts["duels"]:
            other = player(name, GAME)
            facts["duels"][name] = [duel(table, other, GAME), -duel(other, table, GAME)]
            write_json(path, facts)
    if "games" in again or "games" not in facts:
        facts["games"] = played_games(table)
        write_json(path, facts)
    return facts


def played_games(table: Table, games: int = 60_000) -> dict[str, Any]:
    """Sampled figures: waives of Malina against herself, and three at a table."""
    tally = simulate([table, table], GAME, games, seed=1)
    turns = tally.turns.sum()
    joe = strategy(GAME, "joe")
    answer: dict[str, Any] = {
        "games": games,
        "waives": (tally.waived.sum(axis=0) / turns).tolist(),
        "undecided_turns": float(turns / games / 2),
        "by_choice": float(tally.by_choice.sum() / games / 2),
        "first_turn": float(tally.first_turn.sum() / games / 2),
        "three": {},
    }
    for name, one in (
        ("malina", table),
        ("mindful", player("mindful", GAME)),
        ("maximus", strategy(GAME, "maximus")),
    ):
        wins = []
        for seat in range(3):
            seats: list[Any] = [joe, joe, joe]
            seats[seat] = one
            wins.append(simulate(seats, GAME, games // 6, seed=2 + seat).winnings()[:, seat])
        every = np.concatenate(wins)
        answer["three"][name] = [
            float(every.mean()),
            float(1.96 * every.std() / len(every) ** 0.5),
            len(every),
        ]
    return answer
