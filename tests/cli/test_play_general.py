"""The terminal board of GENERAL, driven by its keys."""

import asyncio

import numpy as np

from stratagem.agents import make_agent
from stratagem.arena.session import Session
from stratagem.cli.play_general import BoardView, GeneralApp
from stratagem.games import make_game
from stratagem.games.general.text import read_cell
from stratagem.protocols.replay import load, verify

GAME = make_game("general:turns=40")
EMPTY = dict.fromkeys(range(1, 11), "..........") | dict.fromkeys((5, 6), "....GG....")


def position(rows, tail):
    """A state from {row number from 1: the row} and the words after the board."""
    return GAME.read(f"{'/'.join((EMPTY | rows).values())} {tail}")


def app_for(tmp_path, state=None, opponent=None):
    players = [None, make_agent(opponent, GAME) if opponent else None]
    session = Session(GAME, players, seed=1)
    if state is not None:
        session._states[-1] = state
    names = ["you", opponent or "friend"]
    return GeneralApp(session, names, make_agent("expectimax:depth=1", GAME), tmp_path)


async def settle(pilot):
    """Wait until the agent has moved."""
    for _ in range(1200):
        await pilot.pause(0.05)
        if not pilot.app.thinking and not pilot.app.workers._workers:
            return
    raise TimeoutError("the agent did not move")


async def enter_on(pilot, cell):
    pilot.app.cursor = read_cell(cell)
    await pilot.press("enter")
    await settle(pilot)


def run(app, scenario):
    async def whole():
        async with app.run_test(size=(100, 40)) as pilot:
            await settle(pilot)
            await scenario(pilot)

    asyncio.run(whole())


def shown(app):
    return app.query_one(BoardView).render().plain


def test_a_unit_is_taken_its_targets_are_marked_and_it_moves(tmp_path):
    app = app_for(tmp_path, position({1: "A.........", 10: "D........."}, "1 0 3 0 -"))

    async def scenario(pilot):
        assert "die ⚂ 3" in app._scores().plain
        assert "●" not in shown(app)
        await enter_on(pilot, "b2")
        assert "Nothing on b2 can move with a 3" in app.status
        await enter_on(pilot, "a1")
        assert app.targets() == ({read_cell(cell) for cell in ("d1", "a4", "d4")}, set())
        assert shown(app).count("●") == 3
        await pilot.press("escape")
        assert app.selected == -1
        await enter_on(pilot, "a1")
        await enter_on(pilot, "e1")
        assert "a1-e1 is 4 cells, the die shows 3" in app.status
        await enter_on(pilot, "d4")
        assert app.session.actions == [[33, -1]]
        assert "Attacker a1-d4." in app.status
        await pilot.press("u")
        assert app.session.turn == 0
        assert "Taken back" in app.status

    run(app, scenario)


def test_garrisoning_is_marked_apart_and_can_be_played(tmp_path):
    app = app_for(tmp_path, position({1: "A.........", 10: "D........."}, "1 0 6 0 A"))

    async def scenario(pilot):
        assert "may go anywhere" in app.status
        await enter_on(pilot, "a1")
        targets, garrisonings = app.targets()
        assert targets - garrisonings == {read_cell("g1"), read_cell("a7")}
        assert len(garrisonings) == 100 - 24 - 4 - 2, "all but garrisons, General and the two moves"
        assert "◇" in shown(app)
        await enter_on(pilot, "d5")
        assert "by garrisoning" in app.status
        assert np.asarray(app.session.state.garrisoned).tolist() == [True, True]

    run(app, scenario)


def test_the_offensive_is_played_by_taking_the_general(tmp_path):
    app = app_for(tmp_path, position({1: "A.........", 4: "...A......", 10: "D........."}, "2 1 1 0 O"))

    async def scenario(pilot):
        assert "the General may strike" in app.status
        await enter_on(pilot, "f6")
        assert app.targets()[0] == {read_cell("d4")}
        await enter_on(pilot, "d4")
        assert "The General strikes d4." in app.status
        assert app.session.actions == [[4433, -1]]

    run(app, scenario)


def test_a_conversion_is_chosen_in_the_same_turn(tmp_path):
    app = app_for(tmp_path, position({1: "AA........", 3: "..D......."}, "2 1 1 0 -"))

    async def scenario(pilot):
        await enter_on(pilot, "c3")
        await enter_on(pilot, "b2")
        assert "Conversion: choose" in app.status
        assert app.targets()[0] == {read_cell("a1"), read_cell("b1")}
        await enter_on(pilot, "c1")
        assert "first choose the unit to convert: a1, b1" in app.status
        await enter_on(pilot, "b1")
        assert "The unit on b1 changes sides." in app.status
        assert int(app.session.state.turn) == 2

    run(app, scenario)


def test_a_hit_an_interception_and_a_pass_are_told(tmp_path):
    unguarded = app_for(tmp_path, position({1: "A.........", 5: "..A.GG....", 10: "D........."}, "1 0 2 0 -"))

    async def hit(pilot):
        await enter_on(pilot, "c5")
        await enter_on(pilot, "e5")
        assert "the General is hit" in unguarded.status

    run(unguarded, hit)
    guarded = app_for(tmp_path, position({1: "A.........", 4: "...D......", 5: "..A.GG...."}, "1 0 2 0 -"))

    async def intercepted(pilot):
        await enter_on(pilot, "c5")
        await enter_on(pilot, "e5")
        assert "intercepted by the guard on d4" in guarded.status
        assert "Enter passes" in guarded.status, "the Defender has nothing left"
        await pilot.press("enter")
        await settle(pilot)
        assert "The Defender passes." in guarded.status

    run(guarded, intercepted)


def test_a_whole_game_against_an_agent_is_played_by_hints_and_saved(tmp_path):
    app = app_for(tmp_path, opponent="expectimax:depth=1")

    async def scenario(pilot):
        while not app.session.over:
            await pilot.press("h")
            await settle(pilot)
            assert "Hint" in app.status
            await pilot.press("enter")
            await settle(pilot)
        assert "wins" in app.status or "draw" in app.status
        await pilot.press("s")
        verify(load(next(tmp_path.glob("*.json"))))
        await pilot.press("n")
        await settle(pilot)
        assert app.names == ["expectimax:depth=1", "you"]
        await pilot.press("r")
        assert "by resignation" in app.status

    run(app, scenario)


def test_a_click_takes_the_unit_under_it(tmp_path):
    app = app_for(tmp_path, position({1: "A.........", 10: "D........."}, "1 0 3 0 -"))

    async def scenario(pilot):
        await pilot.click("BoardView", offset=(3 + 2, 0))
        await settle(pilot)
        assert app.selected == 0
        await pilot.click("BoardView", offset=(3 + 5 * 3 + 2, 2 * 3))
        await settle(pilot)
        assert app.session.actions == [[33, -1]]

    run(app, scenario)
