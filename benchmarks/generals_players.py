"""How players of Generals do against one of them, in one program.

`python benchmarks/generals_players.py hunter cascade cascade:guard=25 cascade:scout=8 --games 1024 --seed 7`

The first player is the opponent of all others. Both seats are played on each map, so games come in pairs. Prints one
JSON line a player. On a GPU say `--abreast 2048`. What counts is a seed on which nothing was tuned.
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

STRETCH = 25  # turns between two looks at who is done


def turns(game, player, opponent):
    """Some turns of each game: (states, memories, seeds, the player's seats) to (states, memories)."""

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


def replaced(leaves, others, gone):
    """A tree of arrays [B, …] with those of `gone` (bool[B]) taken from another one."""
    choose = lambda old, new: jnp.where(gone.reshape(-1, *[1] * (old.ndim - 1)), new, old)  # noqa: E731
    return jax.tree.map(choose, leaves, others)


def play(game, player, opponent, games, seed, abreast):
    """float[games]: +1, 0 or −1 for the player.

    So many games run side by side; one that is over makes room for the next.
    """
    games, abreast = games // 2 * 2, min(abreast, games // 2 * 2)
    numbers = np.arange(games)
    seeds, seats = (seed * 1_000_000 + numbers // 2).astype(np.int32), (numbers % 2).astype(np.int32)
    maps = jax.jit(jax.vmap(lambda one: game.init(jax.random.key(one))))(seeds)
    copies = lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], abreast, axis=0)  # noqa: E731
    blank = jax.tree.map(copies, (player.memory(), opponent.memory()))
    onward, judge = (
        turns(game, player, opponent),
        jax.jit(jax.vmap(lambda one: (game.done(one), game.returns(one)))),
    )
    renew = jax.jit(replaced)
    results, playing, begun = np.full(games, np.nan), np.arange(abreast), abreast
    states, memories = jax.tree.map(lambda leaf: leaf[playing], maps), blank
    while True:
        states, memories = onward(states, memories, seeds[playing], seats[playing])
        done, returns = (np.asarray(part) for part in judge(states))
        results[playing[done]] = returns[done, seats[playing[done]]]
        if not np.isnan(results).any():
            return results
        room = np.flatnonzero(done)[: games - begun]
        playing[room] = np.arange(begun, begun + len(room))
        begun += len(room)
        gone = np.zeros(abreast, bool)
        gone[room] = True
        states = renew(states, jax.tree.map(lambda leaf: leaf[playing], maps), gone)
        memories = renew(memories, blank, gone)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("opponent")
    parser.add_argument("players", nargs="+")
    parser.add_argument("--game", default="generals:width=24,height=24,least=18")
    parser.add_argument("--games", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0, help="0 to 2000; other seeds give other maps")
    parser.add_argument("--abreast", type=int, default=64, help="games side by side; thousands on a GPU")
    arguments = parser.parse_args()
    game = make_game(arguments.game)
    for name in arguments.players:
        began = time.perf_counter()
        player, opponent = make_agent(name, game), make_agent(arguments.opponent, game)
        results = play(game, player, opponent, arguments.games, arguments.seed, arguments.abreast)
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
