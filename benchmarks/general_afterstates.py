"""GENERAL learned by looking one action ahead, against expectimax and against itself, in millions of games.

    python benchmarks/general_afterstates.py --out OUT --minutes 9 [--attacks 0.6] [--start FILE] [--resume 1]

In a share of the games the network attacks and `expectimax` defends, in another it is the other way round, in the rest
it plays itself. Games are played by numba on all cores, one half of them as the network decides in the other half and
learns from the steps before (`general_lanes.py`). A share of the games, `wild`, begins anywhere (`general_starts.py`).

A decision: of the actions that the policy likes best, and some others by lot, the one is played after which the
network, before any die falls, expects most. So luck need not be told from skill, as a policy gradient would have to.
What it expects is learned by TD(λ), and the policy learns to say at once what such a look ahead finds.

One JSON line every few iterations, weights for `net` and `az` every minute, and at the end games
without learning, by looking ahead and by the policy alone, with intervals.

Axes: T steps, B games, L listed actions, K candidates, N samples.
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

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

sys.path.insert(0, str(Path(__file__).parent))
from general_lanes import ATTACKS, BOTH, DEFENDS, DRAWN, LOST, OPEN, WON, Games
from general_starts import LONGEST
from machine import report

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
NEVER = -1e9  # the logit of what is not there
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
    total: float = 0.0  # minutes of all calls, over which the rate falls; 0: until this one ends
    iterations: int = 10**9  # at most, of all calls
    lanes: int = 8192  # B, games side by side
    steps: int = 16  # T, of each game in an iteration
    batch: int = 8192  # samples of an update
    epochs: int = 2  # how often a sample is learned from
    wild: float = 0.0  # share of games that begin anywhere
    wild_end: float = -1.0  # the same at the end; −1: as at the beginning
    likely: int = 6  # actions that a decision looks at because the policy likes them
    others: int = 2  # and by lot
    heat: float = 0.02  # how much less an action is worth that the policy shall play e times less often
    rate: float = 6e-4  # of learning; falls to a tenth
    trace: float = 0.8  # λ
    value: float = 1.0  # weight of the values' loss
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
    return output, output.logits.at[listed.astype(jnp.int32)].get(mode="fill", fill_value=NEVER)


def lowered(network: Any, precision: str) -> Any:
    """The network with its trunk in this precision; the heads tell small differences, so they keep theirs."""
    return eqx.tree_at(
        lambda net: (net.stem, net.blocks), network, cast((network.stem, network.blocks), precision)
    )


def after_of(shown: Array, action: Array, key: Array) -> tuple[Array, Array]:
    """(int16[107], bool): the position after an action, before the die, and whether it left nothing else to chance.

    Which guard an interception takes is drawn. Where a conversion is to be chosen, the same side goes on.
    """
    board, hits, used, turn = shown[:100], shown[100], shown[101:104], shown[104]
    start, end = action // 100, action % 100
    role, choosing = turn % 2, shown[106] > 0
    storming = ~choosing & (start == 44)
    moving = ~choosing & ~storming
    between = BETWEEN[start, end]
    in_line = STRAIGHT[start, end] & ~((board[between] != 0) | ON_GENERAL[between]).any()
    garrisoning = moving & (shown[105] == 6) & ~in_line
    attacking = moving & ON_GENERAL[end]
    cells = jnp.arange(100)
    after = jnp.where(moving & (cells == start), 0, board)
    guards = IS_MOAT & (after == 2)
    taken = jax.random.categorical(key, jnp.where(guards, 0.0, -jnp.inf))
    intercepted = attacking & guards.any()
    after = jnp.where(intercepted & (cells == taken), 0, after)
    landed = jnp.where(choosing, 2, jnp.where(storming, 0, role + 1))
    after = jnp.where(~attacking & (cells == end), landed, after)
    inside = IN_TRIANGLE[:, end] & moving & (role == 1)  # bool[2]
    prisoners = (inside[:, None] & IN_TRIANGLE & (after == 1)).any(axis=0)
    after = jnp.where(prisoners & (prisoners.sum() == 1), 2, after)
    pending = prisoners.sum() > 1
    spent = jnp.stack([garrisoning & (role == 0), garrisoning & (role == 1), storming]) | (used > 0)
    numbers = [hits + (attacking & ~intercepted), *spent, turn + ~pending, 0, pending * (1 + inside[1])]
    facts = jnp.stack([jnp.asarray(number, shown.dtype) for number in numbers])
    return jnp.concatenate([after.astype(shown.dtype), facts]), ~intercepted


def _between() -> tuple[np.ndarray, np.ndarray]:
    """(bool[100, 100], int32[100, 100, 5]): whether a die of 6 leads there in a line, and over which cells."""
    row, column = np.divmod(np.arange(100), 10)
    down, right = row[None] - row[:, None], column[None] - column[:, None]
    straight = np.isin(np.abs(down), (0, 6)) & np.isin(np.abs(right), (0, 6)) & ((down != 0) | (right != 0))
    step = np.arange(1, 6)
    over = (row[:, None, None] + down[..., None] * step // 6) * 10
    over = over + column[:, None, None] + right[..., None] * step // 6
    return straight, np.where(straight[..., None], over, 0).astype(np.int32)


STRAIGHT, BETWEEN = (jnp.asarray(table) for table in _between())
ON_GENERAL, IN_TRIANGLE = jnp.asarray(IS_GENERAL), jnp.asarray(TRIANGLE)


def settled(after: Array) -> tuple[Array, Array]:
    """(bool, float32): whether a position is decided, and what the Attacker has of it."""
    won, lost = after[100] >= 3, ~(after[:100] == 1).any()
    return won | lost | (after[104] >= LONGEST), jnp.where(won, 1.0, jnp.where(lost, -1.0, 0.0))


class Decided(NamedTuple):
    """One decision of each game."""

    place: Any  # int32[B]: of what is played, in the list
    candidates: (
        Any  # int32[B, K]: places of what was looked at, the played one among them; L where there is nothing
    )
    worths: Any  # float32[B, K]: what the mover expects of them; −inf where there is nothing
    after: Any  # int16[B, 107]: the position after what is played
    sure: Any  # bool[B]: that is certainly the position
    worth: Any  # float32[B]: what the Attacker has of it


@partial(jax.jit, static_argnames=("plan", "ahead"))
def decide(plan: Plan, network: Any, shown: Array, listed: Array, key: Array, ahead: bool = True) -> Decided:
    """What the network plays; without looking `ahead`, what its policy likes best."""
    network = lowered(network, plan.precision)
    lot_key, guard_key = jax.random.split(key)
    _, logits = jax.vmap(lambda one, actions: opinion(network, one, actions, None))(shown, listed)
    length = logits.shape[1]
    likely, candidates = jax.lax.top_k(logits, plan.likely if ahead else 1)
    if ahead and plan.others:
        rows = jnp.arange(len(logits))[:, None]
        lots = jnp.where(logits > NEVER / 2, jax.random.uniform(lot_key, logits.shape), NEVER)
        drawn, others = jax.lax.top_k(lots.at[rows, candidates].set(NEVER), plan.others)
        likely, candidates = jnp.concatenate([likely, drawn], 1), jnp.concatenate([candidates, others], 1)
    there = likely > NEVER / 2
    actions = jnp.where(there, jnp.take_along_axis(listed, candidates, axis=1), 0).astype(jnp.int32)
    keys = jax.random.split(guard_key, actions.shape)
    afters, sure = jax.vmap(jax.vmap(after_of, (None, 0, 0)))(shown, actions, keys)
    over, result = jax.vmap(jax.vmap(settled))(afters)
    expected = jax.vmap(jax.vmap(lambda one: network(view_of(one)).values[0]))(afters) * side_of(afters)
    expected = jnp.where(over, result, expected)
    worths = jnp.where(there, side_of(shown)[:, None] * expected, -jnp.inf)
    best = worths.argmax(axis=1)[:, None]

    def of_best(values: Array) -> Array:
        return jnp.take_along_axis(values, best, axis=1)[:, 0]

    after = jnp.take_along_axis(afters, best[..., None], axis=1)[:, 0]
    candidates = jnp.where(there, candidates, length)
    return Decided(of_best(candidates), candidates, worths, after, of_best(sure), of_best(expected))


def side_of(shown: Array) -> Array:
    """[…]: 1 where the Attacker is to move, −1 elsewhere, from int16[…, 107]."""
    return 1 - 2 * (shown[..., 104] % 2)


class Samples(NamedTuple):
    """Decisions, [N]."""

    shown: Any  # int16[107]
    listed: Any  # int16[L]
    candidates: Any  # int32[K]: places in the list
    shares: Any  # float32[K]: how often the policy shall play them
    after: Any  # int16[107]: the position after what was played
    sure: Any  # bool: that is certainly the position
    target: Any  # float32: what the value should have been, the Attacker's
    after_target: Any  # float32: the same of `after`


def sample_loss(plan: Plan, network: Any, sample: Samples) -> dict[str, Array]:
    """The parts of one sample's loss."""
    training = Training(jax.random.key(0)) if plan.product else None
    output, logits = opinion(network, sample.shown, sample.listed, training)
    chances = jax.nn.log_softmax(logits).at[sample.candidates].get(mode="fill", fill_value=0.0)
    after = network(view_of(sample.after), training)
    parts = {
        "policy_loss": -(sample.shares * chances).sum(),
        "value_loss": judged(output, sample.shown, sample.target),
        "after_loss": sample.sure * judged(after, sample.after, sample.after_target),
        "shares_entropy": -(sample.shares * jnp.log(jnp.maximum(sample.shares, 1e-9))).sum(),
        "drift": drift(output, logits),
    }
    values = parts["value_loss"] + parts["after_loss"]
    return parts | {"loss": parts["policy_loss"] + plan.value * values + STEADY * parts["drift"]}


