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


def test_a_game_is_typed_hinted_taken_back_saved_and_given_up_while_the_built_in_player_fills_the_other_seat(
    table, tmp_path
):
    last, shown, session = table("hint", "atlantis", "africa:0123", "undo", "none", "save", "resign")
    assert last.startswith("you gave up; saved")
    assert "saved when it is over" in shown
    assert session.returns == [1, -1]
    assert "africa:" in shown, "the hint"
    assert "atlantis" in shown
    assert "Saguntum" in shown
    assert "historical (Iberians):" in shown
    assert session.actions[0] == [-1, session.game.none], "what was taken back did not happen"
    saved = load(next(tmp_path.glob("*.json")))
    assert saved.actions == session.actions
    verify(saved)
    assert saved.seats == ["historical", "you"]
