"""How well can GENERAL be learned against one fixed player? A network learns it by PPO, in millions of games.

    python benchmarks/general_ppo.py --out OUT --minutes 8 [--attacks 1] [--lessons 20] [--start FILE] [--resume 1]

In a share of the games the network attacks and `expectimax` defends, in another it is the other way round, in the rest
it plays itself. Games are played by numba on all cores, one half of them as the network decides in the other half and
learns from the steps before (`general_lanes.py`). In the `lessons` all sides play as expectimax would, and the network
learns that by heart.

The network also judges the position after each of its actions, before any die falls. What an action gains there is
skill, what follows until the next decision is luck; of the latter only a share, `luck`, goes into advantages.

One JSON line every few iterations, weights for `net` and `az` every minute, and at the end games
without learning, in which it plays its likeliest moves, with intervals.

Axes: T steps, B games, L listed actions, N samples.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

sys.path.insert(0, str(Path(__file__).parent))
from general_lanes import ATTACKS, BOTH, DEFENDS, DRAWN, LOST, OPEN, WON, Games
from machine import report

from stratagem.agents.general_belief import LONGEST
from stratagem.agents.general_heuristic import GARRISON, IS_GENERAL, IS_MOAT, TRIANGLE
from stratagem.arena.ratings import wilson
from stratagem.games.general import General
from stratagem.learners.descent import STEADY
from stratagem.networks import cast, full_choice, make_network
from stratagem.networks.blocks import Training
from stratagem.networks.outputs import Output, drift, value_loss
from stratagem.networks.tensors import read_facts, read_tree, write_tree
from stratagem.networks.weights import load_weights, save_weights, weight_facts

GAME = General()
CPU = jax.default_backend() == "cpu"
LANES = ("attacks", "defends", "both")  # in the order of their numbers


@dataclass(frozen=True)
class Plan:
    """The command line: every field is an option."""

    out: str = ""  # folder of weights and of what `resume` needs
    resume: int = 0  # 1: go on from `out`
    start: str = ""  # weights to begin with, and their network
    network: str = "from-to:channels=64,blocks=6,width=32,planes=31"  # to begin with, unless `start`
    depth: int = 2  # of expectimax, 1 or 2
    attacks: float = 0.5  # share of the games in which the network attacks and expectimax defends
    defends: float = 0.25  # share in which it is the other way round; in the rest it plays itself
    minutes: float = 8.0  # of learning, in this call
    total: float = 0.0  # minutes of all calls, over which rate and entropy fall; 0: until this one ends
    iterations: int = 10**9  # at most, of all calls
    lanes: int = 8192  # B, games side by side
    steps: int = 16  # T, of each game in an iteration
    batch: int = 8192  # samples of an update
    epochs: int = 2  # how often a sample is learned from
    lessons: int = 0  # first iterations, in which it copies expectimax
    rate: float = 6e-4  # of learning; falls to a tenth
    entropy: float = 0.01  # weight of its bonus; falls to a tenth
    trace: float = 0.95  # λ of advantages
    luck: float = 0.15  # share of luck in advantages; 1 is plain PPO
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


def view_of(shown: Array) -> Array:
    """float32[10, 10, 15]: what `General.view` says to whose turn it is, from int16[107]; the Attacker has seat 0."""
    board, facts = shown[:100], shown[100:].astype(jnp.float32)
    hits, used, (turn, die, converting) = facts[0], facts[1:4], facts[4:]
    role = shown[104] % 2
    sign = 1.0 - 2.0 * role
    rights = 1 - jnp.where(role == 0, used, used[jnp.array([1, 0, 2])])
    ground = GARRISON[0].astype(np.float32) - (GARRISON[1] | IS_GENERAL)
    triangle = jnp.where(converting == 2, TRIANGLE[1], TRIANGLE[0])
    prisoners = (converting > 0) & triangle & (board == 1)
    planes = [board == role + 1, board == 2 - role, IS_GENERAL, role == 0, role == 1, sign * ground]
    planes += [die / 6, hits / 3, IS_MOAT, *rights, prisoners, turn / LONGEST, role]
    everywhere = [jnp.broadcast_to(jnp.asarray(plane, jnp.float32), 100) for plane in planes]
    return jnp.stack(everywhere, axis=-1).reshape(10, 10, 15)


def opinion(network: Any, shown: Array, listed: Array, training: Training | None) -> tuple[Output, Array]:
    """(What the network says, float32[L]: the logits of the listed actions)."""
    output = network(view_of(shown), training)
    return output, output.logits.at[listed.astype(jnp.int32)].get(mode="fill", fill_value=-1e9)


@partial(jax.jit, static_argnames="precision")
def decide(
    network: Any, shown: Array, listed: Array, after: Array, key: Array, greedy: Array, precision: str
) -> tuple[Array, Array, Array, Array]:
    """(int32[B] places in the lists, float32[B] log-probabilities, float32[B] values, float32[B] values of `after`).

    Values are the Attacker's; `after` is int16[B, 107].
    """
    network = cast(network, precision)
    worth = jax.vmap(lambda one: network(view_of(one)).values[0])(after) * side_of(after)
    output, logits = jax.vmap(lambda one, actions: opinion(network, one, actions, None))(shown, listed)
    place = jnp.where(greedy, logits.argmax(axis=1), jax.random.categorical(key, logits)).astype(jnp.int32)
    return place, chance_of(logits, place), output.values[:, 0] * side_of(shown), worth


def side_of(shown: Array) -> Array:
    """[…]: 1 where the Attacker is to move, −1 elsewhere, from int16[…, 107]."""
    return 1 - 2 * (shown[..., 104] % 2)


def chance_of(logits: Array, place: Array) -> Array:
    """float32[B]: log-probabilities of these places, from float32[B, L]."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), place[:, None], axis=1)[:, 0]


