"""Corso in a real browser: played by mouse and keyboard, with a guest, reviewed and practised."""

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from stratagem.analysis.evaluators.perfect import codes
from stratagem.solvers.corso import Solver
from tests.studio.hands import begin, corso_board, last_board, my_turn_or_over, press, replay_of, status

pytestmark = pytest.mark.usefixtures("cache")
ONE_CARD_DUE_NOW = """const cards = JSON.parse(localStorage['stratagem.cards']);
  localStorage['stratagem.cards'] = JSON.stringify([{ ...cards[0], due: 0 }])"""


def test_two_clicks_lead_from_the_first_page_to_a_running_game(page):
    page.goto("/")
    page.locator("[data-play=corso]").click()
    expect(page.locator("#status")).to_contain_text("Your turn")
    assert page.locator(".cellbox.can").count() == 25
    page.locator("[data-cell='12']").click()
    expect(page.locator("[data-cell='12'] .marble")).to_be_visible()
    expect(page.locator("#moves li").first).to_have_text("c3")


def test_corso_is_played_by_mouse_replayed_and_reviewed(page, studio):
    begin(page, "corso", "corso:width=3,height=3")
    while my_turn_or_over(page):
        press(page, page.locator(".cellbox.can").first)
    replay = replay_of(page, studio)
    assert corso_board(page) == last_board(replay)
    page.get_by_role("link", name="Watch it").click()
    expect(page.locator("#where")).to_have_text(f"0 of {len(replay.actions)}")
    assert corso_board(page) == "O" * 9
    page.locator("[data-do=next]").click()
    expect(page.locator("#where")).to_have_text(f"1 of {len(replay.actions)}")
    assert sorted(corso_board(page)) == ["A"] + ["O"] * 8
    page.locator("[data-do=last]").click()
    expect(page.locator("#where")).to_have_text(f"{len(replay.actions)} of {len(replay.actions)}")
    assert corso_board(page) == last_board(replay)
    page.locator("[data-do=back]").click()
    expect(page.locator("#where")).to_have_text(f"{len(replay.actions) - 1} of {len(replay.actions)}")
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text(
        f"All {len(replay.actions)} decisions judged, proved", timeout=60_000
    )
    points = page.locator("#graph polyline").get_attribute("points").split()
    assert len(points) == len(replay.actions) + 1
    assert page.locator("#candidates tbody tr").count() == 9  # every first move of a 3 by 3 board
    assert page.locator(".grade").count() == 9
    marked = page.locator("#graph .blunder, #graph .error, #graph .inaccuracy").count()
    counted = page.locator("#summary tbody td.n").evaluate_all(
        "cells => cells.map((cell) => cell.textContent)"
    )
    assert marked == sum(int(text) for place, text in enumerate(counted) if place % 4 < 3)


def test_mistakes_come_back_until_they_are_known(page, studio):
    begin(page, "corso", "corso:width=3,height=3", ("human", "human"))
    for cell in (4, 1, 0, 1):  # after b2, b1, a1 the answer b1 gives the game away or not: the review says
        page.locator(f"[data-cell='{cell}']").click()
        expect(page.locator(f"[data-cell='{cell}'].last")).to_be_visible()
    while my_turn_or_over(page):
        press(page, page.locator(".cellbox.can").last)
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text("proved")
    page.keyboard.press("n")
    expect(page.locator("#status")).to_contain_text("it cost")
    page.locator("[data-do=keep]").click()
    expect(page.locator("#toast")).to_contain_text("to practise")
    page.goto("/#/learn/drill")
    expect(page.locator("#status")).to_contain_text("Find a better move")
    page.locator("#give-up").click()
    expect(page.locator("#status")).to_contain_text("Better was")
    best = page.locator("#status").inner_text().split("Better was ")[1].split(".")[0]
    assert re.fullmatch("[abc][123]", best)
    card = page.evaluate("JSON.parse(localStorage['stratagem.cards'])[0]")
    assert card["step"] == 0
    assert card["due"] > 0  # it comes back soon
    page.evaluate(ONE_CARD_DUE_NOW)
    page.reload()
    expect(page.locator("#status")).to_contain_text("Find a better move")
    row, column = int(best[1]) - 1, "abc".index(best[0])
    page.locator(f"[data-cell='{row * 3 + column}']").click()
    expect(page.locator("#status")).to_contain_text("Right.")
    page.locator("#next").click()
    expect(page.locator("#nothing")).to_be_visible()


