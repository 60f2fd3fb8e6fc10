"""Replays: what is recorded can be checked, and what was tampered with is found."""

import json

import pytest

from stratagem.agents import make_agent
from stratagem.arena.match import play_games
from stratagem.core.errors import DamagedFile, IllegalAction, RulesetMismatch, StratagemError
from stratagem.core.registry import Row
from stratagem.games import GAMES, make_game
from stratagem.protocols.replay import Replay, load, positions, verify


@pytest.fixture
def replay():
    game = make_game("corso:width=3,height=3")
    agents = [make_agent("random", game), make_agent("greedy", game)]
    played = play_games(game, agents, [[0, 1]], [11], record=True)[0]
    spec = game.spec
    return Replay(
        spec.name,
        dict(spec.parameters),
        spec.ruleset,
        ["random", "greedy"],
        played.actions,
        list(played.returns),
        11,
    )


def changed(replay, tmp_path, **changes):
    """The replay, saved with some entries replaced, and loaded again."""
    path = tmp_path / "changed.json"
    replay.save(path)
    content = json.loads(path.read_text())
    content.update(changes)
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not ...}))
    return load(path)


def test_a_replay_survives_the_file_and_verifies(replay, tmp_path):
    replay.save(tmp_path / "game.json")
    again = load(tmp_path / "game.json")
    assert again == replay
    final = verify(again)
    game = again.rules()
    assert bool(game.done(final))
    assert len(list(positions(again))) == len(replay.actions) + 1


def test_a_wrong_result_is_found(replay, tmp_path):
    with pytest.raises(StratagemError, match=r"claims .* but its actions lead to"):
        verify(changed(replay, tmp_path, returns=[-value for value in replay.returns]))


def test_an_illegal_move_is_named_with_its_turn(replay, tmp_path):
    actions = [
        replay.actions[0],
        [-1, max(replay.actions[0])],
        *replay.actions[2:],
    ]  # onto the other's marble
    with pytest.raises(IllegalAction, match="turn 2: seat 1 of corso may not play action"):
        verify(changed(replay, tmp_path, actions=actions))


def test_a_game_cut_short_or_drawn_out_is_found(replay, tmp_path):
    with pytest.raises(DamagedFile, match="not over after the last"):
        verify(changed(replay, tmp_path, actions=replay.actions[:-1]))
    with pytest.raises(DamagedFile, match="is over after turn"):
        verify(changed(replay, tmp_path, actions=[*replay.actions, [0, -1]]))


def test_other_rules_are_refused(replay, tmp_path):
    with pytest.raises(RulesetMismatch, match="was made under ruleset 0123"):
        verify(changed(replay, tmp_path, ruleset="0123"))


def test_a_resignation_decides_an_unfinished_game(replay, tmp_path):
    short = changed(replay, tmp_path, actions=replay.actions[:2], resigned=[0], returns=[-1, 1])
    verify(short)
    with pytest.raises(DamagedFile, match="resigned, but seats are"):
        verify(changed(replay, tmp_path, actions=replay.actions[:2], resigned=[7], returns=[-1, 1]))


def test_a_replay_may_start_anywhere(tmp_path):
    game = make_game("corso:width=3,height=1")
    spec = game.spec
    verify(
        Replay(spec.name, dict(spec.parameters), spec.ruleset, ["a", "b"], [[1, -1]], [1, -1], start="AOb 1")
    )
    with pytest.raises(DamagedFile, match="start position"):
        verify(
            Replay(
                spec.name, dict(spec.parameters), spec.ruleset, ["a", "b"], [[1, -1]], [1, -1], start="AO 1"
            )
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "not a replay"),
        ({"version": 99}, "version 99"),
        ({"actions": ...}, "'actions' is missing"),
        ({"actions": "all"}, "'actions' has the wrong type"),
        ({"actions": [[0]]}, "turn 1 is not a list of 2"),
        ({"actions": [[0.5, -1]]}, "turn 1 is not a list of 2"),
        ({"returns": ["won"]}, "must hold numbers"),
        ({"resigned": ["me"]}, "whole numbers"),
        ({"extra": 1}, "unknown entries extra"),
        ({"seed": "x"}, "'seed' has the wrong type"),
    ],
)
def test_a_malformed_replay_says_what_is_wrong(replay, tmp_path, changes, message):
    with pytest.raises(DamagedFile, match=message):
        changed(replay, tmp_path, **changes)


@pytest.mark.parametrize(
    "changes", [{"seed": None}, {"seed": -1}, {"seed": 2**40}, {"seats": ["a", "b", "c"]}]
)
def test_impossible_content_is_refused(replay, tmp_path, changes):
    content = {**changes, "actions": [[0] * 3]} if "seats" in changes else changes
    with pytest.raises(DamagedFile):
        verify(changed(replay, tmp_path, **content))


def test_recorded_dice_must_be_possible_and_must_be_those_of_the_seed(tmp_path):
    from tests.tiny_games import KuhnPoker

    GAMES.add(Row("kuhn-poker", "tests.tiny_games:KuhnPoker", "for this test"))
    try:
        game = KuhnPoker()
        agents = [make_agent("random", game)] * 2
        played = play_games(game, agents, [[0, 1]], [4], record=True)[0]
        turns = len(played.actions)
        facts = ("kuhn-poker", {}, game.spec.ruleset, ["a", "b"], played.actions, list(played.returns))
        verify(Replay(*facts, seed=4))
        deal = [deal for deal in range(6) if matches(game, facts, deal, turns)]
        assert len(deal) >= 1
        with pytest.raises(DamagedFile, match="cannot happen"):
            verify(Replay(*facts, outcomes=[9] + [0] * turns))
        with pytest.raises(DamagedFile, match="no outcome of chance is recorded"):
            verify(Replay(*facts, outcomes=[deal[0]]))
        wrong = [d for d in range(6) if not matches(game, facts, d, turns, seed=4)]
        assert len(wrong) == 5, "only one deal is the seed's"
    finally:
        GAMES.remove("kuhn-poker")


def matches(game, facts, deal, turns, seed=None):
    try:
        verify(Replay(*facts, outcomes=[deal] + [0] * turns, seed=seed))
    except StratagemError:
        return False
    return True
