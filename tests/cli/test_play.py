"""The terminal board, driven by its keys."""

import asyncio
import json

import pytest

from stratagem.agents import make_agent
from stratagem.arena.session import Session
from stratagem.cli.play_corso import CorsoApp
from stratagem.core.errors import IllegalAction
from stratagem.games import make_game
from stratagem.protocols.replay import load, verify


def app_for(tmp_path, opponent="greedy", seat=0):
    game = make_game("corso:width=3,height=3")
    players = [make_agent(opponent, game), make_agent(opponent, game)]
    names = [opponent, opponent]
    players[seat], names[seat] = None, "you"
    adviser = make_agent("perfect", game)
    return CorsoApp(Session(game, players, seed=5), names, adviser, tmp_path)


async def settle(pilot):
    """Wait until the agent has moved."""
    for _ in range(400):
        await pilot.pause(0.05)
        if not pilot.app.thinking and not pilot.app.workers._workers:
            return
    raise TimeoutError("the agent did not move")


def board(app):
    return app.session.game.write(app.session.state)


def test_a_whole_game_is_played_with_keys_and_saved(tmp_path):
    async def scenario():
        app = app_for(tmp_path)
        async with app.run_test(size=(90, 40)) as pilot:
            await pilot.press("enter")  # the cursor starts in the middle
            await settle(pilot)
            assert board(app)[5] == "A"
            assert len(app.session.actions) == 2
            await pilot.press("enter")  # expand it: a legal move whatever the agent did, unless it was dyed
            await settle(pilot)
            while not app.session.over:
                await pilot.press("h")
                await settle(pilot)
                assert app.hinted >= 0
                await pilot.press("enter")
                await settle(pilot)
            assert "wins" in app.status
            await pilot.press("s")
            assert "Saved" in app.status
            path = next(tmp_path.glob("*.json"))
            assert json.loads(path.read_text())["seats"] == ["you", "greedy"]
            verify(load(path))

    asyncio.run(scenario())


def test_undo_returns_to_the_persons_turn_and_a_bad_cell_is_explained(tmp_path):
    async def scenario():
        app = app_for(tmp_path)
        async with app.run_test(size=(90, 40)) as pilot:
            before = board(app)
            await pilot.press("up", "left", "enter")
            await settle(pilot)
            assert len(app.session.actions) == 2
            await pilot.press("u")
            await settle(pilot)
            assert board(app) == before
            await pilot.press("u")
            assert "Nothing to take back" in app.status
            await pilot.press("enter")
            await settle(pilot)
            theirs = next(i for i, sign in enumerate(board(app).replace("/", "")) if sign in "Bb")
            app.cursor = theirs
            turns = len(app.session.actions)
            await pilot.press("enter")
            await settle(pilot)
            assert len(app.session.actions) == turns
            assert "marble of player 2" in app.status or "dyed" in app.status

    asyncio.run(scenario())


def test_resigning_loses_and_a_new_game_swaps_seats(tmp_path):
    async def scenario():
        app = app_for(tmp_path)
        async with app.run_test(size=(90, 40)) as pilot:
            await pilot.press("r")
            assert app.session.returns == [-1, 1]
            assert "by resignation" in app.status
            await pilot.press("n")
            await settle(pilot)
            assert app.session.players[1] is None
            assert len(app.session.actions) == 1, "the agent moves first now"
            assert app.names == ["greedy", "you"]

    asyncio.run(scenario())


def test_a_click_acts_on_the_cell_under_it(tmp_path):
    async def scenario():
        app = app_for(tmp_path)
        async with app.run_test(size=(90, 40)) as pilot:
            await pilot.click("BoardView", offset=(3 + 7 * 2 + 2, 1))
            await settle(pilot)
            assert app.session.actions[0] == [2, -1]

    asyncio.run(scenario())


def test_an_illegal_action_changes_nothing():
    game = make_game("corso:width=3,height=3")
    session = Session(game, [None, None], seed=0)
    session.act({0: 4})
    with pytest.raises(IllegalAction, match="seat 1"):
        session.act({1: 4})
    assert session.turn == 1
    session.resign(1)
    with pytest.raises(IllegalAction, match="over"):
        session.act({1: 0})
    session.undo()
    assert not session.over
    session.undo()
    assert session.turn == 0
