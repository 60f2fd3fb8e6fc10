"""A U-Net after DeepNash's: convolutions at ever coarser boards and back, with what was seen on the way down kept.

What is not board stays zero at every level, so that padding does not change the answer.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.networks.blocks import Conv, Dense, Training, largest
from stratagem.networks.judgements import Judgement
from stratagem.networks.senses import BoardFeatures
from stratagem.networks.transformer import Deep, fit_moves


class PresentNorm(eqx.Module):
    """Normalises one board over the cells that are there, and all channels."""

    scale: Array  # float[C]
    bias: Array  # float[C]

    def __init__(self, channels: int):
        self.scale, self.bias = jnp.ones(channels), jnp.zeros(channels)

    def __call__(self, board: Array, present: Array) -> Array:
        wide = board.astype(jnp.float32)
        count = present.sum() * board.shape[-1]
        mean = jnp.where(present, wide, 0).sum() / count
        variance = jnp.where(present, jnp.square(wide - mean), 0).sum() / count
        normal = ((wide - mean) * lax.rsqrt(variance + 1e-5)).astype(self.scale.dtype)
        return jnp.where(present, normal * self.scale + self.bias, 0)


class PresentBlock(eqx.Module):
    """A residual block of two convolutions."""

    norm: PresentNorm
    first: Conv
    second: Conv

    def __init__(self, channels: int, key: Array):
        first_key, second_key = jax.random.split(key)
        self.norm = PresentNorm(channels)
        self.first = Conv(channels, channels, 3, first_key)
        self.second = Conv(channels, channels, 3, second_key, gain=0.1)

    def __call__(self, board: Array, present: Array, training: Training | None) -> Array:
        inner = self.first(jax.nn.relu(self.norm(board, present)), training)
        inner = jnp.where(present, jax.nn.relu(inner), 0)
        return board + jnp.where(present, self.second(inner, training), 0)


class UNet(eqx.Module):
    """From features of a board to a judgement."""

    stem: Conv
    told: Dense  # scoreboards and clock, heard by every cell
    down: list[list[PresentBlock]]
    merge: list[Conv]  # four cells become one
    up: list[list[PresentBlock]]
    split: list[Conv]  # one cell becomes four
    norm: PresentNorm
    policy: Conv
    value: Deep
    moves: int = eqx.field(static=True)
    per_cell: int = eqx.field(static=True)

    def __init__(
        self, like: BoardFeatures, channels: int, levels: int, blocks: int, bins: int, moves: int,
        per_cell: int, key: Array,
    ):  # fmt: skip
        keys = iter(jax.random.split(key, 2 * blocks * (levels + 1) + 2 * levels + 4))
        self.stem = Conv(like.cells.shape[-1], channels, 3, next(keys))
        self.told = Dense(like.scores.size + like.clock.size, channels, next(keys), gain=1.0)
        self.down = [[PresentBlock(channels, next(keys)) for _ in range(blocks)] for _ in range(levels + 1)]
        self.merge = [Conv(4 * channels, channels, 1, next(keys), gain=1.0) for _ in range(levels)]
        self.up = [[PresentBlock(channels, next(keys)) for _ in range(blocks)] for _ in range(levels)]
        self.split = [Conv(channels, 4 * channels, 1, next(keys), gain=1.0) for _ in range(levels)]
        self.norm = PresentNorm(channels)
        self.policy = Conv(channels, moves, 1, next(keys), gain=0.01)
        self.value = Deep(2 * channels, channels, bins, next(keys), gain=0.01)
        self.moves, self.per_cell = moves, per_cell

    def __call__(self, features: BoardFeatures, learning: bool = False) -> Judgement:
        training = Training(jax.random.key(0)) if learning else None
        height, width = features.present.shape
        step = 2 ** len(self.merge)
        edge = ((0, -height % step), (0, -width % step), (0, 0))
        present = jnp.pad(features.present[..., None], edge)
        heard = self.told(jnp.concatenate([features.scores.reshape(-1), features.clock]))
        board = jnp.where(present, self.stem(jnp.pad(features.cells, edge), training) + heard, 0)
        seen: list[tuple[Array, Array]] = []
        for level, blocks in enumerate(self.down):
            for block in blocks:
                board = block(board, present, training)
            if level < len(self.merge):
                seen.append((board, present))
                present = fold(present).any(axis=-1, keepdims=True)
                board = jnp.where(present, self.merge[level](fold(board)), 0)
        deepest, deep_present = board, present
        for level in reversed(range(len(self.up))):
            earlier, present = seen[level]
            board = jnp.where(present, earlier + unfold(self.split[level](board)), 0)
            for block in self.up[level]:
                board = block(board, present, training)
        logits = self.policy(jax.nn.relu(self.norm(board, present)))[:height, :width]
        belief = self.value(summary(deepest, deep_present))
        return Judgement(fit_moves(logits.astype(jnp.float32), self.per_cell), belief.astype(jnp.float32))


def fold(board: Array) -> Array:
    """[H / 2, W / 2, 4·C] from [H, W, C]."""
    height, width, channels = board.shape
    squares = jnp.swapaxes(board.reshape(height // 2, 2, width // 2, 2, channels), 1, 2)
    return squares.reshape(height // 2, width // 2, 4 * channels)


def unfold(board: Array) -> Array:
    """[2·H, 2·W, C] from [H, W, 4·C]."""
    height, width, channels = board.shape
    squares = jnp.swapaxes(board.reshape(height, width, 2, 2, channels // 4), 1, 2)
    return squares.reshape(2 * height, 2 * width, channels // 4)


def summary(board: Array, present: Array) -> Array:
    """float[2·C]: mean and maximum over the cells that are there."""
    mean = jnp.where(present, board, 0).sum(axis=(0, 1)) / present.sum().astype(board.dtype)
    return jnp.concatenate([mean, largest(jnp.where(present, board, -jnp.inf))])
