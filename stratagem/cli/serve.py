"""`stratagem serve`"""

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table

from stratagem.cli.output import PLAIN_EVERY, log, print_json
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption
from stratagem.serving.server import Server, make_room
from stratagem.serving.service import Service, Settings

SHOWN_EVERY = 0.5  # seconds


@dataclass(frozen=True)
class Command(Settings):
    """Serve networks and agents to other programs of this machine, in batches. Changed weight files are reloaded.

    Ctrl-C or SIGTERM ends it. See docs/serving.md for the protocol, and stratagem.serving.Client for the other end.
    """

    model: tuple[str, ...] = ()
    """NAME=FILE for each network; NAME=FILE@GAME if the file plays several games."""
    agent: tuple[str, ...] = ()
    """GAME/AGENT, as in corso/mm:depth=4, for agents that are made ready ahead; others are when first asked."""
    socket: Path | None = None
    """Where to listen: a Unix socket, for this user only."""
    port: int | None = None
    """Also, or instead, a port of the loopback address; 0 takes a free one. Any local user can connect to it."""
    json: bool = False
    """Print one JSON object when ready, and one with the metrics at the end."""

    def run(self) -> int:
        if self.socket is None and self.port is None:
            raise BadOption("serve needs --socket PATH or --port PORT")
        models, agents = [read_model(text) for text in self.model], [read_agent(text) for text in self.agent]
        if self.socket is not None:
            make_room(self.socket)  # before anything is compiled
        use_compile_cache()
        settings = Settings(**{one.name: getattr(self, one.name) for one in fields(Settings)})
        with Service(settings) as service:
            return asyncio.run(self._serve(service, models, agents))

    async def _serve(self, service: Service, models: list[Any], agents: list[Any]) -> int:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        # Listening comes last, so that whoever can connect is answered at once.
        loading = asyncio.ensure_future(asyncio.to_thread(load, service, models, agents))
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({loading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stop.is_set():
            # The compiler cannot be interrupted, and there is nothing to save.
            log.print("stopped before it was ready")
            os._exit(130)
        await loading
        async with Server(service, self.socket, self.port) as server:
            where = [str(place) for place in (server.path, server.port) if place is not None]
            if self.json:
                print_json(
                    {"ready": True, "pid": os.getpid(), "socket": str(self.socket), "port": server.port}
                )
            log.print(f"Serving at {' and '.join(where)}; Ctrl-C ends it.", highlight=False, markup=False)
            await watch(service, stop)
        if self.json:
            print_json({"metrics": service.metrics()})
        log.print("Ended; every open question was answered.")
        return 0


def read_model(text: str) -> tuple[str, Path, str]:
    """(name, file, game) of NAME=FILE@GAME."""
    name, equals, rest = text.partition("=")
    file, _, game = rest.partition("@")
    if not name or not equals or not file:
        raise BadOption(f"--model {text}: give NAME=FILE, or NAME=FILE@GAME")
    return name, Path(file), game


def read_agent(text: str) -> tuple[str, str]:
    """(game, agent) of GAME/AGENT."""
    game, slash, agent = text.partition("/")
    if not game or not slash or not agent:
        raise BadOption(f"--agent {text}: give GAME/AGENT, as in corso/mm:depth=4")
    return game, agent


def load(service: Service, models: list[Any], agents: list[Any]) -> None:
    for name, path, game in models:
        began = time.monotonic()
        model = service.add_model(name, path, game)
        log.print(
            f"{name}: {path.name} for {model.game.spec.title}, ready in {time.monotonic() - began:.1f} s",
            highlight=False,
            markup=False,
        )
    for game, agent in agents:
        began = time.monotonic()
        service.add_agent(agent, game)
        log.print(
            f"{agent} for {game}, ready in {time.monotonic() - began:.1f} s", highlight=False, markup=False
        )


async def watch(service: Service, stop: asyncio.Event) -> None:
    """Show how it goes until it is told to stop."""
    told: dict[str, Any] = {}
    if log.is_terminal:
        with Live(console=log, auto_refresh=False, transient=True) as live:
            while not await stopped(stop, SHOWN_EVERY):
                content = service.metrics()
                tell_errors(content, told)
                live.update(status(content), refresh=True)
        return
    while not await stopped(stop, PLAIN_EVERY):
        content = service.metrics()
        tell_errors(content, told)
        for name, row in rows(content):
            if row["answered"] != told.get(name, 0):
                told[name] = row["answered"]
                print(f"{name}: {line(row)}", file=sys.stderr, flush=True)


async def stopped(stop: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return False
    return True


def tell_errors(content: dict[str, Any], told: dict[str, Any]) -> None:
    """Say once why a new weight file was refused."""
    for name, row in content["models"].items():
        error = row["last_error"]
        if error and told.get(f"error of {name}") != error:
            log.print(f"{name}: the old weights stay: {error}", highlight=False, markup=False)
        told[f"error of {name}"] = error


def rows(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(name, what was counted) of everything that is served."""
    agents = []
    for name, row in content["agents"].items():
        game, agent, *model = name.split("|")
        agents.append((" ".join([agent, *model, f"({game.partition(':')[0]})"]), row))
    return [*content["models"].items(), *agents]


def line(row: dict[str, Any]) -> str:
    """One lane in words."""
    latency = row["latency"]
    return (
        f"{row['answered']} answered, {row['queue_depth']} waiting, {row['busy']} busy, {row['failed']} failed, "
        f"batches of {row['mean_batch']}, p50 {latency['p50_ms']} ms, p99 {latency['p99_ms']} ms"
    )


def status(content: dict[str, Any]) -> Table:
    """Everything that is served, a line each."""
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("served", ratio=1, overflow="ellipsis", no_wrap=True)
    for title in ("version", "answered", "waits", "busy", "failed", "batch", "p50 ms", "p99 ms"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in rows(content):
        latency = row["latency"]
        cells = [
            row.get("version", ""),
            row["answered"],
            row["queue_depth"],
            row["busy"],
            row["failed"] + row["late"],
            row["mean_batch"] or "",
            latency["p50_ms"] or "",
            latency["p99_ms"] or "",
        ]
        table.add_row(name, *map(str, cells))
    return table
