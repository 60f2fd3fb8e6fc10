"""Writes docs/generala.md and its plots: every number and claim of the paper beside ours.

    python docs/make_generala.py                    # from the solved table; what takes long is read from facts.json
    python docs/make_generala.py --again duels      # work out one part of facts.json again (duels, games)

The paper is Joseph Heled, "Stay in Command: Optimal Play for Two Person Generala", 2019. Its score sheets list
Generala, four of a kind, full house, escalera, sixes … ones from left to right.
"""

# ruff: noqa: E501 (the sentences of the page)

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from stratagem.analysis.dice_review import elo
from stratagem.core.files import write_json
from stratagem.games.dice.family import crag, generala, yacht, yatzy
from stratagem.games.dice.keeps import keeps, scores
from stratagem.solvers.dice import solve
from stratagem.solvers.dice_counts import positions
from stratagem.solvers.dice_duel import duel, player
from stratagem.solvers.dice_layers import layout
from stratagem.solvers.dice_onesided import distributions, expected_scores
from stratagem.solvers.dice_outlook import best_keeps, outlook
from stratagem.solvers.dice_simulate import simulate
from stratagem.solvers.dice_strategies import strategy
from stratagem.solvers.dice_table import Table
from stratagem.solvers.dice_turn import last_turn_chance, turn_values

HERE = Path(__file__).parent
FOLDER = HERE / "generala"
GAME = generala()
K = keeps(5, 6)
SHORT = {
    "G": "generala", "4K": "four_of_a_kind", "FH": "full_house", "E": "escalera", "6": "sixes",
    "5": "fives", "4": "fours", "3": "threes", "2": "twos", "1": "ones",
}  # fmt: skip
OPPONENTS = ("maximus", "mindful", "joe", "standing-greedy", "standing-random")


def mask(letters: str) -> int:
    return sum(1 << GAME.index(SHORT[letter]) for letter in letters.split())


def dice(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(sign) for sign in text))


@dataclass
class Page:
    """Lines of the page, with tables of claims."""

    lines: list[str]

    def say(self, *text: str) -> None:
        self.lines += [*text, ""]

    def table(self, heading: list[str], rows: list[list[Any]]) -> None:
        self.lines += ["| " + " | ".join(heading) + " |", "|" + " --- |" * len(heading)]
        self.lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
        self.lines.append("")


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


def engines(page: Page) -> None:
    rows = []
    for path in sorted(FOLDER.glob("benchmark-*.json")):
        for one in (json.loads(line) for line in path.read_text().splitlines() if line):
            compared = f"{one['largest_difference']:.1e}" if "largest_difference" in one else ""
            rows.append([
                one["engine"], f"{one['device']}, {one['machine']}", f"{one['seconds']:.2f} s",
                f"{one['first_run_with_compilation']:.1f} s", f"{one['positions_per_second'] / 1e6:.1f} M/s", compared,
            ])  # fmt: skip
    if rows:
        page.say(
            "## Speed",
            "`benchmarks/dice.py`, all of Generala; the numba engine writes its table to disk as it goes.",
        )
        page.say(
            "The H200 was measured before both engines summed in pairs; since then they differ by at most 4.8e-07 over "
            "the 922,384 positions of a game with seven of the categories, both on one processor."
        )
        page.table(
            ["engine", "machine", "time", "with compilation", "speed", "largest difference to numba"], rows
        )


def beyond(page: Page) -> None:
    page.say("## Beyond: the games that the paper calls too big")
    rows, notes = [], []
    for name in ("yacht", "crag", "yatzy"):
        for path in sorted(FOLDER.glob(f"{name}-*.json")):
            lines = [json.loads(line) for line in path.read_text().splitlines() if line]
            layers, last = [one for one in lines if "layer" in one], lines[-1]
            if "value" not in last:
                notes.append(f"{name}: stopped after layer {layers[-1]['layer']}: {json.dumps(last)}")
                continue
            rows.append([
                name, f"**{last['value']:+.6f}**", f"{last['positions']:,}", f"{last['seconds']:.1f} s",
                f"{last['positions_per_second'] / 1e6:.1f} M/s", f"{max(one.get('peak_bytes', 0) for one in lines) / 2**30:.1f} GiB",
                f"{last.get('engine', 'fused')} on {last['device']}", layers[-1]["checksum"],
            ])  # fmt: skip
            page_layers(name, path.stem, layers)
    if rows:
        page.table(
            [
                "game",
                "value for the first player",
                "undecided positions",
                "time",
                "speed",
                "memory",
                "engine",
                "last checksum",
            ],
            rows,
        )
        page.say("Positions, time and a checksum for every layer: `docs/generala/*-layers.csv`. Checksums add the bit patterns "
                 "of the float32 equities, so they tell two runs of one engine apart from a fault, not two engines from each "
                 "other; between engines the mean equity of a layer is compared. The runs on two cores shared them with "
                 "other work, at the lowest priority; their times are no measure of speed.")  # fmt: skip
    for note in notes:
        page.say(note)
    for name in ("yacht", "crag", "yatzy"):
        gap = largest_gap(name)
        if gap is not None:
            page.say(f"{name}: the mean equities of the layers differ by at most {gap:.1e} between the runs.")
    if not any(row[0] == "yatzy" for row in rows):
        board = layout(yatzy(upper_bonus=False))
        pairs = [board.pairs(layer) for layer in range(board.layers + 1)]
        page.say(
            f"Yatzy without bonus is not solved yet. It has {board.positions:,} undecided positions in {board.layers} "
            f"layers; two layers side by side are {2 * max(pairs) * (board.total + 1) * 4 / 2**30:.0f} GiB, which one "
            f"H200 holds. What stands in the way is time: {sum(pairs) * (board.total + 1):,} positions with padding, at "
            "the 100 to 113 million a second that the plain array operations reached there, are a quarter of an hour "
            "of the whole card. The kernels of `dice_pallas` are meant to be several times faster; with five dice they "
            "have not been measured there."
        )
    for name in ("yacht", "crag", "yatzy"):
        openings(page, name)


