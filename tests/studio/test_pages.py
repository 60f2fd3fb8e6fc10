"""Whole games in a real browser: played, drawn, watched and reviewed."""

import json
import re
import urllib.request
from contextlib import contextmanager

import jax
import numpy as np
import pytest
from playwright.sync_api import expect

from stratagem.agents.senses import senses_for
from stratagem.analysis.evaluators.perfect import codes
from stratagem.analysis.sight import Sight
from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.core.files import append_json, write_json
from stratagem.networks import make_network
from stratagem.networks.weights import save_policy
from stratagem.protocols import replay as replays
from stratagem.solvers.corso import Solver

pytestmark = pytest.mark.usefixtures("cache")
expect.set_options(timeout=90_000)
ENDED = re.compile("win|wins|draw")
ONE_CARD_DUE_NOW = """const cards = JSON.parse(localStorage['stratagem.cards']);
  localStorage['stratagem.cards'] = JSON.stringify([{ ...cards[0], due: 0 }])"""


def begin(page, name, typed=None, seats=("human", "random")):
    """Start a game from its page of options."""
    page.goto(f"/#/new/{name}")
    if typed:
        page.get_by_text("Other options").click()
        page.get_by_label("The game with its options").fill(typed)
        page.get_by_label("The game with its options").press("Tab")
    for seat, player in enumerate(seats):
        page.locator(f"[data-seat='{seat}']").select_option(player)
    page.locator("#start").click()
    expect(page.locator("#board svg, #board canvas").first).to_be_visible()


def status(page):
    return page.locator("#status").inner_text()


def my_turn_or_over(page):
    """Wait until something can be done; whether the game goes on."""
    expect(page.locator("#status")).to_contain_text(
        re.compile("Your turn|to move|win|wins|draw"), timeout=60_000
    )
    return not ENDED.search(status(page).split("\n")[0])


def press(page, *places, keyboard=False):
    """Choose one after the other, the last of which is a move, and wait until it is played."""
    before = page.locator("#moves li").count()
    for place in places:
        choose(page, place, keyboard)
    expect(page.locator("#moves li")).not_to_have_count(before)


def choose(page, place, keyboard):
    if keyboard:
        place.focus()
        page.keyboard.press("Enter")
    else:
        place.click()


def score(page, place, keyboard=False):
    """Choose a category and wait until it is scored; before that all dice are kept, which is a move of its own."""
    scored = page.locator("#moves li", has_text=re.compile(f"^{place.get_attribute('data-category')}$"))
    before = scored.count()
    choose(page, place, keyboard)
    expect(scored).not_to_have_count(before)


def watch_again(page, replay, drawn):
    """Replay a finished game: its last position is drawn as it was when it ended; one step back is another."""
    ended = drawn()
    count = len(replay.actions)
    page.get_by_role("link", name="Watch it").click()
    expect(page.locator("#where")).to_have_text(f"0 of {count}")
    first = drawn()
    page.keyboard.press("End")
    expect(page.locator("#where")).to_have_text(f"{count} of {count}")
    assert drawn() == ended != first
    page.locator("[data-do=back]").click()
    expect(page.locator("#where")).to_have_text(f"{count - 1} of {count}")
    page.locator("[data-do=first]").click()
    expect(page.locator("#where")).to_have_text(f"0 of {count}")
    assert drawn() == first


def review_all(page, replay):
    """Review a game: every decision is judged, and the graph has a point for each and the result."""
    count = len(replay.actions)
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text(f"All {count} decisions judged")
    assert len(page.locator("#graph polyline").get_attribute("points").split()) == count + 1
    assert page.locator("#candidates tbody tr").count() >= 1


def replay_of(page, studio):
    """The finished game as the server tells it, checked move by move."""
    name = page.url.rsplit("/", 1)[1]
    with urllib.request.urlopen(f"{studio.address}/api/games/{name}/replay") as answer:
        content = json.load(answer)
    replay = replays.parse(content, name)
    replays.verify(replay)
    return replay


