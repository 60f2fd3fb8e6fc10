"""What each part of PPO is worth on a small board of Generals: variants of one config, trained for equal wall clock.

    python benchmarks/ppo_ablation.py [VARIANT …] [--seconds 100] [--seeds 0 1] [--start FILE] [--out runs/ppo-ablation]
    python benchmarks/ppo_ablation.py --table --games 256 --out runs/ppo-ablation

Compiling is not counted. What came out is kept in a file for each variant and seed; what is there is not done again:
several processes can share the work (`--share 0/4`, `--share 1/4`, …), and a stopped one goes on. The table lets all of
them play each other and the players of the ladder, on the same maps and from both seats, and fits ratings to all games;
`expander` has rating zero. `--start` gives all variants the same weights to begin with, except for the head of the
value, which is fresh in all of them because one variant has another one.
"""

import argparse
import itertools
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import machine, report
from ppo_curve import counted, measured, rating_words

from stratagem.agents import make_agent
from stratagem.agents.senses import senses_for
from stratagem.arena.ratings import rate
from stratagem.cli.train_ppo import configured
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption
from stratagem.core.files import read_json, write_json
from stratagem.core.registry import split_choice
from stratagem.games import make_game
from stratagem.learners.duel import duel
from stratagem.learners.guests import Snapshot
from stratagem.learners.pool import new_pool
from stratagem.learners.ppo import PPO
from stratagem.learners.ppo_presets import ppo_preset
from stratagem.networks import make_network
from stratagem.networks.weights import load_policy, save_policy, weight_facts

VARIANTS = {
    "as it is": {},
    "no filter": {"top": 1.0},
    "no average": {"average": 0.0},
    "plain value": {"bins": 1},
    "no shaping": {"shaping": 0.0},
    "pool of three": {"pool": 3},
    "lambda 0.95": {"trace": 0.95},
    "lambda 1.0": {"trace": 1.0},
}
LADDER = ("random", "expander", "hunter")
LAST = 20  # iterations whose metrics are averaged
TOLD = ("entropy", "moves_a_game", "undecided", "explained", "upsets")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("variants", nargs="*", help=f"of {', '.join(VARIANTS)}; all unless given")
    asked.add_argument("--seconds", type=float, default=100.0)
    asked.add_argument("--clock", choices=("wall", "processor"), default="wall", help="processor if shared")
    asked.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    asked.add_argument("--share", default="0/1", help="K/N: every N-th job, from the K-th on")
    asked.add_argument("--preset", default="laptop")
    asked.add_argument("--set", nargs="*", default=[], help="name=value of the settings, for all variants")
    asked.add_argument("--start", type=Path, help="weights for all to begin with")
    asked.add_argument("--games", type=int, default=128, help="of each pair, for the table")
    asked.add_argument("--out", type=Path, default=Path("runs/ppo-ablation"))
    asked.add_argument("--table", action="store_true", help="only rate what is in the folder")
    words = asked.parse_args()
    use_compile_cache()
    words.out.mkdir(parents=True, exist_ok=True)
    preset = ppo_preset(words.preset)
    base = configured(preset.config, tuple(words.set))
    game = make_game(f"generals:{preset.board}")
    if words.table:
        print(table(game, words.games, words.out))
        return
    clock = time.perf_counter if words.clock == "wall" else time.process_time
    for variant, seeds in jobs(words.variants or list(VARIANTS), words.seeds, words.share, words.out):
        for outcome in tried(game, base, variant, seeds, words.seconds, clock, words.start, words.out):
            report("ppo ablation", **outcome)


def jobs(variants, seeds, share, folder):
    """The (variant, seeds) of one share of the work that are not done yet."""
    mine, count = (int(part) for part in share.split("/"))
    pairs = list(itertools.product(variants, seeds))[mine::count]
    left = [(one, seed) for one, seed in pairs if not (folder / f"{file_name(one, seed)}.json").exists()]
    return [(variant, [seed for one, seed in left if one == variant]) for variant in dict(left)]


def file_name(variant, seed):
    return f"{variant.replace(' ', '-')}-{seed}"


def varied(base, variant):
    """The config of a variant."""
    if variant not in VARIANTS:
        raise BadOption(f"no variant {variant!r}; there is {', '.join(VARIANTS)}")
    changes = dict(VARIANTS[variant])
    name, options = split_choice(base.network)
    options |= {"bins": changes.pop("bins")} if "bins" in changes else {}
    network = f"{name}:" + ",".join(f"{option}={value}" for option, value in options.items())
    return replace(base, network=network, **changes)


