"""The first move and the positions that the paper works out, looked up in the solved table."""

# ruff: noqa: E501 (the sentences of the page)

from __future__ import annotations

from typing import Any

from generala_page.page import GAME, K, Page, dice, mask

from stratagem.analysis.dice_review import elo
from stratagem.solvers.dice_onesided import distributions, expected_scores
from stratagem.solvers.dice_outlook import best_keeps, outlook
from stratagem.solvers.dice_strategies import strategy
from stratagem.solvers.dice_table import Table
from stratagem.solvers.dice_turn import last_turn_chance


def first_move(page: Page, table: Table, facts: dict[str, Any]) -> None:
    everything = (1 << 10) - 1
    turn = table.turn(everything, everything, 0)
    best = best_keeps(K, turn.kept[0])
    kept = {roll: K.multisets[best[i]] for i, roll in enumerate(K.rolls)}
    page.say("## The first move", f"Value of the game for the player who begins: **{table.start_equity:+.5f}** "
             "(paper: the second player is ahead by 1 cent a game).")  # fmt: skip
    pairs = [r for r in K.rolls if r.count(6) == 2 and 3 not in map(r.count, r)]
    only_sixes = all(kept[r] == (6, 6) for r in pairs)
    houses = [r for r in K.rolls if sorted(map(r.count, set(r))) == [2, 3]]
    never = all(len(set(kept[r])) == 1 for r in houses)
    escalera = sorted("-".join(map(str, r)) for r in K.rolls if len(set(kept[r])) > 2 and len(kept[r]) < 5)
    one_away = [r for r in escalera if len(set(r.split("-"))) == 4]
    waive = [r for i, r in enumerate(K.rolls)
             if GAME.categories[int(turn.scoring[0][:, i].argmax())].score(r) == 0]  # fmt: skip
    sixes = K.full((2, 3, 4, 6, 6))
    loss = float(turn.scoring[0][0, sixes] - turn.scoring[0][5, sixes])
    rows = [
        ["keeps just 6-6 from X-X-X-6-6 unless it is a full house", "yes" if only_sixes else "**no**"],
        [
            "never goes for (or stands on) a full house on the first roll: keeps three of it",
            "yes" if never else "**no**",
        ],
        ["1-1-2-2-5", "keeps " + "-".join(map(str, kept[(1, 1, 2, 2, 5)])) + " (paper: 2-2)"],
        ["1-1-2-3-4", "keeps " + "-".join(map(str, kept[(1, 1, 2, 3, 4)])) + " (paper: 1-1)"],
        [
            "goes for an escalera only when one die away, from both ends (1/3 and 5/9)",
            f"yes for {', '.join(one_away)}; but also keeps three of a broken run from "
            f"{', '.join(r for r in escalera if r not in one_away)}, which the paper does not mention",
        ],
        [
            "waives ones with 2-3-4-6-6, 2-3-5-6-6, 2-4-5-6-6, 3-4-5-6-6",
            ", ".join("-".join(map(str, r)) for r in waive),
        ],
        [
            "scoring the two sixes instead costs less than 1 Elo",
            f"{loss:.4f}, {-elo(-loss):.1f} Elo (the paper's figure is too low)"
            if -elo(-loss) > 1
            else f"{loss:.4f}",
        ],
        [
            "it happens once every 120 games",
            f"once in {1 / facts['games']['first_turn']:.0f} games (sampled, {facts['games']['games']:,} games, each player)",
        ],
    ]
    page.table(["claim", "ours"], rows)


