"""The service on a socket: a Unix socket in the file system, and a loopback port if wanted.

A question is a frame (see `frames`) whose header has an `id`, a whole number that is the client's own, and an `op`:

    evaluate   model; deadline_ms; arrays: the view's, then legal        -> arrays: logits, values; version
    act        game, agent; model; seat, seed, turn; deadline_ms;
               position, or arrays: the state's                           -> action
    cancel     target: the id of an open question                         -> cancelled: true if it was still open
    reload     model                                                      -> version
    metrics                                                               -> metrics
    ping                                                                  -> pid

Each is answered once, in any order, by a frame with the same `id` and `ok`: true, or false with `error` (busy, late,
cancelled, closed, bad-request, failed), `message`, and for busy `retry_ms`, for bad-request `field`.

A frame with wrong content is answered with bad-request, under its id if that could be read and null otherwise, and the
connection is kept. When the borders of frames are lost, the answer has id null and the connection is closed. What a
closed connection had asked is taken back. A client that does not read its answers is not read from. A server that is
told to stop answers what is open, and everything new with closed, before it hangs up.
"""

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.core.errors import BadOption, StratagemError
from stratagem.serving.agents import MOVER, Turn
from stratagem.serving.errors import BadRequest, Closed, Failed, ServingError
from stratagem.serving.frames import BadFrame, BrokenStream, Frame, FrameReader, write_frame
from stratagem.serving.lane import Ticket
from stratagem.serving.mailbox import Mailbox
from stratagem.serving.models import Evaluation
from stratagem.serving.service import Service

MOST_OPEN = 4096  # questions of one connection
LONGEST_S = 3600.0


class Server:
    """A service that listens. Use it in an `async with` block."""

    def __init__(
        self, service: Service, path: Path | str | None = None, port: int | None = None, drain_s: float = 5.0
    ):
        if path is None and port is None:
            raise BadOption("a server needs a socket path or a port")
        self.service, self.path, self.port = service, None if path is None else Path(path), port
        self.drain_s = drain_s
        """At the end: how long open questions may still take."""
        self.leaving = False
        self.connections: set[Connection] = set()
        self.answered: set[Connection] = set()
        """Those with answers to write."""
        self._listening: list[asyncio.AbstractServer] = []
        self._inode: int | None = None

    async def __aenter__(self) -> "Server":
        self.mailbox = Mailbox(self._flush)
        loop = asyncio.get_running_loop()
        try:
            if self.path is not None:
                make_room(self.path)
                before = os.umask(0o177)  # for this user only
                try:
                    self._listening.append(
                        await loop.create_unix_server(lambda: Connection(self), str(self.path), backlog=1024)
                    )
                finally:
                    os.umask(before)
                self._inode = self.path.stat().st_ino
            if self.port is not None:
                listening = await loop.create_server(
                    lambda: Connection(self), "127.0.0.1", self.port, backlog=1024
                )
                self.port = listening.sockets[0].getsockname()[1]
                self._listening.append(listening)
        except OSError as error:
            await self._stop()
            raise BadOption(
                f"cannot listen at {self.path or self.port}: {error.strerror or error}"
            ) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    async def _stop(self) -> None:
        """Answer what was asked, nothing new, and hang up."""
        self.leaving = True
        for listening in self._listening:
            listening.close()
        loop = asyncio.get_running_loop()
        until = loop.time() + self.drain_s
        while any(connection.open for connection in self.connections) and loop.time() < until:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.leave()
        await asyncio.sleep(0)
        if self.path is not None and self._inode is not None:
            with suppress(OSError):
                if self.path.stat().st_ino == self._inode:  # never somebody else's
                    self.path.unlink()

    def _flush(self) -> None:
        answered, self.answered = self.answered, set()
        for connection in answered:
            connection.flush()


