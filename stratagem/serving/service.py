"""The service inside a program: models and agents by name, asked from an event loop or from any thread."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from stratagem.core.errors import BadOption, StratagemError
from stratagem.core.game import Game
from stratagem.core.registry import suggestion
from stratagem.games import make_game
from stratagem.serving.agents import Turn, serve_agent
from stratagem.serving.checks import fitted, leaves_of, shapes_of
from stratagem.serving.errors import BadRequest, Closed
from stratagem.serving.ladder import rungs
from stratagem.serving.lane import Lane, Reply, Ticket
from stratagem.serving.models import Evaluation, Model, game_of, load_model
from stratagem.serving.waiting import answer_of, awaited
from stratagem.serving.workers import Workers

SWEEP_S = 0.02  # how often deadlines are looked at
MOST_AGENTS = 64  # each keeps its programs and a thread


@dataclass(frozen=True)
class Settings:
    """How a service batches, waits and refuses."""

    largest: int = 64
    """Most positions in a batch; programs are compiled for 1, 2, 4 … up to it."""
    wait_ms: float = 2.0
    """How long a question waits for company."""
    queue: int = 1024
    """Most questions that wait for a model; further ones are told that it is busy."""
    deadline_s: float = 30.0
    """For questions that do not bring their own."""
    batches: int = 2
    """Batches of one model that are computed at a time; one batch alone keeps little more than one core busy."""
    agent_largest: int = 16
    """Most positions in a batch of a whole agent; programs are compiled for 1, 4, 16 … up to it."""
    workers: int = 1
    """Processes in which agents think that are plain Python."""
    watch_s: float = 0.5
    """How often weight files are looked at for changes; 0 never."""

    def __post_init__(self) -> None:
        for name, low in (("largest", 1), ("queue", 1), ("batches", 1), ("agent_largest", 1), ("workers", 1)):
            if getattr(self, name) < low:
                raise BadOption(f"serving: {name} is {low} or more, not {getattr(self, name)}")
        for name in ("wait_ms", "deadline_s", "watch_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise BadOption(f"serving: {name} is 0 or more, not {getattr(self, name)}")


class Service:
    """Serves until closed; safe from any thread. Use it in a `with` block."""

    def __init__(self, settings: Settings | None = None):
        self.settings = settings or Settings()
        self._lock = threading.Lock()
        self._models: dict[str, Lane] = {}
        self._agents: dict[tuple[str, str, str], Lane] = {}
        self._reloads: dict[str, int] = {}
        self._errors: dict[str, str] = {}
        self._stamps: dict[str, Any] = {}
        self._workers = Workers(self.settings.workers)
        self._thinking = threading.BoundedSemaphore(self.settings.workers)
        self._loader = ThreadPoolExecutor(1, "load")  # one load at a time
        self._closing = threading.Event()
        self._caretakers = [
            threading.Thread(target=self._every, args=(SWEEP_S, self._sweep), daemon=True, name="deadlines")
        ]
        if self.settings.watch_s:
            watch = (self.settings.watch_s, self._watch)
            self._caretakers.append(
                threading.Thread(target=self._every, args=watch, daemon=True, name="watch")
            )
        for caretaker in self._caretakers:
            caretaker.start()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is served.

    def add_model(self, name: str, path: Path | str, game: str = "") -> Model:
        """Serve a weight file under a name. Blocks until it is checked and compiled."""
        if name in self._models:
            raise BadOption(f"a model is called {name!r} already; give each its own name")
        path = Path(path)
        stamp = stamp_of(path)
        model = load_model(name, path, game_of(path, game), rungs(self.settings.largest))
        with self._lock:
            self._stamps[name], self._reloads[name] = stamp, 0
            self._models[name] = self._lane(f"model {name}", model, threads=self.settings.batches)
        return model

    def add_agent(self, choice: str, game: str, model: str = "") -> None:
        """Serve an agent, ready before it is first asked. `model` names the served weights that it plays with."""
        place = self._place(choice, game, model)
        if place in self._agents:
            return
        if len(self._agents) >= MOST_AGENTS:
            raise BadRequest(
                f"{MOST_AGENTS} agents are served already; restart the service for others", "agent"
            )
        runner = self._serve(place)
        agent_is_host = runner.choose is not None
        lane = self._lane(
            f"agent {choice} of {runner.game.spec.name}",
            runner,
            threads=self.settings.workers if agent_is_host else 1,
            turns=self._thinking if agent_is_host else None,
        )
        with self._lock:
            kept = self._agents.setdefault(place, lane)
        if kept is not lane:
            lane.close()

    def models(self) -> dict[str, Model]:
        return {name: self._runner(lane) for name, lane in self._models.items()}

    # Questions, from any thread; the reply is called in a thread of the service.

    def ask_model(
        self, name: str, view: Any, legal: Any, reply: Reply, seconds: float | None = None
    ) -> Ticket:
        """Ask a network. `view` is the game's tree, or its arrays in order. BadRequest and Busy are raised at once."""
        lane = self._model_lane(name)
        shapes = shapes_of(self._runner(lane).game)
        question = (fitted("view", shapes.view, leaves_of(view)), fitted("legal", shapes.legal, [legal]))
        if not question[1].any():
            raise BadRequest("legal allows no action; nothing can be asked of a finished game", "legal")
        return lane.submit(question, reply, self._seconds(seconds))

    def ask_agent(
        self, choice: str, game: str, turn: Turn, reply: Reply, seconds: float | None = None, model: str = ""
    ) -> Ticket:
        """Ask an agent that has been added; see `has_agent`."""
        lane = self._agents.get(self._place(choice, game, model))
        if lane is None:
            raise BadRequest(f"agent {choice} of {game} is not served yet; add it first", "agent")
        return lane.submit(turn, reply, self._seconds(seconds))

    def has_agent(self, choice: str, game: str, model: str = "") -> bool:
        return self._place(choice, game, model) in self._agents

    # The same, waiting for the answer: in a thread, or in an event loop.

    def evaluate_now(self, model: str, view: Any, legal: Any, seconds: float | None = None) -> Evaluation:
        """Blocks the calling thread."""
        return answer_of(lambda reply: self.ask_model(model, view, legal, reply, seconds)).result()

    async def evaluate(self, model: str, view: Any, legal: Any, seconds: float | None = None) -> Evaluation:
        """Taken back if the caller is cancelled."""
        return await awaited(lambda reply: self.ask_model(model, view, legal, reply, seconds))

    def act_now(
        self, choice: str, game: str, turn: Turn, seconds: float | None = None, model: str = ""
    ) -> int:
        """Blocks the calling thread. An agent that is asked for the first time is made ready first."""
        self.add_agent(choice, game, model)
        return answer_of(lambda reply: self.ask_agent(choice, game, turn, reply, seconds, model)).result()

    async def act(
        self, choice: str, game: str, turn: Turn, seconds: float | None = None, model: str = ""
    ) -> int:
        """An agent that is asked for the first time is made ready first, beside the loop."""
        if not self.has_agent(choice, game, model):
            await asyncio.wrap_future(self.prepare_agent(choice, game, model))
        return await awaited(lambda reply: self.ask_agent(choice, game, turn, reply, seconds, model))

    def prepare_agent(self, choice: str, game: str, model: str = "") -> "Future[None]":
        """`add_agent` in the loading thread."""
        return self._load(self.add_agent, choice, game, model)

    # Reloading.

    def reload(self, name: str) -> "Future[int]":
        """Read a model's file again, beside the traffic; the new version. On an error the old one stays."""
        self._model_lane(name)
        return self._load(self._reload, name)

    def _reload(self, name: str) -> int:
        lane = self._model_lane(name)
        old = self._runner(lane)
        self._stamps[name] = stamp_of(old.path)
        try:
            new = load_model(name, old.path, old.game, old.ladder.sizes, old)
            agents = {place: self._serve(place) for place in list(self._agents) if place[2] == name}
        except Exception as error:  # whatever it is, the old model goes on
            self._errors[name] = str(error) or type(error).__name__
            raise
        lane.runner = new
        for place, runner in agents.items():
            self._agents[place].runner = runner
        self._reloads[name] += 1
        self._errors.pop(name, None)
        return new.version

    def _watch(self) -> None:
        """Reload what has changed on disk. A file that was refused is not tried again until it changes."""
        for name, model in self.models().items():
            stamp = stamp_of(model.path)
            if stamp is not None and stamp != self._stamps[name]:
                self._stamps[name] = stamp
                self._load(self._reload, name)

    # Facts.

    def metrics(self) -> dict[str, Any]:
        """Everything that is counted, as JSON can hold it."""
        models = {}
        for name, lane in list(self._models.items()):
            model = self._runner(lane)
            models[name] = {
                "file": str(model.path),
                "game": model.game.spec.title,
                "version": model.version,
                "reloads": self._reloads[name],
                "last_error": self._errors.get(name),
                **lane.as_json(),
            }
        agents = {
            f"{game}|{choice}" + (f"|{model}" if model else ""): lane.as_json()
            for (choice, game, model), lane in list(self._agents.items())
        }
        return {"models": models, "agents": agents}

    def close(self) -> None:
        """Answer what waits with `Closed`, and end every thread and process."""
        self._closing.set()
        self._workers.close()
        self._loader.shutdown(wait=True, cancel_futures=True)
        for lane in [*self._models.values(), *self._agents.values()]:
            lane.close()
        for caretaker in self._caretakers:
            caretaker.join()

    # Inside.

    def _serve(self, place: tuple[str, str, str]) -> Any:
        choice, title, model = place
        if model:
            colon = "," if ":" in choice else ":"
            choice += f"{colon}weights={self._runner(self._model_lane(model)).path}"
        sizes = rungs(self.settings.agent_largest, factor=4)
        return serve_agent(known_game(title), choice, sizes, self._workers.choose)

    def _place(self, choice: str, game: str, model: str) -> tuple[str, str, str]:
        if model:
            self._model_lane(model)
        return choice, title_of(game), model

    def _lane(self, name: str, runner: Any, threads: int = 1, turns: Any = None) -> Lane:
        wait_s = self.settings.wait_ms / 1000
        return Lane(name, runner, wait_s=wait_s, queue=self.settings.queue, threads=threads, turns=turns)

    def _model_lane(self, name: str) -> Lane:
        if name not in self._models:
            raise BadRequest(f"no model is called {name!r}{suggestion(name, list(self._models))}", "model")
        return self._models[name]

    def _runner(self, lane: Lane) -> Any:
        return lane.runner

    def _seconds(self, seconds: float | None) -> float:
        return self.settings.deadline_s if seconds is None else seconds

    def _load(self, work: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        try:
            return self._loader.submit(work, *arguments)
        except RuntimeError:
            raise Closed("the service is shutting down") from None

    def _sweep(self) -> None:
        for lane in [*self._models.values(), *self._agents.values()]:
            lane.sweep()

    def _every(self, seconds: float, work: Callable[[], None]) -> None:
        while not self._closing.wait(seconds):
            try:
                work()
            except Closed:
                return


def title_of(game: str) -> str:
    """The full name of a game, so that two ways to write it are one."""
    return known_game(game).spec.title


@lru_cache(maxsize=256)
def known_game(game: str) -> Game:
    try:
        return make_game(game)
    except StratagemError as error:
        raise BadRequest(str(error), "game") from error


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is replaced; None if there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns, facts.st_size
