"""GENERAL: random turns a second in one batch, against the plain Python reference of the tests, in one run.

    python benchmarks/general.py [--games 4096] [--turns 100] [--duels 40]

A turn is a uniformly random legal action and what chance makes of it; finished games start anew. The targets are 100
times the reference on a CPU and 1,000 times on an H200. The reference runs on one core, the batch on all of them. On a
CPU the ratio is also given in processor time, the batch's times the cores: other work on the machine does not change
it.
`--duels` plays the classical players against each other instead, and reports each role on its own.
"""

import argparse
import itertools
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

from stratagem.games.general import General  # noqa: E402
from tests.games.general_reference import Reference  # noqa: E402

GOALS = {"cpu": 100, "gpu": 1000}


def plain_rate(seconds=3.0):
    """Random turns of the reference: (a second, a second of processor time)."""
    rng, turns, began, worked = random.Random(0), 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        plain = Reference(rng.randrange(2))
        plain.roll(rng)
        while not plain.over():
            plain.random_turn(rng)
            turns += 1
    return turns / (time.perf_counter() - began), turns / (time.process_time() - worked)


def random_turns(game, states, fresh, key, turns):
    """State[B] after so many random turns of each game; a finished one goes on with its fresh start."""
    games = states.turn.shape[0]

    def one(state, fresh, points):
        stepped = game.fall(game.afterstate(state, game.sample(state, points[:2])), points[2])
        return jax.tree.map(lambda new, old: jnp.where(game.done(stepped), new, old), fresh, stepped)

    def turn(states, key):
        return jax.vmap(one)(states, fresh, jax.random.uniform(key, (games, 3))), None

    return jax.lax.scan(turn, states, jax.random.split(key, turns))[0]


def batch_rate(game, games, turns):
    """(Random turns a second over all devices, the same in processor time of all cores, the seconds measured)."""
    devices = jax.devices()
    run = jax.jit(lambda states, fresh, key: random_turns(game, states, fresh, key, turns))
    init = jax.jit(jax.vmap(game.init))
    fresh = [
        jax.device_put(init(jax.random.split(jax.random.key(number), games)), device)
        for number, device in enumerate(devices)
    ]
    keys = [jax.device_put(jax.random.key(number), device) for number, device in enumerate(devices)]
    carried = list(fresh)

    def work():
        # Each call goes on where the last one stopped, so the games are soon spread over their whole course.
        for number, key in enumerate(keys):
            draw_key, keys[number] = jax.random.split(key)
            carried[number] = run(carried[number], fresh[number], draw_key)
        jax.block_until_ready(carried)

    for _ in range(2):
        work()
    worked = time.process_time()
    seconds = measure(work, least=3.0)
    worked = (time.process_time() - worked) / (seconds["repeats"] + 1)  # and the warm-up
    each = games * len(devices) * turns
    return each / seconds["median"], each / worked * (os.cpu_count() or 1), seconds


LADDER = ("random", "greedy", "expectimax:depth=1", "expectimax:depth=2")


def duel(game, stronger, weaker, games):
    """The stronger one's [wins, draws, losses] by role; the two games of a seed have one toss and swapped seats."""
    from stratagem.agents import make_agent
    from stratagem.arena.match import play_games

    seeds = [number // 2 for number in range(games)]
    agents = [make_agent(name, game) for name in (stronger, weaker)]
    played = play_games(
        game, agents, [(0, 1) if number % 2 == 0 else (1, 0) for number in range(games)], seeds
    )
    results = {"Attacker": [0, 0, 0], "Defender": [0, 0, 0]}
    for one in played:
        seat = one.seating.index(0)
        results[one.roles[seat]][1 - round(one.returns[seat])] += 1
    report(
        "general duel",
        player=stronger,
        against=weaker,
        wins_draws_losses_as=results,
        turns=round(sum(one.turns for one in played) / games, 1),
        seconds_a_game=round(sum(one.seconds[one.seating.index(0)] for one in played) / games, 3),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--games", type=int, nargs="*", help="games side by side; several are tried, the best counts"
    )
    parser.add_argument("--turns", type=int, default=100, help="turns of each game in one call")
    parser.add_argument(
        "--duels", type=int, help="games of each pair of neighbours on the ladder, an even number"
    )
    options = parser.parse_args()
    if options.duels:
        for weaker, stronger in itertools.pairwise(LADDER):
            duel(General(), stronger, weaker, options.duels)
        return
    platform = jax.devices()[0].platform
    plain, plain_worked = plain_rate()
    found = []
    for games in options.games or ([4096] if platform == "cpu" else [1 << 16, 1 << 18, 1 << 20]):
        found.append((*batch_rate(General(), games, options.turns), games))
    rate, worked, seconds, games = max(found, key=lambda row: row[0])
    report(
        "general random turns",
        games=games * len(jax.devices()),
        turns=options.turns,
        turns_per_second=round(rate),
        plain_turns_per_second=round(plain),
        ratio=round(rate / plain, 1),
        ratio_in_processor_time=round(worked / plain_worked, 1) if platform == "cpu" else None,
        goal=GOALS.get(platform),
        seconds=seconds,
    )


if __name__ == "__main__":
    main()