def corso_board(page):
    """What the page shows, as the game writes it."""
    signs = ""
    for label in page.locator(".cellbox").evaluate_all(
        "cells => cells.map((cell) => cell.getAttribute('aria-label'))"
    ):
        what = label.split(", ")[1]
        letter = "A" if "Blue" in what else "B"
        signs += "O" if what == "empty" else letter if what.startswith("marble") else letter.lower()
    return signs


def last_board(replay):
    final = list(replays.positions(replay))[-1]
    return replay.rules().write(final).split(" ")[0].replace("/", "")


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


def test_general_is_played_to_the_end(page, studio):
    begin(page, "general", "general:turns=10")
    keyboard = False
    while my_turn_or_over(page):
        if page.get_by_text("Pass: nothing is possible").is_visible():
            press(page, page.get_by_text("Pass: nothing is possible"))
        elif "changes sides" in status(page):
            press(page, page.locator(".cellbox.can").first)
        else:
            targets = page.locator(".cellbox:has(.target), .cellbox:has(.target-dot)")
            press(page, page.locator(".cellbox.can").first, targets.last, keyboard=keyboard)
        keyboard = not keyboard
    replay = replay_of(page, studio)
    signs = last_board(replay)
    for sign, kind in (("A", "circle.unit"), ("D", "path.unit")):
        assert page.locator(kind).count() == signs.count(sign)
    watch_again(page, replay, lambda: labels_without_hints(page))
    review_all(page, replay)
    assert "die" in page.locator("#roll h3").inner_text()


def labels_without_hints(page):
    """What stands on each cell, whoever may move."""
    return [", ".join(label.split(", ")[:2]) for label in labels(page, ".cellbox")]


@pytest.mark.parametrize("name", ["generala", "crag", "yacht", "yatzy"])
def test_dice_are_kept_rolled_and_scored_to_the_end(page, studio, name):
    begin(page, name, None, ("human", "standing-greedy"))
    expect(page.locator("#status")).to_contain_text("Your turn")
    before = [label.split(": ")[1] for label in labels(page, ".dice button")]
    page.keyboard.press("1")
    expect(page.locator(".dice button.on")).to_have_count(1)
    page.keyboard.press("r")
    expect(page.locator("#moves li")).to_have_text([f"keep {before[0]}"])
    assert len(page.locator("#dice code").last.text_content()) == 64  # the seal of the luck to come
    while my_turn_or_over(page):
        score(page, page.locator("[data-category]").last, keyboard=name == "crag")
    replay = replay_of(page, studio)
    assert replay.fair["commitment"] == page.locator("#dice code").last.text_content()
    final = list(replays.positions(replay))[-1]
    totals = page.locator(".sheet tfoot td").evaluate_all(
        "cells => cells.map((cell) => Number(cell.textContent))"
    )
    assert totals == replay.rules().scores(final).tolist()
    watch_again(page, replay, lambda: page.locator(".sheet td").all_inner_texts())
    review_all(page, replay)


def test_a_review_of_dice_shows_what_could_have_fallen_and_tells_luck_from_skill(page, studio):
    begin(page, "crag", None, ("human", "standing-greedy"))
    while my_turn_or_over(page):
        score(page, page.locator("[data-category]").first)
    replay = replay_of(page, studio)
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text(f"All {len(replay.actions)} decisions judged")
    states, game = list(replays.positions(replay)), replay.rules()
    dice = "-".join(map(str, game.keeps.rolls[int(states[0].dice)]))
    expect(page.locator("#roll h3")).to_have_text(f"The roll before it: {dice}")
    rows = page.locator("#roll tbody tr").evaluate_all(
        "rows => rows.map((row) => [row.className, ...[...row.cells].map((cell) => cell.textContent)])"
    )
    assert len(rows) == 56  # the ways in which three dice fall
    assert [row[1] for row in rows if row[0] == "fell"] == [f"{dice} (fell)"]
    assert sum(float(row[2].split()[0]) for row in rows) == pytest.approx(100, abs=2)
    worth = [int(row[3].split()[0]) for row in rows]
    assert worth == sorted(worth, reverse=True)
    page.locator("[data-do=next]").click()  # all dice were kept: nothing rolled
    expect(page.locator("#roll h3")).to_have_count(0)
    summary = page.locator("#summary tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].slice(-2).map((cell) => cell.textContent))"
    )
    luck = [percents(row[1]) for row in summary]
    assert luck[0] == -luck[1]
    # From the value before the first roll to the result every step is luck, a mistake, or not foreseen.
    parts = [percents(text) for text in page.locator("#balance td.n").all_inner_texts()]
    assert parts[1] == luck[0]
    assert -parts[2] == percents(summary[0][0])
    assert parts[3] == percents(summary[1][0])
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=3)  # each is rounded to a whole one
    assert parts[-1] == 50 + 50 * replay.returns[0]


