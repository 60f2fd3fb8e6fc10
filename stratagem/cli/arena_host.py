"""`stratagem arena-host`"""

import shlex
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table

from stratagem.arena.ratings import wilson
from stratagem.cli.output import log, out, print_json, progress_bar
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption


@dataclass(frozen=True)
class Command:
    """Run bots of the competition protocol against each other or against our agents, with limits."""

    game: Annotated[Literal["generals"], tyro.conf.arg(metavar="GAME")]
    """The game: generals."""
    players: Annotated[tuple[str, str], tyro.conf.arg(metavar="PLAYER")]
    """Two players: an agent of ours by name, or the command of a bot after 'run:', as in 'run:python bot.py'."""
    games: int = 10
    """How many; sides are swapped from game to game."""
    options: str = "competition"
    """A variant of the game, or options as in width=18,height=18."""
    limit: float = 0.5
    """Seconds that a bot has for an answer."""
    start: float = 10.0
    """Seconds that it has for the first one."""
    memory: int = 2048
    """Mebibytes that each of its processes may use."""
    seed: int = 0
    """Other seeds give other maps."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        use_compile_cache()
        from stratagem.agents import make_agent
        from stratagem.games import GAMES
        from stratagem.protocols.generals_host import Limits, host_game

        variants = GAMES.row("generals").variants
        if self.options in variants:
            game: Any = GAMES.row("generals").load()(**variants[self.options])
        else:
            game = GAMES.make(f"generals:{self.options}")
        if self.games < 1 or self.limit <= 0 or self.memory < 16:
            raise BadOption("games and limit must be positive, and memory at least 16")
        limits = Limits(self.limit, self.start, self.memory << 20)
        players = [
            shlex.split(one[4:]) if one.startswith("run:") else make_agent(one, game) for one in self.players
        ]
        if any(isinstance(one, list) and not one for one in players):
            raise BadOption("after run: comes the command of a bot")
        rows = [_Row(name) for name in self.players]
        with progress_bar("games", self.games) as update:
            for number in range(self.games):
                seats = [number % 2, 1 - number % 2]  # which player sits where
                result = host_game(game, [players[index] for index in seats], self.seed + number // 2, limits)
                for seat, index in enumerate(seats):
                    rows[index].add(result.returns[seat], result.forfeits.get(seat), result.seconds[seat])
                    if seat in result.forfeits:
                        log.print(f"game {number + 1}: {self.players[index]} {result.forfeits[seat]}")
                update(number + 1, self.games)
        if self.json:
            print_json(
                {"game": game.spec.title, "games": self.games, "players": [one.facts() for one in rows]}
            )
        else:
            table = Table(title=f"generals, {self.games} games")
            times = ("first", "median", "slowest")
            for heading in ("player", "wins", "draws", "losses", "95 % interval", "forfeits", *times):
                table.add_column(heading)
            for one in rows:
                facts = one.facts()
                interval = f"{facts['low']:.1%} … {facts['high']:.1%}"
                counts = [str(facts[key]) for key in ("wins", "draws", "losses")]
                answers = ["" if facts[key] is None else f"{facts[key] * 1000:.0f} ms" for key in times]
                table.add_row(one.name, *counts, interval, str(len(facts["forfeits"])), *answers)
            out.print(table)
        return 0


class _Row:
    """How one player did."""

    def __init__(self, name: str):
        self.name = name
        self.returns: list[float] = []
        self.forfeits: list[str] = []
        self.first: list[float] = []  # seconds of the first answer of each game
        self.later: list[float] = []

    def add(self, value: float, forfeit: str | None, seconds: list[float]) -> None:
        self.returns.append(value)
        self.first += seconds[:1]
        self.later += seconds[1:]
        if forfeit is not None:
            self.forfeits.append(forfeit)

    def facts(self) -> dict[str, Any]:
        low, high = wilson(sum((value + 1) / 2 for value in self.returns), len(self.returns))
        return {
            "player": self.name,
            "wins": sum(value > 0 for value in self.returns),
            "draws": sum(value == 0 for value in self.returns),
            "losses": sum(value < 0 for value in self.returns),
            "low": round(low, 6),
            "high": round(high, 6),
            "forfeits": self.forfeits,
            "answers": len(self.first) + len(self.later),
            "first": round(max(self.first), 6) if self.first else None,
            "median": round(median(self.later), 6) if self.later else None,
            "slowest": round(max(self.later), 6) if self.later else None,
        }
