"""How a network sees Generals: the memory of `generals_memory`, a compact record of it, and planes for the board.

A record holds six bytes a cell and the two scoreboards. What is padding is found from the view alone: rows and columns
at the far edges in which everything is mountain or unknown structure.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from stratagem.agents.generals_memory import Memory, blank, note_move, take_in
from stratagem.core.game import GameSpec
from stratagem.games.generals.board import CASTLE, State, kind_of, owner_of, standing
from stratagem.games.generals.rules import FOG, ME, OPPONENT, SEEN_MOUNTAIN, STRUCTURE, View, seen
from stratagem.networks.senses import BoardFeatures

KINDS = 6  # unknown, plain, mountain, castle, general, structure: three bits
OWNER, VISIBLE, EXPOSED, POSSIBLE = 3, 5, 6, 7  # the bits at which these start in a record's `cells`
OLD = 255  # turns after which it does not matter how long ago something was
WEIGHTS = (0.2, 0.2, 0.1)  # of land, army and sites in the potential


class Record(NamedTuple):
    """What a seat knows, in small types."""

    cells: Array  # uint8[H, W]: kind, owner, visible, seen by the opponent, may hold its general
    army: Array  # int16[H, W]: as last seen
    ages: Array  # uint8[3, H, W]: turns since the cell was seen, I moved from it, the opponent acted on it
    land: Array  # int16[2, HISTORY]
    total: Array  # int32[2, HISTORY]
    turn: Array  # int16


@dataclass(frozen=True)
class GeneralsSenses:
    """Views of Generals as a network reads them."""

    game: Any

    @cached_property
    def spec(self) -> GameSpec:
        return self.game.spec

    def blank(self) -> Memory:
        return blank(self.game)

    def observe(self, memory: Memory, view: View) -> tuple[Memory, Record]:
        known = take_in(self.game, memory, view)
        kind = seen(view)
        visible = (kind != FOG) & (kind != STRUCTURE)
        cells = (
            known.kind
            | (known.owner << OWNER)
            | (visible.astype(jnp.uint8) << VISIBLE)
            | (known.exposed.astype(jnp.uint8) << EXPOSED)
            | (known.possible.astype(jnp.uint8) << POSSIBLE)
        )
        moments = jnp.stack([known.seen_at, known.my_moves, known.their_moves])
        age = jnp.clip(view.turn - moments.astype(jnp.int32), 0, OLD)
        return known, Record(
            cells=cells,
            army=jnp.minimum(known.army, 32_767).astype(jnp.int16),
            ages=jnp.where(moments < 0, OLD, age).astype(jnp.uint8),
            land=known.land.astype(jnp.int16),
            total=known.total,
            turn=jnp.minimum(view.turn, 32_767).astype(jnp.int16),
        )

    def note(self, memory: Memory, action: Array) -> Memory:
        return note_move(self.game, memory, action)

    def features(self, record: Record) -> BoardFeatures:
        cells = record.cells
        kind, owner = cells & 7, (cells >> OWNER) & 3
        bits = [(cells >> place) & 1 for place in (VISIBLE, EXPOSED, POSSIBLE)]
        mine, theirs = owner == ME, owner == OPPONENT
        present = on_board((kind != STRUCTURE) & (kind != SEEN_MOUNTAIN))
        army = record.army.astype(jnp.float32)
        size = jnp.log1p(army) / 4
        totals = jnp.maximum(record.total[:, -1], 1).astype(jnp.float32)
        planes = [
            *[kind == one for one in range(KINDS)],
            mine,
            theirs,
            *bits,
            jnp.where(mine, size, 0),
            jnp.where(theirs, size, 0),
            jnp.where(mine | theirs, 0, size),
            jnp.where(mine, army / totals[0], 0),
            jnp.where(theirs, army / totals[1], 0),
            mine & (army >= 2),
            *jnp.exp(-record.ages.astype(jnp.float32) / 16),
            present,
        ]
        board = jnp.stack([plane.astype(jnp.float32) for plane in planes], axis=-1)
        turn = record.turn.astype(jnp.float32)
        clock = [
            turn / 500,
            turn % 50 / 50,
            turn % 2,
            turn < 25,
            (turn % 50) >= 40,
            *scaled(record.land[:, -1]),
            *scaled(record.total[:, -1]),
            present.sum() / 400,
        ]
        return BoardFeatures(
            cells=jnp.where(present[..., None], board, 0),
            present=present,
            scores=jnp.stack([scaled(record.land).reshape(-1), scaled(record.total).reshape(-1)]),
            clock=jnp.stack([jnp.asarray(one, jnp.float32) for one in clock]),
        )

    def potential(self, state: State) -> Array:
        """float32[P]: how far each seat is ahead in land, army, and castles, as a weighted sum of log-ratios."""
        land, army = standing(state)
        owner, site = owner_of(state.cells), kind_of(state.cells) >= CASTLE
        sites = jnp.stack([(site & (owner == seat + 1)).sum() for seat in range(2)])
        counts = jnp.stack([land, army, sites]).astype(jnp.float32)  # [3, P]
        ahead = jnp.log2((counts[:, 0] + 1) / (counts[:, 1] + 1))
        lead = jnp.clip(jnp.asarray(WEIGHTS) @ ahead, -1.0, 1.0)
        return jnp.stack([lead, -lead])


def scaled(counts: Array) -> Array:
    """Counts of any size as numbers of the order of one."""
    return jnp.log1p(jnp.maximum(counts, 0).astype(jnp.float32)) / 4


def on_board(ground: Array) -> Array:
    """bool[H, W]: the rows and columns up to the last one in which there is ground."""
    rows = lax.cummax(ground.any(axis=1).astype(jnp.int32), reverse=True) == 1
    columns = lax.cummax(ground.any(axis=0).astype(jnp.int32), reverse=True) == 1
    return rows[:, None] & columns[None, :]
