"""What each part of AlphaZero is worth: variants of one config, trained for equal processor time; one JSON line each.

    python benchmarks/ablation.py [--seconds 100] [--out runs/ablation] [VARIANT …]

Each variant measures an iteration, plans as many as fit, and trains. Its network, without search, then plays minimax
players of depth 1 to 4 (T = 0.1), and its choices are judged by the exact solver as in corso_truth.py. Ratings are
fitted to all those games and to games of the minimax players among themselves; minimax of depth 2 has rating zero.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from corso_truth import Asked, Truth, collect, summary, values
from machine import report

from stratagem.agents import make_agent
from stratagem.arena.match import play_games
from stratagem.arena.ratings import rate
from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.learners.alphazero import AlphaZero
from stratagem.learners.presets import PRESETS
from stratagem.networks.weights import save_weights

VARIANTS = {
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
    asked = argparse.ArgumentParser()
    asked.add_argument("variants", nargs="*", default=list(VARIANTS))
    asked.add_argument("--seconds", type=float, default=100.0)
    asked.add_argument(
        "--clock", choices=("processor", "wall"), default="processor", help="of a shared machine, or not"
    )
    asked.add_argument("--games", type=int, default=100)
    asked.add_argument("--out", type=Path, default=Path("runs/ablation"))
    words = asked.parse_args()
    use_compile_cache()
    game = Corso()
    generator = np.random.default_rng(0)
    positions = collect(game, None, game.cells, 2000, generator)
    truth = Truth(game)
    duels = []
    for i, one in enumerate(MINIMAX):
        for other in MINIMAX[i + 1 :]:
            duels += met(game, one, make_agent(one, game), other, words.games)
    facts = {}
    for name in words.variants:
        config = replace(PRESETS["quick"], **VARIANTS[name])
        path = words.out / f"{name.replace(' ', '-')}.safetensors"
        clock = time.process_time if words.clock == "processor" else time.perf_counter
        network, iterations, spent = trained(game, config, words.seconds, clock)
        save_weights(path, network, config.network, [game], {"variant": name})
        agent = make_agent(f"net:weights={path}", game)
        for other in MINIMAX:
            duels += met(game, name, agent, other, words.games)
        facts[name] = {
            "iterations": iterations,
            "seconds": spent,
            **summary(*values(Asked(agent, game), truth, positions, generator)),
        }
        print(name, facts[name], file=sys.stderr, flush=True)
    for row in rate([*MINIMAX, *facts], duels, "mm:depth=2"):
        report("ablation", variant=row.name, rating=row.rating, rating_low=row.low, rating_high=row.high,
               score=row.score, **facts.get(row.name, {}))  # fmt: skip


def trained(game, config, seconds, clock):
    """(network, iterations, seconds), with as many iterations as fit; compiling is not counted."""
    learner = AlphaZero([game], config)
    state = learner.start(jax.random.key(0))
    state, _ = learner.iterate(state)
    began = clock()
    for _ in range(2):
        state, _ = learner.iterate(state)
    count = max(int(seconds / ((clock() - began) / 2)), 5)
    learner = AlphaZero([game], replace(config, iterations=count))
    state = learner.start(jax.random.key(0))
    state, _ = learner.iterate(state)
    began = clock()
    for _ in range(count - 1):
        state, _ = learner.iterate(state)
    return learner.network(state), count, clock() - began


def met(game, name, agent, other, games):
    """(name, other, score of name) of each game, seats in turn."""
    seatings = [(index % 2, 1 - index % 2) for index in range(games)]
    played = play_games(game, [agent, make_agent(other, game)], seatings, range(games))
    return [(name, other, (one.returns[one.seating.index(0)] + 1) / 2) for one in played]


if __name__ == "__main__":
    main()
