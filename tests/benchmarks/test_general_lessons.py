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
games, siblings = sys.modules["general_games"], sys.modules["general_siblings"]
response = script("benchmarks/general_best_response.py")

NETS = response.first(8, 0), response.first(8, 1)


def taken(role, trace=0.0, number=600, nets=NETS):
    """Lessons after own actions and before own rolls."""
    after, before = siblings.room_for(number + lessons.MOST), siblings.room_for(2 * number + lessons.MOST)
    one, other, played = siblings.take_lessons(
        np.random.default_rng(0), nets, role, trace, 0.15, after, before
    )
    assert played > 0
    return [rows[:one] for rows in after], [rows[:other] for rows in before]


@pytest.mark.parametrize("role", [0, 1])
def test_a_lesson_is_what_the_next_step_says_if_nothing_is_handed_back(role):
    (boards, states, worths, turns), (own_boards, own_states, own_worths, own_turns) = taken(role)
    space = space_of(NETS[0])
    for board, facts, worth in zip(boards[::3], states[::3], worths[::3], strict=True):
        assert facts[TURN] % 2 == 1 - role
        facts = facts.astype(np.int64)
        assert worth == pytest.approx(awaited(NETS, board, facts, 1 - role, space, 2), abs=1e-6)
    for board, facts, worth in zip(own_boards[::9], own_states[::9], own_worths[::9], strict=True):
        facts = facts.astype(np.int64)
        assert decided(board, facts) < 0
        assert facts[TURN] % 2 == role
        assert worth == pytest.approx(hoped(NETS, board, facts, role, space, 1), abs=1e-6)
    assert len({board.tobytes() for board in boards}) > 200
    assert (np.diff(turns) >= 0).all()
    assert 1 < np.bincount(turns).max() <= siblings.SIBLINGS
    assert len(np.unique(own_turns)) > 30


def test_what_came_later_is_handed_back_to_the_first_turn():
    """Two turns, by hand: the second brought 0.1 more than its roll promised, its roll 0.05 more than was met."""
    story = np.array([[0.5, 0.6, 0.62, np.nan, 1], [0.45, 0.4, 0.5, 0.4, 1]])
    more = siblings.handed_back(story, 0.5)
    assert more[1] == pytest.approx([0.0, 0.1])
    later = 0.45 + 0.5 * 0.1 - 0.4
    assert more[0] == pytest.approx([later, 0.62 + 0.5 * later - 0.6])
    story[0, siblings.KEPT] = 0  # by lot, or with luck that is not told apart
    assert siblings.handed_back(story, 0.5)[0] == pytest.approx([later, 0.0])


def test_siblings_hear_the_same_of_what_came_later():
    """And handing back is on average no more than was believed: it moves lessons little, and some of them."""
    nets = make_agent("nemesis", General()).beliefs(0)
    (plain, _), (handed, own) = taken(0, 0.0, nets=nets), taken(0, 0.9, nets=nets)
    assert (plain[0] == handed[0]).all()
    more, turns = handed[2] - plain[2], handed[3]
    for turn in np.unique(turns):
        assert np.ptp(more[turns == turn]) < 1e-6
    assert 0 < np.abs(more).mean() < 0.1
    assert len(own[2]) > 0


def test_siblings_stand_in_a_row():
    rows = lessons.siblings_of(np.array([3, 3, 3, 7, 9, 9]))
    assert rows.tolist() == [[0, 1, 2, -1, -1], [3, -1, -1, -1, -1], [4, 5, -1, -1, -1]]


@pytest.mark.parametrize("role", [0, 1])
def test_luck_has_a_mean_of_nought(role):
    """Of an own turn and of an answer, in positions from games."""
    (boards, states, _, _), (own_boards, own_states, _, _) = taken(role)
    states, own_states = states.astype(np.int64), own_states.astype(np.int64)
    space, actions, room = space_of(NETS[0]), np.empty(MOST_ACTIONS, np.int64), games.rooms()
    luck, most = np.random.default_rng(1), 0.0
    for index in range(0, 50, 10):
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
    kind = taken(0)[0]
    rows = lessons.siblings_of(kind[3])[:20]
    space, there = space_of(NETS[0]), rows >= 0
    wide, worths, weights = lessons.batch_of(np.random.default_rng(0), kind, rows)
    found = np.asarray(lessons.expected(NETS[0], wide)).reshape(rows.shape)
    assert (weights == there).all()
    assert (worths[there] == kind[2][rows[there]]).all()
    mirrored = []
    for row, values in zip(rows, found, strict=True):
        sides = []
        for across in (False, True):
            said = [
                chance(
                    NETS[0],
                    space,
                    features(
                        kind[0][lesson][lessons.ACROSS] if across else kind[0][lesson], kind[1][lesson], space
                    ),
                )
                for lesson in row[row >= 0]
            ]
            sides.append(np.abs(values[row >= 0] - said).max())
        assert min(sides) < 1e-5  # all siblings from the same side
        mirrored.append(sides[1] < sides[0])
    assert 0 < sum(mirrored) < 20
    error, apart = lessons.off(NETS[0], wide, found.astype(np.float32) + 0.1, weights)
    assert float(error) == pytest.approx(0.01, abs=1e-5)  # all are off by as much
    assert float(apart) == pytest.approx(0.0, abs=1e-6)


def test_lessons_are_learned():
    kind = taken(0)[0]
    rows = lessons.siblings_of(kind[3])
    pupil = lessons.Pupil(NETS[0])
    before = lessons.how_far_off(NETS[0], kind, rows, 0)
    pupil.learn(kind, rows, 1500 * 256 / len(rows), 0.002, 0, "")
    after = lessons.how_far_off(pupil.ready, kind, rows, 0)
    assert after[0] < 0.5 * before[0]
    assert after[1] < 0.7 * before[1]


@pytest.mark.parametrize("role", ["attacker", "defender"])
def test_rounds_go_on_from_what_was_written(role, monkeypatch, tmp_path, capsys):
    game, start, path = General(), tmp_path / "start.safetensors", tmp_path / "learned.safetensors"
    write_beliefs(start, NETS, game, {"role": role})
    monkeypatch.setattr(lessons, "PART", 200)
    words = ["--start", str(start), "--role", role, "--out", str(path), "--games", "4", "--threads", "1"]
    words += ["--minutes", "0", "--round", "0", "--passes", "1"]
    monkeypatch.setattr(sys, "argv", ["general_lessons.py", *words])
    lessons.main()
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["role"], line["games"]) == (role, 4)
    assert 200 < line["lessons"] <= 600 + 2 * lessons.MOST
    assert len(line["missed"]) == 2
    facts = read_facts(path)
    assert (facts["role"], facts["learned_from"]) == (role, line["lessons"])
    assert read_beliefs(path, game)[0][0].shape == NETS[0][0].shape
