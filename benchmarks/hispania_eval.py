"""How a player of Hispania does: wins, share of victory points, historical alignment, and time a decision.

    python benchmarks/hispania_eval.py --player historical --rivals random naive --games 400
    python benchmarks/hispania_eval.py --player policy:weights=FILE,temperature=0 --maps iberia-small iberia-medium
    python benchmarks/hispania_eval.py --player policy:weights=OLD policy:weights=NEW
    python benchmarks/hispania_eval.py --table iberia-small

The player has each seat in turn, the rival all others; one JSON line a map and rival. A weight file trained on one map
plays all maps, so transfer is measured by naming other maps. An earlier version is a rival like any other. Alignment:
`docs/hispania.md`. All games of a line run in one program, which networks of one shape share.
"""

import argparse
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
from machine import report  # noqa: E402

from stratagem.agents import make_agent  # noqa: E402
from stratagem.agents.hispania_alignment import alignment, expected_rows  # noqa: E402
from stratagem.agents.policy import Policy  # noqa: E402
from stratagem.arena.ratings import wilson  # noqa: E402
from stratagem.core.compile_cache import use_compile_cache  # noqa: E402
from stratagem.games.hispania.rules import Hispania  # noqa: E402
from stratagem.learners.guests import Snapshot  # noqa: E402

MAPS = ["iberia-small", "iberia-medium", "hispania"]


def parted(agent):
    """(Its network or None, how to make the agent of that): with the network apart, programs do not depend on it."""
    if isinstance(agent, Policy):
        return agent.network, lambda network: Snapshot(agent.senses, network, agent.temperature)
    return None, lambda _: agent


def play(game, player, rival, games, seed):
    """(returns, scores, alignment: float[B, P], decisions: int[B]) of games in which seat B mod P is the player's."""
    seats = game.spec.seats
    (network, made), (other, other_made) = parted(player), parted(rival)
    own = jnp.arange(games) % seats

    def one(player, rival, carry, seat, key):
        state, aligned, decisions = carry
        act_key, rival_key, step_key = jax.random.split(key, 3)
        legal, view = game.choices(state).reshape(-1), game.view(state, seat)
        asked = [agent.act(agent.memory(), view, legal, own_key)
                 for agent, own_key in ((player, act_key), (rival, rival_key))]  # fmt: skip
        action = jnp.where(game.to_move(state)[seat], *asked)
        reached = game.step(state, jnp.full(seats, action, jnp.int32), step_key)
        over = game.done(state)
        ends = ~over & ((reached.round != state.round) | game.done(reached))
        aligned = aligned + jnp.where(ends, alignment(game.tables, state), 0.0)
        state = jax.tree.map(lambda old, new: jnp.where(over, old, new), state, reached)
        return state, aligned, decisions + ~over

    def turn(player, rival, carry):
        games_now, number = carry
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), number), games)
        return jax.vmap(partial(one, player, rival))(games_now, own, keys), number + 1

    def unfinished(carry):
        return ~jax.vmap(game.done)(carry[0][0]).all()

    @jax.jit
    def run(network, other):
        states = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (games, *leaf.shape)), game.init(jax.random.key(0))
        )
        start = (states, jnp.zeros((games, 2, seats)), jnp.zeros(games, jnp.int32))
        (states, aligned, decisions), _ = jax.lax.while_loop(
            unfinished, partial(turn, made(network), other_made(other)), (start, jnp.int32(0))
        )
        return jax.vmap(game.returns)(states), jax.vmap(game.scores)(states), aligned, decisions

    returns, scores, aligned, decisions = (np.asarray(part) for part in run(network, other))
    return returns, scores, aligned[:, 0] / np.maximum(aligned[:, 1], 1), decisions


def decision_ms(game, player, repeats=30):
    """Median milliseconds of one decision alone, on the device at hand."""
    network, made = parted(player)

    @jax.jit
    def act(network, state, key):
        player = made(network)
        return player.act(player.memory(), game.view(state, 0), game.choices(state).reshape(-1), key)

    state, spent = game.init(jax.random.key(0)), []
    act(network, state, jax.random.key(0)).block_until_ready()
    for number in range(repeats):
        key, began = jax.random.key(number), time.perf_counter()
        act(network, state, key).block_until_ready()
        spent.append(1000 * (time.perf_counter() - began))
    return float(np.median(spent))


def interval(values):
    """The mean and its 95 % interval."""
    mean, wide = values.mean(), 1.96 * values.std(ddof=1) / len(values) ** 0.5
    return [round(float(one), 4) for one in (mean, mean - wide, mean + wide)]


def table(name):
    """The table that alignment goes by, as Markdown."""
    print("| nation | count | regions and points |\n|---|---|---|")
    for nation, when, regions in expected_rows(Hispania(name).tables):
        print(f"| {nation} | {when} | {', '.join(f'{region} {points:g}' for region, points in regions)} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--player", nargs="+", default=["historical"])
    parser.add_argument("--rivals", nargs="*", default=["random", "naive", "historical"])
    parser.add_argument("--maps", nargs="*", default=["iberia-small"])
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", choices=MAPS, help="print what alignment goes by, and nothing else")
    options = parser.parse_args()
    if options.table:
        table(options.table)
        return
    use_compile_cache()
    for name, rival, player in product(options.maps, options.rivals, options.player):
        evaluate(name, rival, player, options.games, options.seed)


def evaluate(name, rival, chosen, games, seed):
    """One line."""
    game = Hispania(name)
    player = make_agent(chosen, game)
    spent, began = decision_ms(game, player), time.perf_counter()
    returns, scores, aligned, decisions = play(game, player, make_agent(rival, game), games, seed)
    seconds = time.perf_counter() - began
    every, own = np.arange(games), np.arange(games) % game.spec.seats
    wins = int((returns[every, own] > 0).sum())
    others = aligned.sum(axis=1) - aligned[every, own]
    report(
        "hispania evaluation",
        map=name,
        player=chosen,
        rival=rival,
        games=games,
        wins=wins,
        win_rate=round(wins / games, 4),
        win_interval=[round(bound, 4) for bound in wilson(wins, games)],
        shared=int((returns[every, own] == 0).sum()),
        wins_by_seat=[int((returns[own == seat, seat] > 0).sum()) for seat in range(game.spec.seats)],
        points_share=interval(scores[every, own] / np.maximum(scores.sum(axis=1), 1)),
        fair_share=1 / game.spec.seats,
        points=round(float(scores[every, own].mean()), 2),
        alignment=interval(aligned[every, own]),
        alignment_of_rival=interval(others / (game.spec.seats - 1)),
        decisions_a_game=round(float(decisions.mean()), 1),
        decision_ms=round(spent, 2),
        seconds=round(seconds, 1),
    )


if __name__ == "__main__":
    main()
