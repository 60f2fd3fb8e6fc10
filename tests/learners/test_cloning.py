"""Moves of teachers and of recorded games are learned, and what a seat saw is rebuilt as it was."""

from dataclasses import asdict, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.agents.generals_simple import Expander
from stratagem.core.errors import BadOption
from stratagem.learners.cloning import Cloning, CloningConfig, drawn
from stratagem.learners.cloning_sources import Games, Moves, Recorded, Teachers, seated
from stratagem.learners.run import Run, run
from stratagem.networks import make_network
from tests.learners.test_ppo_resume import Passing, assert_equal
from tests.small_generals import hand_drawn

pytestmark = pytest.mark.usefixtures("compile_cache")  # networks of one kind start by the same program

GAME = hand_drawn(5, cap=12)
SENSES = GeneralsSenses(GAME)
CONFIG = CloningConfig(
    network="patch:depth=1,width=16,heads=2,feed=1,bins=8", share=0.5, minibatch=32, rate=1e-2, average=0.9,
    iterations=30,
)  # fmt: skip


@pytest.fixture(scope="module")
def source():
    return Teachers(GAME, SENSES, (Passing(),), lanes=8, steps=12)


@pytest.fixture(scope="module")
def learner(source):
    return Cloning(SENSES, source, CONFIG)


def test_the_student_moves_as_its_teacher_and_knows_how_its_games_end(learner):
    state = learner.start(jax.random.key(0))
    rows = []
    for _ in range(CONFIG.iterations):
        state, told = learner.iterate(state)
        rows.append(told)
    assert rows[0]["alike"] < 0.5
    assert rows[-1]["alike"] > 0.95
    assert rows[-1]["policy_loss"] < 0.2 * rows[0]["policy_loss"]
    assert rows[-1]["error"] < 0.05  # who never moves draws
    assert rows[-1]["undecided"] == 1


def test_games_of_teachers_may_begin_one_after_another(source):
    source = replace(source, lanes=16, steps=2, scatter=3)
    student, lanes = make_network(CONFIG.network, SENSES, jax.random.key(0)), source.start(jax.random.key(1))
    moves = jax.jit(source.moves)
    for iteration in range(4):
        lanes, *_ = moves(student, lanes, source.fetch(iteration), jax.random.key(iteration))
        assert set(np.asarray(lanes.length)) == [{2}, {2, 4}, {2, 4, 6}, {4, 6, 8}][iteration]


def test_a_run_that_was_stopped_ends_bit_for_bit_like_one_that_was_not(learner, tmp_path):
    whole, _ = run(learner, Run(tmp_path / "whole", evaluate_every=0), asdict(CONFIG))
    for stop in (2, 0):
        settings = Run(tmp_path / "halves", resume=True, stop_at=stop, evaluate_every=0)
        parts, done = run(learner, settings, asdict(CONFIG))
    assert done
    assert_equal(whole, parts)


def test_with_heads_only_the_rest_of_the_network_stays(source):
    learner = Cloning(SENSES, source, replace(CONFIG, only_heads=True))
    before = learner.start(jax.random.key(0))
    after, _ = learner.iterate(before)
    assert_equal(after.network.layers, before.network.layers)
    assert_equal(after.network.rows, before.network.rows)
    assert (after.network.policy.out.bias != before.network.policy.out.bias).any()
    assert (after.network.value.out.bias != before.network.value.out.bias).any()


def test_recorded_games_give_the_very_records_of_the_games_as_they_were_played():
    live = Teachers(GAME, SENSES, (Expander(GAME),), lanes=4, steps=12)
    carried = live.start(jax.random.key(3))
    student = Cloning(SENSES, live, CONFIG).start(jax.random.key(0)).network
    _, seen, _ = jax.jit(partial(live.moves, student))(carried, (), jax.random.key(1))
    returns = jnp.array([[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0], [1.0, -1.0]])
    games = Games(carried.state, seen.action.at[9:, 3].set(-1), returns)
    recorded = Recorded(GAME, SENSES, lambda iteration: games)
    _, again, told = jax.jit(partial(recorded.moves, student))((), recorded.fetch(0), jax.random.key(2))
    np.testing.assert_array_equal(again.legal[:9], seen.legal[:9])
    assert_equal(*(jax.tree.map(lambda leaf: leaf[:9], moves.record) for moves in (again, seen)))
    np.testing.assert_array_equal(again.target[0], returns)
    np.testing.assert_array_equal(again.known.all(axis=(0, 2)), [True, False, True, False])
    assert again.known[:9, 3].all()
    assert not again.known[9:, 3].any()
    assert not again.known[:, 1].any()  # a draw teaches nothing
    assert (told["games"], told["moves"]) == (3, 2 * (12 + 12 + 9))


def test_moves_that_do_not_count_come_last():
    known = jnp.arange(12).reshape(3, 2, 2) % 3 == 0
    moves = Moves(known, known, known, known, known)
    some = drawn(CloningConfig(share=0.5, minibatch=2), moves, jax.random.key(0))
    assert some.known.shape == (3, 2)
    assert some.known.reshape(-1).tolist() == [True] * 4 + [False] * 2


def test_every_teacher_meets_every_teacher_in_all_seats():
    guests = seated(GAME, ("a", "b"), 8)
    tables = {}
    for guest in guests:
        for lane, seat in zip(guest.lanes.tolist(), guest.seats.tolist(), strict=True):
            tables.setdefault(lane, {})[seat] = guest.agent
    assert all(set(table) == {0, 1} for table in tables.values())
    assert {(table[0], table[1]) for table in tables.values()} == {
        (one, other) for one in "ab" for other in "ab"
    }
    with pytest.raises(BadOption, match="at least one teacher"):
        seated(GAME, (), 8)
