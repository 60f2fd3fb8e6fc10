"""What the Attacker of GENERAL may expect of a position in which somebody is to roll: a small network in numba.

Its features are few of many: what stands on each cell, numbers of units, hits, rights, the turn, for each die what
either side could do with it, and how many units are in how much danger. One hidden layer, so that one feature more
costs one row more. Left and right are alike, so it learns every position from a side by lot.
"""

import numpy as np
from general_starts import LONGEST, quick

from stratagem.agents.general_expectimax import INTERCEPTED, PLAIN, act
from stratagem.agents.general_heuristic import HITS, IS_GENERAL, IS_MOAT, TRIANGLE, TURN
from stratagem.agents.general_reply import ALONG, REACH
from stratagem.core.files import atomic_write

MOST = 120  # features that are not zero
# Where each group of features begins: cells of both sides, hits, rights used, the turn, numbers of Attackers, Defenders
# and guards, Attackers in each triangle; then for each die three places, for none, one and more: ways to hit, Attackers
# that can be taken, Defenders that can be taken, ways to convert, Attackers who cover each other (by twos). Last, for
# both sides, how many units there are that so many dice take (none to three) and so many dice would take back.
(
    AT_HITS,
    AT_RIGHTS,
    AT_TURN,
    AT_ATTACKERS,
    AT_DEFENDERS,
    AT_GUARDS,
    AT_TRIANGLES,
    AT_DICE,
    AT_DANGER,
    WIDTH,
) = np.cumsum([200, 4, 3, 1, 13, 25, 13, 14, 90, 32])
BITS = np.array([bin(mask).count("1") for mask in range(64)])
ACROSS = np.arange(100).reshape(10, 10)[:, ::-1].reshape(-1).copy()  # the cell on the other side
NOTHING = tuple(np.zeros(shape, np.float32) for shape in ((0, 0), 0, 0, 0))  # instead of a network


def first(hidden, seed):
    """A network that knows nothing: float32 [WIDTH, hidden], [hidden], [hidden], [1]."""
    generator = np.random.default_rng(seed)
    inner, outer = generator.normal(0, 0.08, (WIDTH, hidden)), generator.normal(0, 0.1, hidden)
    return tuple(part.astype(np.float32) for part in (inner, np.zeros(hidden), outer, np.full(1, -1.0)))


def read_beliefs(path):
    """(A network for when the Defender is to roll, one for when the Attacker is), as `write_beliefs` leaves them."""
    with np.load(path, allow_pickle=False) as file:
        return tuple(tuple(file[f"arr_{4 * net + part}"] for part in range(4)) for net in range(2))


def write_beliefs(path, nets):
    with atomic_write(path, "wb") as file:
        np.savez(file, *(part for net in nets for part in net))


@quick
def space_of(net):
    """(places of features, values, hidden layer, ways by die, dice that take and cover a unit): room to think."""
    return (
        np.empty(MOST, np.int64),
        np.empty(MOST, np.float32),
        np.empty(len(net[1]), np.float32),
        np.empty((5, 6), np.int64),
        np.empty((2, 100), np.int64),
    )


@quick
def features(board, facts, space):
    """Write the features of a position; return how many are not zero."""
    places, values, _, ways, dangers = space
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
    _count_ways(board, inside, ways, dangers)
    for die in range(6):
        for kind in range(5):
            places[number] = AT_DICE + 15 * die + 3 * kind + min(ways[kind, die], 2)
            number += 1
    units = np.zeros(32, np.int64)
    for cell in range(100):
        if board[cell] != 0:
            taken, covered = min(BITS[dangers[0, cell]], 3), min(BITS[dangers[1, cell]], 3)
            units[16 * (board[cell] == 2) + 4 * taken + covered] += 1
    for kind in range(32):
        if units[kind]:
            places[number], values[number] = AT_DANGER + kind, units[kind] / 2
            number += 1
    return number


@quick
def _count_ways(board, inside, ways, dangers):
    """Write int64[5, 6]: by die, how many ways there are to do what `AT_DICE` names.

    Also int64[2, 100]: which dice, as bits, take a unit and which let its own side take back. `inside` int64[2]:
    Attackers in each triangle.
    """
    ways[:], dangers[:] = 0, 0
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
                dangers[int(board[end] == own), end] |= 1 << die
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
    places, values, hidden, _, _ = space
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
    places, values, hidden, _, _ = space
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
    """What the Attacker expects after an action: the mean over the guards that an interception may take.

    Where a conversion is to be chosen, the Defender's best choice.
    """
    if facts[HITS] >= 3:
        return 1.0
    if not (board == 1).any():
        return 0.0
    if left == PLAIN:
        return chance(net, space, features(board, facts, space))
    kind, total, least, number = 2 if left == INTERCEPTED else 1, 0.0, 1.0, 0
    for cell in range(100):
        if board[cell] == kind and (IS_MOAT[cell] if left == INTERCEPTED else TRIANGLE[left - 2, cell]):
            board[cell] = 0 if left == INTERCEPTED else 2
            belief = chance(net, space, features(board, facts, space))
            total, least, number = total + belief, min(least, belief), number + 1
            board[cell] = kind
    return total / number if left == INTERCEPTED else least


@quick
def beliefs_of(net, board, facts, die, actions, space):
    """float64[N]: what the Attacker expects after each of these actions of whoever's turn it is."""
    beliefs = np.empty(len(actions))
    for index in range(len(actions)):
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, facts[TURN] % 2, die, actions[index])
        beliefs[index] = believed(net, after, changed, left, space)
    return beliefs
