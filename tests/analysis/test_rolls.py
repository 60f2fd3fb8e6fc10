"""What could have fallen, how likely it was, and what luck that is."""

from collections import Counter
from itertools import product

import jax
import numpy as np
import pytest

from stratagem.analysis.engine import Engine
from stratagem.analysis.evaluators import make_weigher
from stratagem.analysis.judgement import Question
from stratagem.analysis.rolls import falling, roll_before
from stratagem.games import make_game

CRAG = make_game("crag")
START = (
    "AAA....AAA/AA......AA/A........A/........../....GG..../....GG..../........../D........D/DD......DD/DDD....DDD"
    " 1 0 4 0 ADO"
)
LANDING = (
    "round=1 nation=carthage half=1 phase=choose battle=- combat=0 pieces=carthage:0@saguntum.1.0m<africa/sea,"
    "1@saguntum.1.1m<africa/sea,2@saguntum.1.2m<africa/sea,9@saguntum.1.3m<africa/sea;iberians:0@ilerda.1.0,"
    "1@tarraco.1.1,2@saguntum.1.2,3@saguntum.1.3,4@valentia.1.4;celtiberians:0@numantia.1.0,1@numantia.1.1,"
    "2@bilbilis.1.2,3@segobriga.1.3 buildings=numantia:fort,saguntum:city points=- vp=- "
    "births=carthage:4,iberians:5,celtiberians:4 kills=- vassals=- "
    "waiting=4,5,6,7,8,9,10,11,12,13,14,15,16,17,18 past=-"
)


@pytest.fixture(scope="module")
def engine():
    with Engine() as found:
        yield found


def roll_of(answer):
    return {one["words"]: one for one in answer["roll"]["outcomes"]}


def test_the_chances_of_a_roll_are_those_of_its_dice(engine):
    moves = [[CRAG.read_action("keep nothing"), -1]]
    first, second = engine.ask(
        {"game": "crag", "seed": 7, "moves": moves, "analyzeTurns": [0, 1], "includeRolls": True}
    )
    ways = Counter("-".join(map(str, sorted(faces))) for faces in product(range(1, 7), repeat=3))
    for answer in (first, second):  # the opening, and all dice again
        found = roll_of(answer)
        assert {words: round(one["chance"] * 216) for words, one in found.items()} == ways
        fell = [words for words, one in found.items() if one["fell"]]
        assert len(fell) == 1
        # What fell is the position that is judged, so it is worth what that is worth.
        assert found[fell[0]]["value"] == pytest.approx(answer["rootInfo"]["value"], abs=1e-9)
        mean = sum(one["chance"] * one["value"] for one in found.values())
        assert answer["roll"]["expected"] == pytest.approx(mean, abs=1e-9)
        assert answer["roll"]["luck"] == pytest.approx(answer["rootInfo"]["value"] - mean, abs=1e-9)
    # Rolling all dice again is the move whose value is the mean of what may come, by the same player.
    again = next(one for one in first["moveInfos"] if one["move"] == "keep nothing")
    assert second["roll"]["expected"] == pytest.approx(again["value"], abs=1e-6)


def test_kept_dice_stay_in_every_outcome(engine):
    start = engine.ask({"game": "crag", "seed": 7, "includeRolls": True, "moves": [], "analyzeTurns": [0]})[0]
    dice = next(one["words"] for one in start["roll"]["outcomes"] if one["fell"]).split("-")
    keep = CRAG.read_action(f"keep {dice[0]}-{dice[1]}")
    answer = engine.ask({"game": "crag", "seed": 7, "moves": [[keep, -1]], "includeRolls": True})[0]
    found = roll_of(answer)
    assert len(found) == 6
    assert all(one["chance"] == pytest.approx(1 / 6) for one in found.values())
    assert all(not Counter(dice[:2]) - Counter(words.split("-")) for words in found)


def roll_after(game, position, move, mover):
    """(The position after a move and the likeliest outcome, the roll that led to it)."""
    before, play = game.read(position), falling(game)
    row = tuple(game.read_action(move) if seat == mover else -1 for seat in range(2))
    after = play.afterstate(before, np.array(row, np.int32))
    likeliest = int(np.argmax(play.outcomes(after)))
    state = jax.tree.map(lambda leaf: np.asarray(leaf)[likeliest], play.resolve_all(after).state)
    return state, roll_before(make_weigher(game), Question(game, state, mover, 10), (before, row))


def test_a_die_of_general_is_one_of_those_that_allow_something():
    state, roll = roll_after(make_game("general"), START, "c1-c5", 0)
    assert [fall.words for fall in roll.falls if fall.fell] == [f"die {int(state.die)}"]
    assert [fall.chance for fall in roll.falls] == pytest.approx([1 / 6] * 6, abs=1e-6)
    assert sum(fall.chance * (fall.value - roll.expected) for fall in roll.falls) == pytest.approx(
        0, abs=1e-6
    )


def test_a_battle_of_hispania_has_its_hits():
    _, roll = roll_after(make_game("hispania"), LANDING, "saguntum", 1)
    assert sum(fall.chance for fall in roll.falls) == pytest.approx(1, abs=1e-5)
    assert [fall.fell for fall in roll.falls].count(True) == 1
    # Four attackers against two defenders: the most hits of the one and the fewest of the other are best for Carthage.
    assert roll.falls[0].words.startswith("hits 2:0")
    assert roll.falls[-1].words == "hits 0:2"
    assert roll.falls[0].value > roll.falls[-1].value


def test_no_roll_is_told_of_unless_it_is_asked_for_and_known(engine):
    query = {"game": "crag", "seed": 7, "moves": []}
    assert "roll" not in engine.ask(query)[0]
    assert "roll" not in engine.ask({"game": "corso:width=3,height=3", "includeRolls": True})[0]
    given = CRAG.write(CRAG.init(jax.random.key(0)))
    assert "roll" not in engine.ask({"game": "crag", "position": given, "includeRolls": True})[0]
    assert engine.ask({**query, "includeRolls": 1})[0]["field"] == "includeRolls"
