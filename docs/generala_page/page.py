"""What the sections of the page share: the game, its names in the paper, and lines and tables of the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stratagem.games.dice.family import generala
from stratagem.games.dice.keeps import keeps

FOLDER = Path(__file__).parent.parent / "generala"
GAME = generala()
K = keeps(5, 6)
SHORT = {
    "G": "generala", "4K": "four_of_a_kind", "FH": "full_house", "E": "escalera", "6": "sixes",
    "5": "fives", "4": "fours", "3": "threes", "2": "twos", "1": "ones",
}  # fmt: skip


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
