"""What a player does with the page, for tests in a real browser."""

import json
import re
import urllib.request

from playwright.sync_api import expect

from stratagem.protocols import replay as replays

expect.set_options(timeout=90_000)
ENDED = re.compile("win|wins|draw")


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


def labels(page, where):
    return page.locator(where).evaluate_all("found => found.map((one) => one.getAttribute('aria-label'))")


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
