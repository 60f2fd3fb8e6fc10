"""How a network sees Hispania: the encoding of the rules, scaled, and what it leaves out: rivals, menus, incentives.

Nothing is hidden, so there is no memory, and the record of a decision is the state itself, which is small.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.hispania_worth import by_player, coming, gains, lead, prospects
from stratagem.core.game import GameSpec, View
from stratagem.games.hispania.arrays import at, lookup
from stratagem.games.hispania.encoding import ATLAS_REGIONS, atlas, distances
from stratagem.games.hispania.scenario import MOST_PLAYERS, SLOTS
from stratagem.games.hispania.stacks import counts_of, others_of, row_of
from stratagem.games.hispania.state import CHOOSE, TYPE_OF, State, widen
from stratagem.games.hispania.tables import Tables
from stratagem.networks.hispania_features import Campaign

PIECE_SCALE = np.array([2, 6, 6, 4, 6], np.float32)  # hit points, attack, defence, movement, price
FACT_SCALE = np.array([21, 10, 50], np.float32)  # round, population points, victory points
POPULATION, POINTS = 4.0, 4.0  # of a region


@dataclass(frozen=True)
class HispaniaSenses:
    """Views of Hispania as a network reads them."""

    game: Any

    @cached_property
    def spec(self) -> GameSpec:
        return self.game.spec

    @property
    def atlas(self) -> int:
        """Regions of the largest map."""
        return ATLAS_REGIONS

    def blank(self) -> Any:
        return ()

    def observe(self, memory: Any, view: View) -> tuple[Any, State]:
        return memory, self.game.state_of(view)

    def note(self, memory: Any, action: Array) -> Any:
        return memory

    def potential(self, state: State) -> Array:
        """float32[P]: the lead in victory points, with those that the next count would bring."""
        return lead(self.game.tables, prospects(self.game.tables, widen(state)))

    def margin(self, state: State) -> Array:
        """float32[P]: the lead in victory points at the end."""
        return lead(self.game.tables, state.vp)

    def features(self, record: State) -> Campaign:
        tables, state = self.game.tables, widen(record)
        told = self.game.encode(self.game.view(record, 0))
        nation = self.game.decider(state)
        regions = np.array(atlas(tables)[0], np.int32)
        named = np.append(regions, ATLAS_REGIONS)  # −1 reads the last: none
        past = state.past
        return Campaign(
            tiles=jnp.concatenate(
                [scaled(told.tiles, 12, POPULATION), tile_extras(tables, state, nation)], 1
            ),
            regions=jnp.asarray(regions),
            distances=jnp.asarray(distances(tables)),
            pieces=jnp.concatenate([scaled(told.pieces, 0, PIECE_SCALE), told.piece_extras], axis=1),
            places=told.places,
            stacked=told.stacked,
            facts=jnp.concatenate(
                [
                    scaled(told.facts, 29, FACT_SCALE),
                    scaled(told.fact_extras, 0, 5.0),
                    menu_of(tables, nation),
                    standing(tables, state, nation),
                ]
            ),
            player=at(tables.of_nation("player"), nation),
            step=state.phase,
            type=lookup(TYPE_OF, state.phase),
            asks_battle=state.phase == CHOOSE,
            past_tiles=jnp.asarray(named)[past[:, 0]],
            past_units=((jnp.maximum(past[:, 1:2], 0) >> np.arange(SLOTS)) & 1).astype(jnp.float32),
            past_battles=jnp.asarray(named)[past[:, 2]],
            remembered=told.remembered,
        )


def scaled(values: Array, first: int, scale: Any) -> Array:
    """With the columns from `first` on divided by `scale`."""
    divisor = np.ones(values.shape[-1], np.float32)
    divisor[first : first + np.size(scale)] = scale
    return values / divisor


def tile_extras(tables: Tables, state: State, nation: Array) -> Array:
    """float32[R, 13]: who is here, what it is worth, and what is going on."""
    regions = jnp.arange(len(tables.on_map))
    friend, hostile = others_of(tables, state, nation)
    mine = counts_of(row_of(tables, state, nation), len(tables.on_map))
    here = (state.region[..., None] == regions) & ~tables.leads[..., None]
    others = jnp.where(hostile, here.sum(axis=(0, 1)) - mine.units, 0)
    gain = gains(tables, state)
    held = state.holder[:, None] == jnp.arange(len(state.vp))  # bool[R, N]
    columns = [
        state.holder == nation,
        friend,
        hostile,
        (state.holder < 0) & tables.on_map,
        at(gain, nation) / POINTS,
        at(at(coming(tables)[1], state.round), nation) / (POINTS * 2),
        jnp.where(hostile, (held * gain.T).sum(axis=1), 0) / POINTS,
        regions == at(tables.of_nation("capital"), nation),
        regions == state.battle,
        mine.units / SLOTS,
        mine.leaders > 0,
        others / SLOTS,
        (state.picked[:, None] & (row_of(tables, state, state.nation).region[:, None] == regions)).any(
            axis=0
        ),
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)


def menu_of(tables: Tables, nation: Array) -> Array:
    """float32[54]: what stands at each place of the nation's menu: unit or building, and the numbers of the unit."""
    menu = tables.menu
    unit, building, price = menu[..., 0], menu[..., 1], menu[..., 2]
    kind = np.maximum(unit, 0)
    numbers = [tables.of_unit(field)[kind] / 6 for field in ("attack", "defence", "hp", "mp", "min_die")]
    columns = [np.where(unit >= 0, column, 0) for column in numbers]
    columns += [building == one for one in (1, 2, 3)]
    columns.append(np.where(price < 100, price, 0) / 6)
    rows = np.stack(columns, axis=-1).astype(np.float32)  # [N, 6, 9]
    return at(rows.reshape(len(rows), -1), nation)


def standing(tables: Tables, state: State, nation: Array) -> Array:
    """float32[15]: points so far and in sight of each player, the decider first; time left; units and land."""
    players = len(tables.scenario.players)
    seat = at(tables.of_nation("player"), nation)
    order = (seat + np.arange(MOST_PLAYERS)) % players
    present = np.arange(MOST_PLAYERS) < players
    now = by_player(tables, state.vp.astype(jnp.float32))[order] * present / 50
    soon = by_player(tables, prospects(tables, state).astype(jnp.float32))[order] * present / 50
    held = (state.holder == nation).sum()
    units = counts_of(row_of(tables, state, nation), len(tables.on_map)).units.sum()
    left = tables.scenario.rounds - state.round
    rest = jnp.stack([left / 21, (left == 0) * 1.0, (units - 2 * held) / 10])
    return jnp.concatenate([now, soon, present.astype(np.float32), rest.astype(jnp.float32)])