def judged(output: Output, shown: Array, target: Array) -> Array:
    """How wrong the value of a position was; the target is the Attacker's."""
    target = side_of(shown) * target
    return value_loss(output, jnp.stack([target, -target]))


@partial(jax.jit, static_argnames="plan", donate_argnames="state")
def update(
    plan: Plan, network: Any, state: Any, samples: Samples, rows: Array, rate: Array
) -> tuple[Any, Any, dict[str, Array]]:
    """(Network and state of Adam after one batch, means of the parts of the loss)."""

    def loss(network: Any) -> tuple[Array, dict[str, Array]]:
        low, batch = lowered(network, plan.precision), jax.tree.map(lambda leaf: leaf[rows], samples)
        parts = jax.vmap(lambda sample: sample_loss(plan, low, sample))(batch)
        means = {name: part.mean() for name, part in parts.items()}
        return means["loss"], means

    (_, means), gradients = jax.value_and_grad(loss, has_aux=True)(network)
    changes, state = plan.adam.update(gradients, state, network)
    return optax.apply_updates(network, jax.tree.map(lambda x: -rate * x, changes)), state, means


class Learner:
    """A network that learns from one batch whenever it is told to."""

    def __init__(self, plan: Plan, network: Any, state: Any):
        self.plan, self.network, self.state = plan, network, state

    def learn(
        self, samples: Samples, key: Array, rate: float, parts: list[dict[str, Array]]
    ) -> Iterator[None]:
        """All batches of all epochs, one at a time; adds to the parts of the loss."""
        keys = jax.random.split(key, self.plan.epochs)
        for epoch in keys:
            order = jax.random.permutation(epoch, len(samples.target)).reshape(-1, self.plan.batch)
            for rows in order:
                self.network, self.state, means = update(
                    self.plan, self.network, self.state, samples, rows, rate
                )
                parts.append(means)
                yield


