"""Exact lessons of Corso: positions, and which of their moves win. For docs/make_weights.py --lessons.

    python docs/make_lessons.py positions --count 400000 --out POSITIONS.npz
    python docs/make_lessons.py truth POSITIONS.npz --minutes 6 --processes 16 --out LESSONS.npz

`positions` collects different unfinished positions, half of them from random play, half from games of the shipped
network (first up to eight moves at random, then drawn from its policy), in random order, and few of the early ones,
which take the solver a hundred times as long as late ones. `truth` asks the exact solver about every move of as many
of them as the time allows. A lesson is a position (cell codes, player to move) and the actions after which the mover
still wins; on a board with an odd number of cells nothing is drawn, so the other actions lose.
"""

import argparse
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.core.files import atomic_write
from stratagem.learners.selfplay import Sample
from stratagem.solvers.corso import Solver

TASK = 200  # positions a worker gets at a time
ENOUGH = 5000  # positions with the same number of filled cells; if there are fewer, they come less often
# The share of positions that is kept, by the number of cells that are not empty.
SHARES = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.02, 4: 0.03, 5: 0.27, 6: 0.35, 7: 0.35}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--size", type=int, choices=(3, 5), default=5, help="of the board")
    parts = asked.add_subparsers(dest="part", required=True)
    collecting = parts.add_parser("positions")
    collecting.add_argument("--count", type=int, default=400_000)
    collecting.add_argument("--seed", type=int, default=0)
    collecting.add_argument("--out", type=Path, required=True)
    judging = parts.add_parser("truth")
    judging.add_argument("positions", type=Path)
    judging.add_argument("--minutes", type=float, default=6.0)
    judging.add_argument("--processes", type=int, default=2)
    judging.add_argument("--out", type=Path, required=True)
    words = asked.parse_args()
    positions(words) if words.part == "positions" else truth(words)


