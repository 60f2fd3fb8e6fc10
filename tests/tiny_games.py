"""Three games small enough to know everything about: one alternates, one is simultaneous, one has dice and secrets."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.game import ChanceSteps, GameSpec, Symmetries, winners_share

LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])


class Board(NamedTuple):
    cells: Array  # int32[9]: 0 empty, 1 cross, 2 nought
    mover: Array  # int32


@dataclass(frozen=True)
class TicTacToe:
    """Alternating, perfect information, no chance."""

    @property
    def spec(self) -> GameSpec:
        return GameSpec("tic-tac-toe", seats=2, actions=9, longest=9)

    def init(self, key):
        return Board(jnp.zeros(9, jnp.int32), jnp.int32(0))

    def to_move(self, state):
        return (jnp.arange(2) == state.mover) & ~self.done(state)

    def legal(self, state):
        return self.to_move(state)[:, None] & (state.cells == 0)[None]

    def step(self, state, actions, key):
        return Board(state.cells.at[actions[state.mover]].set(state.mover + 1), 1 - state.mover)

    def lines(self, state):
        return jnp.stack([(state.cells[LINES] == mark).all(axis=1).any() for mark in (1, 2)])

    def returns(self, state):
        return winners_share(self.lines(state))

    def done(self, state):
        return self.lines(state).any() | (state.cells != 0).all()

    def view(self, state, seat):
        return state

    def state_of(self, view):
        return view

    def write(self, state):
        return "".join(".XO"[cell] for cell in np.asarray(state.cells)) + f" {int(state.mover) + 1}"

    def read(self, text):
        cells, _, player = text.partition(" ")
        if len(cells) != 9 or set(cells) - set(".XO") or player not in ("1", "2"):
            raise ValueError(f"{text!r} is not nine of .XO and the player to move")
        return Board(jnp.array([".XO".index(cell) for cell in cells], jnp.int32), jnp.int32(int(player) - 1))

    def write_action(self, action):
        return str(int(action) + 1)

    def read_action(self, text):
        return int(text) - 1

    def symmetries(self):
        square = np.arange(9).reshape(3, 3)
        boards = [np.rot90(side, turns) for side in (square, square.T) for turns in range(4)]
        moves = np.stack([np.argsort(board.ravel()) for board in boards])
        index = {row.tobytes(): g for g, row in enumerate(moves)}
        product = np.array([[index[g[h].tobytes()] for h in moves] for g in moves])
        return Symmetries(jnp.asarray(moves), jnp.tile(jnp.arange(2), (8, 1)), jnp.asarray(product))

    def turn_state(self, state, g):
        return state._replace(cells=state.cells[jnp.argsort(self.symmetries().actions[g])])

    def turn_view(self, view, g):
        return self.turn_state(view, g)


@dataclass(frozen=True)
class MatchingPennies:
    """Simultaneous: seat 0 wins if both show the same side."""

    @property
    def spec(self) -> GameSpec:
        return GameSpec("matching-pennies", seats=2, actions=2, longest=1, dynamics="simultaneous")

    def init(self, key):
        return jnp.full(2, -1, jnp.int32)  # what each shows

    def to_move(self, state):
        return jnp.full(2, ~self.done(state))

    def legal(self, state):
        return jnp.full((2, 2), ~self.done(state))

    def step(self, state, actions, key):
        return actions.astype(jnp.int32)

    def returns(self, state):
        same = state[0] == state[1]
        return jnp.where(self.done(state), winners_share(jnp.stack([same, ~same])), 0.0)

    def done(self, state):
        return state[0] >= 0

    def view(self, state, seat):
        return state

    def state_of(self, view):
        return view

    def write(self, state):
        return "".join("-HT"[int(side) + 1] for side in state)

    def read(self, text):
        if text not in ("--", "HH", "HT", "TH", "TT"):
            raise ValueError(f"{text!r} is not --, HH, HT, TH or TT")
        return jnp.array(["-HT".index(side) - 1 for side in text], jnp.int32)

    def write_action(self, action):
        return "HT"[int(action)]

    def read_action(self, text):
        return "HT".index(text)


class Deal(NamedTuple):
    cards: Array  # int32[2]: 0 jack, 1 queen, 2 king
    history: Array  # int32[3]: −1 not yet, 0 check or fold, 1 bet or call
    length: Array  # int32


@dataclass(frozen=True)
class KuhnPoker(ChanceSteps):
    """Hidden cards dealt by chance. Returns are halved stakes, so that they stay within −1 and +1."""

    @property
    def spec(self) -> GameSpec:
        return GameSpec("kuhn-poker", seats=2, actions=2, longest=3, chance="setup", information="imperfect")

    DEALS = np.array([[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]])

    def opening(self):
        return Deal(jnp.full(2, -1, jnp.int32), jnp.full(3, -1, jnp.int32), jnp.int32(0))

    def afterstate(self, state, actions):
        act = actions[state.length % 2]
        return state._replace(history=state.history.at[state.length].set(act), length=state.length + 1)

    def outcomes(self, after):
        dealt = after.cards[0] >= 0
        return jnp.where(dealt, jnp.arange(6) == 0, jnp.full(6, 1 / 6)).astype(jnp.float32)

    def resolve(self, after, outcome):
        cards = jnp.where(after.cards[0] >= 0, after.cards, jnp.asarray(self.DEALS, jnp.int32)[outcome])
        return after._replace(cards=cards)

    def done(self, state):
        first, second, _ = state.history
        return (
            ((first == 0) & (second == 0))  # check, check
            | ((first == 1) & (second >= 0))  # bet, answered
            | (state.length == 3)  # check, bet, answered
        )

    def to_move(self, state):
        return (jnp.arange(2) == state.length % 2) & ~self.done(state)

    def legal(self, state):
        return jnp.repeat(self.to_move(state)[:, None], 2, axis=1)

    def step(self, state, actions, key):
        return ChanceSteps.step(self, state, actions, key)

    def returns(self, state):
        first, second, third = state.history
        higher = jnp.where(state.cards[0] > state.cards[1], 1.0, -1.0)
        bet_folded = (first == 1) & (second == 0)
        check_bet_folded = (first == 0) & (second == 1) & (third == 0)
        called = ((first == 1) & (second == 1)) | ((second == 1) & (third == 1))
        gain = jnp.where(
            bet_folded, 1.0, jnp.where(check_bet_folded, -1.0, jnp.where(called, 2.0, 1.0) * higher)
        )
        gain = jnp.where(self.done(state), gain / 2, 0.0)
        return jnp.stack([gain, -gain])

    def view(self, state, seat):
        return state.cards[seat], state.history

    def disguise(self, state, seat, key):
        """The other card is one of the two that the seat does not hold."""
        own = state.cards[seat]
        other = (own + jax.random.randint(key, (), 1, 3)) % 3
        return state._replace(cards=state.cards.at[1 - seat].set(other))

    def write(self, state):
        cards = "".join("JQK"[int(card)] for card in state.cards)
        return cards + " " + "".join("-pb"[int(act) + 1] for act in state.history)

    def read(self, text):
        cards, _, history = text.partition(" ")
        if len(cards) != 2 or set(cards) - set("JQK") or len(history) != 3 or set(history) - set("-pb"):
            raise ValueError(f"{text!r} is not two cards and three of -pb")
        acts = jnp.array(["-pb".index(act) - 1 for act in history], jnp.int32)
        return Deal(
            jnp.array(["JQK".index(card) for card in cards], jnp.int32),
            acts,
            (acts >= 0).sum().astype(jnp.int32),
        )

    def write_action(self, action):
        return "pb"[int(action)]

    def read_action(self, text):
        return "pb".index(text)


TINY_GAMES = {"tic-tac-toe": TicTacToe(), "matching-pennies": MatchingPennies(), "kuhn-poker": KuhnPoker()}
