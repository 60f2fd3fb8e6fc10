"""The sizes of networks, and how the views of games are read into them."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.core.errors import BadOption
from stratagem.networks.boards import ClassicNet, GlobalNet, PlainNet, Reader
from stratagem.networks.corso_chains import EXTRA_PLANES, LINKS, read_chains
from stratagem.networks.general_planes import reader_of


def read_as_is(view: Array) -> Array:
    """A view that already is a board from the mover's side."""
    return view.astype(jnp.float32)


def read_corso(view: Array) -> Array:
    """float32[H, W, 2·P + 1]: marbles and dyed cells of the mover, then of the others in turn, then ones.

    The ones tell a convolution where the board ends. Whose turn it is need not be said: the mover comes first.
    """
    height, width, planes = view.shape
    mover = view[0, 0, -1].astype(jnp.int32)
    by_player = view[..., :-1].reshape(height, width, (planes - 1) // 2, 2)
    turned = jnp.roll(by_player, -mover, axis=2).reshape(height, width, planes - 1)
    return jnp.concatenate([turned, jnp.ones((height, width, 1), view.dtype)], axis=-1).astype(jnp.float32)


READERS = {"corso": read_corso}


@dataclass(frozen=True)
class Paper:
    """The network of the Corso paper."""

    game: Any
    channels: int = 64
    layers: int = 4
    hidden: int = 512
    dropout: float = 0.3

    def build(self, key: Array) -> PlainNet:
        if self.game.spec.seats != 2:
            raise BadOption(f"network paper is for two players, not {self.game.spec.seats}; try global")
        height, width, planes = _view_shape(self.game)
        return PlainNet(planes, height * width, self.channels, self.layers, self.hidden, self.dropout, key)


@dataclass(frozen=True)
class Classic:
    """Residual blocks with batch norm and a flat policy head."""

    game: Any
    channels: int = 196
    blocks: int = 7
    planes: int = 0
    """GENERAL: the first 9 or 12 planes of the view, 31 as for from-to; 0 for all."""

    def build(self, key: Array) -> ClassicNet:
        if self.game.spec.seats != 2:
            raise BadOption(f"network classic is for two players, not {self.game.spec.seats}; try global")
        height, width, planes = _view_shape(self.game)
        reader: Reader = READERS.get(self.game.spec.name, read_as_is)
        if self.planes:
            reader, planes = reader_of(self.planes), self.planes
        actions = self.game.spec.actions
        return ClassicNet(planes, height * width, actions, self.channels, self.blocks, reader, key)


@dataclass(frozen=True)
class Global:
    """Residual blocks with global pooling, for any board size."""

    game: Any
    channels: int = 64
    blocks: int = 4
    results: int = 2
    """Results that the value head tells apart, evenly from a loss to a win; with two, a draw is half of each."""
    chains: bool = False
    """Every block also hears along chains of marbles, what they would dye, and regions, as Corso has them."""

    def build(self, key: Array) -> GlobalNet:
        height, width, planes = _view_shape(self.game)
        spec = self.game.spec
        if spec.actions != height * width:
            raise BadOption(
                f"network global has one action a cell; {spec.name} has {spec.actions} actions on {height * width} "
                "cells; try classic"
            )
        reader = READERS.get(spec.name, read_as_is)
        sizes = spec.seats, self.channels, self.blocks, self.results
        if not self.chains:
            return GlobalNet(planes, *sizes, reader, key)
        return GlobalNet(planes + EXTRA_PLANES, *sizes, reader, key, read_chains, LINKS)


def _view_shape(game: Any) -> tuple[int, int, int]:
    view = jax.eval_shape(lambda key: game.view(game.init(key), jnp.int32(0)), jax.random.key(0))
    shape: tuple[int, ...] = getattr(view, "shape", ())
    if len(shape) != 3:
        raise BadOption(f"a board network needs a view of [H, W, C]; {game.spec.name} has {view}")
    height, width, planes = shape
    return height, width, planes
