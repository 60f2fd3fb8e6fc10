"""A run small enough to be killed many times: `python small_run.py FOLDER`."""

import hashlib
import sys
from dataclasses import asdict
from pathlib import Path

import jax
import numpy as np

from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.learners.alphazero import AlphaZero, AlphaZeroConfig
from stratagem.learners.run import Run, run

GAME = Corso(width=3, height=3)
CONFIG = AlphaZeroConfig(
    network="global:channels=8,blocks=1",
    lanes=4,
    steps=4,
    simulations=4,
    considered=4,
    opening_plies=2,
    updates=2,
    batch=8,
    kept=3,
    iterations=40,
)


def fingerprint(state):
    """All that was learned, in one line."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves((state.learned.network, state.learned.optimiser, state.learned.average)):
        digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()


def main(folder):
    use_compile_cache()
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    settings = Run(Path(folder), resume=True, save_every=2, evaluate_every=0)
    state, done = run(AlphaZero([GAME], CONFIG), settings, asdict(CONFIG))
    print(done, fingerprint(state))


if __name__ == "__main__":
    main(*sys.argv[1:])
