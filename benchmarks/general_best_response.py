"""How often can an Attacker win against one fixed Defender? It learns from games against exactly that one.

    python benchmarks/general_best_response.py --minutes 8 --led 0.5 --rate 0.02 [--depth 2] [--out FILE.npz]

The Attacker plays the action after which it believes most in winning; what it believes is a network of one hidden layer
over units, hits, rights, and how many units stand ready to hit or to be taken at each die. It learns by TD(λ) after
every game, as TD-Gammon did; dice explore enough, and a draw is no better than a loss. With `--led` it first watches
expectimax attack, and learns what those positions are worth. Games are played by the numba core of expectimax, whose
rules the tests hold against the real ones. One JSON line a `chunk` of games while it learns, then one of `games` games
without learning, with its interval.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).parent))
from machine import report

from stratagem.agents.general_expectimax import (
    INTERCEPTED,
    MOST_ACTIONS,
    act,
    list_actions,
    reaches,
    root_values,
)
from stratagem.agents.general_heuristic import (
    GARRISON,
    HITS,
    IS_GENERAL,
    IS_MOAT,
    TRIANGLE,
    TURN,
    TURNS,
    over,
)
from stratagem.arena.ratings import wilson
from stratagem.core.files import atomic_write

LONGEST = 300  # turns of a game
MOST = 80  # features that are not zero
# Where each group of features begins: cells of both sides, hits, rights used, the turn, numbers of units and guards,
# and for each die how many units (none, one, more) can hit and can be taken.
AT_HITS, AT_RIGHTS, AT_TURN, AT_ATTACKERS, AT_DEFENDERS, AT_GUARDS, AT_READY, AT_TAKEN, WIDTH = np.cumsum(
    [200, 4, 3, 1, 13, 13, 13, 18, 18]
)


@njit(cache=True, nogil=True)
def features(board, facts, places, values):
    """Write the features of a position in which the Defender is to roll; return how many are not zero."""
    number = attackers = defenders = guards = 0
    values[:] = 1.0
    for cell in range(100):
        if board[cell] != 0:
            places[number] = cell + 100 * (board[cell] == 2)
            number += 1
            attackers += board[cell] == 1
            defenders += board[cell] == 2
            guards += board[cell] == 2 and IS_MOAT[cell]
    for right in range(3):
        if facts[1 + right]:
            places[number] = AT_RIGHTS + right
            number += 1
    places[number], values[number] = AT_TURN, facts[TURN] / LONGEST
    places[number + 1] = AT_HITS + facts[HITS]
    places[number + 2] = AT_ATTACKERS + attackers
    places[number + 3] = AT_DEFENDERS + min(defenders, 12)
    places[number + 4] = AT_GUARDS + guards
    number += 5
    for die in range(1, 7):
        ready = taken = 0
        for cell in range(100):
            if board[cell] != 0:
                for way in range(8):
                    end = reaches(board, board[cell], cell, way, die)
                    if end >= 0:
                        ready += board[cell] == 1 and IS_GENERAL[end]
                        taken += board[cell] == 2 and board[end] == 1
        places[number] = AT_READY + 3 * (die - 1) + min(ready, 2)
        places[number + 1] = AT_TAKEN + 3 * (die - 1) + min(taken, 2)
        number += 2
    return number


@njit(cache=True, nogil=True)
def chance(net, places, values, number, hidden):
    """The belief in winning; writes what the hidden layer says."""
    inner, bias, outer, last = net
    hidden[:] = bias
    for index in range(number):
        hidden += values[index] * inner[places[index]]
    total = last[0]
    for unit in range(len(hidden)):
        hidden[unit] = max(hidden[unit], 0.0)
        total += outer[unit] * hidden[unit]
    return 1 / (1 + np.exp(-total))


@njit(cache=True, nogil=True)
def learn(net, places, values, number, hidden, error):
    """One step of gradient descent on cross-entropy; `hidden` is what `chance` wrote."""
    inner, bias, outer, last = net
    last[0] += error
    for unit in range(len(hidden)):
        if hidden[unit] > 0:
            back = error * outer[unit]
            outer[unit] += error * hidden[unit]
            bias[unit] += back
            for index in range(number):
                inner[places[index], unit] += values[index] * back


@njit(cache=True, nogil=True)
def believed(net, board, facts, left, places, values, hidden):
    """The belief after an action: the mean over the guards that an interception may take."""
    if facts[HITS] >= 3:
        return 1.0
    if not (board == 1).any():
        return 0.0
    if left != INTERCEPTED:
        return chance(net, places, values, features(board, facts, places, values), hidden)
    total, guards = 0.0, 0
    for cell in range(100):
        if IS_MOAT[cell] and board[cell] == 2:
            board[cell] = 0
            total += chance(net, places, values, features(board, facts, places, values), hidden)
            board[cell] = 2
            guards += 1
    return total / guards


@njit(cache=True, nogil=True)
def rolled(luck, board, facts, role, actions):
    """(die, number of actions) of a roll that allows something; zeros if none does."""
    for die in luck.permutation(6) + 1:
        number = list_actions(board, facts, role, die, actions)
        if number:
            return die, number
    return 0, 0


@njit(cache=True, nogil=True)
def best_of(luck, values):
    """The place of the largest value, ties by lot."""
    tied = np.flatnonzero(values >= values.max() - 1e-9)
    return tied[luck.integers(0, len(tied))]


@njit(cache=True, nogil=True)
def attack(luck, net, board, facts, actions, places, values, hidden, led):
    """A turn of the Attacker; `led` by expectimax, or by its belief."""
    die, number = rolled(luck, board, facts, 0, actions)
    if number == 0:
        facts[TURN] += 1
        return
    beliefs = np.empty(number)
    if led:
        beliefs[:] = root_values(board, facts, 0, die, actions[:number].copy(), 2, 1.0)
    for index in range(0 if led else number):
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, 0, die, actions[index])
        beliefs[index] = believed(net, after, changed, left, places, values, hidden)
    if act(board, facts, 0, die, actions[best_of(luck, beliefs)]) == INTERCEPTED:
        guards = np.flatnonzero(IS_MOAT & (board == 2))
        board[guards[luck.integers(0, len(guards))]] = 0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def play(luck, net, games, depth, trace, rate, led):
    """int64[3]: games lost, won and drawn; learns from each unless the rate is zero."""
    results = np.zeros(3, np.int64)
    actions = np.empty(MOST_ACTIONS, np.int64)
    places, values, hidden = np.empty(MOST, np.int64), np.empty(MOST), np.empty(len(net[1]))
    boards, states = np.empty((LONGEST, 100), np.int8), np.empty((LONGEST, 6), np.int64)
    for _ in range(games):
        board, facts = np.zeros(100, np.int8), np.zeros(6, np.int64)
        board[GARRISON[0]], board[GARRISON[1]], facts[TURNS] = 1, 2, LONGEST
        length = 0
        while True:
            attack(luck, net, board, facts, actions, places, values, hidden, led)
            if over(board, facts):
                break
            boards[length], states[length] = board, facts
            length += 1
            defend(luck, board, facts, actions, depth)
            if over(board, facts):
                break
        won = facts[HITS] >= 3
        results[1 if won else 0 if not (board == 1).any() else 2] += 1
        target = 1.0 if won else 0.0
        for turn in range(length - 1, -1 if rate > 0 else length - 1, -1):
            number = features(boards[turn], states[turn], places, values)
            belief = chance(net, places, values, number, hidden)
            learn(net, places, values, number, hidden, rate * (target - belief))
            target = trace * target + (1 - trace) * belief
    return results


def together(threads, net, games, *settings, seed):
    """Games in several threads that share the network, and write to it without waiting for each other."""

    def part(thread):
        luck = np.random.default_rng((seed, thread))
        return play(luck, net, -(-games // threads), *settings)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(part, range(threads)))


def first(hidden, seed):
    """A network that knows nothing."""
    generator = np.random.default_rng(seed)
    inner, outer = generator.normal(0, 0.08, (WIDTH, hidden)), generator.normal(0, 0.1, hidden)
    return inner, np.zeros(hidden), outer, np.full(1, -1.0)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--depth", type=int, choices=(1, 2), default=2, help="of the Defender's expectimax")
    asked.add_argument("--minutes", type=float, default=10.0)
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--hidden", type=int, default=96)
    asked.add_argument("--trace", type=float, default=0.8, help="λ; 1 learns from results alone")
    asked.add_argument(
        "--led", type=float, default=0.0, help="share of the time in which it watches expectimax attack"
    )
    asked.add_argument("--rate", type=float, default=0.01, help="falls to a fifth")
    asked.add_argument("--chunk", type=int, default=5000)
    asked.add_argument("--games", type=int, default=2000, help="without learning, at the end")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--start", type=Path, help="what an earlier run wrote to --out")
    asked.add_argument("--out", type=Path, help="what it has learned, after every chunk")
    words = asked.parse_args()
    net = first(words.hidden, words.seed)
    if words.start:
        with np.load(words.start, allow_pickle=False) as file:
            net = tuple(file[f"arr_{index}"] for index in range(4))
    together(1, net, 1, words.depth, words.trace, 0.0, False, seed=0)  # compiles
    began, games, chunk = time.monotonic(), 0, 0
    while (done := (time.monotonic() - began) / 60 / words.minutes) < 1:
        chunk += 1
        rate = words.rate * (1 - 0.8 * done)
        results = together(
            words.threads,
            net,
            words.chunk,
            words.depth,
            words.trace,
            rate,
            done < words.led,
            seed=words.seed + chunk,
        )
        games += int(results.sum())
        report("general best response", **facts_of(words, games, results))
        if words.out:
            with atomic_write(words.out, "wb") as file:
                np.savez(file, *net)
    results = together(words.threads, net, words.games, words.depth, words.trace, 0.0, False, seed=10**6)
    report("general best response, at the end", **facts_of(words, games, results))


def facts_of(words, learned, results):
    """A line of the report."""
    lost, won, drawn = (int(number) for number in results)
    low, high = wilson(won, lost + won + drawn)
    return {
        "defender": f"expectimax:depth={words.depth}",
        "trace": words.trace,
        "hidden": words.hidden,
        "learned_from": learned,
        "games": lost + won + drawn,
        "won": won,
        "drawn": drawn,
        "low": round(low, 4),
        "high": round(high, 4),
    }


if __name__ == "__main__":
    main()
