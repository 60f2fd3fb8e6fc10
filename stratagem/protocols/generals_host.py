"""A host for bots of the competition protocol: it runs them as processes, with limits, and never trusts them.

A bot that hangs, floods, dies or talks nonsense forfeits its game; whatever it left behind is killed, and the match
goes on. Memory is limited per process before the bot starts. Its processes are found by a mark in their environment,
so that children which left the group are killed too.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents.agent import Agent
from stratagem.games.generals.board import NOBODY
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import PASS, possessors, seen
from stratagem.protocols.generals_stdio import Frame, action_of, read_answer, write_frame

MARK = "STRATAGEM_BOT"
LONGEST_LINE = 4096
# Set the limits, then become the bot: nothing of ours is left in the process.
LAUNCH = """
import os, resource, sys
memory = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"cannot run {sys.argv[2]}: {error}")
"""


class Forfeit(Exception):
    """Why a bot has lost its game."""


@dataclass(frozen=True)
class Limits:
    """What a bot may use."""

    turn: float = 0.5
    """Seconds for an answer."""
    first: float = 10.0
    """Seconds for the first answer, in which a bot starts up."""
    memory: int = 2 << 30
    """Bytes of address space for each of its processes."""


class Result(NamedTuple):
    """One game of a match."""

    returns: tuple[float, float]
    turns: int
    forfeits: dict[int, str]  # seat: reason
    actions: list[list[int]]
    seconds: tuple[list[float], list[float]]  # of every answer, seat by seat
    state: Any


@dataclass
class Process:
    """One bot as a running process."""

    command: Sequence[str]
    limits: Limits
    _buffer: bytearray = field(default_factory=bytearray)
    _answered: bool = False

    def __post_init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCH, str(self.limits.memory), *self.command]
        try:
            self.process = subprocess.Popen(
                launcher,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                env={**os.environ, MARK: self.mark},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self.errors.close()
            raise Forfeit(f"could not be started ({error})") from error
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    def exchange(self, message: str) -> str:
        """Send one message and wait for the line that answers it. Forfeit says what went wrong."""
        end = time.monotonic() + (self.limits.turn if self._answered else self.limits.first)
        self._write(message.encode(), end)
        line = self._read_line(end)
        self._answered = True
        return line

    def _write(self, data: bytes, end: float) -> None:
        view = memoryview(data)
        while view:
            _, ready, _ = select.select([], [self._to], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise Forfeit("does not read its input")
            try:
                view = view[os.write(self._to, view) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Forfeit(self._gone()) from None

    def _read_line(self, end: float) -> str:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise Forfeit("gave no answer in time")
            data = os.read(self._from, LONGEST_LINE)
            if not data:
                raise Forfeit(self._gone())
            self._buffer += data
            if len(self._buffer) > LONGEST_LINE:
                raise Forfeit("floods its output")
        line, _, rest = bytes(self._buffer).partition(b"\n")
        if rest.strip():
            raise Forfeit("answers more than it was asked")
        self._buffer.clear()
        try:
            return line.decode("ascii")
        except UnicodeDecodeError:
            raise Forfeit("answers with something that is no text") from None

    def _gone(self) -> str:
        try:
            status = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self.errors.seek(0)
        last = self.errors.read(100_000).decode("utf-8", "replace").strip().splitlines()[-1:]
        return f"ended with status {status}" + (f" ({last[0][:200]})" if last else "")

    def close(self) -> None:
        """End it and all that it started."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.2)  # a proper bot leaves at the end of its input
        for _ in range(5):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            if not kill_marked(self.mark):
                break
            time.sleep(0.02)
        self.process.wait()
        self.errors.close()


def kill_marked(mark: str) -> int:
    """Kill every process with this mark in its environment; how many there were."""
    wanted = f"{MARK}={mark}".encode()
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":
                    os.kill(int(folder.name), signal.SIGKILL)
                    found += 1
        except (OSError, ValueError):
            continue  # it has gone, or is not ours
    return found


Player = Agent | Sequence[str]  # one of our agents, or the command of a bot


