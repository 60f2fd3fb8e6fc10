"""How often can an Attacker win against one fixed Defender? A network learns it by PPO, in millions of games.

    python benchmarks/general_attacker.py --out OUT --minutes 8 [--lessons 20] [--start FILE] [--resume 1]

Many games are played side by side, half of them by numba on all cores as the network decides in the others. A step is
an action of the Attacker and all that follows until it decides again: chance, a turn of `expectimax`, and a new game
where one is over. Left and right are alike, so every position is shown from a side by lot. In the `lessons` the
Attacker plays as expectimax would, and learns that by heart. One JSON line every few iterations, weights for `net` and
`az` every minute, and at the end games without learning, with intervals.

Axes: T steps, B games, L listed actions, N samples.
"""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax
from numba import njit

sys.path.insert(0, str(Path(__file__).parent))
from general_best_response import LONGEST, best_of, defend, rolled
from machine import report

from stratagem.agents.general_expectimax import INTERCEPTED, MOST_ACTIONS, act, root_values
from stratagem.agents.general_heuristic import GARRISON, HITS, IS_GENERAL, IS_MOAT, TURN, TURNS, over
from stratagem.arena.ratings import wilson
from stratagem.games.general import General
from stratagem.learners.descent import STEADY
from stratagem.networks import cast, full_choice, make_network
from stratagem.networks.blocks import Training
from stratagem.networks.outputs import Output, drift, value_loss
from stratagem.networks.tensors import read_facts, read_tree, write_tree
from stratagem.networks.weights import load_weights, save_weights, weight_facts

GAME = General()
LISTED = 960  # L: twelve units to 72 cells by garrisoning, and in eight directions
GAP = 32_767  # in a list of actions; beyond all of them, so that nothing is read or learned there
SHOWN = 106  # numbers of a position: 100 cells, hits, three rights used, turn, die
OPEN, LOST, DRAWN, WON = range(4)  # how a game stands after a step
CPU = jax.default_backend() == "cpu"

quick = njit(nogil=True)  # not cached: a cache names the module, which has another name in tests


@dataclass(frozen=True)
class Plan:
    """The command line: every field is an option."""

    out: str = ""  # folder of weights and of what `resume` needs
    resume: int = 0  # 1: go on from `out`
    start: str = ""  # weights to begin with, and their network
    network: str = "from-to:channels=64,blocks=6,width=32,planes=31"  # to begin with, unless `start`
    depth: int = 2  # of the Defender's expectimax, 1 or 2
    minutes: float = 8.0  # of learning, in this call
    total: float = 0.0  # minutes of all calls, over which rate and entropy fall; 0: until this one ends
    iterations: int = 10**9  # at most, of all calls
    lanes: int = 8192  # B, games side by side
    steps: int = 16  # T, of each game in an iteration
    batch: int = 8192  # samples of an update
    epochs: int = 1  # how often a sample is learned from
    lessons: int = 0  # first iterations, in which it copies expectimax
    rate: float = 6e-4  # of learning; falls to a tenth
    entropy: float = 0.01  # weight of its bonus; falls to a tenth
    trace: float = 0.95  # λ of advantages
    clip: float = 0.2  # how far a probability may move
    value: float = 0.5  # weight of the value's loss
    decay: float = 0.01  # of weights
    precision: str = "float32" if CPU else "bfloat16"
    product: int = int(CPU)  # 1: convolve by matrix products while learning, as one must on CPUs
    threads: int = len(os.sched_getaffinity(0))  # that play games
    every: int = 5  # iterations a line
    games: int = 4000  # without learning, at the end
    seed: int = 0

    @property
    def adam(self) -> optax.GradientTransformation:
        """Without its rate."""
        decayed = optax.add_decayed_weights(self.decay, lambda tree: jax.tree.map(lambda x: x.ndim > 1, tree))
        return optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(eps=1e-5), decayed)


@quick
def begin(board, facts):
    board[:] = 0
    board[GARRISON[0]], board[GARRISON[1]] = 1, 2
    facts[:] = 0
    facts[TURNS] = LONGEST


