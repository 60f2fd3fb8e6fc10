"""Leaderboards and learning curves, read from the folder of runs; and tournaments started from the page."""

import asyncio
import itertools
import json
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stratagem.arena.report import rating_text, standing
from stratagem.arena.tournament import FORMAT, Tournament, read_results
from stratagem.core.errors import BadOption, DamagedFile
from stratagem.core.files import read_json
from stratagem.studio.choices import check_agent, read_game
from stratagem.studio.journal import NoSuchGame
from stratagem.studio.limits import TooMuch
from stratagem.studio.shelf import Shelf

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_LISTED = 200
MOST_ROWS = 5000
MOST_ENTRANTS, MOST_GAMES = 12, 1000


class Runs:
    """The folder `runs/`, and the tournament that is being played from here, if any."""

    def __init__(self, folder: Path, shelf: Shelf):
        self.folder, self.shelf = folder.resolve(), shelf
        self._playing: asyncio.subprocess.Process | None = None
        self._started = ""

    def listed(self) -> dict[str, list[dict[str, Any]]]:
        """What there is: tournaments and training runs, latest first."""
        tournaments, training = [], []
        folders = sorted(self.folder.glob("*/"), key=lambda one: one.stat().st_mtime, reverse=True)
        for folder in itertools.islice(folders, MOST_LISTED):
            if not NAME.fullmatch(folder.name):
                continue
            if (folder / "results.jsonl").is_file():
                tournaments.append(
                    {"name": folder.name, "playing": self.busy and folder.name == self._started}
                )
            elif (folder / "metrics.jsonl").is_file():
                training.append({"name": folder.name, "changed": (folder / "metrics.jsonl").stat().st_mtime})
        return {"tournaments": tournaments, "training": training}

    def tournament(self, name: str) -> dict[str, Any]:
        """The standing so far."""
        log = self._place(name) / "results.jsonl"
        header, rows = self._results(log)
        results = read_results(log, rows, header)
        found = {"name": name, "game": header["game"], "entrants": header["entrants"], "played": len(results),
                 "playing": self.busy and name == self._started}  # fmt: skip
        if not results:
            return found | {"ratings": [], "crosstable": [], "counts": []}
        games = max(1, len(results) // max(1, len(header["entrants"]) * (len(header["entrants"]) - 1) // 2))
        outcome = standing(
            Tournament(header["game"], tuple(header["entrants"]), games, header["seed"], header["mode"]),
            results,
        )
        ratings = [
            {**asdict(row), "shown": rating_text(row)[0], "interval": rating_text(row)[1]}
            for row in outcome.ratings
        ]
        return found | {
            "ratings": ratings,
            "crosstable": outcome.crosstable,
            "counts": outcome.counts,
            "mean_turns": outcome.mean_turns,
        }

    def _results(self, log: Path) -> tuple[dict[str, Any], list[Any]]:
        if not log.is_file():
            raise NoSuchGame(f"there is no tournament {log.parent.name}")
        text = log.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]  # somebody may be writing the last line
        rows = [read_line(line, log) for line in whole.splitlines()]
        if not rows or not isinstance(rows[0], dict) or rows[0].get("format") != FORMAT:
            raise DamagedFile(f"{log.parent.name}: no results of a tournament")
        return rows[0], rows

    def training(self, name: str, after: int) -> dict[str, Any]:
        """The rows of a run's metrics after an iteration."""
        folder = self._place(name)
        if not (folder / "metrics.jsonl").is_file():
            raise NoSuchGame(f"there is no training run {name}")
        data = (folder / "metrics.jsonl").read_bytes()
        rows = [read_line(line, folder) for line in data[: data.rfind(b"\n") + 1].splitlines()]
        fresh = [row for row in rows if isinstance(row, dict) and row.get("iteration", 0) > after]
        config = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
        return {"name": name, "config": config, "rows": fresh[-MOST_ROWS:]}

    # Tournaments from the page.

    @property
    def busy(self) -> bool:
        return self._playing is not None and self._playing.returncode is None

    async def play(self, title: str, entrants: list[str], games: int) -> str:
        """Start a tournament in a process of its own; its name."""
        if self.busy:
            raise TooMuch(f"the tournament {self._started} is being played; wait for it to end")
        if not 2 <= len(entrants) <= MOST_ENTRANTS:
            raise BadOption(f"a tournament has 2 to {MOST_ENTRANTS} entrants, not {len(entrants)}")
        if not 1 <= games <= MOST_GAMES:
            raise BadOption(f"1 to {MOST_GAMES} games a pair, not {games}")
        game = await asyncio.to_thread(read_game, title)
        for entrant in entrants:
            await asyncio.to_thread(check_agent, entrant, game, self.shelf)
        name = f"studio-{game.spec.name}-{time.strftime('%Y%m%d-%H%M%S')}"
        Tournament(title, tuple(entrants), games)
        self._started = name
        self.folder.mkdir(parents=True, exist_ok=True)
        # From the folder of runs, so that weights are found under the names that a page gives them.
        self._playing = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "stratagem.cli.main", "tournament", title, *entrants, "--games", str(games),
            "--out", str(self.folder / name), "--workers", "1",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, cwd=self.folder,
        )  # fmt: skip
        return name

    async def close(self) -> None:
        if self._playing is not None and self._playing.returncode is None:
            self._playing.terminate()
            await self._playing.wait()

    def _place(self, name: str) -> Path:
        """A folder of runs; no name leads out of it."""
        if not NAME.fullmatch(name):
            raise NoSuchGame(f"{name[:40]!r} is not the name of a run")
        return self.folder / name


def read_line(line: bytes, where: Path) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise DamagedFile(f"{where.name}: a line is not JSON") from None
