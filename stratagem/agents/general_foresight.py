"""Looking ahead in GENERAL with learned beliefs, against somebody who is taken to answer as expectimax does.

Own action, the other side's roll and what expectimax would answer, then either what the belief says, or the own next
roll and the best action then. All values are the Attacker's, from 0 to 1, and chance events are worth the mean of their
outcomes, as in `general_expectimax`.
"""

import numpy as np
from numba import njit

from stratagem.agents.general_belief import beliefs_of, chance, features
from stratagem.agents.general_expectimax import INTERCEPTED, PLAIN, act, list_actions, root_values
from stratagem.agents.general_heuristic import HITS, IS_MOAT, TRIANGLE, TURN, TURNS

LOOKED_AT = 60  # of the next own actions; there are only more where units may be garrisoned
ANSWERS = 3  # of those that expectimax likes equally


@njit(cache=True, nogil=True)
def foreseen(beliefs, board, facts, role, die, actions, space, rooms, ahead, width, margin):
    """float64[N]: what the mover expects after each of these actions, from 0 to 1.

    Only the `width` best by belief that are no further than `margin` behind are looked at; the others stay below them.
    `rooms` int64[2, MOST_ACTIONS] is to write in.
    """
    sign = 1 - 2 * role
    found = beliefs_of(beliefs[role], board, facts, die, actions, space)
    found = found if role == 0 else 1 - found
    if ahead == 1:
        return found
    order, least = np.argsort(-found), found.max() - margin
    looked, worst = 0, 1.0
    for index in order:
        if looked == width or found[index] < least:
            break
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, role, die, actions[index])
        value = _resolved(beliefs, after, changed, left, 1 - role, space, rooms, ahead)
        found[index] = value if sign > 0 else 1 - value
        looked, worst = looked + 1, min(worst, found[index])
    for index in order[looked:]:
        found[index] = min(found[index], worst) - 1  # behind all that were looked at
    return found


@njit(cache=True, nogil=True)
def _resolved(beliefs, board, facts, left, other, space, rooms, ahead):
    """The value after an own action, with what it leaves to chance or choice; then the other side answers."""
    if left == PLAIN:
        return _answered(beliefs, board, facts, other, space, rooms, ahead)
    kind = 2 if left == INTERCEPTED else 1
    total, least, number = 0.0, 1.0, 0
    facts[TURN] += left != INTERCEPTED
    for cell in range(100):
        if board[cell] == kind and (IS_MOAT[cell] if left == INTERCEPTED else TRIANGLE[left - 2, cell]):
            board[cell] = 0 if left == INTERCEPTED else 2
            value = _answered(beliefs, board, facts, other, space, rooms, ahead)
            total, least, number = total + value, min(least, value), number + 1
            board[cell] = kind
    facts[TURN] -= left != INTERCEPTED
    return total / number if left == INTERCEPTED else least


@njit(cache=True, nogil=True)
def _decided(board, facts):
    """What the Attacker has of a game that is over, or −1."""
    if facts[HITS] >= 3:
        return 1.0
    if not (board == 1).any():
        return 0.0
    return 0.5 if facts[TURN] >= facts[TURNS] else -1.0


@njit(cache=True, nogil=True)
def _answered(beliefs, board, facts, role, space, rooms, ahead):
    """The value when this side rolls and answers as expectimax of depth 2 does."""
    decided = _decided(board, facts)
    if decided >= 0:
        return decided
    total, useful = 0.0, 0
    for die in range(1, 7):
        number = list_actions(board, facts, role, die, rooms[0])
        if number:
            answers = rooms[0, :number].copy()
            total += _answer(beliefs, board, facts, role, die, answers, space, rooms, ahead)
            useful += 1
    if useful:
        return total / useful
    facts[TURN] += 1
    value = _next(beliefs, board, facts, space, rooms, ahead)
    facts[TURN] -= 1
    return value


@njit(cache=True, nogil=True)
def _answer(beliefs, board, facts, role, die, answers, space, rooms, ahead):
    """The mean over what expectimax likes best."""
    liked = root_values(board, facts, role, die, answers, 2, 1.0)
    best, total, number = liked.max() - 1e-9, 0.0, 0
    for index in range(len(answers)):
        if liked[index] < best:
            continue
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, role, die, answers[index])
        if left == INTERCEPTED:
            guards = np.flatnonzero(IS_MOAT & (after == 2))
            for guard in guards:
                after[guard] = 0
                total += _next(beliefs, after, changed, space, rooms, ahead) / len(guards)
                after[guard] = 2
        else:
            if left >= 2:
                choices = 101 * np.flatnonzero(TRIANGLE[left - 2] & (after == 1))
                choice = choices[root_values(after, changed, role, 0, choices, 2, 1.0).argmax()]
                act(after, changed, role, 0, choice)
            total += _next(beliefs, after, changed, space, rooms, ahead)
        number += 1
        if number == ANSWERS:
            break
    return total / number


@njit(cache=True, nogil=True)
def _next(beliefs, board, facts, space, rooms, ahead):
    """The value when the own side is to roll again."""
    decided, role = _decided(board, facts), facts[TURN] % 2
    if decided >= 0:
        return decided
    total, useful = 0.0, 0
    for die in range(1, 7 if ahead >= 3 else 1):
        number = list_actions(board, facts, role, die, rooms[1])
        if number:
            every = -(-number // LOOKED_AT)
            values = beliefs_of(beliefs[role], board, facts, die, rooms[1, :number:every], space)
            total += values.max() if role == 0 else values.min()
            useful += 1
    if useful:
        return total / useful
    return chance(beliefs[1 - role], space, features(board, facts, space))
