"""PPO on Generals: turns a second through the whole iteration, and where the time goes; one JSON line.

    python benchmarks/ppo.py [--side 24] [--games 512] [--steps 512] [--network patch] [--json] [--out FILE]

An iteration is the rollout (rules, views with memory, network, draw of the actions) and the updates on the samples that
the advantage filter kept. Each part is also run alone, in as many batches of the same size: maps (made anew for the
stock), rules (step and restart), views (both views, memories, records, legal masks), network (features and forward),
update (advantages, filter, all gradient steps). What remains is the drawing of actions and what the parts lose when
they wait for each other.

The goal on one H200 is 30,000 turns a second at 24 × 24 with the network of 15.4 million; the published figures imply
3,300.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

sys.path.insert(0, str(Path(__file__).parent))
from machine import machine, measure

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.generals import Generals
from stratagem.learners.ppo import PPO, PPOConfig, learn
from stratagem.learners.ppo_rollout import fresh_states, judge, look, replaced, restock, rewarding, rollout
from stratagem.networks import cast, parameters, worked_out_as

GOAL = 30_000
PEAK = {"H200": 989e12, "H100": 989e12}  # operations a second in bfloat16, without sparsity


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--side", type=int, default=24)
    asked.add_argument("--games", type=int, default=512)
    asked.add_argument("--steps", type=int, default=512)
    asked.add_argument("--network", default="patch")
    asked.add_argument("--top", type=float, default=0.25)
    asked.add_argument("--minibatch", type=int, default=1024)
    asked.add_argument("--stock", type=int, default=4096)
    asked.add_argument("--precision", default="bfloat16")
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--whole", action="store_true", help="the whole iteration alone, without its parts")
    asked.add_argument("--json", action="store_true", help="always on; for the sake of habit")
    asked.add_argument("--out", type=Path, help="also write the line here")
    words = asked.parse_args()
    use_compile_cache()
    line = json.dumps(measured(words))
    print(line, flush=True)
    if words.out:
        words.out.write_text(line + "\n", encoding="utf-8")


def measured(words):
    """All facts."""
    side = words.side
    small = {} if side >= 18 else {"castles_from": 1, "castles_to": 3, "apart": side // 2}
    game = Generals(width=side, height=side, **small)
    senses = GeneralsSenses(game)
    config = PPOConfig(
        network=words.network, games=words.games, steps=words.steps, top=words.top, minibatch=words.minibatch,
        stock=words.stock, restock=min(128, words.stock), precision=words.precision,
    )  # fmt: skip
    learner = PPO(game, senses, config)
    began = time.perf_counter()
    state = jax.block_until_ready(learner.start(jax.random.key(0)))
    state, _ = learner.iterate(state)
    compiling = time.perf_counter() - began
    whole = measure(lambda: learner.iterate(state), words.repeats)
    turns = words.games * words.steps
    count = parameters(state.network)
    tokens = (-(-side // 3)) ** 2 + 3
    samples = config.batches(game)[0] * config.batches(game)[1]
    # Two operations a weight and token forward, three times as many to learn. Attention itself is below 5 %.
    work = 2 * count * tokens * (2 * turns + 3 * samples)
    kind = jax.devices()[0].device_kind
    peak = next((speed for name, speed in PEAK.items() if name in kind), None)
    parts = {} if words.whole else split(game, senses, config, state, words.repeats)
    apart = differences(game, senses, config, state) if "flash" in words.network else None
    return {
        "benchmark": "ppo iteration",
        "turns_a_second": turns / whole["median"],
        "goal": GOAL,
        "seconds": whole,
        "parts": parts,
        "rest": whole["median"] - sum(parts.values()) if parts else None,
        "side": side,
        "games": words.games,
        "steps": words.steps,
        "network": words.network,
        "parameters": count,
        "precision": words.precision,
        "samples_learned": samples,
        "apart": apart,
        "operations_a_second": work / whole["median"],
        "share_of_peak": work / whole["median"] / peak if peak else None,
        "first_iteration_with_compiling": compiling,
        "machine": machine(),
    }


def differences(game, senses, config, state):
    """How far attention in one kernel is from the plain one in what the network says and in what it would learn:
    norm of the difference over the norm, and the same for the plain one in half and in full precision."""
    records = jax.jit(lambda lanes: look(game, senses, lanes)[1])(state.lanes)
    few = jax.tree.map(lambda leaf: leaf[:64], records)
    plain = worked_out_as(state.network, config.network.replace("flash=yes", "flash=no"), senses)

    @partial(jax.jit, static_argnums=1)
    def said(network, precision):
        def told(network):
            judged = judge(senses, cast(network, jnp.dtype(precision)), few)
            beliefs = jax.nn.log_softmax(judged.belief.astype(jnp.float32))
            return beliefs[..., ::7].mean(), (judged.logits.astype(jnp.float32), beliefs)

        gradient, outputs = jax.grad(told, has_aux=True)(network)
        return jax.tree.leaves(gradient), outputs

    exact, half, one = said(plain, "float32"), said(plain, "bfloat16"), said(state.network, config.precision)

    def far(one, other):
        apart = jnp.sqrt(sum(jnp.square(a - b).sum() for a, b in zip(one, other, strict=True)))
        return float(apart / jnp.sqrt(sum(jnp.square(b).sum() for b in other)))

    names = ("gradient", "outputs")
    return {
        "one kernel": {name: far(a, b) for name, a, b in zip(names, one, exact, strict=True)},
        "plain": {name: far(a, b) for name, a, b in zip(names, half, exact, strict=True)},
    }


def split(game, senses, config, state, repeats):
    """Seconds of each part alone."""
    key = jax.random.key(1)
    player = cast(state.network, jnp.dtype(config.precision))
    lanes = state.lanes
    records = jax.block_until_ready(jax.jit(lambda lanes: look(game, senses, lanes)[1])(lanes))
    reward = rewarding(game, None, 0.0)
    play = jax.jit(partial(rollout, game, senses, steps=config.steps, reward=reward))
    _, turns = jax.block_until_ready(play(network=player, lanes=lanes, key=key))

    def seconds(work, *arguments):
        compiled = jax.jit(work)
        return measure(lambda: jax.block_until_ready(compiled(*arguments)), repeats)["median"]

    def maps(lanes, key):
        return restock(game, lanes, config.restock, key)

    return {
        "maps": seconds(maps, lanes, key),
        "rules": seconds(partial(only_rules, game, config), lanes, turns.action, key),
        "views": seconds(partial(only_views, game, senses), lanes, turns.action),
        "network": seconds(partial(only_network, senses, config), player, records),
        "update": seconds(partial(learn, game, senses, config), state, turns, key),
    }


def only_rules(game, config, lanes, actions, key):
    """Steps and restarts."""

    def turn(carry, row):
        states, key = carry
        key, step_key, start_key = jax.random.split(key, 3)
        reached = jax.vmap(game.step)(states, row, jax.random.split(step_key, config.games))
        done = jax.vmap(game.done)(reached)
        return (replaced(done, fresh_states(game, lanes.stock, config.games, start_key), reached), key), None

    return lax.scan(turn, (lanes.state, key), actions)[0]


def only_views(game, senses, lanes, actions):
    """Views, memories, records and masks of every turn, kept as a rollout keeps them."""

    def turn(lanes, row):
        memory, record, legal, _ = look(game, senses, lanes)
        memory = jax.vmap(jax.vmap(senses.note))(memory, row)
        # Something of this turn in the next (in truth nothing), so that nothing is worked out once for all turns.
        odd = (row[:, :1] < 0).astype(jnp.int32)
        state = lanes.state._replace(turn=lanes.state.turn + 1, cells=lanes.state.cells ^ odd)
        return lanes._replace(state=state, memory=memory), (record, jnp.packbits(legal, axis=-1))

    return lax.scan(turn, lanes, actions)


def only_network(senses, config, player, records):
    """As many judgements, each batch fed with something of the last one."""

    def turn(records, _):
        judged = judge(senses, player, records)
        nudge = (judged.logits.max(axis=-1) > 1e8) | (judged.belief[..., 0] > 1e8)  # never, but who knows
        return records._replace(turn=records.turn + nudge.astype(records.turn.dtype)), None

    return lax.scan(turn, records, None, length=config.steps)[0]


if __name__ == "__main__":
    main()
