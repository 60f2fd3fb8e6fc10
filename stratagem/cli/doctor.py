"""`stratagem doctor`"""

import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from stratagem import __version__
from stratagem.cli.output import out, print_json
from stratagem.core.files import cache_folder

NEEDED = ("jax", "jaxlib", "equinox", "optax", "mctx", "numba", "numpy", "scipy", "safetensors", "tyro", "rich",
          "textual", "tensorboardX", "matplotlib")  # fmt: skip
OPTIONAL = {"fastapi": "studio", "uvicorn": "studio", "websockets": "studio", "pettingzoo": "envs", "gymnasium": "envs",
            "python-socketio": "live"}  # fmt: skip


@dataclass(frozen=True)
class Command:
    """Show what is installed, which devices there are and where files go, and run a short self-test."""

    quick: bool = False
    """Leave the self-test out."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self) -> int:
        packages = {name: version_of(name) for name in NEEDED}
        extras = {name: version_of(name) for name in OPTIONAL}
        tests = [] if self.quick else [self_test(name, test) for name, test in SELF_TESTS.items()]
        folders = {"cache": cache_folder(), "runs": Path("runs").resolve()}
        content: dict[str, Any] = {
            "stratagem": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "devices": devices(),
            "packages": packages,
            "extras": extras,
            "folders": {name: folder_facts(path) for name, path in folders.items()},
            "self_test": tests,
        }
        missing = [name for name, version in packages.items() if version is None]
        healthy = not missing and all(test["passed"] for test in tests) and sys.version_info >= (3, 11)
        content["healthy"] = healthy
        if self.json:
            print_json(content)
        else:
            show(content)
        return 0 if healthy else 1


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def devices() -> list[str]:
    import jax

    return [f"{device.platform}: {device.device_kind}" for device in jax.devices()]


def folder_facts(path: Path) -> dict[str, Any]:
    """Where, whether it can be written, and how much room there is."""
    existing = next(parent for parent in [path, *path.parents] if parent.exists())
    return {
        "path": str(path),
        "writable": os.access(existing, os.W_OK),
        "free_gb": round(shutil.disk_usage(existing).free / 1e9, 1),
    }


def self_test(name: str, test: Callable[[], None]) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        test()
        problem = None
    except Exception as error:  # a doctor reports every illness instead of dying of it
        problem = f"{type(error).__name__}: {error}"
    return {
        "name": name,
        "passed": problem is None,
        "problem": problem,
        "seconds": round(time.perf_counter() - began, 2),
    }


def plays_a_game() -> None:
    """A compiled agent and a host agent finish a game, and its replay verifies."""
    from stratagem.agents import make_agent
    from stratagem.arena.match import play_games
    from stratagem.games import make_game
    from stratagem.protocols.replay import Replay, load, verify

    game = make_game("corso:width=3,height=3")
    agents = [make_agent("random", game), make_agent("mm:depth=2", game)]
    played = play_games(game, agents, [[0, 1]], [0], record=True)[0]
    spec = game.spec
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.json"
        Replay(
            spec.name,
            dict(spec.parameters),
            spec.ruleset,
            ["a", "b"],
            played.actions,
            list(played.returns),
            0,
        ).save(path)
        verify(load(path))


def solves_a_board() -> None:
    """Corso on 3×3 is a win for the first player."""
    from stratagem.solvers.corso import first_moves

    solution, _ = first_moves(3, 3)
    if solution.outcome != 1:
        raise ArithmeticError(f"3×3 Corso should be won by the first player, got {solution.outcome}")


def takes_a_gradient() -> None:
    import jax
    import jax.numpy as jnp

    slope = jax.jit(jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2)))(jnp.ones(8))
    if not bool(jnp.isfinite(slope).all()):
        raise ArithmeticError("a gradient is not finite")


def writes_to_the_cache() -> None:
    from stratagem.core.files import atomic_write

    path = cache_folder() / ".doctor"
    with atomic_write(path) as file:
        file.write(b"well")
    path.unlink()


SELF_TESTS: dict[str, Callable[[], None]] = {
    "writes to the cache": writes_to_the_cache,
    "takes a gradient": takes_a_gradient,
    "plays a game and verifies its replay": plays_a_game,
    "solves 3×3 Corso": solves_a_board,
}


def show(content: dict[str, Any]) -> None:
    """The findings, for people."""
    out.print(
        f"[bold]stratagem {content['stratagem']}[/], Python {content['python']}, {content['platform']}, "
        f"{content['cores']} cores"
    )
    out.print("devices: " + ", ".join(content["devices"]))
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, version in content["packages"].items():
        table.add_row(name, version or "[red]missing[/]", "")
    for name, version in content["extras"].items():
        table.add_row(name, version or "[dim]not installed[/]", f"[dim]extra: {OPTIONAL[name]}[/]")
    out.print(table)
    for name, facts in content["folders"].items():
        mark = "[green]writable[/]" if facts["writable"] else "[red]not writable[/]"
        out.print(f"{name}: {facts['path']} ({mark}, {facts['free_gb']} GB free)", highlight=False)
    for test in content["self_test"]:
        mark = "[green]passed[/]" if test["passed"] else f"[red]failed[/] {test['problem']}"
        out.print(f"self-test: {test['name']}: {mark} ({test['seconds']} s)", highlight=False)
    out.print(
        "[bold green]All well.[/]" if content["healthy"] else "[bold red]Something is wrong, see above.[/]"
    )
