"""How well can one role of GENERAL be played against one fixed player? It learns from games against exactly that one.

    python benchmarks/general_best_response.py --minutes 20 [--role attacker] [--start FILE] [--out FILE]

The learner plays the action after which it expects most (`general_belief`); a draw is half a win. It learns by
TD(λ) after every game, as TD-Gammon did, and dice explore enough.
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

sys.path.insert(0, str(Path(__file__).parent))
from general_starts import begin, quick
from machine import report

from stratagem.agents.general_belief import (
    LONGEST,
    WIDTH,
    beliefs_of,
    chance,
    features,
    read_beliefs,
    space_of,
    write_beliefs,
)
from stratagem.agents.general_expectimax import INTERCEPTED, MOST_ACTIONS, act, list_actions, root_values
from stratagem.agents.general_heuristic import HITS, IS_MOAT, TRIANGLE, TURN, over
from stratagem.arena.ratings import wilson
from stratagem.games.general import General

GAME = General()
ACROSS = np.arange(100).reshape(10, 10)[:, ::-1].reshape(-1).copy()  # the cell on the other side


def first(hidden, seed):
    """A network that knows nothing."""
    generator = np.random.default_rng(seed)
    inner, outer = generator.normal(0, 0.08, (WIDTH, hidden)), generator.normal(0, 0.1, hidden)
    return tuple(part.astype(np.float32) for part in (inner, np.zeros(hidden), outer, np.full(1, -1.0)))


@quick
def learn(net, space, number, error):
    """One step of gradient descent on cross-entropy; `space` is as `chance` left it."""
    inner, bias, outer, last = net
    places, values, hidden, _, _ = space
    last[0] += error
    for unit in range(len(hidden)):
        back = error * outer[unit] if hidden[unit] > 0 else np.float32(0)
        outer[unit] += error * hidden[unit]
        bias[unit] += back
        hidden[unit] = back
    for index in range(number):
        row, value = inner[places[index]], values[index]
        for unit in range(len(hidden)):
            row[unit] += value * hidden[unit]


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
def choose(luck, nets, board, facts, die, actions, space):
    """The best of these actions, by what is then expected; nobody rolls before a choice of conversion."""
    role = facts[TURN] % 2
    return best_of(luck, (1 - 2 * role) * beliefs_of(nets[role], board, facts, die, actions, space))


@quick
def take_turn(luck, nets, board, facts, actions, space):
    """A turn by what is expected."""
    die, number = rolled(luck, board, facts, facts[TURN] % 2, actions)
    if number == 0:
        facts[TURN] += 1
        return
    listed = actions[:number].copy()
    left = played(luck, board, facts, die, listed[choose(luck, nets, board, facts, die, listed, space)])
    if left >= 2:
        listed = prisoners(board, left)
        played(luck, board, facts, 0, listed[choose(luck, nets, board, facts, 0, listed, space)])


@quick
def expectimax_turn(luck, board, facts, actions, depth):
    """A turn of expectimax."""
    role = facts[TURN] % 2
    die, number = rolled(luck, board, facts, role, actions)
    if number == 0:
        facts[TURN] += 1
        return
    listed = actions[:number].copy()
    best = best_of(luck, root_values(board, facts, role, die, listed, depth, 1.0))
    left = played(luck, board, facts, die, listed[best])
    if left >= 2:
        listed = prisoners(board, left)
        best = best_of(luck, root_values(board, facts, role, 0, listed, depth, 1.0))
        played(luck, board, facts, 0, listed[best])


@quick
def played(luck, board, facts, die, action):
    """Play an action, and an interception after it; return what is left to choose."""
    left = act(board, facts, facts[TURN] % 2, die, action)
    if left == INTERCEPTED:
        intercept(luck, board)
    return left


@quick
def prisoners(board, left):
    """int64[N]: the choices of a conversion."""
    return 101 * np.flatnonzero(TRIANGLE[left - 2] & (board == 1))


@quick
def play(luck, nets, games, learner, depth, trace, rate, wild):
    """int64[4]: games lost, drawn and won by the Attacker, and their turns; learns from each unless the rate is zero.

    `learner` is the role that plays by what it expects; `nets[0]` judges positions in which the Defender is to roll,
    `nets[1]` those in which the Attacker is.
    """
    results, rate = np.zeros(4, np.int64), np.float32(rate)
    actions, space = np.empty(MOST_ACTIONS, np.int64), space_of(nets[0])
    board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
    boards, states = np.empty((LONGEST, 100), np.int8), np.empty((LONGEST, 6), np.int64)
    for _ in range(games):
        begin(luck, board, facts, wild)
        length = 0
        while not over(board, facts):
            boards[length], states[length] = board, facts
            length += 1
            if facts[TURN] % 2 == learner:
                take_turn(luck, nets, board, facts, actions, space)
            else:
                expectimax_turn(luck, board, facts, actions, depth)
        result = 2 if facts[HITS] >= 3 else 1 if (board == 1).any() else 0
        results[result] += 1
        results[3] += facts[TURN]
        for rolls in range(2 if rate > 0 else 0):
            target = result / 2
            for turn in range(length - 1, -1, -1):
                if states[turn, TURN] % 2 == rolls:
                    seen = boards[turn][ACROSS] if luck.random() < 0.5 else boards[turn]
                    number = features(seen, states[turn], space)
                    belief = chance(nets[1 - rolls], space, number)
                    learn(nets[1 - rolls], space, number, rate * np.float32(target - belief))
                    target = trace * target + (1 - trace) * belief
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
    asked.add_argument("--depth", type=int, choices=(1, 2), default=2, help="of the other side's expectimax")
    asked.add_argument("--minutes", type=float, default=20.0)
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--hidden", type=int, default=64)
    asked.add_argument("--trace", type=float, default=0.7, help="λ; 1 learns from results alone")
    asked.add_argument("--wild", type=float, default=0.6, help="share of games that begin anywhere")
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
    kept = tuple(
        tuple(part.copy() for part in net) for net in nets
    )  # their moving mean, which is what plays later
    pool, share = ThreadPoolExecutor(words.threads), TOGETHER * words.threads

    def games(nets, number, rate, wild, seed):
        settings = ROLES.index(words.role), words.depth, words.trace, rate, wild
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
                "opponent": f"expectimax:depth={words.depth}",
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
        "opponent": f"expectimax:depth={words.depth}",
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
