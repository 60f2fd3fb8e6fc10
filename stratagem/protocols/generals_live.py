"""A seat on a live generals.io server, over Socket.IO.

To the server: set_username(user id, username); join_private(room, user id) and set_force_start(room, true), or
join_1v1(user id); attack(from, to, half); leave_game().
From the server: game_start {playerIndex, …}; game_update {turn, map_diff, cities_diff, generals, scores} after every
turn; game_won or game_lost at the end.

A map is [width, height, armies…, terrain…], terrain being −1 neutral, −2 mountain, −3 fog, −4 structure in fog, or the
owner. It comes as a patch of the one before: how many values to keep, how many new ones follow, those, and so on.

The agent sees what the simulator would show it, on a board of one size, padded with mountains like the simulator's, so
that it can be compiled before the game starts. A connection that is lost before the game is made again; one that is
lost in a game is the end of it, because the server counts that as giving up.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

import jax.numpy as jnp
import numpy as np

from stratagem.core.errors import BadOption, StratagemError
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

NEUTRAL, MOUNTAIN, IN_FOG, STRUCTURE_IN_FOG = -1, -2, -3, -4  # terrain
REFUSALS = ("gio_error", "error_user_id", "error_banned", "error_kicked", "removed_from_queue")
FORCE_EVERY = 2.0  # seconds between wishes to start now; players who come and go undo them
LINGER = 0.1  # seconds for the last message to leave before the connection closes


class LiveError(StratagemError):
    """The server, or the way to it, does not do what it should."""


class Seat(Protocol):
    """Who plays: an agent with its memory, for one game."""

    def decide(self, view: View, legal: np.ndarray, turn: int) -> int: ...

    def remember(self, view: View, action: int) -> None: ...


@dataclass(frozen=True)
class Address:
    """Where to play, as whom, and how long to wait."""

    server: str
    """http://…, https://…, ws://… or wss://…"""
    user_id: str
    username: str
    room: str | None = None
    """The private room to play in; None is the queue of one against one."""
    connect_s: float = 10.0
    """Longest wait for a connection."""
    start_s: float = 600.0
    """Longest wait for a game to start."""
    silence_s: float = 30.0
    """Longest wait for the next message in a game."""
    retries: int = 5
    """How often a connection is tried again before the game."""
    pause_s: float = 2.0
    """Seconds before it is."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.server)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise BadOption(
                f"the server is an address like https://host or ws://127.0.0.1:8080, not {self.server!r}"
            )
        if not self.user_id or not self.username:
            raise BadOption("a server wants a user id (keep it secret) and a username")


@dataclass(frozen=True)
class Outcome:
    """How a game went."""

    result: Literal["won", "lost"]
    turns: int
    """The last turn that was seen."""
    attacks: int
    """Moves sent."""
    late: int
    """Turns that went by while the agent was thinking."""
    opponent: str
    replay_id: str


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
    look = np.full(game.shape, STRUCTURE)
    look[_surroundings(terrain == me, game.shape)] = SEEN_MOUNTAIN
    look[:height, :width] = seen + (owner << OWNER_IN_VIEW)
    army = np.zeros(game.shape, game.army_type)
    most = np.iinfo(army.dtype).max
    army[:height, :width] = np.where(visible, np.minimum(position.armies, most), 0)
    both = [me, 1 - me]
    return View(
        look=jnp.asarray(look, jnp.uint8),
        army=jnp.asarray(army),
        land=jnp.asarray(np.array(position.land)[both], jnp.int32),
        total=jnp.asarray(np.array(position.total)[both], jnp.int32),
        turn=jnp.int32(position.turn),
    )


def _surroundings(mine: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """bool[H, W] of the board: these cells and their eight neighbours."""
    wide = np.zeros((shape[0] + 2, shape[1] + 2), bool)
    for row, column in np.argwhere(mine):
        wide[row : row + 3, column : column + 3] = True
    return wide[1:-1, 1:-1]


def legal_of(view: View, game: Generals) -> np.ndarray:
    """bool[A]: what the seat that has this view may do."""
    look, army = np.asarray(view.look), np.asarray(view.army)
    mine = look >> OWNER_IN_VIEW == ME
    able = mine & (army >= 2)
    ground = np.pad(look & 7 != SEEN_MOUNTAIN, 1)
    open_to = {
        UP: ground[:-2, 1:-1],
        DOWN: ground[2:, 1:-1],
        LEFT: ground[1:-1, :-2],
        RIGHT: ground[1:-1, 2:],
    }
    legal = np.zeros((*game.shape, game.per_cell), bool)
    for way, clear in open_to.items():
        legal[..., way] = legal[..., way + HALF] = able & clear
    legal[..., PASS] = mine & (look & 7 == SEEN_GENERAL)
    return legal.reshape(-1)


def attack_of(action: int, game: Generals, width: int) -> tuple[int, int, bool] | None:
    """(from, to, half) in the server's cells; None for a pass."""
    cell, k = divmod(action, game.per_cell)
    row, column = divmod(cell, game.width)
    if k >= PASS:
        return None
    start = row * width + column
    return start, start + {UP: -width, DOWN: width, LEFT: -1, RIGHT: 1}[k % HALF], k >= HALF


