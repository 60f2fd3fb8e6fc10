"""The patch transformer: the board in squares of 3 × 3, each one token, beside two scoreboards and a value token.

For boards of any size: rows and columns of patches have an embedding each, up to the largest board, and what is not
board is masked out, so that padding does not change the answer. Weights decide the precision.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.networks.blocks import Dense
from stratagem.networks.judgements import Judgement
from stratagem.networks.senses import BoardFeatures

LARGEST = 33  # cells a side
UNWANTED = -1e9  # the logit of an action that the network does not know


class TokenNorm(eqx.Module):
    """Layer normalisation of each token, worked out in float32."""

    scale: Array  # float[C]
    bias: Array  # float[C]

    def __init__(self, width: int):
        self.scale, self.bias = jnp.ones(width), jnp.zeros(width)

    def __call__(self, tokens: Array) -> Array:
        wide = tokens.astype(jnp.float32)
        mean = wide.mean(axis=-1, keepdims=True)
        variance = jnp.square(wide - mean).mean(axis=-1, keepdims=True)
        normal = ((wide - mean) * lax.rsqrt(variance + 1e-5)).astype(self.scale.dtype)
        return normal * self.scale + self.bias


class Attention(eqx.Module):
    """Every token hears every token that is present."""

    mix: Dense  # to queries, keys and values
    out: Dense
    heads: int = eqx.field(static=True)
    flash: bool = eqx.field(static=True)

    def __init__(self, width: int, heads: int, depth: int, flash: bool, key: Array):
        mix_key, out_key = jax.random.split(key)
        self.mix = Dense(width, 3 * width, mix_key, gain=1.0)
        self.out = Dense(width, width, out_key, gain=0.5 / depth)
        self.heads, self.flash = heads, flash

    def __call__(self, tokens: Array, present: Array) -> Array:
        count, width = tokens.shape
        parts = self.apart(tokens) if self.in_one_kernel else jnp.split(self.mix(tokens), 3, axis=1)
        query, key, value = (part.reshape(count, self.heads, width // self.heads) for part in parts)
        heard = jax.nn.dot_product_attention(
            query,
            key,
            value,
            mask=jnp.broadcast_to(present, (self.heads, count, count)),  # cuDNN, in batches, wants all heads
            implementation="cudnn" if self.in_one_kernel else "xla",
        )
        return self.out(heard.reshape(count, width))

    @property
    def in_one_kernel(self) -> bool:
        """Where there is such a kernel: on a graphics card, in half precision."""
        half = self.mix.weight.dtype in (jnp.bfloat16, jnp.float16)
        return self.flash and half and jax.default_backend() == "gpu"

    def apart(self, tokens: Array) -> list[Array]:
        """Queries, keys and values by three products: written as the kernel reads them, with nothing to cut up."""
        weights, biases = jnp.split(self.mix.weight, 3, axis=1), jnp.split(self.mix.bias, 3)
        inputs = tokens.astype(self.mix.weight.dtype)
        return [inputs @ weight + bias for weight, bias in zip(weights, biases, strict=True)]


class Layer(eqx.Module):
    """Attention, then each token for itself; both added to what was there."""

    norm: TokenNorm
    attention: Attention
    inner_norm: TokenNorm
    widen: Dense
    narrow: Dense

    def __init__(self, width: int, heads: int, feed: int, depth: int, flash: bool, key: Array):
        attention_key, widen_key, narrow_key = jax.random.split(key, 3)
        self.norm, self.inner_norm = TokenNorm(width), TokenNorm(width)
        self.attention = Attention(width, heads, depth, flash, attention_key)
        self.widen = Dense(width, feed * width, widen_key)
        self.narrow = Dense(feed * width, width, narrow_key, gain=0.5 / depth)

    def __call__(self, tokens: Array, present: Array) -> Array:
        tokens = tokens + self.attention(self.norm(tokens), present)
        return tokens + self.narrow(jax.nn.relu(self.widen(self.inner_norm(tokens))))


class Deep(eqx.Module):
    """A network with one hidden layer."""

    hidden: Dense
    out: Dense

    def __init__(self, inputs: int, width: int, outputs: int, key: Array, gain: float = 1.0):
        hidden_key, out_key = jax.random.split(key)
        self.hidden = Dense(inputs, width, hidden_key)
        self.out = Dense(width, outputs, out_key, gain=gain)

    def __call__(self, features: Array) -> Array:
        return self.out(jax.nn.relu(self.hidden(features)))


class PatchNet(eqx.Module):
    """The transformer, from features of a board to a judgement."""

    patches: Dense
    rows: Array  # float[R, C]: the embedding of each row of patches
    columns: Array  # float[R, C]
    boards: list[Deep]  # of the two scoreboards
    clock: Dense  # of the value token
    layers: list[Layer]
    norm: TokenNorm
    policy: Deep
    value: Deep
    size: int = eqx.field(static=True)  # of a patch
    margin: int = eqx.field(static=True)  # cells around a patch that its token sees too
    moves: int = eqx.field(static=True)  # actions a cell that it knows
    per_cell: int = eqx.field(static=True)  # actions a cell of the game

    def __init__(
        self, like: BoardFeatures, depth: int, width: int, heads: int, feed: int, size: int, margin: int, bins: int,
        moves: int, per_cell: int, flash: bool, key: Array,
    ):  # fmt: skip
        keys = iter(jax.random.split(key, depth + 8))
        planes, history = like.cells.shape[-1], like.scores.shape[-1]
        reach = -(-LARGEST // size)
        self.patches = Dense((size + 2 * margin) ** 2 * planes, width, next(keys), gain=1.0)
        self.rows = 0.1 * jax.random.normal(next(keys), (reach, width))
        self.columns = 0.1 * jax.random.normal(next(keys), (reach, width))
        self.boards = [Deep(history, width, width, next(keys)) for _ in range(like.scores.shape[0])]
        self.clock = Dense(like.clock.shape[0], width, next(keys), gain=1.0)
        self.layers = [Layer(width, heads, feed, depth, flash, next(keys)) for _ in range(depth)]
        self.norm = TokenNorm(width)
        self.policy = Deep(width, width, size * size * moves, next(keys), gain=0.01)
        self.value = Deep(width, width, bins, next(keys), gain=0.01)
        self.size, self.margin, self.moves, self.per_cell = size, margin, moves, per_cell

    def __call__(self, features: BoardFeatures, learning: bool = False) -> Judgement:
        tokens, present = self.embed(features)
        first, last = len(self.boards) + 1, len(tokens)
        if any(layer.attention.in_one_kernel for layer in self.layers):
            tokens, present = rounded_up(tokens, present)
        for layer in self.layers:
            tokens = layer(tokens, present)
        tokens = self.norm(tokens)
        logits = self.by_cell(self.policy(tokens[first:last]), features.present.shape)
        return Judgement(logits, self.value(tokens[0]).astype(jnp.float32))

    def embed(self, features: BoardFeatures) -> tuple[Array, Array]:
        """(float[N, C] tokens: value, scoreboards, patches; bool[N] which of them are there)."""
        planes = features.cells.astype(self.patches.weight.dtype)  # first, so that less is moved about
        cells = to_patches(planes, self.size, self.margin)  # [R, S, k·k·C]
        down, across = cells.shape[:2]
        patches = self.patches(cells) + self.rows[:down, None] + self.columns[None, :across]
        boards = [read(score)[None] for read, score in zip(self.boards, features.scores, strict=True)]
        tokens = jnp.concatenate(
            [self.clock(features.clock)[None], *boards, patches.reshape(down * across, -1)]
        )
        there = to_patches(features.present[..., None], self.size).any(axis=-1).reshape(-1)
        return tokens, jnp.concatenate([jnp.ones(len(boards) + 1, bool), there])

    def by_cell(self, told: Array, shape: tuple[int, ...]) -> Array:
        """float32[A] from float[N, k·k·moves]: cell by cell, without the cells that the patches add."""
        height, width = shape
        down, across = -(-height // self.size), -(-width // self.size)
        logits = told.astype(jnp.float32).reshape(down, across, self.size, self.size, self.moves)
        logits = jnp.swapaxes(logits, 1, 2).reshape(down * self.size, across * self.size, self.moves)
        return fit_moves(logits[:height, :width], self.per_cell)


def rounded_up(tokens: Array, present: Array, whole: int = 8) -> tuple[Array, Array]:
    """With tokens that nobody hears, up to a whole number of eights: one kernel cannot learn from an odd number."""
    extra = -len(present) % whole
    return jnp.pad(tokens, ((0, extra), (0, 0))), jnp.pad(present, (0, extra))


def to_patches(cells: Array, size: int, margin: int = 0) -> Array:
    """[R, S, k·k·C] from [H, W, C]: k is the size and the margin on both sides; zeros beyond the board."""
    height, width, planes = cells.shape
    down, across = -(-height // size), -(-width // size)
    after = (down * size - height + margin, across * size - width + margin)
    padded = jnp.pad(cells, ((margin, after[0]), (margin, after[1]), (0, 0)))
    if not margin:
        squares = jnp.swapaxes(padded.reshape(down, size, across, size, planes), 1, 2)
        return squares.reshape(down, across, size * size * planes)
    reach = range(size + 2 * margin)
    ends = ((down - 1) * size + 1, (across - 1) * size + 1)
    seen = [padded[i : i + ends[0] : size, j : j + ends[1] : size] for i in reach for j in reach]
    return jnp.concatenate(seen, axis=-1)


def fit_moves(logits: Array, per_cell: int) -> Array:
    """float32[A] from float32[H, W, moves]: what the game has besides is not wanted."""
    height, width, moves = logits.shape
    missing: Any = jnp.full((height, width, max(0, per_cell - moves)), UNWANTED)
    return jnp.concatenate([logits[..., :per_cell], missing], axis=-1).reshape(-1)
