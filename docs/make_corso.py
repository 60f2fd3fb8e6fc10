"""Solve Corso boards and write the facts page: `python docs/make_corso.py --boards 3x3 5x5 --seconds 600`.

Results go to `docs/corso.json` after every first move, so a stopped run continues where it was; `docs/corso.md`
is drawn from that file. With no boards only the page is drawn again.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.core.files import atomic_write, read_json, write_json
from stratagem.solvers.corso import Solver
from stratagem.solvers.corso_bits import symmetries

FOLDER = Path(__file__).parent
FACTS, PAGE = FOLDER / "corso.json", FOLDER / "corso.md"

CLAIMS = {(2, 2): "second player wins", (3, 3): "first player wins", (5, 5): "unknown"}
"""What the paper says about the theoretical outcome (Mistri, section 2.2)."""

RESULT = {1: "first player wins", 0: "draw", -1: "second player wins"}

INTRODUCTION = """\
# Corso, solved

Written by `python docs/make_corso.py`; the numbers are in [corso.json](corso.json). Every board was solved with
`stratagem.solvers.corso` on a 2-core x86-64 machine, one thread, table of at most {megabytes} MB. A margin is the
first player's cells minus the second player's at the end, when both play for it. Two players, the rules of
[the game](../stratagem/games/corso.py); boards are given as width × height, and a board and its transpose are one.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--boards", nargs="*", default=[], metavar="WxH", help="boards to solve, widest side first"
    )
    parser.add_argument(
        "--up-to", type=int, default=0, metavar="CELLS", help="all boards of up to so many cells"
    )
    parser.add_argument("--seconds", type=float, default=600, help="time for each board")
    parser.add_argument("--megabytes", type=float, default=None, help="size of the table")
    parser.add_argument("--outcome", action="store_true", help="ask only who wins, not by how much")
    options = parser.parse_args()
    boards = [read_board(text) for text in options.boards] + boards_up_to(options.up_to)
    for width, height in boards:
        try:
            solve_board(width, height, options)
        except TimeoutError as error:
            print(f"  {error}", file=sys.stderr)
        except KeyboardInterrupt:
            print("  stopped; what was found is kept", file=sys.stderr)
            break
    with atomic_write(PAGE, "w") as page:
        page.write(render(read_facts()))


def read_facts() -> list[dict[str, Any]]:
    """What is known so far, one record a board, smallest board first."""
    return read_json(FACTS) if FACTS.exists() else []


def read_fact(width: int, height: int) -> dict[str, Any]:
    """The record of a board, new if there is none."""
    for fact in read_facts():
        if (fact["width"], fact["height"]) == (width, height):
            return fact
    return {"width": width, "height": height, "value": None, "margins": {}, "nodes": 0, "seconds": 0.0}


def write_fact(fact: dict[str, Any]) -> None:
    """Replace the record of a board and keep the others, which another run may be writing meanwhile."""
    board = fact["width"], fact["height"]
    facts = [other for other in read_facts() if (other["width"], other["height"]) != board]
    write_json(
        FACTS, sorted([*facts, fact], key=lambda fact: (fact["width"] * fact["height"], fact["width"]))
    )


def read_board(text: str) -> tuple[int, int]:
    """Width and height of `5x6`, the longer side first."""
    sides = text.lower().replace("×", "x").split("x")
    if len(sides) != 2 or not all(side.isdigit() and int(side) > 0 for side in sides):
        raise SystemExit(f"a board is written like 5x5, got {text!r}")
    first, second = map(int, sides)
    return max(first, second), min(first, second)


def boards_up_to(cells: int) -> list[tuple[int, int]]:
    """Every board of two to `cells` cells, smallest first."""
    boards = [(w, h) for w in range(2, cells + 1) for h in range(1, w + 1) if w * h <= cells]
    return sorted(boards, key=lambda board: (board[0] * board[1], board[0]))


def solve_board(width: int, height: int, options: argparse.Namespace) -> None:
    """Find what is still unknown of a board: its value, then the margin after each distinct first move."""
    fact = read_fact(width, height)
    solver = Solver(width, height, options.megabytes)
    empty = np.zeros(width * height, np.int8)
    began, worked = time.perf_counter(), time.process_time()
    nodes, seconds = fact["nodes"], fact["seconds"]

    def save() -> None:
        fact["nodes"] = nodes + solver.nodes
        fact["seconds"] = round(seconds + time.process_time() - worked, 2)
        fact["megabytes"] = solver.megabytes
        write_fact(fact)

    print(f"{width}×{height}", file=sys.stderr)
    solver.seconds = options.seconds
    try:
        if fact["value"] is None:
            fact["value"] = solver.outcome(empty, 0)
            fact["value_nodes"], fact["value_seconds"] = solver.nodes, round(time.process_time() - worked, 2)
            save()
            print(f"  {RESULT[fact['value']]}, {fact['value_seconds']} s", file=sys.stderr)
        if options.outcome:
            return
        for cell in distinct_first_moves(width, height):
            if str(cell) not in fact["margins"]:
                solver.seconds = options.seconds - (time.perf_counter() - began)
                after = empty.copy()
                after[cell] = 1
                fact["margins"][str(cell)] = -solver.margin(after, 1)
                save()
                print(f"  first move {cell}: {fact['margins'][str(cell)]:+d}", file=sys.stderr)
    except TimeoutError:
        save()
        raise


