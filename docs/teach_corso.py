"""Exact lessons of Corso: what the solver knows, told to a network.

    python docs/teach_corso.py collect --minutes 6 --processes 15 --weights FILE --out LESSONS
    python docs/teach_corso.py teach LESSONS --iterations 290 --network global:channels=96,blocks=10 --out OUT

`collect` takes positions from random play and from games of a network (some moves at random, then its likeliest or
drawn from its policy), asks the solver about every move of each, and keeps three kinds of lessons: those positions,
with all their winning moves; the positions one move later, with their winner; and some of the positions that the solver
decided on its way, with the move that decided them (`stratagem.solvers.corso_notes`). `teach` draws the three kinds and
all stages of a game equally often and turns each lesson at random; `--start FILE` goes on from weights of the same
kind, and `--resume` goes on with a run that was cut off. Boards have an odd number of cells, so nothing is drawn.

A file of lessons has uint32[N, 4] bitboards as `stratagem.solvers.corso_bits` has them, uint32[N] the actions known to
win, a bit a cell, bool[N] whether the player to move wins, and int8[N] the kind.
"""

import argparse
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stratagem.core.files import atomic_write
from stratagem.solvers.corso import Solver
from stratagem.solvers.corso_bits import is_over, legal, margin, pack, play

MINED, PLAYED, AFTER = range(3)  # the kinds: on the solver's way, from a game, and one move after that
CHUNK = 30.0  # seconds between two files of a process
NOTES = 24  # of each stage of a game that the solver notes for one position
# The share of positions that is kept, by the number of cells filled: the earliest take long and are few anyway.
EARLY = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.15, 4: 0.3, 5: 0.5, 6: 0.7}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--size", type=int, choices=(3, 5), default=5, help="of the board")
    parts = asked.add_subparsers(dest="part", required=True)
    collecting = parts.add_parser("collect")
    collecting.add_argument("--minutes", type=float, default=6.0)
    collecting.add_argument("--processes", type=int, default=2)
    collecting.add_argument("--positions", type=int, default=200_000, help="to choose from, at most")
    collecting.add_argument(
        "--weights", default="", help="of the network that plays; the shipped one unless given"
    )
    collecting.add_argument("--seed", type=int, default=0)
    collecting.add_argument("--out", type=Path, required=True)
    teaching = parts.add_parser("teach")
    teaching.add_argument("lessons", type=Path)
    teaching.add_argument("--network", default="global:channels=96,blocks=10")
    teaching.add_argument("--start", type=Path, help="weights to begin with")
    teaching.add_argument("--iterations", type=int, default=290)
    teaching.add_argument("--set", nargs="*", default=[], help="name=number of the config, to try things out")
    teaching.add_argument("--runs", type=Path, default=Path("runs"))
    teaching.add_argument("--resume", action="store_true")
    teaching.add_argument("--out", type=Path, required=True)
    words = asked.parse_args()
    collect(words) if words.part == "collect" else teach(words)


def collect(words) -> None:
    """Processes that ask the solver until the time is up, each with positions of its own."""
    began = time.monotonic()
    cells, movers = positions(words.size, words.weights, words.positions, words.seed)
    tell(positions=len(cells), seconds=round(time.monotonic() - began))
    words.out.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")  # a fork of JAX may hang
    with ProcessPoolExecutor(words.processes, spawn) as pool:
        left = 60 * words.minutes - (time.monotonic() - began)
        tasks = [
            pool.submit(
                ask,
                words.size,
                cells[first :: words.processes],
                movers[first :: words.processes],
                left,
                words.out / f"lessons-{words.seed}-{first:02d}",
            )
            for first in range(words.processes)
        ]
        judged = sum(task.result() for task in tasks)
    tell(judged=judged, seconds=round(time.monotonic() - began))


