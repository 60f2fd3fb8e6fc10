"""What a player of GENERAL sees three actions ahead, learned so that it is believed at once.

    python benchmarks/general_lessons.py --start FILE --minutes 40 [--role attacker] [--out FILE]

`general_best_response.py` learns from the actions that are taken. What the others would have been worth it never
hears, and the best action often is only one in a hundred of a game better than the next. So here several actions of a
position are looked at, through the answers of expectimax to all dice to the best own actions of all dice. Those values
have no luck in them. They, and those of own rolls on the way, are lessons for the same networks, learned by Adam. The
next round of lessons is by what has then been learned. A draw is half a win. Left and right are alike, so every
position is learned from a side by lot.

One JSON line a round: how far beliefs were off lessons that they had not seen, and games that were played without
learning, with what they were worth without luck (`general_games`).
"""

import argparse
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console
from rich.progress import Progress, track

sys.path.insert(0, str(Path(__file__).parent))
from general_games import answer, own_turn, play, rooms
from general_starts import begin, quick
from general_turns import rolled
from machine import report

from stratagem.agents.general_belief import (
    WIDTH,
    beliefs_of,
    features,
    read_beliefs,
    space_of,
    write_beliefs,
)
from stratagem.agents.general_expectimax import MOST_ACTIONS, PLAIN, act
from stratagem.agents.general_foresight import answers, decided, hoped
from stratagem.agents.general_heuristic import TURN, over
from stratagem.arena.ratings import wilson
from stratagem.games.general import General

GAME = General()
ROLES = ("attacker", "defender")
ACROSS = np.arange(100).reshape(10, 10)[:, ::-1].reshape(-1).copy()  # the cell on the other side
ASKED = 0.4  # share of the own turns that lessons are taken from
BEST, OTHERS = 3, 1  # actions that are looked at: those believed in most, and some by lot
ROLLS = 2  # own rolls on the way that make a lesson, for each action
STRAY, WILD = 0.1, 0.1  # shares of actions by lot and of games that begin anywhere
PART = 2000  # lessons that a thread takes before it looks at the clock
BATCH = 1024  # positions of a step of gradient descent


@quick
def take_lessons(luck, nets, learner, boards, states, worths, own_boards, own_states, own_worths):
    """Fill the lessons of one thread, for positions after own actions and, `ROLLS` times as many, before own rolls."""
    actions, space, room = np.empty(MOST_ACTIONS, np.int64), space_of(nets[0]), rooms()
    board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
    after, changed = np.empty(100, np.int8), np.empty(6, np.int64)
    sign, taken, most = 1 - 2 * learner, 0, len(worths)
    while True:
        begin(luck, board, facts, WILD)
        while not over(board, facts):
            if facts[TURN] % 2 != learner:
                answer(luck, nets[1 - learner], board, facts, space, room)
                continue
            die, number = rolled(luck, board, facts, learner, actions)
            if number and luck.random() < ASKED:
                tried = actions[:number].copy()
                order = np.argsort(-sign * beliefs_of(nets[learner], board, facts, die, tried, space))
                for place in range(min(BEST + OTHERS, number)):
                    chosen = order[place if place < BEST else int(number * luck.random() ** 2)]
                    after[:], changed[:] = board, facts
                    left = act(after, changed, learner, die, tried[chosen])
                    if left != PLAIN or decided(after, changed) >= 0:
                        continue
                    if taken == most:
                        return
                    boards[taken], states[taken] = after, changed
                    rolls = slice(ROLLS * taken, ROLLS * taken + ROLLS)
                    own = own_boards[rolls], own_states[rolls], own_worths[rolls]
                    worths[taken] = _look(luck, nets, learner, after, changed, space, room, *own)
                    taken += 1
            own_turn(luck, nets, board, facts, actions, space, 2, STRAY)


@quick
def _look(luck, nets, learner, board, facts, space, room, own_boards, own_states, own_worths):
    """What is expected after an own action, and some of the positions before the next own roll on the way."""
    boards, states, chances, values = room
    number = answers(board, facts, 1 - learner, boards, states, chances)
    for place in range(number):
        values[place] = hoped(nets, boards[place], states[place], learner, space, 1)
    for lesson in range(len(own_worths)):
        place = luck.integers(0, number)
        own_boards[lesson], own_states[lesson] = boards[place], states[place]
        own_worths[lesson] = values[place]
        if decided(boards[place], states[place]) >= 0:
            own_worths[lesson] = np.nan  # nobody rolls; left out
    return np.dot(values[:number], chances[:number])


def round_of(pool, threads, nets, learner, seconds, seed):
    """Two lists of lessons, (int8[N, 100], int64[N, 6], float32[N]): after own actions, and before own rolls."""
    began = time.monotonic()
    bar = Progress(disable=not sys.stderr.isatty(), console=Console(stderr=True))
    task = bar.add_task("taking lessons", total=seconds)

    def part(thread):
        found, number = [], 0
        while not found or time.monotonic() - began < seconds:
            luck, number = np.random.default_rng((*seed, thread, number)), number + 1
            lessons = [
                (np.empty((count, 100), np.int8), np.empty((count, 6), np.int64), np.empty(count, np.float32))
                for count in (PART, ROLLS * PART)
            ]
            take_lessons(luck, nets, learner, *lessons[0], *lessons[1])
            found.append(lessons)
            bar.update(task, completed=time.monotonic() - began)
        return found

    with bar:
        found = [lessons for thread in pool.map(part, range(threads)) for lessons in thread]
    both = [[np.concatenate(parts) for parts in zip(*kind, strict=True)] for kind in zip(*found, strict=True)]
    sound = ~np.isnan(both[1][2])
    return both[0], [part[sound] for part in both[1]]


