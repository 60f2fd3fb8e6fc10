"""What each part of AlphaZero is worth: variants of one config, trained for equal time; one JSON line each.

    python benchmarks/ablation.py [--seconds 100] [--seed 0] [--out runs/ablation] [VARIANT …]
    python benchmarks/ablation.py --table --out runs/ablation

Each variant measures an iteration, plans as many as fit, and trains. Its network, without search, then plays minimax
players of depth 1 to 4 (T = 0.1), and its choices are judged by the exact solver as in corso_truth.py. What came out is
kept in a file each, so that several machines, or pairs of cores, can share the work. The table fits ratings to all
those games and to games of the minimax players among themselves; minimax of depth 2 has rating zero.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from corso_truth import Asked, Truth, collect, summary, values
from machine import report

from stratagem.agents import make_agent
from stratagem.arena.match import play_games
from stratagem.arena.ratings import rate
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.files import read_json, write_json
from stratagem.games.corso import Corso
from stratagem.learners.alphazero import AlphaZero
from stratagem.learners.presets import PRESETS
from stratagem.networks.weights import save_weights

BASE = replace(PRESETS["quick"], network="global:channels=32,blocks=3")
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "PUCT": {"search": "puct"},
    "no symmetries": {"symmetries": False},
    "gating": {"gate": True, "gate_games": 40},
    "half the channels": {"network": "global:channels=16,blocks=3"},
    "twice the channels": {"network": "global:channels=64,blocks=3"},
    "the paper's network": {"network": "paper"},
    "no random openings": {"opening_plies": 0},
}
MINIMAX = [f"mm:depth={depth}" for depth in (1, 2, 3, 4)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("variants", nargs="*", default=list(VARIANTS))
    asked.add_argument("--seconds", type=float, default=100.0)
    asked.add_argument(
        "--clock", choices=("processor", "wall"), default="processor", help="of a shared machine, or not"
    )
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--games", type=int, default=100)
    asked.add_argument("--out", type=Path, default=Path("runs/ablation"))
    asked.add_argument("--table", action="store_true", help="only rate what is in the folder")
    words = asked.parse_args()
    use_compile_cache()
    words.out.mkdir(parents=True, exist_ok=True)
    game = Corso()
    if not words.table:
        clock = time.process_time if words.clock == "processor" else time.perf_counter
        for name in words.variants:
            outcome = tried(game, name, words.seed, words.seconds, clock, words.games, words.out)
            write_json(words.out / f"{file_name(name, words.seed)}.json", outcome)
    table(game, words.games, [read_json(path) for path in sorted(words.out.glob("*.json"))])


def file_name(variant: str, seed: int) -> str:
    return f"{variant.replace(' ', '-')}-{seed}"


def tried(game, variant, seed, seconds, clock, games, folder) -> dict[str, Any]:
    """Train a variant, let it play, and judge its choices."""
    config = replace(BASE, **VARIANTS[variant])
    path = folder / f"{file_name(variant, seed)}.safetensors"
    network, iterations, spent = trained(game, config, seed, seconds, clock)
    save_weights(path, network, config.network, [game], {"variant": variant, "seed": seed})
    agent = make_agent(f"net:weights={path}", game)
    generator = np.random.default_rng(0)  # the same positions for all
    positions = collect(game, None, game.cells, 2000, generator)
    facts = summary(*values(Asked(agent, game), Truth(game), positions, generator))
    return {
        "variant": variant,
        "seed": seed,
        "iterations": iterations,
        "seconds": spent,
        **facts,
        "duels": {other: met(game, agent, other, games) for other in MINIMAX},
    }


def table(game, games, outcomes) -> None:
    """Rate all that was tried, runs with different seeds side by side, and print a line each."""
    duels = []
    for i, one in enumerate(MINIMAX):
        for other in MINIMAX[i + 1 :]:
            duels += [(one, other, score) for score in met(game, make_agent(one, game), other, games)]
    facts = {}
    for outcome in outcomes:
        name = file_name(outcome["variant"], outcome["seed"])
        for other, scores in outcome.pop("duels").items():
            duels += [(name, other, score) for score in scores]
        facts[name] = outcome
    for row in rate([*MINIMAX, *facts], duels, "mm:depth=2"):
        report("ablation", run=row.name, rating=row.rating, rating_low=row.low, rating_high=row.high,
               score=row.score, **facts.get(row.name, {}))  # fmt: skip


def trained(game, config, seed, seconds, clock):
    """(network, iterations, seconds), with as many iterations as fit; compiling is not counted."""
    learner = AlphaZero([game], config)
    state = learner.start(jax.random.key(seed))
    state, _ = learner.iterate(state)
    began = clock()
    for _ in range(2):
        state, _ = learner.iterate(state)
    count = max(int(seconds / ((clock() - began) / 2)), 5)
    learner = AlphaZero([game], replace(config, iterations=count))
    state = learner.start(jax.random.key(seed))
    state, _ = learner.iterate(state)
    began = clock()
    for _ in range(count - 1):
        state, _ = learner.iterate(state)
    return learner.network(state), count, clock() - began


def met(game, agent, other, games) -> list[float]:
    """The agent's score in each game against another, seats in turn."""
    seatings = [(index % 2, 1 - index % 2) for index in range(games)]
    played = play_games(game, [agent, make_agent(other, game)], seatings, range(games))
    return [(one.returns[one.seating.index(0)] + 1) / 2 for one in played]


if __name__ == "__main__":
    main()
