"""The loop around every learner: progress, metrics, checkpoints, evaluation, resume, and a clean way out.

A run is a folder: `config.json` says what it is, `metrics.jsonl` (and TensorBoard events) what happened,
`checkpoints/` holds what it takes to go on, `weights.safetensors` what plays. Killed at any moment, it goes on from
the last checkpoint as if nothing had happened. Ctrl-C finishes the iteration, saves and leaves; a second one leaves.
Of several processes that learn together, all walk through this, one writes, and when one is to stop they all do.
"""

import errno
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TypeVar

import jax

from stratagem.core.errors import BadOption, StratagemError
from stratagem.core.files import append_json, read_json, recover_lines, write_json
from stratagem.learners.mesh import any_process, lost, writes

S = TypeVar("S")
Evaluate = Callable[[Any, int], Mapping[str, float]]  # (network, iterations done) -> numbers to log
Say = Callable[[str], None]


class Learner(Protocol[S]):
    """Anything that learns in iterations. A state is all that it knows, the random key included."""

    @property
    def iterations(self) -> int: ...

    def start(self, key: jax.Array) -> S: ...

    def iterate(self, state: S) -> tuple[S, Mapping[str, float]]: ...

    def iteration(self, state: S) -> int: ...

    def network(self, state: S) -> Any: ...

    def save(self, state: S, folder: Path) -> None: ...

    def load(self, folder: Path) -> S: ...


@dataclass(frozen=True)
class Run:
    """Where and how long."""

    folder: Path
    """All that a run leaves behind is in here."""
    seed: int = 0
    """Same seed, same run."""
    resume: bool = False
    """Go on from the last checkpoint."""
    save_every: int = 10
    """Iterations between checkpoints."""
    evaluate_every: int = 20
    """Iterations between evaluations; zero for none."""
    minutes: float = 0.0
    """Save and stop after so long; zero for no limit. A later `--resume` goes on."""
    stop_at: int = 0
    """Save and stop after so many iterations; zero to go to the end."""

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.jsonl"


class DiskFull(StratagemError, OSError):
    """There is no room for a file of the run."""


def run(
    learner: Learner[S],
    settings: Run,
    config: Mapping[str, Any],
    evaluate: Evaluate | None = None,
    say: Say | None = None,
) -> tuple[S, bool]:
    """Learn until done, stopped or out of time: (the last state, whether it is done)."""
    say = say or (lambda line: print(line, file=sys.stderr, flush=True))
    state = _begin(learner, settings, config)
    began, first = time.monotonic(), learner.iteration(state)
    log = _Log(settings.folder) if writes() else _Silence()
    saved = first
    try:
        with _stopping() as stop, progress(learner.iterations, first, say) as show:
            while (done := learner.iteration(state)) < learner.iterations and not stop():
                before = time.monotonic()
                state, metrics = learner.iterate(state)
                done += 1
                row = {"iteration": done, "seconds": time.monotonic() - before, **metrics}
                out_of_time = bool(settings.minutes) and time.monotonic() - began > 60 * settings.minutes
                last = done >= learner.iterations or done == settings.stop_at or stop(out_of_time)
                if evaluate and settings.evaluate_every and (done % settings.evaluate_every == 0 or last):
                    row |= evaluate(learner.network(state), done)
                log.add(row)
                show(done, row)
                last = last or stop()
                if done - saved >= settings.save_every or last:
                    _keep(learner, state, settings, saved)
                    saved = done
                if last:
                    break
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if not lost(error):
            raise
        raise StratagemError(
            f"a process of this run is gone, so it ends here; nothing is lost up to iteration {saved}: start all "
            f"processes again with --resume ({str(error).splitlines()[0]})"
        ) from error
    finally:
        log.close()
    return state, learner.iteration(state) >= learner.iterations


