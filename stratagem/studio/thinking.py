"""Where agents think: never in the process that serves the pages.

Agents that decide from the position alone are asked through the inference service, which gathers the questions of all
games into batches; agents that remember have a process of their own (`minds`).
"""

import asyncio
import multiprocessing
import signal
import tempfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import jax

from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import StratagemError
from stratagem.protocols.replay import Replay
from stratagem.serving import AsyncClient, Busy, Failed, Server, ServerGone, Service, Settings
from stratagem.serving.workers import settle_in
from stratagem.studio import minds, seeing
from stratagem.studio.shelf import SHIPPED, Shelf
from stratagem.studio.table import Table

START_S = 60.0  # the service must be there by then
MOST_KNOWN = 1000  # agents of games of which it is known whether they remember


def serve(path: str, workers: int) -> None:
    """In a process of its own: the inference service on a socket, until the studio is gone."""
    settle_in()
    use_compile_cache()

    async def until_told() -> None:
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
        with Service(Settings(workers=workers, watch_s=0, agent_largest=4)) as service:
            async with Server(service, Path(path), drain_s=0.0):
                await told.wait()

    asyncio.run(until_told())


class Thinkers:
    """All agents of a studio. Use it in an `async with` block."""

    def __init__(self, shelf: Shelf, workers: int = 1, seconds: float = 120.0):
        self.shelf, self.workers, self.seconds = shelf, workers, seconds
        self._remembers: dict[tuple[str, str], bool] = {}

    async def __aenter__(self) -> "Thinkers":
        self._folder = tempfile.TemporaryDirectory(prefix="stratagem-studio-")
        self._path = str(Path(self._folder.name) / "service")
        self._context = multiprocessing.get_context("spawn")
        self._pool = self._new_pool()
        self._start_service()
        self._client = AsyncClient(self._path, connect_s=2.0, deadline_s=self.seconds)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._client.close()
        self._service.terminate()
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        await asyncio.to_thread(self._service.join, 3.0)
        if self._service.is_alive():  # in the middle of compiling, which cannot be interrupted
            self._service.kill()
        self._folder.cleanup()

    async def meet(self, title: str, choice: str) -> None:
        """Make sure that an agent exists and plays this game; a StratagemError says why not."""
        if len(self._remembers) > MOST_KNOWN:
            self._remembers.clear()
        if (title, choice) not in self._remembers:
            self._remembers[title, choice] = await self._in_pool(minds.meet, title, choice)

    async def choose(self, table: Table, seat: int, choice: str) -> int:
        """What an agent would do at a seat of a table now."""
        title, seed = table.header.game, table.header.seed
        choice = self.shelf.opened(choice)
        await self.meet(title, choice)
        if self._remembers[title, choice]:
            actions = [list(row) for row in table.actions]
            return await self._in_pool(
                minds.think, table.id, title, choice, seat, seed, table.header.dice, actions
            )
        return await self._ask(choice, title, jax.device_get(table.state), seat, seed, table.turn)

    async def see(
        self, name: str, replay: Replay, seat: int, turn: int, weights: str | None
    ) -> dict[str, Any]:
        """What a seat knew in a recorded game; `weights` names a file of the shelf, or the shipped one."""
        if weights is not None:
            weights = "" if weights == SHIPPED else str(self.shelf.path(weights))
        return await self._in_pool(seeing.see, name, replay.as_json(), seat, turn, weights)

    async def _ask(self, choice: str, title: str, state: Any, seat: int, seed: int, turn: int) -> int:
        """Ask the service; wait while it starts, and start it again if it has died."""
        loop = asyncio.get_running_loop()
        until = loop.time() + START_S
        while True:
            try:
                return await self._client.act(
                    choice, title, state, seat=seat, seed=seed, turn=turn, seconds=self.seconds
                )
            except Busy as error:
                await asyncio.sleep(min(error.retry_s, 1.0))
            except ServerGone:
                if loop.time() > until:
                    raise
                if not self._service.is_alive():
                    self._start_service()
                await asyncio.sleep(0.2)

    def _start_service(self) -> None:
        # Not a daemon: it has worker processes of its own. It leaves when this process is gone.
        self._service = self._context.Process(target=serve, args=(self._path, self.workers), name="service")
        self._service.start()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, self._context, initializer=minds.wake)

    async def _in_pool(self, work: Any, *arguments: Any) -> Any:
        pool = self._pool
        try:
            future = asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
            return await asyncio.wait_for(future, self.seconds)
        except BrokenProcessPool as error:
            if self._pool is pool:
                self._pool = self._new_pool()
            raise Failed(
                "the process in which agents think has died; it was started again, try once more"
            ) from error
        except TimeoutError:
            raise Failed(f"the agent thought for more than {self.seconds:g} seconds") from None
        except StratagemError:
            raise
