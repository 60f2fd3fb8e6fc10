"""Many games of GENERAL side by side that wait for a learner; expectimax plays the other side, or nobody does.

Games are played by the numba core of expectimax, whose rules the tests hold against the real ones. A step is an action
of the learner and all that follows until it decides again: chance, a turn of expectimax, and a new game where one is
over. Left and right are alike, so every position is shown from a side by lot.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from general_starts import begin, quick
from general_turns import best_of, expectimax_turn, intercept, rolled

from stratagem.agents.general_expectimax import INTERCEPTED, MOST_ACTIONS, act, root_values
from stratagem.agents.general_heuristic import HITS, TRIANGLE, TURN, over

LISTED = 1056  # L: twelve units to 72 cells by garrisoning, and 24 in eight directions
GAP = 32_767  # in a list of actions; beyond all of them, so that nothing is read or learned there
DIE, CONVERTING = 105, 106  # places of what is shown
SHOWN = 107  # numbers of a position: 100 cells, hits, three rights used, turn, die, triangle of a conversion
OPEN, LOST, DRAWN, WON = range(4)  # how the Attacker's game stands after a step
ATTACKS, DEFENDS, BOTH = range(3)  # what the learner does in a lane: one role, or both against itself


@quick
def play_on(luck, board, facts, actions, depth, lane):
    """(die, number of actions, result, turns): on to the next decision of the learner, in a new game if need be."""
    result, turns = OPEN, 0
    while True:
        if over(board, facts):
            turns, result = facts[TURN], result_of(board, facts)
            begin(luck, board, facts, 0.0)
        role = facts[TURN] % 2
        if lane in (role, BOTH):
            die, number = rolled(luck, board, facts, role, actions)
            if number:
                return die, number, result, turns
            facts[TURN] += 1
        else:
            expectimax_turn(luck, board, facts, actions, depth)


@quick
def list_prisoners(board, side, actions):
    """Write the choices of a conversion in this triangle; return how many."""
    number = 0
    for cell in range(100):
        if TRIANGLE[side, cell] and board[cell] == 1:
            actions[number] = 101 * cell
            number += 1
    return number


@quick
def turned(action, mirrored):
    """The action (or the cell), as it is seen in a mirror or not; back again by the same."""
    start, end = np.int64(action) // 100, np.int64(action) % 100
    if not mirrored:
        return np.int64(action)
    if start == 44 and end != 44:  # the offensive keeps its name, as in the rules
        return start * 100 + end // 10 * 10 + 9 - end % 10
    return (start // 10 * 10 + 9 - start % 10) * 100 + end // 10 * 10 + 9 - end % 10


@quick
def show(board, facts, die, converting, mirrored, out):
    """Write a position as it is seen, in a mirror or not, into int16[107]."""
    for cell in range(100):
        out[turned(cell, mirrored) % 100] = board[cell]
    out[100:DIE], out[DIE] = facts[:5], die
    out[CONVERTING] = 3 - converting if converting and mirrored else converting


@quick
def result_of(board, facts):
    """How the Attacker's game stands."""
    if not over(board, facts):
        return OPEN
    return WON if facts[HITS] >= 3 else DRAWN if (board == 1).any() else LOST


@quick
def step_all(
    luck,
    chosen,
    depth,
    advising,
    lanes,
    boards,
    facts,
    mirrored,
    shown,
    listed,
    advice,
    after,
    settled,
    result,
    turns,
):
    """Play the action at place `chosen` of each list; −1 leaves a game alone. A game without a die begins."""
    actions = np.empty(MOST_ACTIONS, np.int64)
    for game in range(len(chosen)):
        result[game] = turns[game] = 0
        if chosen[game] < 0:
            continue
        board, fact, die, left = boards[game], facts[game], shown[game, DIE], 0
        if die or shown[game, CONVERTING]:
            action = turned(listed[game, chosen[game]], mirrored[game])
            left = act(board, fact, fact[TURN] % 2, die, action)
            if left == INTERCEPTED:
                intercept(luck, board)
        else:
            begin(luck, board, fact, 0.0)
        converting = max(left - 1, 0)
        show(board, fact, 0, converting, mirrored[game], after[game])
        settled[game] = result_of(board, fact)
        if converting:
            die, number = 0, list_prisoners(board, converting - 1, actions)
        else:
            die, number, result[game], turns[game] = play_on(luck, board, fact, actions, depth, lanes[game])
        if advising:
            values = root_values(board, fact, fact[TURN] % 2, die, actions[:number].copy(), 2, 1.0)
            advice[game] = best_of(luck, values)
        mirrored[game] = luck.integers(0, 2)
        show(board, fact, die, converting, mirrored[game], shown[game])
        for place in range(number):
            listed[game, place] = turned(actions[place], mirrored[game])
        listed[game, number:] = GAP


class Games:
    """B games that wait for the learner; those of a part of them share a stream of luck."""

    def __init__(self, lanes: np.ndarray, depth: int, threads: int, seed: tuple[int, ...]):
        """`lanes` int8[B]: ATTACKS, DEFENDS or BOTH."""
        count = len(lanes)
        parts = min(3 * threads, -(-count // 8)) if threads > 1 else 1
        self.parts = [slice(*pair) for pair in pairwise(np.linspace(0, count, parts + 1).astype(int))]
        self.lucks = [np.random.default_rng((*seed, part)) for part in range(parts)]
        self.lanes, self.depth, self.pool = lanes, depth, ThreadPoolExecutor(threads)
        self.boards, self.facts = np.zeros((count, 100), np.int8), np.zeros((count, 6), np.int64)
        self.mirrored = np.zeros(count, np.int8)  # whether it is shown so
        self.shown = np.zeros((count, SHOWN), np.int16)
        self.listed = np.full((count, LISTED), GAP, np.int16)  # as shown
        self.advice = np.zeros(count, np.int16)  # the place in the list that expectimax would choose
        self.after = np.zeros(
            (count, SHOWN), np.int16
        )  # the position after its last action, before chance speaks
        self.settled = np.zeros(count, np.int8)  # how the game stood then
        self.result, self.turns = np.zeros(count, np.int8), np.zeros(count, np.int16)  # of games just ended

    def step(self, chosen: np.ndarray, advising: bool = False) -> None:
        """Play int[B], places in the lists; −1 leaves a game alone."""
        kept = (self.lanes, self.boards, self.facts, self.mirrored, self.shown, self.listed, self.advice)
        kept = (*kept, self.after, self.settled)

        def play(luck, part):
            arrays = (array[part] for array in (*kept, self.result, self.turns))
            step_all(luck, chosen[part], self.depth, advising, *arrays)

        list(self.pool.map(play, self.lucks, self.parts))
