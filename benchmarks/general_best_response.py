"""How often can an Attacker win against one fixed Defender? It learns from games against exactly that one.

    python benchmarks/general_best_response.py --minutes 20 [--wild 0.6] [--depth 2] [--start FILE.npz] [--out FILE.npz]

The Attacker plays the action after which it expects most (`general_belief.py`); a draw is half a win. It learns by
TD(λ) after every game, as TD-Gammon did, and dice explore enough. A share of the games, `wild`, begins anywhere
(`general_starts.py`). Games are played by the numba core of expectimax, whose rules the tests hold against the real
ones. One JSON line a `chunk` of games while it learns, with some from the real start without learning, then one of
`games` games without learning, with intervals.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from general_belief import beliefs_of, chance, features, first, learn, read_belief, space_of
from general_starts import LONGEST, begin, quick
from machine import report

from stratagem.agents.general_expectimax import INTERCEPTED, MOST_ACTIONS, act, list_actions, root_values
from stratagem.agents.general_heuristic import HITS, IS_MOAT, TRIANGLE, TURN, over
from stratagem.arena.ratings import wilson
from stratagem.core.files import atomic_write


@quick
def rolled(luck, board, facts, role, actions):
    """(die, number of actions) of a roll that allows something; zeros if none does."""
    for die in luck.permutation(6) + 1:
        number = list_actions(board, facts, role, die, actions)
        if number:
            return die, number
    return 0, 0


@quick
def best_of(luck, values):
    """The place of the largest value, ties by lot."""
    tied = np.flatnonzero(values >= values.max() - 1e-9)
    return tied[luck.integers(0, len(tied))]


@quick
def intercept(luck, board):
    """A guard by lot is gone."""
    guards = np.flatnonzero(IS_MOAT & (board == 2))
    board[guards[luck.integers(0, len(guards))]] = 0


@quick
def attack(luck, net, board, facts, actions, space):
    """A turn of the Attacker, by its belief."""
    die, number = rolled(luck, board, facts, 0, actions)
    if number == 0:
        facts[TURN] += 1
        return
    beliefs = beliefs_of(net, board, facts, die, actions[:number], space)
    if act(board, facts, 0, die, actions[best_of(luck, beliefs)]) == INTERCEPTED:
        intercept(luck, board)


@quick
def defend(luck, board, facts, actions, depth):
    """A turn of expectimax as the Defender."""
    die, number = rolled(luck, board, facts, 1, actions)
    if number == 0:
        facts[TURN] += 1
        return
    listed = actions[:number].copy()
    left = act(
        board, facts, 1, die, listed[best_of(luck, root_values(board, facts, 1, die, listed, depth, 1.0))]
    )
    if left >= 2:  # several prisoners: a choice
        choices = 101 * np.flatnonzero(TRIANGLE[left - 2] & (board == 1))
        act(board, facts, 1, 0, choices[best_of(luck, root_values(board, facts, 1, 0, choices, depth, 1.0))])


@quick
def play(luck, net, games, depth, trace, rate, wild):
    """int64[4]: games lost, drawn and won, and their turns; learns from each unless the rate is zero."""
    results, rate = np.zeros(4, np.int64), np.float32(rate)
    actions, space = np.empty(MOST_ACTIONS, np.int64), space_of(net)
    board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
    boards, states = np.empty((LONGEST, 100), np.int8), np.empty((LONGEST, 6), np.int64)
    for _ in range(games):
        begin(luck, board, facts, wild)
        length = 0
        while True:
            attack(luck, net, board, facts, actions, space)
            if over(board, facts):
                break
            boards[length], states[length] = board, facts
            length += 1
            defend(luck, board, facts, actions, depth)
            if over(board, facts):
                break
        result = 2 if facts[HITS] >= 3 else 1 if (board == 1).any() else 0
        results[result] += 1
        results[3] += facts[TURN]
        target = result / 2
        for turn in range(length - 1, -1 if rate > 0 else length - 1, -1):
            number = features(boards[turn], states[turn], space)
            belief = chance(net, space, number)
            learn(net, space, number, rate * np.float32(target - belief))
            target = trace * target + (1 - trace) * belief
    return results


def together(threads, net, games, *settings, seed):
    """Games in several threads that share the network, and write to it without waiting for each other."""

    def part(thread):
        luck = np.random.default_rng((seed, thread))
        return play(luck, net, -(-games // threads), *settings)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(part, range(threads)))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--depth", type=int, choices=(1, 2), default=2, help="of the Defender's expectimax")
    asked.add_argument("--minutes", type=float, default=20.0)
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--hidden", type=int, default=64)
    asked.add_argument("--trace", type=float, default=0.7, help="λ; 1 learns from results alone")
    asked.add_argument("--wild", type=float, default=0.6, help="share of games that begin anywhere")
    asked.add_argument("--rate", type=float, default=0.01, help="falls to a tenth")
    asked.add_argument("--chunk", type=int, default=10_000)
    asked.add_argument("--games", type=int, default=2000, help="without learning, at the end")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--start", type=Path, help="what an earlier run wrote to --out")
    asked.add_argument("--out", type=Path, help="what it has learned, after every chunk")
    words = asked.parse_args()
    net = read_belief(words.start) if words.start else first(words.hidden, words.seed)

    def games(number, rate, wild, seed):
        settings = words.depth, words.trace, rate, wild
        return together(words.threads, net, number, *settings, seed=words.seed + seed)

    games(1, 0.0, 0.0, 0)  # compiles
    began, learned, chunk = time.monotonic(), 0, 0
    while (done := (time.monotonic() - began) / 60 / max(words.minutes, 1e-6)) < 1:
        chunk += 1
        results = games(words.chunk, words.rate * (1 - 0.9 * done), words.wild, chunk)
        learned += int(results[:3].sum())
        tried = games(words.chunk // 20, 0.0, 0.0, 10**7 + chunk)
        report("general best response", **facts_of(words, learned, tried))
        if words.out:
            with atomic_write(words.out, "wb") as file:
                np.savez(file, *net)
    results = games(words.games, 0.0, 0.0, 10**6)
    report("general best response, at the end", **facts_of(words, learned, results))


def facts_of(words, learned, results):
    """A line of the report."""
    lost, drawn, won, turns = (int(number) for number in results)
    games = lost + drawn + won
    low, high = wilson(won + drawn / 2, games)
    return {
        "defender": f"expectimax:depth={words.depth}",
        "trace": words.trace,
        "hidden": words.hidden,
        "learned_from": learned,
        "games": games,
        "won": won,
        "drawn": drawn,
        "points": round((won + drawn / 2) / games, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "turns": round(turns / games, 1),
    }


if __name__ == "__main__":
    main()
