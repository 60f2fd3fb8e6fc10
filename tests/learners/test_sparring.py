"""Sparring: fixed players opposite the learner in some of its games."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.cli.train_ppo import partners_of
from stratagem.core.errors import BadOption
from stratagem.games import make_game
from stratagem.learners.guests import partners_at
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.networks import make_network
from tests.small_generals import hand_drawn

GAME = hand_drawn(5, cap=6)
SMALL = "patch:depth=1,width=8,heads=2,feed=1,bins=8"
CONFIG = PPOConfig(
    network=SMALL, games=8, steps=8, minibatch=8, sparring="random+expander", sparring_share=0.5
)


def test_partners_share_the_first_lanes_and_leave_one_seat_which_goes_round():
    two = partners_at(GAME, ["one", "other"], 4)
    assert [guest.agent for guest in two] == ["one", "other"]
    assert [list(zip(guest.lanes, guest.seats, strict=True)) for guest in two] == [
        [(1, 0), (0, 1)],
        [(3, 0), (2, 1)],
    ]
    (three,) = partners_at(make_game("corso:players=3"), ["one"], 3)
    assert {lane: set(three.seats[three.lanes == lane]) for lane in range(3)} == {
        0: {1, 2},
        1: {0, 2},
        2: {0, 1},
    }
    assert partners_at(GAME, ["one", "other"], 1)[0].agent == "one"


def test_a_quarter_of_the_decisions_is_the_partners_and_does_not_count():
    alone = replace(CONFIG, sparring="", top=1.0).batches(GAME)
    assert alone == (16, 8)
    assert replace(CONFIG, top=1.0).batches(GAME) == (12, 8)
    learner = PPO(GAME, GeneralsSenses(GAME), CONFIG, partners=partners_of(CONFIG, GAME))
    state = learner.start(jax.random.key(0))
    before = np.asarray(state.network.rows)
    state, metrics = learner.iterate(state)
    assert (np.asarray(state.network.rows) != before).any()
    assert {name for name in metrics if "partner" in name} == {"against partner 1", "against partner 2"}
    assert all(0 <= metrics[f"against partner {number}"] <= 1 for number in (1, 2))
    assert len(state.lanes.guests) == 2


@pytest.mark.parametrize("others", [{}, {"sparring": "", "pool": 1}])
def test_long_games_begin_one_after_another_before_anything_is_learned(others):
    game = hand_drawn(5, cap=500)
    config = replace(CONFIG, games=16, scatter=3, **others)
    first = make_network(SMALL, GeneralsSenses(game), jax.random.key(1))
    # Schedules that have some of the plan behind them begin the same way.
    learner = PPO(game, GeneralsSenses(game), config, first, begun=10, partners=partners_of(config, game))
    state = learner.start(jax.random.key(0))
    for _ in range(3):
        state, metrics = learner.iterate(state)
        assert metrics["rate"] == 0
        assert (np.asarray(state.network.rows) == np.asarray(first.rows)).all()
    assert set(np.asarray(state.lanes.length)) == {8, 16, 24}
    state, metrics = learner.iterate(state)
    assert metrics["rate"] == pytest.approx(1e-4)
    assert (np.asarray(state.network.rows) != np.asarray(first.rows)).any()
    assert set(np.asarray(state.lanes.length)) == {16, 24, 32}


def test_what_cannot_be_is_refused():
    with pytest.raises(BadOption, match="scatter"):
        replace(CONFIG, scatter=-1)
    with pytest.raises(BadOption, match="not both"):
        replace(CONFIG, pool=3)
    with pytest.raises(BadOption, match="sparring_share"):
        replace(CONFIG, sparring_share=0.0)
    with pytest.raises(BadOption, match="0 partners came"):
        PPO(GAME, GeneralsSenses(GAME), CONFIG)
    assert partners_of(replace(CONFIG, sparring=""), GAME) == []
    assert [type(agent) for agent in partners_of(CONFIG, GAME)] == [
        type(make_agent(name, GAME)) for name in ("random", "expander")
    ]
