"""What the exact search notes on its way is as exact as its answer."""

import numpy as np
import pytest

from stratagem.solvers.corso import Solver
from stratagem.solvers.corso_bits import empties, is_over, legal, make_board, margin, play
from stratagem.solvers.corso_notes import make_notes, note, take

WIDTH, HEIGHT = 3, 5
EMPTY = np.zeros(WIDTH * HEIGHT, np.int8)


@pytest.fixture(scope="module")
def noted():
    solver = Solver(WIDTH, HEIGHT, megabytes=4, notes=40)
    return solver.outcome(EMPTY, 0), solver.take_notes(), solver.take_notes()


def typed(position):
    return tuple(np.uint64(plane) for plane in position)


def test_notes_do_not_change_the_answer(noted):
    assert noted[0] == Solver(WIDTH, HEIGHT, megabytes=4).outcome(EMPTY, 0)


def test_each_note_is_what_a_solver_says_of_that_position(noted):
    notes, judge = noted[1], Solver(WIDTH, HEIGHT, megabytes=4)
    assert 0.2 < notes.reached.mean() < 0.95
    for position, reached in zip(notes.positions, notes.reached, strict=True):
        assert (judge.decide(typed(position)) > 0) == reached


def test_the_move_of_a_note_wins(noted):
    notes, board, judge = noted[1], make_board(WIDTH, HEIGHT), Solver(WIDTH, HEIGHT, megabytes=4)
    assert (notes.moves[~notes.reached] == -1).all()
    assert (notes.moves >= 0).sum() > 100
    for position, move in zip(notes.positions, notes.moves, strict=True):
        if move >= 0:
            cell = np.uint64(1 << int(move))
            assert legal(typed(position), board) & cell
            after = typed(play(typed(position), cell, board))
            assert (margin(after) if is_over(after, board) else judge.decide(after)) < 0


def test_every_stage_of_the_game_has_a_sample_of_its_own(noted):
    board = make_board(WIDTH, HEIGHT)
    left = [bin(int(empties(typed(position), board))).count("1") for position in noted[1].positions]
    counts = np.bincount(left, minlength=16)
    assert counts.max() == 40  # as many as were asked for
    assert (counts[1:13] > 0).all()


def test_notes_are_taken_once(noted):
    assert len(noted[2].moves) == 0


def test_without_paper_there_are_no_notes():
    solver = Solver(3, 3)
    solver.outcome(np.zeros(9, np.int8), 0)
    assert len(solver.take_notes().moves) == 0


def test_a_sample_is_even_over_all_that_was_offered():
    notes = make_notes(1, 50)
    for number in range(20_000):
        note(notes, typed((number, 0, 0, 0)), 1, 1, 3, True)
    kept = take(notes, 1).positions[:, 0]
    assert len(np.unique(kept)) == 50
    # The mean of 50 even draws of 0 to 19,999 has a deviation of 20,000 / √12 / √50 = 816.
    assert abs(kept.mean() - 10_000) < 4 * 816