def _begin(learner: Learner[S], settings: Run, config: Mapping[str, Any]) -> S:
    """A new run, or an old one where it was left; refuses to mix up two."""
    written = settings.folder / "config.json"
    full = {**config, "seed": settings.seed}
    if not writes():
        found = settings.resume and any(settings.checkpoints.glob("*.safetensors"))
        return learner.load(settings.checkpoints) if found else learner.start(jax.random.key(settings.seed))
    if settings.resume and written.exists():
        stored = {**_defaults(learner), **read_json(written)}
        differing = sorted(key for key in stored.keys() | full.keys() if stored.get(key) != full.get(key))
        if differing:
            told = "; ".join(f"{key} was {stored.get(key)}, now {full.get(key)}" for key in differing)
            raise BadOption(f"{settings.folder} holds another run ({told}); resume with its own settings")
        if any(settings.checkpoints.glob("*.safetensors")):
            state = learner.load(settings.checkpoints)
            _rewind(settings.metrics, learner.iteration(state))
            return state
    elif written.exists():
        raise BadOption(
            f"{settings.folder} holds a run already; go on with --resume or choose another folder"
        )
    write_json(written, full)
    _rewind(settings.metrics, 0)
    return learner.start(jax.random.key(settings.seed))


def _defaults(learner: Any) -> dict[str, Any]:
    """What settings are unless said otherwise: so were those that came after the run was begun."""
    settings = getattr(learner, "config", None)
    return {one.name: one.default for one in fields(settings)} if is_dataclass(settings) else {}


def _rewind(path: Path, iteration: int) -> None:
    """Drop what was logged after the checkpoint: it will happen again."""
    rows = recover_lines(path)
    kept = [row for row in rows if row["iteration"] <= iteration]
    if len(kept) < len(rows):
        path.unlink()
        append_json(path, kept)


def _keep(learner: Learner[S], state: S, settings: Run, saved: int) -> None:
    try:
        learner.save(state, settings.checkpoints)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"no room to save iteration {learner.iteration(state)} in {settings.checkpoints}; nothing is lost "
                f"up to iteration {saved}: make room, then --resume"
            ) from error
        raise


@contextmanager
def _stopping() -> Iterator[Callable[..., bool]]:
    """Whether Ctrl-C (or a polite kill) was sent, to any of the processes; the second one is not caught."""
    asked = False
    known: dict[int, Any] = {}

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(number, known[number])

    try:
        for wanted in (signal.SIGINT, signal.SIGTERM):
            known[wanted] = signal.signal(wanted, ask)
    except ValueError:
        known.clear()  # Not in the main thread: whoever runs this has to stop it.
    try:
        yield lambda also=False: any_process(asked or also)
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)


class _Silence:
    """What a process does that does not write."""

    def add(self, row: Mapping[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


class _Log:
    """Metrics, as JSON lines and, where tensorboardX is there, as events."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.events: Any = None

    def add(self, row: Mapping[str, Any]) -> None:
        append_json(self.folder / "metrics.jsonl", [row])
        self.events = self.events or self._writer()
        for name, value in row.items():
            if self.events and isinstance(value, (int, float)) and name != "iteration":
                self.events.add_scalar(name, value, row["iteration"])

    def _writer(self) -> Any:
        """Opened with the first row: one that never wrote wants a new thread at exit, which Python 3.12 refuses."""
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            return None
        return SummaryWriter(str(self.folder / "events"))

    def close(self) -> None:
        if self.events:
            self.events.close()


@contextmanager
def progress(total: int, done: int, say: Say) -> Iterator[Callable[[int, Mapping[str, Any]], None]]:
    """A bar with an ETA on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("learning"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("learning", total=total, completed=done, note="compiling")
            yield lambda at, row: bar.update(task, completed=at, note=_note(row))
        return
    began, said, first = time.monotonic(), 0.0, done

    def line(at: int, row: Mapping[str, Any]) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said > 10 or at == total:
            said = now
            left = (now - began) / (at - first) * (total - at)
            say(f"iteration {at} of {total}, about {left:.0f} s left: {_note(row)}")

    yield line


def _note(row: Mapping[str, Any]) -> str:
    shown = [f"{name} {value:.3g}" for name, value in row.items() if name not in ("iteration", "seconds")]
    return ", ".join(shown)
