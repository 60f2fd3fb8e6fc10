"""Data sets of Generals games for behaviour cloning: whole games, because an agent's memory is rebuilt turn by turn.

A data set is a folder: shards `shard-00000.npz`, …, and `dataset.json`, written last, which lists them with their
hashes; a folder without it is unfinished. All games are on one board (smaller ones are filled up with mountains), so
that they fit in one batch. A shard holds, of G games with T turns in all:

    header   text: format, version, ruleset as JSON
    kind, owner  uint8[G, H, W], army int32[G, H, W]: the ground at turn 0
    turns    int32[G]
    actions  int32[T, P]: one game after the other
    returns  float32[G, P]
    stars    float32[G, P]: not a number where unknown
    source   text[G]: where a game comes from
"""

import hashlib
import io
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption, DamagedFile, IllegalAction, RulesetMismatch
from stratagem.core.files import atomic_write, read_json, write_json
from stratagem.games.generals.board import State
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import PASS, View
from stratagem.protocols.generals_referee import Ground, ground_of, judge, pad, rewidth, state_of
from stratagem.protocols.replay import Replay, positions, result

FORMAT = "stratagem-generals-dataset"
VERSION = 1
INDEX = "dataset.json"
STRETCH = 64  # batches are padded to multiples of so many turns, so that few programs are compiled


@dataclass(frozen=True)
class Filters:
    """Which games are worth imitating."""

    longest: int = 1000
    """Turns; longer games are idle ones."""
    activity: float = 0.8
    """The least share of turns in which each player moves."""
    stars: float = 70.0
    """One of the players has at least as many; 0 takes games of players without stars, too."""

    def __post_init__(self) -> None:
        if self.longest < 1 or not 0 <= self.activity <= 1 or self.stars < 0:
            raise BadOption("filters: longest is at least 1, activity is 0 to 1, stars are at least 0")

    def why_not(self, game: "Game") -> str | None:
        """What speaks against a game; None if nothing does."""
        if not game.returns.any():
            return "undecided"
        if len(game.actions) > self.longest:
            return "too long"
        if (game.activity < self.activity).any():
            return "idle"
        if self.stars and not (game.stars >= self.stars).any():
            return "too few stars"
        return None


class Game(NamedTuple):
    """One game on the data set's board."""

    ground: Ground
    actions: np.ndarray  # int32[T, P]
    returns: np.ndarray  # float32[P]
    stars: np.ndarray  # float32[P]
    source: str
    per_cell: int

    @property
    def activity(self) -> np.ndarray:
        """float[P]: the share of turns in which each seat moved."""
        return (self.actions % self.per_cell != PASS).mean(axis=0) if len(self.actions) else np.zeros(2)


class Writer:
    """Writes a data set, shard by shard; used in a `with` block, whose regular end finishes it."""

    def __init__(self, folder: Path | str, game: Generals, filters: Filters | None = None, shard: int = 1000):
        self.folder, self.game, self.filters, self.shard = Path(folder), game, filters or Filters(), shard
        if shard < 1:
            raise BadOption(f"a shard holds at least one game, not {shard}")
        if (self.folder / INDEX).exists() or any(self.folder.glob("shard-*.npz")):
            raise BadOption(
                f"{self.folder} holds a data set already, or a part of one; choose another folder"
            )
        self.waiting: list[Game] = []
        self.shards: list[dict[str, Any]] = []
        self.dropped: Counter[str] = Counter()

    def add(
        self, replay: Replay, stars: Sequence[float | None] = (None, None), source: str = ""
    ) -> str | None:
        """Take a game in, every action checked; or say why it is not wanted. IllegalAction if it is wrong."""
        rules = replay.rules()
        if not isinstance(rules, Generals) or not self.same_variant(rules):
            why: str | None = "other rules"
        elif rules.height > self.game.height or rules.width > self.game.width:
            why = "too large"
        else:
            game = place(replay, rules, self.game, stars, source)
            why = self.filters.why_not(game) or ("too long" if len(game.actions) > self.game.cap else None)
        if why is not None:
            self.dropped[why] += 1
            return why
        check(self.game, game, replay)
        self.waiting.append(game)
        if len(self.waiting) == self.shard:
            self.flush()
        return None

    def same_variant(self, rules: Generals) -> bool:
        return (rules.build, rules.deathtouch) == (self.game.build, self.game.deathtouch)

    def flush(self) -> None:
        """Write a shard of the games that wait for one."""
        if not self.waiting:
            return
        games, self.waiting = self.waiting, []
        header = {"format": FORMAT, "version": VERSION, "ruleset": self.game.spec.ruleset}
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            header=np.array(json.dumps(header)),
            kind=np.stack([game.ground.kind for game in games]).astype(np.uint8),
            owner=np.stack([game.ground.owner for game in games]).astype(np.uint8),
            army=np.stack([game.ground.army for game in games]).astype(np.int32),
            turns=np.array([len(game.actions) for game in games], np.int32),
            actions=np.concatenate([game.actions for game in games]),
            returns=np.stack([game.returns for game in games]),
            stars=np.stack([game.stars for game in games]),
            source=np.array([game.source for game in games]),
        )
        name = f"shard-{len(self.shards):05}.npz"
        with atomic_write(self.folder / name) as file:
            file.write(buffer.getvalue())
        turns = sum(len(game.actions) for game in games)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        self.shards.append({"file": name, "games": len(games), "turns": turns, "sha256": digest})

    def close(self) -> None:
        """Write what is left, and the index."""
        self.flush()
        spec = self.game.spec
        write_json(
            self.folder / INDEX,
            {
                "format": FORMAT,
                "version": VERSION,
                "game": spec.title,
                "parameters": dict(spec.parameters),
                "ruleset": spec.ruleset,
                "filters": asdict(self.filters),
                "games": sum(shard["games"] for shard in self.shards),
                "turns": sum(shard["turns"] for shard in self.shards),
                "dropped": dict(self.dropped),
                "shards": self.shards,
            },
        )

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()


