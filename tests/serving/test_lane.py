"""A lane: every question ends once, whatever comes, goes and changes meanwhile."""

import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.core.errors import StratagemError
from stratagem.serving.errors import Busy, Cancelled, Closed, Failed, Late
from stratagem.serving.lane import Batch, Lane


class Doubler:
    """Answers with twice the number and its own version. `gate` holds it up."""

    def __init__(self, largest=4, version=1, gate=None):
        self.largest, self.version, self.gate = largest, version, gate
        self.batches = []
        self.entered = threading.Event()

    def __call__(self, questions):
        self.entered.set()
        if self.gate is not None:
            assert self.gate.wait(20)
        self.batches.append(list(questions))
        answers = [Failed("odd") if number % 7 == 3 else (2 * number, self.version) for number in questions]
        return Batch(answers, len(questions), self.largest)


class Box:
    """Replies, as they come."""

    def __init__(self):
        self.got, self.changed = [], threading.Condition()

    def reply(self, name):
        def put(answer):
            with self.changed:
                self.got.append((name, answer))
                self.changed.notify_all()

        return put

    def wait(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.got) >= count, 20), self.got
            return dict(self.got)


def opened(runner, **options):
    return Lane("test", runner, **{"wait_s": 0.005, "queue": 100, **options})


def test_questions_that_come_together_are_answered_together():
    gate, box = threading.Event(), Box()
    runner = Doubler(4, gate=gate)
    lane = opened(runner, wait_s=0.0)
    lane.submit(0, box.reply(0), 20)
    assert runner.entered.wait(20)
    for number in (1, 2, 4, 5, 6, 8):
        lane.submit(number, box.reply(number), 20)
    gate.set()
    answers = box.wait(7)
    lane.close()
    assert runner.batches == [[0], [1, 2, 4, 5], [6, 8]]
    assert answers == {number: (2 * number, 1) for number in (0, 1, 2, 4, 5, 6, 8)}
    told = lane.as_json()
    assert told["answered"] == 7
    assert told["batches"] == 3
    assert told["batch_fill"] == pytest.approx(7 / 12, abs=1e-3)
    assert told["latency"]["p50_ms"] <= told["latency"]["p90_ms"] <= told["latency"]["p99_ms"]


def test_a_question_waits_for_company_until_the_batch_is_full():
    box, runner = Box(), Doubler(3)
    lane = opened(runner, wait_s=20.0)
    for number in (0, 1, 2):
        lane.submit(number, box.reply(number), 20)
    box.wait(3)
    lane.close()
    assert runner.batches == [[0, 1, 2]]


def test_a_full_queue_says_busy_and_when_to_come_back():
    gate, box = threading.Event(), Box()
    runner = Doubler(1, gate=gate)
    lane = opened(runner, wait_s=0.0, queue=2)
    lane.submit(0, box.reply(0), 20)
    assert runner.entered.wait(20)
    lane.submit(1, box.reply(1), 20)
    lane.submit(2, box.reply(2), 20)
    with pytest.raises(Busy, match="2 questions waiting; ask again in") as busy:
        lane.submit(4, box.reply(4), 20)
    assert busy.value.retry_s > 0
    assert busy.value.as_json()["retry_ms"] > 0
    gate.set()
    assert set(box.wait(3)) == {0, 1, 2}
    lane.submit(4, box.reply(4), 20)
    assert box.wait(4)[4] == (8, 1)
    lane.close()
    assert lane.as_json()["busy"] == 1


def test_a_cancelled_question_leaves_the_queue_and_is_not_computed():
    gate, box = threading.Event(), Box()
    runner = Doubler(4, gate=gate)
    lane = opened(runner, wait_s=0.0)
    lane.submit(0, box.reply(0), 20)
    assert runner.entered.wait(20)
    ticket = lane.submit(1, box.reply(1), 20)
    lane.submit(2, box.reply(2), 20)
    assert lane.depth == 2
    assert ticket.cancel()
    assert not ticket.cancel()
    assert lane.depth == 1
    gate.set()
    answers = box.wait(3)
    lane.close()
    assert runner.batches == [[0], [2]]
    assert isinstance(answers[1], Cancelled)


