"""How large the games are, and the chances of one combination."""

from __future__ import annotations

import numpy as np
from generala_page.page import GAME, K, Page

from stratagem.games.dice.family import crag, generala, yacht, yatzy
from stratagem.games.dice.keeps import scores
from stratagem.solvers.dice_counts import positions
from stratagem.solvers.dice_outlook import best_keeps
from stratagem.solvers.dice_turn import last_turn_chance, turn_values


def counts(page: Page) -> None:
    page.say("## How large the games are")
    rows = []
    for family, paper in (
        (generala(), "85,647,207"),
        (yacht(), "1,557,687,661"),
        (crag(), "4.8 G"),
        (yatzy(upper_bonus=False, pairs_alike=True), "98,793,323,900"),
    ):
        name = family.name + (", four equal dice as two pairs" if family.name == "yatzy" else "")
        rows.append([name, paper, f"{positions(family):,}"])
    rows.append(["yatzy, two different pairs (our rules)", "", f"{positions(yatzy(upper_bonus=False)):,}"])
    page.table(["game", "paper", "ours"], rows)
    page.say(
        "A position is a pair of open category sets, as alternating turns allow, and a reachable score difference. "
        "The paper's count for Yatzy comes out only if four equal dice are allowed as two pairs."
    )


def chances(page: Page) -> None:
    page.say("## Chances of a combination when it is all one goes for")
    paper = {"generala": "2783176/6¹⁰ = 4.6 %", "four_of_a_kind": "17583176/6¹⁰ = 29.1 %", "full_house": "36.6 %",
             "escalera": "26.1 %"}  # fmt: skip
    rows = []
    for name, said in paper.items():
        chance = last_turn_chance(GAME, name)
        rows.append([name, said, f"{chance} = {100 * float(chance):.3f} %"])
    page.table(["combination", "paper", "ours, exact"], rows)
    k = last_keeps("escalera")
    wrong = [
        ("1-2-2-6-6", "2"),
        ("1-1-4-6-6", "4"),
        ("1-2-2-3-6", "2-3"),
        ("1-2-2-4-5", "1-2-4-5"),
        ("2-4-4-5-6", "2-4-5-6"),
    ]
    rows = [[roll, said, k[roll], "yes" if k[roll] == said else "**no**"] for roll, said in wrong]
    page.say("Going for an escalera only, first roll:")
    page.table(["roll", "paper keeps", "ours", "agrees"], rows)


def last_keeps(category: str) -> dict[str, str]:
    made = (scores(GAME)[GAME.index(category)] > 0).astype(float)[None]
    turn = turn_values(GAME, np.stack([made, made]))
    best = best_keeps(K, turn.kept[0])
    return {
        "-".join(map(str, roll)): "-".join(map(str, K.multisets[best[i]])) for i, roll in enumerate(K.rolls)
    }
