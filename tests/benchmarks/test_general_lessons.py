"""Lessons by looking ahead: they say what looking ahead says, are learned and kept; luck has a mean of nought."""

import json
import sys

import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.general_belief import chance, features, read_beliefs, space_of, write_beliefs
from stratagem.agents.general_expectimax import MOST_ACTIONS
from stratagem.agents.general_foresight import awaited, decided, hoped
from stratagem.agents.general_heuristic import TURN
from stratagem.games.general import General
from stratagem.networks.tensors import read_facts
from tests.benchmarks.scripts import script

lessons = script("benchmarks/general_lessons.py")
games = sys.modules["general_games"]
response = script("benchmarks/general_best_response.py")

NETS = response.first(8, 0), response.first(8, 1)


def room_for(number):
    return np.zeros((number, 100), np.int8), np.zeros((number, 6), np.int64), np.zeros(number, np.float32)


def taken(role, number=60):
    after, before = room_for(number), room_for(lessons.ROLLS * number)
    lessons.take_lessons(np.random.default_rng(0), NETS, role, *after, *before)
    return after, before


@pytest.mark.parametrize("role", [0, 1])
def test_a_lesson_is_what_three_actions_ahead_say(role):
    (boards, states, worths), (own_boards, own_states, own_worths) = taken(role)
    space = space_of(NETS[0])
    for board, facts, worth in zip(boards, states, worths, strict=True):
        assert facts[TURN] % 2 == 1 - role
        assert worth == pytest.approx(awaited(NETS, board, facts, 1 - role, space, 3), abs=1e-6)
    for board, facts, worth in zip(own_boards, own_states, own_worths, strict=True):
        if decided(board, facts) >= 0:
            assert np.isnan(worth)
        else:
            assert facts[TURN] % 2 == role
            assert worth == pytest.approx(hoped(NETS, board, facts, role, space, 1), abs=1e-6)
    assert len({board.tobytes() for board in boards}) > 40


@pytest.mark.parametrize("role", [0, 1])
def test_luck_has_a_mean_of_nought(role):
    """Of an own turn and of an answer, in positions from games."""
    (boards, states, _), (own_boards, own_states, _) = taken(role, 5)
    space, actions, room = space_of(NETS[0]), np.empty(MOST_ACTIONS, np.int64), games.rooms()
    luck, most = np.random.default_rng(1), 0.0
    for index in range(5):
        for own, board, facts in (
            (True, own_boards[index], own_states[index]),
            (False, boards[index], states[index]),
        ):
            if decided(board, facts) >= 0:
                continue
            lucks = []
            for _ in range(400):
                after, changed = board.copy(), facts.copy()
                lucks.append(
                    games.own_turn(luck, NETS, after, changed, actions, space, 2, 0.2)[1]
                    if own
                    else games.answer(luck, NETS[1 - role], after, changed, space, room)[1]
                )
                assert changed[TURN] == facts[TURN] + 1
            assert abs(np.mean(lucks)) <= 4.5 * np.std(lucks) / 20 + 1e-9  # of ten such means
            most = max(most, np.std(lucks))
    assert most > 0


def test_a_result_without_luck_spreads_less():
    """With the beliefs that ship; the mean is the same but for the luck of forty games."""
    nets = make_agent("nemesis", General()).beliefs(0)
    played = np.array([games.play(np.random.default_rng(seed), nets, 0, 1) for seed in range(40)])
    turns, results, fair = played.T
    assert (turns > 5).all()
    assert set(results) <= {0.0, 0.5, 1.0}
    assert fair.std() < 0.6 * results.std()
    assert abs(fair.mean() - results.mean()) < 4 * results.std() / 40**0.5


def test_jax_expects_what_numba_does():
    boards, states, _ = taken(0, 20)[0]
    space = space_of(NETS[0])
    wide = np.empty((20, lessons.WIDTH), np.float32)
    lessons.spread_out(np.random.default_rng(0), space, boards, states, np.arange(20), wide)
    sides = []
    for board, facts in zip(boards, states, strict=True):
        both = [
            chance(NETS[0], space, features(seen, facts, space)) for seen in (board, board[lessons.ACROSS])
        ]
        sides.append(both)
    found = np.asarray(lessons.expected(NETS[0], wide))
    near = np.abs(np.array(sides) - found[:, None])
    assert (near.min(1) < 1e-5).all()
    assert 0 < (near.argmin(1) == 0).sum() < 20  # some are seen in a mirror
    assert lessons.how_far_off(NETS[0], (boards, states, found), 0) < 0.2


def test_lessons_are_learned():
    kind = taken(0, 200)[0]
    net = lessons.learn(NETS[0], kind, 0.01, 200, 0)
    assert lessons.how_far_off(net, kind, 0) < 0.5 * lessons.how_far_off(NETS[0], kind, 0)


@pytest.mark.parametrize("role", ["attacker", "defender"])
def test_rounds_go_on_from_what_was_written(role, monkeypatch, tmp_path, capsys):
    game, start, path = General(), tmp_path / "start.safetensors", tmp_path / "learned.safetensors"
    write_beliefs(start, NETS, game, {"role": role})
    monkeypatch.setattr(lessons, "PART", 20)
    words = ["--start", str(start), "--role", role, "--out", str(path), "--games", "4", "--threads", "1"]
    words += ["--minutes", "0", "--round", "0"]
    monkeypatch.setattr(sys, "argv", ["general_lessons.py", *words])
    lessons.main()
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["role"], line["games"]) == (role, 4)
    assert 20 < line["lessons"] <= 20 + 20 * lessons.ROLLS
    assert len(line["missed"]) == 2
    facts = read_facts(path)
    assert (facts["role"], facts["learned_from"]) == (role, line["lessons"])
    assert read_beliefs(path, game)[0][0].shape == NETS[0][0].shape
