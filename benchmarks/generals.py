"""How fast Generals runs: `python benchmarks/generals.py --json [--variants] [--only NAME] [--seconds N]`.

Prints one JSON line a target: stepping alone (uniformly random action indices; four words of each board are read
and written every turn, whatever the actions), full play (both seats' views and legal masks written to memory, and
uniformly random legal actions drawn from them), map generation, and how the cost grows with board and batch.
`--variants` tries the other layouts, batch sizes and ways to write, so that one run tells which is best.
"""

import argparse
import json
import os
import platform
import statistics
import time
from functools import partial

CORES = os.cpu_count() or 1
# On a CPU each core is a device of its own with one thread; other platforms ignore this.
os.environ.setdefault(
    "XLA_FLAGS",
    f"--xla_force_host_platform_device_count={CORES} --xla_cpu_multi_thread_eigen=false",
)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from stratagem.games.generals import Generals, lanes, maps, rules  # noqa: E402
from stratagem.games.generals.board import kind_of, owner_of  # noqa: E402

GOALS = {
    "cpu": {"step": 3e6, "play": 2e5},
    "gpu": {"step": 1e9, "play": 1e8, "maps": 10_000 / 2},
}

# games, turns, what is kept of the observations, how masks are written, turns unrolled; the best guesses first.
PLAY_VARIANTS = {
    "gpu": [
        (16_384, 64, "in place", "bytes", 4),
        (16_384, 64, "in place", "bool", 4),
        (65_536, 64, "in place", "words", 4),
        (65_536, 64, "in place", "bytes", 4),
        (65_536, 64, "in place", "bool", 4),
        (16_384, 64, "in place", "words", 8),
        (16_384, 64, "in place", "bytes", 8),
        (16_384, 64, "in place", "bool", 8),
        (16_384, 64, "in place", "words", 1),
        (16_384, 64, "in place", "bool", 1),
        (32_768, 64, "in place", "words", 1),
        (8_192, 64, "in place", "words", 1),
        (16_384, 32, "stacked", "words", 1),
    ],
    "cpu": [
        (256, 100, "in place", "bytes", 1),
        (256, 100, "in place", "bool", 1),
        (256, 100, "in place", "words", 4),
        (64, 100, "in place", "words", 1),
    ],
}


