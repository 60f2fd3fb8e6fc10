"""What fell, in words a player would use."""

from typing import Any

import numpy as np

from stratagem.games.dice.rules import DiceGame
from stratagem.games.general.board import MOAT_CELLS
from stratagem.games.general.rules import FACES, INTERCEPTION, TOSS, General
from stratagem.games.general.text import COLUMNS
from stratagem.games.hispania.rules import Hispania

NAMED = 3  # outcomes that come to the same: so many are named


def fall_words(game: Any, after: Any, outcomes: list[int]) -> str:
    """Outcomes of chance that come to the same; the first few, if they are many."""
    words = list(dict.fromkeys(roll_words(game, after, outcome) for outcome in outcomes))
    joint = ", " if isinstance(game, Hispania) else " or "
    start = "hits " if isinstance(game, Hispania) else ""
    return start + joint.join(words[:NAMED]) + (" …" if len(words) > NAMED else "")


def roll_words(game: Any, after: Any, outcome: int) -> str:
    """One outcome of chance; its number where the game has no words for it."""
    if isinstance(game, DiceGame):
        return "-".join(map(str, game.keeps.rolls[outcome]))
    if isinstance(game, General):
        return general_words(int(after.event), outcome // FACES, outcome % FACES)
    if isinstance(game, Hispania):
        sides = divmod(outcome, len(game.tables.hits))  # attackers, defenders
        return ":".join(str(int(game.tables.hits[side].sum())) for side in sides)
    return f"outcome {outcome}"


def general_words(event: int, slot: int, die: int) -> str:
    shown = f"die {die}" if die else "no die"
    if event == TOSS:
        return f"seat {slot + 1} attacks, {shown}"
    if event == INTERCEPTION:
        row, column = np.divmod(int(MOAT_CELLS[slot]), 10)
        return f"{COLUMNS[column]}{row + 1} intercepts, {shown}"
    return shown
