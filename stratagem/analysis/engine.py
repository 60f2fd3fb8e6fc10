"""The analysis engine: queries in, answers out, in any order, each told by its id. See docs/analysis.md.

One thread thinks. A query of several turns waits for each of them anew, so that a more urgent one can come between.
Every query ends in one final answer for each of its turns, or in one error.
"""

import heapq
import queue
import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from stratagem import __version__
from stratagem.analysis.answers import answer, ended, no_results
from stratagem.analysis.bad_query import BadQuery
from stratagem.analysis.evaluators import evaluators_for, make_evaluator, make_weigher
from stratagem.analysis.judgement import Judgement, Question
from stratagem.analysis.positions import Place, play_through, question_at
from stratagem.analysis.programs import programs
from stratagem.analysis.query import Order, Query, decode, read_query
from stratagem.analysis.rolls import roll_before, rolls_dice
from stratagem.core.errors import StratagemError
from stratagem.games import GAMES, make_game

PROTOCOL = 1
Listener = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Limits:
    """How much the engine takes on."""

    waiting: int = 2048
    """Queries that may wait; more are told that it is busy."""
    kept: int = 4096
    """Judgements that are kept for equal questions."""
    unread: int = 1024
    """Answers that may lie unread before those on the way are left out."""


@dataclass(eq=False)
class Job:
    """A query under way."""

    query: Query
    number: int
    say: Listener
    turns: deque[int]
    """Still to be answered."""
    positions: dict[int, Place] | None = None
    running: bool = False
    stopped: bool = False

    def __lt__(self, other: "Job") -> bool:
        return (-self.query.priority, self.number) < (-other.query.priority, other.number)