def percents(text):
    return int(text.replace("−", "-").split()[0])


def labels(page, where):
    return page.locator(where).evaluate_all("found => found.map((one) => one.getAttribute('aria-label'))")


def test_hispania_is_played_to_the_end(page, studio):
    begin(page, "hispania", None, ("human", "random"))
    keyboard = False
    for _ in range(600):
        if not my_turn_or_over(page):
            break
        if page.locator(".options button").count():
            press(page, page.locator(".options button").last, keyboard=keyboard)
        elif re.search("buy|removed|what leaves", status(page)):
            press(page, page.locator(".region.can").first, page.locator(".options button").first)
        else:
            press(page, page.locator(".region.can").first, keyboard=keyboard)
        keyboard = not keyboard
    replay = replay_of(page, studio)
    game, final = replay.rules(), list(replays.positions(replay))[-1]
    shown = labels(page, ".region")
    for region, label in zip(game.draw(final, None)["regions"], shown, strict=True):
        assert label.startswith(region["name"])
        holder = game.content.nations[region["holder"]].name if region["holder"] >= 0 else "free"
        assert holder in label
    points = [
        int(text.split(", ")[1].split()[0]) for text in page.locator(".players .score").all_inner_texts()
    ]
    assert points == game.scores(final).tolist()
    watch_again(page, replay, lambda: [label.split(", you")[0] for label in labels(page, ".region")])
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text(re.compile("Judging: [2-9] of"))
    assert len(page.locator("#graph polyline").get_attribute("points").split()) >= 3  # those, and the result


GENERALS = (
    "generals:width=6,height=6,cap=40,castles_from=1,castles_to=1,apart=4,mountains_from=0,mountains_to=0.1"
)
PIXELS = """canvas => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, seen = {};
  for (let i = 0; i < data.length; i += 4) {
    const key = `${data[i]},${data[i + 1]},${data[i + 2]}`;
    seen[key] = (seen[key] || 0) + 1;
  }
  return seen;
}"""
PICTURE = "canvas => canvas.toDataURL()"
INK, BLUE = "31,37,48", "15,111,174"


