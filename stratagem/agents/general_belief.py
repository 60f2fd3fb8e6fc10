"""What the Attacker of GENERAL may expect of a position in which somebody is to roll: a small network in numba.

Its features are few of many: what stands on each cell, numbers of units, hits, rights, the turn, for each die what
either side could do with it, and how many units are in how much danger. One hidden layer, so that one feature more
costs one row more. A draw is half a win.

A player has two of them: for positions in which the Defender is to roll, and for those in which the Attacker is.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from stratagem.agents.general_expectimax import INTERCEPTED, PLAIN, act
from stratagem.agents.general_heuristic import HITS, IS_GENERAL, IS_MOAT, TRIANGLE, TURN
from stratagem.agents.general_reply import ALONG, REACH
from stratagem.core.errors import DamagedFile, RulesetMismatch
from stratagem.core.game import Game
from stratagem.networks.tensors import read_facts, read_tree, write_tree

LONGEST = 300  # turns of the games that such networks are for
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

Belief = tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray
]  # float32 [WIDTH, hidden], [hidden], [hidden], [1]


def write_beliefs(
    path: Path | str, beliefs: tuple[Belief, Belief], game: Game, facts: dict[str, Any]
) -> None:
    """Write the two networks of a player, and what is known of them."""
    known = {
        "kind": "beliefs",
        "rulesets": {game.spec.ruleset: game.spec.title},
        "hidden": len(beliefs[0][1]),
    }
    write_tree(path, beliefs, facts | known)


def read_beliefs(path: Path | str, game: Game) -> tuple[Belief, Belief]:
    """What `write_beliefs` has written for this game."""
    facts = read_facts(path)
    if facts.get("kind") != "beliefs":
        raise DamagedFile(f"{path}: holds no beliefs, which general_best_response.py learns")
    if game.spec.ruleset not in facts["rulesets"]:
        learned = ", ".join(facts["rulesets"].values())
        raise RulesetMismatch(f"{path} was learned for {learned}, not for {game.spec.title}")
    hidden = facts["hidden"]
    shapes = (int(WIDTH), hidden), (hidden,), (hidden,), (1,)
    like = tuple(tuple(np.zeros(shape, np.float32) for shape in shapes) for _ in range(2))
    return tuple(tuple(np.array(part) for part in belief) for belief in read_tree(path, like))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def space_of(net):
    """(places of features, values, hidden layer, ways by die, dice that take and cover a unit): room to think."""
    return (
        np.empty(MOST, np.int64),
        np.empty(MOST, np.float32),
        np.empty(len(net[1]), np.float32),
        np.empty((5, 6), np.int64),
        np.empty((2, 100), np.int64),
    )


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def beliefs_of(net, board, facts, die, actions, space):
    """float64[N]: what the Attacker expects after each of these actions of whoever's turn it is."""
    beliefs = np.empty(len(actions))
    for index in range(len(actions)):
        after, changed = board.copy(), facts.copy()
        left = act(after, changed, facts[TURN] % 2, die, actions[index])
        beliefs[index] = believed(net, after, changed, left, space)
    return beliefs
