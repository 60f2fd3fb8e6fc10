"""Exact lessons of Corso (`corso_lessons.py`) taught to a network.

    python docs/teach_corso.py LESSONS --minutes 20 --network global:channels=128,blocks=10,chains=True --out OUT

Draws lessons by kind and stage of the game and turns each at random. It measures an iteration and plans as many as fit
the minutes, unless `--iterations` says how many. Lessons that are written while it learns are taken in as they come.
`--start FILE` begins with weights of the same kind, and `--resume` goes on with a run that was cut off.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.files import read_json
from stratagem.games.corso import Corso
from stratagem.learners.lessons import Lesson, Lessons, LessonsConfig
from stratagem.learners.run import Run, run
from stratagem.networks import parameters
from stratagem.networks.weights import load_weights, save_weights

KINDS = (0.25, 0.4, 0.35)  # how often a kind is drawn: on the solver's way, from a game, one move after that
CLEAR = 17  # cells filled, from where on positions are easy, and are drawn half as often
COMPLETE = 1  # the kind of which all winning moves are known
FEW = 200  # a kind and stage with fewer lessons comes less often


class Material(NamedTuple):
    """All lessons, those of one kind and stage side by side; room for more at the end."""

    planes: Any  # uint32[N, 4]
    right: Any  # uint32[N]
    won: Any  # bool[N]
    first: Any  # int32[G]: where a kind and stage begins
    count: Any  # int32[G]: how many it has


class Library:
    """The lessons of a folder, also those that are written while they are learned."""

    def __init__(self, folder: Path, cells: int, room: int):
        self.folder, self.cells, self.room = folder, cells, room
        self._known: dict[str, list[np.ndarray]] = {}
        self._fresh: Material | None = None
        self._thread: Thread | None = None

    def read(self) -> Material:
        """All of them, at most as many as there is room for; an error if there are none."""
        for path in sorted(self.folder.glob("lessons-*.npz")):
            if path.name not in self._known:
                with np.load(path, allow_pickle=False) as file:
                    self._known[path.name] = [file[name] for name in ("planes", "right", "won", "kind")]
        if not self._known:
            sys.exit(f"{self.folder} holds no lessons; collect some first with corso_lessons.py")
        columns = [np.concatenate(column) for column in zip(*self._known.values(), strict=True)]
        planes, right, won, kind = (column[-self.room :] for column in columns)
        taken = np.bitwise_or.reduce(planes, axis=1)
        group = kind.astype(np.int16) * (self.cells + 1) + np.bitwise_count(taken)
        order = np.argsort(group, kind="stable")
        count = np.bincount(group, minlength=len(KINDS) * (self.cells + 1))
        first = np.concatenate([[0], np.cumsum(count)[:-1]])

        def padded(column: np.ndarray) -> np.ndarray:
            return np.concatenate(
                [column[order], np.zeros((self.room - len(column), *column.shape[1:]), column.dtype)]
            )

        return Material(
            padded(planes), padded(right), padded(won), first.astype(np.int32), count.astype(np.int32)
        )

    def news(self) -> Material | None:
        """What there is now, if more has come since the last answer; never waits for it."""
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread, fresh = None, self._fresh
            return fresh
        if len(list(self.folder.glob("lessons-*.npz"))) > len(self._known):
            self._thread = Thread(target=self._read_again, daemon=True)
            self._thread.start()
        return None

    def _read_again(self) -> None:
        self._fresh = self.read()


def main() -> None:
    began = time.monotonic()
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("lessons", type=Path)
    asked.add_argument("--size", type=int, choices=(3, 5), default=5, help="of the board")
    asked.add_argument("--network", default="global:channels=128,blocks=10,chains=True")
    asked.add_argument("--start", type=Path, help="weights to begin with")
    asked.add_argument(
        "--minutes", type=float, default=20.0, help="of this command, if --iterations is not given"
    )
    asked.add_argument("--iterations", type=int, default=0)
    asked.add_argument("--room", type=int, default=40_000_000, help="for lessons; the latest are kept")
    asked.add_argument("--set", nargs="*", default=[], help="name=number of the config, to try things out")
    asked.add_argument("--runs", type=Path, default=Path("runs"))
    asked.add_argument("--resume", action="store_true")
    asked.add_argument("--out", type=Path, required=True)
    words = asked.parse_args()
    use_compile_cache()
    game, folder = Corso(words.size, words.size), words.runs / "corso-lessons"
    precision: Any = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    config = LessonsConfig(network=words.network, iterations=words.iterations, precision=precision)
    for text in words.set:
        name, _, value = text.partition("=")
        config = replace(config, **{name: type(getattr(config, name))(value)})
    library = Library(words.lessons, game.cells, words.room)
    material = jax.device_put(library.read())
    tell(lessons=int(material.count.sum()), device=str(jax.devices()[0]))
    taught = load_weights(words.start, game) if words.start else None
    if words.resume:
        config = replace(config, iterations=read_json(folder / "config.json")["iterations"])
    elif not words.iterations:
        config = replace(config, iterations=planned(game, material, config, began, words.minutes))
    learner = Lessons(game, partial(draw, game), material, config, taught)
    words.out.mkdir(parents=True, exist_ok=True)

    def keep(network: Any, iteration: int) -> dict[str, float]:
        summary = {
            "iterations": iteration,
            "lessons": int(learner.material.count.sum()),
            "parameters": parameters(network),
            "config": asdict(config),
            "device": str(jax.devices()[0].device_kind),
        }
        save_weights(
            words.out / "corso-5x5.safetensors", network, config.network, [game], summary, stored="bfloat16"
        )
        if (fresh := library.news()) is not None:
            learner.material = jax.device_put(fresh)
        return {"lessons": summary["lessons"]}

    settings = Run(folder, resume=words.resume, save_every=50, evaluate_every=20)
    state, _ = run(learner, settings, asdict(config), evaluate=keep)
    keep(learner.network(state), learner.iteration(state))


def planned(game: Corso, material: Material, config: LessonsConfig, began: float, minutes: float) -> int:
    """How many iterations fit, from the time of three."""
    learner = Lessons(game, partial(draw, game), material, replace(config, iterations=1000))
    state, _ = learner.iterate(learner.start(jax.random.key(0)))
    compiled = time.monotonic()
    for _ in range(3):
        state, _ = learner.iterate(state)
    each = (time.monotonic() - compiled) / 3
    count = max(10, int((60 * minutes - (time.monotonic() - began) - 30) / each * 0.97))
    tell(compiled_after=compiled - began, seconds_an_iteration=each, iterations=count)
    return count


def draw(game: Corso, material: Material, rows: int, key: Array) -> Lesson:
    """Lesson[rows]: by kind and stage where there are enough lessons, each turned at random."""
    group_key, row_key, turn_key = jax.random.split(key, 3)
    often = np.outer(KINDS, np.where(np.arange(game.cells + 1) < CLEAR, 2.0, 1.0)).ravel()
    weight = jnp.minimum(material.count / FEW, 1.0) * often
    group = jax.random.choice(group_key, len(weight), (rows,), p=weight / weight.sum())
    count = material.count[group]
    row = material.first[group] + jnp.minimum(
        (jax.random.uniform(row_key, (rows,)) * count).astype(jnp.int32), count - 1
    )
    actions = game.symmetries().actions
    to = actions[jax.random.randint(turn_key, (rows,), 0, actions.shape[0])]

    def one(planes: Array, right: Array, won: Array, to: Array, complete: Array) -> Lesson:
        cell = jnp.arange(game.cells, dtype=jnp.uint32)
        own, other, own_dyed, other_dyed = (planes[:, None] >> cell & 1).astype(jnp.uint8)
        turn = jnp.zeros_like(own)  # who is to move is the first player
        view = jnp.stack([own, own_dyed, other, other_dyed, turn], axis=-1)
        view = jnp.zeros_like(view).at[to].set(view)
        known = jnp.zeros(game.cells, bool).at[to].set((right >> cell & 1).astype(bool))
        free = (view[:, :4].sum(axis=-1) == 0) | (view[:, 0] == 1)
        worth = jnp.where(won, 1.0, -1.0)
        shaped = view.reshape(game.height, game.width, -1)
        return Lesson(shaped, free, known, jnp.stack([worth, -worth]), complete)

    complete = group // (game.cells + 1) == COMPLETE
    return jax.vmap(one)(material.planes[row], material.right[row], material.won[row], to, complete)


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
