"""A scenario as arrays: everything about a game that never changes.

Axes: R regions, N nations, S piece places of a nation, K arrivals (one a piece), D borders of a region, U unit types,
Q lines that ask for a least number of regions, E events.
"""

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from stratagem.games.hispania.scenario import LAND, SLOTS, Scenario

MASKS = 1 << SLOTS
FAR = 99  # borders between regions that no land path joins


@dataclass(frozen=True)
class Arrival:
    """One piece that arrives."""

    nation: int
    kind: int
    at: tuple[int, ...]
    round: int
    leave: int
    uprising: bool
    place: int
    """For a leader its place among the nation's pieces; −1 for a unit, which takes any free counter."""

    @property
    def leader(self) -> bool:
        return self.place >= 0


@dataclass(frozen=True)
class Tables:
    scenario: Scenario

    # Regions.

    @cached_property
    def on_map(self) -> np.ndarray:  # bool[R]
        return np.array([region.on_map for region in self.scenario.regions])

    def of_terrain(self, field: str) -> np.ndarray:  # int32[R]
        return np.array(
            [getattr(self.scenario.terrains[one.terrain], field) for one in self.scenario.regions], np.int32
        )

    def of_region(self, field: str) -> np.ndarray:  # int32[R]
        return np.array([getattr(region, field) for region in self.scenario.regions], np.int32)

    @cached_property
    def border(self) -> np.ndarray:  # int32[R, R]: the kind of border, −1 for none
        found = np.full((len(self.on_map),) * 2, -1, np.int32)
        for a, b, kind in self.scenario.edges:
            found[a, b] = found[b, a] = kind
        return found

    @cached_property
    def neighbours(self) -> np.ndarray:  # int32[R, D], −1 where there are fewer
        lists = [np.flatnonzero(row >= 0) for row in self.border]
        found = np.full((len(lists), max(1, *map(len, lists))), -1, np.int32)
        for number, row in enumerate(lists):
            found[number, : len(row)] = row
        return found

    @cached_property
    def borders_of(self) -> np.ndarray:  # int32[R, D]: the kinds, LAND where there is none
        rows = np.arange(len(self.on_map))[:, None]
        return np.where(self.neighbours >= 0, self.border[rows, self.neighbours], LAND)

    @cached_property
    def sails(self) -> np.ndarray:  # bool[R, R]: from coast to coast on the map, within the range of a voyage
        seas = self.scenario.seas
        near = np.eye(len(seas), dtype=bool)
        links = near.copy()
        for number, (_, _, others) in enumerate(seas):
            links[number, list(others)] = True
        for _ in range(self.scenario.rules.sea_range - 1):
            near = near @ links
        touches = np.zeros((len(self.on_map), len(seas)), bool)
        for number, region in enumerate(self.scenario.regions):
            touches[number, list(region.seas)] = True
        found = touches @ near @ touches.T
        return found & self.on_map & (self.scenario.rules.sea_range > 0)

    @cached_property
    def far(self) -> np.ndarray:  # int32[R, R]: borders to cross
        found = np.full_like(self.border, FAR)
        for start in range(len(found)):
            found[start, start] = 0
            queue = deque([start])
            while queue:
                here = queue.popleft()
                for there in np.flatnonzero(self.border[here] >= 0):
                    if found[start, there] == FAR:
                        found[start, there] = found[start, here] + 1
                        queue.append(int(there))
        return found

    # Buildings and unit types.

    def of_building(self, field: str) -> np.ndarray:  # int32[4]
        return np.array([getattr(one, field) for one in self.scenario.buildings], np.int32)

    def of_unit(self, field: str) -> np.ndarray:  # int32[U]
        return np.array([getattr(one, field) for one in self.scenario.units], np.int32)

    @cached_property
    def levels(self) -> np.ndarray:  # int32[L]: the least dice that hurt somebody
        return np.array(sorted({one.min_die for one in self.scenario.units if not one.leader}), np.int32)

    @cached_property
    def hits(self) -> np.ndarray:  # int32[J, L]: every way in which one side can hit, by level
        rows = [row for row in product(range(SLOTS + 1), repeat=len(self.levels)) if sum(row) <= SLOTS]
        return np.array(rows, np.int32)

    # Nations.

    def of_nation(self, field: str) -> np.ndarray:  # int32[N]
        return np.array([getattr(one, field) for one in self.scenario.nations], np.int32)

    @cached_property
    def major(self) -> np.ndarray:  # bool[N, rounds + 1]
        found = np.zeros((len(self.scenario.nations), self.scenario.rounds + 1), bool)
        for number, nation in enumerate(self.scenario.nations):
            found[number, list(nation.major_invasions)] = True
        return found

    @cached_property
    def menu(
        self,
    ) -> np.ndarray:  # int32[N, 6, 3]: unit type or −1, building or 0, price (more than anyone has: none)
        found = np.tile(np.array([-1, 0, 30_000], np.int32), (len(self.scenario.nations), SLOTS, 1))
        for number, nation in enumerate(self.scenario.nations):
            for slot, (kind, item) in enumerate(nation.builds):
                if kind == "unit":
                    found[number, slot] = (item, 0, self.scenario.units[item].price)
                else:
                    found[number, slot] = (-1, item, self.scenario.buildings[item].price)
        return found

    @cached_property
    def building_counters(self) -> np.ndarray:  # int32[N, 4]
        return np.array([one.buildings for one in self.scenario.nations], np.int32)

    @cached_property
    def foes(self) -> np.ndarray:  # int32[N, N]: the most points for kills
        found = np.zeros((len(self.scenario.nations),) * 2, np.int32)
        for number, nation in enumerate(self.scenario.nations):
            for foe, most in nation.foes:
                found[number, foe] = most
        return found

    # Pieces: a nation has a place for each counter, in the order of the unit table, then one for each leader.

    @cached_property
    def pieces(self) -> list[list[tuple[int, int]]]:
        """By nation: (unit type, round after which it leaves)."""
        leader, rows = self.scenario.leader, []
        for nation in self.scenario.nations:
            row = [(kind, 0) for kind, count in enumerate(nation.units) for _ in range(count)]
            row += [(leader, line.round + line.stay - 1) for line in nation.reinforce if line.leader]
            rows.append(row)
        return rows

    @cached_property
    def kind(self) -> np.ndarray:  # int32[N, S]: the unit type, −1 where there is no piece
        found = np.full((len(self.pieces), max(map(len, self.pieces))), -1, np.int32)
        for number, row in enumerate(self.pieces):
            found[number, : len(row)] = [kind for kind, _ in row]
        return found

    @cached_property
    def leaves(self) -> np.ndarray:  # int32[N, S]: the last round of a leader; 0 for units
        found = np.zeros_like(self.kind)
        for number, row in enumerate(self.pieces):
            found[number, : len(row)] = [leave for _, leave in row]
        return found

    @cached_property
    def facts(self) -> np.ndarray:  # int32[N, S, 8]: kind, leader, then the numbers of its type
        fields = ("hp", "attack", "defence", "min_die", "mp", "price")
        types = np.stack([self.of_unit(field) for field in fields], axis=-1)[np.maximum(self.kind, 0)]
        return np.concatenate([self.kind[..., None], self.leads[..., None], types], axis=-1).astype(np.int32)

    @cached_property
    def leads(self) -> np.ndarray:  # bool[N, S]
        return self.kind == self.scenario.leader

    # Arrivals, in the order in which they are tried.

    @cached_property
    def arrivals(self) -> list[Arrival]:
        found = []
        for number, nation in enumerate(self.scenario.nations):
            leader_place = sum(nation.units)
            for line in nation.reinforce:
                leave = line.round + line.stay - 1
                kinds = [(kind, -1) for kind, count in line.units for _ in range(count)]
                if line.leader:
                    kinds.append((self.scenario.leader, leader_place))
                    leader_place += 1
                for kind, place in kinds:
                    found.append(Arrival(number, kind, line.at, line.round, leave, line.uprising, place))
        return found

    def of_arrival(self, field: str) -> np.ndarray:  # int32[K]
        return np.array([getattr(one, field) for one in self.arrivals], np.int32)

    @cached_property
    def arrival_places(self) -> np.ndarray:  # bool[K, S]: the counters that it may take
        rows = self.kind[self.of_arrival("nation")] == self.of_arrival("kind")[:, None]
        own = np.arange(self.kind.shape[1]) == self.of_arrival("place")[:, None]
        return np.where(self.of_arrival("leader")[:, None] > 0, own, rows)

    @cached_property
    def arrival_at(self) -> np.ndarray:  # int32[K, …]: the places to try, −1 at the end
        found = np.full((len(self.arrivals), max(len(one.at) for one in self.arrivals)), -1, np.int32)
        for number, one in enumerate(self.arrivals):
            found[number, : len(one.at)] = one.at
        return found

    # Victory points.

    @cached_property
    def counted(self) -> np.ndarray:  # bool[rounds + 1]
        return np.isin(np.arange(self.scenario.rounds + 1), self.scenario.vp_rounds)

    @cached_property
    def worth(self) -> np.ndarray:  # int32[rounds + 1, N, R]: by the nation's own lines
        found = np.zeros((self.scenario.rounds + 1, len(self.scenario.nations), len(self.on_map)), np.int32)
        for number, nation in enumerate(self.scenario.nations):
            for line in nation.vp:
                if not line.least:
                    found[np.ix_(line.rounds, [number], line.regions)] += line.vp
        return found

    @cached_property
    def least(self) -> list[tuple[int, np.ndarray, np.ndarray, int, int]]:
        """(nation, bool[rounds + 1], bool[R], least, points)."""
        found = []
        for number, nation in enumerate(self.scenario.nations):
            for line in nation.vp:
                if line.least:
                    when = np.isin(np.arange(self.scenario.rounds + 1), line.rounds)
                    where = np.isin(np.arange(len(self.on_map)), line.regions)
                    found.append((number, when, where, line.least, line.vp))
        return found