def starts(game, games, key=0):
    """So many games with the batch first, made from a few hundred maps."""
    few = min(games, 256 if on_gpu() else 32)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(key), few))
    return jax.tree.map(lambda part: jnp.tile(part, (games // few, *[1] * (part.ndim - 1))), states)


def on_gpu():
    return jax.default_backend() == "gpu"


def random_indices(game, key, shape):
    """Uniform action indices, legal or not: 16 random bits scaled to the number of actions."""
    return (((jax.random.bits(key, shape) >> 16) * game.spec.actions) >> 16).astype(jnp.int32)


def run_steps(game, state, key, turns, layout, unroll):
    """`turns` steps of all games with random action indices."""

    def turn(state, key):
        games = state.turn.shape[-1 if layout == "last" else 0]
        if layout == "last":
            return lanes.step(game, state, random_indices(game, key, (2, games))), None
        return jax.vmap(game.step)(state, random_indices(game, key, (games, 2))), None

    return jax.lax.scan(turn, state, jax.random.split(key, turns), unroll=unroll)[0]


def step_rate(game, games, turns, layout="last", unroll=1):
    states = starts(game, games)
    if layout == "last":
        states = lanes.from_states(states)
    run = jax.jit(
        partial(run_steps, game, turns=turns, layout=layout, unroll=unroll), donate_argnames=("state",)
    )
    rates, after = measure(lambda state, key: run(state=state, key=key), states, games * turns)
    check_counts(after, layout)
    return rates


def play_rate(game, games, turns, keep="in place", masks="words", unroll=4):
    state = lanes.from_states(starts(game, games))
    begin = jax.jit(lambda state: lanes.survey(game, state, lanes.explore(game, state)))(state)
    play = lanes.random_play_in_place if keep == "in place" else lanes.random_play
    run = jax.jit(
        partial(play, game, turns=turns, masks=masks, unroll=unroll),
        donate_argnames=("lanes",) if keep == "in place" else (),
    )

    def once(carry, key):
        after, seen = run(lanes=carry, key=key)
        return after if keep == "in place" else (after, seen)[0]

    rates, after = measure(once, begin, games * turns)
    check_counts(after.state, "last")
    return rates


def measure(run, state, turns, repeats=5):
    """Steps a second of each repeat, over all devices of this machine; and the last state of the first device."""
    devices = jax.devices()
    carries = [jax.device_put(state, device) for device in devices]
    keys = [jax.device_put(jax.random.key(number), device) for number, device in enumerate(devices)]
    jax.block_until_ready(carries)
    rates = []
    for repeat in range(repeats + 1):
        began = time.perf_counter()
        carries = [run(carry, key) for carry, key in zip(carries, keys, strict=True)]
        jax.block_until_ready(carries)
        took = time.perf_counter() - began
        if repeat:  # the first one compiles
            rates.append(turns * len(devices) / took)
    return rates, carries[0]


def check_counts(state, layout):
    """The totals that were kept agree with the boards: the work was really done, and done right."""
    cells = state.cells if layout == "last" else state.cells.T
    land = state.land if layout == "last" else state.land.T
    sites = state.sites if layout == "last" else state.sites.T
    for seat in range(2):
        mine = owner_of(cells) == seat + 1
        assert bool((mine.sum(axis=0) == land[seat]).all())
        assert bool(((mine & (kind_of(cells) >= 2)).sum(axis=0) == sites[seat]).all())


def map_rate(count=10_000):
    wishes = Generals().wishes
    make = jax.jit(lambda keys: jax.vmap(maps.generate, (0, None))(keys, wishes))
    few = count if on_gpu() else 512
    rates = []
    for repeat in range(4):
        keys = jax.block_until_ready(jax.random.split(jax.random.key(repeat), few))
        began = time.perf_counter()
        jax.block_until_ready(make(keys))
        if repeat:
            rates.append(few / (time.perf_counter() - began))
    return rates


def machine():
    device = jax.devices()[0]
    name = device.device_kind if on_gpu() else f"{platform.machine()} CPU, {CORES} cores"
    return {"device": name, "devices": len(jax.devices()), "jax": jax.__version__}


def tell(as_json, target, rates, **facts):
    """One line for one target."""
    goal = GOALS["gpu" if on_gpu() else "cpu"].get(target)
    line = {
        "benchmark": "generals",
        "target": target,
        "median": statistics.median(rates),
        "low": min(rates),
        "high": max(rates),
        "unit": "maps/s" if target == "maps" else "steps/s",
        **facts,
        **({} if goal is None else {"goal": goal, "reached": statistics.median(rates) >= goal}),
        **machine(),
    }
    print(
        json.dumps(line) if as_json else f"{target}: {line['median']:.3g} {line['unit']} {facts}", flush=True
    )


def scatter_unique(cells, places, words):
    """`rules.put` with the promise, not always true, that the places differ; where they do not, words agree."""
    if cells.ndim == 1:
        return cells.at[places].set(words, mode="promise_in_bounds", unique_indices=True)
    flat = cells.reshape(-1).at[rules._flat(cells, places)]
    return flat.set(words, mode="promise_in_bounds", unique_indices=True).reshape(cells.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--variants", action="store_true", help="try the other ways too")
    parser.add_argument("--only", help="a target: step, play, maps or growth")
    parser.add_argument("--seconds", type=float, default=240, help="start nothing more after so long")
    arguments = parser.parse_args()
    started = time.perf_counter()
    gpu, game = on_gpu(), Generals()
    endless = Generals(cap=100_000)  # stepping goes on longer than a game

    def wanted(target):
        return arguments.only in (None, target)

    def attempt(target, rate, *options, **facts):
        """A variant that fails says so and does not stop the others."""
        began = time.perf_counter()
        if began - started > arguments.seconds:
            print(json.dumps({"benchmark": "generals", "target": target, **facts, "error": "no time left"}))
            return
        try:
            rates = rate(*options, **facts)
        except Exception as error:  # a variant may not fit in memory or not compile on this machine
            print(
                json.dumps({"benchmark": "generals", "target": target, **facts, "error": str(error)[:300]}),
                flush=True,
            )
            return
        size = options[0].shape if options else None
        tell(
            arguments.json,
            target,
            rates,
            board=f"{size[0]}x{size[1]}" if size else "24x24",
            games=options[1] if options else None,
            turns=options[2] if options else None,
            seconds=round(time.perf_counter() - began, 1),
            **facts,
        )

    if wanted("step"):
        attempt("step", step_rate, endless, *((262_144, 128) if gpu else (64, 2000)), layout="last", unroll=1)
    if wanted("play"):
        usual = (16_384, 64) if gpu else (256, 100)
        attempt("play", play_rate, game, *usual, keep="in place", masks="words", unroll=4 if gpu else 1)
    if wanted("maps"):
        attempt("maps", map_rate)
    if arguments.variants and wanted("play"):
        for games, turns, keep, masks, unroll in PLAY_VARIANTS["gpu" if gpu else "cpu"]:
            attempt("play", play_rate, game, games, turns, keep=keep, masks=masks, unroll=unroll)
    if arguments.variants and wanted("step"):
        for games, layout, unroll in (
            [(1_048_576, "last", 1), (65_536, "last", 1), (262_144, "first", 1), (262_144, "last", 4)]
            if gpu
            else [(256, "last", 1), (64, "first", 1)]
        ):
            attempt("step", step_rate, endless, games, 128 if gpu else 500, layout=layout, unroll=unroll)
        plain, rules.put = rules.put, scatter_unique
        attempt("step, unique", step_rate, endless, 262_144 if gpu else 64, 128, layout="last", unroll=1)
        rules.put = plain
    if wanted("growth"):
        for side in (10, 16, 32):
            small = Generals(width=side, height=side, apart=min(15, side // 2), castles_from=2, cap=100_000)
            attempt("step by board", step_rate, small, *((262_144, 128) if gpu else (64, 500)))
        for games in (4_096, 32_768) if gpu else (16, 1024):
            attempt("step by batch", step_rate, endless, games, 128)


if __name__ == "__main__":
    main()
