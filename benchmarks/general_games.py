"""What a player of GENERAL who believes is worth against expectimax, without luck.

Whatever a roll or an answer brought more than was believed of all of them before is luck. Its sum has a mean of nought,
whatever is believed; so a result less all luck has the same mean as the result, with little over a quarter of its
spread, and one game says as much as a dozen.
"""

import numpy as np
from general_starts import begin, quick
from general_turns import best_of, drawn, intercept, prisoners

from stratagem.agents.general_belief import beliefs_of, believed, chance, features, space_of
from stratagem.agents.general_expectimax import INTERCEPTED, MOST_ACTIONS, PLAIN, act
from stratagem.agents.general_foresight import POSITIONS, answers, decided, foreseen, some_actions
from stratagem.agents.general_heuristic import TURN, over
from stratagem.agents.general_nemesis import Nemesis

WIDTH, MARGIN = Nemesis.width, Nemesis.margin  # where it looks ahead
ASTRAY = 0.1  # how much worse an action by lot may seem than the best


@quick
def rooms():
    """(boards, facts, chances, values) to write the answers of expectimax in."""
    boards, states = np.empty((POSITIONS, 100), np.int8), np.empty((POSITIONS, 6), np.int64)
    return boards, states, np.empty(POSITIONS), np.empty(POSITIONS)


@quick
def own_turn(luck, nets, board, facts, actions, space, ahead, stray):
    """A turn by what is expected, looking so far ahead, in place.

    Returns what the Attacker expects before the roll, if the best action by belief is taken, and how lucky the turn
    was; −1 and no luck if nobody can move. With a chance of `stray` any action that does not seem much worse than the
    best is taken.
    """
    role = facts[TURN] % 2
    sign, total, useful, rolled, hope = 1 - 2 * role, 0.0, 0, 0, 0.0
    for die in range(1, 7):
        tried = some_actions(board, facts, role, die, actions)
        if len(tried) == 0:
            continue
        best = sign * (sign * beliefs_of(nets[role], board, facts, die, tried, space)).max()
        total, useful = total + best, useful + 1
        if luck.integers(0, useful) == 0:  # each with the same chance in the end
            rolled, hope = die, best
    if useful == 0:
        facts[TURN] += 1
        return -1.0, 0.0
    expected = total / useful
    lucky = hope - expected
    tried = some_actions(board, facts, role, rolled, actions)
    if luck.random() < stray:
        liked = beliefs_of(nets[role], board, facts, rolled, tried, space)
        near = np.flatnonzero(sign * liked >= sign * hope - ASTRAY)
        place = near[luck.integers(0, len(near))]
    else:
        seen = foreseen(nets, board, facts, role, rolled, tried, space, ahead, WIDTH, MARGIN)
        place = best_of(luck, seen)
    left = act(board, facts, role, rolled, tried[place])
    if left == INTERCEPTED:
        lucky -= believed(nets[role], board, facts, left, space)
        intercept(luck, board)
        lucky += believed(nets[role], board, facts, PLAIN, space)
    elif left >= 2:
        choices = prisoners(board, left)
        liked = -beliefs_of(nets[role], board, facts, 0, choices, space)
        act(board, facts, role, 0, choices[best_of(luck, liked)])
    return expected, lucky


@quick
def answer(luck, net, board, facts, space, room):
    """A turn of expectimax, in place: what the Attacker expects before the roll, and how lucky it was."""
    boards, states, chances, values = room
    number = answers(board, facts, facts[TURN] % 2, boards, states, chances)
    for place in range(number):
        values[place] = decided(boards[place], states[place])
        if values[place] < 0:
            values[place] = chance(net, space, features(boards[place], states[place], space))
    expected = np.dot(values[:number], chances[:number])
    place = drawn(luck, chances[:number])
    board[:], facts[:] = boards[place], states[place]
    return expected, values[place] - expected


@quick
def play(luck, nets, learner, ahead):
    """(turns, result, result without luck) of a game; `learner` is the role that plays by what it believes.

    `nets[0]` judges positions in which the Defender is to roll, `nets[1]` those in which the Attacker is.
    """
    actions, space, room = np.empty(MOST_ACTIONS, np.int64), space_of(nets[0]), rooms()
    board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
    begin(luck, board, facts, 0.0)
    lucky = 0.0
    while not over(board, facts):
        if facts[TURN] % 2 == learner:
            lucky += own_turn(luck, nets, board, facts, actions, space, ahead, 0.0)[1]
        else:
            lucky += answer(luck, nets[1 - learner], board, facts, space, room)[1]
    result = decided(board, facts)
    return facts[TURN], result, result - lucky
