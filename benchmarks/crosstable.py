"""Everybody against everybody, rated; writes OUT/crosstable.json and OUT/crosstable.md.

    python benchmarks/crosstable.py --out runs/crosstable [--game corso] [--games 100] [AGENT …]

The same as `stratagem tournament`, but games of all pairs are played side by side in one process, so that each player
answers for all its games at once, which is what a graphics card wants. Seats are swapped from game to game. At Corso,
minimax plays at T = 0.1; the network and the search play their best move. Players without any randomness meet each
other in one and the same pair of games, however often they play. A run that was stopped goes on where it was.
"""

import argparse
import json
import sys
from pathlib import Path

from stratagem.arena.report import markdown, standing
from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.files import atomic_write

AGENTS = {
    "corso": (
        "random",
        *(f"mm:depth={depth}" for depth in range(1, 7)),
        "net",
        *(f"az:simulations={count}" for count in (25, 100, 800)),
    ),
    "general": ("random", "greedy", "expectimax:depth=1", "expectimax:depth=2", "net", "az"),
}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("agents", nargs="*")
    asked.add_argument("--game", choices=AGENTS, default="corso")
    asked.add_argument("--games", type=int, default=100)
    asked.add_argument("--together", type=int, default=4096, help="games side by side")
    asked.add_argument("--out", type=Path, required=True)
    words = asked.parse_args()
    use_compile_cache()
    agents = tuple(words.agents) or AGENTS[words.game]
    tournament = Tournament(words.game, agents, words.games)
    log = words.out / "results.jsonl"
    results = run_tournament(tournament, log, together=words.together, mixed=True, progress=tell)
    outcome = standing(tournament, results)
    for name, content in {
        "crosstable.json": json.dumps(outcome.as_json()),
        "crosstable.md": markdown(outcome),
    }.items():
        with atomic_write(words.out / name, "w") as file:
            file.write(content + "\n")


def tell(done: int, total: int) -> None:
    print(f"{done} of {total} games", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
