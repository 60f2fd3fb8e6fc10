"""The other end of the socket: `AsyncClient` in an event loop, `Client` from any thread.

A client notices at once when its server goes away: every open question ends with `ServerGone`. The next question
connects again. A server that hangs is noticed by the question's deadline (`Late`).
"""

import asyncio
import threading
from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.serving.agents import MOVER
from stratagem.serving.checks import leaves_of
from stratagem.serving.errors import Late, ServerGone, ServingError, from_json
from stratagem.serving.frames import BadFrame, BrokenStream, FrameReader, write_frame
from stratagem.serving.models import Evaluation

GRACE_S = 2.0  # on top of a deadline, before the client stops waiting for the server to say so

Address = str | Path | int  # a socket's path, or a port of this machine


class AsyncClient:
    """One connection; as many questions at a time as you like. Use it in an `async with` block."""

    def __init__(self, address: Address, connect_s: float = 0.5, deadline_s: float = 30.0):
        self.address, self.connect_s, self.deadline_s = address, connect_s, deadline_s
        self._line: _Line | None = None
        self._connecting = asyncio.Lock()
        self._numbers = count(1)

    async def __aenter__(self) -> "AsyncClient":
        await self._connected()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._line is not None:
            self._line.transport.close()
            self._line = None

    async def evaluate(self, model: str, view: Any, legal: Any, seconds: float | None = None) -> Evaluation:
        """What a served network says of a position."""
        header, arrays = await self._ask(
            {"op": "evaluate", "model": model}, [*leaves_of(view), np.asarray(legal)], seconds
        )
        return Evaluation(arrays[0], arrays[1], header["version"])

    async def act(
        self,
        agent: str,
        game: str,
        position: Any,
        *,
        seat: int = MOVER,
        seed: int = 0,
        turn: int = 0,
        model: str = "",
        seconds: float | None = None,
    ) -> int:
        """What an agent does in a position: a state, or the text that the game writes of it."""
        header = {
            "op": "act",
            "agent": agent,
            "game": game,
            "seat": seat,
            "seed": seed,
            "turn": turn,
            "model": model,
        }
        if isinstance(position, str):
            return (await self._ask(header | {"position": position}, [], seconds))[0]["action"]
        return (await self._ask(header, leaves_of(position), seconds))[0]["action"]

    async def reload(self, model: str) -> int:
        """Have a model's file read again; the new version. Failed says why the old one stays."""
        return (await self._ask({"op": "reload", "model": model}, [], 600.0))[0]["version"]

    async def metrics(self) -> dict[str, Any]:
        return (await self._ask({"op": "metrics"}, [], None))[0]["metrics"]

    async def ping(self) -> int:
        """The server's process id."""
        return (await self._ask({"op": "ping"}, [], None))[0]["pid"]

    async def _ask(
        self, header: dict[str, Any], arrays: list[np.ndarray], seconds: float | None
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        line = await self._connected()
        seconds = self.deadline_s if seconds is None else seconds
        number = next(self._numbers)
        frame = write_frame({**header, "id": number, "deadline_ms": 1000 * seconds}, arrays)
        answer = line.send(number, frame)
        timer = line.loop.call_later(
            seconds + GRACE_S, line.settle, number, Late("the server did not answer in time")
        )
        try:
            return await answer
        except asyncio.CancelledError:
            line.withdraw(number, next(self._numbers))
            raise
        finally:
            timer.cancel()

    async def _connected(self) -> "_Line":
        if self._line is not None and self._line.alive:
            return self._line
        async with self._connecting:
            if self._line is None or not self._line.alive:
                self._line = await self._connect()
        return self._line

    async def _connect(self) -> "_Line":
        loop = asyncio.get_running_loop()
        opening: Coroutine[Any, Any, Any]
        if isinstance(self.address, int):
            opening = loop.create_connection(lambda: _Line(self.address), "127.0.0.1", self.address)
        else:
            opening = loop.create_unix_connection(lambda: _Line(self.address), str(self.address))
        try:
            return (await asyncio.wait_for(opening, self.connect_s))[1]
        except (OSError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or "no answer"
            raise ServerGone(f"no server at {self.address} ({why}); start one: stratagem serve") from error


class _Line(asyncio.Protocol):
    """One connection, until it breaks."""

    def __init__(self, address: Address):
        self.address = address
        self.loop = asyncio.get_running_loop()
        self.reader = FrameReader()
        self.open: dict[int, asyncio.Future[Any]] = {}
        self.alive = True
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, exception: Exception | None) -> None:
        self._break(f"the server at {self.address} went away; ask again when it is back")

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self.reader.feed(data):
                if isinstance(frame, BadFrame):
                    raise BrokenStream(str(frame), frame.field)
                number = frame.header.get("id")
                if frame.header.get("ok"):
                    self.settle(number, (frame.header, frame.arrays))
                elif number is None:
                    raise BrokenStream(str(frame.header.get("message")), "frame")
                else:
                    self.settle(number, from_json(frame.header))
        except BrokenStream as error:
            self._break(f"the server at {self.address} does not speak this protocol: {error}")
            self.transport.close()

    def send(self, number: int, frame: bytes) -> "asyncio.Future[Any]":
        future = self.open[number] = self.loop.create_future()
        self.transport.write(frame)
        return future

    def settle(self, number: Any, answer: Any) -> None:
        """End a question, if it is still open."""
        future = self.open.pop(number, None)
        if future is None or future.done():
            return
        if isinstance(answer, ServingError):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def withdraw(self, number: int, with_number: int) -> None:
        """Tell the server that nobody waits any more."""
        if self.open.pop(number, None) is not None and self.alive:
            self.transport.write(write_frame({"op": "cancel", "id": with_number, "target": number}))

    def _break(self, why: str) -> None:
        self.alive = False
        for number in list(self.open):
            self.settle(number, ServerGone(why))


class Client:
    """The same for threads: calls block, and any number of threads may share one client."""

    def __init__(self, address: Address, connect_s: float = 0.5, deadline_s: float = 30.0):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="serving client", daemon=True)
        self._thread.start()
        self._client = AsyncClient(address, connect_s, deadline_s)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def evaluate(self, model: str, view: Any, legal: Any, seconds: float | None = None) -> Evaluation:
        return self._wait(self._client.evaluate(model, view, legal, seconds))

    def act(self, agent: str, game: str, position: Any, **options: Any) -> int:
        """As `AsyncClient.act`."""
        return self._wait(self._client.act(agent, game, position, **options))

    def act_many(
        self, agent: str, game: str, positions: list[Any], options: list[dict[str, Any]]
    ) -> list[int]:
        """Ask about many positions at once, so that the server can batch them."""

        async def gathered() -> list[int]:
            asked = zip(positions, options, strict=True)
            return await asyncio.gather(*(self._client.act(agent, game, one, **more) for one, more in asked))

        return self._wait(gathered())

    def evaluate_many(self, model: str, views: list[Any], legals: list[Any]) -> list[Evaluation]:
        """As `act_many`, of a network."""

        async def gathered() -> list[Evaluation]:
            asked = zip(views, legals, strict=True)
            return await asyncio.gather(*(self._client.evaluate(model, *one) for one in asked))

        return self._wait(gathered())

    def reload(self, model: str) -> int:
        return self._wait(self._client.reload(model))

    def metrics(self) -> dict[str, Any]:
        return self._wait(self._client.metrics())

    def ping(self) -> int:
        return self._wait(self._client.ping())

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        self._wait(self._hang_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _hang_up(self) -> None:
        self._client.close()
        await asyncio.sleep(0)

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
