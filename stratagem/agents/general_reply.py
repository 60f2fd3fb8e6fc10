"""The best answer to every die of GENERAL at once: the inner loop of expectimax.

A unit walks on in each of its directions, and the cell that it reaches at its n-th step is where a die of n leads. What
the position is then worth follows from what it was worth before: no board is copied and none is counted again.
"""

import numpy as np
from numba import njit

from stratagem.agents.general_heuristic import (
    GARRISON,
    HITS,
    IS_GENERAL,
    IS_MOAT,
    RAID,
    STORMED,
    THREAT,
    TRIANGLE,
    TURN,
    TURNS,
    counted,
    leaf,
    over,
    rights_spent,
    worth,
)
from stratagem.agents.general_lines import ALONG, REACH


@njit(cache=True, nogil=True)
def replied(board, facts, role, position, best):
    """The worth of a position in which `role` rolls and answers once; `best` is float64[7] to write in."""
    if over(board, facts):
        return leaf(board, facts, position)
    if role == 0:
        best[:] = -np.inf
        _attack(board, facts, position, best)
    else:
        best[:] = np.inf
        _defend(board, facts, position, best)
    total, useful = 0.0, 0
    for die in range(1, 7):
        if np.isfinite(best[die]):
            total += best[die]
            useful += 1
    if useful:
        return total / useful
    facts[TURN] += 1
    passed = leaf(board, facts, position)
    facts[TURN] -= 1
    return passed


@njit(cache=True, nogil=True)
def _attack(board, facts, position, best):
    """Raise best[die] to what the Attacker's best action is worth."""
    attackers, defenders, guards, places = counted(board)
    hits, rights, last = facts[HITS], rights_spent(facts), facts[TURN] + 1 >= facts[TURNS]
    # A move to an empty cell changes nothing but the worth of a place.
    quiet, scale = (
        worth(attackers, defenders, guards, places, hits, rights, last, position),
        position * (not last),
    )
    for start in range(100):
        if board[start] != 1:
            continue
        left = places - THREAT[start]
        before = quiet - scale * THREAT[start]
        for way in range(8):
            for die in range(1, REACH[start, way] + 1):
                end = ALONG[start, way, die - 1]
                if board[end] == 1:
                    break
                if IS_GENERAL[end]:
                    value = _stormed(board, attackers, defenders, guards, left, hits, rights, last, position)
                    best[die] = max(best[die], value)
                    break
                if board[end] == 2:
                    watching, moved = guards - IS_MOAT[end], left + THREAT[end] + RAID[end]
                    value = worth(attackers, defenders - 1, watching, moved, hits, rights, last, position)
                    best[die] = max(best[die], value)
                    break
                best[die] = max(best[die], before + scale * THREAT[end])
    if facts[1] == 0:
        start_worth, end_worth = np.inf, -np.inf
        for cell in range(100):
            if board[cell] == 1 and GARRISON[0, cell]:
                start_worth = min(start_worth, THREAT[cell])
            elif is_open(board, cell):
                end_worth = max(end_worth, THREAT[cell])
        if np.isfinite(start_worth) and np.isfinite(end_worth):
            moved = places - start_worth + end_worth
            value = worth(attackers, defenders, guards, moved, hits, rights - 1, last, position)
            best[6] = max(best[6], value)


@njit(cache=True, nogil=True)
def _stormed(board, attackers, defenders, guards, left, hits, rights, last, position):
    """An attack on the General: a hit, or the mean over the guards that it may take."""
    if guards == 0:
        return worth(attackers - 1, defenders, 0, left, hits + 1, rights, last, position)
    total = 0.0
    for cell in range(100):
        if IS_MOAT[cell] and board[cell] == 2:
            total += worth(
                attackers - 1, defenders - 1, guards - 1, left + RAID[cell], hits, rights, last, position
            )
    return total / guards


@njit(cache=True, nogil=True)
def _defend(board, facts, position, best):
    """Lower best[die] to what the Defender's best action is worth."""
    attackers, defenders, guards, places = counted(board)
    hits, rights, last = facts[HITS], rights_spent(facts), facts[TURN] + 1 >= facts[TURNS]
    scale, before = position * (not last), np.empty(2)
    for start in range(100):
        if board[start] != 2:
            continue
        left, guarding = places + RAID[start], guards - IS_MOAT[start]
        for inside in range(2):  # a move to an empty cell outside the moat, or in it
            watching = guarding + inside
            before[inside] = worth(attackers, defenders, watching, left, hits, rights, last, position)
        for way in range(8):
            for die in range(1, REACH[start, way] + 1):
                end = ALONG[start, way, die - 1]
                if board[end] == 2 or IS_GENERAL[end]:
                    break
                if board[end] == 0 and not GARRISON[0, end]:
                    best[die] = min(best[die], before[int(IS_MOAT[end])] - scale * RAID[end])
                    continue
                held, joined, moved = attackers, 0, left - RAID[end]
                if board[end] == 1:
                    held, moved = held - 1, moved - THREAT[end]
                prisoner = _prisoner(board, end)
                if prisoner >= 0:
                    held, joined, moved = held - 1, 1, moved - THREAT[prisoner] - RAID[prisoner]
                watching = guarding + IS_MOAT[end]
                value = worth(held, defenders + joined, watching, moved, hits, rights, last, position)
                best[die] = min(best[die], value)
                if board[end] == 1:
                    break
    if facts[2] == 0:
        start_worth = np.inf
        at = np.full(2, -np.inf)  # the best cell outside the moat, and in it
        for cell in range(100):
            if board[cell] == 2 and GARRISON[1, cell]:
                start_worth = min(start_worth, RAID[cell])
            elif is_open(board, cell):
                inside = int(IS_MOAT[cell])
                at[inside] = max(at[inside], RAID[cell])
        for inside in range(2):
            if np.isfinite(start_worth) and np.isfinite(at[inside]):
                moved = places + start_worth - at[inside]
                value = worth(attackers, defenders, guards + inside, moved, hits, rights + 1, last, position)
                best[6] = min(best[6], value)
    if facts[STORMED] == 0 and defenders < 3:
        for cell in range(100):
            if IS_MOAT[cell] and board[cell] == 1:
                left = places - THREAT[cell]
                value = worth(attackers - 1, defenders, guards, left, hits, rights + 1, last, position)
                best[1] = min(best[1], value)


@njit(cache=True, nogil=True)
def _prisoner(board, end):
    """The Attacker's unit that a Defender who comes to this cell would convert, or −1: the one whose place is best."""
    found, most = -1, -np.inf
    for side in range(2):
        if TRIANGLE[side, end]:
            for cell in range(100):
                if TRIANGLE[side, cell] and cell != end and board[cell] == 1:
                    place = THREAT[cell] + RAID[cell]
                    if place > most:
                        found, most = cell, place
    return found


@njit(cache=True, nogil=True)
def is_open(board, cell):
    """Whether a garrisoning may lead there."""
    return board[cell] == 0 and not (IS_GENERAL[cell] or GARRISON[0, cell] or GARRISON[1, cell])
