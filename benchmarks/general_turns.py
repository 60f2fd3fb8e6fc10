"""Single turns of GENERAL on boards of the numba core of expectimax, for whoever plays very many games there."""

import numpy as np
from general_starts import quick

from stratagem.agents.general_expectimax import INTERCEPTED, act, list_actions, root_values
from stratagem.agents.general_heuristic import IS_MOAT, TRIANGLE, TURN


@quick
def best_of(luck, values):
    """The place of the largest value, ties by lot."""
    tied = np.flatnonzero(values >= values.max() - 1e-9)
    return tied[luck.integers(0, len(tied))]


@quick
def drawn(luck, chances):
    """A place by lot, of these chances."""
    left = luck.random()
    for place in range(len(chances) - 1):
        left -= chances[place]
        if left < 0:
            return place
    return len(chances) - 1


@quick
def rolled(luck, board, facts, role, actions):
    """(die, number of actions) of a roll that allows something; zeros if none does."""
    for die in luck.permutation(6) + 1:
        number = list_actions(board, facts, role, die, actions)
        if number:
            return die, number
    return 0, 0


@quick
def intercept(luck, board):
    """A guard by lot is gone."""
    guards = np.flatnonzero(IS_MOAT & (board == 2))
    board[guards[luck.integers(0, len(guards))]] = 0


@quick
def prisoners(board, left):
    """int64[N]: the choices of a conversion."""
    return 101 * np.flatnonzero(TRIANGLE[left - 2] & (board == 1))


@quick
def expectimax_turn(luck, board, facts, actions, depth):
    """A turn of expectimax, in place."""
    role = facts[TURN] % 2
    die, number = rolled(luck, board, facts, role, actions)
    if number == 0:
        facts[TURN] += 1
        return
    listed = actions[:number].copy()
    best = best_of(luck, root_values(board, facts, role, die, listed, depth, 1.0))
    left = act(board, facts, role, die, listed[best])
    if left == INTERCEPTED:
        intercept(luck, board)
    elif left >= 2:
        listed = prisoners(board, left)
        best = best_of(luck, root_values(board, facts, role, 0, listed, depth, 1.0))
        act(board, facts, role, 0, listed[best])