def place(
    replay: Replay, rules: Generals, board: Generals, stars: Sequence[float | None], source: str
) -> Game:
    """A replay on the data set's board."""
    first = next(positions(replace(replay, actions=[]), rules))
    if int(first.turn):
        raise DamagedFile(f"a game for a data set starts at turn 0, not {int(first.turn)}")
    actions = np.array(replay.actions, np.int32).reshape(-1, 2)
    return Game(
        ground=pad(ground_of(first, rules.shape), board.shape),
        actions=rewidth(actions, rules.width, board.width, board.per_cell),
        returns=np.array(replay.returns, np.float32),
        stars=np.array([np.nan if one is None else one for one in stars], np.float32),
        source=source,
        per_cell=board.per_cell,
    )


def check(board: Generals, game: Game, replay: Replay) -> None:
    """Play a game through: every action is legal, and the result is the stated one."""
    final = state_of(game.ground)
    for judged in judge(board, final, game.actions):
        if not judged.legal.all():
            turn, seat = np.argwhere(~judged.legal)[0].tolist()
            state = jax.tree.map(lambda part, turn=turn: part[turn], judged.before)
            why = board.why_not(state, seat, int(game.actions[judged.first + turn, seat]))
            raise IllegalAction(
                f"{game.source or 'game'}: turn {judged.first + turn + 1}, seat {seat}: {why}"
            )
        final = judged.after
    if result(replay, board, final) != replay.returns:
        raise DamagedFile(
            f"{game.source or 'game'}: it claims {replay.returns}, but its actions lead elsewhere"
        )


# Reading.


class Batch(NamedTuple):
    """Games side by side."""

    start: State  # [B]
    actions: Array  # int32[B, T, P]: −1 after a game's end
    turns: Array  # int32[B]
    returns: Array  # float32[B, P]
    stars: Array  # float32[B, P]


class Sample(NamedTuple):
    """One turn of a batch, as both seats saw it, and what they did."""

    view: View  # [B, P]
    legal: Array  # bool[B, P, A]
    actions: Array  # int32[B, P]
    live: Array  # bool[B]: the game was still going on


