"""The replay buffer: the samples of the last K iterations, in device memory and on disk.

In memory it is one ring of arrays, so that a compiled update can draw from it. On disk every iteration is a file of
its own, written once and atomically; a run that was killed finds them all, and old ones are removed only after the
checkpoint that no longer needs them is safe.
"""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import DamagedFile
from stratagem.core.game import Game
from stratagem.networks.tensors import read_facts, read_tree, write_tree


class Ring(NamedTuple):
    """K chunks of N samples; iteration i is in chunk i modulo K."""

    samples: Any  # Sample[K, N]


def empty_ring(sample: Any, chunks: int) -> Ring:
    """Room for `chunks` chunks of the shape of `sample`, a Sample[N] of arrays or shapes."""
    return Ring(jax.tree.map(lambda leaf: jnp.zeros((chunks, *leaf.shape), leaf.dtype), sample))


def insert(ring: Ring, sample: Any, iteration: Array) -> Ring:
    """With the samples of an iteration in the place of the oldest."""
    chunks = jax.tree.leaves(ring.samples)[0].shape[0]
    slot = iteration % chunks
    return Ring(jax.tree.map(lambda all_, new: all_.at[slot].set(new), ring.samples, sample))


def draw_batch(ring: Ring, iterations: Array, size: int, key: Array) -> Any:
    """Sample[size], uniform over what `iterations` iterations have left in the ring."""
    chunks, length = jax.tree.leaves(ring.samples)[0].shape[:2]
    chunk_key, row_key = jax.random.split(key)
    chunk = jax.random.randint(chunk_key, (size,), 0, jnp.minimum(iterations, chunks))
    row = jax.random.randint(row_key, (size,), 0, length)
    return jax.tree.map(lambda leaf: leaf[chunk, row], ring.samples)


class BufferFolder:
    """The chunks of one game on disk: `<folder>/<iteration>.safetensors`."""

    def __init__(self, folder: Path, game: Game):
        self.folder = folder
        self.game = game

    def path(self, iteration: int) -> Path:
        return self.folder / f"{iteration:07d}.safetensors"

    def write(self, iteration: int, sample: Any) -> None:
        facts = {"kind": "samples", "ruleset": self.game.spec.ruleset, "iteration": iteration}
        write_tree(self.path(iteration), sample, facts)

    def read(self, iteration: int, like: Any) -> Any:
        path = self.path(iteration)
        facts = read_facts(path)
        expected = {"kind": "samples", "ruleset": self.game.spec.ruleset, "iteration": iteration}
        if facts != expected:
            raise DamagedFile(f"{path}: says it is {facts}, expected {expected}")
        return read_tree(path, like)

    def save(self, ring: Ring, done: int, saved: int) -> None:
        """Write the iterations from `saved` up to `done`, as far as the ring still holds them."""
        chunks = jax.tree.leaves(ring.samples)[0].shape[0]
        for iteration in range(max(saved, done - chunks), done):
            slot = iteration % chunks
            self.write(iteration, jax.tree.map(lambda leaf: np.asarray(leaf[slot]), ring.samples))  # noqa: B023

    def load(self, ring: Ring, done: int) -> Ring:
        """An empty ring, filled with what a run that has done `done` iterations needs."""
        chunks = jax.tree.leaves(ring.samples)[0].shape[0]
        like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), ring.samples)
        kept = jax.tree.map(np.array, ring.samples)
        for iteration in range(max(0, done - chunks), done):
            chunk = self.read(iteration, like)
            for all_, new in zip(jax.tree.leaves(kept), jax.tree.leaves(chunk), strict=True):
                all_[iteration % chunks] = np.asarray(new)
        return Ring(jax.tree.map(jnp.asarray, kept))

    def forget(self, before: int) -> None:
        """Remove the chunks of iterations before this one."""
        for path in self.folder.glob("*.safetensors"):
            if path.stem.isdecimal() and int(path.stem) < before:
                path.unlink(missing_ok=True)
