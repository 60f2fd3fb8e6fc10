"""A seat on a live generals.io server, over Socket.IO.

To the server: set_username(user id, username); join_private(room, user id) and set_force_start(room, true), or
join_1v1(user id); attack(from, to, half); leave_game().
From the server: game_start {playerIndex, …}; game_update {turn, map_diff, cities_diff, generals, scores} after every
turn; game_won or game_lost at the end.

The agent sees what the simulator would show it, on a board of one size, padded with mountains like the simulator's, so
that it can be compiled before the game starts. A connection that is lost before the game is made again; one that is
lost in a game is the end of it, because the server counts that as giving up.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import numpy as np

from stratagem.core.errors import BadOption
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import View
from stratagem.protocols.generals_picture import (
    IN_FOG,
    NEUTRAL,
    LiveError,
    Picture,
    Position,
    attack_of,
    legal_of,
    pass_of,
    view_of,
)

REFUSALS = ("gio_error", "error_user_id", "error_banned", "error_kicked", "removed_from_queue")
FORCE_EVERY = 2.0  # seconds between wishes to start now; players who come and go undo them
LINGER = 0.1  # seconds for the last message to leave before the connection closes


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


# Playing.


def rehearse(game: Generals, seat: Seat) -> None:
    """Have the agent play two turns, so that nothing is left to compile when the game starts."""
    terrain = np.full(game.shape, IN_FOG)
    terrain[:2, :2] = NEUTRAL
    terrain[0, 0] = 0
    blank = Position(0, (terrain == 0).astype(np.int64), terrain, [], [0, -1], [1, 1], [1, 1])
    for turn in range(2):  # its memory may be of another type once it has been renewed
        view = view_of(blank._replace(turn=turn), 0, game)
        seat.remember(view, seat.decide(view, legal_of(view, game), turn))


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
            seat.remember(view, pass_of(view, game))
        view, width = seen[-1]
        legal = legal_of(view, game)
        if not legal.any():
            continue
        action = await asyncio.to_thread(seat.decide, view, legal, turn)
        if not (0 <= action < len(legal) and legal[action]):
            table.say(f"turn {turn}: the agent's action {action} is not legal; it passes")
            action = pass_of(view, game)
        attack = attack_of(action, game, width)
        if attack is not None and table.client.connected:
            await table.client.emit("attack", attack)
            attacks += 1
        await asyncio.to_thread(seat.remember, view, action)
    names = start.get("usernames")
    fits = isinstance(names, list) and len(names) == 2
    opponent = str(names[1 - me]) if isinstance(names, list) and fits else "?"
    return Outcome(result, turn, attacks, late, opponent, str(start.get("replay_id", "")))
