"""GENERAL in text, and why an action is not legal. Host side only.

A position is one line: the rows from the top with `/` between them (`A` and `D` units, `G` the General, `.` empty),
the player who is the Attacker, the turn, the die, the hits, and the rights that are left.

    AAA....AAA/AA......AA/A........A/ … /D........D/DD......DD/DDD....DDD 1 0 4 0 ADO

The die is 1 to 6; `<` or `>` while the Defender chooses a unit to convert in the left or right triangle; else `-`.
The rights: `A` and `D` have not garrisoned yet, `O` the offensive is not used yet; `-` if none is left.

Cells are named by column letter, then row number from the top. A move or a garrisoning is `a1-d4`, the others are
`offensive d4`, `convert a1` and `pass`.
"""

import re
from typing import Any, NamedTuple

import numpy as np

from stratagem.games.general.board import ATTACKER, CELLS, DEFENDER, GARRISONS, GENERAL, MOAT, SIDE, TRIANGLES

COLUMNS = "abcdefghij"
ROLES = ("Attacker", "Defender")
CHOOSING = "-<>"
CELL = re.compile(r"([a-j])(10|[1-9])")
GENERAL_CELL = 44
PASS = CELLS * CELLS
RESERVED = re.compile(r"reserved ([123])")


class Parts(NamedTuple):
    """A position that was read."""

    units: np.ndarray  # bool[2, 100]
    attacker: int
    turn: int
    die: int
    converting: int
    hits: int
    garrisoned: list[bool]
    stormed: bool


def on_board(rows: Any) -> np.ndarray:
    """bool[100] from uint16[10]."""
    return ((np.asarray(rows)[:, None] >> np.arange(SIDE)) & 1 == 1).reshape(-1)


def signs(state: Any) -> list[str]:
    """Ten rows of ten signs."""
    board = np.full(CELLS, ".")
    for rows, sign in ((GENERAL, "G"), (state.units[ATTACKER], "A"), (state.units[DEFENDER], "D")):
        board[on_board(rows)] = sign
    return ["".join(row) for row in board.reshape(SIDE, SIDE)]


def write(state: Any) -> str:
    garrisoned = np.asarray(state.garrisoned)
    left = (("A", not garrisoned[0]), ("D", not garrisoned[1]), ("O", not bool(state.stormed)))
    rights = "".join(sign for sign, there in left if there) or "-"
    die = str(int(state.die)) if int(state.die) else CHOOSING[int(state.converting)]
    return f"{'/'.join(signs(state))} {int(state.attacker) + 1} {int(state.turn)} {die} {int(state.hits)} {rights}"


def read(line: str, turns: int) -> Parts:
    words = line.split()
    if len(words) != 6:
        raise ValueError(
            f"{line!r}: wanted the board, the Attacker, the turn, the die, the hits and the rights"
        )
    board, attacker, turn, die, hits, rights = words
    rows = board.split("/")
    if len(rows) != SIDE or any(len(row) != SIDE for row in rows):
        raise ValueError(f"{line!r}: a board of {SIDE} rows of {SIDE} cells is needed")
    cells = np.array(list("".join(rows)))
    strange = set(cells) - set("ADG.")
    if strange:
        raise ValueError(f"{line!r}: {''.join(sorted(strange))!r} is not A, D, G or .")
    if not np.array_equal(cells == "G", on_board(GENERAL)):
        raise ValueError(f"{line!r}: G stands on {', '.join(map(name, np.flatnonzero(on_board(GENERAL))))}")
    if attacker not in ("1", "2"):
        raise ValueError(f"{line!r}: the Attacker is player 1 or 2, not {attacker!r}")
    if not turn.isdecimal() or int(turn) > turns:
        raise ValueError(f"{line!r}: the turn is 0 to {turns}, not {turn!r}")
    if len(die) != 1 or die not in "123456" + CHOOSING:
        raise ValueError(f"{line!r}: the die is 1 to 6, - for none, < or > for a conversion, not {die!r}")
    if hits not in ("0", "1", "2", "3"):
        raise ValueError(f"{line!r}: hits are 0 to 3, not {hits!r}")
    if rights != ("".join(sign for sign in "ADO" if sign in rights) or "-"):
        raise ValueError(f"{line!r}: the rights left are some of ADO in this order, or -, not {rights!r}")
    if die in "<>" and int(turn) % 2 == ATTACKER:
        raise ValueError(f"{line!r}: only the Defender, on odd turns, converts")
    return Parts(
        units=np.stack([cells == "A", cells == "D"]),
        attacker=int(attacker) - 1,
        turn=int(turn),
        die=int(die) if die.isdecimal() else 0,
        converting=max(CHOOSING.find(die), 0),
        hits=int(hits),
        garrisoned=["A" not in rights, "D" not in rights],
        stormed="O" not in rights,
    )


