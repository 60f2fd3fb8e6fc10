"""What a player of GENERAL sees two actions ahead, learned so that it is believed at once.

    python benchmarks/general_lessons.py --start FILE --minutes 60 [--role attacker] [--out FILE]

`general_best_response.py` learns from the actions that are taken. What the others would have been worth it never
hears, and the best action often is only one in a hundred of a game better than the next. So here several actions of
the die that fell are looked at through the answers of expectimax to all dice, and what is believed of the positions
that come of it is what is learned of these siblings. What is believed before an own roll is learned from the best
actions of all dice. Neither has any luck in it.

Both look one step on only, and a game has a hundred. So what came later is heard, too: how much more than was believed
it turned out to be worth, less the luck of it, is handed back from turn to turn, `trace` of it each time. All siblings
of a turn hear the same of it, so that the one which was played cannot be told from the others by what came later.

What differs between siblings decides which is played, and counts `APART` times. A draw is half a win. Left and right
are alike, so every position is learned from a side by lot. All turns of the melee give lessons, and some of the others.
One JSON line a round: how far beliefs were off lessons that they had not seen, and games that were played without
learning, with what they were worth without luck (`general_games`).
"""

import argparse
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console
from rich.progress import Progress, track

sys.path.insert(0, str(Path(__file__).parent))
from general_games import play
from general_siblings import MOST, SIBLINGS, room_for, take_lessons
from general_starts import quick
from machine import report

from stratagem.agents.general_belief import WIDTH, features, read_beliefs, space_of, write_beliefs
from stratagem.arena.ratings import wilson
from stratagem.games.general import General

GAME = General()
ROLES = ("attacker", "defender")
ACROSS = np.arange(100).reshape(10, 10)[:, ::-1].reshape(-1).copy()  # the cell on the other side
APART = 30
GROUPS = 256  # turns of a step of gradient descent
PART = 20_000  # lessons after own actions that a thread takes before it looks at the clock
FOLLOW = 0.001  # how fast the moving mean of what is learned, which is what plays, follows


def round_of(pool, threads, nets, learner, settings, seconds, seed):
    """Lessons of some minutes, after own actions and before own rolls, each as `room_for`, and how many games."""
    began = time.monotonic()
    bar = Progress(disable=not sys.stderr.isatty(), console=Console(stderr=True))
    task = bar.add_task("taking lessons", total=seconds)

    def part(thread):
        found, number, games = [], 0, 0
        while not found or time.monotonic() - began < seconds:
            luck = np.random.default_rng((*seed, thread, number))
            after, before = room_for(PART + MOST), room_for(2 * PART + MOST)
            one, other, more = take_lessons(luck, nets, learner, *settings, after, before)
            first = (thread * 1_000_000 + number) * 1_000_000  # no two turns have the same number
            for lessons in (after, before):
                lessons[3][:] += first
            found.append(([rows[:one].copy() for rows in after], [rows[:other].copy() for rows in before]))
            number, games = number + 1, games + more
            bar.update(task, completed=time.monotonic() - began)
        return found, games

    with bar:
        parts = list(pool.map(part, range(threads)))
    found = [lessons for thread, _ in parts for lessons in thread]
    return *joined(found), sum(games for _, games in parts)


def joined(found):
    """Pairs of lessons as one pair."""
    return [[np.concatenate(rows) for rows in zip(*kind, strict=True)] for kind in zip(*found, strict=True)]


def siblings_of(turns):
    """int64[N, SIBLINGS]: the lessons of each turn, which stand together; −1 where there are fewer."""
    first = np.flatnonzero(np.r_[True, turns[1:] != turns[:-1]])
    end = np.r_[first[1:], len(turns)]
    rows = first[:, None] + np.arange(SIBLINGS)
    return np.where(rows < end[:, None], rows, -1)


@quick
def spread_out(luck, space, boards, states, picked, wide):
    """Write the features of the picked positions, rows of them from a side by lot, into float32[N · K, WIDTH]."""
    wide[:], number = 0, 0
    for row in picked:
        mirrored = luck.random() < 0.5
        for lesson in row:
            if lesson >= 0:
                board = boards[lesson]
                for index in range(features(board[ACROSS] if mirrored else board, states[lesson], space)):
                    wide[number, space[0][index]] = space[1][index]
            number += 1


@jax.jit
def expected(net, wide):
    """float32[N]: what `chance` says of positions with these features, in JAX."""
    inner, bias, middle, middle_bias, outer, last, level = net
    hidden = jax.nn.relu(wide @ inner + bias)
    second = jax.nn.relu(hidden @ middle + middle_bias)
    return jax.nn.sigmoid(hidden @ outer + second @ last + level[0])


def off(net, wide, worths, there):
    """How far off beliefs are, and what siblings are off besides what they are off together; all [N, K]."""
    error = (expected(net, wide).reshape(there.shape) - worths) * there
    apart = (error - error.sum(1, keepdims=True) / jnp.maximum(there.sum(1, keepdims=True), 1)) * there
    return (error**2).sum() / there.sum(), (apart**2).sum() / there.sum()


def loss(net, wide, worths, there):
    error, apart = off(net, wide, worths, there)
    return error + APART * apart