def test_deadlines_hold_for_those_who_wait_and_for_those_in_work():
    gate, box = threading.Event(), Box()
    runner = Doubler(1, gate=gate)
    lane = opened(runner, wait_s=0.0)
    lane.submit(0, box.reply("in work"), 0.01)
    assert runner.entered.wait(20)
    lane.submit(1, box.reply("waiting"), 0.01)
    lane.submit(2, box.reply("patient"), 20)
    time.sleep(0.02)
    lane.sweep()
    assert {name: type(answer) for name, answer in box.wait(2).items()} == {"in work": Late, "waiting": Late}
    gate.set()
    assert box.wait(3)["patient"] == (4, 1)
    lane.close()
    assert len(box.got) == 3
    assert runner.batches == [[0], [2]]
    assert lane.as_json()["late"] == 2


def test_a_runner_that_fails_fails_its_batch_and_no_more():
    class Moody:
        largest = 1

        def __call__(self, questions):
            if questions == ["bug"]:
                raise RuntimeError("boo")
            if questions == ["refused"]:
                raise StratagemError("mend this")
            return Batch(questions, 1, 1)

    box, lane = Box(), opened(Moody())
    for question in ("bug", "refused", "fine"):
        lane.submit(question, box.reply(question), 20)
    answers = box.wait(3)
    lane.close()
    assert "RuntimeError: boo" in str(answers["bug"])
    assert str(answers["refused"]) == "mend this"
    assert answers["fine"] == "fine"


def test_closing_tells_those_who_wait():
    gate, box = threading.Event(), Box()
    runner = Doubler(1, gate=gate)
    lane = opened(runner, wait_s=0.0)
    lane.submit(0, box.reply(0), 20)
    assert runner.entered.wait(20)
    lane.submit(1, box.reply(1), 20)
    threading.Timer(0.05, gate.set).start()
    lane.close()
    assert {type(answer) for _, answer in box.got} == {Closed}
    assert len(box.got) == 2
    with pytest.raises(Closed):
        lane.submit(2, box.reply(2), 20)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 50), st.sampled_from([20.0, 20.0, 0.0])),
        st.tuples(st.just("cancel"), st.integers(0, 50)),
        st.tuples(st.just("swap"), st.integers(1, 5)),
        st.tuples(st.just("sweep")),
        st.tuples(st.just("rest")),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=60)
@given(steps, st.integers(1, 3), st.sampled_from([0.0, 0.002]))
def test_every_question_ends_exactly_once(script, threads, wait_s):
    """Random arrivals, cancellations, deadlines and changes of the runner, with a queue that may fill up."""
    box, tickets, versions, asked = Box(), {}, {1}, {}
    lane = opened(Doubler(4), wait_s=wait_s, queue=6, threads=threads)
    busy = cancelled = 0
    for number, (step, *facts) in enumerate(script):
        if step == "ask":
            try:
                tickets[number] = lane.submit(facts[0], box.reply(number), facts[1])
                asked[number] = facts[0]
            except Busy:
                busy += 1
        elif step == "cancel" and tickets:
            cancelled += sorted(tickets.items())[facts[0] % len(tickets)][1].cancel()
        elif step == "swap":
            versions.add(number + 2)
            lane.runner = Doubler(facts[0], number + 2)
        elif step == "sweep":
            lane.sweep()
        elif step == "rest":
            time.sleep(0.001)
    box.wait(len(tickets))
    lane.close()
    times = Counter(name for name, _ in box.got)
    assert set(times) == set(tickets)
    assert set(times.values()) <= {1}
    for name, answer in box.got:
        if not isinstance(answer, Exception):
            assert answer[0] == 2 * asked[name]
            assert answer[1] in versions
        elif isinstance(answer, Failed):
            assert asked[name] % 7 == 3
        else:
            assert isinstance(answer, Cancelled | Late)
    told = lane.as_json()
    assert told["busy"] == busy
    assert told["cancelled"] == cancelled
    assert sum(told[how] for how in ("answered", "late", "cancelled", "failed")) == len(tickets)
