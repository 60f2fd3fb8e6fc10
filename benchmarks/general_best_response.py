"""How well can one role of GENERAL be played against one fixed player? It learns from games against exactly that one.

    python benchmarks/general_best_response.py --minutes 20 [--role attacker] [--start FILE] [--out FILE]

The learner plays the action after which it expects most (`general_belief`); a draw is half a win. It learns by
TD(λ) after every game, as TD-Gammon did, and dice explore enough. What it learns from at each turn is no luck of that
turn: the mean over all dice of its best actions, and the mean over all dice and answers of expectimax (depth 2).
Left and right are alike, so it learns every position from a side by lot. A share of the games, `wild`, begins anywhere
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
from numba import njit

sys.path.insert(0, str(Path(__file__).parent))
from general_games import answer, own_turn, rooms
from general_starts import begin, quick
from machine import report

from stratagem.agents.general_belief import (
    LONGEST,
    chance,
    features,
    read_beliefs,
    shapes_of,
    space_of,
    write_beliefs,
)
from stratagem.agents.general_expectimax import MOST_ACTIONS
from stratagem.agents.general_heuristic import HITS, TURN, over
from stratagem.arena.ratings import wilson
from stratagem.games.general import General

GAME = General()
ACROSS = np.arange(100).reshape(10, 10)[:, ::-1].reshape(-1).copy()  # the cell on the other side


def first(hidden, seed):
    """A network that knows nothing."""
    generator = np.random.default_rng(seed)
    inner, bias, middle, middle_bias, outer, last, level = shapes_of(hidden)
    scales = (
        (inner, 0.08),
        (bias, 0),
        (middle, hidden**-0.5),
        (middle_bias, 0),
        (outer, 0.1),
        (last, 0.1),
        (level, 0),
    )
    net = tuple((scale * generator.normal(size=shape)).astype(np.float32) for shape, scale in scales)
    net[-1][0] = -1  # most games are lost at first
    return net


@njit(nogil=True, fastmath=True)
def learn(net, space, number, error):
    """One step of gradient descent on cross-entropy; `space` is as `chance` left it."""
    inner, bias, middle, middle_bias, outer, last, level = net
    places, values, hidden, second, _, _, _ = space
    level[0] += error
    for deep in range(len(second)):
        back = error * last[deep] if second[deep] > 0 else np.float32(0)
        last[deep] += error * second[deep]
        middle_bias[deep] += back
        second[deep] = back
    for unit in range(len(hidden)):
        told = hidden[unit]
        if told == 0:
            continue
        back = error * outer[unit]
        outer[unit] += error * told
        for deep in range(len(second)):
            back += second[deep] * middle[unit, deep]
            middle[unit, deep] += told * second[deep]
        bias[unit] += back
        hidden[unit] = back
    for index in range(number):
        row, value = inner[places[index]], values[index]
        for unit in range(len(hidden)):
            row[unit] += value * hidden[unit]


@quick
def play(luck, nets, games, learner, trace, rate, wild):
    """int64[4]: games lost, drawn and won by the Attacker, and their turns; learns from each unless the rate is zero.

    `learner` is the role that plays by what it expects; `nets[0]` judges positions in which the Defender is to roll,
    `nets[1]` those in which the Attacker is.
    """
    results, rate = np.zeros(4, np.int64), np.float32(rate)
    actions, space = np.empty(MOST_ACTIONS, np.int64), space_of(nets[0])
    room = rooms()
    board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
    boards, states = np.empty((LONGEST, 100), np.int8), np.empty((LONGEST, 6), np.int64)
    values = np.empty(LONGEST)
    for _ in range(games):
        begin(luck, board, facts, wild)
        length = 0
        while not over(board, facts):
            boards[length], states[length] = board, facts
            if facts[TURN] % 2 == learner:
                values[length], _ = own_turn(luck, nets, board, facts, actions, space, 1, 0.0)
            else:
                values[length], _ = answer(luck, nets[1 - learner], board, facts, space, room)
            length += 1
        result = 2 if facts[HITS] >= 3 else 1 if (board == 1).any() else 0
        results[result] += 1
        results[3] += facts[TURN]
        target = result / 2
        for turn in range(length - 1 if rate > 0 else -1, -1, -1):
            if values[turn] >= 0:
                target = trace * target + (1 - trace) * values[turn]
            rolls = states[turn, TURN] % 2
            seen = boards[turn][ACROSS] if luck.random() < 0.5 else boards[turn]
            number = features(seen, states[turn], space)
            belief = chance(nets[1 - rolls], space, number)
            learn(nets[1 - rolls], space, number, rate * np.float32(target - belief))
    return results


ROLES = ("attacker", "defender")
TOGETHER = 50  # games of a thread until the moving mean follows


def together(pool, threads, nets, games, *settings, seed):
    """Games in several threads that share the networks, and write to them without waiting for each other."""

    def part(thread):
        luck = np.random.default_rng((*seed, thread))
        return play(luck, nets, -(-games // threads), *settings)

    return sum(pool.map(part, range(threads)))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--role", choices=ROLES, default="attacker", help="who learns")
    asked.add_argument("--minutes", type=float, default=20.0)
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--hidden", type=int, default=64)
    asked.add_argument("--trace", type=float, default=0.3, help="λ; 1 learns from results alone")
    asked.add_argument("--wild", type=float, default=0.4, help="share of games that begin anywhere")
    asked.add_argument("--rate", type=float, default=0.01, help="falls to nothing")
    asked.add_argument("--follow", type=float, default=0.1, help="how fast the moving mean follows")
    asked.add_argument("--chunk", type=int, default=10_000)
    asked.add_argument("--games", type=int, default=2000, help="without learning, at the end")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--start", type=Path, help="what an earlier run wrote to --out")
    asked.add_argument("--out", type=Path, help="what it has learned, after every chunk")
    words = asked.parse_args()
    nets = (
        read_beliefs(words.start, GAME)
        if words.start
        else tuple(first(words.hidden, seed) for seed in range(2))
    )
    words.hidden = len(nets[0][1])
    kept = tuple(
        tuple(part.copy() for part in net) for net in nets
    )  # their moving mean, which is what plays later
    pool, share = ThreadPoolExecutor(words.threads), TOGETHER * words.threads

    def games(nets, number, rate, wild, seed):
        settings = ROLES.index(words.role), words.trace, rate, wild
        return together(pool, words.threads, nets, number, *settings, seed=(words.seed, *seed))

    games(nets, 1, 0.0, 0.0, (0,))  # compiles
    began, learned, chunk = time.monotonic(), 0, 0
    while (done := (time.monotonic() - began) / 60 / max(words.minutes, 1e-6)) < 1:
        chunk += 1
        for part in range(max(1, words.chunk // share)):
            results = games(nets, share, words.rate * (1 - done) ** 2, words.wild, (1, chunk, part))
            learned += int(results[:3].sum())
            for mean, new in zip(kept, nets, strict=True):
                for old, now in zip(mean, new, strict=True):
                    old += np.float32(words.follow) * (now - old)
        tried = games(kept, words.chunk // 10, 0.0, 0.0, (2, chunk))
        report("general best response", **facts_of(words, learned, tried))
        if words.out:
            facts = {
                "role": words.role,
                "opponent": "expectimax:depth=2",
                "learned_from": learned,
            }
            write_beliefs(words.out, kept, GAME, facts)
    results = games(kept, words.games, 0.0, 0.0, (3,))
    report("general best response, at the end", **facts_of(words, learned, results))


def facts_of(words, learned, results):
    """A line of the report."""
    lost, drawn, won, turns = (int(number) for number in results)
    games = lost + drawn + won
    won, lost = (won, lost) if words.role == "attacker" else (lost, won)
    low, high = wilson(won + drawn / 2, games)
    return {
        "role": words.role,
        "opponent": "expectimax:depth=2",
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