@partial(jax.jit, donate_argnums=(1, 2))
def step(net, mean, moments, rate, wide, worths, there):
    """One step of Adam, and of the moving mean that follows."""
    slopes, moments = optax.scale_by_adam().update(jax.grad(loss)(net, wide, worths, there), moments)
    net = jax.tree.map(lambda part, slope: part - rate * slope, net, slopes)
    return net, jax.tree.map(lambda old, new: old + FOLLOW * (new - old), mean, net), moments


def batch_of(luck, lessons, picked):
    """(features, worths, which of them there are) of rows of lessons."""
    boards, states, worths, _ = lessons
    wide = np.empty((picked.size, WIDTH), np.float32)  # a new one: JAX may still read the last one
    spread_out(luck, SPACE, boards, states, picked, wide)
    return wide, worths[np.maximum(picked, 0)], (picked >= 0).astype(np.float32)


SPACE = space_of((np.empty(0, np.float32),) * 4)  # to write features in


class Pupil:
    """A network that learns: as the last step left it, its moving mean, and the moments of Adam."""

    def __init__(self, net):
        self.net = self.mean = net
        self.moments = optax.scale_by_adam().init(net)

    def learn(self, lessons, rows, passes, rate, seed, words):
        """Learn rows of lessons (int64[N, K]) by lot; rows of one have no siblings."""
        luck, together = np.random.default_rng(seed), GROUPS * SIBLINGS // rows.shape[1]
        steps = max(1, round(passes * len(rows) / together))
        learned = self.net, jax.tree.map(jnp.array, self.mean), self.moments
        for _ in track(range(steps), words, console=Console(stderr=True), disable=not sys.stderr.isatty()):
            picked = rows[luck.integers(0, len(rows), together)]
            learned = step(*learned, rate, *batch_of(luck, lessons, picked))
        self.net, self.mean, self.moments = learned

    @property
    def ready(self):
        """The moving mean, for numba."""
        return tuple(np.array(part) for part in self.mean)


def how_far_off(net, lessons, rows, seed):
    """Roots of the mean squares of what beliefs are off lessons, and what siblings are off besides."""
    batch = batch_of(np.random.default_rng(seed), lessons, rows[: 8 * GROUPS])
    return [float(part) ** 0.5 for part in off(net, *batch)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "--start", type=Path, required=True, help="beliefs, from general_best_response.py or here"
    )
    asked.add_argument("--role", choices=ROLES, default="attacker", help="who learns")
    asked.add_argument("--minutes", type=float, default=60.0, help="no round begins after them")
    asked.add_argument(
        "--round", type=float, default=2.0, help="minutes in which the lessons of a round are taken"
    )
    asked.add_argument("--kept", type=int, default=8, help="rounds whose lessons are learned together")
    asked.add_argument(
        "--passes", type=float, default=1.2, help="over all lessons that are kept, in every round"
    )
    asked.add_argument("--rate", type=float, default=5e-4, help="falls to a twentieth in the last third")
    asked.add_argument("--trace", type=float, default=0.9, help="of what came later, for each turn")
    asked.add_argument(
        "--late", type=float, default=0.15, help="share of the turns after the melee that give lessons"
    )
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--ahead", type=int, default=1, help="how far it looks in the games that are reported")
    asked.add_argument("--games", type=int, default=300, help="after every round")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--out", type=Path, help="what it has learned, after every round")
    words = asked.parse_args()
    role, nets = ROLES.index(words.role), read_beliefs(words.start, GAME)
    pool, began = ThreadPoolExecutor(words.threads), time.monotonic()
    pupils = Pupil(nets[0]), Pupil(nets[1])
    rounds: deque[tuple[list[np.ndarray], ...]] = deque(maxlen=words.kept)
    taken, number = 0, 0
    while (done := (time.monotonic() - began) / 60 / max(words.minutes, 1e-6)) < 1 or not rounds:
        number += 1
        seed, rate = (words.seed, number), words.rate * min(1, 3 * (1 - min(done, 1)) + 0.05)
        *lessons, games = round_of(
            pool, words.threads, nets, role, (words.trace, words.late), 60 * words.round, (*seed, 0)
        )
        rounds.append(tuple(lessons))
        taken += sum(len(kind[2]) for kind in lessons)
        missed, learned = [], list(nets)
        for place, which in ((0, role), (1, 1 - role)):
            both = [np.concatenate(rows) for rows in zip(*(kind[place] for kind in rounds), strict=True)]
            rows = siblings_of(both[3]) if place == 0 else np.arange(len(both[2]))[:, None]
            new = siblings_of(lessons[0][3]) if place == 0 else np.arange(len(lessons[1][2]))[:, None]
            missed.append(how_far_off(nets[which], lessons[place], new, (*seed, 1)))
            pupils[which].learn(
                both,
                rows,
                words.passes,
                rate,
                (*seed, 2, which),
                ("after own actions", "before own rolls")[place],
            )
            learned[which] = pupils[which].ready
        nets = learned[0], learned[1]
        if words.out:
            facts = {"role": words.role, "opponent": "expectimax:depth=2", "learned_from": taken}
            write_beliefs(words.out, nets, GAME, facts)
        report(
            "general lessons",
            lessons=taken,
            lesson_games=games,
            missed=[round(part, 5) for part in missed[0]],
            missed_before_rolls=round(missed[1][0], 5),
            **games_of(pool, words, nets, (*seed, 3)),
        )


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