def largest_gap(name: str) -> float | None:
    """How far the layers' mean equities of two runs are apart."""
    runs = []
    for path in sorted(FOLDER.glob(f"{name}-*.json")):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line]
        runs.append([one["mean"] for one in lines if "layer" in one])
    if len(runs) < 2:
        return None
    return max(abs(one - other) for one, other in zip(runs[0], runs[1], strict=False))


def page_layers(name: str, stem: str, layers: list[dict[str, Any]]) -> None:
    rows = ["layer,mover_open,opponent_open,pairs,positions,seconds,checksum,mean_equity"]
    for one in layers:
        rows.append(
            f"{one['layer']},{one['open'][0]},{one['open'][1]},{one['pairs']},{one['positions']},{one['seconds']:.3f},"
            f"{one['checksum']},{one['mean']:.9f}"
        )
    (FOLDER / f"{stem}-layers.csv").write_text("\n".join(rows) + "\n")


def openings(page: Page, name: str) -> None:
    """The first turn, read from the last layers of a streaming solve."""
    path = next(iter(sorted(FOLDER.glob(f"{name}-*-top.npz"))), None)
    if path is None:
        return
    family = {"yacht": yacht, "crag": crag, "yatzy": lambda: yatzy(upper_bonus=False)}[name]()
    board, k = layout(family), keeps(family.dice, family.faces)
    n = len(family.categories)
    layer = np.load(path)[f"layer{2 * n - 1}"]
    starts, everything = board.starts(2 * n - 1), (1 << n) - 1
    scoring_values = np.empty((1, n, len(k.rolls)))
    for c in range(n):
        rest = everything ^ (1 << c)
        low, width = board.window(everything, rest)
        window = layer[starts[board.rank[rest]] :][:width]
        at = -scores(family)[c].astype(int) - low
        inside = window[at.clip(0, width - 1)]
        scoring_values[0, c] = -np.where(at < 0, -1.0, np.where(at >= width, 1.0, inside))
    turn = turn_values(family, np.concatenate([scoring_values, scoring_values]))
    best = best_keeps(k, turn.kept[0])
    order = np.argsort(-turn.rolled[0])
    rows = []
    for i in [*order[:4], *order[len(order) // 2 - 2 : len(order) // 2 + 2], *order[-4:]]:
        kept = "-".join(map(str, k.multisets[best[i]])) or "nothing"
        rows.append(["-".join(map(str, k.rolls[i])), kept, f"{turn.rolled[0][i]:+.4f}"])
    page.say(f"{name}: the best, the middling and the worst first rolls")
    page.table(["first roll", "best keep", "equity"], rows)


def plots(table: Table, facts: dict[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    everything = (1 << 10) - 1
    plt.rcParams.update({"figure.figsize": (7, 4), "figure.dpi": 110, "axes.grid": True, "grid.alpha": 0.3})
    figure, axes = plt.subplots()
    leads = np.arange(-60, 61)
    for letters, label in (
        ("G 4K FH E 6", "G 4K FH E 6 each"),
        ("E 3 2 1", "E 3 2 1 each"),
        ("G", "generala each"),
    ):
        axes.plot(leads, table.equities(mask(letters), mask(letters), leads), label=label)
    axes.set(
        xlabel="lead of the player to move", ylabel="equity", title="Equity by lead, same categories open"
    )
    axes.legend()
    figure.savefig(FOLDER / "equity.png", bbox_inches="tight")
    figure, axes = plt.subplots()
    for name in ("maximus", "joe", "standing-greedy", "standing-random"):
        chance = distributions(strategy(GAME, name))[-1]
        axes.plot(chance, label=f"{name}, mean {chance @ np.arange(len(chance)):.1f}")
    axes.set(xlabel="final score", ylabel="chance", title="Score distributions")
    axes.legend()
    figure.savefig(FOLDER / "scores.png", bbox_inches="tight")
    figure, axes = plt.subplots()
    turn = table.turn(everything, everything, 0)
    axes.hist(turn.rolled[0], bins=40, weights=K.ways / K.ways.sum())
    axes.set(
        xlabel="equity after the first roll of the game", ylabel="chance", title="Luck of the first roll"
    )
    figure.savefig(FOLDER / "first-roll.png", bbox_inches="tight")
    figure, axes = plt.subplots()
    axes.bar(GAME.names, 100 * np.array(facts["games"]["waives"]))
    axes.set(ylabel="waived, % of open turns", title="What Malina waives")
    axes.tick_params(axis="x", rotation=45)
    figure.savefig(FOLDER / "waives.png", bbox_inches="tight")
    plt.close("all")


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
