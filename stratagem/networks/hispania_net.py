"""The hierarchical network for campaigns: tiles and pieces apart, then together, then a decoder that writes tokens.

1. Tile encoder: each tile with an embedding of its own; tiles hear one another by distance.
2. Piece encoder: each piece with an embedding of the tile on which it stands.
3. Game-state encoder: facts, tile and its stack of six pieces, tile by tile.
4. Decoder over the earlier tokens of the phase and the one to come, which hears the tiles; its last token speaks.
5. Heads for the parts of a token, and a value: the mean over the tiles, one for each player.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from stratagem.networks.blocks import Dense
from stratagem.networks.hispania_features import PLAYERS, STACK, STEPS, TYPES, Campaign
from stratagem.networks.hispania_layers import DecoderLayer, EncoderLayer, TileLayer, named, stacks_of
from stratagem.networks.hispania_tokens import PAIRS, SizeThenSet, SlotBySlot, TokenJudgement
from stratagem.networks.transformer import Deep, TokenNorm


@dataclass(frozen=True)
class Sizes:
    """How large the network is."""

    width: int  # of tiles and tokens
    piece_width: int
    heads: int
    feed: int
    tile_depth: int
    piece_depth: int
    depth: int  # of the game-state encoder
    decoder_depth: int
    memory: int  # earlier tokens that the decoder hears
    bins: int
    top_k: bool


class Pieces(eqx.Module):
    """The piece encoder."""

    embed: Dense
    standing: Array  # float[atlas, C]: the embedding of the tile on which a piece stands
    layers: list[EncoderLayer]

    def __init__(self, inputs: int, atlas: int, sizes: Sizes, key: Array):
        embed_key, standing_key, *keys = jax.random.split(key, sizes.piece_depth + 2)
        width = sizes.piece_width
        self.embed = Dense(inputs, width, embed_key, gain=1.0)
        self.standing = 0.1 * jax.random.normal(standing_key, (atlas, width))
        self.layers = [EncoderLayer(width, sizes.heads, sizes.feed, sizes.piece_depth, one) for one in keys]

    def __call__(self, features: Campaign) -> Array:
        """float[M, C]"""
        alive = features.places >= 0
        tile = jnp.where(alive, features.regions[features.places], -1)
        tokens = self.embed(features.pieces) + named(self.standing, tile)
        for layer in self.layers:
            tokens = layer(tokens, alive)
        return tokens


class Board(eqx.Module):
    """Tile encoder, piece encoder and game-state encoder: float[R, C], each tile with what it has to say."""

    embed: Dense
    atlas: Array  # float[atlas, C]
    tile_layers: list[TileLayer]
    pieces: Pieces
    fuse_facts: Dense
    fuse_tile: Dense
    fuse_stack: Dense
    layers: list[TileLayer]
    norm: TokenNorm

    def __init__(self, like: Campaign, atlas: int, sizes: Sizes, key: Array):
        keys = iter(jax.random.split(key, sizes.tile_depth + sizes.depth + 6))
        width, shape = sizes.width, (sizes.width, sizes.heads, sizes.feed)
        self.embed = Dense(like.tiles.shape[-1], width, next(keys), gain=1.0)
        self.atlas = 0.1 * jax.random.normal(next(keys), (atlas, width))
        self.tile_layers = [TileLayer(*shape, sizes.tile_depth, next(keys)) for _ in range(sizes.tile_depth)]
        self.pieces = Pieces(like.pieces.shape[-1], atlas, sizes, next(keys))
        self.fuse_facts = Dense(like.facts.shape[-1], width, next(keys), gain=0.5)
        self.fuse_tile = Dense(width, width, next(keys), gain=0.5)
        self.fuse_stack = Dense(STACK * sizes.piece_width, width, next(keys), gain=0.5)
        self.layers = [TileLayer(*shape, sizes.depth, next(keys)) for _ in range(sizes.depth)]
        self.norm = TokenNorm(width)

    def __call__(self, features: Campaign) -> Array:
        tiles = self.embed(features.tiles) + self.atlas[features.regions]
        for layer in self.tile_layers:
            tiles = layer(tiles, features.distances)
        stacks = stacks_of(self.pieces(features), features.stacked)
        # The product of a matrix and (facts, tile, stack), part by part: the facts are the same for all tiles.
        tiles = self.fuse_facts(features.facts) + self.fuse_tile(tiles) + self.fuse_stack(stacks)
        for layer in self.layers:
            tiles = layer(tiles, features.distances)
        return self.norm(tiles)


class Decoder(eqx.Module):
    """From the earlier tokens of the phase and the tiles to float[C], which the heads read."""

    steps: Array  # float[8, C]: the token to come, by the kind of decision
    tiles: Array  # float[atlas + 1, C]
    battles: Array  # float[atlas + 1, C]
    units: Dense
    order: Array  # float[memory, C]: how long ago
    layers: list[DecoderLayer]
    norm: TokenNorm

    def __init__(self, atlas: int, sizes: Sizes, key: Array):
        *table_keys, units_key, order_key, layers_key = jax.random.split(key, 6)
        width = sizes.width
        counts = (STEPS, atlas + 1, atlas + 1)
        self.steps, self.tiles, self.battles = (
            0.1 * jax.random.normal(one, (count, width))
            for one, count in zip(table_keys, counts, strict=True)
        )
        self.units = Dense(STACK, width, units_key, gain=0.1)
        self.order = 0.1 * jax.random.normal(order_key, (sizes.memory, width))
        depth = sizes.decoder_depth
        self.layers = [
            DecoderLayer(width, sizes.heads, sizes.feed, depth, one)
            for one in jax.random.split(layers_key, depth)
        ]
        self.norm = TokenNorm(width)

    def __call__(self, features: Campaign, tiles: Array) -> Array:
        count = min(len(self.order), len(features.remembered))
        past = named(self.tiles, features.past_tiles[:count]) + named(
            self.battles, features.past_battles[:count]
        )
        past = past + self.units(features.past_units[:count]) + self.order[:count]
        tokens = jnp.concatenate([named(self.steps, features.step[None]), past])
        there = jnp.concatenate([jnp.ones(1, bool), features.remembered[:count]])
        # Latest first: what comes later in the row was said before.
        places = jnp.arange(count + 1)
        heard = (places[:, None] <= places) & there | (places[:, None] == places)
        for layer in self.layers:
            tokens = layer(tokens, heard, tiles)
        return self.norm(tokens[0])


class Pointer(eqx.Module):
    """For each tile some numbers that depend on it and on what is to be decided, with weights for each type."""

    ask: Dense
    tell: Dense
    out: Dense

    def __init__(self, width: int, outputs: int, key: Array):
        ask_key, tell_key, out_key = jax.random.split(key, 3)
        self.ask = Dense(width, TYPES * width, ask_key, gain=1.0)
        self.tell = Dense(width, width, tell_key, gain=1.0)
        self.out = Dense(width, outputs, out_key, gain=0.01)

    def __call__(self, wish: Array, type: Array, tiles: Array) -> Array:
        """float32[R + 1, outputs]"""
        asked = self.ask(wish).reshape(TYPES, -1)[type]
        return self.out(jax.nn.relu(self.tell(tiles) + asked)).astype(jnp.float32)


class CampaignNet(eqx.Module):
    """From the features of one decision to a judgement of all its tokens."""

    board: Board
    decoder: Decoder
    none: Array  # float[C]: stands for no tile
    type: Dense
    tile: Pointer
    battle: Pointer
    units: Pointer
    value: Deep
    bins: int = eqx.field(static=True)
    top_k: bool = eqx.field(static=True)

    def __init__(self, like: Campaign, atlas: int, sizes: Sizes, key: Array):
        keys = iter(jax.random.split(key, 8))
        width = sizes.width
        self.board = Board(like, atlas, sizes, next(keys))
        self.decoder = Decoder(atlas, sizes, next(keys))
        self.none = 0.1 * jax.random.normal(next(keys), (width,))
        self.type = Dense(width, TYPES, next(keys), gain=0.01)
        self.tile = Pointer(width, 1, next(keys))
        self.battle = Pointer(width, 1, next(keys))
        self.units = Pointer(width, STACK + (STACK + 1 if sizes.top_k else len(PAIRS)), next(keys))
        self.value = Deep(width, width, PLAYERS * sizes.bins, next(keys), gain=0.01)
        self.bins, self.top_k = sizes.bins, sizes.top_k

    def __call__(self, features: Campaign, learning: bool = False) -> TokenJudgement:
        tiles = self.board(features)
        wish = self.decoder(features, tiles)
        beliefs = self.value(tiles.mean(axis=0)).astype(jnp.float32).reshape(PLAYERS, self.bins)
        places = jnp.concatenate([tiles, self.none[None]])
        tile, battle = (head(wish, features.type, places)[:, 0] for head in (self.tile, self.battle))
        kind = SizeThenSet if self.top_k else SlotBySlot
        return kind(
            type=self.type(wish).astype(jnp.float32),
            asked=features.type,
            tile=jnp.where(features.asks_battle, battle, tile),
            units=self.units(wish, features.type, places),
            belief=beliefs[features.player],
        )
