"""Optional rules, each a small wrapper around a turn.

- build: an action (k = 9) turns an own plain cell into a castle for a price, before any move.
- deathtouch: from some turn on, a move that reaches the enemy general's cell wins whatever the armies.

The competition preset is a variant of the game's row in the table of games.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.generals.board import (
    CASTLE,
    NOBODY,
    PLAIN,
    State,
    army_of,
    clock_of,
    kind_of,
    owner_of,
    pack,
    sprouts,
)
from stratagem.games.generals.rules import BUILD, Outcome, Turn

PRICE, NEARNESS, DISCOUNT = 35, 14, 2  # a castle costs 35, and 14 − 2·d more for each own site at distance d


def with_deathtouch(turn: Turn, since: int) -> Turn:
    """From turn `since` on, reaching the enemy general is taking it."""

    def touching(state: State, actions: Array) -> Outcome:
        outcome = turn(state, actions)
        return outcome._replace(taken=jnp.where(state.turn >= since, outcome.touched, outcome.taken))

    return touching


def with_build(turn: Turn, shape: tuple[int, int]) -> Turn:
    """Builds come before moves; a bad one is a pass. `turn` sees ten actions a cell and passes on BUILD."""

    def building(state: State, actions: Array) -> Outcome:
        for seat in range(2):
            state = build(state, seat, actions[seat], shape)
        return turn(state, actions)

    return building


def build(state: State, seat: int, action: Array, shape: tuple[int, int]) -> State:
    """The state after a seat's build, or the same if its action is no build or a bad one."""
    cells = shape[0] * shape[1]
    asked = (action >= 0) & (action < cells * 10) & (action % 10 == BUILD) & (state.winner == NOBODY)
    place = jnp.where(asked, action // 10, 0)
    word, clock = state.cells[place], clock_of(state)
    price = price_at(state, seat, place, shape)
    army = army_of(word, clock)
    own = owner_of(word) == seat + 1
    built = asked & own & (kind_of(word) == PLAIN) & (army >= price)
    castle = pack(jnp.int32(CASTLE), owner_of(word), army - price, clock)
    one = (jnp.arange(2) == seat) & built
    return state._replace(
        cells=state.cells.at[place].set(jnp.where(built, castle, word)),
        sites=state.sites + one,
        base=state.base - one * (price + sprouts(clock)),
    )


def buildable(state: State, shape: tuple[int, int]) -> Array:
    """bool[P, N]: where each seat can build now."""
    owner, army = owner_of(state.cells), army_of(state.cells, clock_of(state))
    plain = (kind_of(state.cells) == PLAIN) & (state.winner == NOBODY)
    can = [plain & (owner == seat + 1) & (army >= prices(state, seat, shape)) for seat in range(2)]
    return jnp.stack(can)


def prices(state: State, seat: int, shape: tuple[int, int]) -> Array:
    """int32[N]: what a castle on each cell would cost the seat."""
    sites = own_sites(state, seat).reshape(shape)
    reach = NEARNESS // DISCOUNT - 1
    padded = jnp.pad(sites, reach)
    price = jnp.full(shape, PRICE, jnp.int32)
    for down in range(-reach, reach + 1):
        for across in range(abs(down) - reach, reach - abs(down) + 1):
            extra = NEARNESS - DISCOUNT * (abs(down) + abs(across))
            row, column = reach + down, reach + across
            price = price + extra * padded[row : row + shape[0], column : column + shape[1]]
    return price.reshape(-1)


def price_at(state: State, seat: int, place: Array, shape: tuple[int, int]) -> Array:
    """int32: what a castle on one cell would cost the seat."""
    rows, columns = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    distance = jnp.abs(rows - place // shape[1]) + jnp.abs(columns - place % shape[1])
    extra = jnp.maximum(0, NEARNESS - DISCOUNT * distance)
    return PRICE + (own_sites(state, seat) * extra).sum(dtype=jnp.int32)


def own_sites(state: State, seat: int) -> Array:
    """int32[N]: 1 on the seat's general and castles."""
    mine = (owner_of(state.cells) == seat + 1) & (kind_of(state.cells) >= CASTLE)
    return mine.astype(jnp.int32)
