"""What a network reads: tiles, pieces, facts and the tokens of the phase, and the legal values part by part.

Numbers are as in the rules, not scaled. Regions and nations have their index in the full game (the atlas), so that one
network can play on all maps: `atlas_regions` and `atlas_nations` give it.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.hispania.arrays import at, lookup
from stratagem.games.hispania.loading import load
from stratagem.games.hispania.reading import BadScenario
from stratagem.games.hispania.scenario import AREAS, BORDERS, BUILDINGS, MOST_PLAYERS, SLOTS, TERRAINS
from stratagem.games.hispania.stacks import Row, counts_of, row_of, slots_of
from stratagem.games.hispania.state import (
    CHOOSE,
    DEFEND,
    REMEMBERED,
    REMOVE,
    TYPE_OF,
    TYPES,
    State,
    widen,
)
from stratagem.games.hispania.tables import FAR, MASKS, Tables

ATLAS_REGIONS, ATLAS_NATIONS = 55, 20
TILE, PIECE, FACTS = 13, 32, 32
FUSED = FACTS + TILE + SLOTS * PIECE  # 237
TURN_TYPES = ("Growth", "Movement", "Battle", "Major Invasion", "Overpopulation")


class Encoding(NamedTuple):
    """One decision, from the side of whoever decides. M is the number of counters of all nations."""

    tiles: Array  # float32[R, 13]: building 4, terrain 3, area 5, population 1
    pieces: Array  # float32[M, 32]: hp, attack, defence, mp, price, min die 6, leader 1, nation 20; 0 if out of play
    places: Array  # int32[M]: the tile of each piece; −1 if out of play
    facts: Array  # float32[32]: player 4, nation 20, turn type 5, round, points, victory points
    stacks: Array  # float32[R, 6, 32]: pieces by slot, the deciding nation's first
    stacked: Array  # int32[R, 6]: which piece that is; M for none
    fused: Array  # float32[R, 237]: facts, tile and stack of each tile
    history: Array  # float32[H, 4 + R + 6 + R]: the earlier tokens of this phase, latest first
    remembered: Array  # bool[H]: which of them there are
    piece_extras: Array  # float32[M, 6]: moved, picked, entry over land, river, strait, sea
    fact_extras: Array  # float32[42]: rounds to the next count, combat round, suzerain 20, vassals 20


class Factors(NamedTuple):
    """The legal values of a token, part by part; R stands for none."""

    type: Array  # bool[4]
    tile: Array  # bool[R + 1]
    units: Array  # bool[R + 1, 64]: the sets of slots, by tile
    battle: Array  # bool[R + 1]


@lru_cache
def atlas(tables: Tables) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(regions, nations) by their index in the full game; ids that it does not have take indices that are left."""
    full = load("hispania")

    def indices(own: list[str], known: list[str], size: int, what: str) -> tuple[int, ...]:
        free = [number for number in range(size) if number >= len(known) or known[number] not in own]
        strangers = [name for name in own if name not in known]
        if len(strangers) > len(free):
            raise BadScenario(
                f"{tables.scenario.id}: more than {size} {what}; networks have no place for them"
            )
        places = dict(zip(strangers, reversed(free), strict=False))
        return tuple(known.index(name) if name in known else places[name] for name in own)

    scenario = tables.scenario
    regions = indices(
        [one.id for one in scenario.regions], [one.id for one in full.regions], ATLAS_REGIONS, "regions"
    )
    nations = indices(
        [one.id for one in scenario.nations], [one.id for one in full.nations], ATLAS_NATIONS, "nations"
    )
    return regions, nations


def distances(tables: Tables) -> np.ndarray:
    """int32[R, R]: borders between two regions, with one step between any two on a common sea."""
    seas = [set(region.seas) for region in tables.scenario.regions]
    steps = np.array([[bool(one & other) for other in seas] for one in seas]) | (tables.border >= 0)
    found = np.where(np.eye(len(seas), dtype=bool), 0, np.where(steps, 1, FAR))
    for middle in range(len(seas)):
        found = np.minimum(found, found[:, middle, None] + found[None, middle])
    return np.minimum(found, FAR).astype(np.int32)


def encode(tables: Tables, kept: State) -> Encoding:
    state = widen(kept)
    defends = state.phase == DEFEND
    decider = jnp.where(defends, at(state.holder, state.battle), state.nation)
    tiles = encode_tiles(tables, state)
    pieces, places, extras, stacked = encode_pieces(tables, state, decider)
    stacks = jnp.concatenate([pieces, jnp.zeros((1, PIECE))])[stacked]
    facts, more = encode_facts(tables, state, decider)
    flat = stacks.reshape(len(tiles), -1)
    fused = jnp.concatenate([jnp.broadcast_to(facts, (len(tiles), FACTS)), tiles, flat], axis=1)
    remembered = (jnp.arange(REMEMBERED) < state.steps) & ~defends
    history = encode_tokens(tables, state) * remembered[:, None]
    return Encoding(tiles, pieces, places, facts, stacks, stacked, fused, history, remembered, extras, more)


def one_hot(index: Array, size: int) -> Array:
    return (index[..., None] == np.arange(size)).astype(jnp.float32)


def encode_tiles(tables: Tables, state: State) -> Array:
    """float32[R, 13]"""
    people = tables.of_region("pop") + lookup(tables.of_building("income"), state.building)
    fixed = [(tables.of_region("terrain"), len(TERRAINS)), (tables.of_region("area"), len(AREAS))]
    parts = [one_hot(state.building, len(BUILDINGS))]
    parts += [jnp.asarray(np.eye(size, dtype=np.float32)[index]) for index, size in fixed]
    return jnp.concatenate([*parts, people[:, None].astype(jnp.float32)], axis=1)


