"""Hispania: random decisions a second in one batch, against the plain Python reference of the tests, in one run.

    python benchmarks/hispania.py --json [--maps iberia-small hispania] [--games 1024] [--decisions 32]

A decision is a uniformly random legal token and all that follows from it; finished games start anew. Steps with a
single legal token count as decisions in both engines; their share is reported. On an H200 the targets are 1,000,000 a
second on the small map, 200,000 on the full one, and 1,000 times the reference. The reference runs on one core.
"""

import argparse
import os
import random
import sys
import time
from pathlib import Path

# On a CPU each core is a device of its own with one thread; other platforms ignore this.
os.environ.setdefault(
    "XLA_FLAGS",
    f"--xla_force_host_platform_device_count={os.cpu_count()} --xla_cpu_multi_thread_eigen=false",
)

import jax
import jax.numpy as jnp

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
from machine import measure, report  # noqa: E402

from stratagem.core.play import pick  # noqa: E402
from stratagem.games.hispania.loading import FOLDER, shipped  # noqa: E402
from stratagem.games.hispania.rules import Hispania  # noqa: E402
from tests.games.hispania_reference import Reference  # noqa: E402

GOALS = {"iberia-small": 1_000_000, "hispania": 200_000}  # on an H200
GAMES = {"cpu": [1024], "gpu": [1 << 14, 1 << 16, 1 << 17]}


def plain_rate(name, seconds):
    """Random decisions a second of the reference."""
    rng, decisions, began = random.Random(0), 0, time.perf_counter()
    while True:
        plain = Reference.from_file(FOLDER / f"{name}.toml")
        while not plain.over:
            tokens = list(plain.decision[2])
            plain.step(rng.choice(tokens), [rng.randint(1, 6) for _ in range(12)])
            decisions += 1
            if time.perf_counter() - began > seconds:
                return decisions / (time.perf_counter() - began)


def random_decisions(game, states, key, decisions):
    """(State[B] after so many random decisions of each game, how many of them had a single token)."""
    games, fresh = states.phase.shape[0], game.init(key)

    def one(state, point, dice):
        legal = game.choices(state).reshape(-1)
        action = jnp.minimum(pick(legal, point), game.spec.actions - 1)
        after = game.afterstate(state, jnp.full(game.spec.seats, action, jnp.int32))
        stepped = game.fall(after, dice)
        onward = jax.tree.map(lambda new, old: jnp.where(game.done(stepped), new, old), fresh, stepped)
        return onward, legal.sum() == 1

    def turn(states, key):
        point_key, dice_key = jax.random.split(key)
        points = jax.random.uniform(point_key, (games,))
        dice = jax.random.randint(dice_key, (games, 2, 6), 1, 7)
        states, forced = jax.vmap(one)(states, points, dice)
        return states, forced.sum()

    states, forced = jax.lax.scan(turn, states, jax.random.split(key, decisions))
    return states, forced.sum()


def batch_rate(game, games, decisions):
    """(Random decisions a second over all devices, the share with one token, the seconds measured)."""
    devices = jax.devices()
    run = jax.jit(lambda states, key: random_decisions(game, states, key, decisions), donate_argnums=0)
    first = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (games, *leaf.shape)), game.init(jax.random.key(0))
    )
    carried = [jax.device_put(first, device) for device in devices]
    keys = [jax.device_put(jax.random.key(number), device) for number, device in enumerate(devices)]
    forced = []

    def work():
        # Each call goes on where the last one stopped, so the games are soon spread over their whole course.
        for number, key in enumerate(keys):
            draw_key, keys[number] = jax.random.split(key)
            carried[number], single = run(carried[number], draw_key)
            forced.append(single)
        jax.block_until_ready(carried)

    work()
    seconds = measure(work, least=3.0)
    total = games * len(devices) * decisions
    single = sum(int(one) for one in forced) / (games * decisions * len(forced))
    return total / seconds["median"], single, seconds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON line a map; it is what is printed anyway"
    )
    parser.add_argument(
        "--maps", nargs="*", default=["iberia-small", "iberia-medium", "hispania"], choices=shipped()
    )
    parser.add_argument(
        "--games", type=int, nargs="*", help="games side by side; several are tried, the best counts"
    )
    parser.add_argument("--decisions", type=int, default=32, help="decisions of each game in one call")
    parser.add_argument("--plain-seconds", type=float, default=5.0, help="how long the reference plays")
    options = parser.parse_args()
    platform = jax.devices()[0].platform
    for name in options.maps:
        plain = plain_rate(name, options.plain_seconds)
        found = []
        for games in options.games or GAMES.get(platform, GAMES["cpu"]):
            began = time.perf_counter()
            rate, forced, seconds = batch_rate(Hispania(name), games, options.decisions)
            found.append((rate, games, forced, seconds, time.perf_counter() - began))
        rate, games, forced, seconds, took = max(found, key=lambda row: row[0])
        report(
            "hispania random decisions",
            map=name,
            games=games * len(jax.devices()),
            decisions=options.decisions,
            decisions_per_second=round(rate),
            plain_decisions_per_second=round(plain),
            ratio=round(rate / plain, 1),
            single_token_share=round(forced, 3),
            tried={str(row[1]): round(row[0]) for row in found},
            goal=GOALS.get(name) if platform == "gpu" else None,
            seconds=seconds,
            seconds_with_compiling=round(took, 1),
        )


if __name__ == "__main__":
    main()
