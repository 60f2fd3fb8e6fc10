"""What a page and the server say to each other about one game, over a websocket. One JSON object a message.

From the page:

    {"type": "join", "game": ID, "tokens": [SECRET, …]}    first; the secrets of the own seats, or none to watch
    {"type": "move", "turn": 3, "seat": 0, "action": 12}    or "words": "c3"; refused if another turn is on
    {"type": "queue", "seat": 0, "moves": [[1, 35], …]}      in games that do not wait: (number, action), all anew
    {"type": "undo" | "resign" | "hint", "seat": 0}
    {"type": "rematch"}, {"type": "pace", "pace": 4}, {"type": "pause", "paused": true}, {"type": "ping"}

From the server: `joined` (what is played, by whom, the moves so far), `state` (the position as this seat sees it),
`hint`, `rematch`, `pong`, and `error` with `code`, `message` and, if the message had one, its `id`.
"""

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from stratagem.core.errors import BadOption, IllegalAction, StratagemError
from stratagem.core.game import Textual
from stratagem.studio.hall import Hall
from stratagem.studio.journal import NoSuchGame
from stratagem.studio.limits import Bucket, TooMuch
from stratagem.studio.live import Live
from stratagem.studio.table import NotYourSeat, Stale

CODES: dict[type[Exception], str] = {
    NotYourSeat: "not-your-seat",
    Stale: "stale",
    IllegalAction: "illegal",
    NoSuchGame: "no-such-game",
    TooMuch: "too-much",
    BadOption: "bad-message",
}


