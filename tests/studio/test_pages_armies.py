"""GENERAL, Hispania and Generals in a real browser: played to the end, drawn, watched and reviewed."""

import re

import jax
import numpy as np
import pytest
from playwright.sync_api import expect

from stratagem.agents.senses import senses_for
from stratagem.analysis.sight import Sight
from stratagem.networks import make_network
from stratagem.networks.weights import save_policy
from stratagem.protocols import replay as replays
from tests.studio.hands import (
    ENDED,
    begin,
    labels,
    last_board,
    my_turn_or_over,
    press,
    replay_of,
    review_all,
    status,
    watch_again,
)

pytestmark = pytest.mark.usefixtures("cache")


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
