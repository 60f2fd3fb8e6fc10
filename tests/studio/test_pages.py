"""Whole games in a real browser: played, drawn, watched and reviewed."""

import json
import re
import urllib.request

import pytest
from playwright.sync_api import expect

from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.core.files import append_json, write_json
from stratagem.protocols import replay as replays

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


def press(page, *places):
    """Click one after the other, the last of which is a move, and wait until it is played."""
    before = page.locator("#moves li").count()
    for place in places:
        place.click()
    expect(page.locator("#moves li")).not_to_have_count(before)


def score(page, place):
    """Click a category and wait until it is scored; before that all dice are kept, which is a move of its own."""
    scored = page.locator("#moves li", has_text=re.compile(f"^{place.get_attribute('data-category')}$"))
    before = scored.count()
    place.click()
    expect(scored).not_to_have_count(before)


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


def test_general_is_played_to_the_end(page, studio):
    begin(page, "general", "general:turns=10")
    while my_turn_or_over(page):
        if page.get_by_text("Pass: nothing is possible").is_visible():
            press(page, page.get_by_text("Pass: nothing is possible"))
        elif "changes sides" in status(page):
            press(page, page.locator(".cellbox.can").first)
        else:
            targets = page.locator(".cellbox:has(.target), .cellbox:has(.target-dot)")
            press(page, page.locator(".cellbox.can").first, targets.last)
    replay = replay_of(page, studio)
    signs = last_board(replay)
    for sign, kind in (("A", "circle.unit"), ("D", "path.unit")):
        assert page.locator(kind).count() == signs.count(sign)


@pytest.mark.parametrize("name", ["generala", "crag"])
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
        score(page, page.locator("[data-category]").last)
    replay = replay_of(page, studio)
    assert replay.fair["commitment"] == page.locator("#dice code").last.text_content()
    final = list(replays.positions(replay))[-1]
    totals = page.locator(".sheet tfoot td").evaluate_all(
        "cells => cells.map((cell) => Number(cell.textContent))"
    )
    assert totals == replay.rules().scores(final).tolist()


def test_a_review_of_dice_tells_luck_from_skill(page, studio):
    begin(page, "crag", None, ("human", "standing-greedy"))
    while my_turn_or_over(page):
        score(page, page.locator("[data-category]").first)
    replay = replay_of(page, studio)
    page.get_by_role("link", name="Review it").click()
    expect(page.locator("#progress")).to_contain_text(f"All {len(replay.actions)} decisions judged")
    rows = page.locator("#summary tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].slice(-2).map((cell) => cell.textContent))"
    )
    lost, luck = ([int(row[place].replace("−", "-").split()[0]) / 50 for row in rows] for place in (0, 1))
    assert luck[0] == -luck[1]
    # From the value of the first position to the result, each step is a decision or luck. Curves run from y = 10 (sure
    # win) to y = 146 (sure loss); the shown percentages are rounded to whole ones, which are 0.02 each.
    top = float(page.locator("#graph polyline").get_attribute("points").split()[0].split(",")[1])
    start = 1 - 2 * (top - 10) / 136
    assert start + luck[0] - lost[0] + lost[1] == pytest.approx(replay.returns[0], abs=0.04)


def labels(page, where):
    return page.locator(where).evaluate_all("found => found.map((one) => one.getAttribute('aria-label'))")


def test_hispania_is_played_to_the_end(page, studio):
    begin(page, "hispania", None, ("human", "random"))
    for _ in range(600):
        if not my_turn_or_over(page):
            break
        if page.locator(".options button").count():
            press(page, page.locator(".options button").last)
        elif re.search("buy|removed|what leaves", status(page)):
            press(page, page.locator(".region.can").first, page.locator(".options button").first)
        else:
            press(page, page.locator(".region.can").first)
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
    page.get_by_label("Moves a second").fill("10")
    expect(page.locator("text=Speed: 10 moves a second")).to_be_visible()
    canvas.hover()
    page.mouse.wheel(0, -300)
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


def test_two_agents_are_watched_live_and_a_replay_file_is_dropped_on_the_page(page, tmp_path):
    page.goto("/#/watch")
    page.locator("#live").click()
    expect(page.locator("#moves li").nth(2)).to_be_visible()
    assert page.locator(".cellbox.can").count() == 0
    game = replays.Replay("corso", {"width": 3, "height": 3, "players": 2}, "", ["ana", "ben"], [], [])
    content = {
        **game.as_json(),
        "ruleset": replays.GAMES.make("corso:width=3,height=3").spec.ruleset,
        "seed": 1,
        "actions": [[4, -1], [-1, 0]],
        "resigned": [1],
        "returns": [1.0, -1.0],
    }
    drop(page, "game.json", json.dumps(content))
    expect(page.locator("h1")).to_contain_text("Replay: Corso 3 × 3")
    page.keyboard.press("End")
    expect(page.locator("#where")).to_have_text("2 of 2")
    assert corso_board(page) == "BOOOAOOOO"
    expect(page.locator("text=Blue (ana) won by resignation.")).to_be_visible()
    drop(page, "game.json", "{")
    expect(page.locator("#toast")).to_contain_text("game.json is not a replay")


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
