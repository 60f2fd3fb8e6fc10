"""Learning against expectimax: games begin where they should, and what is learned is kept and played."""

import json
import sys

import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.general_belief import beliefs_of, chance, features, read_beliefs, space_of
from stratagem.agents.general_expectimax import MOST_ACTIONS, list_actions
from stratagem.agents.general_foresight import answers, decided
from stratagem.agents.general_heuristic import GARRISON, HITS, IS_GENERAL, TURN, over
from stratagem.games.general import General
from stratagem.networks.tensors import read_facts
from tests.benchmarks.scripts import script

response = script("benchmarks/general_best_response.py")


def beginnings(wild, number=300):
    luck = np.random.default_rng(0)
    for _ in range(number):
        board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
        yield response.begin(luck, board, facts, wild), board, facts


def test_games_begin_as_the_rules_say_or_anywhere():
    for wild, board, facts in beginnings(0.0):
        assert not wild
        assert ((board == 1) == GARRISON[0]).all()
        assert ((board == 2) == GARRISON[1]).all()
        assert facts.tolist() == [0, 0, 0, 0, 0, 300]
    counts = set()
    for wild, board, facts in beginnings(1.0):
        assert wild
        assert not over(board, facts)
        assert not board[IS_GENERAL].any()
        assert facts[TURN] % 2 == 0  # the Attacker begins
        assert 0 <= facts[HITS] <= 2
        counts.add(((board == 1).sum(), (board == 2).sum()))
    assert len(counts) > 30
    assert 0.4 < np.mean([wild for wild, _, _ in beginnings(0.5)]) < 0.6


def test_a_lesson_moves_what_is_expected_towards_it():
    net = response.first(8, 0)
    space = space_of(net)
    _, board, facts = next(beginnings(0.0))
    number = features(board, facts, space)
    before = chance(net, space, number)
    response.learn(net, space, number, np.float32(0.1 * (1 - before)))
    assert before < chance(net, space, features(board, facts, space)) < 1


NETS = response.first(8, 0), response.first(8, 1)


@pytest.mark.parametrize("role", [0, 1])
def test_before_a_roll_it_expects_the_mean_over_dice_of_its_best_actions(role):
    luck, actions, space = np.random.default_rng(0), np.empty(MOST_ACTIONS, np.int64), space_of(NETS[0])
    for _, board, facts in beginnings(1.0, 30):
        facts[TURN] += role
        facts[1:4] = 1  # no garrisonings: of those it looks at some only
        hopes, left = [], []
        for die in range(1, 7):
            listed = actions[: list_actions(board, facts, role, die, actions)].copy()
            if len(listed):
                hopes.append(beliefs_of(NETS[role], board, facts, die, listed, space) * (1 - 2 * role))
        for _ in range(40):
            after, changed = board.copy(), facts.copy()
            expected = response.own_turn(luck, NETS, after, changed, actions, space, 1, 0.0)[0]
            assert expected == pytest.approx(
                (1 - 2 * role) * np.mean([max(hope) for hope in hopes]), abs=1e-6
            )
            assert changed[TURN] == facts[TURN] + 1
            left.append(after.tobytes())
        assert len(set(left)) > 1 or len(hopes) == 1  # the die is rolled


@pytest.mark.parametrize("role", [0, 1])
def test_before_an_answer_it_expects_the_mean_over_dice_and_answers(role):
    luck, space = np.random.default_rng(0), space_of(NETS[0])
    room = response.rooms()
    for _, board, facts in beginnings(1.0, 10):
        facts[TURN] += role
        boards, states, chances = (part.copy() for part in room[:3])
        number = answers(board, facts, role, boards, states, chances)
        worth = [decided(boards[place], states[place]) for place in range(number)]
        for place in range(number):
            if worth[place] < 0:
                known = features(boards[place], states[place], space)
                worth[place] = chance(NETS[role], space, known)
        seen = []
        for _ in range(300):
            following, changed = board.copy(), facts.copy()
            expected = response.answer(luck, NETS[role], following, changed, space, room)[0]
            assert expected == pytest.approx(np.dot(worth, chances[:number]), abs=1e-6)
            seen.append((following.tobytes(), *changed.tolist()))
        for place in range(number):
            named = boards[place].tobytes(), *states[place].tolist()
            asked = sum(
                chances[other]
                for other in range(number)
                if (boards[other].tobytes(), *states[other].tolist()) == named
            )
            assert seen.count(named) / len(seen) == pytest.approx(asked, abs=0.13)  # over four deviations


@pytest.mark.parametrize("role", ["attacker", "defender"])
def test_what_it_learns_is_kept_and_played_and_gone_on_with(role, monkeypatch, tmp_path, capsys):
    path, game = tmp_path / "beliefs.safetensors", General()

    def call(*more):
        words = ["--role", role, "--hidden", "4", "--chunk", "20", "--games", "4", "--threads", "1", *more]
        monkeypatch.setattr(sys, "argv", ["general_best_response.py", *words])
        response.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    lines = call("--minutes", "0.0001", "--out", str(path))
    assert [line["games"] for line in lines] == [2, 4]
    assert all(line["role"] == role for line in lines)
    facts = read_facts(path)
    assert (facts["role"], facts["opponent"], facts["learned_from"]) == (role, "expectimax:depth=2", 50)
    assert len(read_beliefs(path, game)[0][1]) == 4
    assert call("--minutes", "0", "--start", str(path))[-1]["games"] == 4
    assert make_agent(f"nemesis:{role}={path}", game).beliefs(response.ROLES.index(role))[0][1].shape == (4,)
