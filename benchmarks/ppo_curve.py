"""How strong a policy of Generals was at each age: weight files in order against fixed players, with a rating fitted.

    python benchmarks/ppo_curve.py snapshots/*.safetensors --boards 8-12 18-24 --games 512 --out runs/curve

Every file plays every rival, each file on the same maps and from both seats of each, drawing from its policy, playing
as the agent `policy` does, and taking its likeliest move. Games are as long as the rules have them, while in training
they may be cut earlier. Each match is one JSON line and is kept in OUT/curve.json at once: the same command goes on
where it was stopped, and `--table` only fits, prints and plots what is there. A rating is fitted to all games of a
board, the anchor at zero.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import machine

from stratagem.agents import make_agent
from stratagem.agents.policy import Policy
from stratagem.agents.senses import senses_for
from stratagem.arena.ratings import rate, wilson
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.files import atomic_write, read_json, write_json
from stratagem.games import make_game
from stratagem.games.generals import Generals
from stratagem.learners.duel import duel
from stratagem.learners.ppo_presets import BOARDS
from stratagem.networks import cast
from stratagem.networks.weights import load_policy, weight_facts

VAGUE = 4000  # points; beyond that a rating, or the width of its interval, says nothing
# The heat of each way to choose a move.
CHOICES = {"sampled": 1.0, "as the agent": Policy.temperature, "greedy": 0.0}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("files", nargs="*", type=Path, help="weights, in the order of their age")
    asked.add_argument(
        "--boards", nargs="+", default=["8-12", "18-24"], help=f"of {', '.join(BOARDS)}, or options"
    )
    asked.add_argument("--rivals", nargs="+", default=["expander", "hunter", "cascade"])
    asked.add_argument("--choices", nargs="+", choices=CHOICES, default=list(CHOICES))
    asked.add_argument("--anchor", default="hunter", help="the rival whose rating is zero")
    asked.add_argument("--games", type=int, default=512, help="of each match")
    asked.add_argument("--seed", type=int, default=1000, help="of the maps; not one that was trained on")
    asked.add_argument("--cap", type=int, default=Generals.cap, help="turns after which a game is drawn")
    asked.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    asked.add_argument("--out", type=Path, default=Path("runs/curve"))
    asked.add_argument("--table", action="store_true", help="play nothing")
    words = asked.parse_args()
    use_compile_cache()
    words.out.mkdir(parents=True, exist_ok=True)
    kept = words.out / "curve.json"
    matches = read_json(kept)["matches"] if kept.exists() else []
    if not words.table:
        for board in words.boards:
            matches = play_board(board, words, matches, kept)
    ratings = {board: fitted(board, matches, words.anchor) for board in {one["board"] for one in matches}}
    write_json(kept, {"matches": matches, "ratings": ratings, "machine": machine()})
    print(table(matches, ratings))
    plot(matches, ratings, words.out / "curve.png")


def play_board(board, words, matches, kept):
    """All matches on a board that are not there yet, added to those that are."""
    game = replace(make_game(f"generals:{BOARDS.get(board, board)}"), cap=words.cap)
    senses = senses_for(game)
    there = {(one["file"], one["board"], one["rival"], one["choice"]) for one in matches}
    games = words.games // 2 * 2  # both seats of every map
    heats = np.repeat([CHOICES[choice] for choice in words.choices], games).astype(np.float32)
    for rival in words.rivals:
        # All ways to choose a move at once: a match takes as long as its longest game.
        match = jax.jit(partial(duel, game, senses, make_agent(rival, game), len(heats), heats))
        for path in words.files:
            if all((path.name, board, rival, choice) in there for choice in words.choices):
                continue
            began = time.perf_counter()
            network = cast(load_policy(path, senses), jnp.dtype(words.precision))
            results = np.asarray(match(network, jax.random.key(words.seed)))
            seconds = round(time.perf_counter() - began, 1)
            for choice, some in zip(words.choices, np.split(results, len(words.choices)), strict=True):
                if (path.name, board, rival, choice) not in there:
                    told = {"file": path.name, **age(path), "board": board, "rival": rival, "choice": choice}
                    told |= counted(some) | {"seconds": seconds}
                    print(json.dumps({"benchmark": "ppo curve", **told}), flush=True)
                    matches = [*matches, told]
            write_json(kept, {"matches": matches})
    return matches


def age(path):
    """What a file says of its training."""
    summary = weight_facts(path)["summary"]
    return {name: summary.get(name) for name in ("iterations", "turns", "minutes")}


def counted(results):
    """Wins, draws and losses from float[games], with the share of wins and its interval."""
    wins, draws = int((results > 0).sum()), int((results == 0).sum())
    low, high = wilson(wins, len(results))
    return {
        "games": len(results),
        "wins": wins,
        "draws": draws,
        "losses": len(results) - wins - draws,
        "share": wins / len(results),
        "low": low,
        "high": high,
    }


def fitted(board, matches, anchor):
    """Ratings of all files and rivals on a board, as rows that JSON can hold."""
    played = [one for one in matches if one["board"] == board]
    games = []
    for one in played:
        pair = (f"{one['file']} {one['choice']}", one["rival"])
        for score, count in ((1.0, one["wins"]), (0.5, one["draws"]), (0.0, one["losses"])):
            games += [(*pair, score)] * count
    names = list(dict.fromkeys(name for one, other, _ in games for name in (one, other)))
    return [
        {"name": row.name, "rating": row.rating, "low": row.low, "high": row.high, "range": row.range}
        for row in rate(names, games, anchor if anchor in names else played[0]["rival"])
    ]


def table(matches, ratings):
    """Markdown: a line for each file, board and choice."""
    rivals = list(dict.fromkeys(one["rival"] for one in matches))
    lines = ["| board | weights | minutes | moves | " + " | ".join(rivals) + " | rating |"]
    lines += ["|---" * (5 + len(rivals)) + "|"]
    for board, choice, file in dict.fromkeys((one["board"], one["choice"], one["file"]) for one in matches):
        mine = [one for one in matches if (one["board"], one["choice"], one["file"]) == (board, choice, file)]
        shares = {one["rival"]: f"{one['share']:.1%} ({one['low']:.1%} to {one['high']:.1%})" for one in mine}
        minutes = mine[0]["minutes"]
        cells = [board, file, "" if minutes is None else f"{minutes:.0f}", choice]
        cells += [shares.get(rival, "") for rival in rivals]
        rating = next(row for row in ratings[board] if row["name"] == f"{file} {choice}")
        lines.append("| " + " | ".join([*cells, rating_words(rating)]) + " |")
    return "\n".join(lines)


def measured(row):
    """Whether a rating says something: where nearly all games are drawn there is none."""
    known = row["rating"] is not None
    return known and abs(row["rating"]) < VAGUE and row["high"] - row["low"] < VAGUE


def rating_words(row):
    """As `+120 (+100 to +140)`, or a bound where there is nothing else."""
    if row["rating"] is not None and not measured(row):
        return "not measurable"
    if row["rating"] is not None:
        return f"{row['rating']:+.0f} ({row['low']:+.0f} to {row['high']:+.0f})"
    if row["range"] == "above" and row["low"] is not None:
        return f"above {row['low']:+.0f}"
    if row["range"] == "below" and row["high"] is not None:
        return f"below {row['high']:+.0f}"
    return "unknown"


def plot(matches, ratings, path):
    """A row of pictures for each board: the share of wins against each rival, and the rating."""
    from matplotlib.figure import Figure

    boards = list(ratings)
    figure = Figure(figsize=(10, 3.5 * len(boards)), layout="constrained")
    timed = all(one["minutes"] is not None for one in matches)
    panels = figure.subplots(len(boards), 2, squeeze=False)
    for board, (shares, strength) in zip(boards, panels, strict=True):
        played = [one for one in matches if one["board"] == board]
        order = {file: place for place, file in enumerate(dict.fromkeys(one["file"] for one in played), 1)}
        at = {one["file"]: one["minutes"] if timed else order[one["file"]] for one in played}
        for number, rival in enumerate(dict.fromkeys(one["rival"] for one in played)):
            for choice, line in (("sampled", "-"), ("as the agent", "--"), ("greedy", ":")):
                some = [one for one in played if (one["rival"], one["choice"]) == (rival, choice)]
                if some:
                    label = rival if choice == "sampled" else f"{rival}, {choice}"
                    bars(shares, at, some, "share", f"C{number}{line}", label)
        rows = {row["name"]: row for row in ratings[board]}
        for choice, line in (("sampled", "k-"), ("as the agent", "k--"), ("greedy", "k:")):
            named = [
                {"file": file, **rows[f"{file} {choice}"]} for file in order if f"{file} {choice}" in rows
            ]
            some = [row for row in named if measured(row)]
            if some:
                bars(strength, at, some, "rating", line, choice)
        for row in ratings[board]:
            if row["name"] in {one["rival"] for one in played} and measured(row):
                strength.axhline(row["rating"], color="0.7", linewidth=0.8)
                strength.annotate(
                    row["name"], (0, row["rating"]), xycoords=("axes fraction", "data"), fontsize=7
                )
        shares.set(title=f"boards of {board}", ylabel="share of games won", ylim=(0, 1))
        strength.set(title=f"boards of {board}", ylabel="rating")
        for panel in (shares, strength):
            panel.set_xlabel("minutes of training" if timed else "weight file")
            if panel.get_legend_handles_labels()[1]:
                panel.legend(fontsize=7)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=110)


def bars(panel, at, rows, name, line, label):
    """A curve with intervals."""
    middle = np.array([row[name] for row in rows])
    margins = [middle - [row["low"] for row in rows], [row["high"] for row in rows] - middle]
    panel.errorbar(
        [at[row["file"]] for row in rows], middle, np.maximum(margins, 0), fmt=line, capsize=2, label=label
    )


if __name__ == "__main__":
    main()
