"""Exact lessons of Corso: what is written down is the truth, and what is drawn from it too; a network learns them."""

import sys

import jax
import numpy as np
import pytest

from stratagem.agents.corso import cell_codes
from stratagem.games.corso import Corso
from stratagem.networks.weights import load_weights, weight_facts
from stratagem.solvers.corso import Solver
from tests.benchmarks.scripts import script

teach = script("docs/teach_corso.py")
GAME = Corso(3, 3)


class Alone:
    """A pool that does its work at once, in this process."""

    def __init__(self, processes, context):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, task, *arguments):
        result = task(*arguments)
        return type("Done", (), {"result": lambda self: result})()


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["teach_corso.py", "--size", "3", *map(str, words)])
    teach.main()


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lessons")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teach, "ProcessPoolExecutor", Alone)
        patch.setattr(teach, "EARLY", {})
        call(patch, "collect", "--positions", 400, "--minutes", 2, "--processes", 2, "--out", folder)
    return folder


def test_lessons_are_what_the_solver_says_also_when_they_are_turned(lessons):
    material = teach.read(lessons, GAME.cells)
    drawn = jax.jit(teach.draw, static_argnums=(0, 2))(GAME, material, 300, jax.random.key(0))
    solver, with_actions = Solver(3, 3), 0
    legal = np.asarray(jax.vmap(lambda view: GAME.legal(GAME.state_of(view)).any(axis=0))(drawn.view))
    np.testing.assert_array_equal(drawn.legal, legal)
    for index, (cells, mover) in enumerate(zip(*cell_codes(np.asarray(drawn.view)), strict=True)):
        assert mover == 0
        outcome = solver.outcome(cells, 0)
        assert drawn.values[index, 0] == outcome == -drawn.values[index, 1]
        margins = solver.margins(cells, 0)
        right = np.flatnonzero(drawn.right[index])
        with_actions += len(right) > 0
        assert all(margins[action] > 0 for action in right)
    assert with_actions > 50


def test_positions_of_games_have_all_their_winning_moves(lessons):
    solver, whole = Solver(3, 3), 0
    for path in lessons.glob("lessons-*.npz"):
        with np.load(path, allow_pickle=False) as file:
            for planes, right, kind in zip(file["planes"], file["right"], file["kind"], strict=True):
                if kind == teach.PLAYED:
                    codes = sum(
                        (planes[plane] >> np.arange(9) & 1) * code for plane, code in enumerate((1, 3, 2, 4))
                    )
                    margins = solver.margins(codes.astype(np.int8), 0)
                    assert right == sum(1 << action for action, margin in margins.items() if margin > 0)
                    whole += 1
    assert whole > 100


def test_a_network_is_taught_and_kept_with_what_taught_it(lessons, monkeypatch, tmp_path):
    words = ["--network", "global:channels=8,blocks=1", "--iterations", 2, "--set", "batch=16", "updates=4"]
    call(monkeypatch, "teach", lessons, *words, "--runs", tmp_path / "runs", "--out", tmp_path / "out")
    facts = weight_facts(tmp_path / "out" / "corso-5x5.safetensors")
    assert facts["summary"]["iterations"] == 2
    assert facts["summary"]["lessons"] == len(teach.read(lessons, GAME.cells).won)
    load_weights(tmp_path / "out" / "corso-5x5.safetensors", GAME)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="holds no lessons"):
        teach.read(tmp_path, 9)
