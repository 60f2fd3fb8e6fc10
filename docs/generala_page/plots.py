"""The plots of the page."""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from generala_page.page import FOLDER, GAME, K, mask

from stratagem.solvers.dice_onesided import distributions
from stratagem.solvers.dice_strategies import strategy
from stratagem.solvers.dice_table import Table


def plots(table: Table, facts: dict[str, Any]) -> None:
    FOLDER.mkdir(exist_ok=True)
    everything = (1 << 10) - 1
    plt.rcParams.update({"figure.figsize": (7, 4), "figure.dpi": 110, "axes.grid": True, "grid.alpha": 0.3})
    figure, axes = plt.subplots()
    leads = np.arange(-60, 61)
    for letters, label in (
        ("G 4K FH E 6", "G 4K FH E 6 each"),
        ("E 3 2 1", "E 3 2 1 each"),
        ("G", "generala each"),
    ):
        axes.plot(leads, table.equities(mask(letters), mask(letters), leads), label=label)
    axes.set(
        xlabel="lead of the player to move", ylabel="equity", title="Equity by lead, same categories open"
    )
    axes.legend()
    figure.savefig(FOLDER / "equity.png", bbox_inches="tight")
    figure, axes = plt.subplots()
    for name in ("maximus", "joe", "standing-greedy", "standing-random"):
        chance = distributions(strategy(GAME, name))[-1]
        axes.plot(chance, label=f"{name}, mean {chance @ np.arange(len(chance)):.1f}")
    axes.set(xlabel="final score", ylabel="chance", title="Score distributions")
    axes.legend()
    figure.savefig(FOLDER / "scores.png", bbox_inches="tight")
    figure, axes = plt.subplots()
    turn = table.turn(everything, everything, 0)
    axes.hist(turn.rolled[0], bins=40, weights=K.ways / K.ways.sum())
    axes.set(
        xlabel="equity after the first roll of the game", ylabel="chance", title="Luck of the first roll"
    )
    figure.savefig(FOLDER / "first-roll.png", bbox_inches="tight")
    figure, axes = plt.subplots()
    axes.bar(GAME.names, 100 * np.array(facts["games"]["waives"]))
    axes.set(ylabel="waived, % of open turns", title="What Malina waives")
    axes.tick_params(axis="x", rotation=45)
    figure.savefig(FOLDER / "waives.png", bbox_inches="tight")
    plt.close("all")
