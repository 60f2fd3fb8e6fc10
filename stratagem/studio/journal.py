"""A game on disk: an append-only journal of JSON lines, and a replay once it is over.

The first line says what is played by whom; then comes a line for each thing that happened:

    {"actions": [4, -1]}   one turn, an action a seat, −1 for a seat that was not to move
    {"undo": 2}            so many turns were taken back
    {"resigned": 0}        a seat gave up
    {"over": [1.0, -1.0]}  the result

A line is handed to the operating system before anybody hears of the move, so a killed server has lost nothing; the
disk itself is waited for when a game starts and when it ends. A line that was cut short is dropped.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stratagem.core.errors import DamagedFile, StratagemError
from stratagem.core.files import recover_lines

FORMAT = "stratagem-studio-game"
VERSION = 1
NAME = re.compile(r"[A-Za-z0-9_-]{12,40}")


@dataclass(frozen=True)
class Header:
    """What a game is, before its first move."""

    id: str
    game: str
    """The full title: name and options."""
    ruleset: str
    players: list[str]
    """Per seat: an agent, or `human`."""
    keys: list[str]
    """Per seat: the hash of the secret that holds it; empty for an agent."""
    seed: int
    created: float
    """Seconds since 1970."""
    pace: float = 2.0
    """Turns a second, in games that do not wait and in games without people."""
    dice: dict[str, Any] | None = None
    """The commitment to the dice, if there is one, with what it takes to open it."""


class Journal:
    """Where one game is written. The file is opened for each line, so that a thousand games need no thousand files."""

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def start(cls, folder: Path, header: Header) -> "Journal":
        folder.mkdir(parents=True, exist_ok=True)
        path = path_of(folder, header.id)
        path.touch(mode=0o600, exist_ok=False)
        journal = cls(path)
        journal.add({"format": FORMAT, "version": VERSION, **asdict(header)}, settled=True)
        return journal

    @classmethod
    def open(cls, folder: Path, name: str) -> "tuple[Journal, Header, list[dict[str, Any]]]":
        """A journal to go on with, and what it holds."""
        path = path_of(folder, name)
        header, events = read(path)
        return cls(path), header, events

    def add(self, event: dict[str, Any], settled: bool = False) -> None:
        """Write one line; `settled` waits for the disk."""
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            raise NoSuchGame(f"the journal {self.path} is gone; the game cannot go on") from None
        try:
            os.write(file, json.dumps(event).encode() + b"\n")
            if settled:
                os.fsync(file)
        finally:
            os.close(file)


def path_of(folder: Path, name: str) -> Path:
    """Where the journal of a game is; no name leads out of the folder."""
    if not NAME.fullmatch(name):
        raise NoSuchGame(f"{name[:40]!r} is not the name of a game")
    return folder / f"{name}.jsonl"


class NoSuchGame(StratagemError):
    """There is no game of that name."""


def read(path: Path) -> tuple[Header, list[dict[str, Any]]]:
    """(the header, what happened)"""
    if not path.is_file():
        raise NoSuchGame(f"there is no game {path.stem}; it may have been removed from {path.parent.name}")
    rows = recover_lines(path)
    if not rows or not isinstance(rows[0], dict) or rows[0].get("format") != FORMAT:
        raise DamagedFile(f"{path}: not a game of the studio")
    if rows[0].get("version") != VERSION:
        raise DamagedFile(f"{path}: journal version {rows[0].get('version')}; this program reads {VERSION}")
    facts = {key: value for key, value in rows[0].items() if key not in ("format", "version")}
    try:
        return Header(**facts), rows[1:]
    except TypeError as error:
        raise DamagedFile(f"{path}: its first line is not complete ({error})") from None


def recent(folder: Path, most: int) -> Iterator[Path]:
    """The journals that were written to last, latest first."""
    if not folder.is_dir():
        return
    found = [
        (entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.name.endswith(".jsonl")
    ]
    for _, path in sorted(found, reverse=True)[:most]:
        yield Path(path)
