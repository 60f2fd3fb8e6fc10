"""Pieces of networks for one board: float[H, W, C] in, float[H, W, C] out. Channels last, everywhere.

Weights decide the precision: a network cast to bfloat16 computes in it.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

BATCH = "batch"  # The name of the axis over which a training step maps a network.


class Training(NamedTuple):
    """Handed to a network while it learns; None when it plays."""

    key: Array  # for dropout


class Sight(NamedTuple):
    """A board as a network reads it."""

    planes: Array  # float32[H, W, C]: the mover's things first
    links: Array | None = (
        None  # float32[K, N, N]: of each kind, what share each of N cells hears of each other
    )


class Conv(eqx.Module):
    """A convolution that keeps the size of the board.

    While learning it is a matrix product over the neighbours of each cell: on CPUs the gradient of a convolution
    inside a loop was measured to be a hundred times slower. On accelerators a small board is learned as one product of
    all its cells with all its cells: more multiplications, but nine times fewer bytes to move.
    """

    weight: Array  # float[k, k, C_in, C_out]
    bias: Array | None  # float[C_out]

    def __init__(
        self, inputs: int, outputs: int, size: int, key: Array, bias: bool = True, gain: float = 2.0
    ):
        deviation = (gain / (size * size * inputs)) ** 0.5
        self.weight = deviation * jax.random.normal(key, (size, size, inputs, outputs))
        self.bias = jnp.zeros(outputs) if bias else None

    def __call__(self, board: Array, training: Training | None = None) -> Array:
        x = board.astype(self.weight.dtype)
        size, _, inputs, outputs = self.weight.shape
        if size == 1:
            x = x @ self.weight[0, 0]
        elif training is not None and x.shape[0] * x.shape[1] <= UNROLLED and jax.default_backend() != "cpu":
            x = (x.reshape(-1) @ unrolled(self.weight, *x.shape[:2])).reshape(*x.shape[:2], outputs)
        elif training is not None:
            x = neighbours(x, size) @ self.weight.reshape(size * size * inputs, outputs)
        else:
            x = lax.conv_general_dilated(
                x[None], self.weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )[0]
        return x if self.bias is None else x + self.bias


UNROLLED = 25  # cells of a board whose convolutions are learned as one matrix


def unrolled(weight: Array, height: int, width: int) -> Array:
    """float[H·W·C_in, H·W·C_out]: a convolution of a board as one matrix, from float[k, k, C_in, C_out]."""
    size, _, inputs, outputs = weight.shape
    rows, columns = np.divmod(np.arange(height * width), width)
    down, right = (place[:, None] - place + size // 2 for place in (rows, columns))  # from the column's cell
    inside = (down >= 0) & (down < size) & (right >= 0) & (right < size)
    place = np.where(inside, down * size + right, -1)
    at = (np.arange(size * size)[:, None, None] == place).astype(np.float32)  # [k·k, from, to]
    matrix = jnp.einsum("kft,kio->fito", at.astype(weight.dtype), weight.reshape(-1, inputs, outputs))
    return matrix.reshape(height * width * inputs, height * width * outputs)


def neighbours(board: Array, size: int) -> Array:
    """float[H, W, k·k·C]: beside each cell what its k × k neighbourhood holds, zeros outside."""
    height, width, _ = board.shape
    edge = size // 2
    padded = jnp.pad(board, ((edge, edge), (edge, edge), (0, 0)))
    shifted = [padded[i : i + height, j : j + width] for i in range(size) for j in range(size)]
    return jnp.concatenate(shifted, axis=-1)


class Dense(eqx.Module):
    weight: Array  # float[C_in, C_out]
    bias: Array  # float[C_out]

    def __init__(self, inputs: int, outputs: int, key: Array, gain: float = 2.0):
        self.weight = (gain / inputs) ** 0.5 * jax.random.normal(key, (inputs, outputs))
        self.bias = jnp.zeros(outputs)

    def __call__(self, features: Array) -> Array:
        return features.astype(self.weight.dtype) @ self.weight + self.bias


class Moments(NamedTuple):
    """What a batch norm saw in one batch."""

    mean: Array  # float32[C]
    variance: Array  # float32[C]


class BatchNorm(eqx.Module):
    """Batch normalisation. While learning it uses the batch and reports it; `absorb` keeps the running means."""

    scale: Array  # float[C]
    bias: Array  # float[C]
    mean: Array  # float[C]: running, no gradient
    variance: Array  # float[C]: running, no gradient

    def __init__(self, channels: int):
        self.scale, self.bias = jnp.ones(channels), jnp.zeros(channels)
        self.mean, self.variance = jnp.zeros(channels), jnp.ones(channels)

    def __call__(self, board: Array, training: Training | None) -> tuple[Array, Moments | None]:
        if training is None:
            moments = None
            mean, variance = lax.stop_gradient(self.mean), lax.stop_gradient(self.variance)
        else:
            wide = board.astype(jnp.float32)
            mean = lax.pmean(wide.mean(axis=(0, 1)), BATCH)
            variance = lax.pmean((wide**2).mean(axis=(0, 1)), BATCH) - mean**2
            moments = Moments(mean, variance)
            mean, variance = mean.astype(board.dtype), variance.astype(board.dtype)
        factor = self.scale * lax.rsqrt(variance + 1e-5)
        return (board - mean) * factor + self.bias, moments

    def absorb(self, moments: Moments, share: float = 0.1) -> "BatchNorm":
        """With running means moved towards what a batch showed."""

        def towards(old: Array, new: Array) -> Array:
            return old + share * (new - old)

        return eqx.tree_at(
            lambda norm: (norm.mean, norm.variance),
            self,
            (towards(self.mean, moments.mean), towards(self.variance, moments.variance)),
        )


class BoardNorm(eqx.Module):
    """Normalises one board over cells and channels: needs no batch, so learning and playing agree."""

    scale: Array  # float[C]
    bias: Array  # float[C]

    def __init__(self, channels: int):
        self.scale, self.bias = jnp.ones(channels), jnp.zeros(channels)

    def __call__(self, board: Array) -> Array:
        wide = board.astype(jnp.float32)
        mean = wide.mean()
        variance = (wide**2).mean() - mean**2
        normal = ((wide - mean) * lax.rsqrt(variance + 1e-5)).astype(board.dtype)
        return normal * self.scale + self.bias


@jax.custom_jvp
def largest(board: Array) -> Array:
    """float[C] from float[H, W, C]: the most that a channel has anywhere. Its gradient goes to the first such cell.

    That of plain `max` looks for the cells that equal the most. A compiler that works the board out twice, rounding
    otherwise, finds none and divides nought by nought.
    """
    return board.max(axis=(0, 1))


@largest.defjvp
def _(boards: tuple[Array], changes: tuple[Array]) -> tuple[Array, Array]:
    first = boards[0].reshape(-1, boards[0].shape[-1]).argmax(0)
    change = changes[0].reshape(-1, boards[0].shape[-1])
    return largest(boards[0]), jnp.take_along_axis(change, first[None], axis=0)[0]


def pool(board: Array, usual: int = 25) -> Array:
    """float[3·C] from float[H, W, C]: mean, mean weighted by how far the size is from usual, and maximum."""
    cells = board.shape[0] * board.shape[1]
    mean = board.mean(axis=(0, 1))
    return jnp.concatenate([mean, mean * (cells / usual - 1), largest(board)])


class GlobalBlock(eqx.Module):
    """A residual block in which every cell also hears a summary of the whole board, of whatever size.

    With `kinds` of links it also hears the cells that it is linked to.
    """

    norm: BoardNorm
    first: Conv
    listen: Dense
    hear: Dense | None
    second: Conv

    def __init__(self, channels: int, key: Array, kinds: int = 0):
        first_key, listen_key, second_key = jax.random.split(key, 3)
        self.norm = BoardNorm(channels)
        self.first = Conv(channels, channels, 3, first_key)
        self.listen = Dense(3 * channels, channels, listen_key, gain=0.5)
        hear_key = jax.random.fold_in(key, 3)
        self.hear = Dense(kinds * channels, channels, hear_key, gain=0.5) if kinds else None
        self.second = Conv(channels, channels, 3, second_key, gain=0.01)  # a block starts as almost nothing

    def __call__(self, board: Array, training: Training | None, links: Array | None = None) -> Array:
        inner = self.first(jax.nn.relu(self.norm(board)), training)
        heard = self.listen(pool(inner))
        if self.hear is not None and links is not None:
            heard = heard + self.hear(linked(inner, links))
        return board + self.second(jax.nn.relu(inner + heard), training)


def linked(board: Array, links: Array) -> Array:
    """float[H, W, K·C]: beside each cell the mean of those that it is linked to, by kind."""
    height, width, channels = board.shape
    heard = jnp.einsum("kij,jc->ikc", links.astype(board.dtype), board.reshape(-1, channels))
    return heard.reshape(height, width, -1)


class ClassicBlock(eqx.Module):
    """The residual block of AlphaGo Zero: convolution, batch norm, twice, and the input added."""

    first: Conv
    first_norm: BatchNorm
    second: Conv
    second_norm: BatchNorm

    def __init__(self, channels: int, key: Array):
        first_key, second_key = jax.random.split(key)
        self.first = Conv(channels, channels, 3, first_key, bias=False)
        self.second = Conv(channels, channels, 3, second_key, bias=False)
        self.first_norm, self.second_norm = BatchNorm(channels), BatchNorm(channels)

    def __call__(self, board: Array, training: Training | None) -> tuple[Array, list[Moments | None]]:
        inner, seen = self.first_norm(self.first(board, training), training)
        inner, seen_later = self.second_norm(self.second(jax.nn.relu(inner), training), training)
        return jax.nn.relu(board + inner), [seen, seen_later]


def dropout(features: Array, share: float, training: Training | None) -> Array:
    """Silence a share of the features while learning."""
    if training is None or share == 0:
        return features
    kept = jax.random.bernoulli(training.key, 1 - share, features.shape)
    return jnp.where(kept, features / (1 - share), 0).astype(features.dtype)


def absorb_all(norms: list[BatchNorm], moments: list[Any]) -> list[BatchNorm]:
    """Each batch norm with what it saw."""
    return [norm.absorb(seen) for norm, seen in zip(norms, moments, strict=True)]
