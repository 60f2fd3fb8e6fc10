"""The numba core of GENERAL's classical players: expectimax over one or two actions.

All values are the Attacker's; leaves and the form of a position are those of `general_heuristic`. A chance event is
worth the mean of its outcomes: the guards that an interception may take, and the dice that allow something.
"""

import numpy as np
from numba import njit

from stratagem.agents.general_heuristic import (
    DOWN,
    GARRISON,
    HITS,
    IS_GENERAL,
    IS_MOAT,
    RIGHT,
    STORMED,
    TRIANGLE,
    TURN,
    leaf,
)
from stratagem.agents.general_reply import is_open, replied
from stratagem.agents.general_survey import defended, is_surveyed, survey

MOST_ACTIONS = 1200  # 12 units to 72 cells by garrisoning, and 23 units in 8 directions
PASS = 10_000
PLAIN, INTERCEPTED = 0, 1  # what an action leaves to chance; 2 and 3: a choice in the left or right triangle


@njit(cache=True, nogil=True)
def reaches(board, own, start, way, die):
    """Where a normal move leads, or −1."""
    row, column = start // 10, start % 10
    down, right = DOWN[way], RIGHT[way]
    last_row, last_column = row + die * down, column + die * right
    if not (0 <= last_row < 10 and 0 <= last_column < 10):
        return -1
    for step in range(1, die):
        cell = (row + step * down) * 10 + column + step * right
        if board[cell] != 0 or IS_GENERAL[cell]:
            return -1
    end = last_row * 10 + last_column
    if board[end] == own or (own == 2 and IS_GENERAL[end]):
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
            if garrisoning and GARRISON[role, start] and is_open(board, end):
                continue  # comes with the garrisonings
            out[number] = start * 100 + end
            number += 1
        if garrisoning and GARRISON[role, start]:
            for end in range(100):
                if is_open(board, end):
                    out[number] = start * 100 + end
                    number += 1
    if die == 1 and role == 1 and facts[STORMED] == 0 and (board == 2).sum() < 3:
        for cell in range(100):
            if IS_MOAT[cell] and board[cell] == 1:
                out[number] = 4400 + cell
                number += 1
    return number


@njit(cache=True, nogil=True)
def is_garrisoning(board, role, action):
    """Whether a legal action of a six is no normal move."""
    straight = False
    for way in range(8):
        straight |= reaches(board, role + 1, action // 100, way, 6) == action % 100
    return not straight


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
    if die == 6 and is_garrisoning(board, role, action):
        facts[1 + role] = 1
    board[start] = 0
    facts[TURN] += 1
    if IS_GENERAL[end]:
        for cell in range(100):
            if IS_MOAT[cell] and board[cell] == 2:
                return INTERCEPTED
        facts[HITS] += 1
        return PLAIN
    board[end] = own
    if role == 1:
        for side in range(2):
            if TRIANGLE[side, end]:
                prisoners, last = 0, 0
                for cell in range(100):
                    if TRIANGLE[side, cell] and board[cell] == 1:
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
            if IS_MOAT[cell] and board[cell] == 2:
                board[cell] = 0
                total += leaf(board, facts, position)
                number += 1
                board[cell] = 2
        return total / number
    if left >= 2:
        best = np.inf
        facts[TURN] += 1
        for cell in range(100):
            if TRIANGLE[left - 2, cell] and board[cell] == 1:
                board[cell] = 2
                best = min(best, leaf(board, facts, position))
                board[cell] = 1
        facts[TURN] -= 1
        return best
    return leaf(board, facts, position)


@njit(cache=True, nogil=True)
def after_reply(board, facts, left, role, position, best_of):
    """The worth of a position after an action of `role`, with chance, choice and the answer of the other side."""
    if left == INTERCEPTED:
        total, number = 0.0, 0
        for cell in range(100):
            if IS_MOAT[cell] and board[cell] == 2:
                board[cell] = 0
                total += replied(board, facts, 1 - role, position, best_of)
                number += 1
                board[cell] = 2
        return total / number
    if left >= 2:
        best = np.inf
        facts[TURN] += 1
        for cell in range(100):
            if TRIANGLE[left - 2, cell] and board[cell] == 1:
                board[cell] = 2
                best = min(best, replied(board, facts, 1 - role, position, best_of))
                board[cell] = 1
        facts[TURN] -= 1
        return best
    return replied(board, facts, 1 - role, position, best_of)


@njit(cache=True, nogil=True)
def root_values(board, facts, role, die, actions, depth, position):
    """float64[N]: the worth to the mover of each of these legal actions."""
    if depth == 2:
        return answered_values(board, facts, role, die, actions, position, survey(board))
    values = np.empty(len(actions))
    for index in range(len(actions)):
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, role, die, actions[index])
        value = after_leaf(after, changed, left, position)
        values[index] = value if role == 0 else -value
    return values


@njit(cache=True, nogil=True)
def answered_values(board, facts, role, die, actions, position, seen):
    """The same with the answer of the other side; `seen` is the `survey` of this board."""
    values, best_of = np.empty(len(actions)), np.empty(7)  # by die
    if role == 1:
        spends = np.zeros(len(actions), np.bool_)
        for index in range(len(actions) if die == 6 else 0):
            spends[index] = is_garrisoning(board, role, actions[index])
        defended(board, facts, position, seen, spends, actions, values)
    for index in range(len(actions)):
        if role == 0 or not is_surveyed(facts, actions[index]):
            after, changed = board.copy(), facts.copy()
            left = act(after, changed, role, die, actions[index])
            values[index] = after_reply(after, changed, left, role, position, best_of)
    return values if role == 0 else -values
