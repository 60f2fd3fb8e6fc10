"""Networks for boards: view float[H, W, C] in, one logit a cell (or any number of actions) and a value out.

A view is first read by a `Reader`, the only part that knows a game, so these know none.
"""

from collections.abc import Callable
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from stratagem.networks.blocks import (
    BatchNorm,
    BoardNorm,
    ClassicBlock,
    Conv,
    Dense,
    GlobalBlock,
    Sight,
    Training,
    absorb_all,
    dropout,
    pool,
)
from stratagem.networks.outputs import Output, belief_output, scalar_output

Reader = Callable[[Array], Array]  # from the view of a game to float32[H, W, C], the mover's things first
Linker = Callable[[Array], Sight]  # from what a reader says to what it says with links


class PlainNet(eqx.Module):
    """The network of the Corso paper: four convolutions of 64, two heads, no residuals; about 150 k parameters.

    It sees the players in a fixed order and whose turn it is, and values the position for player 1.
    """

    tower: list[Conv]
    tower_norms: list[BatchNorm]
    policy: list[Conv]
    policy_norm: BatchNorm
    squeeze: Conv
    squeeze_norm: BatchNorm
    hidden: Dense
    value: Dense
    drop: float = eqx.field(static=True)

    def __init__(
        self, planes: int, cells: int, channels: int, layers: int, hidden: int, drop: float, key: Array
    ):
        keys = iter(jax.random.split(key, layers + 5))
        widths = [planes] + [channels] * layers
        self.tower = [Conv(a, b, 3, next(keys), bias=False) for a, b in pairwise(widths)]
        self.tower_norms = [BatchNorm(channels) for _ in range(layers)]
        narrow = channels // 2
        self.policy = [
            Conv(channels, narrow, 3, next(keys), bias=False),
            Conv(narrow, 1, 3, next(keys), gain=0.1),
        ]
        self.policy_norm = BatchNorm(narrow)
        self.squeeze = Conv(channels, 2, 1, next(keys), bias=False)
        self.squeeze_norm = BatchNorm(2)
        self.hidden = Dense(2 * cells, hidden, next(keys))
        self.value = Dense(hidden, 1, next(keys), gain=0.1)
        self.drop = drop

    def __call__(self, view: Array, training: Training | None = None) -> Output:
        board, moments = view.astype(self.tower[0].weight.dtype), []
        for conv, norm in zip(self.tower, self.tower_norms, strict=True):
            board, seen = norm(conv(board, training), training)
            board = jax.nn.relu(board)
            moments.append(seen)
        map_, policy_seen = self.policy_norm(self.policy[0](board, training), training)
        logits = self.policy[1](jax.nn.relu(map_), training).reshape(-1)
        thin, squeeze_seen = self.squeeze_norm(self.squeeze(board), training)
        features = jax.nn.relu(self.hidden(jax.nn.relu(thin).reshape(-1)))
        for_first = jnp.tanh(self.value(dropout(features, self.drop, training)))[0]
        turn = view[0, 0, -1]  # 0 or 1: the player to move
        value = jnp.where(turn == 0, for_first, -for_first)
        return scalar_output(logits, value, [*moments, policy_seen, squeeze_seen] if training else ())

    def absorb(self, moments: list) -> "PlainNet":
        norms = absorb_all([*self.tower_norms, self.policy_norm, self.squeeze_norm], moments)
        return eqx.tree_at(
            lambda net: (net.tower_norms, net.policy_norm, net.squeeze_norm),
            self,
            (norms[:-2], norms[-2], norms[-1]),
        )


