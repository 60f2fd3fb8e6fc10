"""A small run of PPO on several devices or in several processes, for tests/learners/test_mesh.py.

python -m tests.learners.mesh_run compare
python -m tests.learners.mesh_run process FOLDER ITERATIONS ADDRESS PROCESSES PROCESS
"""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import jax
import jax.numpy as jnp

from stratagem.learners.mesh import join, mesh_of
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.learners.run import Run, run
from stratagem.networks.senses import PlainSenses
from tests.tiny_games import KuhnPoker

CONFIG = PPOConfig(
    network="mlp:width=16,depth=1,bins=1", games=16, steps=4, top=0.5, minibatch=8, gradient=1.0, rate_high=1e-3,
    entropy=0.1, average=0.9, iterations=4,
)  # fmt: skip


def learner(mesh, iterations=CONFIG.iterations):
    game = KuhnPoker()
    return PPO(game, PlainSenses(game), replace(CONFIG, iterations=iterations), mesh=mesh)


def compare():
    """How far four devices are from one after some iterations of the same run."""
    alone, many = learner(None), learner(mesh_of())
    states = [one.start(jax.random.key(3)) for one in (alone, many)]
    told = []
    for _ in range(CONFIG.iterations):
        states[0], first = alone.iterate(states[0])
        states[1], second = many.iterate(states[1])
        told.append(max(abs(first[name] - second[name]) for name in first))
    gaps = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), states[0].network, states[1].network)
    moved = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), states[0].network,
                         alone.start(jax.random.key(3)).network)  # fmt: skip
    spread = {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(states[1].lanes.length)}
    rows = states[1].lanes.length.addressable_shards[0].data.shape[0]
    print(
        json.dumps(
            {
                "devices": jax.device_count(),
                "metrics": told,
                "weights": max(jax.tree.leaves(gaps)),
                "moved": max(jax.tree.leaves(moved)),
                "spread": sorted(spread),
                "rows": rows,
            }
        )
    )


def process(folder, iterations, address, processes, number):
    join(address, int(processes), int(number))
    one = learner(mesh_of(), int(iterations))
    settings = Run(Path(folder), resume=True, save_every=1, evaluate_every=0)
    _, done = run(one, settings, asdict(one.config), say=print)
    print(json.dumps({"done": done, "devices": jax.device_count()}))


if __name__ == "__main__":
    {"compare": compare, "process": process}[sys.argv[1]](*sys.argv[2:])
