"""Many moves of GENERAL's Defender judged at once by the Attacker's best answers to them.

What the Attacker could answer is found once and sorted by what it gains. A move of the Defender changes little of it:
rays of Attackers that ended in its start go on, and those that passed its end stop there. So for each die the best
answer is the first of the sorted ones that still stands, or one of the few new ones.

Moves into the Attacker's triangles, which may convert, and what is no move are left to `general_expectimax`, and so is
the end of the game.
"""

import numpy as np
from numba import njit

from stratagem.agents.general_heuristic import (
    GARRISON,
    HITS,
    IS_GENERAL,
    IS_MOAT,
    RAID,
    THREAT,
    TURN,
    TURNS,
    WIN,
    counted,
    rights_spent,
    worth,
)
from stratagem.agents.general_lines import (
    ALONG,
    CENTRE,
    HITHER,
    LINE,
    NEIGHBOUR,
    ONWARD,
    PLACE,
    REACH,
)

KINDS = CALM, TAKES, TAKES_GUARD, STORMS = range(4)
"""Kinds of answers: to an empty cell, taking a unit outside the moat or in it, at the General."""
NEVER = 99


@njit(cache=True, nogil=True)
def survey(board):
    """(int64[7, 4], float64[7, 4, 96], int64[7, 4, 96], lines, free): the Attacker's answers by die and kind.

    How many, what the places gain by each, best first, and the ray (eight a cell) along which each goes. `free`: the
    cheapest unit to garrison with, and the two best cells to go to, or −1.
    """
    number, gains, rays = np.zeros((7, 4), np.int64), np.empty((7, 4, 96)), np.empty((7, 4, 96), np.int64)
    lines, free = CENTRE.copy(), np.full(3, -1)
    for cell in range(100):
        if board[cell] == 0:
            if _may_be_garrisoned(cell):
                _keep_best(free, cell)
            continue
        for kind in range(4):
            lines[kind, LINE[kind, cell]] |= 1 << PLACE[kind, cell]
        if board[cell] == 2:
            continue
        if GARRISON[0, cell] and (free[0] < 0 or THREAT[cell] < THREAT[free[0]]):
            free[0] = cell
        for way in range(8):
            for die in range(1, REACH[cell, way] + 1):
                end = ALONG[cell, way, die - 1]
                if board[end] == 1:
                    break
                kind = STORMS if IS_GENERAL[end] else CALM if board[end] == 0 else TAKES + IS_MOAT[end]
                gain = _gain(kind, cell, end)
                place = number[die, kind]
                while place > 0 and gains[die, kind, place - 1] < gain:
                    gains[die, kind, place] = gains[die, kind, place - 1]
                    rays[die, kind, place] = rays[die, kind, place - 1]
                    place -= 1
                gains[die, kind, place], rays[die, kind, place] = gain, 8 * cell + way
                number[die, kind] += 1
                if kind != CALM:
                    break
    return number, gains, rays, lines, free


@njit(cache=True, nogil=True)
def _may_be_garrisoned(cell):
    return not (IS_GENERAL[cell] or GARRISON[0, cell] or GARRISON[1, cell])


@njit(cache=True, nogil=True)
def _keep_best(free, cell):
    """The two empty cells with the greatest threat."""
    if free[1] < 0 or THREAT[cell] > THREAT[free[1]]:
        free[1], free[2] = cell, free[1]
    elif free[2] < 0 or THREAT[cell] > THREAT[free[2]]:
        free[2] = cell


@njit(cache=True, nogil=True)
def _gain(kind, start, end):
    """What an answer adds to the worth of places."""
    if kind == STORMS:
        return -THREAT[start]
    return THREAT[end] - THREAT[start] + (RAID[end] if kind != CALM else 0.0)


@njit(cache=True, nogil=True)
def is_surveyed(facts, action):
    """Whether `defended` can tell what an action of the Defender is worth."""
    start, end = action // 100, action % 100
    return start != end and start != 44 and not GARRISON[0, end] and facts[TURN] + 1 < facts[TURNS]


