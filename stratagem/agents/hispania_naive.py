"""A naive player of Hispania: takes what scores most at the next count, and looks no further."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.agent import Forgetful
from stratagem.agents.hispania_worth import gains
from stratagem.core.game import View
from stratagem.games.hispania.arrays import at, lookup
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.stacks import SIZES, counts_of, others_of, row_of
from stratagem.games.hispania.state import ATTACK, CHOOSE, DEFEND, GO, GROW, PICK, REMOVE, State, widen
from stratagem.games.hispania.tables import Tables

NEAR = 2  # borders that a group is expected to cross


def worth(tables: Tables, state: State, nation: Array) -> Array:
    """float32[R]: the points that the nation gets for holding each region at the next count."""
    return at(gains(tables, state), nation) + tables.of_region("pop") / 10.0


@dataclass(frozen=True)
class Naive(Forgetful):
    """Buys what scores, marches towards the best region nearby, fights while it is not outnumbered."""

    game: Hispania
    traceable: ClassVar[bool] = True

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        liking = self.liking(self.game.state_of(view)).reshape(-1)
        noise = jax.random.uniform(key, liking.shape, maxval=0.01)
        return jnp.argmax(jnp.where(legal, liking + noise, -jnp.inf)).astype(jnp.int32)

    def liking(self, kept: State) -> Array:
        """float32[R + 1, 64]: how much it likes each token."""
        tables, state = self.game.tables, widen(kept)
        regions = self.game.regions
        nation = self.game.decider(kept)
        row = row_of(tables, state, nation)
        counts = counts_of(row, regions)
        value = worth(tables, state, nation)
        friend, hostile = others_of(tables, state, nation)
        here = state.region[..., None] == jnp.arange(regions)
        everyone = (here & ~tables.leads[..., None]).sum(axis=(0, 1), dtype=jnp.int32)
        enemies = jnp.where(hostile, everyone - counts.units, 0)
        prize = jnp.where(friend | (state.holder == nation) | ~tables.on_map, 0.0, value - 0.5 * enemies)

        # Growth: what scores, then units where it is worth most.
        menu = at(tables.menu, nation)
        scores = lookup(tables.of_building("vp") + tables.of_building("built_vp"), menu[:, 1])
        buys = jnp.where(menu[:, 0] >= 0, 1.0, 2.0 * scores) + 0.1 * value[:, None]  # [R, 6]
        grow = jnp.zeros((regions, 64)).at[:, 1 << np.arange(6)].set(buys)

        # Movement: many towards the best prize nearby, without leaving what is worth more.
        reach = (tables.far <= NEAR) | (at(tables.of_nation("ships"), nation) > 0) & tables.sails
        nearby = jnp.where(reach & (tables.far > 0), prize, 0.0).max(axis=1)
        leaves = (counts.units[:, None] <= SIZES) & tables.on_map[:, None]
        pick = nearby[:, None] - jnp.where(leaves, value[:, None], 0.0) + 0.1 * SIZES

        outnumbered = self.outnumbered(state)
        by_tile = jnp.where(state.phase == CHOOSE, value, jnp.where(state.phase == GO, prize, outnumbered))
        by_tile = jnp.where((state.phase == DEFEND) & (jnp.arange(regions) == state.battle), -9.0, by_tile)
        tiles = jnp.where(state.phase == GROW, grow, jnp.where(state.phase == PICK, pick, by_tile[:, None]))
        tiles = jnp.where(state.phase == REMOVE, -value[:, None] - SIZES, tiles)
        stop = jnp.where((state.phase == ATTACK) | (state.phase == DEFEND), 0.0, 0.05)
        return jnp.concatenate([tiles, jnp.full((1, 64), stop)])

    def outnumbered(self, state: State) -> Array:
        """float32: more than 0 if the side that decides has fewer units in the battle."""
        tables = self.game.tables
        there = (state.region == state.battle) & ~tables.leads
        nations = jnp.arange(len(tables.kind))
        attackers = jnp.where((nations == state.nation)[:, None], there, False).sum()
        defenders = there.sum() - attackers
        gap = (defenders - attackers).astype(jnp.float32)
        return jnp.where(state.phase == DEFEND, -gap, gap)
