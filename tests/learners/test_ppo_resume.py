"""PPO on a small board of Generals: interrupted and resumed equals uninterrupted, and duels are fair."""

from dataclasses import asdict, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.core.errors import BadOption
from stratagem.core.files import read_json, recover_lines, write_json
from stratagem.games.generals.board import CASTLE, GENERAL, new_state
from stratagem.learners.duel import duel
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.learners.ppo_presets import PRESETS
from stratagem.learners.run import Run, run
from tests.small_generals import hand_drawn

GAME = hand_drawn(5, cap=12)
CONFIG = PPOConfig(
    network="patch:depth=1,width=8,heads=2,feed=1,bins=8", games=4, steps=8, stock=8, restock=2, minibatch=8,
    shaping=0.5, shaping_until=4, normalise=True, rate_high=1e-2, average=0.9, iterations=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def learner():
    return PPO(GAME, GeneralsSenses(GAME), CONFIG)


def assert_equal(one, other):
    for first, second in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if jnp.issubdtype(first.dtype, jax.dtypes.prng_key):
            first, second = jax.random.key_data(first), jax.random.key_data(second)
        np.testing.assert_array_equal(first, second)


def test_a_run_that_was_stopped_twice_ends_bit_for_bit_like_one_that_was_not(learner, tmp_path):
    whole, done = run(learner, Run(tmp_path / "whole", evaluate_every=0), asdict(CONFIG))
    assert done
    for stop in (2, 5, 0):
        settings = Run(tmp_path / "halves", resume=True, stop_at=stop, evaluate_every=0)
        parts, _ = run(learner, settings, asdict(CONFIG))
    assert_equal(whole, parts)
    rows = [recover_lines(tmp_path / name / "metrics.jsonl") for name in ("whole", "halves")]
    told = [[{**row, "seconds": 0} for row in part] for part in rows]
    assert told[0] == told[1]
    with pytest.raises(BadOption, match="trace was"):
        changed = replace(CONFIG, trace=0.5)
        run(PPO(GAME, learner.senses, changed), Run(tmp_path / "halves", resume=True), asdict(changed))


def test_a_run_out_of_minutes_saves_and_can_go_on(learner, tmp_path):
    settings = Run(tmp_path / "run", minutes=1e-9, evaluate_every=0, save_every=100)
    state, done = run(learner, settings, asdict(CONFIG))
    assert not done
    assert learner.iteration(state) == 1
    assert_equal(state, learner.load(settings.checkpoints))


def test_a_run_begun_before_a_setting_existed_goes_on_with_its_default(learner, tmp_path):
    first = Run(tmp_path / "run", stop_at=1, evaluate_every=0)
    run(learner, first, asdict(CONFIG))
    written = read_json(tmp_path / "run" / "config.json")
    write_json(tmp_path / "run" / "config.json", {key: written[key] for key in written if key != "sparring"})
    onward = replace(first, stop_at=2, resume=True)
    state, _ = run(learner, onward, asdict(CONFIG))
    assert learner.iteration(state) == 2
    with pytest.raises(BadOption, match="sparring was , now hunter"):
        run(learner, onward, {**asdict(CONFIG), "sparring": "hunter"})


def test_training_begins_with_the_weights_that_are_given(learner):
    first = learner.start(jax.random.key(5)).network
    again = PPO(GAME, learner.senses, CONFIG, first=first).start(jax.random.key(0))
    assert_equal(again.network, first)
    assert_equal(again.average, first)
    assert (learner.start(jax.random.key(0)).network.rows != first.rows).any()


def test_the_potential_is_the_lead_in_land_army_and_castles():
    senses = GeneralsSenses(GAME)
    np.testing.assert_allclose(senses.potential(GAME.init(jax.random.key(0))), 0, atol=1e-6)
    kind, owner, army = (np.zeros(25, np.int32) for _ in range(3))
    kind[[0, 24]], kind[1] = GENERAL, CASTLE
    owner[[0, 1, 2]], owner[24] = 1, 2
    army[[0, 1, 2]], army[24] = 5, 3
    state = new_state(*(jnp.asarray(part) for part in (kind, owner, army)), jnp.int32(0), jnp.int32(-1))
    # Three cells to one, 15 units to 3, two sites to one; each count plus one, in powers of two.
    lead = 0.2 * np.log2(4 / 2) + 0.2 * np.log2(16 / 4) + 0.1 * np.log2(3 / 2)
    np.testing.assert_allclose(senses.potential(state), [lead, -lead], rtol=1e-5)


class Passing:
    """A rival that never moves, and remembers how often it was asked."""

    def memory(self):
        return jnp.int32(0)

    def act(self, memory, view, legal, key):
        return jnp.argmax(legal.reshape(-1, 9)[:, 8]) * 9 + 8

    def remember(self, memory, view, action):
        return memory + 1


def test_a_duel_plays_both_seats_to_the_end(learner):
    play = jax.jit(partial(duel, GAME, learner.senses, Passing(), 8, 1.0))
    results = play(learner.start(jax.random.key(0)).network, jax.random.key(0))
    # Who never moves cannot win.
    assert results.shape == (8,)
    assert set(np.unique(results)) <= {0.0, 1.0}


def test_presets_are_what_they_say():
    paper = PRESETS["paper"].config
    assert replace(paper, stock=0, restock=64, precision="float32") == PPOConfig()
    assert "width=8,height=8" in PRESETS["laptop"].board
    assert "expander" in PRESETS["laptop"].rivals
    assert PRESETS["smoke"].config.iterations * PRESETS["smoke"].config.steps < 100
    assert PRESETS["gpu"].config.precision == "bfloat16"
