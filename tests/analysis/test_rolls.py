"""What could have fallen, how likely it was, and what luck that is."""

from collections import Counter
from itertools import product

import jax
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.analysis.engine import Engine
from stratagem.analysis.evaluators import make_weigher
from stratagem.analysis.judgement import Question
from stratagem.analysis.rolls import roll_before
from stratagem.games import make_game

CRAG = make_game("crag")
GENERAL = make_game("general:turns=20")


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


def test_a_die_of_general_is_one_of_those_that_allow_something(engine):
    state = GENERAL.init(jax.random.key(0))
    agent = make_agent("greedy", GENERAL)
    mover = int(np.argmax(GENERAL.to_move(state)))
    action = int(agent.act((), GENERAL.view(state, mover), GENERAL.legal(state)[mover], jax.random.key(1)))
    row = [action if seat == mover else -1 for seat in range(2)]
    after = GENERAL.step(state, np.array(row), jax.random.key(2))
    seat = int(np.argmax(GENERAL.to_move(after)))
    roll = roll_before(make_weigher(GENERAL), Question(GENERAL, after, seat, 10), (state, tuple(row)))
    assert [fall.words for fall in roll.falls if fall.fell] == [f"die {int(after.die)}"]
    assert sum(fall.chance for fall in roll.falls) == pytest.approx(1, abs=1e-5)
    assert len({fall.chance for fall in roll.falls}) == 1  # fair among what is useful
    assert sum(fall.chance * (fall.value - roll.expected) for fall in roll.falls) == pytest.approx(
        0, abs=1e-6
    )


def test_a_battle_of_hispania_has_its_hits(engine):
    """The seats of a game played by the naive player, up to the first battle."""
    game = make_game("hispania")
    agent, step = make_agent("naive", game), jax.jit(game.step)
    act = jax.jit(
        lambda state, seat, key: agent.act((), game.view(state, seat), game.legal(state)[seat], key)
    )
    state, actions = jax.jit(game.init)(jax.random.key(0)), []
    for turn in range(60):
        seat = int(np.argmax(game.to_move(state)))
        row = [int(act(state, seat, jax.random.key(turn))) if one == seat else -1 for one in range(2)]
        before, state = state, step(state, np.array(row), jax.random.key(100 + turn))
        actions.append(row)
        seat = int(np.argmax(game.to_move(state)))
        roll = roll_before(make_weigher(game), Question(game, state, seat, 1), (before, tuple(row)))
        if roll is not None:
            break
    else:
        pytest.fail("no battle in sixty turns")
    assert sum(fall.chance for fall in roll.falls) == pytest.approx(1, abs=1e-5)
    assert [fall.fell for fall in roll.falls].count(True) == 1
    assert all("attackers hit" in fall.words for fall in roll.falls)
    values = [fall.value for fall in roll.falls]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]


def test_no_roll_is_told_of_unless_it_is_asked_for_and_known(engine):
    query = {"game": "crag", "seed": 7, "moves": []}
    assert "roll" not in engine.ask(query)[0]
    assert "roll" not in engine.ask({"game": "corso:width=3,height=3", "includeRolls": True})[0]
    given = CRAG.write(CRAG.init(jax.random.key(0)))
    assert "roll" not in engine.ask({"game": "crag", "position": given, "includeRolls": True})[0]
    assert engine.ask({**query, "includeRolls": 1})[0]["field"] == "includeRolls"
