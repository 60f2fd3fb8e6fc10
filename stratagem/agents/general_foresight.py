"""Looking ahead in GENERAL with learned beliefs, against somebody who is taken to answer as expectimax does.

What the other side rolls and answers is one more chance event: a list of positions with their probabilities. So the
only decisions are the own ones: the actions that the belief likes best are followed through that event to the own next
roll, and there either the belief speaks, or the best action by belief counts, or the best few are followed in turn.

All values are the Attacker's, from 0 to 1, and chance events are worth the mean of their outcomes.
"""

import numpy as np
from numba import njit

from stratagem.agents.general_belief import beliefs_of, chance, features
from stratagem.agents.general_expectimax import (
    INTERCEPTED,
    PLAIN,
    act,
    answered_values,
    list_actions,
    root_values,
)
from stratagem.agents.general_heuristic import HITS, IS_MOAT, TRIANGLE, TURN, TURNS
from stratagem.agents.general_survey import survey

EVERY = (
    120  # of the next own actions no more are looked at; there are more only where units may be garrisoned
)
CLOSE = np.array([1.0, 1.0, 0.01, 0.005, 0.003, 0.0])
"""By how far one has looked: how close to the best an action is that is worth another look, further ahead.

Looking further changes the difference between two actions by less than a third of it as a rule. Where the game is as
good as decided, so are they.
"""
LIKELIEST, NEAR = 3, 0.02  # of them, where one looks further: how many, and how far behind the best
ALIKE = 8  # answers that expectimax likes equally; one roll in a hundred has more of them
POSITIONS = (
    6 * ALIKE * 12
)  # at most, after an answer: dice, answers, and guards that an interception may take


@njit(cache=True, nogil=True)
def foreseen(beliefs, board, facts, role, die, actions, space, ahead, width, margin):
    """float64[N]: what the mover expects after each of these actions, from 0 to 1; below 0 where it did not look.

    Only the `width` best by belief that are no further than `margin` behind are looked at, and those that stay close
    to the best are looked at again, further ahead. One that falls behind keeps its distance from the best.
    """
    found = beliefs_of(beliefs[role], board, facts, die, actions, space)
    found = found if role == 0 else 1 - found
    if ahead == 1:
        return found
    order, least = np.argsort(-found), found.max() - margin
    looked = order[:width]
    looked = looked[found[looked] >= least]
    found -= 1
    behind, best = np.zeros(len(found)), 0.0  # how far behind the best, of those looked at
    for depth in range(2, ahead + 1):
        for index in looked:
            value = followed(beliefs, board, facts, role, die, actions[index], space, depth)
            found[index] = value if role == 0 else 1 - value
        best = found[looked].max()
        behind[looked] = best - found[looked]
        close = CLOSE[depth] * 4 * best * (1 - best)
        if depth < ahead and (behind[looked] <= close).sum() > 1:
            looked = looked[behind[looked] <= close]
        else:
            break
    for index in range(len(found)):
        if found[index] >= 0:
            found[index] = max(best - behind[index], 0.0)
    return found


@njit(cache=True, nogil=True)
def followed(beliefs, board, facts, role, die, action, space, ahead):
    """The value after an own action, with what it leaves to chance or choice."""
    boards, states = np.empty((12, 100), np.int8), np.empty((12, 6), np.int64)
    number, chosen = outcomes(board, facts, role, die, action, boards, states)
    total, best = 0.0, 1.0
    for index in range(number):
        value = awaited(beliefs, boards[index], states[index], 1 - role, space, ahead)
        total, best = total + value, min(best, value)
    return best if chosen else total / number


@njit(cache=True, nogil=True)
def outcomes(board, facts, role, die, action, boards, states):
    """(how many, whether the Defender chooses among them): write the positions to which an action leads."""
    boards[0], states[0] = board, facts
    left = act(boards[0], states[0], role, die, action)
    if left == PLAIN:
        return 1, False
    number, start = 0, boards[0].copy()
    kind = 2 if left == INTERCEPTED else 1
    states[:] = states[0]
    states[:, TURN] += left != INTERCEPTED  # a choice ends the turn
    for cell in range(100):
        if start[cell] == kind and (IS_MOAT[cell] if left == INTERCEPTED else TRIANGLE[left - 2, cell]):
            boards[number] = start
            boards[number, cell] = 0 if left == INTERCEPTED else 2
            number += 1
    return number, left != INTERCEPTED


