"""Evaluators: what is called exact is, what is searched adds up, and games played on find what is plain to see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.dice import Malina, Maximus, sheets
from stratagem.agents.general import Expectimax
from stratagem.analysis.evaluators import make_evaluator
from stratagem.analysis.evaluators.dice import MindfulValues, Points, Solved, values_of
from stratagem.analysis.evaluators.perfect import Perfect, solver_of
from stratagem.analysis.evaluators.rollouts import Rollouts
from stratagem.analysis.judgement import Question, winrate
from stratagem.analysis.programs import programs, view_of
from stratagem.core.errors import StratagemError, Unsupported
from stratagem.games import make_game
from stratagem.games.dice.rules import Crag
from stratagem.solvers.dice import solve
from tests.analysis.test_dice_review import Short
from tests.tiny_games import KuhnPoker, MatchingPennies, TicTacToe


def always(so_far):
    return True


def judged(evaluator, state, seat=0, visits=100, asked=()):
    return evaluator.judge(Question(evaluator.game, state, seat, visits, (), asked), always)


BOARD = make_game("corso:width=3,height=2")
STEP, LEGAL = jax.jit(BOARD.step), jax.jit(BOARD.legal)


def after(state, action):
    return STEP(state, jnp.full(2, action, jnp.int32), jax.random.key(0))


def best_result(state):
    """By plain recursion: the final margin of the seat to move when both play for it, and that of every move."""
    legal = np.flatnonzero(np.asarray(LEGAL(state)).any(axis=0)).tolist()
    if not legal:
        scores = np.asarray(BOARD.scores(state))
        return int(scores[int(state.mover)] - scores[1 - int(state.mover)]), {}
    moves = {action: -best_result(after(state, action))[0] for action in legal}
    return max(moves.values()), moves


def test_perfect_corso_has_the_margin_of_every_move():
    state = BOARD.read("OOA/bOO 1")
    margin, moves = best_result(state)
    found = judged(Perfect(BOARD), state)
    assert {line.action: line.score for line in found.lines} == moves
    assert found.score == margin
    assert found.values == (np.sign(margin), -np.sign(margin))


def test_the_line_of_perfect_corso_is_best_play_to_the_end():
    state = BOARD.read("OOA/bOO 1")
    best = judged(Perfect(BOARD), state).lines[0]
    for action in (best.action, *best.pv):
        margin, moves = best_result(state)
        assert moves[action] == margin
        state = after(state, action)
    assert bool(BOARD.done(state))


def test_a_stopped_solution_says_what_it_knows():
    game = make_game("corso:width=4,height=4")
    solver_of.cache_clear()
    question = Question(game, game.init(jax.random.key(0)), 0, 100)
    found = Perfect(game).judge(question, lambda so_far: False)
    assert 0 < found.visits < 16
    assert [line.visits for line in found.lines] == [1] * found.visits + [0] * (16 - found.visits)


def test_solved_dice_have_the_equities_of_the_table():
    game = Short()
    solve(game.family)
    state = game.read("-,-,-/-,-,- 13466 2* 1")
    found = judged(Solved(game), state)
    table = Malina(game).values(state)
    assert {line.action: line.value for line in found.lines} == {
        action: table[action] for action in np.flatnonzero(np.isfinite(table))
    }
    assert found.lines[0].action == int(np.argmax(table))
    assert [line.value for line in found.lines] == sorted((line.value for line in found.lines), reverse=True)


def test_dice_are_judged_as_solved_only_where_they_are(monkeypatch, tmp_path):
    from stratagem.agents import dice
    from stratagem.analysis import evaluators

    monkeypatch.setenv("STRATAGEM_CACHE", str(tmp_path))
    dice.solved.cache_clear()
    evaluators._made.cache_clear()
    assert make_evaluator(make_game("generala"))[0] == "mindful"
    assert make_evaluator(make_game("yatzy"))[0] == "points"
    with pytest.raises(StratagemError, match="stratagem solve generala"):
        make_evaluator(make_game("generala"), "solved")
    with pytest.raises(Unsupported, match="games of two"):
        make_evaluator(make_game("generala:players=3"), "solved")
    dice.solved.cache_clear()
    evaluators._made.cache_clear()


def test_points_are_those_of_maximus_and_a_lead_is_worth_something():
    game = Crag()
    level = game.read("-,-,-,-,-,-,-,-,-,-,-,-,-/-,-,-,-,-,-,-,-,-,-,-,-,- 566 1* 1")
    found = judged(Points(game), level)
    expected = Maximus(game).values(level)
    assert found.lines[0].action == int(np.argmax(expected))
    assert found.score == pytest.approx(expected.max())
    ahead = game.read("50,-,-,-,-,-,-,-,-,-,-,-,-/0,-,-,-,-,-,-,-,-,-,-,-,- 566 1* 1")
    assert judged(Points(game), ahead).value > found.value + 0.3
    assert sheets(game, ahead)[1][0].score == 50


def test_the_outlook_of_a_keep_is_the_chance_of_each_category():
    game = Crag()
    # Only crag (13 with a pair) is open; two sixes are kept of 2-6-6: a 1 makes it, one throw in six.
    state = game.read("0,0,0,0,0,0,0,0,0,0,0,0,-/0,0,0,0,0,0,0,0,0,0,0,0,- 266 1* 1")
    found = judged(Points(game), state)
    keep = game.read_action("keep 6-6")
    line = next(line for line in found.lines if line.action == keep)
    assert line == found.lines[0]
    assert line.outlook["made"] == pytest.approx({"crag": 1 / 6})
    assert line.outlook["waived"] == pytest.approx({"crag": 5 / 6})
    assert line.outlook["points"] == pytest.approx(50 / 6)
    assert sum(line.outlook is not None for line in found.lines) == 3


def test_with_three_players_a_third_of_the_win_is_worth_nothing():
    assert values_of(np.array([0.0, 1 / 3, 1.0]), 3) == pytest.approx([-0.5, 0.0, 1.0])
    assert winrate(0.0, 3) == pytest.approx(1 / 3)
    game = Crag(players=3)
    found = judged(MindfulValues(game), game.init(jax.random.key(0)))
    assert abs(found.value) < 0.2
    assert found.values is None


def test_general_is_judged_as_its_expectimax_player_does():
    game = make_game("general")
    state = jax.jit(game.init)(jax.random.key(3))
    legal = np.asarray(programs(game).legal(state))
    seat = int(np.argmax(legal.any(axis=1)))
    name, evaluator = make_evaluator(game, "expectimax")
    found = judged(evaluator, state, seat)
    actions, values = Expectimax(game).values(view_of(game, state, seat), legal[seat])
    assert {line.action: line.score for line in found.lines} == dict(zip(actions, values, strict=True))
    assert found.lines[0].score == max(values)
    assert name == "expectimax"


def test_games_played_on_find_the_win_and_the_only_defence():
    game = TicTacToe()
    wins = judged(Rollouts(game), game.read("XX.OO.... 1"), visits=64)
    assert wins.lines[0].action == 2
    assert wins.lines[0].value == 1.0
    holds = judged(Rollouts(game), game.read("XX..O.... 2"), seat=1, visits=200)
    assert holds.lines[0].action == 2
    assert holds.values == pytest.approx((-holds.value, holds.value))


def test_moves_that_are_asked_for_are_tried_however_unlikely():
    game = TicTacToe()
    state = game.init(jax.random.key(0))
    found = judged(Rollouts(game), state, visits=8, asked=(8,))
    assert next(line for line in found.lines if line.action == 8).visits > 0
    assert sum(line.visits == 0 for line in found.lines) == 1


def test_games_with_secrets_and_simultaneous_moves_are_played_on_too():
    game = KuhnPoker()
    state = game.init(jax.random.key(1))
    found = judged(Rollouts(game), state, visits=16)
    assert found.values is None
    pennies = MatchingPennies()
    found = judged(Rollouts(pennies), pennies.init(jax.random.key(0)), seat=1, visits=400)
    assert all(abs(line.value) < 0.3 for line in found.lines)
