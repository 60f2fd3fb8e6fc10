"""Transformer layers for maps: attention that knows how far tiles are from one another, and layers of a decoder."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from stratagem.networks.blocks import Dense
from stratagem.networks.transformer import TokenNorm

FARTHEST = 9  # steps; all that is farther away is alike


def named(table: Array, index: Array) -> Array:
    """The rows of a table of embeddings; zero for −1.

    A product, not an indexed read: its gradient adds up in full precision, and faster on a graphics card.
    """
    return jax.nn.one_hot(index, len(table), dtype=table.dtype) @ table


def stacks_of(pieces: Array, stacked: Array) -> Array:
    """[R, 6 · C]: the pieces of each tile side by side, zeros where there is none."""
    return pieces.at[stacked].get(mode="fill", fill_value=0).reshape(len(stacked), -1)


class Hearing(eqx.Module):
    """Each of some tokens hears some others: [N, C] and [K, C] to [N, C]."""

    ask: Dense
    tell: Dense  # to keys and values
    out: Dense
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, others: int, heads: int, depth: int, key: Array):
        ask_key, tell_key, out_key = jax.random.split(key, 3)
        self.ask = Dense(width, width, ask_key, gain=1.0)
        self.tell = Dense(others, 2 * width, tell_key, gain=1.0)
        self.out = Dense(width, width, out_key, gain=0.5 / depth)
        self.heads = heads

    def __call__(self, tokens: Array, others: Array, heard: Array, bias: Array | float = 0.0) -> Array:
        """`heard`, bool[N, K] or bool[K]: what may be heard; `bias`, float32[heads, N, K]."""
        count, width = tokens.shape
        size = width // self.heads
        query = self.ask(tokens).reshape(count, self.heads, size)
        key, value = jnp.moveaxis(self.tell(others).reshape(len(others), 2, self.heads, size), 1, 0)
        liking = jnp.einsum("nhc,khc->hnk", query, key).astype(jnp.float32) * size**-0.5 + bias
        weight = jax.nn.softmax(jnp.where(heard, liking, -1e9)).astype(value.dtype)
        return self.out(jnp.einsum("hnk,khc->nhc", weight, value).reshape(count, width))


class Feed(eqx.Module):
    """Each token for itself, added to what was there."""

    norm: TokenNorm
    widen: Dense
    narrow: Dense

    def __init__(self, width: int, feed: int, depth: int, key: Array):
        widen_key, narrow_key = jax.random.split(key)
        self.norm = TokenNorm(width)
        self.widen = Dense(width, feed * width, widen_key)
        self.narrow = Dense(feed * width, width, narrow_key, gain=0.5 / depth)

    def __call__(self, tokens: Array) -> Array:
        return tokens + self.narrow(jax.nn.relu(self.widen(self.norm(tokens))))


class EncoderLayer(eqx.Module):
    """Tokens hear one another, then think."""

    norm: TokenNorm
    hearing: Hearing
    feed: Feed

    def __init__(self, width: int, heads: int, feed: int, depth: int, key: Array):
        hear_key, feed_key = jax.random.split(key)
        self.norm = TokenNorm(width)
        self.hearing = Hearing(width, width, heads, depth, hear_key)
        self.feed = Feed(width, feed, depth, feed_key)

    def __call__(self, tokens: Array, heard: Array, bias: Array | float = 0.0) -> Array:
        normal = self.norm(tokens)
        return self.feed(tokens + self.hearing(normal, normal, heard, bias))


class TileLayer(eqx.Module):
    """A layer over the tiles of a map: how much a tile hears another depends on the steps between them too."""

    layer: EncoderLayer
    bias: Array  # float[heads, FARTHEST + 1]

    def __init__(self, width: int, heads: int, feed: int, depth: int, key: Array):
        self.layer = EncoderLayer(width, heads, feed, depth, key)
        self.bias = jnp.zeros((heads, FARTHEST + 1))

    def __call__(self, tiles: Array, distances: Array) -> Array:
        bias = self.bias.astype(jnp.float32)[:, jnp.minimum(distances, FARTHEST)]
        return self.layer(tiles, jnp.ones(len(tiles), bool), bias)


class DecoderLayer(eqx.Module):
    """Tokens hear the tokens before them, then the tiles, then think."""

    norm: TokenNorm
    before: Hearing
    inner_norm: TokenNorm
    board: Hearing
    feed: Feed

    def __init__(self, width: int, heads: int, feed: int, depth: int, key: Array):
        before_key, board_key, feed_key = jax.random.split(key, 3)
        self.norm, self.inner_norm = TokenNorm(width), TokenNorm(width)
        self.before = Hearing(width, width, heads, depth, before_key)
        self.board = Hearing(width, width, heads, depth, board_key)
        self.feed = Feed(width, feed, depth, feed_key)

    def __call__(self, tokens: Array, heard: Array, tiles: Array) -> Array:
        normal = self.norm(tokens)
        tokens = tokens + self.before(normal, normal, heard)
        everywhere = jnp.ones(len(tiles), bool)
        tokens = tokens + self.board(self.inner_norm(tokens), tiles, everywhere)
        return self.feed(tokens)
