"""Lessons for a player of GENERAL from its games against expectimax: several actions of a turn, and no luck in them.

What is believed after an own action is learned from what is believed of the positions that come of it through the
answers of expectimax to all dice; what is believed before an own roll, from the best actions of all dice. Either is a
step on only. What came later is handed back from turn to turn: how much more than was believed it turned out to be
worth, less the luck of it.
"""

import numpy as np
from general_games import answer, rooms
from general_starts import begin, quick
from general_turns import best_of, intercept, prisoners

from stratagem.agents.general_belief import LONGEST, beliefs_of, believed, chance, features, space_of
from stratagem.agents.general_expectimax import INTERCEPTED, MOST_ACTIONS, PLAIN, act
from stratagem.agents.general_foresight import answers, decided, hoped, some_actions
from stratagem.agents.general_heuristic import TURN, over

BEST, OTHERS = 4, 1  # actions of a turn that are looked at: those believed in most, and some by lot
SIBLINGS = BEST + OTHERS
FAR = 0.06  # who is believed to be so much worse than the best is not looked at
COUSINS = 3  # siblings of which one position before the next own roll makes a lesson, too
MELEE = 11  # units on the board
ENOUGH = 0.004  # share of the turns after the melee at which a game is left
STRAY, WILD = 0.05, 0.15  # shares of actions by lot and of games that begin anywhere
ASTRAY = 0.1  # how much worse an action by lot may seem than the best
MOST = LONGEST // 2 * SIBLINGS  # lessons of a game, of either kind
HOPED, FALLEN, BACKED, MET, KEPT = range(5)
"""Of an own turn: what was believed of all dice, of the one that fell, and of the action through all answers; what was
believed of the position that was met before (from the second turn on); whether what came later may be handed back."""


def room_for(lessons):
    """(boards, facts, worths, turns) of so many lessons."""
    boards, states = np.empty((lessons, 100), np.int8), np.empty((lessons, 6), np.int16)
    return boards, states, np.empty(lessons, np.float32), np.empty(lessons, np.int64)


@quick
def note(lessons, taken, board, facts, worth, turn):
    boards, states, worths, turns = lessons
    boards[taken], states[taken], worths[taken], turns[taken] = board, facts, worth, turn
    return taken + 1


@quick
def take_lessons(luck, nets, learner, trace, late, after, before):
    """Play until there is no room for another game; (lessons after own actions, before own rolls, games).

    All turns of the melee give lessons, and a share `late` of those after it.
    """
    actions, space, room = np.empty(MOST_ACTIONS, np.int64), space_of(nets[0]), rooms()
    board, facts = np.empty(100, np.int8), np.empty(6, np.int64)
    story = np.empty((LONGEST, 5))
    one, other, games, turns = 0, 0, 0, 0
    while one + MOST <= len(after[2]) and other + MOST <= len(before[2]):
        begin(luck, board, facts, WILD)
        if facts[TURN] % 2 != learner:
            answer(luck, nets[1 - learner], board, facts, space, room)
        first, others_first, length = one, other, 0
        while not over(board, facts):
            melee = (board != 0).sum() >= MELEE
            if not melee and luck.random() < ENOUGH:
                break
            asked = melee or luck.random() < late
            one, other = _turn(
                luck, nets, learner, board, facts, actions, space, room, story[length], asked,
                after, before, one, other, turns + length,
            )  # fmt: skip
            length += 1
            if not over(board, facts):
                story[length % LONGEST, MET] = _answered(luck, nets, learner, board, facts, space, room)
        more = handed_back(story[:length], trace)
        for lesson in range(first, one):
            after[2][lesson] += trace * more[after[3][lesson] - turns, 0]
        for lesson in range(others_first, other):
            turn = before[3][lesson] - turns
            if turn < length:
                before[2][lesson] += trace * more[turn, 1]
        games, turns = games + 1, turns + length + 1
    return one, other, games