def host_game(game: Generals, players: Sequence[Player], seed: int, limits: Limits | None = None) -> Result:
    """One game between bots and agents, seat by seat."""
    limits = limits or Limits()
    functions = _compiled(game)
    state = functions.init(jax.random.key(seed))
    seats: list[_Bot | _Own] = []
    forfeits: dict[int, str] = {}
    actions: list[list[int]] = []
    seconds: tuple[list[float], list[float]] = ([], [])
    try:
        for seat, player in enumerate(players):
            if isinstance(player, (list, tuple)):
                seats.append(_Bot(game, player, seat, limits))
            else:
                seats.append(_Own(game, player, seat, seed))
        while int(state.winner) == NOBODY and not forfeits:
            legal = np.asarray(functions.legal(state))
            row = [int(cell) * game.per_cell + PASS for cell in state.generals]
            for seat, sitting in enumerate(seats):
                began = time.perf_counter()
                try:
                    action = sitting.act(functions.view(state, seat), legal[seat])
                except Forfeit as reason:
                    forfeits[seat] = str(reason)
                    continue
                seconds[seat].append(time.perf_counter() - began)
                if legal[seat, action]:  # a move that the rules do not allow does nothing
                    row[seat] = action
            if not forfeits:
                actions.append(row)
                state = functions.step(state, jnp.asarray(row, jnp.int32))
    except Forfeit as reason:  # a bot that could not even be started
        forfeits[len(seats)] = str(reason)
    finally:
        for sitting in seats:
            sitting.close()
    returns = tuple(float(value) for value in np.asarray(game.returns(state)))
    if forfeits:
        returns = (0.0, 0.0) if len(forfeits) == 2 else (-1.0, 1.0) if 0 in forfeits else (1.0, -1.0)
    return Result((returns[0], returns[1]), len(actions), forfeits, actions, seconds, state)


class _Functions(NamedTuple):
    init: Any
    legal: Any
    view: Any
    step: Any


_KEPT: dict[Generals, _Functions] = {}


def _compiled(game: Generals) -> _Functions:
    if game not in _KEPT:
        _KEPT[game] = _Functions(
            jax.jit(game.init), jax.jit(game.legal), jax.jit(game.view), jax.jit(game.step)
        )
    return _KEPT[game]


class _Bot:
    """A seat that is played by a process."""

    def __init__(self, game: Generals, command: Sequence[str], seat: int, limits: Limits):
        self.game = game
        self.process = Process(command, limits)
        self.hello = f"{seat} {game.height} {game.width}\n"

    def act(self, view: Any, legal: np.ndarray) -> int:
        frame = Frame(
            int(view.turn),
            (int(view.land[0]), int(view.land[1])),
            (int(view.total[0]), int(view.total[1])),
            np.asarray(seen(view)),
            np.asarray(possessors(view)),
            np.asarray(view.army),
        )
        line = self.process.exchange(self.hello + write_frame(frame))
        self.hello = ""
        answer = read_answer(line, self.game.height, self.game.width)
        if answer is None:
            raise Forfeit(f"talks nonsense: {line[:60]!r}")
        rest = (
            int(np.flatnonzero(legal.reshape(-1, self.game.per_cell)[:, PASS])[0]) * self.game.per_cell + PASS
        )
        return action_of(answer, self.game.width, rest, self.game.per_cell)

    def close(self) -> None:
        self.process.close()


class _Own:
    """A seat that is played by one of our agents."""

    def __init__(self, game: Generals, agent: Any, seat: int, seed: int):
        self.agent, self.memory = agent, agent.memory()
        self.key = jax.random.fold_in(jax.random.key(seed), seat + 1)
        self.turn = 0
        self._act, self._remember = _agent_functions(agent)

    def act(self, view: Any, legal: np.ndarray) -> int:
        action = int(
            self._act(self.memory, view, jnp.asarray(legal), jax.random.fold_in(self.key, self.turn))
        )
        self.memory = self._remember(self.memory, view, jnp.int32(action))
        self.turn += 1
        return action

    def close(self) -> None:
        pass


_AGENTS: dict[Any, tuple[Any, Any]] = {}


def _agent_functions(agent: Any) -> tuple[Any, Any]:
    if agent not in _AGENTS:
        _AGENTS[agent] = jax.jit(agent.act), jax.jit(agent.remember)
    return _AGENTS[agent]
