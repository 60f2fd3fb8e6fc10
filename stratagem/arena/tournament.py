"""Tournaments that survive a kill: results go to a log as they come, and what is in the log is not played again.

The log is JSON lines: first a header that says which tournament it is, then one line a game.
"""

import hashlib
import itertools
import json
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from stratagem.agents import make_agent
from stratagem.arena.match import Played, play_games
from stratagem.arena.schedule import Fixture, Mode, fixtures
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch, StratagemError
from stratagem.core.files import append_json, recover_lines
from stratagem.core.game import Game
from stratagem.games import make_game

FORMAT = "stratagem-results"
VERSION = 1
HOST_CHUNK = 25  # games a worker plays between two writes to the log
TRACED_CHUNK = 1024  # games of compiled agents side by side

Chunk = list[tuple[Fixture, Played]]


@dataclass(frozen=True)
class Tournament:
    """Which games are to be played."""

    game: str
    """As the command line takes it: `corso:width=5,height=5`."""
    entrants: tuple[str, ...]
    games: int
    """For each pair (or group, with more than two seats)."""
    seed: int = 0
    mode: Mode = "round-robin"

    def __post_init__(self) -> None:
        if len(set(self.entrants)) != len(self.entrants):
            raise BadOption(f"every entrant once, please; got {', '.join(self.entrants)}")
        if len(self.entrants) < 2:
            raise BadOption(f"a tournament needs at least two entrants, got {len(self.entrants)}")
        if self.games < 1:
            raise BadOption(f"at least one game a pair, got {self.games}")

    @property
    def identity(self) -> str:
        """Eight hex digits: the same tournament, whatever the number of games."""
        facts = [make_game(self.game).spec.ruleset, *self.entrants, self.seed, self.mode]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Result:
    """One line of the log."""

    table: int
    number: int
    players: tuple[str, ...]
    """Entrant per seat."""
    seed: int
    returns: tuple[float, ...]
    turns: int
    fouls: tuple[int, ...]
    seconds: tuple[float, ...]
    roles: tuple[str, ...] = ()
    """Per seat, in games that have roles; logs of earlier versions have none."""

    def duels(self) -> Iterator[tuple[str, str, float]]:
        """(one, other, score of one) for every pair of seats held by different entrants."""
        for i, one in enumerate(self.players):
            for j in range(i + 1, len(self.players)):
                if one != self.players[j]:
                    difference = self.returns[i] - self.returns[j]
                    yield one, self.players[j], 0.5 + 0.5 * math.copysign(difference != 0, difference)


def run_tournament(
    tournament: Tournament,
    log: Path,
    *,
    workers: int | None = None,
    together: int = HOST_CHUNK,
    mixed: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Play what the log lacks, and return all results in the order of the schedule.

    `progress` is called with (games finished, games in all). `together` games of one pair are played side by side
    where host agents take part: more keep an accelerator busy, fewer are lost when the run is killed. If `mixed`, they
    are games of all pairs and all are played here, so that each player answers for all its games at once.
    """
    game = make_game(tournament.game)
    for name in tournament.entrants:
        make_agent(name, game)  # a bad name is refused before anything is played
    schedule = fixtures(
        tournament.entrants, game.spec.seats, tournament.games, tournament.seed, tournament.mode
    )
    known = open_log(tournament, game, log)
    missing = [fixture for fixture in schedule if (fixture.table, fixture.number) not in known]
    finished = len(schedule) - len(missing)
    if progress:
        progress(finished, len(schedule))
    # Closed in any case: a generator that is only dropped may go on playing until the program ends.
    playing = play_fixtures(tournament, game, missing, workers, together=together, mixed=mixed)
    with closing(playing) as chunks:
        for chunk in chunks:
            results = [_result(tournament, fixture, played) for fixture, played in chunk]
            append_json(log, [_line(result) for result in results])
            known.update({(result.table, result.number): result for result in results})
            finished += len(results)
            if progress:
                progress(finished, len(schedule))
    return [known[fixture.table, fixture.number] for fixture in schedule]


def open_log(tournament: Tournament, game: Game, log: Path) -> dict[tuple[int, int], Result]:
    """The results that a log holds, after checking that it is this tournament's; makes it if there is none."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "game": game.spec.title,
        "ruleset": game.spec.ruleset,
        "entrants": list(tournament.entrants),
        "seed": tournament.seed,
        "mode": tournament.mode,
    }
    rows = recover_lines(log)
    if not rows:
        append_json(log, [header])
        return {}
    return {(result.table, result.number): result for result in read_results(log, rows, header)}


