"""Very many games side by side, the batch axis last: the fast way to play.

A graphics card writes, and a processor's vector unit works on, neighbouring games at once, and no index
arithmetic is needed cell by cell. `Lanes` carries what the next observation needs in bits, so that one turn is:
spread views and masks from the bits (written once, never read back), draw actions from the bits, move four words.

Finished games stay as they are until `restart`.
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.games.generals import rules
from stratagem.games.generals.board import (
    MOUNTAIN,
    NOBODY,
    State,
    above,
    and_around,
    army_of,
    below,
    cells_of_bits,
    clock_of,
    kind_of,
    left,
    owner_of,
    owners,
    right,
    rows_of_bits,
)
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import View

Masks = Literal["bool", "bytes", "words"]  # how legal masks are written; the bytes in memory are the same


class Terrain(NamedTuple):
    """What never changes in a game."""

    exits: Array  # uint8[H, W, B]: bits 0–3 say whether the way up, down, left, right is open
    ways: Array  # uint32[4, H, B]: the same in rows of bits, direction by direction


class Lanes(NamedTuple):
    """Many games, and what the next observation needs to know of them."""

    state: State  # [..., B]
    terrain: Terrain
    able: Array  # uint32[P, H, B]: in rows of bits, the cells from which each seat could move
    owned: Array  # uint32[P, H, B]: its cells
    chosen: Array  # uint8[P, H, W, B]: `rules.choices`


class Observation(NamedTuple):
    """What both seats see and may do."""

    views: tuple[View, View]  # [H, W, B]
    legal: Array  # bool[P, H, W, 9, B], uint8 likewise, or uint32[P, H, W, 9, B / 4]: four games a word


def from_states(states: State) -> State:
    """Games with the batch axis last, from games with it first."""
    return jax.tree.map(lambda part: jnp.moveaxis(part, 0, -1), states)


def explore(game: Generals, state: State) -> Terrain:
    """The terrain of new games."""
    ground = rows_of_bits(kind_of(state.cells).reshape(*game.shape, -1) != MOUNTAIN)
    ways = jnp.stack([above(ground), below(ground), left(ground), right(ground)])
    return Terrain(rules.exits(state, game.shape), ways)


def step(game: Generals, state: State, actions: Array) -> State:
    """One turn of all games; `actions` is int32[P, B]. Not for games with building."""
    outcome = game.turn(state, actions)
    after = rules.close(outcome.state, outcome.taken, game.cap)
    return after._replace(turn=rules.settle(after.turn), winner=rules.settle(after.winner))


def survey(game: Generals, state: State, terrain: Terrain) -> Lanes:
    """What the next observation needs."""
    cells = state.cells.reshape(*game.shape, -1)
    strong = (army_of(cells, clock_of(state)) >= 2) & (state.winner == NOBODY)
    seat = np.arange(1, 3).reshape(2, 1, 1, 1)
    able = rows_of_bits((owner_of(cells) == seat) & strong, axis=2)
    owned = rows_of_bits(owners(state).reshape(cells.shape) == seat, axis=2)
    return Lanes(state, terrain, able, owned, rules.choices(state, terrain.exits, game.shape))


def observe(game: Generals, lanes: Lanes, masks: Masks = "bool") -> Observation:
    """Both views and the legal masks."""

    def view(seat: int) -> View:
        visible = cells_of_bits(and_around(lanes.owned[seat]), game.width)
        return rules.view_of(lanes.state, visible, jnp.int32(seat), game.shape, game.army_type)

    spread = {"bool": rules.spread_actions, "bytes": spread_bytes, "words": spread_words}[masks]
    return Observation((view(0), view(1)), spread(lanes.chosen))


def spread_words(chosen: Array) -> Array:
    """uint32[P, H, W, 9, B / 4]: the legal masks of four games a word, a byte of 0 or 1 for each.

    The same bytes in memory as bool[P, H, W, 9, B], made four at a time.
    """
    fours = lax.bitcast_convert_type(chosen.reshape(*chosen.shape[:-1], -1, 4), jnp.uint32)
    places = np.array([0, 1, 2, 3, 0, 1, 2, 3, 4], np.uint32).reshape(1, 1, 1, 9, 1)
    return (fours[:, :, :, None] >> places) & 0x01010101


def spread_bytes(chosen: Array) -> Array:
    """uint8[P, H, W, 9, B]: the legal masks in bytes of 0 or 1, made four at a time."""
    fours = lax.bitcast_convert_type(spread_words(chosen), jnp.uint8)
    return fours.reshape(*fours.shape[:-2], -1)


def draw(game: Generals, lanes: Lanes, key: Array) -> Array:
    """int32[P, B]: uniformly random legal actions."""
    bits = jax.random.bits(key, lanes.state.generals.shape)
    able = jnp.moveaxis(lanes.able, 0, 1)  # [H, P, B]
    ways, places = lanes.terrain.ways[:, :, None], lanes.state.generals
    return rules.settle(rules.draw_action(able, ways, places, bits, game.width))


def restart(state: State, fresh: State) -> State:
    """The games that are over, replaced by `fresh` ones."""
    over = state.winner != NOBODY
    return jax.tree.map(lambda old, new: jnp.where(over, new, old), state, fresh)


def random_play(
    game: Generals, lanes: Lanes, key: Array, turns: int, masks: Masks = "bool", unroll: int = 1
) -> tuple[Lanes, tuple[Observation, Array]]:
    """So many turns of random legal play: where it stands, and what was seen and done, [T, …, B]."""

    def turn(lanes: Lanes, key: Array) -> tuple[Lanes, Any]:
        seen, actions = observe(game, lanes, masks), draw(game, lanes, key)
        return survey(game, step(game, lanes.state, actions), lanes.terrain), (seen, actions)

    return lax.scan(turn, lanes, jax.random.split(key, turns), unroll=unroll)


def random_play_in_place(
    game: Generals, lanes: Lanes, key: Array, turns: int, masks: Masks = "bool", unroll: int = 1
) -> tuple[Lanes, Observation]:
    """The same, but every turn's observation is written over the last one's: where it stands, and the last."""

    def turn(carry: tuple[Lanes, Observation], key: Array) -> tuple[tuple[Lanes, Observation], None]:
        lanes, _ = carry
        seen, actions = observe(game, lanes, masks), draw(game, lanes, key)
        return (survey(game, step(game, lanes.state, actions), lanes.terrain), seen), None

    start = (lanes, observe(game, lanes, masks))
    return lax.scan(turn, start, jax.random.split(key, turns), unroll=unroll)[0]
