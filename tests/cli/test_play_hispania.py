"""The terminal table of Hispania, typed at."""

import pytest

from stratagem.agents import make_agent
from stratagem.arena.session import Session
from stratagem.cli.output import out
from stratagem.cli.play_hispania import play
from stratagem.games import make_game
from stratagem.protocols.replay import load, verify


@pytest.fixture
def table(monkeypatch, tmp_path):
    """Type these lines at a new game: (what play returned, what was shown, the session)."""
    game = make_game("hispania")
    session = Session(game, [make_agent("historical", game), None], seed=3)

    def typed(*lines):
        waiting = iter(lines)

        def answer(prompt):
            try:
                return next(waiting)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", answer)
        with out.capture() as shown:
            last = play(session, ["historical", "you"], make_agent("naive", game), tmp_path)
        return last, shown.get(), session

    return typed


def test_a_few_turns_are_typed_hinted_taken_back_saved_and_left(table, tmp_path):
    last, shown, session = table(
        "hint", "atlantis", "tarraco", "africa:0123", "valentia", "undo", "tarraco", "save", "quit"
    )
    assert last == "left"
    assert "africa:" in shown.split("choices:")[2], "the hint"
    assert "atlantis" in shown
    words = [session.game.write_action(max(turn)) for turn in session.actions]
    assert words[:2] == ["africa:0123", "tarraco"]
    replay = next(tmp_path.glob("*.json"))
    verify(load(replay))
    assert "Saguntum" in shown


def test_the_built_in_player_fills_the_other_seat_and_one_may_give_up(table):
    last, shown, session = table("none", "none", "none", "resign")
    assert last in ("you gave up", "left", "you lose")
    assert "historical (Iberians):" in shown
    assert session.over
    assert session.returns[0] == 1
