"""Exact lessons of Corso: what is written down is the truth, and what is drawn from it too; a network learns them."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.corso import cell_codes
from stratagem.games.corso import Corso
from stratagem.networks.weights import load_weights, weight_facts
from stratagem.solvers.corso import Solver
from stratagem.solvers.corso_bits import image, pack, symmetries
from tests.benchmarks.scripts import script

collecting, teach = script("docs/corso_lessons.py"), script("docs/teach_corso.py")
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
        return type("Done", (), {"result": lambda self: result, "done": lambda self: True})()


def call(monkeypatch, program, *words):
    monkeypatch.setattr(sys, "argv", ["program", "--size", "3", *map(str, words)])
    program.main()


def read(folder, room=50_000):
    return teach.Library(folder, GAME.cells, room).read()


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lessons")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collecting, "ProcessPoolExecutor", Alone)
        patch.setattr(collecting, "SHARES", {})
        call(patch, collecting, "--positions", 400, "--minutes", 2, "--processes", 2, "--out", folder)
    return folder


def test_lessons_are_what_the_solver_says_also_when_they_are_turned(lessons):
    material = read(lessons)
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
        if drawn.complete[index]:
            assert len(right) == sum(margin > 0 for margin in margins.values())
    assert with_actions > 50
    assert 20 < drawn.complete.sum() < 250


def test_positions_of_games_have_all_their_winning_moves(lessons):
    solver, whole = Solver(3, 3), 0
    for path in lessons.glob("lessons-*.npz"):
        with np.load(path, allow_pickle=False) as file:
            for planes, right, kind in zip(file["planes"], file["right"], file["kind"], strict=True):
                if kind == collecting.PLAYED:
                    codes = sum(
                        (planes[plane] >> np.arange(9) & 1) * code for plane, code in enumerate((1, 3, 2, 4))
                    )
                    margins = solver.margins(codes.astype(np.int8), 0)
                    assert right == sum(1 << action for action, margin in margins.items() if margin > 0)
                    whole += 1
    assert whole > 100


def test_what_a_folder_has_already_is_not_asked_again(lessons, monkeypatch, tmp_path):
    for path in lessons.glob("lessons-*.npz"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(collecting, "ProcessPoolExecutor", Alone)
    monkeypatch.setattr(collecting, "SHARES", {})
    before = collecting.judged_in(tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    words = ["--positions", 0, "--openings", 4, "--minutes", 2, "--processes", 2, "--out", tmp_path]
    call(monkeypatch, collecting, *words)
    fresh = [path for path in tmp_path.iterdir() if path.name not in files]
    asked = [tuple(row) for path in fresh for row in judged_rows(path)]
    assert len(asked) == len(set(asked)) > 0  # nothing is overwritten, nothing asked twice
    assert not set(asked) & before
    assert set(asked) | before >= set(map(tuple, collecting.openings(3, 4)))


def judged_rows(path):
    with np.load(path, allow_pickle=False) as file:
        return file["planes"][file["kind"] == collecting.PLAYED]


def test_a_network_is_taught_and_kept_with_what_taught_it(lessons, monkeypatch, tmp_path):
    words = ["--network", "global:channels=8,blocks=1", "--room", 50_000, "--set", "batch=16", "updates=4"]
    call(
        monkeypatch,
        teach,
        lessons,
        *words,
        "--iterations",
        2,
        "--runs",
        tmp_path / "runs",
        "--out",
        tmp_path / "out",
    )
    facts = weight_facts(tmp_path / "out" / "corso-5x5.safetensors")
    assert facts["summary"]["iterations"] == 2
    assert facts["summary"]["lessons"] == read(lessons).count.sum()
    load_weights(tmp_path / "out" / "corso-5x5.safetensors", GAME)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="holds no lessons"):
        read(tmp_path)


def test_openings_are_all_positions_of_the_first_moves_once():
    # 3×3: three kinds of first cells (corner, side, middle), and the empty board before them.
    assert len(collecting.openings(3, 0)) == 0
    assert len(collecting.openings(3, 1)) == 4
    seen = set()
    for planes in collecting.openings(3, 3):
        sides = {
            tuple(int(plane) for plane in image(collecting._typed(planes), side)) for side in symmetries(3, 3)
        }
        assert not sides & seen
        seen |= sides
    # By brute force: every sequence of three actions, those that the rules allow.
    step = jax.jit(lambda state, action: GAME.step(state, jnp.full(2, action), None))
    look = jax.jit(lambda state: (GAME.view(state, state.mover), GAME.legal(state).any(axis=0)))
    states, everywhere = [GAME.init(None)], set()
    for _ in range(4):
        after = {}
        for state in states:
            view, legal = map(np.asarray, look(state))
            cells, movers = cell_codes(view[None])
            everywhere.add(tuple(int(plane) for plane in pack(cells[0], int(movers[0]))))
            for action in np.flatnonzero(legal):
                reached = step(state, action)
                after[look(reached)[0].tobytes()] = reached
        states = list(after.values())
    assert seen == everywhere


def test_lessons_that_come_later_are_taken_in_and_the_latest_kept(lessons, tmp_path):
    first, *others = sorted(lessons.glob("lessons-*.npz"))
    (tmp_path / first.name).write_bytes(first.read_bytes())
    library = teach.Library(tmp_path, GAME.cells, 50_000)
    early = library.read()
    assert library.news() is None  # nothing has come
    for path in others:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert library.news() is None  # they are being read
    library._thread.join()
    late = library.news()
    assert late.count.sum() == read(lessons).count.sum() > early.count.sum()
    assert read(lessons, room=70).count.sum() == 70
    assert jax.tree.map(np.shape, early) == jax.tree.map(np.shape, late)


def test_minutes_are_planned(lessons, monkeypatch, tmp_path):
    words = ["--network", "global:channels=8,blocks=1", "--room", 50_000, "--set", "batch=8", "updates=1"]
    call(
        monkeypatch, teach, lessons, *words, "--minutes", 0.1, "--runs", tmp_path / "runs", "--out", tmp_path
    )
    assert weight_facts(tmp_path / "corso-5x5.safetensors")["summary"]["iterations"] == 10  # the fewest
