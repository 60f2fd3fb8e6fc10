"""Writes docs/generala.md and its plots: every number and claim of the paper beside ours.

    python docs/make_generala.py                    # from the solved table; what takes long is read from facts.json
    python docs/make_generala.py --again duels      # work out one part of facts.json again (duels, games)

The paper is Joseph Heled, "Stay in Command: Optimal Play for Two Person Generala", 2019. Its score sheets list
Generala, four of a kind, full house, escalera, sixes … ones from left to right.
The sections of the page are in docs/generala_page, one file a subject.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

from generala_page.engines import engines
from generala_page.facts import facts_of
from generala_page.larger import beyond
from generala_page.moves import first_move, worked
from generala_page.page import FOLDER, GAME, Page
from generala_page.players import strengths, waiving
from generala_page.plots import plots
from generala_page.sizes import chances, counts

from stratagem.solvers.dice import solve
from stratagem.solvers.dice_counts import positions

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--again", nargs="*", default=[], choices=("duels", "games"))
    chosen = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    table = solve(GAME)
    facts = facts_of(table, set(chosen.again))
    page = Page(["# Generala, solved: the facts", ""])
    page.say(
        "Written by `docs/make_generala.py` from the solved table; do not edit. The paper is Joseph Heled, "
        "*Stay in Command: Optimal Play for Two Person Generala* (2019). Equities are expected results of the player "
        "named: +1 win, 0 draw, −1 loss. G is generala, 4K four of a kind, FH full house, E escalera.",
        f"Table: {table.board.positions:,} undecided positions in float32 (the other "
        f"{positions(GAME) - table.board.positions:,} of the paper's count are decided by the lead alone), ruleset "
        f"`{GAME.ruleset}`. Machine of this page: {platform.machine()}.",
    )
    counts(page)
    chances(page)
    first_move(page, table, facts)
    page.say("![Luck of the first roll](generala/first-roll.png)")
    worked(page, table)
    page.say("![Equity by lead](generala/equity.png)")
    strengths(page, facts)
    page.say("![Score distributions](generala/scores.png)")
    waiving(page, facts)
    page.say("![Waives](generala/waives.png)")
    engines(page)
    beyond(page)
    plots(table, facts)
    (HERE / "generala.md").write_text("\n".join(page.lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
