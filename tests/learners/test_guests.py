"""Guests take the seats that are theirs, remember for themselves, and are not learned from; a pool keeps its rule."""

from dataclasses import asdict, dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.core.errors import Unsupported
from stratagem.games.corso import Corso
from stratagem.learners.guests import Guest
from stratagem.learners.pool import Pool, new_pool, renewed, seat_at, share_of, tally
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.learners.ppo_rollout import Turn, rewarding, rollout, start_lanes
from stratagem.learners.run import Run, run
from stratagem.networks import make_network
from stratagem.networks.senses import PlainSenses
from tests.learners.test_ppo_resume import Passing, assert_equal
from tests.small_generals import hand_drawn

GAME = hand_drawn(5, cap=6)
SENSES = GeneralsSenses(GAME)
NETWORK = "patch:depth=1,width=8,heads=2,feed=1,bins=8"
CONFIG = PPOConfig(
    network=NETWORK, games=6, steps=8, stock=8, restock=2, minibatch=8, rate_high=1e-2, average=0.9, iterations=4,
    pool=3, pool_wins=0.4, pool_games=1, chunk=3,
)  # fmt: skip


def test_guests_have_their_seats_and_no_others():
    guests = [
        Guest(Passing(), *np.array([[0, 1], [0, 1]])),
        Guest(Passing(), *np.array([[2, 3, 4], [1, 0, 1]])),
    ]
    network = make_network(NETWORK, SENSES, jax.random.key(1))
    lanes = start_lanes(GAME, SENSES, 6, 0, jax.random.key(0), guests)
    lanes, turns = jax.jit(
        lambda lanes, key: rollout(GAME, SENSES, network, lanes, 8, rewarding(GAME, None, 0.0), key, guests)
    )(lanes, jax.random.key(2))
    seats = {0: 0, 1: 1, 2: 1, 3: 0, 4: 1}
    expected = np.array([[seats.get(lane) == seat for seat in (0, 1)] for lane in range(6)])
    np.testing.assert_array_equal(turns.led, np.broadcast_to(expected, (8, 6, 2)))
    passed = np.asarray(turns.action) % 9 == 8
    assert passed[:, expected].all()
    assert not passed[:, ~expected].all()
    # Six turns make a game: it has begun anew, and so has the memory, which counts the turns.
    np.testing.assert_array_equal(lanes.guests[0], [2, 2])
    np.testing.assert_array_equal(lanes.guests[1], [2, 2, 2])


@dataclass(frozen=True)
class Counting:
    """Plays the legal action that its own moves so far point at, and remembers them; asked for nobody else's."""

    def memory(self):
        return jnp.int32(0)

    def act(self, memory, view, legal, key):
        return jnp.argsort(~legal, stable=True)[memory % legal.sum()].astype(jnp.int32)

    def remember(self, memory, view, action):
        return memory + (action >= 0)


def test_where_seats_move_in_turn_each_guest_plays_from_its_own_memory():
    game = Corso(players=3)
    senses = PlainSenses(game)
    guest = Guest(Counting(), *np.array([[1, 3, 1, 2, 3], [0, 0, 2, 1, 1]]))
    network = make_network("mlp:width=8,depth=1", senses, jax.random.key(1))
    lanes = start_lanes(game, senses, 4, 0, jax.random.key(0), [guest])
    steps = 7  # no game of this board is over by then
    lanes, turns = rollout(
        game, senses, network, lanes, steps, rewarding(game, None, 0.0), jax.random.key(2), [guest]
    )
    assert not turns.done.any()
    legal = np.unpackbits(np.asarray(turns.legal), axis=-1, count=game.spec.actions).astype(bool)
    moved = np.asarray(turns.moved)[:, guest.lanes, guest.seats].T  # [K, T]
    for lane, seat, turns_of_it in zip(guest.lanes, guest.seats, moved, strict=True):
        assert turns_of_it.sum() >= 2
        for before, time in enumerate(np.flatnonzero(turns_of_it)):
            able = np.flatnonzero(legal[time, lane, seat])
            assert turns.action[time, lane, seat] == able[before % len(able)]
    np.testing.assert_array_equal(lanes.guests[0], moved.sum(axis=1))


def results(first, done):
    """The turns of a rollout of which only the results count."""
    blank = jnp.zeros(())
    return Turn((), blank, blank, blank, blank, blank, blank, jnp.array(done), blank, blank, jnp.array(first))


def test_points_go_to_the_version_that_was_met_seen_from_the_learners_seat():
    pool = new_pool(jnp.zeros(2), 3)
    turns = results([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]], [[True, True, True], [False, True, False]])
    pool = tally(pool, jnp.int32(1), turns)
    # Lane 0: the learner has the first seat and wins; lane 1: it has the second, loses and wins; lane 2: a draw.
    np.testing.assert_allclose(pool.points, [0, 2.5, 0])
    np.testing.assert_allclose(pool.games, [0, 4, 0])
    np.testing.assert_allclose(share_of(pool), (0.5 + 2.5 / 4 + 0.5) / 3)


def test_a_copy_takes_the_place_of_the_oldest_when_the_pool_is_beaten_and_not_before():
    networks = jnp.array([[1.0], [2.0], [3.0]])
    pool = Pool(networks, jnp.array([7.0, 6.0, 6.0]), jnp.full(3, 10.0), jnp.int32(1), jnp.int32(4))
    after = renewed(pool, jnp.array([9.0]), 0.6, 10)
    np.testing.assert_array_equal(after.networks[:, 0], [1, 9, 3])
    np.testing.assert_array_equal(after.games, [10, 0, 10])
    np.testing.assert_array_equal(after.points, [7, 0, 6])
    assert (after.oldest, after.joined) == (2, 5)
    for wanted, least in ((0.64, 10), (0.6, 11)):
        assert_equal(renewed(pool, jnp.array([9.0]), wanted, least), pool)


@pytest.fixture(scope="module")
def learner():
    return PPO(GAME, SENSES, CONFIG)


def test_a_run_against_a_pool_goes_on_bit_for_bit_and_lets_versions_join(learner, tmp_path):
    whole, done = run(learner, Run(tmp_path / "whole", evaluate_every=0), asdict(CONFIG))
    assert done
    for stop in (2, 0):
        settings = Run(tmp_path / "halves", resume=True, stop_at=stop, evaluate_every=0)
        parts, _ = run(learner, settings, asdict(CONFIG))
    assert_equal(whole, parts)
    assert whole.pool.games.sum() + 6 * whole.pool.joined > 0
    assert (np.asarray(whole.pool.networks.rows) != np.asarray(whole.network.rows)).any()


def test_a_pool_leaves_half_of_the_decisions_to_learn_from():
    counts = [replace(CONFIG, minibatch=1, pool=pool).batches(GAME)[0] for pool in (0, 3)]
    assert counts == [24, 12]


def test_a_pool_is_for_two_seats():
    with pytest.raises(Unsupported, match="two seats"):
        seat_at(Corso(players=3), SENSES, None, 4)
