"""A queue before something that answers many questions at once.

Questions wait until there are as many as fit, or until the first has waited long enough; then a thread takes them
together. Every question ends exactly once: answered, failed, late, cancelled, or refused because the queue is full.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

from stratagem.core.errors import StratagemError
from stratagem.serving.errors import Busy, Cancelled, Closed, Failed, Late
from stratagem.serving.metrics import Metrics

Reply = Callable[[Any], None]  # called once, from any thread, with the answer or an exception; must be quick


class Batch(NamedTuple):
    """What a runner makes of a list of questions."""

    answers: Sequence[Any]  # one each; an exception for a question that cannot be answered
    distinct: int  # different questions among them
    slots: int  # places that were computed, padding included


class Runner(Protocol):
    """Answers questions together."""

    @property
    def largest(self) -> int: ...

    def __call__(self, questions: list[Any]) -> Batch: ...


class Ask:
    """One question on its way. Equal only to itself."""

    __slots__ = ("arrived", "deadline", "question", "reply", "settled")

    def __init__(self, question: Any, reply: Reply, arrived: float, deadline: float):
        self.question, self.reply = question, reply
        self.arrived, self.deadline = arrived, deadline
        self.settled = False


class Ticket(NamedTuple):
    """A question that can be taken back."""

    lane: "Lane"
    ask: Ask

    def cancel(self) -> bool:
        """False if it had ended already."""
        return self.lane.cancel(self.ask)


class Lane:
    """Runs in `threads` threads of its own; `turns`, if given, bounds how many lanes compute at a time."""

    def __init__(
        self,
        name: str,
        runner: Runner,
        *,
        wait_s: float,
        queue: int,
        threads: int = 1,
        turns: AbstractContextManager[Any] | None = None,
    ):
        self.name, self.runner = name, runner
        self.wait_s, self.queue = wait_s, queue
        self.metrics = Metrics()
        self._turns = turns or nullcontext()
        self._changed = threading.Condition()
        self._waiting: OrderedDict[Ask, None] = OrderedDict()
        self._taken: set[Ask] = set()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"lane {name}", daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def depth(self) -> int:
        """Questions that wait."""
        return len(self._waiting)

    def submit(self, question: Any, reply: Reply, seconds: float) -> Ticket:
        """Queue a question that must be answered within so many seconds; Busy or Closed is raised at once."""
        now = time.monotonic()
        ask = Ask(question, reply, now, now + seconds)
        with self._changed:
            if self._closed:
                raise Closed(f"{self.name} is shutting down")
            if len(self._waiting) >= self.queue:
                self.metrics.ended("busy", [0.0])
                ahead = 1 + len(self._waiting) // self.runner.largest
                retry = max(0.001, ahead * self.metrics.batch_s)
                raise Busy(
                    f"{self.name} has {self.queue} questions waiting; ask again in {retry:.3f} s", retry
                )
            self._waiting[ask] = None
            # Only news that changes what a thread would do: the first question, or a full batch.
            if len(self._waiting) == 1 or len(self._waiting) >= self.runner.largest:
                self._changed.notify()
        return Ticket(self, ask)

    def cancel(self, ask: Ask) -> bool:
        """Take a question back. False if it had ended already."""
        return self._settle([(ask, Cancelled("taken back"))]) == 1

    def sweep(self) -> None:
        """Tell those whose deadline has passed."""
        now = time.monotonic()
        with self._changed:
            late = [ask for group in (self._waiting, self._taken) for ask in group if ask.deadline <= now]
        if late:
            self._settle([(ask, Late(f"{self.name} did not answer in time")) for ask in late])

    def close(self) -> None:
        """End the threads; what waits is told that the service is closed."""
        with self._changed:
            self._closed = True
            left = [*self._waiting, *self._taken]
            self._changed.notify_all()
        self._settle([(ask, Closed(f"{self.name} is shutting down")) for ask in left])
        for thread in self._threads:
            thread.join(timeout=5.0)

    def as_json(self) -> dict[str, Any]:
        return {"queue_depth": self.depth, **self.metrics.as_json()}

    def _work(self) -> None:
        while batch := self._gather():
            with self._turns:
                self._answer(batch)

    def _gather(self) -> list[Ask]:
        """The next batch; empty when the lane is closed."""
        batch: list[Ask] = []
        with self._changed:
            while not batch and not self._closed:
                if not self._waiting:
                    self._changed.wait()
                    continue
                left = next(iter(self._waiting)).arrived + self.wait_s - time.monotonic()
                if len(self._waiting) < self.runner.largest and left > 0:
                    self._changed.wait(left)
                    continue
                count = min(len(self._waiting), self.runner.largest)
                batch = [self._waiting.popitem(last=False)[0] for _ in range(count)]
                self._taken.update(batch)
            if self._waiting:
                self._changed.notify()  # there may be another thread, and work for it
        return batch

    def _answer(self, batch: list[Ask]) -> None:
        runner = self.runner  # one for the whole batch: a new model comes in between batches
        began = time.monotonic()
        answers: Sequence[Any]
        try:
            answers, distinct, slots = runner([ask.question for ask in batch])
            self.metrics.ran(len(batch), distinct, slots, time.monotonic() - began)
        except StratagemError as error:
            answers = [error] * len(batch)
        except Exception as error:  # a bug in one model must not silence its lane
            answers = [Failed(f"{self.name}: {type(error).__name__}: {error}")] * len(batch)
        self._settle(list(zip(batch, answers, strict=True)))

    def _settle(self, endings: list[tuple[Ask, Any]]) -> int:
        """Give each question its one ending; how many had none yet."""
        with self._changed:
            fresh = [(ask, answer) for ask, answer in endings if not ask.settled]
            for ask, _ in fresh:
                ask.settled = True
                self._waiting.pop(ask, None)
            self._taken.difference_update(ask for ask, _ in endings)
        now = time.monotonic()
        times: dict[str, list[float]] = {}
        for ask, answer in fresh:
            times.setdefault(ending_of(answer), []).append(now - ask.arrived)
        for how, seconds in times.items():
            self.metrics.ended(how, seconds)
        for ask, answer in fresh:
            ask.reply(answer)
        return len(fresh)


def ending_of(answer: Any) -> str:
    """The word under which an ending is counted."""
    if not isinstance(answer, Exception):
        return "answered"
    if isinstance(answer, Late):
        return "late"
    return "cancelled" if isinstance(answer, Cancelled | Closed) else "failed"
