"""Generals judged from one seat: what it saw, what it may believe in, and games played on from there.

Nothing but the seat's views enters: the state is only looked at through `game.view`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.agents import make_agent
from stratagem.agents.generals_belief import Mind, look
from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.agents.policy import policy_of
from stratagem.analysis.generals_guess import general_chances, guess
from stratagem.analysis.judgement import Judgement, Kind, Line, Progress, Question, by_value
from stratagem.core.errors import StratagemError

CANDIDATES = 8  # moves that are tried
SAMPLES = 4  # boards in one go
AT_ONCE = 64  # turns that are remembered in one go
HORIZON = 24  # turns that each game is played on
PLAYERS = {"cascade": 0.5, "hunter": 0.2, "expander": 0.1}  # whose move has which share of the prior
GUESSED = 0.2  # the share that all other moves have
PLAYING_ON = "expander"  # quick, and it uses what it is given
NOTE = f"from this seat's views alone: boards it may believe in, each played on for {HORIZON} turns"


class Seen(NamedTuple):
    """What the asked seat knows."""

    mind: Mind
    view: Any
    legal: Array  # bool[A]


@dataclass(frozen=True)
class Fog:
    """Prior: a shipped policy, or the classical players. Value: who leads after games from believable boards."""

    game: Any
    kind: ClassVar[Kind] = "rollouts"
    unit: ClassVar[str | None] = None

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        programs = compiled(self.game)
        seen = self.look_back(question)
        shares = np.asarray(programs.prior(seen), np.float64)
        legal = np.flatnonzero(np.asarray(seen.legal))
        shares = shares[legal] / shares[legal].sum()
        tried = question.to_try(legal, shares, CANDIDATES)
        padded = np.resize(tried, CANDIDATES).astype(np.int32)
        place = np.round(np.asarray(programs.believe(seen), np.float64), 5)
        believed = tuple(tuple(row) for row in place.reshape(self.game.shape).tolist())
        sums, games = np.zeros(len(tried)), 0
        rounds = max(1, math.ceil(question.visits / (len(tried) * SAMPLES)))
        for number in range(rounds):
            key = jax.random.fold_in(jax.random.key(0), number)
            found = programs.played_on(seen, np.int32(question.seat), padded, key)
            sums += np.asarray(found, np.float64)[: len(tried)]
            games += SAMPLES
            so_far = partial(judgement, legal, shares, tried, sums.copy(), games, believed)
            if number + 1 < rounds and not goes_on(so_far):
                break
        return judgement(legal, shares, tried, sums, games, believed)

    def look_back(self, question: Question) -> Seen:
        """All that the seat has seen so far."""
        programs, seat = compiled(self.game), np.int32(question.seat)
        mind = make_agent("cascade", self.game).memory()
        for first in range(0, len(question.past), AT_ONCE):
            part = question.past[first : first + AT_ONCE]
            padded = part + part[-1:] * (AT_ONCE - len(part))
            states = jax.tree.map(lambda *leaves: np.stack(leaves), *(state for state, _ in padded))
            actions = np.array([actions[question.seat] for _, actions in padded], np.int32)
            mind = programs.remember(mind, states, seat, actions, np.int32(len(part)))
        return programs.look(mind, question.state, seat)


def judgement(
    legal: np.ndarray,
    shares: np.ndarray,
    tried: np.ndarray,
    sums: np.ndarray,
    games: int,
    believed: tuple[tuple[float, ...], ...],
) -> Judgement:
    """What the games so far say; `sums` is float64[tried]."""
    prior = dict(zip(legal.tolist(), shares.tolist(), strict=True))
    means = dict(zip(tried.tolist(), (sums / games).tolist(), strict=True))
    best = max(means.values())
    known = [Line(action, games, value, prior[action]) for action, value in means.items()]
    unknown = [Line(action, 0, best, share) for action, share in prior.items() if action not in means]
    unknown.sort(key=lambda line: (-line.prior, line.action))
    return Judgement((*by_value(known), *unknown), best, None, games * len(tried), None, NOTE, believed)


class Compiled(NamedTuple):
    """The programs of one game."""

    remember: Callable[..., Mind]
    look: Callable[..., Seen]
    prior: Callable[[Seen], Array]
    believe: Callable[[Seen], Array]
    played_on: Callable[..., Array]


@lru_cache(maxsize=4)
def compiled(game: Any) -> Compiled:
    agents = {name: make_agent(name, game) for name in PLAYERS}
    cascade, player = agents["cascade"], agents[PLAYING_ON]
    senses = GeneralsSenses(game)

    def remember(mind: Mind, states: Any, seat: Array, actions: Array, number: Array) -> Mind:
        """The mind after the first `number` of so many turns."""

        def one(turn: Array, mind: Mind) -> Mind:
            state = jax.tree.map(lambda leaf: leaf[turn], states)
            return cascade.remember(mind, game.view(state, seat), actions[turn])

        return lax.fori_loop(0, number, one, mind)

    def looks(mind: Mind, state: Any, seat: Array) -> Seen:
        view = game.view(state, seat)
        return Seen(look(game, mind, view), view, game.legal(state)[seat])

    def trained(seen: Seen) -> Array:
        """float32[A]: the shares of all moves by the shipped policy."""
        record = senses.observe(seen.mind.known, seen.view)[1]
        logits = policy_of(game, "")(senses.features(record)).logits
        return jax.nn.softmax(jnp.where(seen.legal, logits, -jnp.inf))

    def prior(seen: Seen) -> Array:
        """float32[A]: the shares of all moves by the classical players."""
        shares = GUESSED * seen.legal / jnp.maximum(seen.legal.sum(), 1)
        for name, share in PLAYERS.items():
            memory = seen.mind if name == "cascade" else seen.mind.known if name == "hunter" else ()
            shares = shares.at[agents[name].act(memory, seen.view, seen.legal, jax.random.key(0))].add(share)
        return shares

    def both(state: Any, key: Array) -> Array:
        def one(seat: Array, legal: Array, key: Array) -> Array:
            return player.act((), game.view(state, seat), legal, key)

        return jax.vmap(one)(jnp.arange(2), game.legal(state), jax.random.split(key, 2))

    def one_game(board: Any, seat: Array, action: Array, key: Array) -> Array:
        def turn(carry: tuple[Any, Array]) -> tuple[Any, Array]:
            state, number = carry
            asked = (number == 0) & (jnp.arange(2) == seat)  # the move to be judged comes first
            actions = jnp.where(asked, action, both(state, jax.random.fold_in(key, number)))
            return game.step(state, actions.astype(jnp.int32)), number + 1

        def goes_on(carry: tuple[Any, Array]) -> Array:
            return ~game.done(carry[0]) & (carry[1] <= HORIZON)

        last = lax.while_loop(goes_on, turn, (board, jnp.int32(0)))[0]
        return jnp.where(game.done(last), game.returns(last), senses.potential(last))[seat]

    def played_on(seen: Seen, seat: Array, actions: Array, key: Array) -> Array:
        """float32[K]: for each first move the sum of its results over SAMPLES boards."""

        def on_board(key: Array) -> Array:
            board_key, play_key = jax.random.split(key)
            board = guess(game, seen.mind, seen.view, seat, board_key)
            return jax.vmap(lambda action: one_game(board, seat, action, play_key))(actions)

        return jax.vmap(on_board)(jax.random.split(key, SAMPLES)).sum(axis=0)

    opinion = trained if has_policy(game) else prior
    believe = jax.jit(lambda seen: general_chances(seen.mind, seen.view))
    return Compiled(jax.jit(remember), jax.jit(looks), jax.jit(opinion), believe, jax.jit(played_on))


def has_policy(game: Any) -> bool:
    """Whether the package ships a policy that plays this game."""
    try:
        policy_of(game, "")
    except StratagemError:
        return False
    return True
