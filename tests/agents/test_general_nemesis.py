"""Nemesis of GENERAL against the real rules: what it counts, which answers it expects, how it looks ahead."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.general import Expectimax, position_of
from stratagem.agents.general_belief import (
    CONVERTING,
    HITTING,
    TAKING,
    TAKING_GUARDS,
    beliefs_of,
    chance,
    features,
    read_beliefs,
    space_of,
    write_beliefs,
)
from stratagem.agents.general_expectimax import MOST_ACTIONS, list_actions
from stratagem.agents.general_foresight import ALIKE, CLOSE, POSITIONS, answers, decided, followed, foreseen
from stratagem.agents.general_heuristic import IS_GENERAL, IS_MOAT, TRIANGLE
from stratagem.arena.match import play_games
from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch
from stratagem.games.general import General
from tests.agents.test_general import (
    GAME,
    SPARSE,
    afterstate,
    choice,
    legal_of,
    mover_of,
    outcomes,
    random_states,
    resolve,
    view,
)

NEMESIS = make_agent("nemesis", GAME)


def positions(states):
    """(board, facts, role) of states before the die that has fallen."""
    for state in states:
        board, facts, role, die = position_of(view(state), GAME.turns)
        if die:
            yield state, board, facts, role


def test_the_ways_that_it_counts_are_actions():
    """By die: hits, captures by either side, of guards too, and conversions, twice where a unit is taken besides."""
    out, checked = np.empty(MOST_ACTIONS, np.int64), 0
    space = space_of(NEMESIS.beliefs(0)[0])
    for _, board, facts, _ in positions(random_states()):
        facts[1:4] = 1  # no garrisonings, no offensive
        features(board, facts, space)
        ways = space[4]
        for die in range(1, 7):
            ends = [out[: list_actions(board, facts, role, die, out)] % 100 for role in range(2)]
            assert ways[HITTING, die - 1] == IS_GENERAL[ends[0]].sum()
            assert ways[TAKING, die - 1] == (board[ends[1]] == 1).sum() == (board[ends[0]] == 2).sum()
            assert ways[TAKING_GUARDS, die - 1] == (IS_MOAT[ends[0]] & (board[ends[0]] == 2)).sum()
            converting = 0
            for side in range(2):
                inside = (TRIANGLE[side] & (board == 1)).sum()
                taken = board[ends[1]] == 1
                converting += (TRIANGLE[side][ends[1]] * (1 + taken) * (inside > taken)).sum()
            assert ways[CONVERTING, die - 1] == converting
            checked += len(ends[0]) + len(ends[1])
    assert checked > 10_000


def after_chance(state, action):
    """(state, probability) of every way in which chance goes on after an action, dice apart."""
    after = afterstate(state, jnp.full(2, action, jnp.int32))
    for outcome, odds in enumerate(np.asarray(outcomes(after))):
        if odds > 0:
            yield resolve(after, jnp.int32(outcome)), float(odds)


def named(state):
    """A position without its die."""
    board, facts, _, _ = position_of(view(state), GAME.turns)
    return board.tobytes(), *facts[:5].tolist()


def rolled(state):
    """The same position after each roll that allows something."""
    for die in range(1, 7):
        turned = state._replace(die=jnp.int8(die))
        if not legal_of(turned)[mover_of(state), 10_000:].any() and legal_of(turned).any():
            yield turned


def expected_answers(state):
    """Counter of positions, without dice, that expectimax may leave, or None where it likes too many alike."""
    found, agent, rolls = Counter(), Expectimax(GAME), list(rolled(state))
    for turned in rolls:
        actions, values = agent.values(view(turned), np.asarray(legal_of(turned))[mover_of(turned)])
        best = actions[values >= values.max() - 1e-9]
        if len(best) > ALIKE:
            return None
        for action in best:
            for following, odds in after_chance(turned, int(action)):
                if int(following.converting):
                    choices, worth = agent.values(
                        view(following), np.asarray(legal_of(following))[mover_of(following)]
                    )
                    following = next(after_chance(following, int(choices[worth.argmax()])))[0]
                found[named(following)] += odds / len(best) / len(rolls)
    return found


def test_the_answers_it_expects_are_those_of_expectimax():
    boards, states = np.empty((POSITIONS, 100), np.int8), np.empty((POSITIONS, 6), np.int64)
    chances, checked, roles = np.empty(POSITIONS), 0, set()
    for state, board, facts, role in list(positions(random_states()))[::9]:
        expected = expected_answers(state)
        if expected is None:
            continue
        number = answers(board, facts, role, boards, states, chances)
        found = Counter()
        for index in range(number):
            found[boards[index].tobytes(), *states[index, :5].tolist()] += chances[index]
        assert found.keys() == expected.keys()
        assert all(found[one] == pytest.approx(expected[one], abs=1e-5) for one in found)
        checked, roles = checked + 1, roles | {role}
    assert checked > 15
    assert roles == {0, 1}


def slow_value(state, action, ahead):
    """What `foreseen` says of an action, in the long way: real rules, and a sum over every event."""
    role = int(state.turn) % 2
    beliefs = NEMESIS.beliefs(role)
    space, out, values = space_of(beliefs[0]), np.empty(MOST_ACTIONS, np.int64), Counter()
    for following, odds in after_chance(state, action):
        values[named(following)] += odds
    boards, states = np.empty((POSITIONS, 100), np.int8), np.empty((POSITIONS, 6), np.int64)
    chances, total = np.empty(POSITIONS), 0.0
    for (cells, *numbers), odds in values.items():
        after = np.frombuffer(cells, np.int8).copy()
        changed = np.array([*numbers, GAME.turns])
        if (over := decided(after, changed)) >= 0:
            total += odds * over
            continue
        for index in range(answers(after, changed, 1 - role, boards, states, chances)):
            new, later = boards[index], states[index]
            value = decided(new, later)
            if value < 0 and ahead == 2:
                value = chance(beliefs[1 - role], space, features(new, later, space))
            elif value < 0:
                best = []
                for roll in range(1, 7):
                    listed = out[: list_actions(new, later, role, roll, out)].copy()
                    if len(listed):
                        hopes = beliefs_of(beliefs[role], new, later, roll, listed, space)
                        best.append(hopes.max() if role == 0 else hopes.min())
                value = np.mean(best)
            total += odds * chances[index] * value
    return total if role == 0 else 1 - total


@pytest.mark.parametrize("ahead", [2, 3])
def test_looking_ahead_is_the_mean_over_dice_and_answers(ahead):
    checked = 0
    for state, board, facts, _ in list(positions(random_states()))[::11]:
        if not facts[1:3].all():  # with garrisonings left it looks at some of them only
            continue
        actions, beliefs, role, die = asked(state)
        space = space_of(beliefs[0])
        for action in actions[::5]:
            for following, _ in after_chance(state, int(action)):
                if int(following.converting):
                    break
            else:
                value = followed(beliefs, board, facts, role, die, action, space, ahead)
                value = value if role == 0 else 1 - value
                assert value == pytest.approx(slow_value(state, int(action), ahead), abs=1e-5)
                checked += 1
        assert len(board) == 100
    assert checked > 20


def asked(state):
    """(legal actions, the beliefs of the role that is to move, that role, the die)."""
    _, _, role, die = position_of(view(state), GAME.turns)
    return np.flatnonzero(legal_of(state)[mover_of(state)]), NEMESIS.beliefs(role), role, die


def test_the_action_looked_at_furthest_is_one_of_the_likeliest():
    state = GAME.read(f"{SPARSE} 1 0 2 0 -")
    board, facts, _, _ = position_of(view(state), GAME.turns)
    actions, beliefs, role, die = asked(state)
    space = space_of(beliefs[0])
    shallow = foreseen(beliefs, board, facts, role, die, actions, space, 1, 3, 1.0)
    deep = foreseen(beliefs, board, facts, role, die, actions, space, 5, 3, 1.0)
    assert sorted(np.argsort(-shallow)[:3]) == sorted(np.flatnonzero(deep >= 0))


def test_who_stays_close_is_looked_at_further_and_who_falls_behind_keeps_the_distance():
    stages, fallen = Counter(), 0
    for state, board, facts, role in list(positions(random_states()))[::5]:
        if role == 1:
            continue
        actions, beliefs, role, die = asked(state)
        space = space_of(beliefs[0])
        args = beliefs, board, facts, role, die, actions, space
        found = foreseen(*args, 3, 4, 0.2)
        twice = foreseen(*args, 2, 4, 0.2)
        looked = np.flatnonzero(found >= 0)
        assert (looked == np.flatnonzero(twice >= 0)).all()
        best = twice.max()
        close = looked[twice[looked] >= best - CLOSE[2] * 4 * best * (1 - best)]
        stages[len(close) > 1] += 1
        if len(close) == 1:
            assert found[looked] == pytest.approx(twice[looked])
            continue
        deep = {
            index: followed(beliefs, board, facts, role, die, actions[index], space, 3) for index in close
        }
        assert found.max() == pytest.approx(max(deep.values()))
        for index in looked:
            if index in deep:
                assert found[index] == pytest.approx(deep[index])
            else:
                fallen += 1
                kept = max(found.max() - (best - twice[index]), 0.0)
                assert found[index] == pytest.approx(kept)
    assert min(stages[True], stages[False], fallen) > 3


@pytest.mark.parametrize("ahead", [1, 2, 4])
def test_it_deals_the_last_hit(ahead):
    unguarded = SPARSE.replace("D", ".")
    assert choice(make_agent(f"nemesis:ahead={ahead}", GAME), f"{unguarded} 1 0 2 2 -") == "h5-f5"


def test_it_beats_random_in_either_role():
    agents = [make_agent("nemesis:ahead=2", GAME), make_agent("random", GAME)]
    played = play_games(GAME, agents, [(0, 1), (1, 0)] * 4, [seed for seed in range(4) for _ in range(2)])
    assert [one.returns[one.seating.index(0)] for one in played] == [1] * 8
    assert not any(one.fouls for one in played)


def test_what_it_cannot_use_is_refused(tmp_path):
    with pytest.raises(BadOption, match="ahead is 1 to 5, not 6"):
        make_agent("nemesis:ahead=6", GAME)
    with pytest.raises(BadOption, match="width is 1 or more"):
        make_agent("nemesis:width=0", GAME)
    with pytest.raises(BadOption, match="margin is a share"):
        make_agent("nemesis:margin=2", GAME)
    with pytest.raises(RulesetMismatch, match="was learned for general"):
        make_agent("nemesis", General(turns=20))
    with pytest.raises(DamagedFile, match="no such weight file"):
        make_agent(f"nemesis:attacker={tmp_path / 'none'}", GAME)
    path = tmp_path / "cut.safetensors"
    write_beliefs(path, NEMESIS.beliefs(0), GAME, {})
    kept = read_beliefs(path, GAME)
    assert all(
        (old == new).all()
        for old, new in zip(jax.tree.leaves(NEMESIS.beliefs(0)), jax.tree.leaves(kept), strict=True)
    )
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DamagedFile):
        make_agent(f"nemesis:attacker={path}", GAME)