def positions(size: int, weights: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(int8[R, N] cell codes, int8[R] players to move) of different positions in random order, few of them early."""
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
    shares = np.array([EARLY.get(int(filled), 1.0) for filled in (cells > 0).sum(axis=1)])
    kept = generator.permutation(np.flatnonzero(generator.random(len(cells)) < shares))
    return cells[kept].astype(np.int8), movers[kept].astype(np.int8)


class Row(NamedTuple):
    planes: tuple[int, ...]
    right: int
    won: bool
    kind: int


def ask(size: int, cells: np.ndarray, movers: np.ndarray, seconds: float, name: Path) -> int:
    """Write files of lessons until the time or the positions are up; how many positions were judged."""
    solver, began, number = Solver(size, size, notes=NOTES), time.monotonic(), 0
    rows: list[Row] = []
    mined: list[np.ndarray] = []
    written, judged = time.monotonic(), 0
    for board, mover in zip(cells, movers, strict=True):
        now = time.monotonic()
        if now - began > seconds:
            break
        if now - written > CHUNK:
            write(name.with_name(f"{name.name}-{number:03d}.npz"), rows, mined)
            rows, mined, written, number = [], [], now, number + 1
        rows += judge(solver, board, int(mover))
        mined.append(noted(solver))
        judged += 1
    write(name.with_name(f"{name.name}-{number:03d}.npz"), rows, mined)
    return judged


def judge(solver: Solver, cells: np.ndarray, mover: int) -> list[Row]:
    """The lessons of a position and of those one move later."""
    position = _typed(pack(cells, mover))
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


def _typed(position) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(plane) for plane in position)


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


class Material(NamedTuple):
    """All lessons, those of one kind and stage side by side."""

    planes: Any  # uint32[N, 4]
    right: Any  # uint32[N]
    won: Any  # bool[N]
    first: Any  # int32[G]: where a kind and stage begins
    count: Any  # int32[G]: how many it has


FEW = 2000  # a kind and stage with fewer lessons comes less often


def read(folder: Path, cells: int) -> Material:
    """The lessons of a folder; an error if there are none."""
    files = sorted(folder.glob("lessons-*.npz"))
    if not files:
        sys.exit(f"{folder} holds no lessons; collect some first")
    parts = []
    for path in files:
        with np.load(path, allow_pickle=False) as file:
            parts.append([file[name] for name in ("planes", "right", "won", "kind")])
    planes, right, won, kind = (np.concatenate(column) for column in zip(*parts, strict=True))
    taken = np.bitwise_or.reduce(planes, axis=1)
    stage = sum((taken >> cell & 1).astype(np.int64) for cell in range(cells))
    group = kind.astype(np.int64) * (cells + 1) + stage
    order = np.argsort(group, kind="stable")
    count = np.bincount(group, minlength=3 * (cells + 1))
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    return Material(planes[order], right[order], won[order], first.astype(np.int32), count.astype(np.int32))


def teach(words) -> None:
    """A run of the learner of lessons, with weights and metrics in OUT as it goes."""
    import jax

    from stratagem.core.compile_cache import use_compile_cache
    from stratagem.games.corso import Corso
    from stratagem.learners.lessons import Lessons, LessonsConfig
    from stratagem.learners.run import Run, run
    from stratagem.networks import parameters
    from stratagem.networks.weights import load_weights, save_weights

    use_compile_cache()
    game = Corso(words.size, words.size)
    precision = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    config = LessonsConfig(network=words.network, iterations=words.iterations, precision=precision)
    for text in words.set:
        name, _, value = text.partition("=")
        config = replace(config, **{name: type(getattr(config, name))(value)})
    material = jax.device_put(read(words.lessons, game.cells))
    tell(lessons=len(material.won), device=str(jax.devices()[0]))
    taught = load_weights(words.start, game) if words.start else None
    learner = Lessons(game, partial(draw, game), material, config, taught)
    words.out.mkdir(parents=True, exist_ok=True)

    def keep(network, iteration):
        summary = {
            "iterations": iteration,
            "lessons": len(material.won),
            "parameters": parameters(network),
            "config": asdict(config),
            "device": str(jax.devices()[0].device_kind),
        }
        save_weights(words.out / "corso-5x5.safetensors", network, config.network, [game], summary)
        return {}

    settings = Run(words.runs / "corso-lessons", resume=words.resume, save_every=50, evaluate_every=20)
    state, _ = run(learner, settings, asdict(config), evaluate=keep)
    keep(learner.network(state), learner.iteration(state))


def draw(game: Any, material: Material, rows: int, key: Any) -> Any:
    """Lesson[rows]: kinds and stages equally often where there are enough lessons, each turned at random."""
    import jax
    import jax.numpy as jnp

    from stratagem.learners.lessons import Lesson

    group_key, row_key, turn_key = jax.random.split(key, 3)
    weight = jnp.minimum(material.count / FEW, 1.0)
    group = jax.random.choice(group_key, len(weight), (rows,), p=weight / weight.sum())
    count = material.count[group]
    row = material.first[group] + jnp.minimum(
        (jax.random.uniform(row_key, (rows,)) * count).astype(jnp.int32), count - 1
    )
    actions = game.symmetries().actions
    to = actions[jax.random.randint(turn_key, (rows,), 0, actions.shape[0])]

    def one(planes: Any, right: Any, won: Any, to: Any) -> Lesson:
        cell = jnp.arange(game.cells, dtype=jnp.uint32)
        own, other, own_dyed, other_dyed = (planes[:, None] >> cell & 1).astype(jnp.uint8)
        turn = jnp.zeros_like(own)  # who is to move is the first player
        view = jnp.stack([own, own_dyed, other, other_dyed, turn], axis=-1)
        view = jnp.zeros_like(view).at[to].set(view)
        known = jnp.zeros(game.cells, bool).at[to].set((right >> cell & 1).astype(bool))
        free = (view[:, :4].sum(axis=-1) == 0) | (view[:, 0] == 1)
        worth = jnp.where(won, 1.0, -1.0)
        shaped = view.reshape(game.height, game.width, -1)
        return Lesson(shaped, free, known, jnp.stack([worth, -worth]))

    return jax.vmap(one)(material.planes[row], material.right[row], material.won[row], to)


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
