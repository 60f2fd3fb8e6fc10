"""The sizes of networks for campaigns. Their `game` is a game as a player senses it: see `senses`."""

from dataclasses import dataclass
from typing import Any

from jax import Array

from stratagem.core.errors import BadOption
from stratagem.networks.hispania_flat import FlatNet
from stratagem.networks.hispania_net import CampaignNet, Sizes
from stratagem.networks.senses import shapes_of


@dataclass(frozen=True)
class Hierarchical:
    """Tile, piece and game-state encoders and a decoder; as it stands, small enough for a laptop."""

    game: Any
    width: int = 96
    """Of tiles and tokens."""
    piece_width: int = 48
    heads: int = 4
    feed: int = 3
    """How much wider a layer is inside."""
    tile_depth: int = 1
    """Layers of the tile encoder."""
    piece_depth: int = 1
    """Layers of the piece encoder."""
    depth: int = 2
    """Layers of the game-state encoder."""
    decoder_depth: int = 1
    memory: int = 16
    """Earlier tokens of the phase that the decoder hears."""
    bins: int = 64
    """Of the value's distribution; 1 for a plain value."""
    top_k: bool = False
    """Units as a number and the best liked slots, instead of slot by slot."""

    def build(self, key: Array) -> CampaignNet:
        for name in ("width", "piece_width"):
            if getattr(self, name) % self.heads:
                raise BadOption(
                    f"network hierarchical: {name} {getattr(self, name)} is not a multiple of heads {self.heads}"
                )
        sizes = Sizes(
            self.width, self.piece_width, self.heads, self.feed, self.tile_depth, self.piece_depth, self.depth,
            self.decoder_depth, self.memory, self.bins, self.top_k,
        )  # fmt: skip
        return CampaignNet(shapes_of(self.game), self.game.atlas, sizes, key)


@dataclass(frozen=True)
class Flat:
    """Layers over all numbers of the map at once."""

    game: Any
    width: int = 192
    depth: int = 2
    bins: int = 64
    """Of the value's distribution; 1 for a plain value."""

    def build(self, key: Array) -> FlatNet:
        return FlatNet(shapes_of(self.game), self.game.atlas, self.width, self.depth, self.bins, key)
