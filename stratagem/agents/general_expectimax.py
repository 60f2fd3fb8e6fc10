"""The numba core of GENERAL's classical players: expectimax over one or two actions with a hand heuristic.

All values are the Attacker's. A leaf is worth, in units:

- units of the Attacker minus units of the Defender, and four for each hit on the General;
- `position` times what the units' places are worth: for the Attacker, from how many dice and directions of a cell a
  General cell is the right distance away, over six (blockers are ignored); for the Defender, 0.5 for a guard in the
  moat and 0.5 more for the first of them, and up to 0.3 for a unit near the Attacker's triangles, where it converts;
- `position` times 0.5 for each garrisoning not used yet, and for the offensive.

A decided game is worth `WIN`, a drawn one 0. An Attacker with fewer units than hits still to make cannot win any more
and pays `HOPELESS` for it, unless `position` is 0. A chance event is worth the mean of its outcomes: the guards that an
interception may take, and the dice that allow something.

A position is `board` int8[100] (0 empty, 1 Attacker, 2 Defender) and `facts` int64[6]: hits, garrisoning used by the
Attacker, by the Defender, offensive used, turn, turns at most.
"""

import numpy as np
from numba import njit

from stratagem.games.general.board import GARRISONS, GENERAL, MOAT, STEPS, TRIANGLES
from stratagem.games.general.text import on_board

WIN = 1000.0
HOPELESS = 6.0
HIT = 4.0
MOST_ACTIONS = 1200  # 12 units to 72 cells by garrisoning, and 23 units in 8 directions
PASS = 10_000
HITS, TURN, TURNS, STORMED = 0, 4, 5, 3
PLAIN, INTERCEPTED = 0, 1  # what an action leaves to chance; 2 and 3: a choice in the left or right triangle

_DOWN, _RIGHT = (np.array(part) for part in zip(*STEPS, strict=True))
_GENERAL, _MOAT = on_board(GENERAL), on_board(MOAT)
_GARRISON = np.stack([on_board(rows) for rows in GARRISONS])
_TRIANGLE = np.stack([on_board(rows) for rows in TRIANGLES])


def _threats() -> np.ndarray:
    """float64[100]: in how many ways a cell is one die away from the General, over six."""
    found = np.zeros(100)
    for cell in range(100):
        for down, right in STEPS:
            for die in range(1, 7):
                row, column = cell // 10 + die * down, cell % 10 + die * right
                if 0 <= row < 10 and 0 <= column < 10 and _GENERAL[row * 10 + column]:
                    found[cell] += 1 / 6
                    break  # the second General cell of a line is behind the first
    return found


