"""What a turn is likely to become: the chance of scoring each category when the rest is played well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import Keeps, keeps, scores
from stratagem.solvers.dice_turn import TurnValues


@dataclass(frozen=True)
class Outlook:
    """Per category (all of the sheet): how likely it is to be scored with points, and waived; points on average."""

    made: np.ndarray  # float64[categories]
    waived: np.ndarray  # float64[categories]
    points: float


def best_keeps(k: Keeps, kept: np.ndarray) -> np.ndarray:
    """int64[rolls]: which keep is best for every roll; more dice when it makes no difference."""
    best, source = kept.copy(), np.arange(len(kept))
    for i in range(1, len(kept)):
        for fewer in k.drop[i][k.drop[i] >= 0]:
            if best[fewer] > best[i]:
                best[i], source[i] = best[fewer], source[fewer]
    return source[k.partial :]


def rolls_from(k: Keeps, keep: int) -> np.ndarray:
    """float64[rolls]: how the dice fall when this is kept."""
    held = np.zeros(len(k.multisets))
    held[keep] = 1.0
    for i in range(keep, k.partial):
        if held[i]:
            np.add.at(held, k.add[i], held[i] / k.faces)
    return held[k.partial :]


def outlook(family: Family, mask: int, turn: TurnValues, stage: int, keep: int) -> Outlook:
    """The outlook after keeping `keep` at `stage` (0 is after the first roll)."""
    k = keeps(family.dice, family.faces)
    open_ = [c for c in range(len(family.categories)) if mask >> c & 1]
    scored = np.zeros((2, len(k.rolls)))  # [1]: on the first roll
    if keep >= k.partial:
        scored[1 if stage == 0 else 0, keep - k.partial] = 1.0
        now = np.zeros(len(k.rolls))
    else:
        now = rolls_from(k, keep)
    for later in range(stage + 1, family.rolls - 1):
        choice = best_keeps(k, turn.kept[later])
        then = np.zeros(len(k.rolls))
        for roll in np.flatnonzero(now):
            if choice[roll] >= k.partial:
                scored[0, roll] += now[roll]
            else:
                then += now[roll] * rolls_from(k, int(choice[roll]))
        now = then
    scored[0] += now
    made, waived, points = np.zeros(len(family.categories)), np.zeros(len(family.categories)), 0.0
    for moment in range(2):
        worth = scores(family, first=bool(moment))
        for roll in np.flatnonzero(scored[moment]):
            category = open_[int(np.argmax(turn.scoring[moment][:, roll]))]
            gain = int(worth[category, roll])
            (made if gain else waived)[category] += scored[moment, roll]
            points += gain * scored[moment, roll]
    return Outlook(made, waived, points)
