"""Yacht, Crag and Yatzy, which the paper calls too big: values, layers and openings of the streaming solves."""

# ruff: noqa: E501 (the sentences of the page)

from __future__ import annotations

import json
from typing import Any

import numpy as np
from generala_page.page import FOLDER, Page

from stratagem.games.dice.family import crag, yacht, yatzy
from stratagem.games.dice.keeps import keeps, scores
from stratagem.solvers.dice_layers import layout
from stratagem.solvers.dice_outlook import best_keeps
from stratagem.solvers.dice_turn import turn_values

GAMES = {
    "yacht": (yacht(), "Yacht"),
    "crag": (crag(), "Crag"),
    "yatzy": (yatzy(upper_bonus=False), "Yatzy without bonus"),
}  # by the names of the files


def beyond(page: Page) -> None:
    page.say("## Beyond: the games that the paper calls too big")
    rows, notes = [], []
    for name in GAMES:
        for path in sorted(FOLDER.glob(f"{name}-*.json")):
            lines = [json.loads(line) for line in path.read_text().splitlines() if line]
            layers, last = [one for one in lines if "layer" in one], lines[-1]
            if "value" not in last:
                notes.append(unfinished(name, layers, last.get("note", "")))
                page_layers(name, path.stem, layers)
                continue
            rows.append([
                name, f"**{last['value']:+.6f}**", f"{last['positions']:,}", f"{last['seconds']:.1f} s",
                f"{last['positions_per_second'] / 1e6:.1f} M/s", f"{max(one.get('peak_bytes', 0) for one in lines) / 2**30:.1f} GiB",
                f"{last.get('engine', 'fused')} on {last['device']}", layers[-1]["checksum"],
            ])  # fmt: skip
            page_layers(name, path.stem, layers)
    if rows:
        page.table(
            [
                "game",
                "value for the first player",
                "undecided positions",
                "time",
                "speed",
                "memory",
                "engine",
                "last checksum",
            ],
            rows,
        )
        page.say("Positions, time and a checksum for every layer: `docs/generala/*-layers.csv`. Checksums add the bit patterns "
                 "of the float32 equities, so they tell two runs of one engine apart from a fault, not two engines from each "
                 "other; between engines the mean equity of a layer is compared. The runs on two cores shared them with "
                 "other work, at the lowest priority; their times are no measure of speed.")  # fmt: skip
    for note in notes:
        page.say(note)
    for name in GAMES:
        gap = largest_gap(name)
        if gap is not None:
            page.say(f"{name}: the mean equities of the layers differ by at most {gap:.1e} between the runs.")
    for name in GAMES:
        openings(page, name)


def unfinished(name: str, layers: list[dict[str, Any]], note: str) -> str:
    """How far a run came that did not reach the value of the game, and what the rest would take."""
    family, title = GAMES[name]
    board = layout(family)
    pairs = [board.pairs(layer) for layer in range(board.layers + 1)]
    done, seconds = sum(one["positions"] for one in layers), sum(one["seconds"] for one in layers)
    late = layers[-4:]
    speed = sum(one["positions"] for one in late) / sum(one["seconds"] for one in late)
    return (
        f"{title} is not solved yet. It has {board.positions:,} undecided positions in {board.layers} layers; "
        f"two layers side by side are {2 * max(pairs) * (board.total + 1) * 4 / 2**30:.0f} GiB, which one H200 holds. A run "
        f"there with the plain array operations solved the first {len(layers)} layers, {done:,} positions, in {seconds:.0f} s "
        f"({late[0]['layer']} to {late[-1]['layer']} at {speed / 1e6:.0f} million positions a second; at most "
        f"{max(one['peak_bytes'] for one in layers) / 2**30:.0f} GiB), and then its time was up. What stands in the way is "
        f"time: at that speed the whole game takes {board.positions / speed / 60:.0f} minutes of the card in one piece. "
        + note
    )


def largest_gap(name: str) -> float | None:
    """How far the layers' mean equities of two runs are apart."""
    runs = []
    for path in sorted(FOLDER.glob(f"{name}-*.json")):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line]
        runs.append([one["mean"] for one in lines if "layer" in one])
    if len(runs) < 2:
        return None
    return max(abs(one - other) for one, other in zip(runs[0], runs[1], strict=False))


def page_layers(name: str, stem: str, layers: list[dict[str, Any]]) -> None:
    rows = ["layer,mover_open,opponent_open,pairs,positions,seconds,checksum,mean_equity"]
    for one in layers:
        rows.append(
            f"{one['layer']},{one['open'][0]},{one['open'][1]},{one['pairs']},{one['positions']},{one['seconds']:.3f},"
            f"{one['checksum']},{one['mean']:.9f}"
        )
    (FOLDER / f"{stem}-layers.csv").write_text("\n".join(rows) + "\n")


def openings(page: Page, name: str) -> None:
    """The first turn, read from the last layers of a streaming solve."""
    path = next(iter(sorted(FOLDER.glob(f"{name}-*-top.npz"))), None)
    if path is None:
        return
    family, _ = GAMES[name]
    board, k = layout(family), keeps(family.dice, family.faces)
    n = len(family.categories)
    layer = np.load(path)[f"layer{2 * n - 1}"]
    starts, everything = board.starts(2 * n - 1), (1 << n) - 1
    scoring_values = np.empty((1, n, len(k.rolls)))
    for c in range(n):
        rest = everything ^ (1 << c)
        low, width = board.window(everything, rest)
        window = layer[starts[board.rank[rest]] :][:width]
        at = -scores(family)[c].astype(int) - low
        inside = window[at.clip(0, width - 1)]
        scoring_values[0, c] = -np.where(at < 0, -1.0, np.where(at >= width, 1.0, inside))
    turn = turn_values(family, np.concatenate([scoring_values, scoring_values]))
    best = best_keeps(k, turn.kept[0])
    order = np.argsort(-turn.rolled[0])
    rows = []
    for i in [*order[:4], *order[len(order) // 2 - 2 : len(order) // 2 + 2], *order[-4:]]:
        kept = "-".join(map(str, k.multisets[best[i]])) or "nothing"
        rows.append(["-".join(map(str, k.rolls[i])), kept, f"{turn.rolled[0][i]:+.4f}"])
    page.say(f"{name}: the best, the middling and the worst first rolls")
    page.table(["first roll", "best keep", "equity"], rows)
