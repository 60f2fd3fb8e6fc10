"""Why one decision is better than another, in words made of numbers."""

from __future__ import annotations

import numpy as np

from stratagem.games.dice.family import Family
from stratagem.games.dice.rules import DiceGame, State
from stratagem.solvers.dice_onesided import expected_scores
from stratagem.solvers.dice_outlook import Outlook, outlook
from stratagem.solvers.dice_turn import TurnValues, last_turn_chance

WORTH_SAYING = 0.03  # a smaller change of a chance is left out


def reason(
    game: DiceGame, state: State, mask: int, turn: TurnValues, values: np.ndarray, action: int, best: int
) -> str:
    """One or two sentences: what was done, what would have been better, and what that changes."""
    equities = f"{values[best]:+.3f} instead of {values[action]:+.3f}"
    if int(state.left) > 0:
        stage = game.family.rolls - 1 - int(state.left)
        chosen, other = (outlook(game.family, mask, turn, stage, keep) for keep in (action, best))
        return f"{_sentence(game.write_action(best))}: {_changes(game.family, other, chosen)} ({equities})."
    first = len(game.keeps.multisets)
    kept, lost = (_left_over(game, state, mask, one - first) for one in (best, action))
    better, done = (_scoring(game, state, one) for one in (best, action))
    return f"{_sentence(better)} {kept}; {done} {lost} ({equities})."


def _changes(family: Family, better: Outlook, chosen: Outlook) -> str:
    """Which categories become likelier, and which are given up."""
    change = better.made - chosen.made
    order = np.argsort(-np.abs(change), kind="stable")
    likelier = [c for c in order if change[c] >= WORTH_SAYING][:3]
    rarer = [c for c in order if change[c] <= -WORTH_SAYING][:2]
    parts = []
    if likelier:
        parts.append(_list(family, likelier, better, chosen, "likelier"))
    if rarer:
        parts.append(_list(family, rarer, better, chosen, "less likely"))
    waived, saved = better.waived.sum(), chosen.waived.sum()
    if abs(waived - saved) >= WORTH_SAYING:
        parts.append(
            f"a waive {'likelier' if waived > saved else 'less likely'} ({waived:.0%} against {saved:.0%})"
        )
    if not parts:
        parts.append(f"{better.points:.1f} points on average this turn against {chosen.points:.1f}")
    return "; ".join(parts)


def _list(family: Family, categories: list[int], better: Outlook, chosen: Outlook, how: str) -> str:
    items = [
        f"{_name(family.names[c])} ({better.made[c]:.0%} against {chosen.made[c]:.0%})" for c in categories
    ]
    return f"{' and '.join(items)} {how}"


def _scoring(game: DiceGame, state: State, action: int) -> str:
    category = action - len(game.keeps.multisets)
    points = game.family.categories[category].score(game.keeps.rolls[int(state.dice)], bool(state.first))
    name = _name(game.family.names[category])
    return f"{name} for {points}" if points else f"waiving {name}"


def _left_over(game: DiceGame, state: State, mask: int, category: int) -> str:
    """What stays open, and what it is worth."""
    family = game.family
    rest = mask ^ (1 << category)
    if not rest:
        return "ends the game"
    worth = float(expected_scores(family)[rest, 0])
    hard = [
        f"{_name(family.names[c])} {float(last_turn_chance(family, family.names[c])):.0%}"
        for c in range(len(family.categories))
        if rest >> c & 1 and family.categories[c].points
    ]
    chances = f" (in one turn: {', '.join(hard)})" if 0 < len(hard) <= 4 else ""
    return f"leaves {worth:.1f} points on average{chances}"


def _name(category: str) -> str:
    return category.replace("_", " ")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