@njit(cache=True, nogil=True)
def defended(board, facts, position, seen, garrisoned, actions, values):
    """Write what the surveyed ones of the Defender's actions are worth to the Attacker, who is to answer.

    `seen` is the `survey` of this board; `garrisoned` says of each action whether it uses up the garrisoning.
    """
    number, gains, rays, lines, free = seen
    attackers, defenders, guards, places = counted(board)
    raids = 0.0  # of the guards' places
    for cell in range(100):
        if IS_MOAT[cell] and board[cell] == 2:
            raids += RAID[cell]
    last, rights, hits = facts[TURN] + 2 >= facts[TURNS], rights_spent(facts), facts[HITS]
    scale = position * (not last)
    stops, touched, fresh = np.full(800, NEVER), np.empty(32, np.int64), np.empty((7, 4))
    for index in range(len(actions)):
        if not is_surveyed(facts, actions[index]):
            continue
        start, end = actions[index] // 100, actions[index] % 100
        held = attackers - (board[end] == 1)
        if held == 0:
            values[index] = -WIN
            continue
        stopped = _changed(board, start, end, lines, stops, touched, fresh)
        watching = guards - IS_MOAT[start] + IS_MOAT[end]
        watched = raids - IS_MOAT[start] * RAID[start] + IS_MOAT[end] * RAID[end]
        moved = places + RAID[start] - RAID[end] - (THREAT[end] if board[end] == 1 else 0.0)
        spent = rights + garrisoned[index]
        calm = worth(held, defenders, watching, moved, hits, spent, last, position)
        takes = worth(held, defenders - 1, watching, moved, hits, spent, last, position)
        takes_guard = worth(held, defenders - 1, watching - 1, moved, hits, spent, last, position)
        if watching == 0:
            storms = worth(held - 1, defenders, 0, moved, hits + 1, spent, last, position)
        else:
            left = moved + watched / watching
            storms = worth(held - 1, defenders - 1, watching - 1, left, hits, spent, last, position)
        storm_scale = scale if abs(storms) < WIN else 0.0
        total, useful = 0.0, 0
        for die in range(1, 7):
            best = -np.inf
            for kind in range(4):
                gain = fresh[die, kind]
                for place in range(number[die, kind]):
                    if die < stops[rays[die, kind, place]]:
                        gain = max(gain, gains[die, kind, place])
                        break
                if gain > -np.inf:
                    level = (calm, takes, takes_guard, storms)[kind]
                    best = max(best, level + (storm_scale if kind == STORMS else scale) * gain)
            if die == 6 and facts[1] == 0 and free[0] >= 0:
                to = _best_free(free, start, end)
                if to >= 0:
                    gathered = moved - THREAT[free[0]] + THREAT[to]
                    sent = worth(held, defenders, watching, gathered, hits, spent - 1, last, position)
                    best = max(best, sent)
            if best > -np.inf:
                total, useful = total + best, useful + 1
        for place in range(stopped):
            stops[touched[place]] = NEVER
        values[index] = total / useful  # a die of one always allows an Attacker something


@njit(cache=True, nogil=True)
def _best_free(free, start, end):
    """The best cell to garrison when a unit has gone from `start` to `end`."""
    best = free[2] if free[1] == end else free[1]
    if _may_be_garrisoned(start) and (best < 0 or THREAT[start] > THREAT[best]):
        return start
    return best


@njit(cache=True, nogil=True)
def _changed(board, start, end, lines, stops, touched, fresh):
    """What a move of a Defender does to the rays: writes where they stop and the best new answers, by die and kind.

    Returns how many rays are touched.
    """
    fresh[:], stopped, taken = -np.inf, 0, board[end] == 1
    if taken:
        for way in range(8):
            touched[stopped], stops[8 * end + way] = 8 * end + way, 1
            stopped += 1
    for kind in range(4):
        lines[kind, LINE[kind, start]] &= ~(1 << PLACE[kind, start])
        lines[kind, LINE[kind, end]] |= 1 << PLACE[kind, end]
    for kind in range(4):
        for back in range(2):
            ahead = (1 - 2 * back) * ONWARD[kind]
            distance = NEIGHBOUR[PLACE[kind, start], lines[kind, LINE[kind, start]], back]
            unit = start + distance * ahead
            if distance and unit != end and board[unit] == 1:
                ray = 8 * unit + HITHER[kind, back]
                touched[stopped], stops[ray] = ray, min(stops[ray], distance)
                stopped += 1
                _go_on(board, unit, HITHER[kind, back], distance, start, end, fresh)
            distance = NEIGHBOUR[PLACE[kind, end], lines[kind, LINE[kind, end]], back]
            unit = end + distance * ahead
            if distance and board[unit] == 1:
                ray = 8 * unit + HITHER[kind, back]
                touched[stopped], stops[ray] = ray, min(stops[ray], distance)
                stopped += 1
                taking = TAKES + IS_MOAT[end]
                fresh[distance, taking] = max(fresh[distance, taking], _gain(taking, unit, end))
    for kind in range(4):
        lines[kind, LINE[kind, start]] |= 1 << PLACE[kind, start]
        if not taken:
            lines[kind, LINE[kind, end]] &= ~(1 << PLACE[kind, end])
    return stopped


@njit(cache=True, nogil=True)
def _go_on(board, unit, way, distance, start, end, fresh):
    """The new answers of an Attacker whose ray goes on from where a Defender has left."""
    for die in range(distance, REACH[unit, way] + 1):
        cell = ALONG[unit, way, die - 1]
        own = 2 if cell == end else 0 if cell == start else board[cell]
        if own == 1:
            return
        kind = STORMS if IS_GENERAL[cell] else CALM if own == 0 else TAKES + IS_MOAT[cell]
        fresh[die, kind] = max(fresh[die, kind], _gain(kind, unit, cell))
        if kind != CALM:
            return
