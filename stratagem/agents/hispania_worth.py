"""What regions of Hispania are worth to whom: the scenario's own incentives, which players and networks go by."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.hispania.arrays import at, lookup
from stratagem.games.hispania.growth import held_by
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import Tables


def lines(tables: Tables) -> np.ndarray:
    """float32[rounds + 1, N, R]: points that a nation gets in each count for a region by its own lines.

    A line that asks for a least number of regions is shared out among so many of them.
    """
    found = tables.worth.astype(np.float32)
    for nation, when, where, least, points in tables.least:
        found[when, nation] += where * (points / least)
    return found


@lru_cache
def listed(tables: Tables) -> np.ndarray:
    """float32[rounds + 1, N, R]: all points for holding a region, without buildings; none after a nation's end."""
    scenario = tables.scenario
    found = lines(tables) + tables.of_region("vp").astype(np.float32)
    nations = np.arange(len(scenario.nations))
    found[:, nations, tables.of_nation("capital")] += scenario.rules.capital_vp
    alive = np.arange(scenario.rounds + 1)[:, None] <= tables.of_nation("end")
    return found * (tables.counted[:, None] & alive)[..., None] * tables.on_map


@lru_cache
def coming(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """float32[rounds + 1, N, R], twice: `listed` of the next count from a round on, and of all of them together."""
    counts = np.array(tables.scenario.vp_rounds)
    rounds = np.arange(tables.scenario.rounds + 1)
    upcoming = [int(counts[counts >= now][0]) for now in rounds]
    later = listed(tables)[::-1].cumsum(axis=0)[::-1]
    return listed(tables)[upcoming], np.ascontiguousarray(later)


def gains(tables: Tables, state: State) -> Array:
    """float32[N, R]: the points that each nation gets for holding each region at the next count."""
    built = lookup(tables.of_building("vp"), state.building) * tables.on_map
    return at(coming(tables)[0], state.round) + built


def prospects(tables: Tables, state: State) -> Array:
    """float32[N]: points so far, and what the next count would bring if it came now."""
    return state.vp + (held_by(state) * gains(tables, state)).sum(axis=1)


def by_player(tables: Tables, values: Array) -> Array:
    """float32[P] from float32[N]: sums over the nations of each player."""
    players = np.arange(len(tables.scenario.players))[:, None] == tables.of_nation("player")
    return jnp.where(players, values, 0).sum(axis=1)


def lead(tables: Tables, points: Array) -> Array:
    """float32[P] from the points of nations: how far each player is above a fair share, as a part of that share.

    With two players it is the difference as a share of both. Five points each are added, so that the first do not
    decide; the sum over players is zero.
    """
    scores = by_player(tables, points.astype(jnp.float32)) + 5.0
    return len(scores) * scores / scores.sum() - 1
