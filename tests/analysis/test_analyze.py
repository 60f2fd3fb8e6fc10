"""`stratagem analyze` as its clients meet it: lines in, lines out, of all games, good and bad."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from stratagem.analysis.positions import play_through
from stratagem.analysis.query import Order, read_query

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "analysis.schema.json").read_text())
COMMAND = [sys.executable, "-m", "stratagem.cli.main", "analyze"]

# Game, its recorded playthrough, how many queries, and what keeps them cheap.
MIXED = [
    ("corso:width=3,height=3", "corso-3x3", 250, {}),
    ("corso:width=4,height=3", "corso-4x3", 220, {}),
    ("corso:width=7,height=5,players=4", "corso-four-players", 10, {"maxVisits": 1}),
    ("corso", "corso", 100, {"evaluator": "minimax"}),
    ("generala", "generala", 100, {"evaluator": "points"}),
    ("yacht", "yacht", 60, {"evaluator": "mindful"}),
    ("crag", "crag", 100, {}),
    ("general", "general", 100, {}),
    ("generals:width=6,height=6,cap=80,castles_from=1,castles_to=2,apart=4", "generals-6x6", 8, {"maxVisits": 1}),
    ("hispania", "hispania", 40, {"evaluator": "likes"}),
]  # fmt: skip

BAD = [
    (None, "line", b"nonsense"),
    ("b12", "seat", b'{"id": "b12", "game": "corso", "seat": 7}'),
    (None, "line", b"\xff\xfe"),
    (None, "line", b"[" * 50_000),
    (None, "line", b'["id"]'),
    (None, "line", b'{"id": "' + b"x" * 300_000 + b'"}'),
    (None, "line", b'{"id": "cut", "game": "cor'),
    (None, "id", b'{"game": "corso"}'),
    (None, "id", b'{"id": 5, "game": "corso"}'),
    ("b1", "game", b'{"id": "b1"}'),
    ("b2", "game", b'{"id": "b2", "game": "chess"}'),
    ("b3", "game", b'{"id": "b3", "game": "corso:width=900"}'),
    ("b4", "moves", b'{"id": "b4", "game": "corso", "moves": ["a1", "a1"]}'),
    ("b5", "moves", b'{"id": "b5", "game": "corso", "moves": ["q7"]}'),
    ("b6", "position", b'{"id": "b6", "game": "corso", "position": "OO/OO 1"}'),
    ("b7", "maxVisits", b'{"id": "b7", "game": "corso", "maxVisits": 1e300}'),
    ("b8", "analyzeTurns", b'{"id": "b8", "game": "corso", "analyzeTurns": [4]}'),
    ("b9", "seed", b'{"id": "b9", "game": "generala", "moves": ["keep nothing"]}'),
    ("b10", "priority", b'{"id": "b10", "game": "corso", "priority": "high"}'),
    ("b11", "visits", b'{"id": "b11", "game": "corso", "visits": 9}'),
]


def recorded(name):
    """The unfinished positions of a recorded game, as text."""
    text = (ROOT / "tests" / "playthroughs" / f"{name}.txt").read_text()
    turns = re.findall(r"^ *\d+ (.+)\n    legal", text, re.MULTILINE)
    assert turns
    return turns


def mixed_queries(draw):
    """Good queries of all games."""
    queries = []
    for game, name, number, settings in MIXED:
        positions = recorded(name)
        for _ in range(number):
            query = {"game": game, "position": draw.choice(positions), **settings}
            if game.startswith("generals"):
                query["seat"] = draw.randrange(2)
            if draw.random() < 0.2:
                query["priority"] = draw.randrange(-3, 4)
            if draw.random() < 0.3:
                query["maxMoves"] = draw.randrange(1, 5)
            queries.append(query)
    queries += [{"action": "query_version"}] * 5 + [{"action": "clear_cache"}] * 5
    draw.shuffle(queries)
    return [{"id": f"q{number}", **query} for number, query in enumerate(queries)]


@cache
def validator(kind):
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]})


def check(kind, content):
    validator(kind).validate(content)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def spoken(text):
    """(Lines on stdout as JSON, exit status) of the engine when it is told all of this at once."""
    # What is compiled here runs for a moment only, so it need not be made fast.
    quick = {**os.environ, "XLA_FLAGS": "--xla_backend_optimization_level=0"}
    done = subprocess.run(COMMAND, input=text, env=quick, capture_output=True, timeout=300, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_a_thousand_mixed_queries_with_twenty_bad_ones_are_all_answered_once():
    draw = random.Random(9)
    queries = mixed_queries(draw)
    assert len(queries) + len(BAD) >= 1000
    assert len(BAD) == 20
    lines = [json.dumps(query).encode() for query in queries]
    for query in queries:
        check("action" if "action" in query else "query", query)
    for _, _, bad in BAD:
        lines.insert(draw.randrange(len(lines)), bad)
    answers, status = spoken(b"\n".join(lines) + b"\n")
    assert status == 0

    errors = [one for one in answers if "error" in one]
    for error in errors:
        check("error", error)
    expected = Counter((id, field) for id, field, _ in BAD)
    assert Counter((one["id"], one["field"]) for one in errors) == expected

    good = [one for one in answers if "error" not in one]
    assert Counter(one["id"] for one in good) == Counter(query["id"] for query in queries)
    asked = {query["id"]: query for query in queries}
    for one in good:
        query = asked[one["id"]]
        if "action" in query:
            check("actionAnswer", one)
            continue
        check("answer", one)
        assert not one["isDuringSearch"]
        shown = min(query.get("maxMoves", 100), one["rootInfo"]["legal"])
        assert [move["order"] for move in one["moveInfos"]] == list(range(shown))
        if one["kind"] != "search":
            tried = [move["value"] for move in one["moveInfos"] if move["visits"]]
            assert tried == sorted(tried, reverse=True)


def test_the_end_of_input_is_the_end_of_the_program():
    assert spoken(b"") == ([], 0)


def test_ctrl_c_leaves_cleanly():
    # Solving 5×5 from the start takes far longer than this test.
    query = b'{"id": "a", "game": "corso", "evaluator": "perfect", "reportDuringSearchEvery": 0.05}\n'
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as engine:
        engine.stdin.write(query)
        engine.stdin.flush()
        timer = threading.Timer(100, engine.kill)
        timer.start()
        assert json.loads(engine.stdout.readline())["isDuringSearch"]
        engine.send_signal(signal.SIGINT)
        assert engine.wait() == 130
        timer.cancel()
        assert b"Traceback" not in engine.stderr.read()


def examples():
    """The queries of the documentation, line by line."""
    text = (ROOT / "docs" / "analysis.md").read_text()
    lines = re.findall(r'^(\{"id": .*\})$', text, re.MULTILINE)
    lines += re.findall(r'^\| `(\{"id": .*?\})`', text, re.MULTILINE)
    return [line for line in lines if "isDuringSearch" not in line]


def test_the_examples_of_the_documentation_are_good_queries():
    assert len(examples()) >= 10
    for line in examples():
        read = read_query(json.loads(line))
        if isinstance(read, Order):
            check("action", json.loads(line))
        else:
            check("query", json.loads(line))
            if read.game.spec.name in (
                "corso",
                "crag",
                "generala",
                "general",
            ):  # the others take long to compile
                assert play_through(read)


@pytest.mark.parametrize(
    "content",
    [
        {"id": "a", "game": "corso", "maxVisits": 0},
        {"id": "a", "game": "corso", "depth": 3},
        {"game": "corso"},
        {"id": "a", "game": "corso", "moves": [1.5]},
    ],
)
def test_the_schema_refuses_what_the_engine_refuses(content):
    with pytest.raises(jsonschema.ValidationError):
        check("query", content)
