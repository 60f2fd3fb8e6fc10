"""The sizes of networks that play by feel. Their `game` is a game as a player senses it: see `senses`."""

from dataclasses import dataclass
from typing import Any

from jax import Array

from stratagem.core.errors import BadOption
from stratagem.networks.mlp import Mlp
from stratagem.networks.senses import BoardFeatures, shapes_of
from stratagem.networks.transformer import PatchNet
from stratagem.networks.unet import UNet


@dataclass(frozen=True)
class Patch:
    """The patch transformer; as it stands, the size of the strongest published agent."""

    game: Any
    depth: int = 7
    width: int = 448
    heads: int = 8
    feed: int = 3
    size: int = 3
    """Cells along a side of a patch."""
    margin: int = 0
    """Cells around a patch that its token sees too: small networks learn faster with 1."""
    bins: int = 128
    """Of the value's distribution; 1 for a plain value."""
    moves: int = 9
    """Actions a cell that it knows; those that a variant has besides are never chosen."""
    flash: bool = False
    """On a graphics card and in half precision, attention in one kernel that never writes its weights."""

    def build(self, key: Array) -> PatchNet:
        if self.width % self.heads:
            raise BadOption(f"network patch: width {self.width} is not a multiple of heads {self.heads}")
        like = board_features(self.game, "patch")
        return PatchNet(
            like, self.depth, self.width, self.heads, self.feed, self.size, self.margin, self.bins, self.moves,
            per_cell(self.game, like), self.flash, key,
        )  # fmt: skip


@dataclass(frozen=True)
class Pyramid:
    """The U-Net."""

    game: Any
    channels: int = 64
    levels: int = 2
    """How often the board is halved."""
    blocks: int = 2
    """Residual blocks at each level, on the way down and again on the way up."""
    bins: int = 128
    """Of the value's distribution; 1 for a plain value."""
    moves: int = 9
    """Actions a cell that it knows; those that a variant has besides are never chosen."""

    def build(self, key: Array) -> UNet:
        like = board_features(self.game, "unet")
        return UNet(
            like,
            self.channels,
            self.levels,
            self.blocks,
            self.bins,
            self.moves,
            per_cell(self.game, like),
            key,
        )


@dataclass(frozen=True)
class Small:
    """Layers over all numbers of a small view."""

    game: Any
    width: int = 64
    depth: int = 2
    bins: int = 128
    """Of the value's distribution; 1 for a plain value."""

    def build(self, key: Array) -> Mlp:
        like = shapes_of(self.game)
        if isinstance(like, BoardFeatures):
            raise BadOption(f"network mlp reads no board; for {self.game.spec.name} try patch")
        return Mlp(like.shape[0], self.game.spec.actions, self.width, self.depth, self.bins, key)


def board_features(senses: Any, name: str) -> BoardFeatures:
    """The shapes of what a network for boards reads."""
    like = shapes_of(senses)
    if not isinstance(like, BoardFeatures):
        raise BadOption(f"network {name} reads boards; for {senses.spec.name} try mlp")
    return like


def per_cell(senses: Any, like: BoardFeatures) -> int:
    """Actions a cell of the game."""
    height, width = like.present.shape
    return senses.spec.actions // (height * width)