def read_results(log: Path, rows: list[Any], header: dict[str, Any]) -> list[Result]:
    """The results behind the header, which must be as expected."""
    found = rows[0] if isinstance(rows[0], dict) else {}
    if found.get("format") != FORMAT or found.get("version") != VERSION:
        raise DamagedFile(f"{log}: not a results log of version {VERSION}; choose another folder with --out")
    if found.get("ruleset") != header["ruleset"]:
        raise RulesetMismatch(
            f"{log}: played under ruleset {found.get('ruleset')} ({found.get('game')}), "
            f"not {header['ruleset']} ({header['game']}); choose another folder with --out"
        )
    for key in ("entrants", "seed", "mode"):
        if found.get(key) != header[key]:
            raise DamagedFile(
                f"{log}: belongs to another tournament ({key} {found.get(key)}, not {header[key]}); "
                "choose another folder with --out"
            )
    results = []
    for number, row in enumerate(rows[1:], 2):
        try:
            results.append(
                Result(
                    table=int(row["table"]),
                    number=int(row["number"]),
                    players=tuple(map(str, row["players"])),
                    seed=int(row["seed"]),
                    returns=tuple(map(float, row["returns"])),
                    turns=int(row["turns"]),
                    fouls=tuple(map(int, row["fouls"])),
                    seconds=tuple(map(float, row["seconds"])),
                    roles=tuple(map(str, row.get("roles", ()))),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{log}: line {number} is no result ({error!r}); mend or remove it") from error
    return results


def play_fixtures(
    tournament: Tournament,
    game: Game,
    missing: Sequence[Fixture],
    workers: int | None = None,
    *,
    together: int = HOST_CHUNK,
    mixed: bool = False,
    record: bool = False,
) -> Generator[Chunk, None, None]:
    """Games in chunks as they end: compiled agents here, thousands at a time; host agents in worker processes."""
    if mixed:
        turns = sorted(missing, key=lambda fixture: fixture.number)
        for first in range(0, len(turns), together):
            yield play_chunk(tournament, turns[first : first + together], record, one_shape=True)
        return
    traced: list[list[Fixture]] = []
    hosted: list[list[Fixture]] = []
    by_table: dict[int, list[Fixture]] = {}
    for fixture in missing:
        by_table.setdefault(fixture.table, []).append(fixture)
    for table in by_table.values():
        names = {tournament.entrants[index] for index in table[0].players}
        compiled = all(make_agent(name, game).traceable for name in names)
        size, chunks = (TRACED_CHUNK, traced) if compiled else (together, hosted)
        chunks += [table[i : i + size] for i in range(0, len(table), size)]
    cores = workers or os.cpu_count() or 1
    if len(hosted) <= 1 or cores == 1:
        for chunk in traced + hosted:
            yield play_chunk(tournament, chunk, record)
        return
    # Never fork: JAX keeps threads, and a forked copy of them deadlocks.
    context = multiprocessing.get_context("spawn")
    size, stop = min(cores, len(hosted)), context.Event()
    with ProcessPoolExecutor(size, context, _begin_worker, (os.getpid(), stop)) as pool:
        waiting = (pool.submit(play_chunk, tournament, one, record) for one in hosted)
        try:
            pending: set[Future[Chunk]] = set(itertools.islice(waiting, 2 * size))
            for chunk in traced:
                yield play_chunk(tournament, chunk, record)
            while pending:
                ready, pending = wait(pending, return_when=FIRST_COMPLETED)
                pending |= set(itertools.islice(waiting, len(ready)))
                for future in ready:
                    yield future.result()
        except BrokenProcessPool:
            raise StratagemError(
                "a worker process died in the middle of a game (out of memory?); "
                "what was finished is kept: run the same command again to go on"
            ) from None
        except BaseException:  # Ctrl-C, or nobody wants the rest: games under way are given up
            stop.set()
            raise


def _begin_worker(parent: int, stop: Event) -> None:
    """Workers leave Ctrl-C to the parent, end when it stops or was killed, and share what they compile."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent, stop), daemon=True).start()
    use_compile_cache()


def _end_with(parent: int, stop: Event) -> None:
    """A killed parent cannot tell its workers; they would wait for games for ever."""
    while os.getppid() == parent and not stop.wait(1):
        pass
    os._exit(1)


def play_chunk(
    tournament: Tournament, chunk: Sequence[Fixture], record: bool = False, one_shape: bool = False
) -> Chunk:
    """Play some fixtures side by side."""
    game = make_game(tournament.game)
    indices = sorted({index for fixture in chunk for index in fixture.players})
    agents = [make_agent(tournament.entrants[index], game) for index in indices]
    seatings = [[indices.index(index) for index in fixture.players] for fixture in chunk]
    seeds = [fixture.seed for fixture in chunk]
    played = play_games(game, agents, seatings, seeds, record=record, one_shape=one_shape)
    return list(zip(chunk, played, strict=True))


def _result(tournament: Tournament, fixture: Fixture, played: Played) -> Result:
    return Result(
        table=fixture.table,
        number=fixture.number,
        players=tuple(tournament.entrants[index] for index in fixture.players),
        seed=fixture.seed,
        returns=tuple(round(value, 6) for value in played.returns),
        turns=played.turns,
        fouls=played.fouls,
        seconds=tuple(round(value, 6) for value in played.seconds),
        roles=played.roles,
    )


def _line(result: Result) -> dict[str, Any]:
    """A line of the log; roles are named only where there are any."""
    return {key: value for key, value in asdict(result).items() if key != "roles" or value}