class Engine:
    """Judges positions of all games. Methods may be called from any thread."""

    def __init__(self, limits: Limits | None = None):
        self.limits = limits or Limits()
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._jobs: dict[str, Job] = {}
        self._numbers = count()
        self._spoken: deque[dict[str, Any]] = deque()
        self._kept: OrderedDict[Any, Judgement] = OrderedDict()
        self._closed = self._ended = False
        self._thread = threading.Thread(target=self._work, name="analysis", daemon=True)
        self._thread.start()

    # From outside.

    def submit(self, query: dict[str, Any] | str | bytes) -> None:
        """Take a query, as an object or as a line. Whatever is wrong with it is an answer too."""
        self._take(query, self._speak)

    def answers(self) -> Iterator[dict[str, Any]]:
        """Answers as they come; ends when the engine is closed and all is said."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._spoken or self._ended)
                if not self._spoken:
                    return
                spoken = self._spoken.popleft()
                self._changed.notify_all()
            yield spoken

    def ask(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        """One query, waited for: its final answers, or its one error. It may leave out its id."""
        heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        asked = {"id": f"ask {next(self._numbers)}", **query}
        self._take(asked, heard.put)
        finals: list[dict[str, Any]] = []
        turns = query.get("analyzeTurns")
        expected = max(1, len(turns)) if isinstance(turns, list) else 1
        while len(finals) < expected:
            one = heard.get()
            if "error" in one or "action" in one:
                return [one]
            if not one["isDuringSearch"]:
                finals.append(one)
        return finals

    def wait_for_room(self) -> None:
        """Return once few enough answers lie unread: for whoever reads queries from a pipe."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._spoken) < self.limits.unread or self._ended)

    def close(self, finish: bool = True) -> None:
        """Take no more queries. What waits is still answered; or, unless `finish`, ended."""
        with self._changed:
            self._closed = True
            if not finish:
                self._terminate(list(self._jobs.values()))
            self._changed.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended; close first."""
        self._thread.join(timeout)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close(finish=False)
        self.join(timeout=10.0)

    # Taking queries.

    def _take(self, given: dict[str, Any] | str | bytes, say: Listener) -> None:
        try:
            asked = read_query(given if isinstance(given, dict) else decode(given))
            with self._changed:
                if isinstance(asked, Order):
                    self._obey(asked, say)
                else:
                    self._queue(asked, say)
        except BadQuery as error:
            say(error.as_json())
        except Exception as error:
            say(self._fault(error, given.get("id") if isinstance(given, dict) else None))

    def _queue(self, query: Query, say: Listener) -> None:
        if self._closed:
            raise BadQuery(None, "the engine is closing; start another", query.id, busy=True)
        if query.id in self._jobs:
            raise BadQuery("id", "a query with this id is still waiting; choose another id", query.id)
        if len(self._jobs) >= self.limits.waiting:
            message = f"busy: {self.limits.waiting} queries are waiting; ask again when some are answered"
            raise BadQuery(None, message, query.id, busy=True)
        job = Job(query, next(self._numbers), say, deque(query.turns))
        self._jobs[query.id] = job
        heapq.heappush(self._waiting, job)
        self._changed.notify_all()

    def _obey(self, order: Order, say: Listener) -> None:
        told: dict[str, Any] = {"id": order.id, "action": order.action}
        if order.action == "query_version":
            told |= {"version": __version__, "protocol": PROTOCOL, "games": [row.name for row in GAMES]}
            told["evaluators"] = {row.name: list(evaluators_for(make_game(row.name))) for row in GAMES}
            say(told)
        elif order.action == "clear_cache":
            self._kept.clear()
            say(told)
        elif order.action == "terminate":
            say({**told, "terminateId": order.target})
            self._terminate([self._jobs[order.target]] if order.target in self._jobs else [])
        else:
            say(told)
            self._terminate(list(self._jobs.values()))

    def _terminate(self, jobs: list[Job]) -> None:
        """End these: at once if they wait; the one under way says what it has."""
        for job in jobs:
            job.stopped = True
            if not job.running:
                self._drop(job)

    def _drop(self, job: Job) -> None:
        """Say of all turns that are left that nothing was found."""
        while job.turns:
            job.say(no_results(job.query, job.turns.popleft()))
        self._jobs.pop(job.query.id, None)

    def _speak(self, spoken: dict[str, Any]) -> None:
        with self._changed:
            if spoken.get("isDuringSearch") and len(self._spoken) >= self.limits.unread:
                return
            self._spoken.append(spoken)
            self._changed.notify_all()

    # Thinking.

    def _work(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._answer_one(job)
            except BadQuery as error:
                self._fail(job, error.as_json())
            except StratagemError as error:
                field = "position" if job.query.position is not None else "evaluator"
                self._fail(job, BadQuery(field, str(error), job.query.id).as_json())
            except Exception as error:
                self._fail(job, self._fault(error, job.query.id))
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _next(self) -> Job | None:
        """The most urgent job; None when there will be no more."""
        with self._changed:
            while True:
                while self._waiting:
                    job = heapq.heappop(self._waiting)
                    if not job.stopped:
                        job.running = True
                        return job
                if self._closed:
                    return None
                self._changed.wait()

    def _answer_one(self, job: Job) -> None:
        """One turn of a job; the rest waits again."""
        query = job.query
        if job.positions is None:
            job.positions = play_through(query)
            for turn in query.turns:
                question_at(query, turn, job.positions[turn])
        turn = job.turns[0]
        place = job.positions.pop(turn)
        question = question_at(query, turn, place)
        if question is None:
            told = ended(query, turn, np.asarray(programs(query.game).returns(place.state)).tolist())
        else:
            told = self._judge(job, turn, question) | self._roll(job, turn, question, place)
        with self._changed:
            job.turns.popleft()
            job.say(told)
            job.running = False
            if job.stopped:
                self._drop(job)
            elif job.turns:
                heapq.heappush(self._waiting, job)
            else:
                del self._jobs[query.id]

    def _judge(self, job: Job, turn: int, question: Question) -> dict[str, Any]:
        query = job.query
        name, evaluator = make_evaluator(query.game, query.evaluator)
        key = None if question.past else (name, query.game, *question.identity)
        judged = self._kept.get(key)
        if judged is None:
            told_at = time.monotonic()

            def goes_on(so_far: Callable[[], Judgement]) -> bool:
                nonlocal told_at
                if query.every is not None and time.monotonic() - told_at >= query.every and not job.stopped:
                    told_at = time.monotonic()
                    job.say(answer(query, turn, question, so_far(), name, evaluator, during=True))
                return not job.stopped

            judged = evaluator.judge(question, goes_on)
            if key is not None and not job.stopped:
                self._keep(key, judged)
        return answer(query, turn, question, judged, name, evaluator)

    def _roll(self, job: Job, turn: int, question: Question, place: Place) -> dict[str, Any]:
        """The roll before a decision, where it is asked for and there was one."""
        query = job.query
        known = turn > 0 or query.position is None  # what came before a position that was given is not known
        if not query.rolls or not known or job.stopped or not rolls_dice(query.game):
            return {}
        found = roll_before(make_weigher(query.game, query.evaluator), question, place.before)
        return {} if found is None else {"roll": found.as_json()}

    def _keep(self, key: Any, judged: Judgement) -> None:
        with self._changed:
            self._kept[key] = judged
            while len(self._kept) > self.limits.kept:
                self._kept.popitem(last=False)

    def _fail(self, job: Job, told: dict[str, Any]) -> None:
        with self._changed:
            self._jobs.pop(job.query.id, None)
            job.say(told)

    def _fault(self, error: Exception, id: Any) -> dict[str, Any]:
        """A fault of ours: said to the client, shown to whoever runs the engine."""
        traceback.print_exception(error, file=sys.stderr)
        shown = id if isinstance(id, str) else None
        return BadQuery(
            None, f"a fault of the engine: {type(error).__name__}: {str(error)[:300]}", shown
        ).as_json()
