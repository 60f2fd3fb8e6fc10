"""Learning from exact answers: it learns them, and goes on after a kill as if there had been none."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.games.corso import Corso
from stratagem.learners import lessons
from stratagem.learners.lessons import Lesson, Lessons, LessonsConfig
from stratagem.networks.outputs import any_of_loss, belief_output, each_of_loss

GAME = Corso(3, 3)
CONFIG = LessonsConfig(
    network="global:channels=8,blocks=1", batch=32, updates=20, rate=1e-2, average=0.9, iterations=12
)


def marble_at(cell, rows, key):
    """Made-up lessons: whoever has the marble wins, and the cell after it is right."""
    place, owner = jax.random.randint(key, (2, rows), jnp.array([[0], [0]]), jnp.array([[9], [2]]))
    planes = jnp.stack([(owner == 0), jnp.zeros(rows), (owner == 1), jnp.zeros(rows), jnp.zeros(rows)], -1)
    view = (jax.nn.one_hot(place, 9)[..., None] * planes[:, None]).reshape(rows, 3, 3, 5).astype(jnp.uint8)
    right = (jax.nn.one_hot((place + cell) % 9, 9) == 1) & (owner == 0)[:, None]
    worth = jnp.where(owner == 0, 1.0, -1.0)
    complete = place % 2 == 0
    return Lesson(view, jnp.ones((rows, 9), bool), right, jnp.stack([worth, -worth], -1), complete)


@pytest.fixture(scope="module")
def learned():
    learner = Lessons(GAME, marble_at, jnp.int32(1), CONFIG)
    states, metrics = [learner.start(jax.random.key(0))], []
    for _ in range(CONFIG.iterations):
        state, told = learner.iterate(states[-1])
        states.append(state)
        metrics.append(told)
    return learner, states, metrics


def test_what_is_taught_is_learned(learned):
    metrics = learned[2]
    assert metrics[-1]["winner_right"] > 0.99 > 0.8 > metrics[0]["winner_right"]
    assert metrics[-1]["any_loss"] < 0.05 < metrics[0]["any_loss"]
    assert metrics[-1]["each_loss"] < 0.05 < metrics[0]["each_loss"]


def test_a_run_that_was_stopped_goes_on_in_the_same_bits(learned, tmp_path):
    learner, states, _ = learned
    learner.save(states[-2], tmp_path)
    again, _ = Lessons(GAME, marble_at, jnp.int32(1), CONFIG).iterate(learner.load(tmp_path))
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(states[-1]), strict=True):
        if not jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
            np.testing.assert_array_equal(one, other)


def test_learning_may_begin_with_a_network(learned):
    states = learned[1]
    first = Lessons(GAME, marble_at, jnp.int32(1), CONFIG, first=states[-1].average).start(jax.random.key(9))
    assert first.network is states[-1].average
    assert int(first.iteration) == 0


def test_any_right_action_will_do():
    legal, none = jnp.array([True, True, True, False]), jnp.zeros(4, bool)
    output = belief_output(jnp.array([0.0, 1.0, 1.0, 9.0]), jnp.zeros((1, 2)), 2)
    right = jnp.array([False, True, True, False])
    # Two of three legal actions, each e times as likely as the third.
    np.testing.assert_allclose(
        any_of_loss(output, right, legal)[0], -np.log(2 * np.e / (1 + 2 * np.e)), rtol=1e-5
    )
    assert any_of_loss(output, none, legal)[0] == 0


def test_each_action_is_judged_alone_so_that_logits_are_log_odds():
    legal, right = jnp.array([True, True, False]), jnp.array([True, False, False])
    output = belief_output(jnp.array([np.log(3.0), np.log(3.0), 9.0]), jnp.zeros((1, 2)), 2)
    # Both are believed to be right with 3 to 1; one is, one is not, and the third is not legal.
    np.testing.assert_allclose(each_of_loss(output, right, legal), -np.log(3 / 4 * 1 / 4) / 2, rtol=1e-5)


def test_the_level_of_logits_stays_where_it_was_in_low_precision(monkeypatch):
    settings = replace(CONFIG, precision="bfloat16", rate=5e-3, rate_end=1.0, batch=256, updates=200)

    def with_gaps(cell, rows, key):
        return marble_at(cell, rows, key)._replace(complete=jnp.zeros(rows, bool))

    def drift():
        learner = Lessons(GAME, with_gaps, jnp.int32(1), settings)
        state = learner.start(jax.random.key(0))
        for _ in range(3):
            state, told = learner.iterate(state)
        return told["drift"]

    assert drift() < 1
    monkeypatch.setattr(lessons, "STEADY", 0.0)  # without the pull, rounding drives it off
    assert drift() > 10