def worked(page: Page, table: Table) -> None:
    page.say(
        "## The worked positions", "Equities of the player to move; categories open for both, then the lead."
    )
    rows = []

    def row(where: str, said: str, ours: str) -> None:
        rows.append([where, said, ours])

    row("(A) G against nothing, −18", "−0.908", f"{table.equity(mask('G'), 0, -18):+.4f}")
    row("(B) G against 4K, +22", "0.445", f"{table.equity(mask('G'), mask('4K'), 22):+.4f}")
    best, high, low = keeping(table, "G E 2 1", "G E 6", 12, "13334", "333")
    row("G E 2 1 against G E 6, +12: keeping 3-3-3 of 1-3-3-3-4", "error of 0.01; right is 1-3-4",
        f"{high - low:.4f}; right is {best}")  # fmt: skip
    one = scoring(table, "G E 2 1", "G E 6", 12, "33334")
    row("then 3-3-3-3-4: waiving escalera, not generala", "blunder of 0.31; 3 to 2 on against 4 to 5",
        f"{one['generala'] - one['escalera']:.4f}; {one['generala']:+.4f} against {one['escalera']:+.4f}")  # fmt: skip
    two = scoring(table, "G E 6", "G 2 1", -12, "14566")
    row("Maximus, G E 6 against G 2 1, −12, scores 1-4-5-6-6 as sixes", "waiving generala is 0.03 better",
        f"{two['generala'] - two['sixes']:.4f}")  # fmt: skip
    best, high, low = keeping(table, "G FH 6 3 2 1", "FH E 4 3 2 1", -38, "11333", "11333")
    chance = outlook(GAME, mask("G FH 6 3 2 1"), table.turn(mask("G FH 6 3 2 1"), mask("FH E 4 3 2 1"), -38), 0,
                     K.index[(3, 3, 3)])  # fmt: skip
    row("G FH 6 3 2 1 against FH E 4 3 2 1, 76 to 114: scoring 1-1-3-3-3 as full house", "error of 0.04; 9 % and 21 %",
        f"{high - low:.4f}, right is {best}; generala {chance.made[9]:.1%}, full house {chance.made[7]:.1%}")  # fmt: skip
    for lead, said in ((-8, "waive 4K"), (-7, "score the 8")):
        four, house = scoring(table, "4K 4", "1", lead, "12344"), scoring(table, "FH 4", "1", lead, "12344")
        row(f"4K 4 against 1, {lead}, dice x-x-x-4-4", said + ("; with FH instead, score" if lead == -8 else ""),
            f"fours {four['fours']:+.3f}, waive {four['four_of_a_kind']:+.3f}; "
            f"with FH fours {house['fours']:+.3f}, waive {house['full_house']:+.3f}")  # fmt: skip
    scores_or_not = []
    for points in range(88, 98):
        three = scoring(table, "4K 3", "G FH", points - 70, "12335")
        scores_or_not.append(f"{points}: {'waive' if three['four_of_a_kind'] > three['threes'] else 'score'}")
    row("4K 3 against G FH, X points to 70, dice x-x-x-3-3", "waive with 92 and 93, score below and above",
        ", ".join(scores_or_not))  # fmt: skip
    for lead in (-5, -4):
        six = scoring(table, "G 6", "2 1", lead, "12366")
        row(f"G 6 against 2 1, {lead}, dice x-x-x-6-6", "waive generala" if lead == -5 else "score the 12",
            f"waive {six['generala']:+.3f}, score {six['sixes']:+.3f}")  # fmt: skip
    waives = [max(found, key=lambda name: found[name])
              for lead in range(-30, 76) if (found := scoring(table, "G 4K FH E 6", "G 4K FH 6", lead, "12346"))]  # fmt: skip
    first = -30 + waives.index("generala")
    row("G 4K FH E 6 against G 4K FH 6, dice x-x-x-x-6", "waive generala from 20 down to 75 up, escalera below",
        f"generala from {first} to {75 if all(w == 'generala' for w in waives[first + 30:]) else '?'}; "
        f"{waives[first + 29]} just below")  # fmt: skip
    six = scoring(table, "G 6", "1", -19, "12666")
    row("G 6, −19, dice x-x-6-6-6 (the opponent's open category is not legible; with ones)", "waive generala",
        f"waive {six['generala']:+.3f}, score {six['sixes']:+.3f}")  # fmt: skip
    row("three players: Malina (FH 30) against Joe A (4K FH 70) and Joe B (E 20)", "−0.10 and −0.12",
        f"{table.equity(mask('G 4K E 6 5 4 3 2 1'), mask('G E 6 5 4 3 2 1'), -40):+.3f} and "
        f"{table.equity(mask('G 4K E 6 5 4 3 2 1'), mask('G 4K FH 6 5 4 3 2 1'), 10):+.3f}")  # fmt: skip
    expected = expected_scores(GAME)[:, 0]
    row("expected points of E G, 6 G, 6 E, 2, G alone", "10.3, 17.7, 20.4, 4.2, 2.3",
        ", ".join(f"{expected[mask(one)]:.2f}" for one in ("E G", "6 G", "6 E", "2", "G")))  # fmt: skip
    ones = distributions(strategy(GAME, "maximus"))[mask("1")][:6][::-1]
    row(
        "last score of ones, 5 to 0",
        "0.013 0.091 0.250 0.344 0.236 0.065",
        " ".join(f"{p:.3f}" for p in ones),
    )
    p, tie = float(last_turn_chance(GAME, "generala")), ones[-1]
    row("generala wins, else a tie if the opponent makes no one", "−0.93",
        f"{p - (1 - p) * (1 - tie):+.3f}: p·1 + (1 − p)·0.065·0 − the rest; the paper's −0.93 does not follow from its own numbers")  # fmt: skip
    page.table(["position", "paper", "ours"], rows)
    page.say("The paper's worked table for two three-sided dice is reproduced cell by cell in "
             "`tests/solvers/test_dice.py`; its last row averages to −0.067, not to the −0.289 it states.")  # fmt: skip


def scoring(table: Table, mine: str, theirs: str, lead: int, roll: str) -> dict[str, float]:
    """Equity of every way to score a last roll."""
    turn = table.turn(mask(mine), mask(theirs), lead)
    open_ = [c for c in range(10) if mask(mine) >> c & 1]
    return {GAME.names[c]: float(turn.scoring[0][i, K.full(dice(roll))]) for i, c in enumerate(open_)}


def keeping(
    table: Table, mine: str, theirs: str, lead: int, roll: str, keep: str
) -> tuple[str, float, float]:
    """(best keep, its equity, the equity of another keep) after a first roll."""
    turn = table.turn(mask(mine), mask(theirs), lead)
    best = int(best_keeps(K, turn.kept[0])[K.full(dice(roll))])
    return (
        "-".join(map(str, K.multisets[best])),
        float(turn.kept[0][best]),
        float(turn.kept[0][K.index[dice(keep)]]),
    )
