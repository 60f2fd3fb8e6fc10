"""How strong the players are against each other, and what the best of them waives."""

# ruff: noqa: E501 (the sentences of the page)

from __future__ import annotations

from typing import Any

import numpy as np
from generala_page.page import GAME, Page

from stratagem.analysis.dice_review import elo
from stratagem.solvers.dice_onesided import distributions
from stratagem.solvers.dice_strategies import strategy


def strengths(page: Page, facts: dict[str, Any]) -> None:
    page.say("## How strong the players are", "Malina's expected result, computed by backward induction (`stratagem match "
             "generala malina maximus --exact`); cents a game with seats drawn by lot.")  # fmt: skip
    said = {
        "maximus": "0.033 / 0.045, 3.9 cents, 14 Elo",
        "mindful": "0.01, 3.5 Elo",
        "joe": "0.24, 85 Elo",
        "standing-greedy": "wins one game in 70",
        "standing-random": "wins one game in 4600",
    }
    rows = []
    for name, (first, second) in facts["duels"].items():
        mean = (first + second) / 2
        rows.append(
            [name, said[name], f"{first:+.5f}", f"{second:+.5f}", f"{100 * mean:+.2f}", f"{elo(mean):+.1f}"]
        )
    page.table(["opponent", "paper", "Malina first", "second", "cents", "Elo"], rows)
    greedy, wild = facts["duels"]["standing-greedy"][0], facts["duels"]["standing-random"][0]
    page.say(
        f"The paper's odds for the two players who never roll again are 1 − equity (1 in {1 / (1 - greedy):.0f} and 1 in "
        f"{1 / (1 - wild):.0f} with Malina first); a share of won games would be half of that, since a loss counts −1.",
        "Its 0.033 is cut off, not rounded, and so is 0.045. Mindful loses half a cent, which the paper rounds to one.",
        "Joe depends on ties that the paper leaves to its code. Ours keeps the dice that serve the nearest open "
        "combination, lower on the sheet when two are as near; scores the nearest that brings points; and waives the "
        "lowest on the sheet. Other readings of ties and waives came out between 0.31 and 0.50 against Maximus; none "
        "came near 0.24, so the paper's Joe must know more than its text says. Nor can both of its figures hold, 0.24 for Malina and "
        "0.24 for Maximus against him, with four cents between the two.",
    )
    chances = {name: distributions(strategy(GAME, name))[-1] for name in ("maximus", "joe")}
    rows = []
    for seats, paper in ((2, 0.24), (3, 0.31), (4, 0.38), (5, 0.41)):
        gain = against_joes(chances["maximus"], chances["joe"], seats)
        rows.append([seats, paper, f"{gain:.3f}", f"{gain * 2 / seats:.3f}"])
    page.say(
        "Maximus at a table of Joes, everybody stakes 1 and the winner takes all (exact, from score distributions):"
    )
    page.table(["players", "paper", "ours", "per time unit"], rows)
    games = facts["games"]
    paper3 = {"malina": "0.359 ± 0.005", "mindful": "0.355 ± 0.005 (printed 0.0355)", "maximus": "0.31"}
    rows = [
        [name, paper3[name], f"{mean:.3f} ± {spread:.3f}", f"{n:,}"]
        for name, (mean, spread, n) in games["three"].items()
    ]
    page.say("Three players, the other two are Joe (sampled, all seats):")
    page.table(["player", "paper", "ours", "games"], rows)
    page.say(
        "Our Joe is weaker than the paper's, so all winnings against him are higher; the order is the same."
    )


def against_joes(mine: np.ndarray, joe: np.ndarray, seats: int) -> float:
    """Expected winnings when the highest of `seats` scores takes the stakes; ties share."""
    below = np.cumsum(joe) - joe
    others = seats - 1
    won = 0.0
    for ties in range(others + 1):
        ways = float(
            np.prod([others - i for i in range(ties)]) / np.prod([i + 1 for i in range(ties)] or [1])
        )
        won += float((mine * ways * joe**ties * below ** (others - ties)).sum()) * seats / (ties + 1)
    return won - 1


def waiving(page: Page, facts: dict[str, Any]) -> None:
    games = facts["games"]
    waives = games["waives"]
    total = sum(waives)
    page.say("## Waiving", f"Malina against herself, {games['games']:,} sampled games; only turns while the game is open "
             f"are counted ({games['undecided_turns']:.2f} of 10), for once it is decided any choice is as good.")  # fmt: skip
    page.table(
        ["claim", "paper", "ours"],
        [
            ["waives in ten turns", "1.2", f"{10 * total:.2f}"],
            ["voluntary waives a game", "0.4", f"{games['by_choice']:.2f}"],
            ["generala to ones", "3", f"{waives[9] / waives[0]:.2f}"],
            ["escalera", "a very distant third, under 1 %", f"{waives[6]:.1%} of turns, {waives[6] / total:.0%} of waives"],
            ["share of waives", "almost always generala or ones",
             ", ".join(f"{GAME.names[c]} {waives[c] / total:.0%}" for c in np.argsort(waives)[::-1])],
        ],
    )  # fmt: skip
