"""What a player of Generals remembers: a summary of all views so far, for one seat.

Kept by the agent and not by the game, because on a real server only views arrive. It holds what the seed of this
project lists: last known generals and castles, explored cells, cells that the opponent has seen, recent moves of
both, and the opponent's land and army over time. Everything is small and fixed in size.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import (
    FOG,
    ME,
    OPPONENT,
    SEEN_CASTLE,
    SEEN_GENERAL,
    SEEN_MOUNTAIN,
    SEEN_PLAIN,
    STRUCTURE,
    View,
    possessors,
    seen,
    seen_from,
)

HISTORY = 64  # turns of the score that are remembered
UNKNOWN = 0  # in `kind`, besides SEEN_… and STRUCTURE
NEVER = -1


class Memory(NamedTuple):
    """All that was seen. Cells that are not visible hold what they held when they last were."""

    kind: Array  # uint8[H, W]: UNKNOWN, STRUCTURE (mountain or castle) or SEEN_…
    owner: Array  # uint8[H, W]: 0 nobody or unknown, ME, OPPONENT
    army: Array  # int32[H, W]
    seen_at: Array  # int16[H, W]: the turn in which the cell was last visible, or NEVER; explored is >= 0
    exposed: Array  # bool[H, W]: the opponent has seen the cell, for all that we know
    my_moves: Array  # int16[H, W]: the turn in which I last moved from the cell, or NEVER
    their_moves: (
        Array  # int16[H, W]: the turn in which the opponent was last seen to act on the cell, or NEVER
    )
    general: Array  # int32: the cell of the opponent's general, or NEVER
    possible: Array  # bool[H, W]: where the opponent's general may be
    land: Array  # int32[2, HISTORY]: mine and the opponent's land, the newest last
    total: Array  # int32[2, HISTORY]: the armies likewise
    turn: Array  # int32: of the last view, or NEVER


def blank(game: Generals) -> Memory:
    """Nothing seen yet."""
    nothing = jnp.zeros(game.shape, jnp.uint8)
    never = jnp.full(game.shape, NEVER, jnp.int16)
    return Memory(
        kind=nothing,
        owner=nothing,
        army=jnp.zeros(game.shape, jnp.int32),
        seen_at=never,
        exposed=jnp.zeros(game.shape, bool),
        my_moves=never,
        their_moves=never,
        general=jnp.int32(NEVER),
        possible=jnp.ones(game.shape, bool),
        land=jnp.zeros((2, HISTORY), jnp.int32),
        total=jnp.zeros((2, HISTORY), jnp.int32),
        turn=jnp.int32(NEVER),
    )


def take_in(game: Generals, memory: Memory, view: View) -> Memory:
    """The memory with one more view in it; taking in the same view again changes nothing."""
    kind, owner, army = seen(view), possessors(view), view.army.astype(jnp.int32)
    visible = (kind != FOG) & (kind != STRUCTURE)
    turn = view.turn.astype(jnp.int16)
    fresh = view.turn != memory.turn
    old_kind = jnp.where(kind == STRUCTURE, jnp.maximum(memory.kind, 0), memory.kind)
    unseen = jnp.where((kind == STRUCTURE) & (old_kind == UNKNOWN), STRUCTURE, old_kind)
    # A castle or mountain that was seen stays what it is; a plain cell that became structure is a castle by now.
    unseen = jnp.where((kind == STRUCTURE) & (old_kind == SEEN_PLAIN), SEEN_CASTLE, unseen)
    theirs = visible & (owner == OPPONENT)
    acted = theirs & (memory.owner != OPPONENT) | theirs & (army < memory.army) & (memory.seen_at >= 0)
    found = visible & (kind == SEEN_GENERAL) & (owner == OPPONENT)
    place = jnp.argmax(found.reshape(-1)).astype(jnp.int32)
    general = jnp.where(found.any(), place, memory.general)

    def score(past: Array, now: Array) -> Array:
        return jnp.where(fresh, jnp.concatenate([past[:, 1:], now[:, None]], axis=1), past)

    return Memory(
        kind=jnp.where(visible, kind, unseen).astype(jnp.uint8),
        owner=jnp.where(visible, owner, memory.owner).astype(jnp.uint8),
        army=jnp.where(visible, army, memory.army),
        seen_at=jnp.where(visible, turn, memory.seen_at),
        exposed=memory.exposed | seen_from(theirs),
        my_moves=memory.my_moves,
        their_moves=jnp.where(acted & fresh, turn, memory.their_moves),
        general=general,
        possible=narrow(game, memory, view, visible, theirs & (memory.owner != OPPONENT) & fresh),
        land=score(memory.land, view.land),
        total=score(memory.total, view.total),
        turn=view.turn,
    )


def narrow(game: Generals, memory: Memory, view: View, visible: Array, appeared: Array) -> Array:
    """bool[H, W]: where the opponent's general may still be.

    Not where anything else was seen; not nearer to mine than maps allow; and an enemy cell that shows up in turn t
    has been walked to from the general in at most t steps.
    """
    rows, columns = jnp.arange(game.height)[:, None], jnp.arange(game.width)[None, :]
    kind, owner = seen(view), possessors(view)
    mine = (kind == SEEN_GENERAL) & (owner == ME)
    own = jnp.argmax(mine.reshape(-1))
    from_own = jnp.abs(rows - own // game.width) + jnp.abs(columns - own % game.width)
    # A walk of `apart` steps may end in a cell that is nearer as the crow flies, but seldom much nearer.
    far_enough = from_own >= jnp.where(mine.any(), game.apart // 2, 0)
    reach = jnp.where(appeared, 0, 10_000)

    def spread_of(diagonal: Array) -> Array:
        low = jnp.where(appeared, diagonal, 10_000).min()
        high = jnp.where(appeared, diagonal, -10_000).max()
        return jnp.maximum(jnp.abs(diagonal - low), jnp.abs(diagonal - high))

    farthest = jnp.maximum(spread_of(rows + columns), spread_of(rows - columns))
    within = jnp.where((reach == 0).any(), farthest <= view.turn, True)
    standing = memory.possible & far_enough & within
    found = visible & (kind == SEEN_GENERAL) & (owner == OPPONENT)
    structure = (kind == STRUCTURE) | (memory.kind == STRUCTURE) | (memory.kind == SEEN_MOUNTAIN)
    remaining = standing & ~visible & ~structure
    return jnp.where(found.any(), found, remaining)


def note_move(game: Generals, memory: Memory, action: Array) -> Memory:
    """The memory after a move of mine."""
    cell, k = action // game.per_cell, action % game.per_cell
    here = (jnp.arange(game.cells) == cell).reshape(game.shape) & (action >= 0) & (k < 8)
    return memory._replace(my_moves=jnp.where(here, memory.turn.astype(jnp.int16), memory.my_moves))


class Remembering:
    """For agents that keep this memory. Needs a `game` field."""

    game: Generals

    def memory(self) -> Memory:
        return blank(self.game)

    def remember(self, memory: Memory, view: View, action: Array) -> Memory:
        return note_move(self.game, take_in(self.game, memory, view), action)
