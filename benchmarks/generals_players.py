"""How players of Generals do against one of them, in one program, for tuning on a GPU.

`python benchmarks/generals_players.py hunter cascade cascade:guard=25 cascade:scout=8 --games 2048 --seed 7`

The first player is the opponent of all others. Both seats are played on each map, so games come in pairs. Prints one
JSON line a player. What counts is `stratagem tournament` on seeds that were not used here.
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents import make_agent
from stratagem.arena.ratings import wilson
from stratagem.games import make_game

STRETCH = 50  # turns between two looks at who is done


def turns(game, player, opponent):
    """Some turns of one game: (state, memories, seed, the player's seat) to (state, memories)."""

    def turn(carry, _, seed, seat):
        state, memories = carry
        legal = game.legal(state)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), state.turn))
        views = [game.view(state, place) for place in (seat, 1 - seat)]
        agents = list(
            zip((player, opponent), memories, views, (legal[seat], legal[1 - seat]), keys, strict=True)
        )
        mine, theirs = (agent.act(memory, *rest) for agent, memory, *rest in agents)
        memories = tuple(
            agent.remember(memory, view, action)
            for (agent, memory, view, *_), action in zip(agents, (mine, theirs), strict=True)
        )
        actions = jnp.where(seat == 0, jnp.stack([mine, theirs]), jnp.stack([theirs, mine]))
        return (game.step(state, actions), memories), None

    def stretch(state, memories, seed, seat):
        onward = lambda carry, _: turn(carry, _, seed, seat)  # noqa: E731
        return jax.lax.scan(onward, (state, memories), None, length=STRETCH)[0]

    return jax.jit(jax.vmap(stretch))


def play(game, player, opponent, games, seed):
    """int[games]: +1, 0 or −1 for the player."""
    seeds = jnp.asarray(np.repeat(seed * 1_000_000 + np.arange(games // 2), 2), jnp.int32)
    seats = jnp.asarray(np.tile([0, 1], games // 2), jnp.int32)
    states = jax.jit(jax.vmap(lambda one: game.init(jax.random.key(one))))(seeds)
    copies = lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], games // 2 * 2, axis=0)  # noqa: E731
    memories = jax.tree.map(copies, (player.memory(), opponent.memory()))
    onward = turns(game, player, opponent)
    while not bool(jax.vmap(game.done)(states).all()):
        states, memories = onward(states, memories, seeds, seats)
    returns = np.asarray(jax.vmap(game.returns)(states))
    return returns[np.arange(len(returns)), np.asarray(seats)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("opponent")
    parser.add_argument("players", nargs="+")
    parser.add_argument("--game", default="generals:width=24,height=24,least=18")
    parser.add_argument("--games", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0, help="0 to 2000; other seeds give other maps")
    arguments = parser.parse_args()
    game = make_game(arguments.game)
    for name in arguments.players:
        began = time.perf_counter()
        player, opponent = make_agent(name, game), make_agent(arguments.opponent, game)
        results = play(game, player, opponent, arguments.games, arguments.seed)
        wins, count = int((results > 0).sum()), len(results)
        line = {
            "player": name,
            "opponent": arguments.opponent,
            "games": count,
            "wins": wins,
            "draws": int((results == 0).sum()),
            "share": round(wins / count, 4),
            "interval": [round(bound, 3) for bound in wilson(wins, count)],
            "seconds": round(time.perf_counter() - began, 1),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
