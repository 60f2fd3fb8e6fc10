"""`stratagem replays`: games from generals.io and back, and data sets for cloning."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from stratagem.cli.output import out, print_json, progress_bar
from stratagem.core.errors import BadOption, StratagemError, Unsupported
from stratagem.games import make_game
from stratagem.games.generals import Generals
from stratagem.protocols import gior, replay
from stratagem.protocols.generals_dataset import INDEX, Filters, Writer

SHOWN = 3  # deviations of a file that are printed; --json has them all


@dataclass(frozen=True)
class Import:
    """Turn .gior files of generals.io into replays, every move checked under our rules.

    A file that cannot be read, or has what our rules do not know, is named with the reason, and the rest goes on.
    """

    files: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE.gior")]
    """Files of generals.io."""
    out: Path = Path("replays")
    """Folder for the replays; each has the name of its file."""
    strict: bool = False
    """Refuse files with moves that our rules reject; else those become passes and are reported."""
    json: bool = False
    """Print one JSON object instead of lines."""

    def run(self) -> int:
        if not self.files:
            raise BadOption("give the .gior files to import; see stratagem replays import --help")
        told: list[dict[str, Any]] = []
        with progress_bar("files") as update:
            for number, path in enumerate(self.files):
                told.append(self.one(path, {row.get("replay") for row in told}))
                update(number + 1, len(self.files))
        failed = sum("error" in row for row in told)
        summary = {"imported": len(told) - failed, "failed": failed}
        if self.json:
            print_json({**summary, "files": told})
        else:
            for row in told:
                print_imported(row)
            say(f"{summary['imported']} imported into {self.out}, {failed} failed")
        return 1 if failed else 0

    def one(self, path: Path, written: set[str | None]) -> dict[str, Any]:
        """What became of one file."""
        target = self.out / f"{path.stem}.json"
        try:
            game = gior.load(path)
            rejected = [str(one) for one in game.deviations if one.rejected]
            if self.strict and rejected:
                raise Unsupported(
                    f"{path}: {len(rejected)} moves are not legal under our rules: {rejected[0]}"
                )
            if str(target) in written:
                raise BadOption(
                    f"{path}: another file of that name was imported just now; rename one of them"
                )
            game.replay.save(target)
        except StratagemError as error:
            return {"file": str(path), "error": str(error)}
        return {
            "file": str(path),
            "replay": str(target),
            "turns": len(game.replay.actions),
            "ended": game.ended,
            "moves": game.moves,
            "rejected": len(rejected),
            "deviations": [str(one) for one in game.deviations],
        }


@dataclass(frozen=True)
class Export:
    """Write a replay of Generals as a .gior file, which generals.io's tools read and which loses nothing."""

    file: Annotated[Path, tyro.conf.arg(metavar="GAME.json")]
    """A replay of Generals."""
    out: Path | None = None
    """The .gior file; beside the replay unless given."""
    json: bool = False
    """Print one JSON object instead of a line."""

    def run(self) -> int:
        target = self.out or self.file.with_suffix(".gior")
        game = replay.load(self.file)
        try:
            gior.save(game, target)
        except StratagemError as error:
            raise type(error)(f"{self.file}: {error}") from None
        if self.json:
            print_json({"file": str(self.file), "gior": str(target), "turns": len(game.actions)})
        else:
            say(f"{target}: {len(game.actions)} turns")
        return 0


@dataclass(frozen=True)
class DataSet:
    """Make a data set for cloning of the games in a folder that are worth imitating, every action checked.

    Reads .gior files and replays (.json), in folders below, too. Replays know no stars: take them with --stars 0.
    """

    folder: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Where the games are. Of a .gior and a .json of one name side by side, the .gior counts."""
    out: Path = Path("dataset")
    """Folder for the data set; a new one, or an empty one."""
    game: str = "generals"
    """The board and rules: generals:width=24,height=24. Smaller maps are filled up; larger ones are left out."""
    longest: int = Filters.longest
    """Turns; longer games are left out."""
    activity: float = Filters.activity
    """The least share of turns in which each player moves."""
    stars: float = Filters.stars
    """One of the players has at least as many; 0 takes games of players without stars, too."""
    shard: int = 1000
    """Games in a file."""
    json: bool = False
    """Print one JSON object instead of lines."""

    def run(self) -> int:
        rules = make_game(self.game)
        if not isinstance(rules, Generals):
            raise BadOption(f"data sets are made of games of generals, not of {self.game}")
        filters = Filters(self.longest, self.activity, self.stars)
        paths = list(games_in(self.folder))
        if not paths:
            raise BadOption(f"{self.folder}: no .gior or .json files; import some, or choose another folder")
        wrong: list[dict[str, str]] = []
        with progress_bar("games") as update, Writer(self.out, rules, filters, self.shard) as writer:
            for number, path in enumerate(paths):
                try:
                    add_file(writer, path)
                except StratagemError as error:
                    wrong.append({"file": str(path), "error": str(error)})
                update(number + 1, len(paths))
        kept, turns = (sum(shard[what] for shard in writer.shards) for what in ("games", "turns"))
        left_out = dict(writer.dropped)
        if self.json:
            facts = {"folder": str(self.out), "games": kept, "turns": turns, "left_out": left_out}
            print_json({**facts, "failed": wrong, "filters": asdict(filters)})
        else:
            for row in wrong:
                say(f"wrong: {row['error']}")
            reasons = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items())) or "none"
            say(f"{self.out}: {kept} games, {turns} turns; left out: {reasons}; {len(wrong)} wrong")
        return 0 if kept and not wrong else 1


def games_in(folder: Path) -> Iterator[Path]:
    """The files of a folder that may hold games; data sets in it are passed over."""
    if not folder.is_dir():
        raise BadOption(f"{folder}: no such folder")
    for path in sorted(folder.rglob("*")):
        if path.name == INDEX:
            continue
        if path.suffix == ".gior" or (path.suffix == ".json" and not path.with_suffix(".gior").exists()):
            yield path


def add_file(writer: Writer, path: Path) -> None:
    """Give one file to the data set, which takes it or notes why not."""
    if path.suffix == ".gior":
        game = gior.load(path)
        writer.add(game.replay, game.stars, path.name)
        return
    try:
        writer.add(replay.load(path), source=path.name)
    except StratagemError as error:
        text = str(error)
        raise type(error)(text if text.startswith(str(path)) else f"{path}: {text}") from None


def print_imported(row: dict[str, Any]) -> None:
    """A line for a file, and a few for moves that our rules see otherwise."""
    if "error" in row:
        say(f"failed: {row['error']}")
        return
    moves = f"{row['rejected']} of {row['moves']} moves rejected"
    say(f"{row['file']}: {row['turns']} turns, ended {row['ended']}, {moves}")
    for deviation in row["deviations"][:SHOWN]:
        say(f"    {deviation}")
    if len(row["deviations"]) > SHOWN:
        say(f"    and {len(row['deviations']) - SHOWN} more; see --json")


def say(line: str) -> None:
    out.print(line, highlight=False, markup=False, soft_wrap=True)


COMMANDS = {"import": Import, "export": Export, "dataset": DataSet}