class Client:
    """One websocket at one table."""

    def __init__(self, socket: WebSocket, hall: Hall, limits: Any):
        self.socket, self.hall, self.limits = socket, hall, limits
        self.seats: list[int] = []
        self.live: Live | None = None
        self._bucket = Bucket(limits.messages_s, 2 * limits.messages_s)
        self._waiting: deque[dict[str, Any]] = deque()
        self._position: dict[str, Any] | None = None
        self._news = asyncio.Event()
        self._overrun = False
        self._thoughts: set[asyncio.Task[None]] = set()

    # Outgoing. A client that is slow sees the latest position, not every one.

    def send(self, message: dict[str, Any]) -> None:
        if len(self._waiting) >= self.limits.outgoing:
            self._overrun = True
        else:
            self._waiting.append(message)
        self._news.set()

    def show(self, position: dict[str, Any]) -> None:
        self._position = position
        self._news.set()

    async def _write(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if self._overrun:
                await self.socket.close(1013, "you read too slowly")
                return
            while self._waiting:
                await self.socket.send_text(json.dumps(self._waiting.popleft()))
            if self._position is not None:
                position, self._position = self._position, None
                await self.socket.send_text(json.dumps(position))

    # Incoming.

    async def serve(self) -> None:
        """Until the page goes away."""
        writer = asyncio.ensure_future(self._write())
        try:
            while not writer.done():
                message = await self.socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                await self._receive(message.get("text"))
        except (WebSocketDisconnect, RuntimeError):
            return  # gone in the middle of something
        finally:
            if self.live is not None:
                self.live.leave(self)
            for task in [writer, *self._thoughts]:
                task.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await writer
            if self.socket.application_state == WebSocketState.CONNECTED:
                with suppress(RuntimeError, WebSocketDisconnect):
                    await self.socket.close()

    async def _receive(self, text: str | None) -> None:
        number: Any = None
        try:
            if not self._bucket.take():
                await asyncio.sleep(0.5)  # no more is read from it meanwhile
                raise TooMuch("you send too much; slow down")
            content = read_message(text)
            number = content.get("id")
            if not isinstance(number, int | str | None) or (isinstance(number, str) and len(number) > 64):
                number = None
            await self._obey(content)
        except StratagemError as error:
            self.send(described(error) | ({"id": number} if number is not None else {}))

    async def _obey(self, content: dict[str, Any]) -> None:
        fields = Fields(content)
        kind = fields.text("type", 20)
        if kind == "ping":
            self.send({"type": "pong"})
            return
        if kind == "join":
            await self._join(fields)
            return
        live = self.live
        if live is None:
            raise BadOption("join a game first")
        if kind == "move":
            live.move(self.seats, fields.number("turn"), fields.number("seat"), self._action(live, fields))
        elif kind == "queue":
            live.queue(self.seats, fields.number("seat"), fields.moves("moves", self.limits.queue))
        elif kind == "undo":
            live.undo(self.seats, fields.number("seat"))
        elif kind == "resign":
            live.resign(self.seats, fields.number("seat"))
        elif kind == "pace":
            live.set_pace(self.seats, fields.real("pace"))
        elif kind == "pause":
            live.pause(self.seats, content.get("paused") is True)
        elif kind == "hint":
            self._hint(live, fields.number("seat"))
        elif kind == "rematch":
            await self._rematch(live)
        else:
            raise BadOption(f"no message is called {kind!r}")

    async def _join(self, fields: "Fields") -> None:
        live = await self.hall.find(fields.text("game", 64))
        table = live.table
        seats = table.seats_of(fields.texts("tokens", 8))
        if len(live.clients) >= self.limits.watchers:
            raise TooMuch(f"{self.limits.watchers} clients are at this table already")
        if not seats and not table.sees_all():
            raise NotYourSeat("this game is played under fog; it can be watched when it is over")
        if self.live is not None:
            self.live.leave(self)
        self.seats, self.live = seats, live
        self.send(table.facts(seats))
        live.enter(self)
        self.show(live.position(seats))

    def _action(self, live: Live, fields: "Fields") -> int:
        if "words" not in fields.content:
            return fields.number("action")
        game = live.table.rules.game
        if not isinstance(game, Textual):
            raise BadOption(f"{game.spec.name} has no words for actions; send a number")
        try:
            return game.read_action(fields.text("words", 100))
        except (ValueError, KeyError) as error:
            raise IllegalAction(str(error)) from None

    def _hint(self, live: Live, seat: int) -> None:
        """The answer comes when it is ready; other messages are read meanwhile."""
        if self.hall.hinting >= self.limits.hints or self._thoughts:
            raise TooMuch("hints are being thought about; ask again in a moment")

        async def think() -> None:
            self.hall.hinting += 1
            try:
                self.send(await live.hint(self.seats, seat))
            except StratagemError as error:
                self.send(described(error))
            finally:
                self.hall.hinting -= 1

        task = asyncio.ensure_future(think())
        self._thoughts.add(task)
        task.add_done_callback(self._thoughts.discard)

    async def _rematch(self, live: Live) -> None:
        """Seats move on by one; everybody at the table is told where to go."""
        table = live.table
        if not self.seats and table.people:
            raise NotYourSeat("only players ask for a rematch")
        if not table.over:
            raise IllegalAction("the game is not over yet")
        if table.rematch:
            raise IllegalAction("there is a rematch already")
        if set(table.people) - {seat for client in live.clients for seat in client.seats}:
            raise IllegalAction("the other player has left; begin a new game")
        table.rematch = "…"
        try:
            new, tokens = await self.hall.rematch(live)
            table.rematch = new.table.id
        finally:
            if table.rematch == "…":
                table.rematch = ""
        count = table.rules.spec.seats
        for client in live.clients:
            own = [tokens[(seat - 1) % count] for seat in client.seats]
            client.send({"type": "rematch", "game": new.table.id, "tokens": own})


class Fields:
    """The content of a message, read field by field."""

    def __init__(self, content: dict[str, Any]):
        self.content = content

    def text(self, name: str, most: int) -> str:
        value = self.content.get(name)
        if not isinstance(value, str) or len(value) > most:
            raise BadOption(f"{name} is a text of at most {most} signs")
        return value

    def texts(self, name: str, most: int) -> list[str]:
        value = self.content.get(name, [])
        if not isinstance(value, list) or len(value) > most or not all(isinstance(one, str) for one in value):
            raise BadOption(f"{name} is a list of at most {most} texts")
        return [one[:100] for one in value]

    def number(self, name: str) -> int:
        value = self.content.get(name)
        if type(value) is not int or abs(value) >= 2**31:
            raise BadOption(f"{name} is a whole number")
        return value

    def real(self, name: str) -> float:
        value: Any = self.content.get(name)
        if type(value) not in (int, float) or not abs(value) < 1e6:
            raise BadOption(f"{name} is a number")
        return float(value)

    def moves(self, name: str, most: int) -> list[tuple[int, int]]:
        value = self.content.get(name)
        fine = isinstance(value, list) and len(value) <= most
        if not fine or not all(
            isinstance(one, list)
            and len(one) == 2
            and all(type(part) is int and abs(part) < 2**31 for part in one)
            for one in value or []
        ):
            raise BadOption(f"{name} is a list of at most {most} pairs of whole numbers")
        return [(one[0], one[1]) for one in value or []]


def read_message(text: str | None) -> dict[str, Any]:
    if text is None:
        raise BadOption("a message is text, not bytes")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise BadOption("a message is one JSON object") from None
    if not isinstance(content, dict):
        raise BadOption("a message is one JSON object")
    return content


def described(error: StratagemError) -> dict[str, Any]:
    code = next((code for kind, code in CODES.items() if isinstance(error, kind)), "failed")
    return {"type": "error", "code": code, "message": str(error)}
