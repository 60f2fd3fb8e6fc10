"""Exact lessons of Corso: what is written down is the truth, and what is learned from it too."""

import sys

import jax
import numpy as np

from stratagem.agents.corso import cell_codes
from stratagem.games.corso import Corso
from stratagem.solvers.corso import Solver
from tests.benchmarks.scripts import script

make = script("docs/make_lessons.py")
GAME = Corso(3, 3)


def test_lessons_agree_with_the_solver_before_and_after_a_move(monkeypatch, tmp_path):
    positions, lessons = tmp_path / "positions.npz", tmp_path / "lessons.npz"
    monkeypatch.setattr(make, "SHARES", {})
    monkeypatch.setattr(make, "ProcessPoolExecutor", Alone)
    for words in (
        ["positions", "--count", "160", "--out", str(positions)],
        ["truth", str(positions), "--minutes", "1", "--processes", "1", "--out", str(lessons)],
    ):
        monkeypatch.setattr(sys, "argv", ["make_lessons.py", "--size", "3", *words])
        make.main()
    found = make.samples([lessons], GAME, 100, np.random.default_rng(0))
    views = np.asarray(jax.vmap(lambda state: GAME.view(state, state.mover))(found.state))
    solver = Solver(3, 3)
    won = 0
    for index, (cells, mover) in enumerate(zip(*cell_codes(views), strict=True)):
        outcome = solver.outcome(cells, int(mover))
        assert found.values[index, mover] == outcome
        assert found.values[index, 1 - mover] == -outcome
        winning = {
            action for action, after in solver.outcomes(cells, int(mover)).items() if after > 0 and index < 50
        }
        assert set(np.flatnonzero(found.policy[index])) == winning
        won += bool(winning)
    assert len(views) == 100
    assert 10 < won < 50


class Alone:
    """The pool of one: this process."""

    def __init__(self, processes, context):
        assert processes == 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def submit(self, function, *arguments):
        answer = function(*arguments)
        return type("Answer", (), {"result": staticmethod(lambda: answer)})