@quick
def spread_out(luck, space, boards, states, picked, wide):
    """Write the features of the picked positions, each from a side by lot, into float32[N, WIDTH]."""
    wide[:] = 0
    for row in range(len(picked)):
        board = boards[picked[row]]
        number = features(board[ACROSS] if luck.random() < 0.5 else board, states[picked[row]], space)
        for index in range(number):
            wide[row, space[0][index]] = space[1][index]


@jax.jit
def expected(net, wide):
    """float32[N]: what `chance` says of positions with these features, in JAX."""
    inner, bias, middle, middle_bias, outer, last, level = net
    hidden = jax.nn.relu(wide @ inner + bias)
    second = jax.nn.relu(hidden @ middle + middle_bias)
    return jax.nn.sigmoid(hidden @ outer + second @ last + level[0])


def off(net, wide, worths):
    return jnp.mean((expected(net, wide) - worths) ** 2)


def learn(net, lessons, rate, passes, seed):
    """The network after some passes over lessons, by Adam with a rate that falls to nothing."""
    boards, states, worths = lessons
    steps = int(len(worths) * passes) // BATCH
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, max(steps, 1)))

    @jax.jit
    def step(net, moments, wide, worths):
        slopes = jax.grad(off)(net, wide, worths)
        updates, moments = optimiser.update(slopes, moments)
        return optax.apply_updates(net, updates), moments

    luck, space, moments = np.random.default_rng(seed), space_of(net), optimiser.init(net)
    for _ in track(range(steps), "learning", console=Console(stderr=True), disable=not sys.stderr.isatty()):
        wide = np.empty((BATCH, WIDTH), np.float32)  # a new one: JAX may still read the last one
        picked = luck.integers(0, len(worths), BATCH)
        spread_out(luck, space, boards, states, picked, wide)
        net, moments = step(net, moments, wide, worths[picked])
    return tuple(np.array(part) for part in net)


def how_far_off(net, lessons, seed):
    """The root of the mean square of what beliefs are off some lessons."""
    boards, states, worths = (part[: 8 * BATCH] for part in lessons)
    wide = np.empty((len(worths), WIDTH), np.float32)
    spread_out(np.random.default_rng(seed), space_of(net), boards, states, np.arange(len(worths)), wide)
    return float(off(net, wide, worths)) ** 0.5


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "--start", type=Path, required=True, help="beliefs, from general_best_response.py or here"
    )
    asked.add_argument("--role", choices=ROLES, default="attacker", help="who learns")
    asked.add_argument("--minutes", type=float, default=40.0, help="no round begins after them")
    asked.add_argument(
        "--round", type=float, default=6.0, help="minutes in which the lessons of a round are taken"
    )
    asked.add_argument("--kept", type=int, default=4, help="rounds whose lessons are learned together")
    asked.add_argument("--passes", type=float, default=10.0, help="over all lessons, in every round")
    asked.add_argument("--rate", type=float, default=0.001, help="falls to nothing in every round")
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--ahead", type=int, default=1, help="how far it looks in the games that are reported")
    asked.add_argument("--games", type=int, default=300, help="after every round")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--out", type=Path, help="what it has learned, after every round")
    words = asked.parse_args()
    role, nets = ROLES.index(words.role), read_beliefs(words.start, GAME)
    pool, began = ThreadPoolExecutor(words.threads), time.monotonic()
    rounds: deque[tuple[list[np.ndarray], ...]] = deque(maxlen=words.kept)
    taken, number = 0, 0
    while time.monotonic() - began < 60 * words.minutes or not rounds:
        number += 1
        seed = words.seed, number
        rounds.append(round_of(pool, words.threads, nets, role, 60 * words.round, (*seed, 0)))
        taken += sum(len(lessons[2]) for lessons in rounds[-1])
        missed, learned = [], list(nets)
        for place, which in ((0, role), (1, 1 - role)):
            missed.append(how_far_off(nets[which], rounds[-1][place], (*seed, 1)))
            lessons = [np.concatenate(parts) for parts in zip(*(kind[place] for kind in rounds), strict=True)]
            learned[which] = learn(nets[which], lessons, words.rate, words.passes, (*seed, 2, which))
        nets = learned[0], learned[1]
        if words.out:
            facts = {"role": words.role, "opponent": "expectimax:depth=2", "learned_from": taken}
            write_beliefs(words.out, nets, GAME, facts)
        report("general lessons", lessons=taken, missed=missed, **games_of(pool, words, nets, (*seed, 3)))


def games_of(pool, words, nets, seed):
    """Of games without learning, for a line of the report."""
    role = ROLES.index(words.role)

    def one(game):
        return play(np.random.default_rng((*seed, game)), nets, role, words.ahead)

    played = track(
        pool.map(one, range(words.games)),
        "playing",
        words.games,
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    turns, results, fair = np.array(list(played)).T
    if role == 1:
        results, fair = 1 - results, 1 - fair
    low, high = wilson(results.sum(), words.games)
    return {
        "role": words.role,
        "opponent": "expectimax:depth=2",
        "ahead": words.ahead,
        "games": words.games,
        "won": int((results == 1).sum()),
        "drawn": int((results == 0.5).sum()),
        "points": round(float(results.mean()), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "without_luck": round(float(fair.mean()), 4),
        "give_or_take": round(float(1.96 * fair.std() / words.games**0.5), 4),
        "turns": round(float(turns.mean()), 1),
    }


if __name__ == "__main__":
    main()
