"""How often Corso agents keep what they have: every choice judged by the exact solver, one JSON line an agent.

    python benchmarks/corso_truth.py net az:simulations=25 az:simulations=100 mm:depth=4 [--positions 2000]

Half of the positions come from games of the first agent against itself (first four moves at random), half from random
play; all are unfinished and different. A won position is kept if the position after the agent's move is still won;
the loss in value is the truth before the move minus the truth after it, in results (a win thrown away costs two).
"""

import argparse
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import report

from stratagem.agents import make_agent
from stratagem.agents.corso import cell_codes
from stratagem.arena.ratings import wilson
from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.solvers.corso import Solver


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("agents", nargs="+")
    asked.add_argument("--positions", type=int, default=2000)
    asked.add_argument("--width", type=int, default=5)
    asked.add_argument("--height", type=int, default=5)
    asked.add_argument("--seed", type=int, default=0)
    words = asked.parse_args()
    use_compile_cache()
    game = Corso(words.width, words.height)
    generator = np.random.default_rng(words.seed)
    agents = {name: Asked(make_agent(name, game), game) for name in words.agents}
    own = collect(game, next(iter(agents.values())), 4, words.positions // 2, generator)
    wild = collect(game, None, game.cells, words.positions - len(own), generator)
    truth = Truth(game)
    views = np.concatenate([own, wild])
    for name, agent in agents.items():
        before, after = values(agent, truth, views, generator)
        parts = {"own games": slice(0, len(own)), "random play": slice(len(own), None), "all": slice(None)}
        facts = {source: summary(before[part], after[part]) for source, part in parts.items()}
        report("corso truth", agent=name, board=f"{words.width}x{words.height}", **facts)


class Asked:
    """An agent that answers for many positions at once."""

    def __init__(self, agent, game):
        self.agent, self.game = agent, game
        self.traced = jax.jit(jax.vmap(lambda view, legal, key: agent.act((), view, legal, key)))
        self.legal = jax.jit(jax.vmap(lambda view: game.legal(game.state_of(view)).any(axis=0)))

    def __call__(self, views, generator, rows=256):
        legals = np.asarray(self.legal(jnp.asarray(views)))
        if not self.agent.traceable:
            return self.agent.act_many([()] * len(views), views, legals, [generator] * len(views))
        answers = []
        for first in range(0, len(views), rows):
            picked = (first + np.arange(rows)) % len(views)
            keys = jax.random.split(jax.random.key(first), rows)
            answers.append(
                np.asarray(self.traced(jnp.asarray(views[picked]), jnp.asarray(legals[picked]), keys))
            )
        return np.concatenate(answers)[: len(views)]


def collect(game, agent, random_moves, count, generator):
    """Views of `count` different unfinished positions: games by the agent after some random moves."""
    step = jax.jit(jax.vmap(lambda state, action: game.step(state, jnp.full(2, action), None)))
    look = jax.jit(
        jax.vmap(lambda state: (game.view(state, state.mover), game.legal(state).any(0), game.done(state)))
    )
    seen = {}
    while len(seen) < count:
        states = jax.vmap(lambda _: game.init(None))(jnp.arange(256))
        for turn in range(game.spec.longest):
            views, legals, done = map(np.asarray, look(states))
            if done.all():
                break
            for view in views[~done]:
                seen[view.tobytes()] = view
            if turn < random_moves or agent is None:
                actions = np.array(
                    [generator.choice(np.flatnonzero(row)) if row.any() else 0 for row in legals]
                )
            else:
                actions = agent(views, generator)
            moved = step(states, jnp.asarray(actions, jnp.int32))
            states = jax.tree.map(
                lambda old, new, done=done: jnp.where(done.reshape(-1, *[1] * (old.ndim - 1)), old, new),
                states,
                moved,
            )
    views = np.stack(list(seen.values()))
    return views[generator.choice(len(views), count, replace=False)]


class Truth:
    """The solver, asked once for each position."""

    def __init__(self, game):
        self.game, self.solver, self.known = game, Solver(game.width, game.height), {}
        self.step = jax.jit(jax.vmap(lambda view, action: self._after(view, action)))

    def _after(self, view, action):
        state = self.game.step(self.game.state_of(view), jnp.full(2, action), None)
        return self.game.view(state, state.mover)

    def of(self, view):
        """+1, 0 or −1 for the player to move."""
        name = view.tobytes()
        if name not in self.known:
            cells, movers = cell_codes(view[None])
            self.known[name] = int(self.solver.outcome(cells[0], int(movers[0])))
        return self.known[name]


def values(agent, truth, views, generator):
    """(int[R], int[R]): the truth for the player to move, before and after the agent's move."""
    actions = agent(views, generator)
    after = np.asarray(truth.step(jnp.asarray(views), jnp.asarray(actions, jnp.int32)))
    # After the move the other player is to move.
    return np.array([truth.of(view) for view in views]), -np.array([truth.of(view) for view in after])


def summary(before, after):
    """What an agent's choices are worth."""
    won = before == 1
    kept = int((after[won] == 1).sum())
    low, high = wilson(kept, int(won.sum()))
    return {
        "positions": len(before),
        "won": int(won.sum()),
        "kept": kept,
        "kept_share": kept / max(int(won.sum()), 1),
        "low": low,
        "high": high,
        "loss": float((before - after).mean()),
    }


if __name__ == "__main__":
    main()