def targets_of(
    worth: np.ndarray, result: np.ndarray, last: np.ndarray, trace: float
) -> tuple[np.ndarray, np.ndarray]:
    """(float32[T, …] targets of decisions, the same of the positions after them), by TD(λ); all the Attacker's.

    `worth` is what was expected of the position after each decision, `result` how the game stands when somebody
    decides again, `last` what is then expected after the last step.
    """
    after, found = np.empty_like(worth), last
    for step in reversed(range(len(worth))):
        going = result[step] == OPEN
        after[step] = np.where(going, trace * found + (1 - trace) * last, result[step] - float(DRAWN))
        found, last = after[step], worth[step]
    return trace * after + (1 - trace) * worth, after


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
        half, self.plan, self.asked = plan.lanes // 2, plan, settings_of(plan)
        self.lanes = lanes_of(plan, half)
        self.halves = [
            Games(self.lanes, plan.depth, plan.threads, (plan.seed, begun, side), plan.wild)
            for side in range(2)
        ]
        shape = (plan.steps, 2, half)
        self.result, self.turns = np.empty(shape, np.int8), np.empty(shape, np.int16)
        self.wild, self.worth = np.empty(shape, np.int8), np.empty(shape, np.float32)
        for games in self.halves:
            games.step(np.zeros(half, np.int32))

    def collect(
        self, network: Any, key: Array, wild: float, learning: Iterator[None], seconds: Counter
    ) -> Samples:
        """Samples [N], while the learning goes on; adds to the seconds in games and in waiting for the network."""

        def ask(half: int, step: int) -> tuple[Array, Array, Decided]:
            games, turn_key = self.halves[half], jax.random.fold_in(key, 2 * step + half)
            # Copied: what is shown changes while the device may still read it.
            seen = tuple(jnp.array(part, copy=True) for part in (games.shown, games.listed))
            return *seen, decide(self.asked, network, *seen, turn_key)

        asked, kept = [ask(0, 0), ask(1, 0)], []
        for step in range(self.plan.steps):
            for half, games in enumerate(self.halves):
                at, began, games.wild = (step, half), time.perf_counter(), wild
                shown, listed, made = asked[half]
                place, self.worth[at] = np.asarray(made.place), np.asarray(made.worth)
                played = time.perf_counter()
                shares = jax.nn.softmax(made.worths / self.plan.heat)
                kept.append((shown, listed, made.candidates, shares, made.after, made.sure))
                games.step(place)
                self.result[at], self.turns[at], self.wild[at] = games.result, games.turns, games.was_wild
                seconds["policy"] += played - began
                seconds["env"] += time.perf_counter() - played
                asked[half] = ask(half, step + 1)
                next(learning, None)
        began = time.perf_counter()
        for _ in learning:
            pass
        last = np.stack([np.asarray(made.worth) for *_, made in asked])
        seconds["learning"] += time.perf_counter() - began
        targets = targets_of(self.worth, self.result, last, self.plan.trace)
        rows = [jnp.concatenate(part) for part in zip(*kept, strict=True)]
        return Samples(*rows, *(jnp.asarray(part.reshape(-1)) for part in targets))

    def results(self) -> np.ndarray:
        """int64[3, 4]: how games from the real start stand after the steps of the last collection, by lane."""
        ended = np.where(self.wild, OPEN, self.result).reshape(-1, len(self.lanes))
        return np.stack([np.bincount(ended[:, self.lanes == lane].ravel(), minlength=4) for lane in range(3)])