def encode_pieces(tables: Tables, state: State, decider: Array) -> tuple[Array, Array, Array, Array]:
    """(pieces, places, extras, stacked)"""
    nations, regions = len(tables.kind), len(tables.on_map)
    rows: Row = jax.vmap(lambda nation: row_of(tables, state, nation))(jnp.arange(nations))
    slots = jax.vmap(slots_of)(rows)
    ours = counts_of(row_of(tables, state, decider), regions).pieces
    there = rows.region[..., None] == jnp.arange(regions)  # bool[N, S, R]
    mine = (jnp.arange(nations) == decider)[:, None]
    slots = slots + jnp.where(mine, 0, (there * ours).sum(axis=-1, dtype=jnp.int32))
    shown = (slots < SLOTS) & ((there & tables.on_map).any(axis=-1) | (mine & (rows.region >= 0)))
    spot = jnp.where(shown, rows.region * SLOTS + slots, regions * SLOTS)

    nation = np.eye(ATLAS_NATIONS, dtype=np.float32)[list(atlas(tables)[1])]
    numbers = jnp.stack([rows.hp, rows.attack, rows.defence, rows.mp, rows.price], axis=-1).astype(
        jnp.float32
    )
    least = one_hot(rows.min_die - 1, 6)
    wide = jnp.broadcast_to(nation[:, None], (*rows.kind.shape, ATLAS_NATIONS))
    features = jnp.concatenate([numbers, least, rows.leads[..., None].astype(jnp.float32), wide], axis=-1)
    alive = rows.region >= 0
    features = features * alive[..., None]

    active = (jnp.arange(nations) == state.nation)[:, None]
    came = active & (state.entry >= 0)
    flags = jnp.stack([active & state.moved, active & state.picked], axis=-1).astype(jnp.float32)
    extras = jnp.concatenate([flags, one_hot(state.crossed, len(BORDERS))[None] * came[..., None]], axis=-1)
    real = np.flatnonzero(tables.kind.reshape(-1) >= 0)
    nobody = jnp.full(regions * SLOTS, len(real), jnp.int32)
    stacked = nobody.at[spot.reshape(-1)[real]].set(jnp.arange(len(real), dtype=jnp.int32), mode="drop")
    return (
        features.reshape(-1, PIECE)[real],
        rows.region.reshape(-1)[real],
        extras.reshape(-1, extras.shape[-1])[real],
        stacked.reshape(regions, SLOTS),
    )


def encode_facts(tables: Tables, state: State, decider: Array) -> tuple[Array, Array]:
    """(float32[32], float32[42])"""
    player = tables.of_nation("player")
    seat = at(player, decider)
    nations = np.array(atlas(tables)[1])
    kind = lookup(TYPE_OF, state.phase)
    invasion = (state.half == 2) & (kind != TYPE_OF[REMOVE])
    kind = jnp.where(invasion, 3, jnp.where(kind == TYPE_OF[REMOVE], 4, kind))
    vp = jnp.where(player == seat, state.vp, 0).sum()
    numbers = jnp.stack([state.round, at(state.points, decider), vp]).astype(jnp.float32)
    who = [one_hot(seat, MOST_PLAYERS), one_hot(at(nations, decider), ATLAS_NATIONS)]
    facts = jnp.concatenate([*who, one_hot(kind, len(TURN_TYPES)), numbers])

    counts = np.array(tables.scenario.vp_rounds)
    wait = jnp.where(counts >= state.round, counts - state.round, FAR).min()
    ties = jnp.stack([jnp.arange(len(nations)) == at(state.suzerain, decider), state.suzerain == decider])
    spread = jnp.zeros((2, ATLAS_NATIONS)).at[:, nations].set(ties.astype(jnp.float32))
    more = jnp.concatenate([jnp.stack([wait, state.combat]).astype(jnp.float32), spread.reshape(-1)])
    return facts, more


def encode_tokens(tables: Tables, state: State) -> Array:
    """float32[H, 4 + R + 6 + R]: the earlier tokens; a tile or battle of −1 is all zero."""
    regions = len(tables.on_map)
    kind = one_hot(jnp.broadcast_to(lookup(TYPE_OF, state.phase), (REMEMBERED,)), len(TYPES))
    tile, units, battle = state.past[:, 0], state.past[:, 1], state.past[:, 2]
    slots = ((jnp.maximum(units, 0)[:, None] >> np.arange(SLOTS)) & 1).astype(jnp.float32)
    return jnp.concatenate([kind, one_hot(tile, regions), slots, one_hot(battle, regions)], axis=1)


def factors(tables: Tables, kept: State, choices: Array) -> Factors:
    """The legal tokens, bool[R + 1, 64], in the order type, tile, units, battle."""
    regions = len(tables.on_map)
    state = widen(kept)
    none = jnp.arange(regions + 1) == regions
    chooses = state.phase == CHOOSE
    fought = jnp.where(state.battle >= 0, jnp.arange(regions + 1) == state.battle, none)
    empty = jnp.arange(MASKS) == 0
    return Factors(
        type=jnp.arange(len(TYPES)) == lookup(TYPE_OF, state.phase),
        tile=jnp.where(chooses, none, choices.any(axis=1)),
        units=jnp.where(chooses, none[:, None] & empty, choices),
        battle=jnp.where(chooses, choices[:, 0], fought),
    )


def action_of(tables: Tables, kept: State, tile: Array, units: Array, battle: Array) -> Array:
    """int32: the flat action of a token; R stands for none."""
    named = jnp.where(kept.phase == CHOOSE, battle, tile)
    return named.astype(jnp.int32) * MASKS + units.astype(jnp.int32)