def test_generals_moves_are_queued_drawn_undone_and_played_under_fog(page, studio):
    begin(page, "generals", GENERALS, ("human", "expander"))
    canvas = page.locator("canvas.field")
    expect(page.locator("#status")).to_contain_text(re.compile("Turn ([6-9]|1.)"))
    page.locator("[data-do=pause]").click()
    expect(page.locator("#status")).to_contain_text("Paused")
    without = canvas.evaluate(PIXELS)
    assert without[BLUE] > 500  # the own land is drawn
    canvas.focus()
    page.keyboard.press("Enter")  # selects the own general
    for key in ("KeyD", "KeyD", "ArrowLeft", "KeyW", "KeyS", "KeyA"):
        page.keyboard.press(key)
    queued = int(page.locator("text=Queue:").inner_text().split("Queue: ")[1])
    assert queued >= 2
    assert canvas.evaluate(PIXELS).get(INK, 0) > without.get(INK, 0) + 100  # arrows
    page.keyboard.press("KeyE")
    expect(page.locator("text=Queue:")).to_contain_text(f"Queue: {queued - 1}")
    page.keyboard.press("KeyZ")
    expect(page.locator("text=Half of the army will move")).to_be_visible()
    page.keyboard.press("KeyQ")
    expect(page.locator("text=Queue: 0")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.locator("text=Select a cell of yours.")).to_be_visible()
    page.get_by_text("Keys", exact=True).click()
    page.get_by_role("button", name="Change the key for Undo").click()
    page.keyboard.press("x")
    expect(page.get_by_role("button", name="Change the key for Undo")).to_have_text("X")
    canvas.focus()
    page.keyboard.press("Enter")
    for key in ("KeyD", "KeyS", "KeyA", "KeyW"):
        page.keyboard.press(key)
    queued = int(page.locator("text=Queue:").inner_text().split("Queue: ")[1])
    page.keyboard.press("KeyE")  # no longer undoes
    expect(page.locator("text=Queue:")).to_contain_text(f"Queue: {queued}")
    page.keyboard.press("KeyX")
    expect(page.locator("text=Queue:")).to_contain_text(f"Queue: {queued - 1}")
    page.keyboard.press("KeyQ")
    page.keyboard.press("Space")
    page.get_by_label("Moves a second").fill("10")
    expect(page.locator("text=Speed: 10 moves a second")).to_be_visible()
    canvas.hover()
    drawn = [canvas.evaluate(PICTURE)]
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    drawn.append(canvas.evaluate(PICTURE))
    page.mouse.down()
    page.mouse.move(300, 400, steps=4)
    page.mouse.up()
    drawn.append(canvas.evaluate(PICTURE))
    assert len(set(drawn)) == 3  # zoomed, then moved
    expect(page.locator("text=Select a cell of yours.")).to_be_visible()  # dragging selects nothing
    canvas.focus()
    page.keyboard.press("Enter")
    for key in ("KeyD", "KeyS", "KeyA", "KeyW") * 4:
        page.keyboard.press(key)
    page.locator("[data-do=pause]").click()
    expect(page.locator("#status")).to_contain_text(ENDED)
    replay = replay_of(page, studio)
    assert any(row[0] >= 0 and "pass" not in replay.rules().write_action(row[0]) for row in replay.actions)
    page.get_by_role("link", name="Watch it").click()
    page.locator("[data-do=last]").click()
    expect(page.locator("#where")).to_have_text(f"{len(replay.actions)} of {len(replay.actions)}")
    everything = page.locator("canvas.field").evaluate(PIXELS)
    page.locator("[data-eyes='0']").click()
    page.wait_for_timeout(300)
    fog = "207,202,189"
    assert page.locator("canvas.field").evaluate(PIXELS).get(fog, 0) > everything.get(fog, 0)
    beliefs_are_drawn(page, studio, replay)


