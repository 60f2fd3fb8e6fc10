"""Trains the networks that ship in stratagem/weights. Run once for each, on a machine with an accelerator:

    python docs/make_weights.py corso-5x5 --minutes 9 --out OUT
    python docs/make_weights.py corso --minutes 9 --out OUT
    python docs/make_weights.py general --minutes 18 --out OUT

It measures an iteration, plans as many as fit the time, and leaves weights and metrics in OUT as it goes. Where one
command may not run as long, a plan is carried out in parts:

    python docs/make_weights.py general --minutes 9 --total 18 --out OUT
    python docs/make_weights.py general --minutes 9 --resume --out OUT

and `--start FILE` begins another run with the weights of an earlier one; if the network is to have more blocks than
it had, the new ones come last and add nothing at first.
"""

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp

from stratagem.arena.climb import climb
from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.games.general import General
from stratagem.learners.alphazero import AlphaZero
from stratagem.learners.presets import preset
from stratagem.learners.run import Run, run
from stratagem.networks import make_network, parameters
from stratagem.networks.weights import load_weights, save_weights, weight_facts

FAMILIES = {
    "corso-5x5": [Corso()],
    "corso": [Corso(size, size) for size in (3, 4, 5, 6, 7)],
    "general": [General()],
}
# Whom the network alone plays as it learns; compiled players only, so that it costs seconds.
OPPONENTS: dict[str, list[str]] = {"general": ["random", "greedy"]}
SAVING = 30.0  # seconds kept for the last checkpoint


def main() -> None:
    began = time.monotonic()
    asked = argparse.ArgumentParser()
    asked.add_argument("which", choices=FAMILIES)
    asked.add_argument("--minutes", type=float, default=9.0, help="of this command")
    asked.add_argument("--total", type=float, help="of the whole plan; --minutes unless given")
    asked.add_argument("--resume", action="store_true", help="go on with the plan in the folder of runs")
    asked.add_argument("--start", type=Path, help="weights of this network to begin with")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--runs", type=Path, default=Path("runs"))
    asked.add_argument("--preset", default="gpu")
    asked.add_argument(
        "--games", type=int, default=64, help="against each opponent, now and then; 0 for none"
    )
    asked.add_argument("--set", nargs="*", default=[], help="name=number of the config, to try things out")
    words = asked.parse_args()
    use_compile_cache()
    games = FAMILIES[words.which]
    config = preset(words.preset, games[0])
    if words.which == "corso":
        config = replace(config, lanes=config.lanes // 4, batch=config.batch // 4, kept=config.kept)
    for text in words.set:
        name, _, value = text.partition("=")
        config = replace(config, **{name: type(getattr(config, name))(value)})
    words.out.mkdir(parents=True, exist_ok=True)
    folder = words.runs / words.which
    tell(device=str(jax.devices()[0]), jax=jax.__version__, which=words.which)

    if words.resume and not (folder / "config.json").exists():
        sys.exit(f"{folder} holds no run; start one without --resume")
    if words.resume:
        config = replace(config, iterations=json.loads((folder / "config.json").read_text())["iterations"])
    else:
        config = replace(config, iterations=planned(games, config, began, words.total or words.minutes))
    taught = started(words.start, config.network, games[0]) if words.start else None
    learner = AlphaZero(games, config, taught)
    written = words.out / f"{words.which}.safetensors"

    def keep(network, iteration):
        summary = {
            "iterations": iteration,
            "parameters": parameters(network),
            "config": asdict(config),
            "began_with": weight_facts(words.start)["summary"]["iterations"] if words.start else 0,
            "device": str(jax.devices()[0].device_kind),
        }
        save_weights(written, network, config.network, games, summary)
        if (folder / "metrics.jsonl").exists():
            shutil.copy(folder / "metrics.jsonl", words.out / f"{words.which}-metrics.jsonl")

    def evaluate(network, iteration):
        keep(network, iteration)
        return (
            climb(games[0], OPPONENTS.get(words.which, []), words.games, network, iteration)
            if words.games
            else {}
        )

    left = words.minutes - (time.monotonic() - began + SAVING) / 60
    settings = Run(folder, resume=words.resume, save_every=50, evaluate_every=20, minutes=left)
    state, done = run(learner, settings, asdict(config), evaluate=evaluate)
    keep(learner.network(state), learner.iteration(state))
    tell(which=words.which, done=done, iterations=learner.iteration(state), seconds=time.monotonic() - began)


def started(path, choice, game):
    """The network of a file, with as many blocks as the chosen one has."""
    taught = load_weights(path, game)
    fresh = make_network(choice, game, jax.random.key(0))
    more = fresh.blocks[len(taught.blocks) :]
    silent = [
        eqx.tree_at(lambda block: block.second.weight, block, replace_fn=jnp.zeros_like) for block in more
    ]
    return eqx.tree_at(lambda network: network.blocks, taught, taught.blocks + silent)


def planned(games, config, began, minutes) -> int:
    """How many iterations fit, from the time of three."""
    learner = AlphaZero(games, config)
    state = learner.start(jax.random.key(0))
    state, _ = learner.iterate(state)
    compiled = time.monotonic()
    tell(compiled_after=compiled - began)
    for _ in range(3):
        state, _ = learner.iterate(state)
    each = (time.monotonic() - compiled) / 3
    left = 60 * minutes - (time.monotonic() - began)
    # The planned run compiles once more, saves and plays its opponents now and then.
    count = max(10, int((left - 25 - SAVING) / each * 0.95))
    tell(
        seconds_an_iteration=each, iterations=count, samples=count * config.lanes * config.steps * len(games)
    )
    return count


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
