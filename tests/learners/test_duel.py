"""Matches of a network against a player: both seats of every map, each player with its own views."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.core.game import GameSpec
from stratagem.learners.duel import duel
from stratagem.networks.judgements import Judgement
from stratagem.networks.senses import PlainSenses


class State(NamedTuple):
    lucky: jax.Array  # int32: the seat that this map favours
    winner: jax.Array  # int32: −1 until the game is over


@dataclass(frozen=True)
class Luck:
    """One turn: a seat that does not name itself loses; if both do, the map decides."""

    @property
    def spec(self):
        return GameSpec("luck", seats=2, actions=2, longest=1, dynamics="simultaneous")

    def init(self, key):
        return State(jax.random.randint(key, (), 0, 2), jnp.int32(-1))

    def to_move(self, state):
        return jnp.full(2, state.winner < 0)

    def legal(self, state):
        return jnp.ones((2, 2), bool)

    def step(self, state, actions, key):
        winner = jnp.where(actions[0] != 0, 1, jnp.where(actions[1] != 1, 0, state.lucky))
        return state._replace(winner=winner.astype(jnp.int32))

    def returns(self, state):
        won = jnp.where(state.winner == 0, 1.0, -1.0)
        return jnp.where(state.winner < 0, 0.0, jnp.stack([won, -won]))

    def done(self, state):
        return state.winner >= 0

    def view(self, state, seat):
        return jnp.asarray(seat, jnp.int32)


class Naming:
    """A rival that says which seat it sees itself in."""

    def memory(self):
        return jnp.int32(0)

    def act(self, memory, view, legal, key):
        return view

    def remember(self, memory, view, action):
        return memory + 1


def names_itself(features, learning=False):
    """A network that nearly always says which seat it is in: 55 %, so only the likeliest move is sure."""
    seat = features[0]
    return Judgement(jnp.stack([-0.2 * seat, 0.2 * seat - 0.2]), jnp.zeros(1))


def test_a_map_is_played_from_both_seats_and_each_player_sees_its_own_side():
    game = Luck()
    play = jax.jit(partial(duel, game, PlainSenses(game), Naming(), 40, 0.0, names_itself))
    results = np.asarray(play(jax.random.key(0)))
    # Nobody fouls, so the luck of the map is the result, and the other seat of the map has the opposite.
    assert (results[0::2] == -results[1::2]).all()
    assert set(results[0::2]) == {1.0, -1.0}


def test_with_heat_it_draws_from_its_policy():
    game = Luck()
    play = jax.jit(lambda heat, key: duel(game, PlainSenses(game), Naming(), 400, heat, names_itself, key))
    # It names itself with probability 1 / (1 + e^−0.2) = 0.55 and then wins half of the maps: 110 of 400, σ = 9.
    assert 70 < (np.asarray(play(jnp.float32(1.0), jax.random.key(1))) > 0).sum() < 150
    assert (np.asarray(play(jnp.float32(0.0), jax.random.key(1))) > 0).sum() == 200
    # Each game may have its own: the first half certain, the second half drawn.
    mixed = np.asarray(play(jnp.repeat(jnp.array([0.0, 1.0]), 200), jax.random.key(1))) > 0
    assert mixed[:200].sum() == 100
    assert 30 < mixed[200:].sum() < 80
