"""Generals judged from one seat: what is hidden from it never enters."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_belief import empty_mind, look
from stratagem.analysis.evaluators import fog
from stratagem.analysis.evaluators.fog import Fog
from stratagem.analysis.generals_guess import guess
from stratagem.analysis.judgement import Question
from stratagem.games import make_game
from stratagem.games.generals.board import army_of, clock_of, kind_of, owner_of
from stratagem.networks.judgements import Judgement

GAME = make_game("generals:width=6,height=6,cap=80,castles_from=1,castles_to=2,apart=4")
INIT, STEP, LEGAL = jax.jit(GAME.init), jax.jit(GAME.step), jax.jit(GAME.legal)
VIEW, DISGUISE = jax.jit(GAME.view), jax.jit(GAME.disguise)
LOOK = jax.jit(lambda view: look(GAME, empty_mind(GAME), view))
GUESS = jax.jit(lambda mind, view, seat, key: guess(GAME, mind, view, seat, key))


def played(seed, turns):
    """(The states of a game of random moves, the actions)."""
    draw = np.random.default_rng(seed)
    states, rows = [INIT(jax.random.key(seed))], []
    for _ in range(turns):
        allowed = np.asarray(LEGAL(states[-1]))
        # Moves before passes, so that both sides have land.
        moving = allowed & (np.arange(allowed.shape[1]) % GAME.per_cell < 4)
        chosen = [row if row.any() else all_ for row, all_ in zip(moving, allowed, strict=True)]
        rows.append(tuple(int(draw.choice(np.flatnonzero(row))) for row in chosen))
        states.append(STEP(states[-1], jnp.asarray(rows[-1], jnp.int32)))
    return states, rows


def same(one, other):
    return all(
        np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("seat", [0, 1])
def test_a_guessed_board_looks_to_the_seat_as_the_true_one_does(seed, seat):
    state = played(seed, 30)[0][-1]
    view = VIEW(state, seat)
    for number in range(3):
        board = GUESS(LOOK(view), view, seat, jax.random.key(number))
        assert same(VIEW(board, seat), view)
        assert int(board.winner) == -1
        assert int(owner_of(board.cells[board.generals[1 - seat]])) == 2 - seat
        assert int(np.asarray(army_of(board.cells, clock_of(board))).min()) >= 0


def test_a_general_that_was_seen_is_not_moved_and_others_are():
    state = GAME.read(
        "A .a3 gb4 . . . / . . . . . . / . # . . # . / . . . . . . / . . . . . . / . . . . . . | 20 -"
    )
    view = VIEW(state, 0)
    boards = [GUESS(LOOK(view), view, 0, jax.random.key(number)) for number in range(8)]
    assert {int(board.generals[1]) for board in boards} == {2}
    hidden = GAME.read(
        "A .a3 . . . . / . . . . . . / . # . . # . / . . . . . . / . . . . .b2 .b2 / . . . . . gb4 | 20 -"
    )
    view = VIEW(hidden, 0)
    boards = [GUESS(LOOK(view), view, 0, jax.random.key(number)) for number in range(8)]
    places = {int(board.generals[1]) for board in boards}
    assert len(places) > 1
    assert all(int((kind_of(board.cells) == 3).sum()) == 2 for board in boards)


@pytest.fixture(scope="module")
def quick():
    """One evaluator whose programs all tests of this file share."""
    return Fog(GAME)


@pytest.mark.parametrize("seat", [0, 1])
def test_positions_that_look_alike_to_a_seat_are_judged_alike(quick, seat):
    state = played(3, 30)[0][-1]
    other = DISGUISE(state, seat, jax.random.key(5))
    assert not same(state, other)
    answers = [quick.judge(Question(GAME, one, seat, 1), lambda so_far: True) for one in (state, other)]
    assert answers[0] == answers[1]


def test_the_past_is_seen_through_the_seats_own_eyes(quick):
    states, rows = played(4, 20)
    past = tuple(zip(states[:-1], rows, strict=True))
    other = tuple(
        (DISGUISE(state, 0, jax.random.key(turn)), (row[0], -1)) for turn, (state, row) in enumerate(past)
    )
    question = Question(GAME, states[-1], 0, 1, past)
    answers = [quick.judge(one, lambda so_far: True) for one in (question, replace(question, past=other))]
    assert answers[0] == answers[1]


def test_a_general_that_can_be_taken_is_taken(quick):
    state = GAME.read(
        "A . .a9 gb2 . . / . . . . . . / . # . . # . / . . . . . . / . . . . . . / . . . . . . | 20 -"
    )
    found = quick.judge(Question(GAME, state, 0, 1), lambda so_far: True)
    assert GAME.write_action(found.lines[0].action) in ("0,2 right", "0,2 right half")
    assert found.lines[0].value == 1.0
    assert found.belief[0] == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    assert sum(map(sum, found.belief)) == 1.0
    assert found.values is None
    assert sum(line.prior for line in found.lines) == pytest.approx(1)


def test_a_shipped_policy_is_the_prior(monkeypatch):
    wishes = jnp.linspace(0.0, 3.0, GAME.spec.actions)
    monkeypatch.setattr(fog, "policy_of", lambda game, weights: lambda seen: Judgement(wishes, jnp.zeros(1)))
    trained = fog.compiled.__wrapped__(GAME)
    seen = trained.look(empty_mind(GAME), played(3, 30)[0][-1], jnp.int32(0))
    legal = np.asarray(seen.legal)
    assert np.asarray(trained.prior(seen)) == pytest.approx(
        np.exp(wishes) * legal / np.exp(wishes)[legal].sum()
    )
