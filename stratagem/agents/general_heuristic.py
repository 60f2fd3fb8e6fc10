"""What a position of GENERAL is worth when nobody looks further, by hand: the leaves of expectimax.

All values are the Attacker's. A position is worth, in units:

- units of the Attacker minus units of the Defender, and four for each hit on the General;
- `position` times what the units' places are worth: for the Attacker, from how many dice and directions of a cell a
  General cell is the right distance away, over six (blockers are ignored); for the Defender, 0.5 for a guard in the
  moat and 0.5 more for the first of them, and up to 0.3 for a unit near the Attacker's triangles, where it converts;
- `position` times 0.5 for each garrisoning not used yet, and for the offensive.

A decided game is worth `WIN`, a drawn one 0. An Attacker with fewer units than hits still to make cannot win any more
and pays `HOPELESS` for it, unless `position` is 0.

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
HITS, STORMED, TURN, TURNS = 0, 3, 4, 5  # places in `facts`

IS_GENERAL, IS_MOAT = on_board(GENERAL), on_board(MOAT)
GARRISON = np.stack([on_board(rows) for rows in GARRISONS])
TRIANGLE = np.stack([on_board(rows) for rows in TRIANGLES])
DOWN, RIGHT = (np.array(part) for part in zip(*STEPS, strict=True))


def _threats() -> np.ndarray:
    """float64[100]: in how many ways a cell is one die away from the General, over six."""
    found = np.zeros(100)
    for cell in range(100):
        for down, right in STEPS:
            for die in range(1, 7):
                row, column = cell // 10 + die * down, cell % 10 + die * right
                if 0 <= row < 10 and 0 <= column < 10 and IS_GENERAL[row * 10 + column]:
                    found[cell] += 1 / 6
                    break  # the second General cell of a line is behind the first
    return found


THREAT = _threats()
RAID = np.array([0.3 * max(0, 6 - cell // 10) / 6 for cell in range(100)])
_GUARD, _FIRST_GUARD, _RIGHT_LEFT = 0.5, 0.5, 0.5


@njit(cache=True, nogil=True)
def counted(board):
    """(Attackers, Defenders, guards in the moat, worth of the places without that of guards)."""
    attackers = defenders = guards = 0
    places = 0.0
    for cell in range(100):
        if board[cell] == 1:
            attackers += 1
            places += THREAT[cell]
        elif board[cell] == 2:
            defenders += 1
            guards += IS_MOAT[cell]
            places -= RAID[cell]
    return attackers, defenders, guards, places


@njit(cache=True, nogil=True)
def rights_spent(facts):
    """The rights that the Defender has used, less those of the Attacker."""
    return facts[2] - facts[1] + facts[STORMED]


@njit(cache=True, nogil=True)
def worth(attackers, defenders, guards, places, hits, rights, last, position):
    """The value of what was counted; `last` says that the turns are up."""
    if hits >= 3:
        return WIN
    if attackers == 0:
        return -WIN
    if last:
        return 0.0
    value = attackers - defenders + HIT * hits
    if position == 0:
        return value
    if attackers + hits < 3:
        value -= HOPELESS
    places += _RIGHT_LEFT * rights - _GUARD * guards - _FIRST_GUARD * (guards > 0)
    return value + position * places


@njit(cache=True, nogil=True)
def leaf(board, facts, position):
    """What a position is worth when nobody looks further."""
    attackers, defenders, guards, places = counted(board)
    last = facts[TURN] >= facts[TURNS]
    return worth(attackers, defenders, guards, places, facts[HITS], rights_spent(facts), last, position)


@njit(cache=True, nogil=True)
def over(board, facts):
    if facts[HITS] >= 3 or facts[TURN] >= facts[TURNS]:
        return True
    return not (board == 1).any()
