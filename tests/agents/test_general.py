"""Expectimax against the same sums done slowly with the real rules; and what it and greedy should see."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.general import Expectimax, position_of
from stratagem.agents.general_expectimax import MOST_ACTIONS, act, after_reply, list_actions, root_values
from stratagem.agents.general_heuristic import GARRISON, IS_MOAT, leaf
from stratagem.agents.general_reply import replied
from stratagem.agents.general_survey import is_surveyed
from stratagem.arena.match import play_games
from stratagem.core.errors import BadOption
from stratagem.games.general import General

GAME = General()
CROWDED = np.any([IS_MOAT, *GARRISON], axis=0)
afterstate, outcomes, legal_of, resolve, view_of, done = map(
    jax.jit, (GAME.afterstate, GAME.outcomes, GAME.legal, GAME.resolve, GAME.view, GAME.done)
)


def mover_of(state):
    return int(state.attacker) ^ (int(state.turn) % 2)


def view(state):
    return np.asarray(view_of(state, mover_of(state)))


def worth(state, position):
    """The heuristic's word on a state, for the Attacker."""
    board, facts, _, _ = position_of(view(state), GAME.turns)
    return leaf(board, facts, position)


def slow_worth(state, action, depth, position):
    """The same recursion straight from the rules: mean over outcomes, best over actions, for the Attacker."""
    after = afterstate(state, jnp.full(2, action, jnp.int32))
    total = 0.0
    for outcome, chance in enumerate(np.asarray(outcomes(after))):
        if chance > 0:
            following = resolve(after, jnp.int32(outcome))
            if int(following.converting):
                value = slow_best(following, depth, position)
            elif depth == 1 or bool(done(following)):
                value = worth(following, position)
            else:
                value = slow_best(following, depth - 1, position)
            total += float(chance) * value
    return total


def slow_best(state, depth, position):
    best = max if int(state.turn) % 2 == 0 else min
    actions = np.flatnonzero(np.asarray(legal_of(state)).any(axis=0))
    return best(slow_worth(state, int(action), depth, position) for action in actions)


@lru_cache
def random_states(games=24, turns=120):
    """Unfinished states from random games, spread over their course."""

    def turn(state, key):
        choose_key, step_key = jax.random.split(key)
        stepped = GAME.step(state, GAME.sample(state, jax.random.uniform(choose_key, (2,))), step_key)
        over = GAME.done(state)
        return jax.tree.map(lambda old, new: jnp.where(over, old, new), state, stepped), (state, over)

    def run(key):
        return jax.lax.scan(turn, GAME.init(key), jax.random.split(key, turns))[1]

    states, over = jax.tree.map(
        np.asarray, jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), games))
    )
    return [
        jax.tree.map(lambda leaf, g=g, t=t: jnp.asarray(leaf[g, t]), states)
        for g in range(games)
        for t in range(g % 7, turns, 7)
        if not over[g, t]
    ]