class Samples(NamedTuple):
    """Decisions, [N]."""

    shown: Any  # int16[107]
    listed: Any  # int16[L]
    place: Any  # int32: of what was chosen
    chance: Any  # float32: its log-probability then
    after: Any  # int16[107]: the position that it led to, before chance spoke
    advantage: Any  # float32: the mover's
    target: Any  # float32: what the value should have been, the Attacker's
    after_target: Any  # float32: the same of `after`


class Pace(NamedTuple):
    """What changes from iteration to iteration."""

    rate: Any  # of learning
    entropy: Any  # weight of its bonus
    lesson: Any  # bool: the choice is right, whoever made it


def sample_loss(plan: Plan, network: Any, sample: Samples, pace: Pace) -> dict[str, Array]:
    """The parts of one sample's loss."""
    training = Training(jax.random.key(0)) if plan.product else None
    output, logits = opinion(network, sample.shown, sample.listed, training)
    chances = jax.nn.log_softmax(logits)
    change = jnp.where(pace.lesson, 0.0, chances[sample.place] - sample.chance)
    ratio = jnp.exp(change)
    held = jnp.clip(ratio, 1 - plan.clip, 1 + plan.clip)
    clipped = -jnp.minimum(ratio * sample.advantage, held * sample.advantage)
    parts = {
        "policy_loss": jnp.where(pace.lesson, -chances[sample.place], clipped),
        "value_loss": judged(output, sample.shown, sample.target),
        "after_loss": judged(network(view_of(sample.after), training), sample.after, sample.after_target),
        "entropy": -(jnp.exp(chances) * chances).sum(),
        "drift": drift(output, logits),
        "divergence": ratio - 1 - change,
        "clipped": (ratio != held).astype(jnp.float32),
    }
    loss = parts["policy_loss"] + plan.value * (parts["value_loss"] + parts["after_loss"])
    loss += STEADY * parts["drift"]
    return parts | {"loss": loss - pace.entropy * parts["entropy"]}