class Dataset:
    """A finished data set. Everything is checked as it is read; DamagedFile names the file."""

    def __init__(self, folder: Path | str, game: Generals | None = None):
        self.folder = Path(folder)
        if not (self.folder / INDEX).exists():
            raise DamagedFile(f"{self.folder}: no data set, or an unfinished one ({INDEX} is missing)")
        path, index = self.folder / INDEX, read_json(self.folder / INDEX)
        if not isinstance(index, dict) or index.get("format") != FORMAT:
            raise DamagedFile(f'{path}: not a data set (no "format": "{FORMAT}")')
        if index.get("version") != VERSION:
            raise DamagedFile(f"{path}: version {index.get('version')}; this program reads {VERSION}")
        try:
            self.shards = [(str(one["file"]), str(one["sha256"])) for one in index["shards"]]
            self.games, self.turns = int(index["games"]), int(index["turns"])
            self.ruleset, title = str(index["ruleset"]), str(index["game"])
            self.dropped: dict[str, int] = dict(index["dropped"])
            parameters: dict[str, Any] = {
                key: None if value == "none" else value for key, value in index["parameters"].items()
            }
            self.game = game or Generals(**parameters)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFile(f"{path}: damaged ({type(error).__name__}: {error})") from None
        if self.game.spec.ruleset != self.ruleset:
            raise RulesetMismatch(f"{path}: made under {title}; {self.game.spec.title} has other rules")

    def __len__(self) -> int:
        return self.games

    def __iter__(self) -> Iterator[Game]:
        """Every game, in the order in which they were written."""
        return self.in_order(None)

    def in_order(self, seed: int | None) -> Iterator[Game]:
        """Every game once; with a seed, shards and the games in each are shuffled."""
        rng = None if seed is None else np.random.default_rng(seed)
        for number in range(len(self.shards)) if rng is None else rng.permutation(len(self.shards)):
            games = read_shard(self.folder / self.shards[number][0], self.shards[number][1], self.game)
            for place in range(len(games)) if rng is None else rng.permutation(len(games)):
                yield games[place]

    def batches(self, size: int, seed: int | None = None) -> Iterator[Batch]:
        """All games in batches; the last one may be smaller."""
        waiting: list[Game] = []
        for game in self.in_order(seed):
            waiting.append(game)
            if len(waiting) == size:
                yield stack(waiting)
                waiting = []
        if waiting:
            yield stack(waiting)


def read_shard(path: Path, digest: str, board: Generals) -> list[Game]:
    """The games of a shard whose hash is known."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"{path}: {error.strerror}; the data set is incomplete, write it again") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise DamagedFile(f"{path}: not as it was written (its hash differs); write the data set again")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        header = json.loads(str(parts["header"]))
        if (header["format"], header["version"], header["ruleset"]) != (FORMAT, VERSION, board.spec.ruleset):
            raise DamagedFile(f"{path}: {header} is not the header of this data set's shards")
        turns = parts["turns"]
        fits = all(parts[name].shape == (len(turns), *board.shape) for name in ("kind", "owner", "army"))
        if not fits or parts["actions"].shape != (turns.sum(), 2):
            raise DamagedFile(f"{path}: its parts do not fit together")
        pieces = np.split(parts["actions"], np.cumsum(turns)[:-1])
        return [
            Game(
                ground=Ground(*(parts[name][number].astype(np.int32) for name in ("kind", "owner", "army"))),
                actions=pieces[number],
                returns=parts["returns"][number],
                stars=parts["stars"][number],
                source=str(parts["source"][number]),
                per_cell=board.per_cell,
            )
            for number in range(len(turns))
        ]
    except (KeyError, IndexError, OSError, EOFError, zipfile.BadZipFile, zlib.error, ValueError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(f"{path}: not a shard ({type(error).__name__}: {error})") from None


def stack(games: list[Game]) -> Batch:
    """Games side by side, padded to a round number of turns."""
    turns = np.array([len(game.actions) for game in games], np.int32)
    length = -(-int(turns.max()) // STRETCH) * STRETCH
    actions = np.full((len(games), length, 2), -1, np.int32)
    for row, game in zip(actions, games, strict=True):
        row[: len(game.actions)] = game.actions
    grounds = Ground(*(np.stack(parts) for parts in zip(*(game.ground for game in games), strict=True)))
    return Batch(
        start=_starts()(grounds),
        actions=jnp.asarray(actions),
        turns=jnp.asarray(turns),
        returns=jnp.asarray(np.stack([game.returns for game in games])),
        stars=jnp.asarray(np.stack([game.stars for game in games])),
    )


@lru_cache(maxsize=1)
def _starts() -> Any:
    return jax.jit(jax.vmap(state_of))


def samples(game: Generals, batch: Batch) -> Iterator[Sample]:
    """Every turn of a batch, in order: what is needed to rebuild memories and to imitate."""
    look, onward = _turns(game)
    state = batch.start
    for turn in range(int(batch.turns.max())):
        view, legal = look(state)
        actions, live = batch.actions[:, turn], turn < batch.turns
        yield Sample(view, legal, actions, live)
        state = onward(state, actions, live)


@lru_cache(maxsize=8)
def _turns(game: Generals) -> Any:
    def look(state: State) -> tuple[View, Array]:
        return jax.vmap(game.view, (None, 0))(state, jnp.arange(2)), game.legal(state)

    def onward(state: State, actions: Array, live: Array) -> State:
        after = game.step(state, actions)
        return jax.tree.map(lambda old, new: jnp.where(live, new, old), state, after)

    return jax.jit(jax.vmap(look)), jax.jit(jax.vmap(onward))