def test_its_moves_are_the_legal_ones():
    out = np.empty(MOST_ACTIONS, np.int64)
    checked = 0
    for state in random_states():
        board, facts, role, die = position_of(view(state), GAME.turns)
        if die:
            found = out[: list_actions(board, facts, role, die, out)]
            assert len(set(found.tolist())) == len(found)
            assert sorted(found) == np.flatnonzero(legal_of(state)[mover_of(state)]).tolist()
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("position", [0.0, 1.0])
def test_one_action_ahead_is_the_mean_over_what_chance_does(position):
    agent = Expectimax(GAME, depth=1, position=position)
    for state in random_states()[::12]:
        legal = np.asarray(legal_of(state))[mover_of(state)]
        actions, values = agent.values(view(state), legal)
        sign = 1 if int(state.turn) % 2 == 0 else -1
        for index in range(0, len(actions), 1 + len(actions) // 8):
            expected = sign * slow_worth(state, int(actions[index]), 1, position)
            assert values[index] == pytest.approx(expected, abs=1e-4)


SPARSE = (
    ". . . . . . . . . A/. . . . . . . . . ./. . . . . . . . . ./. . . D . . . . . ./. . . . G G . A . ./"
    ". . . . G G . . . ./. . . . . . . . . ./. . . . . . . . . ./. . . . . . . . . ./. . . . . . . . . ."
).replace(" ", "")
CONVERTING = (
    "A . A . . . . . . ./. . . . . . . . . ./. . . D . . . . . ./. . . . . . . . . ./. . . . G G . . . ./"
    ". . . . G G . . . ./. . . . . . . . . ./. . . . . . . . . ./. . . . . . . . . ./. . . . . . . . . ."
).replace(" ", "")


@pytest.mark.parametrize(
    "text",
    [f"{SPARSE} 1 0 2 0 -", f"{SPARSE} 2 17 1 1 O", f"{SPARSE} 1 298 1 0 -", f"{CONVERTING} 1 1 2 0 -"],
)
def test_two_actions_ahead_is_the_mean_over_the_dice_of_the_best_answer(text):
    state = GAME.read(text)
    legal = np.asarray(legal_of(state))[mover_of(state)]
    actions, values = Expectimax(GAME, depth=2).values(view(state), legal)
    sign = 1 if int(state.turn) % 2 == 0 else -1
    expected = [sign * slow_worth(state, int(action), 2, 1.0) for action in actions]
    assert values == pytest.approx(expected, abs=1e-4)


def random_positions(number):
    """(board, facts), crowded in garrisons and moat, at any stage of a game."""
    generator = np.random.default_rng(0)
    lively = [cell for cell in range(100) if cell not in (44, 45, 54, 55)]
    for trial in range(number):
        board = np.zeros(100, np.int8)
        cells = generator.permutation(lively if trial % 2 else [cell for cell in lively if CROWDED[cell]])
        attackers, defenders = generator.integers(1, 13), generator.integers(0, 13)
        board[cells[:attackers]], board[cells[attackers : attackers + defenders]] = 1, 2
        turn = generator.choice([0, 50, 297, 298, 299])
        yield board, np.array([*generator.integers(0, [3, 2, 2, 2]), turn, 300])


@pytest.mark.parametrize("position", [0.0, 0.7])
def test_the_sweep_over_all_dice_finds_the_best_answer_to_each(position):
    """Positions at random, crowded in garrisons and moat, against one action ahead for each die by itself."""
    out, seen = np.empty(MOST_ACTIONS, np.int64), set()
    for trial, (board, facts) in enumerate(random_positions(600)):
        role = trial % 3 % 2
        best = []
        for die in range(1, 7):
            actions = out[: list_actions(board, facts, role, die, out)].copy()
            if len(actions):
                best.append(root_values(board, facts, role, die, actions, 1, position).max())
                seen.add((role, die, len(actions) > 200))
        if best:
            expected = np.mean(best) * (1 if role == 0 else -1)
            assert replied(board, facts, role, position, np.empty(7)) == pytest.approx(expected, abs=1e-9)
    assert {(0, 6, True), (1, 6, True), (1, 1, False)} <= seen  # garrisonings of both sides, and dice of one


@pytest.mark.parametrize("position", [0.0, 0.7])
def test_moves_of_the_defender_judged_together_are_worth_what_each_is_by_itself(position):
    """The survey of the Attacker's answers against a sweep after each action."""
    out, checked = np.empty(MOST_ACTIONS, np.int64), 0
    for board, facts in random_positions(600):
        for die in range(1, 7):
            actions = out[: list_actions(board, facts, 1, die, out)].copy()
            together = root_values(board, facts, 1, die, actions, 2, position)
            for index, action in enumerate(actions):
                after, changed = board.copy(), facts.copy()
                left = act(after, changed, 1, die, action)
                alone = after_reply(after, changed, left, 1, position, np.empty(7))
                assert together[index] == pytest.approx(-alone, abs=1e-9)
                checked += is_surveyed(facts, action)
    assert checked > 20_000


def choice(agent, text):
    state = GAME.read(text)
    legal = np.asarray(legal_of(state))[mover_of(state)]
    return GAME.write_action(agent.act((), view(state), legal, np.random.default_rng(0)))


@pytest.mark.parametrize("depth", [1, 2])
def test_it_deals_the_last_hit_and_takes_the_last_unit(depth):
    agent = Expectimax(GAME, depth=depth)
    unguarded = SPARSE.replace("D", ".")
    assert choice(agent, f"{unguarded} 1 0 2 2 -") == "h5-f5"
    lone = (
        SPARSE.replace(".........A", "..........")
        .replace("GG.A..", "GG....")
        .replace("...D......", "...D.A....")
    )
    assert choice(agent, f"{lone} 1 1 2 0 -") == "d4-f4"


def test_options_out_of_range_are_refused():
    with pytest.raises(BadOption, match="depth is 1 or 2, not 3"):
        make_agent("expectimax:depth=3", GAME)
    with pytest.raises(BadOption, match="position is 0 or more"):
        make_agent("expectimax:position=-1", GAME)


@pytest.mark.parametrize("name", ["greedy", "expectimax:depth=1", "expectimax"])
def test_it_beats_random_in_either_role(name):
    agents = [make_agent(name, GAME), make_agent("random", GAME)]
    # The two games of a seed have the same toss and swapped seats, so each agent attacks in one of them.
    played = play_games(GAME, agents, [(0, 1), (1, 0)] * 4, [seed for seed in range(4) for _ in range(2)])
    assert [one.returns[one.seating.index(0)] for one in played] == [1] * 8
    assert not any(one.fouls for one in played)