_THREAT = _threats()
_RAID = np.array([0.3 * max(0, 6 - cell // 10) / 6 for cell in range(100)])
_GUARD, _FIRST_GUARD, _RIGHT_LEFT = 0.5, 0.5, 0.5


@njit(cache=True, nogil=True)
def leaf(board, facts, position):
    """What a position is worth when nobody looks further."""
    attackers = defenders = guards = 0
    places = 0.0
    for cell in range(100):
        if board[cell] == 1:
            attackers += 1
            places += _THREAT[cell]
        elif board[cell] == 2:
            defenders += 1
            guards += _MOAT[cell]
            places -= _RAID[cell]
    if facts[HITS] >= 3:
        return WIN
    if attackers == 0:
        return -WIN
    if facts[TURN] >= facts[TURNS]:
        return 0.0
    value = attackers - defenders + HIT * facts[HITS]
    if position == 0:
        return value
    if attackers + facts[HITS] < 3:
        value -= HOPELESS
    places -= _GUARD * guards + _FIRST_GUARD * (guards > 0)
    places += _RIGHT_LEFT * (facts[2] - facts[1] + facts[STORMED])
    return value + position * places


@njit(cache=True, nogil=True)
def over(board, facts):
    if facts[HITS] >= 3 or facts[TURN] >= facts[TURNS]:
        return True
    return not (board == 1).any()


@njit(cache=True, nogil=True)
def reaches(board, own, start, way, die):
    """Where a normal move leads, or −1."""
    row, column = start // 10, start % 10
    down, right = _DOWN[way], _RIGHT[way]
    last_row, last_column = row + die * down, column + die * right
    if not (0 <= last_row < 10 and 0 <= last_column < 10):
        return -1
    for step in range(1, die):
        cell = (row + step * down) * 10 + column + step * right
        if board[cell] != 0 or _GENERAL[cell]:
            return -1
    end = last_row * 10 + last_column
    if board[end] == own or (own == 2 and _GENERAL[end]):
        return -1
    return end


@njit(cache=True, nogil=True)
def list_actions(board, facts, role, die, out):
    """Write the legal actions of a die into `out`; return how many."""
    own, number = role + 1, 0
    garrisoning = die == 6 and facts[1 + role] == 0
    for start in range(100):
        if board[start] != own:
            continue
        for way in range(8):
            end = reaches(board, own, start, way, die)
            if end < 0:
                continue
            open_ground = board[end] == 0 and not (_GENERAL[end] or _GARRISON[0, end] or _GARRISON[1, end])
            if not (
                garrisoning and _GARRISON[role, start] and open_ground
            ):  # those come with the garrisonings
                out[number] = start * 100 + end
                number += 1
        if garrisoning and _GARRISON[role, start]:
            for end in range(100):
                if board[end] == 0 and not (_GENERAL[end] or _GARRISON[0, end] or _GARRISON[1, end]):
                    out[number] = start * 100 + end
                    number += 1
    if die == 1 and role == 1 and facts[STORMED] == 0 and (board == 2).sum() < 3:
        for cell in range(100):
            if _MOAT[cell] and board[cell] == 1:
                out[number] = 4400 + cell
                number += 1
    return number


@njit(cache=True, nogil=True)
def act(board, facts, role, die, action):
    """Play an action on `board` and `facts` in place; return what is left to chance or choice."""
    if action == PASS:
        facts[TURN] += 1
        return PLAIN
    start, end = action // 100, action % 100
    own = role + 1
    if start == end:  # a choice of conversion
        board[end] = 2
        facts[TURN] += 1
        return PLAIN
    if start == 44:
        board[end] = 0
        facts[STORMED] = 1
        facts[TURN] += 1
        return PLAIN
    if die == 6:
        straight = False
        for way in range(8):
            straight |= reaches(board, own, start, way, die) == end
        if not straight:
            facts[1 + role] = 1
    board[start] = 0
    facts[TURN] += 1
    if _GENERAL[end]:
        for cell in range(100):
            if _MOAT[cell] and board[cell] == 2:
                return INTERCEPTED
        facts[HITS] += 1
        return PLAIN
    board[end] = own
    if role == 1:
        for side in range(2):
            if _TRIANGLE[side, end]:
                prisoners, last = 0, 0
                for cell in range(100):
                    if _TRIANGLE[side, cell] and board[cell] == 1:
                        prisoners, last = prisoners + 1, cell
                if prisoners == 1:
                    board[last] = 2
                elif prisoners > 1:
                    facts[TURN] -= 1
                    return 2 + side
    return PLAIN


@njit(cache=True, nogil=True)
def after_leaf(board, facts, left, position):
    """The worth of a position after an action, with what is left to chance and choice, without a reply."""
    if left == INTERCEPTED:
        total, number = 0.0, 0
        for cell in range(100):
            if _MOAT[cell] and board[cell] == 2:
                board[cell] = 0
                total += leaf(board, facts, position)
                number += 1
                board[cell] = 2
        return total / number
    if left >= 2:
        best = np.inf
        facts[TURN] += 1
        for cell in range(100):
            if _TRIANGLE[left - 2, cell] and board[cell] == 1:
                board[cell] = 2
                best = min(best, leaf(board, facts, position))
                board[cell] = 1
        facts[TURN] -= 1
        return best
    return leaf(board, facts, position)


@njit(cache=True, nogil=True)
def replied(board, facts, role, position, out, board_after):
    """The worth of a position in which `role` rolls and answers once."""
    if over(board, facts):
        return leaf(board, facts, position)
    total, useful = 0.0, 0
    facts_after = facts.copy()
    for die in range(1, 7):
        number = list_actions(board, facts, role, die, out)
        if number == 0:
            continue
        best = -np.inf if role == 0 else np.inf
        for index in range(number):
            board_after[:] = board
            facts_after[:] = facts
            left = act(board_after, facts_after, role, die, out[index])
            value = after_leaf(board_after, facts_after, left, position)
            best = max(best, value) if role == 0 else min(best, value)
        total += best
        useful += 1
    if useful == 0:
        facts[TURN] += 1
        total, useful = leaf(board, facts, position), 1
        facts[TURN] -= 1
    return total / useful


@njit(cache=True, nogil=True)
def after_reply(board, facts, left, role, position, out, board_after):
    """The worth of a position after an action of `role`, with chance, choice and the answer of the other side."""
    if left == INTERCEPTED:
        total, number = 0.0, 0
        for cell in range(100):
            if _MOAT[cell] and board[cell] == 2:
                board[cell] = 0
                total += replied(board, facts, 1 - role, position, out, board_after)
                number += 1
                board[cell] = 2
        return total / number
    if left >= 2:
        best = np.inf
        facts[TURN] += 1
        for cell in range(100):
            if _TRIANGLE[left - 2, cell] and board[cell] == 1:
                board[cell] = 2
                best = min(best, replied(board, facts, 1 - role, position, out, board_after))
                board[cell] = 1
        facts[TURN] -= 1
        return best
    return replied(board, facts, 1 - role, position, out, board_after)


@njit(cache=True, nogil=True)
def root_values(board, facts, role, die, actions, depth, position):
    """float64[N]: the worth to the mover of each of these legal actions."""
    values = np.empty(len(actions))
    out, spare = np.empty(MOST_ACTIONS, np.int64), np.empty(100, np.int8)
    sign = 1.0 if role == 0 else -1.0
    for index in range(len(actions)):
        board_after, facts_after = board.copy(), facts.copy()
        left = act(board_after, facts_after, role, die, actions[index])
        if depth == 1:
            value = after_leaf(board_after, facts_after, left, position)
        else:
            value = after_reply(board_after, facts_after, left, role, position, out, spare)
        values[index] = sign * value
    return values
