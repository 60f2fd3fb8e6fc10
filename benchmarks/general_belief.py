"""What an Attacker of GENERAL expects of a position in which the Defender is to roll: a small network in numba.

Its features are few of many: what stands on each cell, numbers of units, hits, rights, the turn, and for each die what
either side could do with it. One hidden layer, so that one feature more costs one row more.
"""

import numpy as np
from general_starts import LONGEST, quick

from stratagem.agents.general_expectimax import INTERCEPTED, act
from stratagem.agents.general_heuristic import HITS, IS_GENERAL, IS_MOAT, TRIANGLE, TURN
from stratagem.agents.general_reply import ALONG, REACH

MOST = 80  # features that are not zero
# Where each group of features begins: cells of both sides, hits, rights used, the turn, numbers of Attackers, Defenders
# and guards, Attackers in each triangle; then for each die three places, for none, one and more: ways to hit, Attackers
# that can be taken, Defenders that can be taken, ways to convert, Attackers who cover each other (by twos).
AT_HITS, AT_RIGHTS, AT_TURN, AT_ATTACKERS, AT_DEFENDERS, AT_GUARDS, AT_TRIANGLES, AT_DICE, WIDTH = np.cumsum(
    [200, 4, 3, 1, 13, 25, 13, 14, 90]
)
NOTHING = tuple(np.zeros(shape, np.float32) for shape in ((0, 0), 0, 0, 0))  # instead of a network


def first(hidden, seed):
    """A network that knows nothing: float32 [WIDTH, hidden], [hidden], [hidden], [1]."""
    generator = np.random.default_rng(seed)
    inner, outer = generator.normal(0, 0.08, (WIDTH, hidden)), generator.normal(0, 0.1, hidden)
    return tuple(part.astype(np.float32) for part in (inner, np.zeros(hidden), outer, np.full(1, -1.0)))


def read_belief(path):
    """A network, as `general_best_response.py` writes it."""
    with np.load(path, allow_pickle=False) as file:
        return tuple(file[f"arr_{index}"] for index in range(4))


@quick
def space_of(net):
    """(places of features, their values, hidden layer, ways by die): what is written to while one thinks."""
    return (
        np.empty(MOST, np.int64),
        np.empty(MOST, np.float32),
        np.empty(len(net[1]), np.float32),
        np.empty((5, 6), np.int64),
    )


@quick
def features(board, facts, space):
    """Write the features of a position in which the Defender is to roll; return how many are not zero."""
    places, values, _, ways = space
    number = attackers = defenders = guards = 0
    inside = np.zeros(2, np.int64)
    values[:] = 1.0
    for cell in range(100):
        if board[cell] == 1:
            attackers += 1
            for side in range(2):
                inside[side] += TRIANGLE[side, cell]
        elif board[cell] == 2:
            defenders += 1
            guards += IS_MOAT[cell]
        if board[cell] != 0:
            places[number] = cell + 100 * (board[cell] == 2)
            number += 1
    for right in range(3):
        if facts[1 + right]:
            places[number] = AT_RIGHTS + right
            number += 1
    places[number], values[number] = AT_TURN, facts[TURN] / LONGEST
    places[number + 1] = AT_HITS + facts[HITS]
    places[number + 2] = AT_ATTACKERS + attackers
    places[number + 3] = AT_DEFENDERS + defenders
    places[number + 4] = AT_GUARDS + guards
    places[number + 5], places[number + 6] = AT_TRIANGLES + inside[0], AT_TRIANGLES + 7 + inside[1]
    number += 7
    _count_ways(board, inside, ways)
    for die in range(6):
        for kind in range(5):
            places[number] = AT_DICE + 15 * die + 3 * kind + min(ways[kind, die], 2)
            number += 1
    return number


@quick
def _count_ways(board, inside, ways):
    """Write int64[5, 6]: by die, how many ways there are to do what `AT_DICE` names.

    `inside` int64[2]: Attackers in each triangle.
    """
    ways[:] = 0
    for cell in range(100):
        own = board[cell]
        if own == 0:
            continue
        for way in range(8):
            for die in range(REACH[cell, way]):
                end = ALONG[cell, way, die]
                if IS_GENERAL[end]:
                    ways[0, die] += own == 1
                    break
                if own == 2:  # whoever is taken in a triangle cannot be converted, too
                    for side in range(2):
                        if TRIANGLE[side, end] and board[end] != 2:
                            also = int(board[end] == 1)  # one more is lost, so it counts twice
                            ways[3, die] += (1 + also) * (inside[side] > also)
                if board[end] == 0:
                    continue
                if board[end] != own:
                    ways[2 if own == 1 else 1, die] += 1
                elif own == 1:
                    ways[4, die] += 1
                break
    for die in range(6):
        ways[4, die] //= 2


@quick
def chance(net, space, number):
    """What is expected, from 0 to 1; writes what the hidden layer says."""
    inner, bias, outer, last = net
    places, values, hidden, _ = space
    hidden[:] = bias
    for index in range(number):
        row, value = inner[places[index]], values[index]
        for unit in range(len(hidden)):
            hidden[unit] += value * row[unit]
    total = last[0]
    for unit in range(len(hidden)):
        hidden[unit] = max(hidden[unit], np.float32(0))
        total += outer[unit] * hidden[unit]
    return 1 / (1 + np.exp(-total))


@quick
def learn(net, space, number, error):
    """One step of gradient descent on cross-entropy; `space` is as `chance` left it."""
    inner, bias, outer, last = net
    places, values, hidden, _ = space
    last[0] += error
    for unit in range(len(hidden)):
        back = error * outer[unit] if hidden[unit] > 0 else np.float32(0)
        outer[unit] += error * hidden[unit]
        bias[unit] += back
        hidden[unit] = back
    for index in range(number):
        row, value = inner[places[index]], values[index]
        for unit in range(len(hidden)):
            row[unit] += value * hidden[unit]


@quick
def believed(net, board, facts, left, space):
    """What is expected after an action: the mean over the guards that an interception may take."""
    if facts[HITS] >= 3:
        return 1.0
    if not (board == 1).any():
        return 0.0
    if left != INTERCEPTED:
        return chance(net, space, features(board, facts, space))
    total, guards = 0.0, 0
    for cell in range(100):
        if IS_MOAT[cell] and board[cell] == 2:
            board[cell] = 0
            total += chance(net, space, features(board, facts, space))
            board[cell] = 2
            guards += 1
    return total / guards


@quick
def beliefs_of(net, board, facts, die, actions, space):
    """float64[N]: what the Attacker expects after each of these actions."""
    beliefs = np.empty(len(actions))
    for index in range(len(actions)):
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, 0, die, actions[index])
        beliefs[index] = believed(net, after, changed, left, space)
    return beliefs