@njit(cache=True, nogil=True)
def answers(board, facts, role, boards, states, chances):
    """How many positions the roll and the answer of expectimax (depth 2) may lead to; writes them and their chances."""
    actions, number, useful = np.empty(1200, np.int64), 0, 0
    after, left = np.empty((12, 100), np.int8), np.empty((12, 6), np.int64)
    seen = survey(board)
    for die in range(1, 7):
        listed = list_actions(board, facts, role, die, actions)
        if not listed:
            continue
        useful += 1
        liked = answered_values(board, facts, role, die, actions[:listed].copy(), 1.0, seen)
        best = np.flatnonzero(liked >= liked.max() - 1e-9)[:ALIKE]
        for index in best:
            ways, chosen = outcomes(board, facts, role, die, actions[index], after, left)
            first, last = 0, ways
            if chosen:
                first = _choice(board, facts, role, die, actions[index])
                last = first + 1
            for way in range(first, last):
                boards[number], states[number] = after[way], left[way]
                chances[number] = 1 / (len(best) * (last - first))
                number += 1
    chances[:number] /= max(useful, 1)
    if useful == 0:
        boards[0], states[0], chances[0], number = board, facts, 1.0, 1
        states[0, TURN] += 1
    return number


@njit(cache=True, nogil=True)
def _choice(board, facts, role, die, action):
    """Which prisoner expectimax converts."""
    after, changed = board.copy(), facts.copy()
    left = act(after, changed, role, die, action)
    choices = 101 * np.flatnonzero(TRIANGLE[left - 2] & (after == 1))
    return root_values(after, changed, role, 0, choices, 2, 1.0).argmax()


@njit(cache=True, nogil=True)
def decided(board, facts):
    """What the Attacker has of a game that is over, or −1."""
    if facts[HITS] >= 3:
        return 1.0
    if not (board == 1).any():
        return 0.0
    return 0.5 if facts[TURN] >= facts[TURNS] else -1.0


@njit(cache=True, nogil=True)
def awaited(beliefs, board, facts, role, space, ahead):
    """The value when this side is to roll and to answer; `ahead` counts from the action before."""
    over = decided(board, facts)
    if over >= 0:
        return over
    boards, states = np.empty((POSITIONS, 100), np.int8), np.empty((POSITIONS, 6), np.int64)
    chances, value = np.empty(POSITIONS), 0.0
    for place in range(answers(board, facts, role, boards, states, chances)):
        value += chances[place] * planned(beliefs, boards[place], states[place], 1 - role, space, ahead - 2)
    return value


@njit(cache=True, nogil=True)
def answered(beliefs, board, facts, role, space, ahead):
    """The same where nothing that comes after this answer is planned."""
    over = decided(board, facts)
    if over >= 0:
        return over
    boards, states = np.empty((POSITIONS, 100), np.int8), np.empty((POSITIONS, 6), np.int64)
    chances, value = np.empty(POSITIONS), 0.0
    for place in range(answers(board, facts, role, boards, states, chances)):
        value += chances[place] * hoped(beliefs, boards[place], states[place], 1 - role, space, ahead - 2)
    return value


@njit(cache=True, nogil=True)
def hoped(beliefs, board, facts, own, space, ahead):
    """The value when `own` is to roll: what it believes at once, or (`ahead` 1) of the best action of every die."""
    over = decided(board, facts)
    if over >= 0:
        return over
    actions, sign, total, useful = np.empty(1200, np.int64), 1 - 2 * own, 0.0, 0
    for die in range(1, 7 if ahead else 1):
        tried = some_actions(board, facts, own, die, actions)
        if len(tried):
            liked = sign * beliefs_of(beliefs[own], board, facts, die, tried, space)
            total, useful = total + sign * liked.max(), useful + 1
    return total / useful if useful else chance(beliefs[1 - own], space, features(board, facts, space))


@njit(cache=True, nogil=True)
def planned(beliefs, board, facts, own, space, ahead):
    """The value when `own` is to roll; the actions it likes best are followed through the answers to them."""
    if ahead < 2:
        return hoped(beliefs, board, facts, own, space, ahead)
    over = decided(board, facts)
    if over >= 0:
        return over
    actions, sign, total, useful = np.empty(1200, np.int64), 1 - 2 * own, 0.0, 0
    after, left = np.empty((12, 100), np.int8), np.empty((12, 6), np.int64)
    for die in range(1, 7):
        tried = some_actions(board, facts, own, die, actions)
        if not len(tried):
            continue
        liked = sign * beliefs_of(beliefs[own], board, facts, die, tried, space)
        order, best = np.argsort(-liked), -2.0
        for index in order[:LIKELIEST]:
            if liked[index] < liked[order[0]] - NEAR:
                break
            ways, chosen = outcomes(board, facts, own, die, tried[index], after, left)
            mean, least = 0.0, 1.0
            for way in range(ways):
                value = answered(beliefs, after[way], left[way], 1 - own, space, ahead)
                mean, least = mean + value / ways, min(least, value)
            best = max(best, sign * (least if chosen else mean))
        total, useful = total + sign * best, useful + 1
    return total / useful if useful else chance(beliefs[1 - own], space, features(board, facts, space))


@njit(cache=True, nogil=True)
def some_actions(board, facts, role, die, actions):
    """int64[N]: the legal actions of a die, or some of them if there are more than `EVERY`."""
    listed = list_actions(board, facts, role, die, actions)
    return actions[: listed : -(-max(listed, 1) // EVERY)].copy()
