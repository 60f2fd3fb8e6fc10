"""The pictures of attention.py: how often a head looks at the hidden general, one position, and curves of training."""

from itertools import pairwise

import numpy as np

from stratagem.agents.generals_memory import UNKNOWN
from stratagem.core.files import atomic_write
from stratagem.games.generals.rules import SEEN_CASTLE, SEEN_MOUNTAIN, STRUCTURE

GROUND = {UNKNOWN: "0.55", STRUCTURE: "0.4", SEEN_MOUNTAIN: "0.25", SEEN_CASTLE: "0.75"}
PLAIN, MINE, THEIRS = "0.92", "#8fb8de", "#e8a5a0"
WAYS = {"by_tenth": "tenth of the game", "by_turn": "turns, in fifties"}
# What is drawn together: the title of a picture, and the metrics in it.
CURVES = {
    "entropy of the policy": ("entropy",),
    "turns of a game": ("moves_a_game",),
    "how games end": ("undecided", "upsets", "first_seat"),
    "value": ("explained", "error"),
}
OF_GAMES = ("moves_a_game", "undecided", "upsets", "first_seat")


def plot_attention(facts, drawn, path):
    """The curves of the best head beside the baselines, and, if there is a position, the head and the belief on it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 8 if drawn else 4), layout="constrained")
    panels = figure.subplots(2 if drawn else 1, 2, squeeze=False)
    for panel, (name, label) in zip(panels[0], WAYS.items(), strict=True):
        for number, (series, rows) in enumerate(facts[name].items()):
            if rows:
                at = [row["bucket"] for row in rows]
                panel.plot(at, [row["share"] for row in rows], f"C{number}.-", label=series)
                panel.fill_between(
                    at,
                    [row["low"] for row in rows],
                    [row["high"] for row in rows],
                    color=f"C{number}",
                    alpha=0.2,
                )
        panel.set(xlabel=label, ylabel="within two cells of the hidden general", ylim=(0, 1))
        panel.legend(fontsize=7)
    best = facts["best"]
    title = f"layer {best['layer'] + 1}, head {best['head'] + 1}"
    panels[0, 0].set_title(f"the best of all heads: {title}")
    if drawn:
        draw_board(panels[1, 0], drawn, spread_out(drawn["heat"], drawn), f"{title} in turn {drawn['turn']}")
        draw_board(panels[1, 1], drawn, drawn["belief"], "what the cascade would believe")
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=110)


def spread_out(heat, drawn):
    """float[H, W] from a number for each patch [R, S]."""
    height, width = drawn["owner"].shape
    size = drawn["size"]
    return np.repeat(np.repeat(heat, size, axis=0), size, axis=1)[:height, :width]


def draw_board(panel, drawn, heat, title):
    """What the seat knows, under a heat map; a cross for its own general, a star for the one it has not found."""
    from matplotlib.colors import to_rgb

    owner, kind = drawn["owner"], drawn["kind"]
    picture = np.full((*owner.shape, 3), to_rgb(PLAIN))
    for value, colour in GROUND.items():
        picture[kind == value] = to_rgb(colour)
    for value, colour in ((1, MINE), (2, THEIRS)):
        picture[owner == value] = to_rgb(colour)
    panel.imshow(picture)
    strength = heat / max(float(heat.max()), 1e-12)
    panel.imshow(strength, cmap="Greens", alpha=0.9 * strength, vmin=0, vmax=1)
    panel.plot(*drawn["general"][::-1], "c*", markersize=14, markeredgecolor="k")
    panel.plot(*drawn["own"][::-1], "bx", markersize=9)
    panel.set(title=title, xticks=[], yticks=[])


def told(row, name):
    """Whether a row says something of this: of games only if some ended."""
    return name in row and (name not in OF_GAMES or row.get("games", 1) > 0)


def plot_metrics(rows, path):
    """Curves of training, from the rows of metrics files one after the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(CURVES), 3), layout="constrained")
    minutes = np.cumsum([row["seconds"] for row in rows]) / 60
    borders = [
        at for at, (one, other) in enumerate(pairwise(rows), 1) if other["iteration"] <= one["iteration"]
    ]
    for panel, (title, names) in zip(figure.subplots(1, len(CURVES)), CURVES.items(), strict=True):
        for name in names:
            known = [(at, row[name]) for at, row in zip(minutes, rows, strict=True) if told(row, name)]
            if known:
                panel.plot(*zip(*known, strict=True), label=name.replace("_", " "), linewidth=0.8)
        for border in borders:
            panel.axvline(minutes[border], color="0.8", zorder=0)  # another stage begins
        panel.set(title=title, xlabel="minutes of training")
        if panel.get_legend_handles_labels()[1]:
            panel.legend(fontsize=7)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=110)
