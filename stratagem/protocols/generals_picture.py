"""What a generals.io server tells of a game, and the agent's view of it, exactly as the simulator would show it.

A map is [width, height, armies…, terrain…], terrain being −1 neutral, −2 mountain, −3 fog, −4 structure in fog, or the
owner. It comes as a patch of the one before: how many values to keep, how many new ones follow, those, and so on.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from stratagem.core.errors import StratagemError
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import (
    DOWN,
    FOG,
    HALF,
    LEFT,
    ME,
    OPPONENT,
    OWNER_IN_VIEW,
    PASS,
    RIGHT,
    SEEN_CASTLE,
    SEEN_GENERAL,
    SEEN_MOUNTAIN,
    SEEN_PLAIN,
    STRUCTURE,
    UP,
    View,
)
from stratagem.protocols.generals_seen import army_of, legal_actions, look_of

NEUTRAL, MOUNTAIN, IN_FOG, STRUCTURE_IN_FOG = -1, -2, -3, -4  # terrain


class LiveError(StratagemError):
    """The server, or the way to it, does not do what it should."""


# What the server says.


class Position(NamedTuple):
    """The server's picture of a game after some turn, its form checked."""

    turn: int
    armies: np.ndarray  # int64[H, W]
    terrain: np.ndarray  # int64[H, W]
    castles: list[int]  # cells
    generals: list[int]  # the cell of each player's general, −1 where unknown
    land: list[int]  # of each player
    total: list[int]


class Picture:
    """The map as the patches leave it."""

    def __init__(self) -> None:
        self.map: list[int] = []
        self.cities: list[int] = []

    def update(self, data: Any) -> Position:
        """Apply a game_update; LiveError says what is wrong with it."""
        if not isinstance(data, dict):
            raise LiveError(f"bad game_update: an object is needed, not {data!r:.60}")
        for key in ("turn", "map_diff", "cities_diff", "generals", "scores"):
            if key not in data:
                raise LiveError(f"bad game_update: it has no {key}")
        if type(data["turn"]) is not int or data["turn"] < 0:
            raise LiveError(f"bad game_update: turn {data['turn']!r:.60}")
        self.map = patch(self.map, data["map_diff"], "map_diff")
        self.cities = patch(self.cities, data["cities_diff"], "cities_diff")
        width, height = self.map[:2] if len(self.map) >= 2 else (0, 0)
        cells = width * height
        if not (width > 0 and height > 0 and len(self.map) == 2 + 2 * cells):
            raise LiveError(f"bad map: {width}×{height} in {len(self.map)} values")
        armies, terrain = (
            np.array(self.map[first : first + cells]).reshape(height, width) for first in (2, 2 + cells)
        )
        if terrain.min() < STRUCTURE_IN_FOG or terrain.max() > 1:
            raise LiveError(
                f"bad map: terrain from {terrain.min()} to {terrain.max()}, where −4 to 1 are known"
            )
        if armies.min() < 0 or armies.max() >= 2**31:
            raise LiveError(f"bad map: armies from {armies.min()} to {armies.max()}")
        generals = _numbers(data["generals"], "generals")[:2]
        if len(generals) < 2 or not all(-1 <= cell < cells for cell in [*generals, *self.cities]):
            raise LiveError("bad game_update: a general or city is not on the board")
        land, total = _scores(data["scores"])
        return Position(data["turn"], armies, terrain, self.cities, generals, land, total)


def patch(old: list[int], diff: Any, what: str) -> list[int]:
    """The new values: alternately so many kept, and so many new ones."""
    diff = _numbers(diff, what)
    new: list[int] = []
    place = 0
    while place < len(diff):
        kept = diff[place]
        fresh = diff[place + 1] if place + 1 < len(diff) else 0
        first = place + 2
        if kept < 0 or fresh < 0 or len(new) + kept > len(old) or first + fresh > max(len(diff), first):
            raise LiveError(
                f"bad {what}: at {place}, keep {kept} and take {fresh}, with {len(old)} values before"
            )
        new += old[len(new) : len(new) + kept]
        new += diff[first : first + fresh]
        place = first + fresh
    return new


def _numbers(value: Any, what: str) -> list[int]:
    if not isinstance(value, list) or not all(type(one) is int and abs(one) < 2**53 for one in value):
        raise LiveError(f"bad {what}: a list of whole numbers is needed, not {value!r:.60}")
    return value


def _scores(scores: Any) -> tuple[list[int], list[int]]:
    """Land and army of each player."""
    try:
        by_player = {score["i"]: (score["tiles"], score["total"]) for score in scores}
        land, total = ([by_player[player][part] for player in range(2)] for part in range(2))
        fits = len(by_player) == 2 and all(type(one) is int and 0 <= one < 2**31 for one in [*land, *total])
    except (TypeError, KeyError, IndexError):
        fits = False
    if not fits:
        raise LiveError(f"bad scores, or not one against one: {scores!r:.100}")
    return land, total


# What the agent sees of it.


def view_of(position: Position, me: int, game: Generals) -> View:
    """What the simulator would show: on the game's board, in its types."""
    height, width = position.terrain.shape
    if height > game.height or width > game.width:
        raise LiveError(
            f"the map is {width}×{height}, larger than the board of {game.width}×{game.height} that was prepared; "
            f"run it again with --board {max(height, width)}"
        )
    terrain = position.terrain
    visible = (terrain == NEUTRAL) | (terrain >= 0)  # mountains apart, which hold no army
    seen = np.where(terrain == STRUCTURE_IN_FOG, STRUCTURE, FOG)
    seen[visible] = SEEN_PLAIN
    seen[terrain == MOUNTAIN] = SEEN_MOUNTAIN
    for cells, kind in ((position.castles, SEEN_CASTLE), (position.generals, SEEN_GENERAL)):
        for cell in cells:
            if cell >= 0 and visible[divmod(cell, width)]:
                seen[divmod(cell, width)] = kind
    owner = np.where(terrain == me, ME, np.where(terrain >= 0, OPPONENT, 0))
    army = army_of(np.where(visible, position.armies, 0), game.shape, game.army_type)
    both = [me, 1 - me]
    return View(
        look=jnp.asarray(look_of(seen, owner, game.shape)),
        army=jnp.asarray(army),
        land=jnp.asarray(np.array(position.land)[both], jnp.int32),
        total=jnp.asarray(np.array(position.total)[both], jnp.int32),
        turn=jnp.int32(position.turn),
    )


def legal_of(view: View, game: Generals) -> np.ndarray:
    """bool[A]: what the seat that has this view may do."""
    return legal_actions(np.asarray(view.look), np.asarray(view.army), game.build).reshape(-1)


def attack_of(action: int, game: Generals, width: int) -> tuple[int, int, bool] | None:
    """(from, to, half) in the server's cells; None for a pass."""
    cell, k = divmod(action, game.per_cell)
    row, column = divmod(cell, game.width)
    if k >= PASS:
        return None
    start = row * width + column
    return start, start + {UP: -width, DOWN: width, LEFT: -1, RIGHT: 1}[k % HALF], k >= HALF


def pass_of(view: View, game: Generals) -> int:
    """The pass of the seat that has this view."""
    look = np.asarray(view.look).reshape(-1)
    return int(np.argmax(look == SEEN_GENERAL + (ME << OWNER_IN_VIEW))) * game.per_cell + PASS
