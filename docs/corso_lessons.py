"""Exact lessons of Corso: what the solver knows, written down for a network to learn (`teach_corso.py`).

    python docs/corso_lessons.py --minutes 10 --processes 15 --openings 4 --weights FILE --out LESSONS

It takes all positions of the first moves (one of those that look the same), then positions from random play and from
games of a network (some moves at random, then its likeliest or drawn from its policy), asks the solver about every
move of each, and keeps three kinds of lessons: those positions, with all their winning moves; the positions one move
later, with their winner; and some of the positions that the solver decided on its way, with the move that decided
them (`stratagem.solvers.corso_notes`). Boards have an odd number of cells, so nothing is drawn. What the folder has
already is not asked again, so a command that was cut off can be repeated.

A file of lessons has uint32[N, 4] bitboards as `stratagem.solvers.corso_bits` has them, uint32[N] the actions known to
win, a bit a cell, bool[N] whether the player to move wins, and int8[N] the kind.
"""

import argparse
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stratagem.core.files import atomic_write
from stratagem.solvers.corso import Solver
from stratagem.solvers.corso_bits import (
    Position,
    image,
    is_over,
    legal,
    make_board,
    margin,
    pack,
    play,
    symmetries,
)

MINED, PLAYED, AFTER = range(3)  # the kinds: on the solver's way, from a game, and one move after that
CHUNK = 30.0  # seconds between two files of a process
# The share of positions that is kept, by the number of cells filled: the earliest take long and are few anyway, and
# the last are easy.
SHARES = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.1, 4: 0.2, 5: 0.5, 6: 0.7, **dict.fromkeys(range(18, 26), 0.3)}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--size", type=int, choices=(3, 5), default=5, help="of the board")
    asked.add_argument("--minutes", type=float, default=6.0)
    asked.add_argument("--processes", type=int, default=2)
    asked.add_argument("--openings", type=int, default=0, help="all positions after up to so many moves")
    asked.add_argument(
        "--positions", type=int, default=200_000, help="of games, at most; the rest is left out"
    )
    asked.add_argument(
        "--weights", default="", help="of the network that plays; the shipped one unless given"
    )
    asked.add_argument(
        "--notes", type=int, default=24, help="of each stage that the solver notes for one position"
    )
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--out", type=Path, required=True)
    collect(asked.parse_args())


def collect(words) -> None:
    """Processes that ask the solver until the time is up, each with positions of its own."""
    began = time.monotonic()
    # In random order: where the time is not enough for all, each has the same chance.
    asked = np.random.default_rng(words.seed).permutation(openings(words.size, words.openings))
    tell(openings=len(asked))
    if words.positions:
        played = positions(words.size, words.weights, words.positions, words.seed)
        asked = np.concatenate([asked, played])
    words.out.mkdir(parents=True, exist_ok=True)
    known = judged_in(words.out)
    asked = np.array([row for row in asked if tuple(row) not in known], np.uint32).reshape(-1, 4)
    tell(positions=len(asked), known=len(known), seconds=round(time.monotonic() - began))
    spawn = multiprocessing.get_context("spawn")  # a fork of JAX may hang
    with ProcessPoolExecutor(words.processes, spawn) as pool:
        left = 60 * words.minutes - (time.monotonic() - began)
        tasks = [
            pool.submit(
                ask,
                words.size,
                asked[number :: words.processes],
                left,
                words.notes,
                words.out / f"lessons-{words.seed}-{number:02d}",
            )
            for number in range(words.processes)
        ]
        while not all(task.done() for task in tasks):
            wait(tasks, timeout=60)
            tell(files=len(list(words.out.iterdir())), seconds=round(time.monotonic() - began))
        judged = sum(task.result() for task in tasks)
    tell(judged=judged, seconds=round(time.monotonic() - began))


def openings(size: int, moves: int) -> np.ndarray:
    """uint32[R, 4]: every position after up to so many moves, one of those that look the same; none for no moves."""
    board, sides = make_board(size, size), symmetries(size, size)
    found, latest = [], {(0, 0, 0, 0)} if moves else set()
    for _ in range(moves + 1):
        found += sorted(latest)
        after = set()
        for position in map(_typed, latest):
            actions = int(legal(position, board))
            for action in range(size * size):
                if actions >> action & 1:
                    reached = _typed(play(position, np.uint64(1 << action), board))
                    if not is_over(reached, board):
                        after.add(min(tuple(map(int, image(reached, side))) for side in sides))
        latest = after
    return np.array(found, np.uint32).reshape(-1, 4)