def distinct_first_moves(width: int, height: int) -> list[int]:
    """One cell of each class of cells that the board's symmetries exchange, the middle of the board first."""
    cells = sorted({int(orbit.min()) for orbit in symmetries(width, height).T})
    return sorted(cells, key=lambda cell: -min(cell // width, cell % width))


def margin_grid(fact: dict[str, Any]) -> list[list[int]] | None:
    """The margin after each first move, [H][W]; None unless all are known."""
    width, height = fact["width"], fact["height"]
    orbits = [str(int(orbit.min())) for orbit in symmetries(width, height).T]
    if not all(orbit in fact["margins"] for orbit in orbits):
        return None
    return [
        [fact["margins"][orbits[row * width + column]] for column in range(width)] for row in range(height)
    ]


def render(facts: list[dict[str, Any]]) -> str:
    """The page."""
    known = [fact for fact in facts if fact["value"] is not None]
    unknown = [fact for fact in facts if fact["value"] is None]
    megabytes = max((fact["megabytes"] for fact in facts), default=0)
    parts = [INTRODUCTION.format(megabytes=f"{megabytes:,.0f}"), claims(facts), findings(known), table(known)]
    if unknown:
        tried = ", ".join(f"{name(fact)} ({fact['seconds']:,.0f} s)" for fact in unknown)
        parts.append(f"Tried and not finished: {tried}.\n")
    parts.append(
        "## First moves\n\nThe first player's margin after each first move; `?` was not searched to the end.\n"
    )
    parts += [grid_section(fact) for fact in known if fact["margins"]]
    return "\n".join(parts)


def claims(facts: list[dict[str, Any]]) -> str:
    """What the paper says beside what was found."""
    found = {(fact["width"], fact["height"]): fact for fact in facts if fact["value"] is not None}
    rows = ["## Beside the paper\n", "| board | the paper | found |", "|---|---|---|"]
    for board, claim in CLAIMS.items():
        if board in found:
            rows.append(f"| {name(found[board])} | {claim} | {summary(found[board])} |")
    return "\n".join(rows) + "\n"


def findings(facts: list[dict[str, Any]]) -> str:
    """What the table says, in words that are counted from it."""
    odd = [fact for fact in facts if fact["width"] * fact["height"] % 2]
    even = [fact for fact in facts if fact not in odd]
    lines = [
        f"- The first player wins {tally(odd, 1)} of {len(odd)} solved boards with an odd number of cells.",
        f"- Of {len(even)} solved boards with an even number the first player wins {tally(even, 1)} and "
        f"{tally(even, 0)} are drawn.",
        f"- The second player wins {listed([fact for fact in facts if fact['value'] == -1])}.",
    ]
    same = [fact for fact in facts if len({*fact["margins"].values()}) == 1 and margin_grid(fact)]
    lines.append(f"- All first moves are equally good on {listed(same)}.")
    lost = [fact for fact in facts if fact["value"] == 1 and min(fact["margins"].values(), default=0) < 0]
    lines.append(f"- A first move can throw a won game away on {listed(lost)}.")
    return "## What was found\n\n" + "\n".join(lines) + "\n"


def tally(facts: list[dict[str, Any]], value: int) -> int:
    """How many boards have a value."""
    return sum(fact["value"] == value for fact in facts)


def listed(facts: list[dict[str, Any]]) -> str:
    """The names of boards, or `none of them`."""
    return ", ".join(map(name, facts)) or "none of them"


def summary(fact: dict[str, Any]) -> str:
    """Value and margin in words."""
    grid = margin_grid(fact)
    by = "" if grid is None or fact["value"] == 0 else f" by {abs(max(map(max, grid)))}"
    return RESULT[fact["value"]] + by


def table(facts: list[dict[str, Any]]) -> str:
    """One line a solved board."""
    rows = [
        "## Every solved board\n",
        "Nodes and seconds (of one processor) are for the value and the margin of every distinct first move, from an",
        "empty table; where the margins are not all known, for the value alone.\n",
        "| board | value | margin | best first moves | nodes | CPU seconds |",
        "|---|---|---|---|---|---|",
    ]
    for fact in facts:
        grid = margin_grid(fact)
        if grid is None:
            margin, best = "?", "?"
            nodes, seconds = fact["value_nodes"], fact["value_seconds"]
        else:
            largest = max(map(max, grid))
            number = sum(row.count(largest) for row in grid)
            margin, best = signed(largest), f"{number} of {fact['width'] * fact['height']}"
            nodes, seconds = fact["nodes"], fact["seconds"]
        rows.append(
            f"| {name(fact)} | {RESULT[fact['value']]} | {margin} | {best} | {nodes:,} | {seconds:,.2f} |"
        )
    return "\n".join(rows) + "\n"


def grid_section(fact: dict[str, Any]) -> str:
    """The first-move margins of a board as a picture; `?` where one is not known."""
    width, height = fact["width"], fact["height"]
    orbits = [int(orbit.min()) for orbit in symmetries(width, height).T]
    texts = [signed(fact["margins"][str(o)]) if str(o) in fact["margins"] else "?" for o in orbits]
    lines = [
        " ".join(f"{text:>3}" for text in texts[row * width : (row + 1) * width]) for row in range(height)
    ]
    return f"**{name(fact)}**: {summary(fact)}\n\n```\n" + "\n".join(lines) + "\n```\n"


def signed(margin: int) -> str:
    """`+2`, `0` or `-1`."""
    return f"{margin:+d}" if margin else "0"


def name(fact: dict[str, Any]) -> str:
    """`5×5`."""
    return f"{fact['width']}×{fact['height']}"


if __name__ == "__main__":
    main()
