"""Generals in text: positions a person can read and edit, and actions a person can type.

A position is the rows from the top, `/` or a line break between rows, blanks between cells, then `| turn result`.
A cell is a kind, an owner and an army: `.` plain, `#` mountain, `c` castle, `g` the owner's general, `x` the
general that the owner took; `a` or `b` or nothing; a number or nothing for 0. `A` and `B` are short for the
generals `ga1` and `gb1`. The result is `-` (not over),
`a` or `b` (the winner), `=` (drawn) or `^` (out of turns). On a map, `| 0 -` may be left out.

    A . # . /
    . c42 . B
"""

import re
from typing import Any

import jax.numpy as jnp
import numpy as np

from stratagem.games.generals.board import (
    CAPPED,
    DRAW,
    GENERAL,
    MOUNTAIN,
    NEUTRAL,
    NOBODY,
    State,
    army_of,
    clock_of,
    kind_of,
    new_state,
    owner_of,
    owners,
    standing,
)
from stratagem.games.generals.rules import BUILD, HALF, PASS

KINDS = ".#cg"
TAKEN = "x"
RESULTS = {"-": NOBODY, "a": 0, "b": 1, "=": DRAW, "^": CAPPED}
CELL = re.compile(r"([.#cgx])([ab]?)(\d*)")
ACTION = re.compile(r"(\d+),(\d+) (up|down|left|right|build|pass)( half)?")
WAYS = ("up", "down", "left", "right")
LETTERS = ("", "a", "b")


def write(state: State, shape: tuple[int, int]) -> str:
    """One line. A finished game is written as it was before the winner took over."""
    kinds, holders = np.asarray(kind_of(state.cells)), np.asarray(owner_of(state.cells))
    armies = np.asarray(army_of(state.cells, clock_of(state)))
    parts = zip(kinds.tolist(), holders.tolist(), armies.tolist(), strict=True)
    cells = [write_cell(*part) for part in parts]
    for seat, place in enumerate(np.asarray(state.generals).tolist()):
        if holders[place] != seat + 1:
            cells[place] = f"{TAKEN}{LETTERS[holders[place]]}{armies[place] or ''}"
    rows = [" ".join(cells[start : start + shape[1]]) for start in range(0, len(cells), shape[1])]
    result = next(sign for sign, winner in RESULTS.items() if winner == int(state.winner))
    return f"{' / '.join(rows)} | {int(state.turn)} {result}"


def write_cell(kind: int, owner: int, army: int) -> str:
    if kind == GENERAL and army == 1 and owner != NEUTRAL:
        return LETTERS[owner].upper()
    return f"{KINDS[kind]}{LETTERS[owner]}{army or ''}"


def read(line: str, shape: tuple[int, int]) -> State:
    """The position of such a text; ValueError says what is wrong with it."""
    board, _, rest = line.strip().partition("|")
    rows = [row.split() for row in re.split(r"/\s*\n|/|\n", board.strip().strip("/")) if row.strip()]
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise ValueError(f"a board of {shape[0]} rows of {shape[1]} cells is needed, not {_sizes(rows)}")
    names = [cell for row in rows for cell in row]
    cells = np.array([read_cell(cell) for cell in names])  # [N, kind owner army]
    taken = np.array([cell.startswith(TAKEN) for cell in names])
    first_seat = np.where(taken, 3 - cells[:, 1], cells[:, 1])
    generals = [np.flatnonzero((cells[:, 0] == GENERAL) & (first_seat == seat + 1)) for seat in range(2)]
    turn, result = (rest.split() + ["0", "-"][len(rest.split()) :])[:2]
    if len(rest.split()) > 2 or not turn.isdecimal() or result not in RESULTS:
        raise ValueError(f"after | comes the turn and one of {' '.join(RESULTS)}, not {rest.strip()!r}")
    if any(own.size != 1 for own in generals):
        raise ValueError("each side needs one general, ga… and gb… (or A and B)")
    if taken.any() and RESULTS[result] not in (0, 1, DRAW):
        raise ValueError("a general has been taken, so the game is over: the result is a, b or =")
    kind, owner, army = (jnp.asarray(part, jnp.int32) for part in cells.T)
    state = new_state(kind, owner, army, jnp.int32(int(turn)), jnp.int32(RESULTS[result]))
    return state._replace(generals=jnp.asarray(np.concatenate(generals), jnp.int32))