def positions(size: int, weights: str, count: int, seed: int) -> np.ndarray:
    """uint32[R, 4]: different positions of games and of random play, in random order, few of them early."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
    from corso_truth import Asked, collect

    from stratagem.agents import make_agent
    from stratagem.agents.corso import cell_codes
    from stratagem.games.corso import Corso

    game, generator = Corso(size, size), np.random.default_rng(seed)
    file = f",weights={weights}" if weights else ""
    likeliest = Asked(make_agent(f"net:temperature=0{file}", game), game)
    drawn = Asked(make_agent(f"net:temperature=0.7{file}", game), game)
    views = np.concatenate(
        [
            collect(game, likeliest, 4, 3 * count // 8, generator),
            collect(game, drawn, 3, count // 4, generator),
            collect(game, drawn, 5, count // 4, generator),
            collect(game, None, game.cells, count // 8, generator),
        ]
    )
    cells, movers = cell_codes(np.unique(views, axis=0))
    shares = np.array([SHARES.get(int(filled), 1.0) for filled in (cells > 0).sum(axis=1)])
    kept = generator.permutation(np.flatnonzero(generator.random(len(cells)) < shares))
    return np.array(
        [pack(board, int(mover)) for board, mover in zip(cells[kept], movers[kept], strict=True)], np.uint32
    )


def judged_in(folder: Path) -> set[tuple[int, ...]]:
    """The bitboards of all positions of games that a folder has lessons of."""
    known: set[tuple[int, ...]] = set()
    for path in folder.glob("lessons-*.npz"):
        with np.load(path, allow_pickle=False) as file:
            known.update(map(tuple, file["planes"][file["kind"] == PLAYED]))
    return known


class Row(NamedTuple):
    planes: tuple[int, ...]
    right: int
    won: bool
    kind: int


def ask(size: int, planes: np.ndarray, seconds: float, notes: int, name: Path) -> int:
    """Write files of lessons until the time or the positions are up; how many positions were judged."""
    solver, began = Solver(size, size, notes=notes), time.monotonic()
    number = len(list(name.parent.glob(f"{name.name}-*.npz")))  # goes on after those of an earlier command
    rows: list[Row] = []
    mined: list[np.ndarray] = []
    written, judged = time.monotonic(), 0
    for position in planes:
        now = time.monotonic()
        if now - began > seconds:
            break
        if now - written > CHUNK:
            write(name.with_name(f"{name.name}-{number:03d}.npz"), rows, mined)
            rows, mined, written, number = [], [], now, number + 1
        rows += judge(solver, _typed(position))
        mined.append(noted(solver))
        judged += 1
    write(name.with_name(f"{name.name}-{number:03d}.npz"), rows, mined)
    return judged


def judge(solver: Solver, position: Position) -> list[Row]:
    """The lessons of a position and of those one move later."""
    actions, right, rows = int(legal(position, solver.board)), 0, []
    for action in range(solver.cells):
        if not actions >> action & 1:
            continue
        after = _typed(play(position, np.uint64(1 << action), solver.board))
        if is_over(after, solver.board):
            lost = margin(after) < 0
        else:
            lost = solver.decide(after) < 0
            rows.append(Row(tuple(map(int, after)), 0, not lost, AFTER))
        right |= int(lost) << action
    return [*rows, Row(tuple(map(int, position)), right, right != 0, PLAYED)]


def noted(solver: Solver) -> np.ndarray:
    """uint32[N, 6]: bitboards, winning action and winner of what the solver decided on its way."""
    notes = solver.take_notes()
    right = np.where(notes.moves >= 0, 1 << np.maximum(notes.moves, 0).astype(np.int64), 0)
    return np.column_stack([notes.positions, right, notes.reached]).astype(np.uint32)


def _typed(position) -> Position:
    own, other, own_dyed, other_dyed = (np.uint64(plane) for plane in position)
    return own, other, own_dyed, other_dyed


def write(path: Path, rows: list[Row], mined: list[np.ndarray]) -> None:
    played = np.array([[*row.planes, row.right, row.won, row.kind] for row in rows], np.uint32).reshape(-1, 7)
    found = np.concatenate(mined) if mined else np.zeros((0, 6), np.uint32)
    table = np.concatenate([played, np.column_stack([found, np.full(len(found), MINED, np.uint32)])])
    with atomic_write(path, "wb") as file:
        np.savez_compressed(
            file,
            planes=table[:, :4],
            right=table[:, 4],
            won=table[:, 5].astype(bool),
            kind=table[:, 6].astype(np.int8),
        )


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