def make_room(path: Path) -> None:
    """Remove a socket that nobody listens at; refuse one that is in use, and whatever is not a socket."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return
    if not stat.S_ISSOCK(mode):
        raise BadOption(f"{path} exists and is not a socket; choose another place")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise BadOption(f"a server listens at {path} already; stop it or choose another place")


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, server: Server):
        self.server, self.service = server, server.service
        self.reader = FrameReader()
        self.open: dict[int, Ticket | None] = {}
        self.outgoing: list[bytes] = []
        self.transport: Any = None

    # What the loop calls.

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.server.connections.add(self)

    def connection_lost(self, exception: Exception | None) -> None:
        self.server.connections.discard(self)
        self.server.answered.discard(self)
        tickets, self.open = list(self.open.values()), {}
        for ticket in tickets:
            if ticket is not None:
                ticket.cancel()

    def pause_writing(self) -> None:
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self.reader.feed(data):
                self._question(frame)
        except BrokenStream as error:
            self._send({"id": None, "ok": False, **error.as_json()})
            self.flush()
            self.transport.close()
        self.flush()

    def leave(self) -> None:
        for number, ticket in list(self.open.items()):
            self._ended(number, Closed("the server is shutting down"))
            if ticket is not None:
                ticket.cancel()
        self.flush()
        self.transport.close()

    def flush(self) -> None:
        """Write what has gathered, at once."""
        if self.outgoing and not self.transport.is_closing():
            self.transport.write(b"".join(self.outgoing))
        self.outgoing.clear()

    # Questions.

    def _question(self, frame: Frame | BadFrame) -> None:
        number: Any = frame.header.get("id")
        known = type(number) is int and 0 <= number < 1 << 63
        try:
            if isinstance(frame, BadFrame):
                raise frame
            if self.server.leaving:
                raise Closed("the server is shutting down")
            if not known:
                raise BadRequest("id is a whole number from 0", "id")
            if number in self.open:
                raise BadRequest(f"question {number} is still open", "id")
            if len(self.open) >= MOST_OPEN:
                raise BadRequest(f"{MOST_OPEN} questions are open; wait for their answers", "id")
            op = frame.header.get("op")
            work = OPS.get(op) if isinstance(op, str) else None
            if work is None:
                raise BadRequest(f"op is one of {', '.join(OPS)}, not {op!r}", "op")
            work(self, number, Fields(frame))
        except StratagemError as error:
            self._send({"id": number if known else None, "ok": False, **described(error)})

    def _evaluate(self, number: int, fields: "Fields") -> None:
        name, seconds = fields.text("model"), fields.seconds()
        if not fields.arrays:
            raise BadRequest("evaluate needs the arrays of a view, then legal", "arrays")
        *view, legal = fields.arrays
        self.open[number] = None
        try:
            self.open[number] = self.service.ask_model(name, view, legal, self._reply(number), seconds)
        except BaseException:
            del self.open[number]
            raise

    def _act(self, number: int, fields: "Fields") -> None:
        agent, game, model = fields.text("agent"), fields.text("game"), fields.text("model", "")
        position: Any = fields.text("position", "") or fields.arrays
        if not position:
            raise BadRequest("act needs a position, or the arrays of a state", "position")
        turn = Turn(
            position, fields.number("seat", MOVER), fields.number("seed", 0), fields.number("turn", 0)
        )
        seconds = fields.seconds()
        self.open[number] = None
        if self.service.has_agent(agent, game, model):
            self._ask_agent(number, agent, game, turn, seconds, model)
            return

        def ready(future: "Future[None]") -> None:
            self.server.mailbox.post(self._prepared, future, number, agent, game, turn, seconds, model)

        self.service.prepare_agent(agent, game, model).add_done_callback(ready)

    def _prepared(self, future: "Future[None]", number: int, *question: Any) -> None:
        if number not in self.open:
            return
        try:
            future.result()
            self._ask_agent(number, *question)
        except Exception as error:
            self._ended(number, error)

    def _ask_agent(self, number: int, agent: str, game: str, turn: Turn, seconds: Any, model: str) -> None:
        try:
            self.open[number] = self.service.ask_agent(agent, game, turn, self._reply(number), seconds, model)
        except BaseException:
            del self.open[number]
            raise

    def _cancel(self, number: int, fields: "Fields") -> None:
        ticket = self.open.get(fields.number("target"))
        self._send({"id": number, "ok": True, "cancelled": bool(ticket and ticket.cancel())})

    def _reload(self, number: int, fields: "Fields") -> None:
        future = self.service.reload(fields.text("model"))
        self.open[number] = None

        def done(future: "Future[int]") -> None:
            error = future.exception()
            answer = error or {"version": future.result()}
            self.server.mailbox.post(self._ended, number, answer)

        future.add_done_callback(done)

    def _metrics(self, number: int, fields: "Fields") -> None:
        content = {**self.service.metrics(), "connections": len(self.server.connections)}
        self._send({"id": number, "ok": True, "metrics": content})

    def _ping(self, number: int, fields: "Fields") -> None:
        self._send({"id": number, "ok": True, "pid": os.getpid()})

    # Answers.

    def _reply(self, number: int) -> Callable[[Any], None]:
        return lambda answer: self.server.mailbox.post(self._ended, number, answer)

    def _ended(self, number: int, answer: Any) -> None:
        if number not in self.open:
            return
        del self.open[number]
        if isinstance(answer, BaseException):
            self._send({"id": number, "ok": False, **described(answer)})
        elif isinstance(answer, Evaluation):
            header = {"id": number, "ok": True, "version": answer.version}
            self._send(header, [answer.logits, answer.values])
        else:
            content = answer if isinstance(answer, dict) else {"action": answer}
            self._send({"id": number, "ok": True, **content})

    def _send(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        self.outgoing.append(write_frame(header, arrays))
        self.server.answered.add(self)


OPS: dict[str, Callable[[Connection, int, "Fields"], None]] = {
    "evaluate": Connection._evaluate,
    "act": Connection._act,
    "cancel": Connection._cancel,
    "reload": Connection._reload,
    "metrics": Connection._metrics,
    "ping": Connection._ping,
}


class Fields:
    """The header of a question, read field by field; BadRequest names the field that is wrong."""

    def __init__(self, frame: Frame):
        self.header, self.arrays = frame

    def text(self, name: str, otherwise: str | None = None) -> str:
        value = self.header.get(name, otherwise)
        if not isinstance(value, str):
            raise BadRequest(f"{name} is a text, not {value!r}", name)
        return value

    def number(self, name: str, otherwise: int | None = None) -> int:
        value = self.header.get(name, otherwise)
        if type(value) is not int:
            raise BadRequest(f"{name} is a whole number, not {value!r}", name)
        return value

    def seconds(self) -> float | None:
        value = self.header.get("deadline_ms")
        if value is None:
            return None
        if type(value) not in (int, float) or not 0 < value <= 1000 * LONGEST_S:
            raise BadRequest(
                f"deadline_ms is above 0, at most {1000 * LONGEST_S:g}, not {value!r}", "deadline_ms"
            )
        return value / 1000


def described(error: BaseException) -> dict[str, Any]:
    """An error for the wire."""
    if isinstance(error, ServingError):
        return error.as_json()
    if isinstance(error, StratagemError):
        return Failed(str(error)).as_json()
    return Failed(f"{type(error).__name__}: {error}").as_json()