@quick
def handed_back(story, trace):
    """float64[T, 2]: how much more each own turn brought than was believed after its action, and after its roll."""
    more, later = np.zeros((len(story), 2)), 0.0
    for turn in range(len(story) - 1, -1, -1):
        more[turn, 0] = later
        if story[turn, KEPT]:
            more[turn, 1] = story[turn, BACKED] + trace * later - story[turn, FALLEN]
        if turn:
            later = story[turn, HOPED] + trace * more[turn, 1] - story[turn, MET]
    return more


@quick
def _answered(luck, nets, learner, board, facts, space, room):
    """An answer of expectimax, in place: what is believed of the position that comes of it."""
    expected, lucky = answer(luck, nets[1 - learner], board, facts, space, room)
    return expected + lucky


@quick
def _turn(
    luck, nets, learner, board, facts, actions, space, room, told, asked, after, before, one, other, turn
):
    """An own turn in place, with its lessons if they are asked for; returns how many there are of either kind."""
    sign, useful, die = 1 - 2 * learner, 0, 0
    told[HOPED], told[FALLEN], told[KEPT] = 0.0, 0.0, 0.0
    for number in range(1, 7):
        tried = some_actions(board, facts, learner, number, actions)
        if len(tried):
            best = sign * (sign * beliefs_of(nets[learner], board, facts, number, tried, space)).max()
            told[HOPED], useful = told[HOPED] + best, useful + 1
            if luck.integers(0, useful) == 0:  # each with the same chance in the end
                die, told[FALLEN] = number, best
    if useful == 0:
        facts[TURN] += 1
        told[HOPED] = chance(nets[1 - learner], space, features(board, facts, space))
        return one, other
    told[HOPED] /= useful
    if asked:
        other = note(before, other, board, facts, told[HOPED], turn)
    tried = some_actions(board, facts, learner, die, actions).copy()
    liked = sign * beliefs_of(nets[learner], board, facts, die, tried, space)
    order, top, chosen = np.argsort(-liked), -2.0, -1
    for place in range(min(SIBLINGS if asked else BEST, len(tried))):
        lot = place >= BEST
        index = order[int(len(tried) * luck.random() ** 2)] if lot else order[place]
        if not lot and liked[index] < liked[order[0]] - FAR:
            continue
        following, changed = board.copy(), facts.copy()
        left = act(following, changed, learner, die, tried[index])
        worth = (
            decided(following, changed)
            if left == PLAIN
            else believed(nets[learner], following, changed, left, space)
        )
        if left == PLAIN and worth < 0:
            boards, states, _, _ = room
            worth, number = _backed(nets, learner, following, changed, space, room)
            if asked:
                one = note(after, one, following, changed, worth, turn)
                way = luck.integers(0, number)
                if place < COUSINS and decided(boards[way], states[way]) < 0:
                    hope = hoped(nets, boards[way], states[way], learner, space, 1)
                    other = note(before, other, boards[way], states[way], hope, turn + 1)
        if not lot and sign * worth > top:
            top, chosen, told[BACKED] = sign * worth, index, worth
    told[KEPT] = 1.0
    if luck.random() < STRAY:
        near = np.flatnonzero(liked >= liked[order[0]] - ASTRAY)
        chosen, told[KEPT] = near[luck.integers(0, len(near))], 0.0
    left = act(board, facts, learner, die, tried[chosen])
    if left != PLAIN:
        told[KEPT] = 0.0  # its luck is not told apart
    if left == INTERCEPTED:
        intercept(luck, board)
    elif left != PLAIN:
        choices = prisoners(board, left)
        act(
            board,
            facts,
            learner,
            0,
            choices[best_of(luck, -beliefs_of(nets[learner], board, facts, 0, choices, space))],
        )
    return one, other


@quick
def _backed(nets, learner, board, facts, space, room):
    """(what is expected after an own action through all answers, how many there are); they are left in `room`."""
    boards, states, chances, _ = room
    number, total = answers(board, facts, 1 - learner, boards, states, chances), 0.0
    for way in range(number):
        total += chances[way] * hoped(nets, boards[way], states[way], learner, space, 0)
    return total, number