def beliefs_are_drawn(page, studio, replay):
    """The review of a game under fog, with a network on the shelf."""
    game, senses = replay.rules(), senses_for(replay.rules())
    choice = "patch:depth=2,width=8,heads=2,bins=2"
    network = jax.jit(lambda key: make_network(choice, senses, key))(jax.random.key(0))
    save_policy(studio.folder / "patches" / "weights.safetensors", network, choice, senses, {})
    page.get_by_role("link", name="Review it").click()
    page.locator("[data-map=none]").click()
    plain = page.locator("canvas.field").evaluate(PIXELS)
    sight = Sight(game, list(replays.positions(replay, game)), replay.actions, 0)
    page.locator("[data-map=belief]").click()
    for turn in (0, 1, 2):
        belief = sight.belief(turn).round(4)  # as it is sent
        row, column = np.unravel_index(belief.argmax(), belief.shape)
        expect(page.locator("#legend")).to_contain_text(
            f"Likeliest: row {row + 1}, column {column + 1} ({round(100 * belief.max())} %)"
        )
        page.keyboard.press("ArrowRight")
    tinted = page.locator("canvas.field").evaluate(PIXELS)
    fresh = sum(count for colour, count in tinted.items() if colour not in plain)
    cells = int((sight.belief(3) > 0).sum())
    size = sum(plain.values()) / 36  # the canvas is larger than the board of 36 cells
    assert fresh > 0.3 * cells * size * 0.4
    page.locator("[data-map=attention]").click()
    expect(page.locator("#legend")).to_contain_text("What the value of the shipped network listens to")
    page.locator("[data-heat=network]").select_option("patches/weights.safetensors")
    expect(page.locator("#legend")).to_contain_text("What the value of patches listens to, patch by patch.")
    expect(page.locator("[data-heat=layer] option")).to_have_count(2)
    expect(page.locator("[data-heat=head] option")).to_have_count(3)
    page.locator("[data-heat=layer]").select_option("2")
    page.locator("[data-heat=head]").select_option("1")
    expect(page.locator("#where-turn")).to_have_text(re.compile("turn 3 of"))
    size, maps = sight.attention(3, str(studio.folder / "patches" / "weights.safetensors"))
    shares = maps[1, 0].round(4)
    row, column = np.unravel_index(shares.argmax(), shares.shape)
    expect(page.locator("#legend")).to_contain_text(
        f"Most: row {size * row + 1}, column {size * column + 1} ({round(100 * shares.max())} %)"
    )


def test_two_agents_are_watched_live_and_a_replay_file_is_dropped_on_the_page(page, tmp_path):
    page.goto("/#/watch")
    page.locator("#live").click()
    expect(page.locator("#moves li").nth(2)).to_be_visible()
    assert page.locator(".cellbox.can").count() == 0
    drop(page, "game.json", json.dumps(given_up()))
    expect(page.locator("h1")).to_contain_text("Replay: Corso 3 × 3")
    page.keyboard.press("End")
    expect(page.locator("#where")).to_have_text("2 of 2")
    assert corso_board(page) == "BOOOAOOOO"
    expect(page.locator("text=Blue (ana) won by resignation.")).to_be_visible()
    drop(page, "game.json", "{")
    expect(page.locator("#toast")).to_contain_text("game.json is not a replay")


def test_steps_taken_while_the_board_is_still_on_its_way_draw_one_board(page):
    page.goto("/#/watch")
    expect(page.locator("#live")).to_be_visible()
    held = []
    page.route("**/boards/corso.js", lambda route: held.append(route))
    with page.expect_request("**/boards/corso.js"):
        drop(page, "game.json", json.dumps(given_up()))
    page.keyboard.press("End")
    page.wait_for_timeout(200)
    held[0].continue_()
    expect(page.locator("#where")).to_have_text("2 of 2")
    assert corso_board(page) == "BOOOAOOOO"


def given_up():
    """A short game of Corso as a replay file holds it; Orange gave it up."""
    game = replays.Replay("corso", {"width": 3, "height": 3, "players": 2}, "", ["ana", "ben"], [], [])
    return {
        **game.as_json(),
        "ruleset": replays.GAMES.make("corso:width=3,height=3").spec.ruleset,
        "seed": 1,
        "actions": [[4, -1], [-1, 0]],
        "resigned": [1],
        "returns": [1.0, -1.0],
    }


def drop(page, name, text):
    data = page.evaluate_handle(
        """([name, text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], name));
          return data;
        }""",
        [name, text],
    )
    page.dispatch_event("main", "drop", {"dataTransfer": data})


