"""How players did in each role, in games whose seats have different jobs.

The games of one rotation share a seed and so the deal of the roles: whoever attacked in one defends in the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stratagem.arena.ratings import wilson


class Seated(NamedTuple):
    """One finished game, by seat."""

    players: Sequence[str]
    roles: Sequence[str]
    """Empty where the game has none, or where they were not recorded."""
    returns: Sequence[float]


@dataclass(frozen=True)
class RoleScore:
    """One player in one role, against everybody or against one opponent."""

    player: str
    role: str
    against: str | None
    """None for everybody."""
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    """Points per game, a draw being half a point."""
    low: float
    high: float
    """The 95 % interval of the score."""


def share(returns: Sequence[float], seat: int) -> float:
    """The part of the win that a seat got: 1, 0, or a fraction of a shared one (½ for a draw of two)."""
    seats = len(returns)
    return round((returns[seat] * (seats - 1) + 1) / seats, 6)


def role_scores(games: Iterable[Seated], names: Sequence[str], *, pairs: bool = False) -> list[RoleScore]:
    """A row for each player and role, in the order of the names; with `pairs`, one for each opponent as well."""
    found: dict[tuple[str, str, str | None], list[float]] = {}
    for game in games:
        for seat, role in enumerate(game.roles):
            player = game.players[seat]
            others = {other for other in game.players if other != player}
            for against in [None, *(sorted(others) if pairs else [])]:
                found.setdefault((player, role, against), []).append(share(game.returns, seat))
    place = {name: index for index, name in enumerate(names)}
    order = sorted(found, key=lambda row: (place[row[0]], row[1], -1 if row[2] is None else place[row[2]]))
    return [_row(player, role, against, found[player, role, against]) for player, role, against in order]


def _row(player: str, role: str, against: str | None, points: list[float]) -> RoleScore:
    low, high = wilson(sum(points), len(points))
    return RoleScore(
        player=player,
        role=role,
        against=against,
        games=len(points),
        wins=sum(value == 1 for value in points),
        draws=sum(0 < value < 1 for value in points),
        losses=sum(value == 0 for value in points),
        score=round(sum(points) / len(points), 6),
        low=round(low, 6),
        high=round(high, 6),
    )


def interval_text(row: RoleScore) -> str:
    return f"{row.score:.0%} ({row.low:.0%}–{row.high:.0%})"


def roles_markdown(rows: Sequence[RoleScore], names: Sequence[str]) -> list[str]:
    """Lines of Markdown: every player in every role, then each role against each opponent. Nothing without roles."""
    if not rows:
        return []
    roles = sorted({row.role for row in rows})
    found = {(row.player, row.role, row.against): row for row in rows}

    def cell(player: str, role: str, against: str | None) -> str:
        row = found.get((player, role, against))
        return interval_text(row) if row else "·"

    lines = [
        "## By role",
        "",
        "Score per game in each role, with its 95 % interval. Roles are swapped with the seats.",
        "",
    ]
    lines += ["| | " + " | ".join(roles) + " |", "|---" * (len(roles) + 1) + "|"]
    lines += [
        f"| `{name}` | " + " | ".join(cell(name, role, None) for role in roles) + " |" for name in names
    ]
    for role in roles:
        lines += ["", f"The row as {role} against the column:", ""]
        lines += ["| | " + " | ".join(f"`{name}`" for name in names) + " |", "|---" * (len(names) + 1) + "|"]
        for name in names:
            lines.append(f"| `{name}` | " + " | ".join(cell(name, role, other) for other in names) + " |")
    return [*lines, ""]