def tried(game, base, variant, seeds, seconds, clock, start, folder):
    """Train a variant with each seed, one compilation for all, and keep what came out; yields the facts."""
    senses, config = senses_for(game), varied(base, variant)
    learner = PPO(game, senses, config)
    for seed in seeds:
        state = learner.start(jax.random.key(seed))
        if start:
            network = begun(start, senses, config, seed)
            pool = new_pool(network, config.pool) if config.pool else None
            state = state._replace(network=network, average=network, pool=pool)
        state, rows, spent = trained(learner, state, seconds, clock)
        last = [row for row in rows if row["games"]][-LAST:] or rows[-LAST:]  # games ended in them
        facts = {
            "variant": variant,
            "seed": seed,
            "start": start.name if start else None,
            "iterations": len(rows),
            "turns": len(rows) * config.games * config.steps,
            "seconds": spent,
            **{name: float(np.mean([row[name] for row in last])) for name in TOLD},
            "machine": machine(),
        }
        name = file_name(variant, seed)
        save_policy(folder / f"{name}.safetensors", learner.network(state), config.network, senses, facts)
        write_json(folder / f"{name}.json", facts)
        yield facts


def trained(learner, state, seconds, clock):
    """(The state after so many seconds, metrics of all iterations, seconds); the first, which compiles, is free."""
    state, row = learner.iterate(state)
    rows, began = [row], clock()
    while clock() - began < seconds:
        state, row = learner.iterate(state)
        rows.append(row)
    return state, rows, clock() - began


def begun(start, senses, config, seed):
    """The network of a file with a fresh head for the value."""
    taught = load_policy(start, senses)
    fresh = jax.jit(lambda key: make_network(config.network, senses, key))(jax.random.key(seed))
    network = eqx.tree_at(lambda one: one.value, taught, fresh.value)
    shapes = [[leaf.shape for leaf in jax.tree.leaves(one)] for one in (network, fresh)]
    if shapes[0] != shapes[1]:
        found = weight_facts(start)["network"]
        raise BadOption(f"{start} holds {found}, not {config.network}; say --set network={found}")
    return network


def table(game, games, folder):
    """Markdown: all that was tried, rated by games against each other and against the ladder."""
    runs = {path.stem: read_json(path) for path in sorted(folder.glob("*-[0-9]*.json"))}
    duels, shares = played(game, games, folder, list(runs))
    ratings = {row.name: asdict(row) for row in rate([*LADDER, *runs], duels, "expander")}
    head = ["variant", "seed", "iterations", "turns a second", *[f"beats {one}" for one in LADDER], "rating"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for variant in sorted({run["variant"] for run in runs.values()}, key=list(VARIANTS).index):
        for name, run in runs.items():
            if run["variant"] == variant:
                cells = [variant, run["seed"], run["iterations"], f"{run['turns'] / run['seconds']:,.0f}"]
                cells += [shares[name, rival] for rival in LADDER]
                lines.append("| " + " | ".join(map(str, [*cells, rating_words(ratings[name])])) + " |")
    return "\n".join([*lines, "", *summed_up(runs, ratings)])


def summed_up(runs, ratings):
    """A line for each variant: the mean rating of its seeds, and how far they are apart."""
    lines = []
    for variant in VARIANTS:
        mine = [ratings[name] for name, run in runs.items() if run["variant"] == variant]
        known = [row["rating"] for row in mine if measured(row)]
        if known:
            told = f"- {variant}: {np.mean(known):+.0f} over {len(known)} of {len(mine)} seeds"
            lines.append(told + f", {max(known) - min(known):.0f} between them")
    return lines


def played(game, games, folder, names):
    """(Results (one, other, score) of everyone against everyone, the share of wins of each against the ladder)."""
    senses = senses_for(game)
    networks = {name: load_policy(folder / f"{name}.safetensors", senses) for name in names}
    key = jax.random.key(10_000)  # the same maps for all
    results, shares = [], {}
    for rival in LADDER:
        match = jax.jit(partial(duel, game, senses, make_agent(rival, game), games, 1.0))
        for name, network in networks.items():
            scores = np.asarray(match(network, key))
            results += [(name, rival, score) for score in ((scores + 1) / 2).tolist()]
            told = counted(scores)
            shares[name, rival] = f"{told['share']:.0%} ({told['low']:.0%} to {told['high']:.0%})"

    @jax.jit
    def meeting(network, other, key):
        return duel(game, senses, Snapshot(senses, other), games, 1.0, network, key)

    for one, other in itertools.combinations(networks, 2):
        scores = (np.asarray(meeting(networks[one], networks[other], key)) + 1) / 2
        results += [(one, other, score) for score in scores.tolist()]
    return results, shares


if __name__ == "__main__":
    main()
