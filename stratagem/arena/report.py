"""What a tournament showed, for people: rating table, crosstable, and both as pictures."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.arena.ratings import Rating, pair_results, rate, wilson
from stratagem.arena.roles import RoleScore, Seated, role_scores, roles_markdown
from stratagem.arena.tournament import Result, Tournament
from stratagem.core.files import atomic_write
from stratagem.games import make_game


@dataclass(frozen=True)
class Standing:
    """The outcome of a tournament."""

    tournament: Tournament
    ratings: list[Rating]
    """Best first."""
    crosstable: list[list[float | None]]
    """Score per game of row against column, in the order of the ratings; None where they never met."""
    counts: list[list[int]]
    """Games of row against column."""
    seats: list[float]
    """Mean return of each seat, whoever sat there."""
    mean_turns: float
    fouls: dict[str, int]
    """Games lost by an illegal action, for those who lost any."""
    move_seconds: dict[str, float]
    """Mean thinking time a game."""
    roles: list[RoleScore]
    """Each player in each role, against everybody and against each opponent; empty in games without roles."""

    def as_json(self) -> dict[str, Any]:
        spec = make_game(self.tournament.game).spec
        return {
            "game": spec.title,
            "ruleset": spec.ruleset,
            "seed": self.tournament.seed,
            "mode": self.tournament.mode,
            "games": self.tournament.games,
            "ratings": [asdict(rating) for rating in self.ratings],
            "crosstable": self.crosstable,
            "counts": self.counts,
            "seats": self.seats,
            "mean_turns": self.mean_turns,
            "fouls": self.fouls,
        } | ({"roles": [asdict(row) for row in self.roles]} if self.roles else {})


def standing(tournament: Tournament, results: list[Result], anchor: str | None = None) -> Standing:
    """Rate a tournament; the anchor is the first entrant unless named."""
    duels = [duel for result in results for duel in result.duels()]
    ratings = rate(list(tournament.entrants), duels, anchor or tournament.entrants[0])
    names = [row.name for row in ratings]
    wins, draws, losses = pair_results(names, duels)
    games = wins + draws + losses
    shares = np.divide(wins + draws / 2, games, out=np.full_like(games, np.nan), where=games > 0)
    fouls: dict[str, int] = {}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for result in results:
        for seat in result.fouls:
            fouls[result.players[seat]] = fouls.get(result.players[seat], 0) + 1
        for seat, name in enumerate(result.players):
            seconds[name].append(result.seconds[seat])
    return Standing(
        tournament=tournament,
        ratings=ratings,
        crosstable=[[None if np.isnan(x) else round(float(x), 6) for x in row] for row in shares],
        counts=games.astype(int).tolist(),
        seats=np.mean([result.returns for result in results], axis=0).round(6).tolist(),
        mean_turns=round(float(np.mean([result.turns for result in results])), 3),
        fouls=fouls,
        move_seconds={name: float(np.mean(spent)) if spent else 0.0 for name, spent in seconds.items()},
        roles=role_scores(
            (Seated(result.players, result.roles, result.returns) for result in results), names, pairs=True
        ),
    )


def rating_text(row: Rating) -> tuple[str, str]:
    """(rating, interval) as shown to people."""
    if row.range == "above":
        bound = "" if row.low is None else f"> {row.low:+.0f}"
        return "above range", bound
    if row.range == "below":
        bound = "" if row.high is None else f"< {row.high:+.0f}"
        return "below range", bound
    if row.rating is None or row.low is None or row.high is None:
        return "not connected", ""
    if row.range == "anchor":
        return "0", "anchor"
    return f"{row.rating:+.0f}", f"{row.low:+.0f} … {row.high:+.0f}"


def write_report(outcome: Standing, folder: Path) -> Path:
    """Write `report.md`, `ratings.png` and `crosstable.png`; return the path of the first."""
    _plot_ratings(outcome, folder / "ratings.png")
    _plot_crosstable(outcome, folder / "crosstable.png")
    path = folder / "report.md"
    with atomic_write(path, "w") as file:
        file.write(markdown(outcome))
    return path


def markdown(outcome: Standing) -> str:
    """The report as Markdown."""
    tournament, names = outcome.tournament, [row.name for row in outcome.ratings]
    spec = make_game(tournament.game).spec
    lines = [
        f"# Tournament of {spec.title}",
        "",
        f"{tournament.mode}, {tournament.games} games a pair, seed {tournament.seed}, ruleset `{spec.ruleset}`. "
        "Seats rotate and the games of one rotation share a seed.",
        "",
        "| | player | rating | 95 % interval | games | score | seconds a game |",
        "|---|---|---|---|---|---|---|",
    ]
    for place, row in enumerate(outcome.ratings, 1):
        value, interval = rating_text(row)
        spent = outcome.move_seconds[row.name]
        lines.append(
            f"| {place} | `{row.name}` | {value} | {interval} | {row.games} | {row.score:.1%} | {spent:.3g} |"
        )
    lines += [
        "",
        "Ratings are Bradley–Terry with draws on the 400-point scale, fitted to all games together; the anchor has "
        "zero. *Above* or *below range*: won or lost everything that could have measured it; the bound is the rating "
        "at which such a record had a chance of 5 %.",
        "",
        "![Ratings](ratings.png)",
        "",
        "## Who beat whom",
        "",
        "Score per game of the row against the column, with its 95 % interval.",
        "",
        "| | " + " | ".join(f"`{name}`" for name in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for one, name in enumerate(names):
        cells = [_cell(outcome, one, other) for other in range(len(names))]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    seats = ", ".join(f"seat {i + 1} {value:+.3f}" for i, value in enumerate(outcome.seats))
    lines += [
        "",
        "![Crosstable](crosstable.png)",
        "",
        *roles_markdown(outcome.roles, names),
        f"Mean result by seat: {seats}. Mean length: {outcome.mean_turns:.1f} turns.",
    ]
    if outcome.fouls:
        lost = ", ".join(f"`{name}` {count}" for name, count in outcome.fouls.items())
        lines += ["", f"Games lost by an illegal action: {lost}."]
    return "\n".join(lines) + "\n"


def _cell(outcome: Standing, row: int, column: int) -> str:
    share, games = outcome.crosstable[row][column], outcome.counts[row][column]
    if share is None:
        return "·" if row == column else "–"
    low, high = wilson(share * games, games)
    return f"{share:.0%} ({low:.0%}–{high:.0%})"


def _plot_ratings(outcome: Standing, path: Path) -> None:
    rows = [row for row in outcome.ratings if row.rating is not None][::-1]
    with _figure((7, 0.9 + 0.42 * max(len(rows), 1)), path) as axes:
        for place, row in enumerate(rows):
            assert row.rating is not None
            assert row.low is not None
            assert row.high is not None
            axes.plot([row.low, row.high], [place, place], color="#3b6ea8", linewidth=2)
            axes.plot(row.rating, place, "o", color="#1d3557", markersize=6)
        axes.set_yticks(range(len(rows)), [row.name for row in rows])
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("rating (95 % interval)")
        axes.grid(axis="x", alpha=0.3)


def _plot_crosstable(outcome: Standing, path: Path) -> None:
    names = [row.name for row in outcome.ratings]
    shares = np.array(
        [[np.nan if value is None else value for value in row] for row in outcome.crosstable], float
    )
    size = 2.4 + 0.75 * len(names)
    with _figure((size + 0.8, size), path) as axes:
        axes.imshow(shares, cmap="RdYlBu", vmin=0, vmax=1)
        for i in range(len(names)):
            for j in range(len(names)):
                if not np.isnan(shares[i, j]):
                    dark = abs(shares[i, j] - 0.5) > 0.35
                    colour = "white" if dark else "black"
                    axes.text(j, i, f"{shares[i, j]:.0%}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
        axes.set_yticks(range(len(names)), names)
        axes.set_title("score of row against column")


class _figure:
    """A matplotlib axes that is saved, atomically, when the block ends."""

    def __init__(self, size: tuple[float, float], path: Path):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.path = path
        self.figure = Figure(figsize=size, dpi=120, layout="constrained")
        FigureCanvasAgg(self.figure)

    def __enter__(self) -> Any:
        return self.figure.subplots()

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            with atomic_write(self.path) as file:
                self.figure.savefig(file, format="png")
