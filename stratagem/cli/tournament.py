"""`stratagem tournament`"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from stratagem.arena.report import Standing, rating_text, standing, write_report
from stratagem.arena.roles import interval_text
from stratagem.arena.schedule import Mode
from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.cli.output import log, out, print_json, progress_bar
from stratagem.core.compile_cache import use_compile_cache


@dataclass(frozen=True)
class Command:
    """Let agents play each other, rate them, and write a report.

    Results are kept as they come: the same command, started again, goes on where it was stopped.
    """

    game: Annotated[str, tyro.conf.arg(metavar="GAME")]
    """The game, with options after a colon: corso:width=4,height=4."""
    entrants: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT")]
    """Two or more agents, with options after a colon: mm:depth=4,temperature=0."""
    games: int = 100
    """Games for each pair. Seats are swapped from game to game, and both games of a swap share a seed."""
    seed: int = 0
    """Other seeds give other games."""
    mode: Mode = "round-robin"
    """Everybody against everybody, or the first entrant against all others."""
    anchor: str | None = None
    """Who has rating zero; the first entrant unless given."""
    out: Path | None = None
    """Folder for results and report; runs/tournament-GAME-ID unless given."""
    again: bool = False
    """Forget earlier results of this tournament and play all games anew."""
    workers: int | None = None
    """Processes for agents that are not compiled; one a core unless given."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        use_compile_cache()
        tournament = Tournament(self.game, self.entrants, self.games, self.seed, self.mode)
        name = self.game.partition(":")[0]
        folder = self.out or Path("runs") / f"tournament-{name}-{tournament.identity}"
        results_log = folder / "results.jsonl"
        if self.again:
            results_log.unlink(missing_ok=True)
        try:
            with progress_bar("games") as update:
                results = run_tournament(tournament, results_log, workers=self.workers, progress=update)
        except KeyboardInterrupt:
            log.print(f"Stopped; finished games are in {results_log}. The same command goes on from there.")
            raise
        outcome = standing(tournament, results, self.anchor)
        report = write_report(outcome, folder)
        if self.json:
            print_json({**outcome.as_json(), "report": str(report)})
            return 0
        print_table(outcome)
        out.print(f"Report: {report}")
        return 0


def print_table(outcome: Standing) -> None:
    """Ratings, and who beat whom, on the terminal."""
    tournament = outcome.tournament
    ratings = Table(title=f"{tournament.game}, {tournament.games} games a pair")
    for heading in ("", "player", "rating", "95 % interval", "score"):
        ratings.add_column(heading, justify="left" if heading == "player" else "right", no_wrap=True)
    crosstable = Table(title="score of row against column, in percent", box=None, padding=(0, 1))
    crosstable.add_column("")
    for place, row in enumerate(outcome.ratings, 1):
        ratings.add_row(str(place), row.name, *rating_text(row), f"{row.score:.1%}")
        crosstable.add_column(str(place), justify="right", min_width=3)
    for place, row in enumerate(outcome.ratings, 1):
        shares = ["·" if share is None else f"{100 * share:.0f}" for share in outcome.crosstable[place - 1]]
        crosstable.add_row(f"{place} {row.name}", *shares)
    out.print(ratings)
    out.print(crosstable)
    if outcome.roles:
        out.print(role_table(outcome))


def role_table(outcome: Standing) -> Table:
    """Everybody in every role."""
    everybody = {(row.player, row.role): row for row in outcome.roles if row.against is None}
    roles = sorted({role for _, role in everybody})
    table = Table(title="score by role, with its 95 % interval", box=None, padding=(0, 1))
    for heading in ("", *roles):
        table.add_column(heading, justify="right" if heading else "left")
    for place, rating in enumerate(outcome.ratings, 1):
        cells = [interval_text(everybody[rating.name, role]) for role in roles]
        table.add_row(f"{place} {rating.name}", *cells)
    return table
