"""Who plays whom, from which seats, with which seed: fixed before the first game, so that it can be continued."""

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stratagem.core.errors import BadOption

Mode = Literal["round-robin", "gauntlet"]


@dataclass(frozen=True)
class Fixture:
    """One game to be played."""

    table: int
    """Which group of opponents this is, counted from zero."""
    number: int
    """Which of that group's games."""
    players: tuple[int, ...]
    """Entrant index per seat."""
    seed: int


def tables(entrants: int, seats: int, mode: Mode) -> list[tuple[int, ...]]:
    """The groups that meet. A gauntlet is the first entrant against all others."""
    if mode == "gauntlet":
        if seats != 2:
            raise BadOption(f"a gauntlet is for two seats, this game has {seats}; use round-robin")
        return [(0, other) for other in range(1, entrants)]
    # With fewer entrants than seats some sit twice.
    if entrants >= seats:
        return list(itertools.combinations(range(entrants), seats))
    return [tuple(i % entrants for i in range(seats))]


def fixtures(entrants: Sequence[str], seats: int, games: int, seed: int, mode: Mode) -> list[Fixture]:
    """`games` for each table. Seats rotate, and the games of one rotation share a seed.

    The seed of a game follows from the tournament's seed, who is at the table and the rotation, not from the
    list of entrants: a pair plays the same games whoever else takes part.
    """
    found = []
    for table, players in enumerate(tables(len(entrants), seats, mode)):
        for number in range(games):
            rotation, turn = divmod(number, seats)
            seating = players[turn:] + players[:turn]
            name = "|".join([str(seed), *sorted(entrants[i] for i in players), str(rotation)])
            digest = hashlib.sha256(name.encode()).digest()
            found.append(Fixture(table, number, seating, int.from_bytes(digest[:4], "big") >> 1))
    return found
