"""What the Attacker of GENERAL may expect of a position in which somebody is to roll: a small network in numba.

Its features are few of many: what stands on each cell and in how much danger, numbers of units, hits, rights, the turn,
and for each die what either side could do with it. A hidden layer takes one row more for each feature more; what it
says is heard at once and through a second one. A draw is half a win.

A player has two of them: for positions in which the Defender is to roll, and for those in which the Attacker is.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from stratagem.agents.general_expectimax import INTERCEPTED, PLAIN, act
from stratagem.agents.general_heuristic import HITS, IS_GENERAL, IS_MOAT, TRIANGLE, TURN, TURNS
from stratagem.agents.general_lines import CENTRE, LINE, NEIGHBOUR, ONWARD, PLACE
from stratagem.core.errors import DamagedFile, RulesetMismatch
from stratagem.core.game import Game
from stratagem.networks.tensors import read_facts, read_tree, write_tree

LONGEST = 300  # turns of the games that such networks are for
MOST = 170  # features that are not zero
# Where each group of features begins: cells of both sides, hits, rights used, how many turns are left at most, numbers
# of Attackers, Defenders and guards, Attackers in each triangle; then for each die three places (none, one, more) of
# each of the `KINDS` of ways. Then, for both sides, how many units there are that so many dice take (none to three) and
# so many dice would take back. Last, for each cell and side, by how many dice (none to three) a unit there can be
# taken, and whether it can be taken back.
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
    AT_EXPOSED,
    WIDTH,
) = np.cumsum([200, 4, 3, 11, 13, 25, 13, 14, 108, 32, 1600])
LEFT = np.array([2, 4, 8, 14, 22, 34, 50, 80, 120, 180])  # turns left at most, for each feature of the turn
KINDS = HITTING, TAKING, CONVERTING, TAKING_GUARDS, ATTACKERS_COVER, DEFENDERS_COVER = range(6)
"""Ways to hit, units that can be taken (by either side: a way back is as long), ways to convert, guards among the units
that can be taken, units of each side that cover each other."""
BITS = np.array([bin(mask).count("1") for mask in range(64)])
SECOND = 16  # units of the second hidden layer
CORNER = np.array([(1 if TRIANGLE[0, cell] else 2 if TRIANGLE[1, cell] else 0) for cell in range(100)])

Belief = tuple[np.ndarray, ...]
"""float32: [WIDTH, hidden] and [hidden]; [hidden, SECOND] and [SECOND]; [hidden], [SECOND] and [1] to the result."""


def shapes_of(hidden: int) -> tuple[tuple[int, ...], ...]:
    return (int(WIDTH), hidden), (hidden,), (hidden, SECOND), (SECOND,), (hidden,), (SECOND,), (1,)


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
    shapes = shapes_of(facts["hidden"])
    like = tuple(tuple(np.zeros(shape, np.float32) for shape in shapes) for _ in range(2))
    return tuple(tuple(np.array(part) for part in belief) for belief in read_tree(path, like))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def space_of(net):
    """(places of features, values, hidden layer, second one, ways by kind and die, occupied places of lines, units)."""
    return (
        np.empty(MOST, np.int64),
        np.empty(MOST, np.float32),
        np.empty(len(net[1]), np.float32),
        np.empty(len(net[3]), np.float32),
        np.empty((6, 6), np.int64),
        np.empty((4, 19), np.int64),
        np.empty(100, np.int64),
    )


@njit(cache=True, nogil=True)
def features(board, facts, space):
    """Write the features of a position; return how many are not zero."""
    places, values, _, _, ways, lines, units = space
    number = attackers = defenders = guards = 0
    inside, danger = np.zeros(3, np.int64), np.zeros(32, np.int64)
    values[:] = 1.0
    lines[:] = CENTRE
    for cell in range(100):
        own = board[cell]
        if own == 0:
            continue
        units[attackers + defenders] = cell
        for kind in range(4):
            lines[kind, LINE[kind, cell]] |= 1 << PLACE[kind, cell]
        if own == 1:
            attackers += 1
            inside[CORNER[cell]] += 1
            places[number] = cell
        else:
            defenders += 1
            guards += IS_MOAT[cell]
            places[number] = cell + 100
        number += 1
    for right in range(3):
        if facts[1 + right]:
            places[number] = AT_RIGHTS + right
            number += 1
    left = facts[TURNS] - facts[TURN]
    for most in range(len(LEFT)):
        if left <= LEFT[most]:
            places[number] = AT_TURN + most
            number += 1
    places[number], values[number] = AT_TURN + len(LEFT), left / LONGEST
    places[number + 1] = AT_HITS + facts[HITS]
    places[number + 2] = AT_ATTACKERS + attackers
    places[number + 3] = AT_DEFENDERS + defenders
    places[number + 4] = AT_GUARDS + guards
    places[number + 5], places[number + 6] = AT_TRIANGLES + inside[1], AT_TRIANGLES + 7 + inside[2]
    number += 7
    ways[:] = 0
    for index in range(attackers + defenders):
        cell = units[index]
        taken, covered = _look_around(board, cell, ways, lines)
        state = 2 * min(BITS[taken], 3)
        hostile = board[cell] == 2
        danger[16 * hostile + 2 * state + min(BITS[covered], 3)] += 1
        places[number] = AT_EXPOSED + 8 * (cell + 100 * hostile) + state + (covered > 0)
        number += 1
    _count_conversions(board, inside, ways, lines)
    for kind in range(6):
        for die in range(6):
            places[number] = AT_DICE + 18 * kind + 3 * die + min(ways[kind, die], 2)
            number += 1
    for kind in range(32):
        if danger[kind]:
            places[number], values[number] = AT_DANGER + kind, danger[kind] / 2
            number += 1
    return number


@njit(cache=True, nogil=True)
def _look_around(board, cell, ways, lines):
    """(dice that take the unit there, dice by which its own side would take back), as bits; adds to `ways`."""
    own, taken, covered = board[cell], 0, 0
    for kind in range(4):
        place, line = PLACE[kind, cell], lines[kind, LINE[kind, cell]]
        for back in range(2):
            distance = NEIGHBOUR[place, line, back]
            if distance == 0:
                continue
            end = cell + (1 - 2 * back) * distance * ONWARD[kind]
            die = distance - 1
            if IS_GENERAL[end]:
                ways[HITTING, die] += own == 1
            elif board[end] != own:
                taken |= 1 << die
                if own == 1:
                    ways[TAKING, die] += 1
                    ways[TAKING_GUARDS, die] += IS_MOAT[end]
            else:
                covered |= 1 << die
                if back == 0:  # each pair once
                    ways[ATTACKERS_COVER if own == 1 else DEFENDERS_COVER, die] += 1
    return taken, covered


@njit(cache=True, nogil=True)
def _count_conversions(board, inside, ways, lines):
    """Add how many ways there are to convert; whoever is taken on the way cannot be converted, too."""
    if inside[1] + inside[2] == 0:
        return
    for cell in range(30):
        corner = CORNER[cell]
        if corner == 0 or board[cell] == 2 or inside[corner] <= board[cell]:
            continue
        for kind in range(4):
            place, line = PLACE[kind, cell], lines[kind, LINE[kind, cell]]
            for back in range(2):
                distance = NEIGHBOUR[place, line, back]
                if distance and board[cell + (1 - 2 * back) * distance * ONWARD[kind]] == 2:
                    ways[CONVERTING, distance - 1] += 1 + board[cell]  # taken besides: one more is lost


@njit(cache=True, nogil=True, fastmath=True)
def chance(net, space, number):
    """What is expected, from 0 to 1; writes what the hidden layers say."""
    inner, bias, middle, middle_bias, outer, last, level = net
    places, values, hidden, second, _, _, _ = space
    hidden[:] = bias
    for index in range(number):
        row, value = inner[places[index]], values[index]
        for unit in range(len(hidden)):
            hidden[unit] += value * row[unit]
    second[:] = middle_bias
    total = level[0]
    for unit in range(len(hidden)):
        hidden[unit] = max(hidden[unit], np.float32(0))
        total += outer[unit] * hidden[unit]
        for deep in range(len(second)):
            second[deep] += hidden[unit] * middle[unit, deep]
    for deep in range(len(second)):
        second[deep] = max(second[deep], np.float32(0))
        total += last[deep] * second[deep]
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
    if facts[TURN] + (left > INTERCEPTED) >= facts[TURNS]:
        return 0.5
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