class ClassicNet(eqx.Module):
    """The residual network of AlphaGo Zero, with the heads of GENERAL: any number of actions, a fixed board."""

    stem: Conv
    stem_norm: BatchNorm
    blocks: list[ClassicBlock]
    policy: Conv
    policy_norm: BatchNorm
    actions: Dense
    squeeze: Conv
    squeeze_norm: BatchNorm
    hidden: Dense
    value: Dense
    reader: Reader = eqx.field(static=True)

    def __init__(
        self, planes: int, cells: int, actions: int, channels: int, blocks: int, reader: Reader, key: Array
    ):
        keys = iter(jax.random.split(key, blocks + 6))
        self.stem, self.stem_norm = Conv(planes, channels, 3, next(keys), bias=False), BatchNorm(channels)
        self.blocks = [ClassicBlock(channels, next(keys)) for _ in range(blocks)]
        self.policy, self.policy_norm = Conv(channels, 2, 1, next(keys), bias=False), BatchNorm(2)
        self.actions = Dense(2 * cells, actions, next(keys), gain=0.1)
        self.squeeze, self.squeeze_norm = Conv(channels, 1, 1, next(keys), bias=False), BatchNorm(1)
        self.hidden = Dense(cells, 64, next(keys))
        self.value = Dense(64, 1, next(keys), gain=0.1)
        self.reader = reader

    def __call__(self, view: Array, training: Training | None = None) -> Output:
        board, seen = self.stem_norm(self.stem(self.reader(view), training), training)
        board, moments = jax.nn.relu(board), [seen]
        for block in self.blocks:
            board, both = block(board, training)
            moments += both
        flat, policy_seen = self.policy_norm(self.policy(board), training)
        logits = self.actions(jax.nn.relu(flat).reshape(-1))
        thin, squeeze_seen = self.squeeze_norm(self.squeeze(board), training)
        features = jax.nn.relu(self.hidden(jax.nn.relu(thin).reshape(-1)))
        value = jnp.tanh(self.value(features))[0]
        return scalar_output(logits, value, [*moments, policy_seen, squeeze_seen] if training else ())

    def _norms(self) -> list[BatchNorm]:
        inner = [norm for block in self.blocks for norm in (block.first_norm, block.second_norm)]
        return [self.stem_norm, *inner, self.policy_norm, self.squeeze_norm]

    def absorb(self, moments: list) -> "ClassicNet":
        return eqx.tree_at(ClassicNet._norms, self, absorb_all(self._norms(), moments))


class GlobalNet(eqx.Module):
    """The best found here: plays boards of any size, hears the whole board in every block, believes in results.

    One logit a cell, so that a game whose actions are its cells has one network for all its sizes. A linker adds
    `kinds` of links between cells, along which every block hears.
    """

    stem: Conv
    blocks: list[GlobalBlock]
    norm: BoardNorm
    policy: Conv
    policy_listen: Dense
    cell: Conv
    squeeze: Conv
    hidden: Dense
    value: Dense
    reader: Reader = eqx.field(static=True)
    linker: Linker = eqx.field(static=True)
    seats: int = eqx.field(static=True)

    def __init__(
        self,
        planes: int,
        seats: int,
        channels: int,
        blocks: int,
        results: int,
        reader: Reader,
        key: Array,
        linker: Linker = Sight,
        kinds: int = 0,
    ):
        keys = iter(jax.random.split(key, blocks + 7))
        head = max(16, channels // 2)
        self.stem = Conv(planes, channels, 3, next(keys))
        self.blocks = [GlobalBlock(channels, next(keys), kinds) for _ in range(blocks)]
        self.norm = BoardNorm(channels)
        self.policy = Conv(channels, head, 1, next(keys))
        self.policy_listen = Dense(3 * channels, head, next(keys), gain=0.5)
        self.cell = Conv(head, 1, 1, next(keys), gain=0.1)
        self.squeeze = Conv(channels, head, 1, next(keys))
        self.hidden = Dense(3 * head, 2 * head, next(keys))
        beliefs = 1 if seats == 2 else seats
        self.value = Dense(2 * head, beliefs * results, next(keys), gain=0.1)
        self.reader, self.linker, self.seats = reader, linker, seats

    def __call__(self, view: Array, training: Training | None = None) -> Output:
        sight = self.linker(self.reader(view))
        board = self.stem(sight.planes, training)
        for block in self.blocks:
            board = block(board, training, sight.links)
        board = jax.nn.relu(self.norm(board))
        heard = self.policy(board) + self.policy_listen(pool(board))
        logits = self.cell(jax.nn.relu(heard)).reshape(-1)
        features = jax.nn.relu(self.hidden(pool(jax.nn.relu(self.squeeze(board)))))
        beliefs = 1 if self.seats == 2 else self.seats
        return belief_output(logits, self.value(features).reshape(beliefs, -1), self.seats)

    def absorb(self, moments: list) -> "GlobalNet":
        return self
