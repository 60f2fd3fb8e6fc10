"""Generals on a few maps drawn by hand, so that tests need not compile the generator of maps."""

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.games.generals import Pool, Pooled
from stratagem.games.generals.board import CASTLE, GENERAL, MOUNTAIN, NOBODY, new_state


def hand_drawn(side, cap=100, board=None):
    """A game on four maps of `side` cells: generals in opposite corners, a mountain and a castle between them.

    With `board` they lie on boards of that side, filled up with mountains.
    """
    board = board or side
    edge = (0, board - side)
    maps = []
    for turned in range(4):
        kind, owner, army = (np.zeros((side, side), np.int32) for _ in range(3))
        kind[0, 0] = kind[-1, -1] = GENERAL
        owner[0, 0], owner[-1, -1] = 1, 2
        army[0, 0] = army[-1, -1] = 1
        kind[1, side // 2], kind[2, 1], army[2, 1] = MOUNTAIN, CASTLE, 40 + turned
        kind, owner, army = (np.rot90(part, turned) for part in (kind, owner, army))
        kind = np.pad(kind, edge, constant_values=MOUNTAIN)
        parts = [jnp.asarray(part.reshape(-1)) for part in (kind, np.pad(owner, edge), np.pad(army, edge))]
        maps.append(new_state(*parts, jnp.int32(0), jnp.int32(NOBODY)))
    pool = Pool(jax.tree.map(lambda *leaves: jnp.stack(leaves), *maps))
    return Pooled(width=board, height=board, cap=cap, castles_from=1, castles_to=1, apart=3, pool=pool)