def name(cell: Any) -> str:
    """`d4`"""
    row, column = divmod(int(cell), SIDE)
    return f"{COLUMNS[column]}{row + 1}"


def write_action(action: int) -> str:
    if action >= PASS:
        return "pass" if action == PASS else f"reserved {action - PASS}"
    start, end = divmod(action, CELLS)
    if start == end:
        return f"convert {name(end)}"
    return f"offensive {name(end)}" if start == GENERAL_CELL else f"{name(start)}-{name(end)}"


def read_action(word: str) -> int:
    word = " ".join(word.lower().split())
    if word == "pass":
        return PASS
    if match := RESERVED.fullmatch(word):
        return PASS + int(match[1])
    kind, _, cell = word.partition(" ")
    if kind in ("convert", "offensive") and cell:
        end = read_cell(cell)
        return (end if kind == "convert" else GENERAL_CELL) * CELLS + end
    start, dash, end_name = word.partition("-")
    if not dash:
        raise ValueError(f"{word!r} is not a move; write a1-d4, `offensive d4`, `convert a1` or pass")
    return read_cell(start) * CELLS + read_cell(end_name)


def read_cell(word: str) -> int:
    match = CELL.fullmatch(word.strip())
    if not match:
        raise ValueError(f"{word!r} is not a cell; cells are a1 to j10")
    return (int(match[2]) - 1) * SIDE + COLUMNS.index(match[1])


def why_not(state: Any, seat: int, action: int) -> str:
    """In an unfinished game."""
    role, die = int(state.turn) % 2, int(state.die)
    mover = int(state.attacker) ^ role
    if seat != mover:
        return f"it is player {mover + 1}'s turn"
    if action > PASS:
        return "this action is reserved and never legal"
    if int(state.converting):
        here = on_board(state.units[ATTACKER]) & on_board(TRIANGLES[int(state.converting) - 1])
        return f"first choose the unit to convert: {', '.join(map(name, np.flatnonzero(here)))}"
    if action == PASS:
        return "to pass is only for a turn in which no value of the die allows anything"
    if die == 0:
        return "no value of the die allows anything, so there is only pass"
    start, end = divmod(action, CELLS)
    if start == end:
        return "there is nothing to convert now"
    if start == GENERAL_CELL:
        return _why_no_offensive(state, role, die, end)
    return _why_no_move(state, role, die, start, end)


def _why_no_offensive(state: Any, role: int, die: int, end: int) -> str:
    defenders = int(on_board(state.units[DEFENDER]).sum())
    if role != DEFENDER:
        return "the offensive of the General is the Defender's"
    if bool(state.stormed):
        return "the offensive of the General was used already"
    if defenders >= 3:
        return f"the offensive is for a Defender with fewer than 3 units, not {defenders}"
    if die != 1:
        return f"the offensive needs a die of 1, not {die}"
    return f"no Attacker unit stands in the moat on {name(end)}"


def _why_no_move(state: Any, role: int, die: int, start: int, end: int) -> str:
    own, theirs = on_board(state.units[role]), on_board(state.units[1 - role])
    general = on_board(GENERAL)
    if not own[start]:
        return f"none of your units stands on {name(start)}"
    if own[end]:
        return f"your own unit stands on {name(end)}"
    if general[end] and role == DEFENDER:
        return "the Defender's units may not stand on the General"
    row, column = divmod(start, SIDE)
    down, right = end // SIDE - row, end % SIDE - column
    far = max(abs(down), abs(right))
    straight = down == 0 or right == 0 or abs(down) == abs(right)
    reason = f"{name(start)}-{name(end)} is not along one of the 8 directions"
    if straight and far != die:
        reason = f"{name(start)}-{name(end)} is {far} cells, the die shows {die}"
    elif straight:
        passed = [(row + down * one // far) * SIDE + column + right * one // far for one in range(1, far)]
        blocked = next(cell for cell in passed if own[cell] or theirs[cell] or general[cell])
        reason = f"the way is blocked on {name(blocked)}"
    if die != 6:
        return reason
    if bool(state.garrisoned[role]):
        return f"{reason}, and you have garrisoned already"
    if not on_board(GARRISONS[role])[start]:
        return f"{reason}, and only units in your garrisons may garrison"
    return f"{reason}, and garrisoning needs an empty cell outside the garrisons and the General"


def draw(state: Any) -> dict[str, Any]:
    """What a board on a screen needs."""
    role = int(state.turn) % 2
    return {
        "kind": "general",
        "rows": signs(state),
        "moat": [name(cell) for cell in np.flatnonzero(on_board(MOAT))],
        "attacker": int(state.attacker),
        "mover": int(state.attacker) ^ role,
        "role": ROLES[role],
        "turn": int(state.turn),
        "die": int(state.die),
        "converting": ["", "left", "right"][int(state.converting)],
        "hits": int(state.hits),
        "garrisoned": np.asarray(state.garrisoned).tolist(),
        "stormed": bool(state.stormed),
    }
