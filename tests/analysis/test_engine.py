"""The engine: every query ends once, the urgent first, and nothing that a client does brings it down."""

import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.analysis import engine as engine_module
from stratagem.analysis.engine import Engine, Limits
from stratagem.analysis.judgement import Judgement, Line
from stratagem.games import make_game

CORSO = {"game": "corso:width=3,height=3"}


class Patient:
    """Judges when it is told to, one question at a time, and keeps the order in which it was asked."""

    kind = "heuristic"
    unit = None

    def __init__(self):
        self.go = threading.Semaphore(0)
        self.started = threading.Semaphore(0)
        self.asked = []

    def judge(self, question, goes_on):
        self.asked.append(question.visits)
        self.started.release()
        wanted = True
        while wanted and not self.go.acquire(timeout=0.01):
            wanted = goes_on(lambda: self.say(question, 1))
        return self.say(question, 2 if wanted else 1)

    def say(self, question, visits):
        lines = tuple(Line(int(action), visits, 0.0, 0.1) for action in question.legal)
        return Judgement(lines, 0.0, (0.0, 0.0), visits)


@pytest.fixture
def patient(monkeypatch):
    one = Patient()
    monkeypatch.setattr(engine_module, "make_evaluator", lambda game, name: ("patient", one))
    return one


def collect(engine):
    """All answers, once the engine has said everything."""
    engine.close()
    return list(engine.answers())


def test_every_turn_of_a_query_is_answered_once():
    with Engine() as engine:
        engine.submit({"id": "a", **CORSO, "moves": ["b2", "a1", "c3"], "analyzeTurns": [3, 0, 2]})
        answers = collect(engine)
    assert [one["turnNumber"] for one in answers] == [3, 0, 2]
    assert [one["rootInfo"]["seat"] for one in answers] == [1, 0, 0]
    assert [one["isDuringSearch"] for one in answers] == [False] * 3


def test_what_was_played_next_is_told_of_in_any_case():
    with Engine() as engine:
        query = {
            **CORSO,
            "moves": ["c3", "a1"],
            "analyzeTurns": [0, 1, 2],
            "maxMoves": 1,
            "includeMoves": ["b3"],
        }
        first, second, last = engine.ask(query)
    assert [one["move"] for one in first["moveInfos"]][1:] == ["b3", "c3"]
    assert {"a1", "b3"} <= {one["move"] for one in second["moveInfos"]}
    assert len(last["moveInfos"]) <= 2


def test_the_urgent_come_first_and_equals_in_order(patient):
    with Engine() as engine:
        engine.submit({"id": "under way", **CORSO, "maxVisits": 1})
        patient.started.acquire()
        for name, visits, priority in (("b", 2, 0), ("c", 3, 5), ("d", 4, 0), ("e", 5, 5), ("f", 6, -1)):
            engine.submit({"id": name, **CORSO, "maxVisits": visits, "priority": priority})
        for _ in range(6):
            patient.go.release()
        answers = collect(engine)
    assert patient.asked == [1, 3, 5, 2, 4, 6]
    assert [one["id"] for one in answers] == ["under way", "c", "e", "b", "d", "f"]


def test_an_urgent_query_comes_between_the_turns_of_a_long_one(patient):
    with Engine() as engine:
        engine.submit(
            {"id": "long", **CORSO, "moves": ["b2", "a1"], "analyzeTurns": [0, 1, 2], "maxVisits": 1}
        )
        patient.started.acquire()
        engine.submit({"id": "urgent", **CORSO, "maxVisits": 9, "priority": 1})
        for _ in range(4):
            patient.go.release()
        answers = collect(engine)
    assert [one["id"] for one in answers] == ["long", "urgent", "long", "long"]


def test_too_many_queries_are_told_that_it_is_busy(patient):
    with Engine(Limits(waiting=2)) as engine:
        for name in "abcd":
            engine.submit({"id": name, **CORSO})
        for _ in range(2):
            patient.go.release()
        answers = collect(engine)
    busy = [one for one in answers if "error" in one]
    assert sorted(one["id"] for one in busy) == ["c", "d"]
    assert all(one["busy"] and one["field"] is None for one in busy)
    assert sorted(one["id"] for one in answers if "error" not in one) == ["a", "b"]


def test_a_terminated_query_says_what_it_has_and_the_rest_found_nothing(patient):
    with Engine() as engine:
        engine.submit({"id": "a", **CORSO, "moves": ["b2", "a1"], "analyzeTurns": [0, 1]})
        engine.submit({"id": "b", **CORSO})
        patient.started.acquire()
        engine.submit({"id": "t", "action": "terminate_all"})
        answers = collect(engine)
    assert answers[0] == {"id": "t", "action": "terminate_all"}
    found = {(one["id"], one["turnNumber"]): one for one in answers[1:]}
    assert set(found) == {("a", 0), ("a", 1), ("b", 0)}
    assert len(answers) == 4
    assert found["a", 0]["rootInfo"]["visits"] == 1
    assert found["a", 1] == {"id": "a", "turnNumber": 1, "isDuringSearch": False, "noResults": True}
    assert found["b", 0]["noResults"]


def test_one_query_can_be_terminated_by_its_id(patient):
    with Engine() as engine:
        engine.submit({"id": "a", **CORSO})
        engine.submit({"id": "b", **CORSO})
        patient.started.acquire()
        engine.submit({"id": "t", "action": "terminate", "terminateId": "b"})
        engine.submit({"id": "u", "action": "terminate", "terminateId": "nobody"})
        patient.go.release()
        answers = collect(engine)
    assert Counter(one["id"] for one in answers) == {"a": 1, "b": 1, "t": 1, "u": 1}
    assert next(one for one in answers if one["id"] == "b")["noResults"]
    assert next(one for one in answers if one["id"] == "a")["rootInfo"]["visits"] == 2