def positions(words) -> None:
    """Writes int8[R, N] cell codes and int8[R] players to move."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
    from corso_truth import Asked, collect

    from stratagem.agents import make_agent
    from stratagem.agents.corso import cell_codes
    from stratagem.core.compile_cache import use_compile_cache
    from stratagem.games.corso import Corso

    use_compile_cache()
    game, generator = Corso(words.size, words.size), np.random.default_rng(words.seed)
    player = Asked(make_agent("net:temperature=1", game), game)
    found = [collect(game, None, game.cells, words.count // 2, generator)]
    found += [collect(game, player, moves, words.count // 8, generator) for moves in (2, 4, 6, 8)]
    views = np.concatenate(found)
    cells, movers = cell_codes(views[generator.permutation(len(views))])
    shares = np.array([SHARES.get(count, 1.0) for count in (cells > 0).sum(axis=1)])
    kept = generator.random(len(cells)) < shares
    write(words.out, cells=cells[kept].astype(np.int8), movers=movers[kept].astype(np.int8))
    tell(collected=len(cells), kept=int(kept.sum()))


def truth(words) -> None:
    """Writes the positions that were judged, and uint32[R] their winning actions, a bit a cell."""
    with np.load(words.positions, allow_pickle=False) as file:
        cells, movers = file["cells"], file["movers"]
    winning_moves(words.size, cells[:1], movers[:1])  # compiles, for all processes
    began = time.monotonic()
    tasks = [slice(first, first + TASK) for first in range(0, len(cells), TASK)]
    spawn = multiprocessing.get_context("spawn")
    done: list[np.ndarray] = []
    with ProcessPoolExecutor(words.processes, spawn) as pool:
        under_way = []
        for task in tasks:
            under_way.append(pool.submit(winning_moves, words.size, cells[task], movers[task]))
            if len(under_way) >= 3 * words.processes:  # a bounded queue, answered in order
                done.append(under_way.pop(0).result())
                tell(judged=len(done) * TASK, seconds=round(time.monotonic() - began))
            if time.monotonic() - began > 60 * words.minutes:
                break
        done += [one.result() for one in under_way]
    wins = np.concatenate(done)
    write(words.out, cells=cells[: len(wins)], movers=movers[: len(wins)], wins=wins)
    tell(lessons=len(wins), won=float((wins != 0).mean()), seconds=round(time.monotonic() - began))


@lru_cache
def solver_of(size: int) -> Solver:
    """One a process, with all that it has learned."""
    return Solver(size, size)


def winning_moves(size: int, cells: np.ndarray, movers: np.ndarray) -> np.ndarray:
    """uint32[R]: the actions that win, a bit a cell."""
    found = []
    for board, mover in zip(cells, movers, strict=True):
        outcomes = solver_of(size).outcomes(board, int(mover))
        found.append(sum(1 << action for action, outcome in outcomes.items() if outcome > 0))
    return np.array(found, np.uint32)


def samples(paths: list[Path], game: Any, rows: int, generator: np.random.Generator) -> Any:
    """Sample[rows] to learn from: positions with their winning moves, and as many one move later with their values.

    All numbers of cells that are not empty are equally frequent where there are enough, as are the two kinds.
    """
    files = [np.load(path, allow_pickle=False) for path in paths]
    cells, movers, wins = (
        np.concatenate([file[name] for file in files]) for name in ("cells", "movers", "wins")
    )
    bits = (wins[:, None] >> np.arange(game.cells, dtype=np.uint32) & 1).astype(bool)  # [R, A]
    before = _drawn(cells, np.ones(len(cells), bool), rows // 2, generator)
    own = _sample(
        _states(game, cells[before], movers[before]), bits[before], movers[before], bits[before].any(axis=1)
    )
    # The moves on empty cells and on own marbles; what they lead to is won for the other player, or lost.
    legal = (cells == 0) | (cells == 1 + 2 * movers[:, None])
    parent, action = np.nonzero(legal)
    picked = _drawn(
        cells[parent], legal[parent, action], 2 * (rows - rows // 2), generator
    )  # some end the game
    parent, action = parent[picked], action[picked]
    states = _after(game, _states(game, cells[parent], movers[parent]), action)
    going = np.flatnonzero(~np.asarray(jax.jit(jax.vmap(game.done))(states)))[: rows - rows // 2]
    others, lost = 1 - movers[parent][going], ~bits[parent, action][going]
    later = jax.tree.map(lambda leaf: leaf[going], states)
    return jax.tree.map(
        lambda *parts: jnp.concatenate(parts),
        own,
        _sample(later, np.zeros((len(going), game.cells)), others, lost),
    )


def _drawn(cells, allowed, count, generator):
    """Places of `count` rows, drawn so that numbers of filled cells that many rows have come equally often."""
    filled = (cells > 0).sum(axis=1)
    frequency = np.bincount(filled[allowed], minlength=cells.shape[1] + 1)
    weight = np.where(allowed, 1 / np.maximum(frequency[filled], ENOUGH), 0.0)
    return generator.choice(len(cells), count, p=weight / weight.sum())


def _states(game, cells, movers):
    """S[R] from cell codes and players to move."""
    planes = [cells == code for code in range(1, 2 * game.players + 1)]
    planes.append(np.broadcast_to(movers[:, None], cells.shape))
    views = np.stack(planes, axis=-1).astype(np.uint8).reshape(-1, game.height, game.width, len(planes))
    return jax.jit(jax.vmap(game.state_of))(views)


def _after(game, states, actions):
    step = jax.vmap(lambda state, action: game.step(state, jnp.full(game.players, action), None))
    return jax.jit(step)(states, jnp.asarray(actions, jnp.int32))


def _sample(states, right, movers, won):
    """Sample[R] with the value of each: +1 for the mover where it is won, else −1."""
    value = np.where(won, 1.0, -1.0) * np.where(movers == 0, 1.0, -1.0)  # of the first player
    return Sample(
        state=states,
        choices=None,
        policy=jnp.asarray(right, jnp.float16),
        values=jnp.asarray(np.stack([value, -value], axis=1), jnp.float32),
        real=jnp.ones(len(movers), bool),
    )


def write(path, **arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