def read_cell(cell: str) -> tuple[int, int, int]:
    """(kind, owner, army)"""
    if cell in ("A", "B"):
        return GENERAL, "AB".index(cell) + 1, 1
    match = CELL.fullmatch(cell)
    if not match:
        raise ValueError(f"{cell!r} is not a cell; cells are like . # c42 .a5 cb3 ga1 A B")
    kind = GENERAL if match[1] == TAKEN else KINDS.index(match[1])
    owner, army = LETTERS.index(match[2]), int(match[3] or 0)
    if kind == GENERAL and owner == NEUTRAL:
        raise ValueError(f"{cell!r}: a general has an owner, a or b")
    if kind == MOUNTAIN and (owner or army):
        raise ValueError(f"{cell!r}: a mountain has no owner and no army")
    if army >= 2**26:
        raise ValueError(f"{cell!r}: no army is that large")
    return kind, owner, army


def _sizes(rows: list[list[str]]) -> str:
    return f"{len(rows)} rows of {' '.join(map(str, sorted({len(row) for row in rows}))) or '0'}"


def write_action(action: int, shape: tuple[int, int], per_cell: int) -> str:
    """`3,4 up`, `3,4 up half`, `3,4 pass` or `3,4 build`, with row and column from 0."""
    cell, k = divmod(action, per_cell)
    row, column = divmod(cell, shape[1])
    if k == PASS:
        return f"{row},{column} pass"
    if k == BUILD:
        return f"{row},{column} build"
    return f"{row},{column} {WAYS[k % HALF]}{' half' if k >= HALF else ''}"


def read_action(line: str, shape: tuple[int, int], per_cell: int) -> int:
    words = line.strip().lower()
    match = ACTION.fullmatch(words)
    if not match or not (int(match[1]) < shape[0] and int(match[2]) < shape[1]):
        raise ValueError(f"{line!r} is not an action; actions are like '3,4 up', '3,4 left half', '3,4 pass'")
    cell = int(match[1]) * shape[1] + int(match[2])
    if match[3] in WAYS:
        return cell * per_cell + WAYS.index(match[3]) + (HALF if match[4] else 0)
    k = PASS if match[3] == "pass" else BUILD
    if match[4] or k >= per_cell:
        raise ValueError(f"{line!r}: there is no such action in this game")
    return cell * per_cell + k


def why_not(state: State, seat: int, action: int, shape: tuple[int, int], per_cell: int) -> str:
    cell, k = divmod(action, per_cell)
    row, column = divmod(cell, shape[1])
    word = state.cells[cell]
    name = f"{row},{column}"
    if k == PASS:
        return "a pass is given on the own general's cell, so that it is one action"
    if int(owner_of(word)) != seat + 1:
        return f"{name} is not yours"
    if k == BUILD:
        return f"{name} is no plain cell with enough army for a castle"
    if int(army_of(word, clock_of(state))) < 2:
        return f"{name} holds no army that could leave: at least one stays behind"
    return f"there is a mountain or the edge {WAYS[k % HALF]} of {name}"


def draw_all(state: State, shape: tuple[int, int]) -> dict[str, Any]:
    """The whole board for a screen, with nothing hidden."""
    clock = clock_of(state)
    land, total = standing(state)

    def grid(part: Any) -> list[list[int]]:
        return np.asarray(part).reshape(shape).tolist()

    return {
        "kind": "generals",
        "seat": None,
        "seen": grid(kind_of(state.cells) + 1),
        "owner": grid(owners(state)),
        "army": grid(army_of(state.cells, clock)),
        "land": np.asarray(land).tolist(),
        "total": np.asarray(total).tolist(),
        "turn": int(state.turn),
    }
