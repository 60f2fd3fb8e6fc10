"""AlphaZero: games of self-play a second, 100 simulations a move, and where the time goes; one JSON line each.

    python benchmarks/alphazero.py [--lanes 256] [--steps 8] [--networks paper] [--search puct] [--simulations 100]

The share of the network is measured by evaluating as many positions, in as many batches, in a loop of its own; that
of the rules by stepping as many; the tree is the rest. The yardstick is the pipeline of the Corso paper: 3,000 games
in about six hours with training, 0.14 a second.
"""

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

sys.path.insert(0, str(Path(__file__).parent))
from machine import measure, report

from stratagem.games.corso import Corso
from stratagem.learners.alphazero import AlphaZeroConfig, play_iteration, self_player
from stratagem.learners.selfplay import start_lanes
from stratagem.networks import make_network, parameters
from stratagem.networks.outputs import evaluator

PAPER = 0.14  # games a second


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--lanes", type=int, default=256)
    asked.add_argument("--steps", type=int, default=8)
    asked.add_argument("--networks", nargs="*", default=["paper"])
    asked.add_argument("--search", default="puct")
    asked.add_argument("--simulations", type=int, default=100)
    asked.add_argument("--precision", default="float32")
    asked.add_argument("--repeats", type=int, default=3)
    words = asked.parse_args()
    game = Corso()
    for name in words.networks:
        config = AlphaZeroConfig(
            network=name, lanes=words.lanes, steps=words.steps, search=words.search,
            simulations=words.simulations, precision=words.precision,
        )  # fmt: skip
        network = make_network(name, game, jax.random.key(0))
        lanes = start_lanes(game, words.lanes, jax.random.key(1))
        play = jax.jit(partial(play_iteration, game, config))
        # Lanes start together; one lap of a long game apart, they end games at a steady rate.
        lap = jax.jit(partial(play_iteration, game, replace(config, steps=25, simulations=2)))
        for index in range(4):
            lanes, _, tally = lap(network, lanes, jax.random.key(2 + index))
        moves_a_game = float(tally.moves / tally.games)
        waiting = partial(timed, words.repeats)
        whole = waiting(play, network, lanes, jax.random.key(9))
        moves = words.lanes * words.steps
        thinking = waiting(jax.jit(partial(only_network, game, config)), network, lanes.playing.state)
        stepping = waiting(jax.jit(partial(only_rules, game, config)), lanes.playing.state)
        games = moves / moves_a_game / whole["median"]
        shares = {"network": thinking["median"], "rules": stepping["median"]}
        shares = {name: seconds / whole["median"] for name, seconds in shares.items()}
        report(
            "alphazero self-play",
            network=name,
            parameters=parameters(network),
            search=words.search,
            simulations=words.simulations,
            precision=words.precision,
            lanes=words.lanes,
            steps=words.steps,
            seconds=whole,
            moves_a_second=moves / whole["median"],
            moves_a_game=moves_a_game,
            games_a_second=games,
            times_the_paper=games / PAPER,
            shares=shares | {"tree": 1 - sum(shares.values())},
        )


def timed(repeats, work, *arguments):
    """Seconds of a compiled function."""
    return measure(lambda: jax.block_until_ready(work(*arguments)), repeats)


def only_network(game, config, network, states):
    """As many evaluations as the self-play makes, each batch fed with something of the last one."""
    evaluate = jax.vmap(evaluator(game, self_player(game, config, network)))

    def again(_, states):
        logits, values = evaluate(states)
        mover = jnp.where(values[:, 0] > 2, 1 - states.mover, states.mover)  # never, but who knows
        return states._replace(mover=mover + (logits[:, 0] > 1e9))

    return lax.fori_loop(0, config.steps * (config.simulations + 1), again, states)


def only_rules(game, config, states):
    """As many steps, with what the search asks about each new state."""

    def again(index, states):
        legal = jax.vmap(game.legal)(states).any(axis=1)
        actions = jnp.argmax(legal, axis=1)[:, None] * jnp.ones((1, game.spec.seats), jnp.int32)
        stepped = jax.vmap(partial(game.step, key=None))(states, actions)
        over = jax.vmap(game.done)(stepped) & (jax.vmap(game.returns)(stepped)[:, 0] < 2)
        views = jax.vmap(game.view)(stepped, stepped.mover)
        fresh = jax.vmap(lambda _: game.init(None))(over)
        keep = over | (views.sum(axis=(1, 2, 3)) < 0)
        return jax.tree.map(
            lambda new, old: jnp.where(keep.reshape(-1, *[1] * (old.ndim - 1)), new, old), fresh, stepped
        )

    return lax.fori_loop(0, config.steps * (config.simulations + 1), again, states)


if __name__ == "__main__":
    main()
