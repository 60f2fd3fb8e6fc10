"""Trains the networks that ship in stratagem/weights. Run once for each, on a machine with an accelerator:

    python docs/make_weights.py corso-5x5 --minutes 9 --out OUT
    python docs/make_weights.py corso --minutes 9 --out OUT

It measures an iteration, plans as many as fit the time, and leaves weights and metrics in OUT as it goes.
"""

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import jax

from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.learners.alphazero import AlphaZero
from stratagem.learners.presets import PRESETS
from stratagem.learners.run import Run, run
from stratagem.networks import parameters
from stratagem.networks.weights import save_weights

FAMILIES = {
    "corso-5x5": [Corso()],
    "corso": [Corso(size, size) for size in (3, 4, 5, 6, 7)],
}


def main() -> None:
    began = time.monotonic()
    asked = argparse.ArgumentParser()
    asked.add_argument("which", choices=FAMILIES)
    asked.add_argument("--minutes", type=float, default=9.0)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--runs", type=Path, default=Path("runs"))
    asked.add_argument("--preset", default="gpu")
    asked.add_argument("--set", nargs="*", default=[], help="name=number of the config, to try things out")
    words = asked.parse_args()
    use_compile_cache()
    games = FAMILIES[words.which]
    config = PRESETS[words.preset]
    if words.which == "corso":
        config = replace(config, lanes=config.lanes // 4, batch=config.batch // 4, kept=config.kept)
    for text in words.set:
        name, _, value = text.partition("=")
        config = replace(config, **{name: type(getattr(config, name))(value)})
    words.out.mkdir(parents=True, exist_ok=True)
    folder = words.runs / words.which
    tell(device=str(jax.devices()[0]), jax=jax.__version__, which=words.which)

    if (folder / "config.json").exists():
        config = replace(config, iterations=json.loads((folder / "config.json").read_text())["iterations"])
    else:
        config = replace(config, iterations=planned(games, config, began, words.minutes))
    learner = AlphaZero(games, config)
    written = words.out / f"{words.which}.safetensors"

    def keep(network, iteration):
        summary = {
            "iterations": iteration,
            "parameters": parameters(network),
            "config": asdict(config),
            "device": str(jax.devices()[0].device_kind),
        }
        save_weights(written, network, config.network, games, summary)
        shutil.copy(folder / "metrics.jsonl", words.out / f"{words.which}-metrics.jsonl")
        return {}

    left = words.minutes - (time.monotonic() - began) / 60
    settings = Run(folder, resume=True, save_every=50, evaluate_every=20, minutes=left)
    state, done = run(learner, settings, asdict(config), evaluate=keep)
    keep(learner.network(state), learner.iteration(state))
    tell(which=words.which, done=done, iterations=learner.iteration(state), seconds=time.monotonic() - began)


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
    # The planned run compiles its updates once more, and saves now and then.
    count = max(10, int((left - 25) / each * 0.97))
    tell(
        seconds_an_iteration=each, iterations=count, samples=count * config.lanes * config.steps * len(games)
    )
    return count


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
