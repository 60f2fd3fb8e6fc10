"""Dice in a real browser: kept, rolled, scored, and the luck in them reviewed."""

import re

import pytest
from playwright.sync_api import expect

from stratagem.protocols import replay as replays
from tests.studio.hands import (
    begin,
    choose,
    labels,
    my_turn_or_over,
    replay_of,
    review_all,
    watch_again,
)

pytestmark = pytest.mark.usefixtures("cache")


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


def score(page, place, keyboard=False):
    """Choose a category and wait until it is scored; before that all dice are kept, which is a move of its own."""
    scored = page.locator("#moves li", has_text=re.compile(f"^{place.get_attribute('data-category')}$"))
    before = scored.count()
    choose(page, place, keyboard)
    expect(scored).not_to_have_count(before)


def percents(text):
    return int(text.replace("−", "-").split()[0])