def test_leaderboards_crosstables_and_curves_show_what_the_files_say(page, studio):
    tournament = Tournament("corso:width=3,height=3", ("random", "greedy"), 20)
    run_tournament(tournament, studio.folder / "small" / "results.jsonl", workers=1)
    rows = [{"iteration": number, "loss": 1 / number} for number in (1, 2, 3)]
    append_json(studio.folder / "learning" / "metrics.jsonl", rows)
    write_json(studio.folder / "learning" / "config.json", {"game": "corso"})
    page.goto("/#/compare")
    page.get_by_role("link", name="small").click()
    expect(page.locator("#ratings tbody tr")).to_have_count(2)
    scores = [float(text.split()[0]) for text in page.locator("#ratings td:last-child").all_inner_texts()]
    assert sum(scores) == pytest.approx(100, abs=0.2)
    shares = [
        int(text.split()[0]) for text in page.locator("#crosstable td").all_inner_texts() if "%" in text
    ]
    assert shares == [round(score) for score in scores]
    page.goto("/#/compare/training/learning")
    expect(page.locator("#curves polyline")).to_have_count(1)
    assert len(page.locator("#curves polyline").get_attribute("points").split()) == 3
    append_json(studio.folder / "learning" / "metrics.jsonl", [{"iteration": 4, "loss": 0.2}])
    expect(page.locator("text=4 rows")).to_be_visible()
    assert len(page.locator("#curves polyline").get_attribute("points").split()) == 4


def test_a_tournament_is_started_from_the_page_and_its_table_fills(page, studio):
    page.goto("/#/compare")
    page.locator("#game").select_option("Crag")
    for agent in ("random", "standing-random", "standing-greedy"):
        page.locator(f"[name=entrant][value={agent}]").set_checked(agent != "random")
    page.locator("#games").fill("6")
    page.locator("#begin").click()
    expect(page.locator("h1")).to_contain_text("studio-crag-")
    expect(page.locator("main")).to_contain_text("6 games played.")
    assert sorted(page.locator("#ratings strong").all_inner_texts()) == ["standing-greedy", "standing-random"]
    log = studio.folder / page.locator("h1").inner_text() / "results.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(rows) == 7  # a header and six games
    page.goto("/#/compare")
    expect(page.get_by_role("link", name="studio-crag-")).to_be_visible()


def test_opponents_are_offered_in_plain_words_and_a_perfect_one_says_what_it_lacks(page):
    page.goto("/#/new/generala")
    offered = [
        "A person",
        "Random: random",
        "Scores anything at once: standing-random",
        "Never rolls again: standing-greedy",
        "Fair: joe",
        "Strong: maximus",
        "Very strong: mindful",
        "Perfect: malina (not ready)",
    ]
    expect(page.locator("[data-seat='1'] option")).to_have_text(offered)
    assert page.locator("[data-seat='1'] option[value=malina]").is_disabled()
    # 68,780,235 positions at 1.2 million a second
    expect(page.locator("[data-lacking=malina]")).to_contain_text(
        "stratagem solve generala does it, in about a minute"
    )
    page.locator("[data-seat='1']").select_option("mindful")
    expect(page.locator("label", has=page.locator("[data-seat='1']"))).to_contain_text(
        "As if all others maximised"
    )
    page.goto("/#/new/corso")
    expect(page.locator("[data-seat='1'] option[value=perfect]")).to_have_count(1)
    page.locator("#board").select_option("8 × 8")
    expect(page.locator("[data-seat='1'] option[value=perfect]")).to_have_count(0)
    page.locator("#board").select_option("5 × 5, three players")
    expect(page.locator("[data-seat='2']")).to_be_visible()
    assert page.locator("[data-seat='2'] option[value='mm:depth=3']").count() == 0


def test_light_and_dark_differ_and_a_phone_shows_everything(page):
    page.emulate_media(color_scheme="light")
    page.goto("/")
    expect(page.locator("[data-play=corso]")).to_be_visible()
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.locator("#theme").click()
    assert page.evaluate(colour) != light
    page.set_viewport_size({"width": 375, "height": 700})
    for where in ("/", "/#/watch", "/#/compare", "/#/learn", "/#/new/generals"):
        page.goto(where)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
    nameless = page.locator("button, a, input, select").evaluate_all(
        """found => found.filter((one) => one.offsetParent &&
          !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).length"""
    )
    assert nameless == 0
