"""A scenario: map, nations, arrivals and numbers. `docs/hispania.md` describes the file that holds one.

Everything refers to everything else by index: regions, unit types and seas by their place in the file, nations by
turn order, buildings with 0 for none.
"""

import hashlib
import json
from dataclasses import asdict, dataclass

AREAS = ("North", "Center", "South", "East", "Off-map")
OFF_MAP = 4
TERRAINS = ("clear", "difficult", "poor")
BUILDINGS = ("none", "fort", "castle", "city")
FORT = 1
BORDERS = ("land", "river", "strait", "sea")
LAND, RIVER, STRAIT, SEA = range(4)
SLOTS = 6
MOST_PLAYERS = 4


@dataclass(frozen=True)
class Rules:
    """The tunable numbers."""

    max_stack: int
    overpopulation_factor: int
    carry_cap: int
    leader_mp_bonus: int
    leader_die_bonus: int
    leader_stack_bonus: int
    crossing_penalty: int
    max_battle_rounds: int
    sea_range: int
    submission: bool
    leader_kill_vp: int
    capital_vp: int


@dataclass(frozen=True)
class Terrain:
    cost: int
    stop: bool
    stack: int
    defence: int


@dataclass(frozen=True)
class Building:
    price: int
    defence: int
    stack: int
    income: int
    vp: int
    built_vp: int
    razed: bool


@dataclass(frozen=True)
class UnitType:
    name: str
    hp: int
    attack: int
    defence: int
    min_die: int
    mp: int
    price: int
    leader: bool


@dataclass(frozen=True)
class Region:
    id: str
    name: str
    modern: str
    area: int
    terrain: int
    pop: int
    building: int
    seas: tuple[int, ...]
    pos: tuple[float, float]
    vp: int
    stack: int
    """The base stack: the terrain's, or the region's own."""

    @property
    def on_map(self) -> bool:
        return self.area != OFF_MAP


@dataclass(frozen=True)
class Line:
    """Pieces that arrive together."""

    round: int
    at: tuple[int, ...]
    units: tuple[tuple[int, int], ...]  # (unit type, number)
    leader: str  # empty if there is none
    stay: int
    uprising: bool


@dataclass(frozen=True)
class VpLine:
    rounds: tuple[int, ...]
    vp: int
    regions: tuple[int, ...]
    least: int
    """0: points for each region held; else points once, for holding at least so many."""


@dataclass(frozen=True)
class Nation:
    id: str
    name: str
    player: int
    start: int
    end: int
    income_from: int
    ships: bool
    subdues: bool
    submits: bool
    capital: int
    builds: tuple[tuple[str, int], ...]  # ("unit", type) or ("building", building)
    units: tuple[int, ...]  # counters by unit type
    buildings: tuple[int, ...]  # counters by building
    major_invasions: tuple[int, ...]
    setup: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]  # (region, units)
    reinforce: tuple[Line, ...]
    vp: tuple[VpLine, ...]
    foes: tuple[tuple[int, int], ...]  # (nation, most points)


@dataclass(frozen=True)
class Event:
    round: int
    nation: int
    to: int
    """The nation that it becomes; −1 if it withdraws."""
    convert: tuple[tuple[int, int], ...]  # (unit type of the old nation, of the new one)


@dataclass(frozen=True)
class Scenario:
    """A whole game."""

    id: str
    title: str
    rounds: int
    vp_rounds: tuple[int, ...]
    labels: tuple[str, ...]
    players: tuple[tuple[str, str], ...]  # (name, colour)
    rules: Rules
    terrains: tuple[Terrain, ...]
    buildings: tuple[Building, ...]  # the first stands for none
    units: tuple[UnitType, ...]
    seas: tuple[tuple[str, str, tuple[int, ...]], ...]  # (id, name, neighbours)
    regions: tuple[Region, ...]
    edges: tuple[tuple[int, int, int], ...]  # (region, region, kind of border)
    nations: tuple[Nation, ...]
    events: tuple[Event, ...]

    @property
    def digest(self) -> str:
        """Twelve hex digits that stand for everything in the scenario."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def leader(self) -> int:
        """The unit type of leaders."""
        return next(number for number, unit in enumerate(self.units) if unit.leader)