def settings_of(plan: Plan) -> Plan:
    """What is compiled: one program for calls that differ in the rest."""
    return replace(plan, out="", start="", resume=0, iterations=0, minutes=0, total=0, games=0, every=0)


def measured(network: Any, plan: Plan, lane: int, ahead: bool) -> np.ndarray:
    """int64[4] by how they stand: whole games, without learning."""
    half, results = plan.lanes // 2, np.zeros(4, np.int64)
    for number in range(-(-plan.games // half)):
        games = Games(np.full(half, lane, np.int8), plan.depth, plan.threads, (plan.seed, 10**6 + number))
        going, key = np.ones(half, bool), jax.random.key(number)
        games.step(np.zeros(half, np.int32))
        while going.any():
            place = decide(settings_of(plan), network, games.shown, games.listed, key, ahead).place
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
    points = won + drawn / 2
    return {"games": games, "won": won, "drawn": drawn, "points": points, "won_low": low, "won_high": high}


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
    facts = {"kind": "afterstates", "network": choice, "iteration": 0, "minutes": 0.0, "learned_from": 0}
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
    learner = Learner(settings_of(plan), network, state)
    before, whole = facts["minutes"], plan.total or facts["minutes"] + plan.minutes
    rollouts, learning, parts = Rollouts(plan, facts["iteration"]), iter(()), []
    results, turns, seconds, said, saved = np.zeros((3, 4), np.int64), 0, Counter(), began, began
    while facts["minutes"] < before + plan.minutes and facts["iteration"] < plan.iterations:
        left = 1 - min(facts["minutes"] / whole, 1.0)
        play_key, learn_key = jax.random.split(jax.random.key(plan.seed + 10**5 * facts["iteration"]))
        wild = plan.wild if plan.wild_end < 0 else plan.wild_end + (plan.wild - plan.wild_end) * left
        samples = rollouts.collect(learner.network, play_key, wild, learning, seconds)
        learning = learner.learn(
            samples, learn_key, plan.rate * (0.1 + 0.9 * left), parts
        )  # goes on while the next ones are collected
        now = time.monotonic()
        results += rollouts.results()
        turns += int(rollouts.turns[rollouts.wild == 0].sum())
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
            say("general afterstates", plan, **known, **losses, **seconds)
            results[:], turns, seconds, said = 0, 0, Counter(), now
            parts.clear()
        if now - saved > 60:
            save(plan, learner, facts)
            saved = now
    for _ in learning:
        pass
    save(plan, learner, facts)
    for lane, ahead in ((ATTACKS, True), (DEFENDS, True), (ATTACKS, False), (DEFENDS, False)):
        found = outcome(measured(learner.network, plan, lane, ahead), lane)
        say(
            "general afterstates, at the end",
            plan,
            lane=LANES[lane],
            ahead=ahead,
            learned_from=facts["learned_from"],
            **found,
        )


if __name__ == "__main__":
    main()
