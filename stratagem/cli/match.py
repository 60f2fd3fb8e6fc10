"""`stratagem match`"""

from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from stratagem.arena.match import Played
from stratagem.arena.ratings import wilson
from stratagem.arena.roles import Seated, role_scores, share
from stratagem.arena.schedule import Fixture, fixtures
from stratagem.arena.tournament import Tournament, play_fixtures
from stratagem.cli.output import log, out, print_json, progress_bar
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption
from stratagem.core.game import Game
from stratagem.games import make_game
from stratagem.protocols.replay import Replay


@dataclass(frozen=True)
class Command:
    """Play agents against each other, seats swapped and seeds paired, and show the score with its interval."""

    game: Annotated[str, tyro.conf.arg(metavar="GAME")]
    """The game, with options after a colon: corso:width=4,height=4."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT")]
    """Two different agents; with more seats than agents, some sit twice."""
    games: int = 100
    """How many; seats rotate from game to game."""
    seed: int = 0
    """Other seeds give other games."""
    save: Path | None = None
    """Folder for a replay of every game."""
    exact: bool = False
    """Dice games: compute the expected result of both seatings instead of playing."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        use_compile_cache()
        game = make_game(self.game)
        if self.exact:
            from stratagem.cli.match_dice import exact_match

            return exact_match(game, self.agents, self.json)
        if len(self.agents) > game.spec.seats:
            raise BadOption(f"{game.spec.title} has {game.spec.seats} seats; got {len(self.agents)} agents")
        entrants = Tournament(self.game, self.agents, self.games, self.seed)
        schedule = fixtures(self.agents, game.spec.seats, self.games, self.seed, "round-robin")
        played: list[tuple[Fixture, Played]] = []
        playing = play_fixtures(entrants, game, schedule, record=self.save is not None)
        with progress_bar("games") as update, closing(playing):
            for chunk in playing:
                played += chunk
                update(len(played), len(schedule))
        played.sort(key=lambda pair: pair[0].number)
        if self.save:
            for fixture, one in played:
                save_replay(game, self.agents, fixture, one, self.save)
        rows = [summary(index, self.agents, played) for index in range(len(self.agents))]
        if self.json:
            spec = game.spec
            print_json(
                {
                    "game": spec.title,
                    "ruleset": spec.ruleset,
                    "seed": self.seed,
                    "games": len(played),
                    "agents": rows,
                }
            )
        else:
            print_table(game, len(played), rows)
            if self.save:
                log.print(f"Replays: {self.save}")
        return 0


def summary(index: int, names: tuple[str, ...], played: list[tuple[Fixture, Played]]) -> dict[str, Any]:
    """How one agent did."""
    seats = range(len(played[0][0].players))
    by_seat = [
        [share(one.returns, seat) for fixture, one in played if fixture.players[seat] == index]
        for seat in seats
    ]
    every = [value for scores in by_seat for value in scores]
    low, high = wilson(sum(every), len(every))
    seated = (Seated([names[i] for i in fixture.players], one.roles, one.returns) for fixture, one in played)
    by_role = [row for row in role_scores(seated, names) if row.player == names[index]]
    row = {
        "agent": names[index],
        "wins": sum(value == 1 for value in every),
        "draws": sum(0 < value < 1 for value in every),
        "losses": sum(value == 0 for value in every),
        "score": round(sum(every) / len(every), 6),
        "low": round(low, 6),
        "high": round(high, 6),
        "by_seat": [round(sum(scores) / len(scores), 6) if scores else None for scores in by_seat],
        "fouls": sum(fixture.players[seat] == index for fixture, one in played for seat in one.fouls),
    }
    return row | ({"by_role": [asdict(one) for one in by_role]} if by_role else {})


def print_table(game: Game, games: int, rows: list[dict[str, Any]]) -> None:
    """The score of each agent, on the terminal."""
    table = Table(title=f"{game.spec.title}, {games} games")
    for heading in ("agent", "wins", "draws", "losses", "score", "95 % interval", "by seat"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in rows:
        seats = " / ".join("–" if part is None else f"{part:.1%}" for part in row["by_seat"])
        table.add_row(
            row["agent"],
            *(str(row[key]) for key in ("wins", "draws", "losses")),
            f"{row['score']:.1%}",
            f"{row['low']:.1%} … {row['high']:.1%}",
            seats,
        )
        for role in row.get("by_role", []):
            table.add_row(
                f"  as {role['role']}",
                *(str(role[key]) for key in ("wins", "draws", "losses")),
                f"{role['score']:.1%}",
                f"{role['low']:.1%} … {role['high']:.1%}",
                "",
            )
    out.print(table)


def save_replay(game: Game, names: tuple[str, ...], fixture: Fixture, played: Played, folder: Path) -> None:
    """One JSON file a game."""
    spec = game.spec
    Replay(
        game=spec.name,
        parameters=dict(spec.parameters),
        ruleset=spec.ruleset,
        seats=[names[index] for index in fixture.players],
        actions=played.actions,
        returns=list(played.returns),
        seed=played.seed,
        seconds=[round(value, 6) for value in played.seconds],
    ).save(folder / f"game-{fixture.number + 1:04d}.json")