def test_a_long_search_tells_of_its_progress(patient):
    with Engine() as engine:
        engine.submit({"id": "a", **CORSO, "reportDuringSearchEvery": 0.05})
        on_the_way = next(engine.answers())
        patient.go.release()
        answers = collect(engine)
    assert on_the_way["isDuringSearch"]
    assert on_the_way["rootInfo"]["visits"] == 1
    assert [one["isDuringSearch"] for one in answers][-1:] == [False]
    assert sum(not one["isDuringSearch"] for one in answers) == 1


def test_an_id_that_is_still_waiting_is_refused_and_free_again_afterwards(patient):
    with Engine() as engine:
        engine.submit({"id": "a", **CORSO})
        engine.submit({"id": "a", **CORSO})
        refused = next(engine.answers())
        patient.go.release()
        first = next(engine.answers())
        engine.submit({"id": "a", **CORSO, "maxVisits": 7})
        patient.go.release()
        answers = collect(engine)
    assert refused["field"] == "id"
    assert "error" not in first
    assert [one["id"] for one in answers] == ["a"]


def test_equal_questions_are_judged_once_until_the_cache_is_cleared(patient):
    with Engine() as engine:
        for _ in range(3):
            patient.go.release()
        for _ in range(2):
            assert engine.ask({**CORSO, "moves": ["b2"]})[0]["rootInfo"]["visits"] == 2
        assert len(patient.asked) == 1
        assert engine.ask({"action": "clear_cache"})[0]["action"] == "clear_cache"
        engine.ask({**CORSO, "moves": ["b2"]})
        assert len(patient.asked) == 2


def test_a_fault_of_an_evaluator_is_an_answer_and_work_goes_on(patient, monkeypatch, capsys):
    def broken(question, goes_on):
        raise RuntimeError("out of ideas")

    with Engine() as engine:
        monkeypatch.setattr(patient, "judge", broken)
        (fault,) = engine.ask(CORSO)
        assert "out of ideas" in fault["error"]
        assert fault["field"] is None
        monkeypatch.undo()
        assert "error" not in engine.ask({**CORSO, "moves": ["b2"]})[0]
    assert "RuntimeError" in capsys.readouterr().err


def test_a_closing_engine_takes_nothing_more():
    with Engine() as engine:
        engine.close()
        engine.submit({"id": "a", **CORSO})
        assert [one["busy"] for one in engine.answers()] == [True]


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("moves", {**CORSO, "moves": ["b2", "b2"]}),
        ("moves", {"game": "corso:width=1,height=1", "moves": ["a1", "a1"]}),
        ("position", {**CORSO, "position": "OOO/OOO 1"}),
        ("position", {"game": "crag", "position": "-,-/-,- 111 1* 1"}),
        ("position", {"game": "crag", "position": f"{','.join('9' * 13)}/{','.join('-' * 13)} 111 1* 2"}),
        ("seat", {**CORSO, "moves": ["b2"], "seat": 0}),
        ("analyzeTurns", {**CORSO, "analyzeTurns": []}),
        ("outcomes", {"game": "crag", "outcomes": []}),
        ("outcomes", {"game": "crag", "outcomes": [10**6]}),
        ("evaluator", {"game": "corso:width=8,height=8", "evaluator": "perfect"}),
        ("evaluator", {"game": "corso:players=3", "evaluator": "minimax"}),
    ],
)
def test_what_the_rules_refuse_is_named(field, query):
    with Engine() as engine:
        (answer,) = engine.ask({"evaluator": "points", **query} if query["game"] == "crag" else query)
    assert answer["field"] == field, answer


def test_an_illegal_move_is_told_by_its_turn():
    with Engine() as engine:
        (answer,) = engine.ask({**CORSO, "moves": ["b2", "a1", "a1"], "analyzeTurns": [0]})
    assert answer["error"].startswith("turn 3: ")
    assert "a1 holds a marble of player 2" in answer["error"]


def test_a_game_that_is_over_has_its_result():
    with Engine() as engine:
        (answer,) = engine.ask({"game": "corso:width=1,height=1", "moves": ["a1"]})
    assert answer["rootInfo"]["over"]
    assert answer["rootInfo"]["values"] == [1.0, -1.0]
    assert answer["moveInfos"] == []


def test_the_version_lists_games_and_their_evaluators():
    with Engine() as engine:
        (answer,) = engine.ask({"action": "query_version"})
    assert answer["protocol"] == 1
    assert set(answer["evaluators"]) == set(answer["games"]) >= {"corso", "generals", "hispania"}


@st.composite
def damaged(draw, positions):
    """A position in text with a few signs changed."""
    text = list(draw(st.sampled_from(positions)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text) - 1))
        text[place] = draw(st.sampled_from("OABab/ 12,-*03456789x") | st.just(""))
    return "".join(text)


SHEETS = [
    f"{','.join('-' * 13)}/{','.join('-' * 13)} 566 1* 1",
    f"{'9,' * 12}-/{'0,' * 13}"[:-1] + " 136 0 1",
]
BOARDS = ["OOO/OAb/OOO 1", "Abb/OaB/AOO 2"]


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(st.just("corso:width=3,height=3"), damaged(BOARDS))
    | st.tuples(st.just("crag"), damaged(SHEETS))
)
def test_positions_of_any_kind_are_judged_or_refused(running, case):
    game, position = case
    (answer,) = running.ask({"game": game, "position": position, "maxMoves": 1})
    assert answer.get("field", "position") == "position", answer
    if "error" not in answer:
        assert -1 <= answer["rootInfo"]["value"] <= 1
        make_game(game).read(position)


@pytest.fixture(scope="module")
def running():
    with Engine() as engine:
        yield engine
