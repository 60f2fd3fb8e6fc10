"""A network so small that its ladder compiles in a moment, and positions to ask about."""

from functools import lru_cache

import jax
import numpy as np

from stratagem.games.corso import Corso
from stratagem.networks import make_network
from stratagem.networks.weights import save_weights

GAME = Corso(3, 3)
TITLE = "corso:width=3,height=3"
CHOICE = "global:channels=4,blocks=1"


@lru_cache
def network(seed, choice=CHOICE, game=GAME):
    """Cheaper than a fresh one: the same shapes, filled by NumPy."""
    shapes = jax.eval_shape(lambda: make_network(choice, game, jax.random.key(0)))
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: rng.normal(0, 0.4, leaf.shape).astype(leaf.dtype), shapes)


def save(path, seed, choice=CHOICE, game=GAME):
    save_weights(path, network(seed, choice, game), choice, [game], {})


def positions(count, seed=0):
    """(views, legals, states) of unfinished positions a few random moves into the game."""
    rng = np.random.default_rng(seed)
    step, view, legals = jax.jit(GAME.step), jax.jit(GAME.view), jax.jit(GAME.legal)
    rows = []
    while len(rows) < count:
        state = GAME.init(None)
        for _ in range(rng.integers(0, 5)):
            moves = np.flatnonzero(np.asarray(legals(state)).any(axis=0))
            state = step(state, np.full(2, rng.choice(moves), np.int32), None)
        legal = np.asarray(legals(state)).any(axis=0)
        if legal.any():
            rows.append((np.asarray(view(state, 0)), legal, jax.tree.map(np.asarray, state)))
    return tuple(list(part) for part in zip(*rows, strict=True))


@jax.jit
def judge(network, views):
    return jax.vmap(network)(views)[:2]


def right_answers(seed, views, legals):
    """What the network of this seed says: (logits, values)."""
    logits, values = judge(network(seed), np.stack(views))
    return np.where(np.stack(legals), logits, -np.inf), np.asarray(values)