def judged(output: Output, shown: Array, target: Array) -> Array:
    """How wrong the value of a position was; the target is the Attacker's."""
    target = side_of(shown) * target
    return value_loss(output, jnp.stack([target, -target]))


@partial(jax.jit, static_argnames="plan", donate_argnames="state")
def update(
    plan: Plan, network: Any, state: Any, samples: Samples, rows: Array, pace: Pace
) -> tuple[Any, Any, dict[str, Array]]:
    """(Network and state of Adam after one batch, means of the parts of the loss)."""

    def loss(network: Any) -> tuple[Array, dict[str, Array]]:
        low, batch = cast(network, plan.precision), jax.tree.map(lambda leaf: leaf[rows], samples)
        parts = jax.vmap(lambda sample: sample_loss(plan, low, sample, pace))(batch)
        means = {name: part.mean() for name, part in parts.items()}
        return means["loss"], means

    (_, means), gradients = jax.value_and_grad(loss, has_aux=True)(network)
    changes, state = plan.adam.update(gradients, state, network)
    return optax.apply_updates(network, jax.tree.map(lambda x: -pace.rate * x, changes)), state, means


class Learner:
    """A network that learns from one batch whenever it is told to."""

    def __init__(self, plan: Plan, network: Any, state: Any):
        self.plan, self.network, self.state = plan, network, state

    def learn(
        self, samples: Samples, key: Array, pace: Pace, parts: list[dict[str, Array]]
    ) -> Iterator[None]:
        """All batches of all epochs, one at a time; adds to the parts of the loss."""
        keys = jax.random.split(key, self.plan.epochs)
        for epoch in keys:
            order = jax.random.permutation(epoch, len(samples.place)).reshape(-1, self.plan.batch)
            for rows in order:
                self.network, self.state, means = update(
                    self.plan, self.network, self.state, samples, rows, pace
                )
                parts.append(means)
                yield


