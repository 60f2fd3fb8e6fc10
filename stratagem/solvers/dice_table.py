"""The file of solved equities: written layer by layer, checked, memory-mapped.

    4096 bytes   header: magic, then JSON (version, ruleset, game, kind of number, positions a layer)
    each layer   its equities in the order of `dice_layers`, and 16 bytes: "LAYR", layer, CRC-32, layers

Layers are only ever appended, so a killed run loses at most the layer it was writing. While a table grows it
is called `.partial`; it gets its name when the last layer is on disk.
"""

from __future__ import annotations

import errno
import fcntl
import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import fsync
from pathlib import Path
from typing import IO

import numpy as np

from stratagem.core.errors import DamagedFile, RulesetMismatch, StratagemError
from stratagem.core.files import cache_folder
from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import scores
from stratagem.solvers.dice_layers import Layout, layout
from stratagem.solvers.dice_turn import TurnValues, turn_values

MAGIC = b"STRADICE"
VERSION = 1
HEADER = 4096
TRAILER = struct.Struct("<4sIII")
QUANTUM = (
    1 / 32767
)  # one step of the 16-bit table; its worst error is half of this, 1.53e-5 (a resumed run: twice)
KINDS = {"float32": np.float32, "int16": np.int16}


@dataclass(frozen=True, eq=False)
class Table:
    """Solved equities, memory-mapped; `equity` answers for the player to move."""

    board: Layout
    kind: str
    numbers: np.ndarray  # the whole file as float32 or int16
    path: Path | None = None
    offsets: np.ndarray = field(init=False)  # int64[layers + 1]: where layer t + 1 starts in `numbers`
    starts: tuple[np.ndarray, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", _offsets(self.board, self.kind))
        object.__setattr__(self, "starts", tuple(self.board.starts(t) for t in range(self.board.layers + 1)))

    @property
    def family(self) -> Family:
        return self.board.family

    def layer(self, layer: int) -> np.ndarray:
        """float32: all equities of a layer, in layout order. Layer 0 is the drawn end."""
        if layer == 0:
            return np.zeros(1, np.float32)
        size = self.board.size(layer)
        return _numbers(self.numbers[self.offsets[layer - 1] : self.offsets[layer - 1] + size])

    def equities(self, mover: int, opponent: int, leads: np.ndarray) -> np.ndarray:
        """float32[leads]: the mover's equity for each lead; both players' open categories are bit masks."""
        layer = mover.bit_count() + opponent.bit_count()
        if (mover.bit_count(), opponent.bit_count()) != self.board.sizes(layer):
            raise ValueError(
                f"a mover with {mover.bit_count()} open categories cannot face an opponent with "
                f"{opponent.bit_count()}: seats alternate, so the mover has as many, or one more"
            )
        low, width = self.board.window(mover, opponent)
        columns = len(self.board.sets[opponent.bit_count()])
        pair = int(self.board.rank[mover]) * columns + int(self.board.rank[opponent])
        start = int(self.starts[layer][pair])
        inside = _numbers(self.layer_window(layer, start, width))
        at = np.asarray(leads) - low
        values = inside[at.clip(0, width - 1)]
        return np.where(at < 0, np.float32(-1), np.where(at >= width, np.float32(1), values))

    def layer_window(self, layer: int, start: int, width: int) -> np.ndarray:
        if layer == 0:
            return np.zeros(1, self.numbers.dtype)
        return self.numbers[self.offsets[layer - 1] + start : self.offsets[layer - 1] + start + width]

    def equity(self, mover: int, opponent: int, lead: int) -> float:
        return float(self.equities(mover, opponent, np.array([lead]))[0])

    def turn(self, mover: int, opponent: int, lead: int) -> TurnValues:
        """Everything about the mover's turn, under best play of both."""
        points = self.points[:, [c for c in range(len(self.family.categories)) if mover >> c & 1]]
        rests = [mover ^ (1 << c) for c in range(len(self.family.categories)) if mover >> c & 1]
        scoring = [-self.equities(opponent, rest, -(lead + points[:, i])) for i, rest in enumerate(rests)]
        return turn_values(self.family, np.stack(scoring, axis=1).astype(np.float64))

    @cached_property
    def points(self) -> np.ndarray:
        """int64[2, categories, rolls]: points of every roll; [1] on the first roll."""
        return np.stack([scores(self.family), scores(self.family, first=True)]).astype(np.int64)

    @property
    def start_equity(self) -> float:
        """The value of the game for the player who begins."""
        everything = (1 << len(self.family.categories)) - 1
        return self.equity(everything, everything, 0)


def _numbers(raw: np.ndarray) -> np.ndarray:
    if raw.dtype == np.float32:
        return raw
    return raw.astype(np.float32) * np.float32(QUANTUM)


def _offsets(board: Layout, kind: str) -> np.ndarray:
    width = np.dtype(KINDS[kind]).itemsize
    gap = TRAILER.size // width
    return HEADER // width + board.layer_starts + gap * np.arange(board.layers + 1)


def table_path(family: Family, kind: str = "float32", folder: Path | None = None) -> Path:
    """Where a game's table lives."""
    stem = family.name.partition("[")[0]
    return (folder or cache_folder()) / "dice" / f"{stem}-{family.ruleset}-{kind}.table"


def solve_command(family: Family) -> str:
    """What to type to solve it."""
    return f"stratagem solve {family.name}{' --first-roll-bonus' if family.has_first_roll_bonus else ''}"


def header(board: Layout, kind: str) -> bytes:
    facts = {
        "version": VERSION,
        "ruleset": board.family.ruleset,
        "game": board.family.name,
        "kind": kind,
        "positions": np.diff(board.layer_starts).tolist(),
    }
    text = MAGIC + json.dumps(facts).encode()
    if len(text) > HEADER:
        raise ValueError(f"{board.family.name}: header of {len(text)} bytes does not fit in {HEADER}")
    return text.ljust(HEADER, b"\0")


def check_header(path: Path, found: bytes, board: Layout, kind: str) -> None:
    """Refuse a file of another format, other rules or other numbers."""
    if found == header(board, kind):
        return
    remedy = f"Remove it and solve again: {solve_command(board.family)}"
    if not found.startswith(MAGIC):
        raise DamagedFile(f"{path} is not a table of solved dice positions. {remedy}")
    try:
        facts = json.loads(found[len(MAGIC) :].rstrip(b"\0"))
        ruleset, version = facts["ruleset"], facts["version"]
    except (ValueError, KeyError, TypeError):
        raise DamagedFile(f"{path} has a damaged header. {remedy}") from None
    if ruleset != board.family.ruleset:
        raise RulesetMismatch(
            f"{path} was solved for {facts.get('game')} with rules {ruleset}; "
            f"these rules are {board.family.ruleset}. {remedy}"
        )
    raise DamagedFile(
        f"{path} has format {version}, numbers {facts.get('kind')}; not {VERSION}, {kind}. {remedy}"
    )


def trailer(board: Layout, layer: int, data: bytes | memoryview) -> bytes:
    return TRAILER.pack(b"LAYR", layer, zlib.crc32(data), board.layers)


def load_table(family: Family, kind: str = "float32", folder: Path | None = None) -> Table:
    """Map a finished table; every byte is checked against its checksum first."""
    board, path = layout(family), table_path(family, kind, folder)
    remedy = f"Remove it and solve again: {solve_command(family)}"
    if not path.exists():
        raise StratagemError(f"{family.name} is not solved yet: no {path}. Do: {solve_command(family)}")
    with path.open("rb") as file:
        check_header(path, file.read(HEADER), board, kind)
    expected = int(_offsets(board, kind)[-1]) * np.dtype(KINDS[kind]).itemsize
    if path.stat().st_size != expected:
        raise DamagedFile(f"{path} has {path.stat().st_size:,} bytes, not {expected:,}. {remedy}")
    table = Table(board, kind, np.memmap(path, KINDS[kind], "r"), path)
    for layer in range(1, board.layers + 1):
        if not layer_is_sound(table, layer):
            raise DamagedFile(f"{path} is damaged in layer {layer} of {board.layers}. {remedy}")
    return table


def layer_is_sound(table: Table, layer: int) -> bool:
    start, size = table.offsets[layer - 1], table.board.size(layer)
    data = table.numbers[start : start + size]
    gap = TRAILER.size // table.numbers.itemsize
    return bytes(table.numbers[start + size : start + size + gap]) == trailer(table.board, layer, data.data)


class Growing:
    """A table under construction: the layers already on disk, and a way to append the next."""

    def __init__(self, file: IO[bytes], board: Layout, kind: str):
        self.file, self.board, self.kind = file, board, kind
        self.finished = 0

    def recover(self, path: Path) -> np.ndarray | None:
        """Keep what is whole, cut off what is not; the last whole layer, or None."""
        found = self.file.read(HEADER)
        if len(found) < HEADER:  # new, or killed before the header was complete
            self.file.seek(0)
            self.file.truncate()
            self.file.write(header(self.board, self.kind))
            return None
        check_header(path, found, self.board, self.kind)
        last, whole = None, HEADER
        for layer in range(1, self.board.layers + 1):
            size = self.board.size(layer) * np.dtype(KINDS[self.kind]).itemsize
            data, mark = self.file.read(size), self.file.read(TRAILER.size)
            if mark != trailer(self.board, layer, data):
                break
            last, whole, self.finished = data, whole + size + TRAILER.size, layer
        self.file.seek(whole)
        self.file.truncate()
        return None if last is None else _numbers(np.frombuffer(last, KINDS[self.kind]))

    def append(self, values: np.ndarray) -> None:
        """Write the next layer and wait until it is on disk."""
        if self.kind == "int16":
            values = np.rint(values / np.float32(QUANTUM)).astype(np.int16)
        self.finished += 1
        self.file.write(values.data)
        self.file.write(trailer(self.board, self.finished, values.data))
        self.file.flush()
        fsync(self.file.fileno())


@contextmanager
def growing_table(
    family: Family, kind: str, folder: Path | None = None
) -> Iterator[tuple[Growing, np.ndarray | None]]:
    """The unfinished table of a game and its last whole layer; renamed when all layers are there."""
    path = table_path(family, kind, folder)
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
        with partial.open("r+b") as file:
            _lock(file, partial)
            growing = Growing(file, layout(family), kind)
            yield growing, growing.recover(partial)
        if growing.finished == growing.board.layers:
            partial.replace(path)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        needed = int(_offsets(layout(family), kind)[-1]) * np.dtype(KINDS[kind]).itemsize
        raise StratagemError(
            f"no space left for {partial}: the table needs {needed / 2**20:,.0f} MiB in all. The finished layers "
            "are kept. Make room or set STRATAGEM_CACHE to another folder, then run the same command again"
        ) from error


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StratagemError(f"another process is solving {path}; wait for it, or stop it first") from None