@quick
def play_on(luck, board, facts, actions, depth):
    """(die, number of actions, result, turns): on to the next decision of the Attacker, in a new game if need be."""
    result, turns = OPEN, 0
    while True:
        if over(board, facts):
            turns = facts[TURN]
            result = WON if facts[HITS] >= 3 else DRAWN if (board == 1).any() else LOST
            begin(board, facts)
        if facts[TURN] % 2 == 1:
            defend(luck, board, facts, actions, depth)
            continue
        die, number = rolled(luck, board, facts, 0, actions)
        if number:
            return die, number, result, turns
        facts[TURN] += 1


@quick
def turned(action, mirrored):
    """The action (or the cell), as it is seen in a mirror or not; back again by the same."""
    start, end = np.int64(action) // 100, np.int64(action) % 100
    return (start // 10 * 10 + 9 - start % 10) * 100 + end // 10 * 10 + 9 - end % 10 if mirrored else action


@quick
def step_all(luck, chosen, depth, advising, boards, facts, mirrored, shown, listed, advice, result, turns):
    """Play the action at place `chosen` of each list; −1 leaves a game alone. A game without a die begins."""
    actions = np.empty(MOST_ACTIONS, np.int64)
    for game in range(len(chosen)):
        result[game] = turns[game] = 0
        if chosen[game] < 0:
            continue
        board, fact, die = boards[game], facts[game], shown[game, 105]
        if die:
            if act(board, fact, 0, die, turned(listed[game, chosen[game]], mirrored[game])) == INTERCEPTED:
                guards = np.flatnonzero(IS_MOAT & (board == 2))
                board[guards[luck.integers(0, len(guards))]] = 0
        else:
            begin(board, fact)
        die, number, result[game], turns[game] = play_on(luck, board, fact, actions, depth)
        if advising:
            advice[game] = best_of(luck, root_values(board, fact, 0, die, actions[:number].copy(), 2, 1.0))
        mirrored[game] = luck.integers(0, 2)
        for cell in range(100):
            shown[game, turned(cell, mirrored[game]) % 100] = board[cell]
        shown[game, 100:105], shown[game, 105] = fact[:5], die
        for place in range(number):
            listed[game, place] = turned(actions[place], mirrored[game])
        listed[game, number:] = GAP


class Games:
    """B games that wait for the Attacker; those of a part of them share a stream of luck."""

    def __init__(self, count: int, depth: int, threads: int, seed: tuple[int, ...]):
        parts = min(3 * threads, -(-count // 8)) if threads > 1 else 1
        self.parts = [slice(*pair) for pair in pairwise(np.linspace(0, count, parts + 1).astype(int))]
        self.lucks = [np.random.default_rng((*seed, part)) for part in range(parts)]
        self.depth, self.pool = depth, ThreadPoolExecutor(threads)
        self.boards, self.facts = np.zeros((count, 100), np.int8), np.zeros((count, 6), np.int64)
        self.mirrored = np.zeros(count, np.int8)  # whether it is shown so
        self.shown = np.zeros((count, SHOWN), np.int16)
        self.listed = np.full((count, LISTED), GAP, np.int16)  # as shown
        self.advice = np.zeros(count, np.int16)  # the place in the list that expectimax would choose
        self.result, self.turns = np.zeros(count, np.int8), np.zeros(count, np.int16)  # of games just ended

    def step(self, chosen: np.ndarray, advising: bool = False) -> None:
        """Play int[B], places in the lists; −1 leaves a game alone."""
        kept = (self.boards, self.facts, self.mirrored, self.shown, self.listed, self.advice)

        def play(luck, part):
            arrays = (array[part] for array in (*kept, self.result, self.turns))
            step_all(luck, chosen[part], self.depth, advising, *arrays)

        list(self.pool.map(play, self.lucks, self.parts))


def view_of(shown: Array) -> Array:
    """float32[10, 10, 15]: what `General.view` says to the Attacker in seat 0, from int16[106]."""
    board, facts = shown[:100], shown[100:].astype(jnp.float32)
    nought = jnp.zeros(100)
    hits, *used, turn, die = (nought + fact for fact in facts)
    ground = GARRISON[0].astype(np.float32) - (GARRISON[1] | IS_GENERAL)
    planes = [board == 1, board == 2, IS_GENERAL, nought + 1, nought, ground, die / 6, hits / 3, IS_MOAT]
    planes += [*(1 - right for right in used), nought, turn / LONGEST, nought]
    return jnp.stack([jnp.asarray(plane, jnp.float32) for plane in planes], axis=-1).reshape(10, 10, 15)


def opinion(network: Any, shown: Array, listed: Array, training: Training | None) -> tuple[Output, Array]:
    """(What the network says, float32[L]: the logits of the listed actions)."""
    output = network(view_of(shown), training)
    return output, output.logits.at[listed.astype(jnp.int32)].get(mode="fill", fill_value=-1e9)


@partial(jax.jit, static_argnames="precision")
def decide(
    network: Any, shown: Array, listed: Array, key: Array, greedy: Array, precision: str
) -> tuple[Array, Array, Array]:
    """(int32[B] places in the lists, float32[B] log-probabilities, float32[B] values)."""
    network = cast(network, precision)
    output, logits = jax.vmap(lambda one, actions: opinion(network, one, actions, None))(shown, listed)
    place = jnp.where(greedy, logits.argmax(axis=1), jax.random.categorical(key, logits))
    chance = jnp.take_along_axis(jax.nn.log_softmax(logits), place[:, None], axis=1)[:, 0]
    return place, chance, output.values[:, 0]


class Samples(NamedTuple):
    """Decisions, [N] or [T, B]."""

    shown: Any  # int16[106]
    listed: Any  # int16[L]
    place: Any  # int32: of what was chosen
    chance: Any  # float32: its log-probability then
    advantage: Any  # float32
    target: Any  # float32: what the value should have been


def sample_loss(plan: Plan, network: Any, sample: Samples, entropy: Array, lesson: Array) -> dict[str, Array]:
    """The parts of one sample's loss; in a lesson the choice is right, whoever made it."""
    training = Training(jax.random.key(0)) if plan.product else None
    output, logits = opinion(network, sample.shown, sample.listed, training)
    chances = jax.nn.log_softmax(logits)
    change = jnp.where(lesson, 0.0, chances[sample.place] - sample.chance)
    ratio = jnp.exp(change)
    held = jnp.clip(ratio, 1 - plan.clip, 1 + plan.clip)
    clipped = -jnp.minimum(ratio * sample.advantage, held * sample.advantage)
    parts = {
        "policy_loss": jnp.where(lesson, -chances[sample.place], clipped),
        "value_loss": value_loss(output, jnp.stack([sample.target, -sample.target])),
        "entropy": -(jnp.exp(chances) * chances).sum(),
        "drift": drift(output, logits),
        "divergence": ratio - 1 - change,
        "clipped": (ratio != held).astype(jnp.float32),
    }
    loss = parts["policy_loss"] + plan.value * parts["value_loss"] + STEADY * parts["drift"]
    return parts | {"loss": loss - entropy * parts["entropy"]}


@partial(jax.jit, static_argnames="plan")
def learn(
    plan: Plan, network: Any, state: Any, samples: Samples, key: Array, pace: tuple[Array, Array, Array]
) -> tuple[Any, Any, dict[str, Array]]:
    """(Network and state of Adam after all batches of all epochs, means of the parts of the loss)."""
    rate, entropy, lesson = pace  # `lesson` is bool

    def loss(network: Any, batch: Samples) -> tuple[Array, dict[str, Array]]:
        low = cast(network, plan.precision)
        parts = jax.vmap(lambda sample: sample_loss(plan, low, sample, entropy, lesson))(batch)
        means = {name: part.mean() for name, part in parts.items()}
        return means["loss"], means

    def update(carry: tuple[Any, Any], rows: Array) -> tuple[tuple[Any, Any], dict[str, Array]]:
        network, state = carry
        batch = jax.tree.map(lambda leaf: leaf[rows], samples)
        (_, means), gradients = jax.value_and_grad(loss, has_aux=True)(network, batch)
        changes, state = plan.adam.update(gradients, state, network)
        return (optax.apply_updates(network, jax.tree.map(lambda x: -rate * x, changes)), state), means

    keys = jax.random.split(key, plan.epochs)
    order = jax.vmap(lambda key: jax.random.permutation(key, len(samples.place)))(keys)
    (network, state), parts = lax.scan(update, (network, state), order.reshape(-1, plan.batch))
    return network, state, jax.tree.map(jnp.mean, parts)


def advantages_of(value: np.ndarray, result: np.ndarray, last: np.ndarray, trace: float) -> np.ndarray:
    """float32[T, B]: generalised advantages without discount; `last` float32[B] is the value after the last step."""
    advantage, found = np.zeros_like(last), np.empty_like(value)
    for step in reversed(range(len(value))):
        going = result[step] == OPEN
        reward = np.where(going, 0, result[step] - float(DRAWN))
        advantage = reward + going * (last + trace * advantage) - value[step]
        found[step], last = advantage, value[step]
    return found


class Rollouts:
    """T steps of B games at a time, in two halves of the games: one is played as the network decides in the other."""

    def __init__(self, plan: Plan, begun: int):
        half, self.trace, self.precision = plan.lanes // 2, plan.trace, plan.precision
        self.halves = [Games(half, plan.depth, plan.threads, (plan.seed, begun, side)) for side in range(2)]
        shape = (plan.steps, 2, half)
        self.shown, self.listed = np.empty((*shape, SHOWN), np.int16), np.empty((*shape, LISTED), np.int16)
        self.place, self.result = np.empty(shape, np.int32), np.empty(shape, np.int8)
        self.chance, self.value = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.turns = np.empty(shape, np.int16)
        for games in self.halves:
            games.step(np.zeros(half, np.int32), advising=True)

    def collect(self, network: Any, key: Array, lesson: bool, seconds: dict[str, float]) -> Samples:
        """Samples [N]; adds to the seconds that went into games and into waiting for the network."""

        def ask(half: int, step: int) -> tuple[Array, ...]:
            games, turn_key = self.halves[half], jax.random.fold_in(key, 2 * step + half)
            return decide(network, games.shown, games.listed, turn_key, False, self.precision)

        asked = [ask(0, 0), ask(1, 0)]
        for step in range(len(self.place)):
            for half, games in enumerate(self.halves):
                at, began = (step, half), time.perf_counter()
                place, self.chance[at], self.value[at] = map(np.asarray, asked[half])
                played = time.perf_counter()
                self.shown[at], self.listed[at] = games.shown, games.listed
                self.place[at] = games.advice if lesson else place
                games.step(self.place[at], lesson)
                self.result[at], self.turns[at] = games.result, games.turns
                seconds["policy"] += played - began
                seconds["env"] += time.perf_counter() - played
                asked[half] = ask(half, step + 1)
        last = np.stack([np.asarray(value) for _, _, value in asked])
        advantage = advantages_of(self.value, self.result, last, self.trace)
        target = advantage + self.value
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        rows = (self.shown, self.listed, self.place, self.chance, advantage, target)
        return Samples(*(row.reshape(-1, *row.shape[3:]) for row in rows))


def measured(network: Any, plan: Plan, greedy: bool) -> np.ndarray:
    """int64[4] by how they stand: games without learning, each from its beginning to its end."""
    half, results = plan.lanes // 2, np.zeros(4, np.int64)
    for number in range(-(-plan.games // half)):
        games = Games(half, plan.depth, plan.threads, (plan.seed, 10**6 + number))
        going, key = np.ones(half, bool), jax.random.key(number)
        games.step(np.zeros(half, np.int32))
        while going.any():
            key, turn_key = jax.random.split(key)
            place, _, _ = decide(network, games.shown, games.listed, turn_key, greedy, plan.precision)
            games.step(np.where(going, place, -1))
            results += np.bincount(games.result[going], minlength=4)
            going &= games.result == OPEN
    results[OPEN] = 0
    return results


def say(name: str, plan: Plan, results: np.ndarray, **facts: Any) -> None:
    """A line of the report; `results` int[4] by how games stand."""
    games = int(results[1:].sum())
    low, high = wilson(int(results[WON]), games) if games else (0.0, 1.0)
    lost, drawn, won = results[1:] / max(games, 1)
    facts = {"won": won, "drawn": drawn, "lost": lost, "won_low": low, "won_high": high, **facts}
    facts = {word: float(f"{fact:.4g}") if isinstance(fact, float) else fact for word, fact in facts.items()}
    report(name, defender=f"expectimax:depth={plan.depth}", games=games, **facts)


def planned() -> Plan:
    """What the command line says."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Plan):
        asked.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    plan = Plan(**vars(asked.parse_args()))
    if not plan.out or plan.lanes % 2 or plan.lanes * plan.steps % plan.batch:
        asked.error("--out is a folder, --lanes is even, and --batch divides lanes times steps")
    return plan


def first(plan: Plan) -> tuple[Any, Any, dict[str, Any]]:
    """(Network, state of Adam, facts): what an earlier call left, or a beginning."""
    left = Path(plan.out) / "state.safetensors"
    choice = weight_facts(plan.start)["network"] if plan.start else full_choice(plan.network, GAME)
    facts = {"kind": "attacker", "network": choice, "iteration": 0, "minutes": 0.0, "learned_from": 0}
    facts = read_facts(left) if plan.resume else facts
    network = make_network(facts["network"], GAME, jax.random.key(plan.seed))
    if plan.resume:
        return *read_tree(left, (network, plan.adam.init(network))), facts
    network = load_weights(plan.start, GAME) if plan.start else network
    return network, plan.adam.init(network), facts


def save(plan: Plan, network: Any, state: Any, facts: dict[str, Any]) -> None:
    write_tree(Path(plan.out) / "state.safetensors", (network, state), facts)
    save_weights(Path(plan.out) / "attacker.safetensors", network, facts["network"], [GAME], facts)


def main() -> None:
    began, plan = time.monotonic(), planned()
    network, state, facts = first(plan)
    same = replace(plan, resume=0, iterations=0)  # one program for calls that differ in these
    before, whole = facts["minutes"], plan.total or facts["minutes"] + plan.minutes
    rollouts = Rollouts(plan, facts["iteration"])
    results, turns, seconds, said, saved = np.zeros(4, np.int64), 0, Counter(), began, began
    while facts["minutes"] < before + plan.minutes and facts["iteration"] < plan.iterations:
        fallen, lesson = 1 - 0.9 * min(facts["minutes"] / whole, 1.0), facts["iteration"] < plan.lessons
        play_key, learn_key = jax.random.split(jax.random.key(plan.seed + 10**5 * facts["iteration"]))
        samples = rollouts.collect(network, play_key, lesson, seconds)
        learning = time.monotonic()
        pace = (plan.rate * fallen, 0.0 if lesson else plan.entropy * fallen, lesson)
        network, state, parts = learn(same, network, state, samples, learn_key, pace)
        parts = {name: float(part) for name, part in parts.items()}
        now = time.monotonic()
        seconds["update"] += now - learning
        results += np.bincount(rollouts.result.reshape(-1), minlength=4)
        turns += int(rollouts.turns.sum())
        facts |= {"iteration": facts["iteration"] + 1, "minutes": before + (now - began) / 60}
        facts["learned_from"] += int((rollouts.result != OPEN).sum())
        if facts["iteration"] % plan.every == 0:
            known = {name: facts[name] for name in ("iteration", "minutes", "learned_from")}
            known |= {"turns": turns / max(results[1:].sum(), 1), "per_second": results.sum() / (now - said)}
            say("general attacker", plan, results, lesson=lesson, **known, **parts, **seconds)
            results, turns, seconds, said = np.zeros(4, np.int64), 0, Counter(), now
        if now - saved > 60:
            save(plan, network, state, facts)
            saved = now
    save(plan, network, state, facts)
    for greedy in (True, False):
        found = measured(network, plan, greedy)
        say("general attacker, at the end", plan, found, greedy=greedy, learned_from=facts["learned_from"])


if __name__ == "__main__":
    main()