def advantages_of(
    value: np.ndarray, worth: np.ndarray, result: np.ndarray, last: np.ndarray, trace: float, luck: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(float32[T, …], …): advantages, targets of `value` and targets of `worth`, without discount; all the Attacker's.

    `value` is of the position in which one side decides, `worth` of the position that it leaves to chance, `result` how
    the game stands when somebody decides again, `last` the value after the last step. What one side wins the other
    loses, so it does not matter who decides.
    """
    advantage, whole = np.zeros_like(last), np.zeros_like(last)
    found, targets, later = np.empty_like(value), np.empty_like(value), np.empty_like(value)
    for step in reversed(range(len(value))):
        going = result[step] == OPEN
        fallen = np.where(going, last, result[step] - float(DRAWN)) - worth[step]
        gained = worth[step] - value[step]
        advantage = found[step] = gained + luck * fallen + going * trace * advantage
        later[step] = worth[step] + fallen + going * trace * whole
        whole = gained + fallen + going * trace * whole
        targets[step], last = value[step] + whole, value[step]
    return found, targets, later


def lanes_of(plan: Plan, count: int) -> np.ndarray:
    """int8[B]: what the network does in each game; mixed, so that all cores have as much to do."""
    done = np.linspace(0, 1, count, endpoint=False)
    lanes = np.where(
        done < plan.attacks, ATTACKS, np.where(done < plan.attacks + plan.defends, DEFENDS, BOTH)
    )
    return np.random.default_rng(0).permutation(lanes).astype(np.int8)


class Rollouts:
    """T steps of B games at a time, in two halves of the games: one is played as the network decides in the other."""

    def __init__(self, plan: Plan, begun: int):
        half, self.precision = plan.lanes // 2, plan.precision
        self.trace, self.luck = plan.trace, plan.luck
        self.lanes, self.steps, self.waiting = lanes_of(plan, half), plan.steps, []
        self.halves = [
            Games(self.lanes, plan.depth, plan.threads, (plan.seed, begun, side)) for side in range(2)
        ]
        shape = (plan.steps, 2, half)
        self.result, self.turns = np.empty(shape, np.int8), np.empty(shape, np.int16)
        self.value, self.worth = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.side = np.empty(shape, np.float32)
        for games in self.halves:
            games.step(np.zeros(half, np.int32), advising=True)

    def collect(
        self, network: Any, key: Array, lesson: bool, learning: Iterator[None], seconds: Counter
    ) -> Samples:
        """Samples [N], while the learning goes on; adds to the seconds in games and in waiting for the network."""

        def ask(half: int, step: int) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            games, turn_key = self.halves[half], jax.random.fold_in(key, 2 * step + half)
            # Copied: what is shown changes while the device may still read it.
            seen = tuple(jnp.array(part, copy=True) for part in (games.shown, games.listed, games.after))
            return seen, decide(network, *seen, turn_key, False, self.precision)

        asked, kept, after = [ask(0, 0), ask(1, 0)], [], []
        for step in range(self.steps):
            for half, games in enumerate(self.halves):
                at, began = (step, half), time.perf_counter()
                (shown, listed, _), (place, chance, value, _) = asked[half]
                place = games.advice.astype(np.int32) if lesson else np.asarray(place)
                self.value[at], played = np.asarray(value), time.perf_counter()
                self.side[at] = side_of(games.shown)
                kept.append((shown, listed, place, chance))
                games.step(place, lesson)
                self.result[at], self.turns[at] = games.result, games.turns
                seconds["policy"] += played - began
                seconds["env"] += time.perf_counter() - played
                asked[half] = ask(half, step + 1)
                after.append(asked[half][0][2])
                self.worth[at] = np.where(games.settled == OPEN, np.nan, games.settled - float(DRAWN))
                self.waiting.append((at, asked[half][1][3]))
                next(learning, None)
        for _ in learning:
            pass
        for at, worth in self.waiting:
            self.worth[at] = np.where(np.isnan(self.worth[at]), np.asarray(worth), self.worth[at])
        self.waiting.clear()
        last = np.stack([np.asarray(answer[2]) for _, answer in asked])
        judged = advantages_of(self.value, self.worth, self.result, last, self.trace, self.luck)
        advantage = self.side * judged[0]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        rows = [jnp.concatenate(part) for part in zip(*kept, strict=True)]
        numbers = (jnp.asarray(part.reshape(-1)) for part in (advantage, *judged[1:]))
        return Samples(*rows, jnp.concatenate(after), *numbers)

    def results(self) -> np.ndarray:
        """int64[3, 4]: how games stand after the steps of the last collection, by lane."""
        ended = self.result.reshape(-1, len(self.lanes))
        return np.stack([np.bincount(ended[:, self.lanes == lane].ravel(), minlength=4) for lane in range(3)])


def measured(network: Any, plan: Plan, lane: int) -> np.ndarray:
    """int64[4] by how they stand: whole games of its likeliest moves, without learning."""
    half, results = plan.lanes // 2, np.zeros(4, np.int64)
    for number in range(-(-plan.games // half)):
        games = Games(np.full(half, lane, np.int8), plan.depth, plan.threads, (plan.seed, 10**6 + number))
        going, key = np.ones(half, bool), jax.random.key(number)
        games.step(np.zeros(half, np.int32))
        while going.any():
            seen = games.shown, games.listed, games.after
            place, *_ = decide(network, *seen, key, True, plan.precision)
            games.step(np.where(going, place, -1))
            results += np.bincount(games.result[going], minlength=4)
            going &= games.result == OPEN
    results[OPEN] = 0
    return results


def outcome(results: np.ndarray, lane: int) -> dict[str, float]:
    """Shares of games that the network (in games against itself: the Attacker) won and drew, with an interval."""
    games, best = int(results[1:].sum()), LOST if lane == DEFENDS else WON
    low, high = wilson(int(results[best]), games) if games else (0.0, 1.0)
    won, drawn = results[[best, DRAWN]] / max(games, 1)
    return {"games": games, "won": won, "drawn": drawn, "won_low": low, "won_high": high}


def say(name: str, plan: Plan, **facts: Any) -> None:
    """A line of the report."""

    def short(fact: Any) -> Any:
        if isinstance(fact, dict):
            return {word: short(part) for word, part in fact.items()}
        return float(f"{fact:.4g}") if isinstance(fact, float) else fact

    report(name, opponent=f"expectimax:depth={plan.depth}", **short(facts))


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
    facts = {"kind": "ppo", "network": choice, "iteration": 0, "minutes": 0.0, "learned_from": 0}
    facts = read_facts(left) if plan.resume else facts
    network = make_network(facts["network"], GAME, jax.random.key(plan.seed))
    if plan.resume:
        return *read_tree(left, (network, plan.adam.init(network))), facts
    network = load_weights(plan.start, GAME) if plan.start else network
    return network, plan.adam.init(network), facts


def save(plan: Plan, learner: Learner, facts: dict[str, Any]) -> None:
    write_tree(Path(plan.out) / "state.safetensors", (learner.network, learner.state), facts)
    save_weights(Path(plan.out) / "general.safetensors", learner.network, facts["network"], [GAME], facts)


def main() -> None:
    began, plan = time.monotonic(), planned()
    network, state, facts = first(plan)
    # One program for calls that differ in these.
    learner = Learner(replace(plan, resume=0, iterations=0, minutes=0, total=0), network, state)
    before, whole = facts["minutes"], plan.total or facts["minutes"] + plan.minutes
    rollouts, learning, parts = Rollouts(plan, facts["iteration"]), iter(()), []
    results, turns, seconds, said, saved = np.zeros((3, 4), np.int64), 0, Counter(), began, began
    while facts["minutes"] < before + plan.minutes and facts["iteration"] < plan.iterations:
        fallen, lesson = 1 - 0.9 * min(facts["minutes"] / whole, 1.0), facts["iteration"] < plan.lessons
        play_key, learn_key = jax.random.split(jax.random.key(plan.seed + 10**5 * facts["iteration"]))
        samples = rollouts.collect(learner.network, play_key, lesson, learning, seconds)
        pace = Pace(plan.rate * fallen, 0.0 if lesson else plan.entropy * fallen, lesson)
        learning = learner.learn(samples, learn_key, pace, parts)  # goes on while the next ones are collected
        now = time.monotonic()
        results += rollouts.results()
        turns += int(rollouts.turns.sum())
        facts |= {"iteration": facts["iteration"] + 1, "minutes": before + (now - began) / 60}
        facts["learned_from"] += int((rollouts.result != OPEN).sum())
        if facts["iteration"] % plan.every == 0:
            known = {name: facts[name] for name in ("iteration", "minutes", "learned_from")}
            known |= {
                "turns": turns / max(results[:, 1:].sum(), 1),
                "per_second": results.sum() / (now - said),
            }
            known |= {name: outcome(results[lane], lane) for lane, name in enumerate(LANES)}
            losses = (
                {name: float(np.mean([part[name] for part in parts])) for name in parts[0]} if parts else {}
            )
            say("general ppo", plan, lesson=lesson, **known, **losses, **seconds)
            results[:], turns, seconds, said = 0, 0, Counter(), now
            parts.clear()
        if now - saved > 60:
            save(plan, learner, facts)
            saved = now
    for _ in learning:
        pass
    save(plan, learner, facts)
    for lane in (ATTACKS, DEFENDS):
        found = outcome(measured(learner.network, plan, lane), lane)
        say("general ppo, at the end", plan, lane=LANES[lane], learned_from=facts["learned_from"], **found)


if __name__ == "__main__":
    main()
