"""Historical alignment in Hispania: how far what nations hold agrees with what the scenario rewards them for holding.

The scenario says where a nation's history led it: its victory-point lines name regions and rounds, and its first and
last round say when it was there. That is the table; a region counts by its points.
"""

from collections.abc import Iterator
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.hispania_worth import by_player, lines
from stratagem.games.hispania.arrays import at
from stratagem.games.hispania.growth import held_by
from stratagem.games.hispania.state import State, widen
from stratagem.games.hispania.tables import Tables


@lru_cache
def expected(tables: Tables) -> np.ndarray:
    """float32[rounds + 1, N, R]: the table. Zero where nothing is counted or the nation is not there."""
    scenario = tables.scenario
    found = lines(tables)
    named = (found > 0).any(axis=2, keepdims=True)
    capital = np.eye(len(tables.on_map), dtype=np.float32)[tables.of_nation("capital")]
    found += np.where(named, capital * scenario.rules.capital_vp, 0)
    rounds = np.arange(scenario.rounds + 1)[:, None]
    alive = (tables.of_nation("start") <= rounds) & (rounds <= tables.of_nation("end"))
    return found * (alive & tables.counted[:, None])[..., None] * tables.on_map


def expected_rows(tables: Tables) -> Iterator[tuple[str, int, list[tuple[str, float]]]]:
    """(nation, round of the count, [(region, points)]), in turn order."""
    names = [region.name for region in tables.scenario.regions]
    for number, nation in enumerate(tables.scenario.nations):
        for when in tables.scenario.vp_rounds:
            row = expected(tables)[when, number]
            if row.any():
                yield nation.name, when, [(names[place], float(row[place])) for place in np.flatnonzero(row)]


def alignment(tables: Tables, kept: State) -> Array:
    """float32[2, P]: sums over each player's nations of their alignment in this round, and how many nations count.

    A nation's alignment is the harmonic mean of two shares: of the regions that it holds, those that the table names;
    and of the points that the table names, those that it holds.
    """
    state = widen(kept)
    table = at(expected(tables), state.round)  # [N, R]
    held = held_by(state)
    counts = table.any(axis=1)
    named = (held & (table > 0)).sum(axis=1) / jnp.maximum(held.sum(axis=1), 1)
    reached = (held * table).sum(axis=1) / jnp.maximum(table.sum(axis=1), 1e-6)
    mean = 2 * named * reached / jnp.maximum(named + reached, 1e-6)
    return jnp.stack([by_player(tables, jnp.where(counts, mean, 0.0)), by_player(tables, counts * 1.0)])
