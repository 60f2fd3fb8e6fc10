"""What a run came to, for people: curves, and the policy of the opening with and without search."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.core.files import atomic_write

CURVES = (
    ("policy_loss", "value_loss"),
    ("entropy",),
    ("surprise", "first_seat", "first_role", "undecided", "upsets"),
    ("moves_a_game", "games"),
)


def write_report(
    folder: Path,
    title: str,
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    policies: Mapping[str, np.ndarray],
    ratings: str,
) -> Path:
    """Write `report.md` with its pictures into the folder of a run; `ratings` is Markdown."""
    lines = [f"# {title}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()] + [""]
    if rows:
        plot_curves(rows, folder / "curves.png")
        lines += ["## Learning", "", "![curves](curves.png)", ""]
    if policies:
        plot_policies(policies, folder / "opening.png")
        names = " and ".join(policies)
        lines += ["## The first move", "", f"What {names} would play.", "", "![opening](opening.png)", ""]
    if ratings:
        lines += ["## Ratings", "", ratings, ""]
    path = folder / "report.md"
    with atomic_write(path, "w") as file:
        file.write("\n".join(lines))
    return path


def plot_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Losses, games and scores against the ladder over the iterations."""
    from matplotlib.figure import Figure

    ladder = sorted({name for row in rows for name in row if name.startswith("against ")})
    known = {name for row in rows for name in row}
    panels = [names for names in (*CURVES, tuple(ladder)) if known & set(names)] or [("iteration",)]
    figure = Figure(figsize=(4 * len(panels), 3), layout="constrained")
    for panel, names in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
        for name in names:
            points = [(row["iteration"], row[name]) for row in rows if name in row]
            if points:
                panel.plot(*zip(*points, strict=True), label=name.replace("_", " "))
        panel.set_xlabel("iteration")
        panel.legend(fontsize=7)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=110)


def plot_policies(policies: Mapping[str, np.ndarray], path: Path) -> None:
    """Each policy as a board of probabilities (float[H, W]), side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(policies), 3.6), layout="constrained")
    for panel, (name, board) in zip(
        np.ravel(figure.subplots(1, len(policies))), policies.items(), strict=True
    ):
        panel.imshow(board, cmap="Blues", vmin=0, vmax=max(board.max(), 1e-9))
        for (row, column), share in np.ndenumerate(board):
            dark = share > board.max() / 2
            panel.text(
                column, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color="w" if dark else "k"
            )
        panel.set_title(name)
        panel.set_xticks([])
        panel.set_yticks([])
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=110)
