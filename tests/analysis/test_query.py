"""Reading queries: what is good is understood, what is bad is refused by the name of its field."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stratagem.analysis.bad_query import BadQuery
from stratagem.analysis.query import LONGEST_LINE, Order, Query, decode, read_query
from stratagem.protocols.fair_dice import FairDice

CORSO = {"id": "a", "game": "corso:width=3,height=3"}


def asked(**changes):
    """A good query with some fields replaced."""
    return read_query({**CORSO, **changes})


def test_moves_are_text_or_numbers_or_rows_of_a_replay():
    by_text = asked(moves=["b2", "a1"]).moves
    assert by_text == ((4, 4), (0, 0))
    assert asked(moves=[4, 0]).moves == by_text
    assert asked(moves=[[4, -1], [None, "a1"]]).moves == ((4, -1), (-1, 0))


def test_rules_may_stand_beside_the_name():
    beside = read_query({"id": "a", "game": "corso", "rules": {"width": 3, "height": 3}})
    assert beside.game == asked().game


def test_numbers_of_any_form_may_be_options():
    rules = {"mountains_from": 0.125, "mountains_to": 2e-1, "deathtouch": None, "build": True}
    game = read_query({"id": "a", "game": "generals", "rules": rules, "seed": 1, "seat": 0}).game
    assert (game.mountains_from, game.mountains_to, game.deathtouch, game.build) == (0.125, 0.2, None, True)


def test_the_last_position_is_asked_for_unless_told_otherwise():
    assert asked(moves=["b2", "a1"]).turns == (2,)
    assert asked(moves=["b2", "a1"], analyzeTurns=[2, 0]).turns == (2, 0)


def test_orders_are_told_from_queries():
    assert read_query({"id": "a", "action": "terminate", "terminateId": "b"}) == Order("a", "terminate", "b")
    assert read_query({"id": "a", "action": "query_version"}) == Order("a", "query_version")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("id", {"id": 7}),
        ("id", {"id": ""}),
        ("id", {"id": "x" * 201}),
        ("id", {"id": None}),
        ("game", {"game": "chess"}),
        ("game", {"game": None}),
        ("game", {"game": "corso:width=99"}),
        ("game", {"game": "corso:depth=3"}),
        ("game", {"game": "corso:width"}),
        ("game", {"game": "hispania:scenario=/etc/passwd"}),
        ("rules", {"rules": {"width": 3}}),
        ("rules", {"game": "corso", "rules": [3, 3]}),
        ("rules", {"game": "corso", "rules": {"width": [3]}}),
        ("rules", {"game": "corso", "rules": {"width": 10**400}}),
        ("rules", {"game": "hispania", "rules": {"scenario": "../secret.toml"}}),
        ("rules", {"game": "hispania", "rules": {"scenario": "pyproject.toml"}}),
        ("ruleset", {"ruleset": "0123456789abcdef"}),
        ("moves", {"moves": "b2"}),
        ("moves", {"moves": ["z9"]}),
        ("moves", {"moves": [9]}),
        ("moves", {"moves": [10**50]}),
        ("moves", {"moves": [True]}),
        ("moves", {"moves": [1.5]}),
        ("moves", {"moves": [["b2"]]}),
        ("moves", {"moves": [{"b2": 1}]}),
        ("moves", {"moves": [0] * 10_001}),
        ("moves", {"game": "generals", "seed": 1, "seat": 0, "moves": ["0,0 up"]}),
        ("position", {"position": 5}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 2**31}),
        ("seed", {"seed": 1.0}),
        ("seed", {"game": "crag"}),
        ("seed", {"game": "crag", "position": "x", "moves": ["keep nothing"]}),
        ("seed", {"game": "generals", "seat": 0}),
        ("outcomes", {"outcomes": [1]}),
        ("outcomes", {"game": "crag", "outcomes": ["1"]}),
        ("fair", {"game": "crag", "fair": {"secret": "00"}}),
        ("fair", {"game": "crag", "fair": FairDice(bytes(32)).sealed()}),
        ("fair", {"game": "crag", "seed": 1, "fair": FairDice(bytes(32)).reveal()}),
        ("analyzeTurns", {"analyzeTurns": [1]}),
        ("analyzeTurns", {"analyzeTurns": []}),
        ("analyzeTurns", {"analyzeTurns": [0, 0]}),
        ("analyzeTurns", {"analyzeTurns": [-1]}),
        ("analyzeTurns", {"analyzeTurns": 0}),
        ("seat", {"seat": 2}),
        ("seat", {"seat": "0"}),
        ("seat", {"game": "generals", "seed": 1}),
        ("evaluator", {"evaluator": "oracle"}),
        ("evaluator", {"evaluator": "fog"}),
        ("evaluator", {"evaluator": 1}),
        ("maxVisits", {"maxVisits": 0}),
        ("maxVisits", {"maxVisits": 10**30}),
        ("maxVisits", {"maxVisits": "10"}),
        ("maxVisits", {"maxVisits": True}),
        ("maxMoves", {"maxMoves": 0}),
        ("includeMoves", {"includeMoves": ["z9"]}),
        ("includeMoves", {"includeMoves": [0] * 9}),
        ("reportDuringSearchEvery", {"reportDuringSearchEvery": 0}),
        ("reportDuringSearchEvery", {"reportDuringSearchEvery": 10**400}),
        ("priority", {"priority": 0.5}),
        ("priority", {"priority": 10**9}),
        ("maxVisit", {"maxVisit": 5}),
        ("action", {"action": "sing"}),
        ("action", {"action": ["terminate"]}),
        ("terminateId", {"action": "terminate"}),
        ("game", {"action": "terminate_all"}),
    ],
)
def test_what_is_wrong_is_named(field, changes):
    with pytest.raises(BadQuery) as error:
        read_query({**CORSO, **changes})
    assert error.value.field == field
    assert len(str(error.value)) < 1000
    if field != "id":
        assert error.value.as_json()["id"] == "a"
    json.dumps(error.value.as_json())


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"\xff\xfe{}",
        b"[1, 2]",
        b'"text"',
        b"null",
        b'{"id": NaN}',
        b'{"id": -Infinity}',
        b'{"id": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"id": "' + b"x" * LONGEST_LINE + b'"}',
        b'{"id": "a"',
    ],
)
def test_a_line_that_is_no_object_is_refused_as_a_line(line):
    with pytest.raises(BadQuery) as error:
        decode(line)
    assert error.value.field == "line"
    json.dumps(error.value.as_json())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
fields = st.sampled_from(
    ["id", "game", "rules", "ruleset", "moves", "position", "seed", "outcomes", "fair", "analyzeTurns", "seat",
     "evaluator", "maxVisits", "maxMoves", "includeMoves", "reportDuringSearchEvery", "priority", "action",
     "terminateId"]
)  # fmt: skip


def understood_or_refused(line):
    """Any line is a query, an order, or an error that names a field and can be written as JSON."""
    try:
        read = read_query(decode(line))
    except BadQuery as error:
        read = error
    assert isinstance(read, Query | Order | BadQuery)
    if isinstance(read, BadQuery):
        assert isinstance(read.field, str)
        json.loads(json.dumps(read.as_json()))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
@example(b"")
@example(b"\x00")
def test_bytes_of_any_kind_are_understood_or_refused(line):
    understood_or_refused(line)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(fields, json_values, max_size=6))
@example({"game": "corso", "rules": {"width": True}})
@example({"game": "\ud800", "id": "\ud800"})
def test_objects_of_any_kind_are_understood_or_refused(changes):
    understood_or_refused(json.dumps({**CORSO, **changes}))


words = st.sampled_from(
    ["b2", "c1", "keep nothing", "0,0 up", "africa:0123", "a1-b2", "-1", "", "²", "x" * 500]
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["corso", "crag", "general", "generals:width=6,height=6", "hispania"]),
    st.lists(words | st.text(max_size=8) | st.integers(-2, 20_000), max_size=3),
    st.booleans(),
)
def test_moves_of_any_kind_are_understood_or_refused(game, moves, paired):
    given_moves = [[move, move] for move in moves] if paired else moves
    understood_or_refused(json.dumps({"id": "a", "game": game, "seed": 1, "seat": 0, "moves": given_moves}))
