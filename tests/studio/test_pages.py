"""The pages around the games in a real browser: watching, comparing, choosing, and how they look."""

import json

import pytest
from playwright.sync_api import expect

from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.core.files import append_json, write_json
from stratagem.protocols import replay as replays
from tests.studio.hands import corso_board

pytestmark = pytest.mark.usefixtures("cache")


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


@pytest.mark.parametrize(
    ("address", "chooser", "field"),
    [
        ("/#/compare", "#game", "[name=entrant]"),
        ("/#/watch", "#live-game", "#live"),
        ("/#/new/corso", "#board", "#start"),
    ],
)
def test_nothing_can_be_chosen_until_the_players_of_another_game_are_known(page, address, chooser, field):
    page.goto(address)
    expect(page.locator(field).first).to_be_enabled()
    held = []
    page.route("**/api/opponents?game=*", lambda route: held.append(route))
    (chosen,) = page.locator(chooser).select_option(index=1)
    expect(page.locator(field).first).to_be_disabled()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator(field).first).to_be_enabled()
    expect(page.locator(chooser)).to_have_value(chosen)


@pytest.mark.parametrize(("address", "chooser"), [("/#/compare", "#game"), ("/#/watch", "#live-game")])
def test_a_game_whose_players_cannot_be_asked_for_is_not_chosen(page, address, chooser):
    page.goto(address)
    before = page.locator(chooser).input_value()
    page.route(
        "**/api/opponents?game=crag*", lambda route: route.fulfill(status=503, json={"error": "Busy."})
    )
    page.locator(chooser).select_option("Crag")
    expect(page.get_by_text("Busy.").first).to_be_visible()
    expect(page.locator(chooser)).to_have_value(before)
    expect(page.locator(chooser)).to_be_enabled()


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
