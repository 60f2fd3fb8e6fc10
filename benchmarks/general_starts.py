"""How games of GENERAL begin in which somebody learns: as the rules say, or anywhere.

Whoever only starts from the real beginning meets the same fate again and again: within thirty turns the Attacker's
triangles are raided, and what a position without that is worth is never learned. So a share of games is wild: as many
units as at the beginning, some of which have already left their garrisons, or any number of units anywhere.
"""

import numpy as np
from numba import njit

from stratagem.agents.general_belief import LONGEST
from stratagem.agents.general_heuristic import GARRISON, HITS, IS_GENERAL, TURN, TURNS

HOME = np.stack([np.flatnonzero(GARRISON[side]) for side in range(2)])  # int64[2, 12]

quick = njit(nogil=True)  # not cached: a cache names the module, which has another name in tests


@quick
def begin(luck, board, facts, wild):
    """Write a beginning, wild by chance of `wild`; return whether it is."""
    board[:], facts[:] = 0, 0
    facts[TURNS] = LONGEST
    if luck.random() >= wild:
        board[GARRISON[0]], board[GARRISON[1]] = 1, 2
        return False
    attackers, defenders = 12, 12
    at_home = luck.random()  # the share of Attackers
    kind = luck.integers(0, 3)
    guards_at_home = 0.6 + 0.4 * luck.random() if kind == 0 else luck.random()
    if kind == 2:
        attackers, defenders = luck.integers(1, 13), luck.integers(1, 14)
        facts[HITS], facts[TURN] = luck.integers(0, 3), 2 * luck.integers(0, LONGEST // 3)
        facts[1:4] = luck.integers(0, 2, 3)
    deep = 10 * luck.integers(3, 10)
    _scatter(luck, board, 1, attackers, at_home, 0, deep)
    _scatter(luck, board, 2, defenders, guards_at_home, luck.integers(0, 70), 100)
    return True


@quick
def _scatter(luck, board, own, units, at_home, first, last):
    """Place units, a share of them in their garrisons, the rest on cells from `first` to before `last`."""
    while units:
        at_home *= 0.97  # so that it ends where the garrisons are full
        first = first * 49 // 50
        last = min(last + 1, 100)
        home = luck.random() < at_home
        cell = HOME[own - 1, luck.integers(0, 12)] if home else luck.integers(first, last)
        if board[cell] == 0 and not IS_GENERAL[cell]:
            board[cell] = own
            units -= 1