def rehearse(game: Generals, seat: Seat) -> None:
    """Have the agent play two turns, so that nothing is left to compile when the game starts."""
    terrain = np.full(game.shape, IN_FOG)
    terrain[:2, :2] = NEUTRAL
    terrain[0, 0] = 0
    blank = Position(0, (terrain == 0).astype(np.int64), terrain, [], [0, -1], [1, 1], [1, 1])
    for turn in range(2):  # its memory may be of another type once it has been renewed
        view = view_of(blank._replace(turn=turn), 0, game)
        seat.remember(view, seat.decide(view, legal_of(view, game), turn))


# Playing.


def play(
    address: Address, game: Generals, seat: Seat, say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Play one game, from the connection to the end. LiveError if that cannot be; the server is left cleanly."""
    try:
        import aiohttp
        import socketio
    except ImportError:
        raise LiveError("playing live needs the extra live: pip install 'stratagem[live]'") from None

    async def whole() -> Outcome:
        async with aiohttp.ClientSession() as web:
            table = Table(socketio, web, address, say)
            try:
                me, start = await table.sit_down()
                return await play_at(table, game, seat, me, start)
            finally:
                await table.leave()

    return asyncio.run(whole())


class Table:
    """The connection with the server: what was heard waits in a queue."""

    def __init__(self, socketio: Any, web: Any, address: Address, say: Callable[[str], None]):
        self.socketio, self.web, self.address, self.say = socketio, web, address, say
        self.heard: asyncio.Queue[tuple[str, tuple[Any, ...]]] = asyncio.Queue()
        self.client: Any = None
        self.playing = False

    async def connect(self) -> None:
        """A fresh connection, introduced and waiting for a game; LiveError if there is none."""
        self.heard = asyncio.Queue()
        heard = self.heard  # what an older connection still says is not for this one
        self.client = self.socketio.AsyncClient(
            reconnection=False,
            handle_sigint=False,
            http_session=self.web,
            request_timeout=self.address.connect_s,
        )

        async def hear(event: str, *words: Any) -> None:
            heard.put_nowait((event, words))

        async def lost(*_: Any) -> None:
            heard.put_nowait(("disconnect", ()))

        self.client.on("*", hear)
        self.client.on("disconnect", lost)
        address = self.address
        try:
            await asyncio.wait_for(
                self.client.connect(address.server, transports=["websocket"], wait_timeout=address.connect_s),
                address.connect_s,
            )
            await self.client.emit("set_username", (address.user_id, address.username))
            if address.room is None:
                await self.client.emit("join_1v1", address.user_id)
            else:
                await self.client.emit("join_private", (address.room, address.user_id))
                await self.force()
        except (self.socketio.exceptions.SocketIOError, OSError, TimeoutError) as error:
            raise LiveError(f"no connection with {address.server} ({error or 'it did not answer'})") from None

    async def force(self) -> None:
        if self.address.room is not None and self.client.connected:
            await self.client.emit("set_force_start", (self.address.room, True))

    async def hear(self, limit_s: float, what: str) -> tuple[str, tuple[Any, ...]]:
        """The next thing that the server says."""
        try:
            return await asyncio.wait_for(self.heard.get(), limit_s)
        except TimeoutError:
            raise LiveError(f"{what} within {limit_s:g} s from {self.address.server}") from None

    async def sit_down(self) -> tuple[int, dict[str, Any]]:
        """(which player we are, what game_start said), trying again if the connection is lost before."""
        for left in range(self.address.retries, -1, -1):
            try:
                await self.connect()
                return await self.wait_for_start()
            except LostBeforeStart as error:
                problem: LiveError = error
            except LiveError as error:
                if self.client.connected:
                    raise
                problem = error
            if not left:
                raise problem
            await self.hang_up()
            self.say(f"{problem}; trying again")
            await asyncio.sleep(self.address.pause_s)
        raise AssertionError("the last try either returns or raises")

    async def wait_for_start(self) -> tuple[int, dict[str, Any]]:
        deadline = asyncio.get_running_loop().time() + self.address.start_s
        while True:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise LiveError(f"no game started within {self.address.start_s:g} s on {self.address.server}")
            try:
                event, words = await asyncio.wait_for(self.heard.get(), min(FORCE_EVERY, left_s))
            except TimeoutError:
                await self.force()
                continue
            if event == "disconnect":
                raise LostBeforeStart(
                    f"the connection with {self.address.server} was lost before a game started"
                )
            self.refuse(event, words)
            if event == "game_start":
                start = words[0] if words else None
                if not isinstance(start, dict) or start.get("playerIndex") not in (0, 1):
                    raise LiveError(f"bad game_start, or not one against one: {start!r:.100}")
                self.playing = True
                return int(start["playerIndex"]), start

    def refuse(self, event: str, words: tuple[Any, ...]) -> None:
        """Raise what the server complains about; a username that it does not take is only reported."""
        if event in REFUSALS:
            raise LiveError(f"{self.address.server} says {event}: {' '.join(map(str, words))[:200]}")
        if event == "error_set_username" and any(words):
            self.say(f"the server says of the username: {words[0]!s:.200}")

    async def leave(self) -> None:
        """Leave the game and close the connection, whatever state they are in."""
        if self.client is not None and self.client.connected and self.playing:
            with suppress(self.socketio.exceptions.SocketIOError, OSError):
                await self.client.emit("leave_game")
                await asyncio.sleep(LINGER)
        await self.hang_up()

    async def hang_up(self) -> None:
        if self.client is not None:
            with suppress(self.socketio.exceptions.SocketIOError, OSError, TimeoutError):
                await asyncio.wait_for(self.client.disconnect(), self.address.connect_s)


class LostBeforeStart(LiveError):
    """The connection went before there was a game."""


async def play_at(table: Table, game: Generals, seat: Seat, me: int, start: dict[str, Any]) -> Outcome:
    """The game itself: after every update one decision, or none if the next update has already come."""
    picture = Picture()
    turn = attacks = late = 0
    result: Literal["won", "lost"] | None = None
    while result is None:
        waiting = [await table.hear(table.address.silence_s, "no word")]
        while not table.heard.empty():
            waiting.append(table.heard.get_nowait())
        seen: list[tuple[View, int]] = []
        for event, words in waiting:
            table.refuse(event, words)
            if event == "game_update":
                position = picture.update(words[0] if words else None)
                seen.append((view_of(position, me, game), position.terrain.shape[1]))
                turn = position.turn
            elif event in ("game_won", "game_lost"):
                result = "won" if event == "game_won" else "lost"
                break
            elif event == "disconnect":
                raise LiveError(
                    f"the connection was lost in turn {turn}; the server counts that as giving up"
                )
        if result is not None or not seen:
            continue
        late += len(seen) - 1
        for view, _ in seen[:-1]:
            seat.remember(view, _pass_of(view, game))
        view, width = seen[-1]
        legal = legal_of(view, game)
        if not legal.any():
            continue
        action = await asyncio.to_thread(seat.decide, view, legal, turn)
        if not (0 <= action < len(legal) and legal[action]):
            table.say(f"turn {turn}: the agent's action {action} is not legal; it passes")
            action = _pass_of(view, game)
        attack = attack_of(action, game, width)
        if attack is not None and table.client.connected:
            await table.client.emit("attack", attack)
            attacks += 1
        await asyncio.to_thread(seat.remember, view, action)
    names = start.get("usernames")
    fits = isinstance(names, list) and len(names) == 2
    opponent = str(names[1 - me]) if isinstance(names, list) and fits else "?"
    return Outcome(result, turn, attacks, late, opponent, str(start.get("replay_id", "")))


def _pass_of(view: View, game: Generals) -> int:
    look = np.asarray(view.look).reshape(-1)
    return int(np.argmax(look == SEEN_GENERAL + (ME << OWNER_IN_VIEW))) * game.per_cell + PASS