def test_corso_is_played_by_keyboard_with_hint_undo_resignation_and_rematch(page):
    begin(page, "corso", "corso:width=4,height=4", ("human", "mm:depth=1"))
    expect(page.locator("#status")).to_contain_text("Your turn")
    page.locator("[data-cell='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("[data-cell='5'] .marble")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("Your turn")
    expect(page.locator("#moves li")).to_have_count(2)
    page.keyboard.press("u")
    expect(page.locator("#moves li")).to_have_count(0)
    expect(page.locator(".marble")).to_have_count(0)
    page.keyboard.press("h")
    expect(page.locator(".cellbox.hinted")).to_have_count(1)
    expect(page.locator("#note")).to_contain_text("Hint:")
    page.locator("[data-do=resign]").click()
    page.locator("[data-do=resign]").click()
    expect(page.locator("#status")).to_contain_text("Mm:depth=1 wins by resignation.")
    page.locator("[data-do=rematch]").click()
    expect(page.locator(".players li").first).to_contain_text("mm:depth=1")
    expect(page.locator("#moves li").first).to_be_visible()  # the other side has moved first
    expect(page.locator("#status")).to_contain_text("Your turn")


def test_a_guest_plays_the_other_seat_by_a_link_and_no_other(page, browser, studio):
    page.goto("/#/new/corso")
    page.get_by_text("Other options").click()
    page.get_by_label("The game with its options").fill("corso:width=3,height=3")
    page.get_by_label("The game with its options").press("Tab")
    page.locator("[data-seat='1']").select_option("human")
    page.locator("#invite").click()
    link = page.get_by_label("Invitation link").input_value()
    with visitor(browser, studio) as guest, visitor(browser, studio) as stranger:
        guest.goto(link)
        expect(guest.locator("#board svg")).to_be_visible()
        assert guest.url == page.url  # the secret does not stay in the address
        guest.locator("[data-cell='0']").click()
        expect(guest.locator("#note")).to_contain_text("not your turn")
        press(page, page.locator("[data-cell='4']"))
        expect(guest.locator("[data-cell='4'] .marble")).to_be_visible()
        expect(guest.locator("#status")).to_contain_text("Your turn")
        expect(page.locator("#status")).not_to_contain_text("Your turn")
        stranger.goto(page.url)
        expect(stranger.locator("[data-cell='4'] .marble")).to_be_visible()
        assert stranger.locator(".cellbox.can").count() == 0
        assert guest.evaluate(MOVE_FOR, [page.url.rsplit("/", 1)[1], 0, 1, 0]) == "not-your-seat"
        assert stranger.evaluate(MOVE_FOR, [page.url.rsplit("/", 1)[1], 1, 1, 0]) == "not-your-seat"
        press(guest, guest.locator("[data-cell='0']"))
        expect(page.locator("[data-cell='0'] .marble")).to_be_visible()
        expect(page.locator("#status")).to_contain_text("Your turn")
        expect(page.locator("[data-do=undo]")).to_be_disabled()  # against a person moves stand
        page.locator("[data-do=resign]").click()
        page.locator("[data-do=resign]").click()
        expect(guest.locator("#status")).to_contain_text("You win by resignation.")
        guest.locator("[data-do=rematch]").click()
        expect(page.locator("#status")).to_contain_text("Guest is to move.")
        expect(guest.locator("#status")).to_contain_text("Your turn")  # seats are swapped


MOVE_FOR = """([game, seat, turn, action]) => new Promise((resolve) => {
  const socket = new WebSocket(`ws://${location.host}/ws`);
  const tokens = (JSON.parse(localStorage['stratagem.seats'] || '{}'))[game] || [];
  socket.onopen = () => {
    socket.send(JSON.stringify({ type: 'join', game, tokens }));
    socket.send(JSON.stringify({ type: 'move', turn, seat, action }));
  };
  socket.onmessage = (event) => {
    const said = JSON.parse(event.data);
    if (said.type === 'error') { socket.close(); resolve(said.code); }
  };
})"""


@contextmanager
def visitor(browser, studio):
    """Somebody else, in a browser of their own."""
    context = browser.new_context(base_url=studio.address, viewport={"width": 900, "height": 800})
    page = context.new_page()
    page.set_default_timeout(90_000)
    yield page
    context.close()


def test_another_move_is_tried_in_a_review_and_the_engine_answers(page, studio):
    begin(page, "corso", "corso:width=3,height=3", ("human", "human"))
    for cell in (4, 0, 4):
        press(page, page.locator(f"[data-cell='{cell}']"))
    page.locator("[data-do=resign]").click()
    page.locator("[data-do=resign]").click()
    replay = replay_of(page, studio)
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text("All 3 decisions judged, proved")
    page.locator("[data-do=next]").click()
    expect(page.locator("#status")).to_contain_text("Orange played a1")
    page.locator("[data-cell='8']").click()
    expect(page.locator("#status")).to_contain_text("Instead: c3.")
    expect(page.locator("[data-cell='8'] .marble")).to_be_visible()
    assert corso_board(page) == "OOOOAOOOB"
    expect(page.locator("#status")).to_contain_text(
        re.compile("Blue would answer [abc][123] and then have [0-9]+ %")
    )
    answer = re.search("answer ([abc][123])", status(page)).group(1)
    game = replay.rules()
    best = Solver(3, 3).best(*codes(game, game.read("OOO/OAO/OOB 1")))
    assert game.read_action(answer) in best
    page.locator(f"[data-cell='{game.read_action(answer)}']").click()  # and on from there
    expect(page.locator("#status")).to_contain_text(f"Instead: {answer}.")
    page.locator("[data-do=back]").click()
    page.locator("[data-do=next]").click()
    expect(page.locator("#status")).to_contain_text("Orange played a1")
    assert corso_board(page) == "OOOOAOOOO"
