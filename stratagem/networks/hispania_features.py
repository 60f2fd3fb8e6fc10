"""What networks for campaigns read: tiles of a map, pieces that stand on them, facts, and the phase's earlier tokens.

Axes: R tiles of the map, M pieces, H remembered tokens. Tiles carry their index in the atlas, the largest map, so that
the same parameters run on every map.
"""

from typing import NamedTuple

from jax import Array

STACK = 6  # pieces of a tile that are shown, and slots of a token
MASKS = 1 << STACK
TYPES = 4  # of tokens: growth, movement, battle, overpopulation
STEPS = 8  # kinds of decision
PLAYERS = 4  # at most


class Campaign(NamedTuple):
    """One decision, from the side of whoever decides."""

    tiles: Array  # float32[R, C]
    regions: Array  # int32[R]: in the atlas
    distances: Array  # int32[R, R]: steps between tiles
    pieces: Array  # float32[M, C]
    places: Array  # int32[M]: the tile of each piece; −1 if out of play
    stacked: Array  # int32[R, 6]: the piece in each slot of each tile; M for none
    facts: Array  # float32[C]
    player: Array  # int32: who decides
    step: Array  # int32: the kind of decision
    type: Array  # int32: the type of its token
    asks_battle: Array  # bool: the token names a battle, not a tile
    past_tiles: Array  # int32[H]: of earlier tokens, latest first, in the atlas; its size for none
    past_units: Array  # float32[H, 6]
    past_battles: Array  # int32[H]: as tiles
    remembered: Array  # bool[H]: which of them there are
