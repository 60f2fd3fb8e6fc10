"""Any game judged by playing on: the likeliest moves, each followed by games between players who know it a little.

All moves meet the same luck, so that their difference is not that of the dice. In a game with secrets every game starts
from another position that the asked seat cannot tell from the true one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.agents import make_agent
from stratagem.agents.hispania_historical import Historical
from stratagem.analysis.judgement import Judgement, Kind, Line, Progress, Question, by_value, softmax
from stratagem.core.game import Hidden, Scored, require

CANDIDATES = 8  # moves that are tried
SAMPLES = 4  # games for each of them in one go
HORIZON = 400  # decisions after which a game is judged by its points
LIKING = 0.3  # the temperature that turns what `historical` likes, in points, into shares
WORST = 1000.0  # in points: likings beyond this say no more
POINTS = 10.0  # the lead in points that is worth three quarters of a win


@dataclass(frozen=True)
class Rollouts:
    """Plays on with the game's simplest player; with random moves where there is none."""

    game: Any
    kind: ClassVar[Kind] = "rollouts"
    unit: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        if self.game.spec.information == "imperfect":
            require(self.game, Hidden, "judging by rollouts")

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        legal = question.legal
        priors = prior(question)
        tried = question.to_try(legal, priors, CANDIDATES)
        sums, games = np.zeros((len(tried), self.game.spec.seats)), 0
        rounds = max(1, math.ceil(question.visits / (len(tried) * SAMPLES)))
        padded = np.resize(tried, CANDIDATES).astype(np.int32)  # one compiled program for any number of moves
        for number in range(rounds):
            key = jax.random.fold_in(jax.random.key(0), number)
            found = played_on(self.game)(question.state, question.seat, padded, key)
            sums += np.asarray(found, np.float64)[: len(tried)]
            games += SAMPLES
            if number + 1 < rounds and not goes_on(
                partial(self.judgement, question, tried, priors, sums.copy(), games)
            ):
                break
        return self.judgement(question, tried, priors, sums, games)

    def judgement(
        self, question: Question, tried: np.ndarray, priors: np.ndarray, sums: np.ndarray, games: int
    ) -> Judgement:
        """What the games so far say; `sums` is float64[tried, P]."""
        means = {int(action): row / games for action, row in zip(tried, sums, strict=True)}
        best = max(means.values(), key=lambda row: row[question.seat])
        value = float(best[question.seat])
        shares = dict(zip(question.legal.tolist(), priors.tolist(), strict=True))
        known = [Line(a, games, float(row[question.seat]), shares[a]) for a, row in means.items()]
        unknown = [Line(a, 0, value, share) for a, share in shares.items() if a not in means]
        unknown.sort(key=lambda line: (-line.prior, line.action))
        secret = self.game.spec.information == "imperfect"
        values = None if secret else tuple(best.tolist())
        return Judgement((*by_value(known), *unknown), value, values, games * len(tried))


def prior(question: Question) -> np.ndarray:
    """float64[L]: how likely the game's own player is to make each legal move; equal where there is none."""
    legal = question.legal
    if question.game.spec.name != "hispania":
        return np.full(len(legal), 1 / len(legal))
    return softmax(np.asarray(opinions(question.game)(question.state)[0], np.float64)[legal], LIKING)


@lru_cache(maxsize=8)
def opinions(game: Any) -> Callable[[Any], tuple[Array, Array]]:
    """From a state of Hispania to (float32[A], float32[P]): what its historical player likes, and who leads."""
    player = Historical(game)

    def liked(state: Any) -> tuple[Array, Array]:
        return jnp.clip(player.liking(state).reshape(-1), -WORST, WORST), lead(game, state)

    return jax.jit(liked)


@lru_cache(maxsize=8)
def played_on(game: Any) -> Callable[..., Array]:
    """(state, seat, int32[K] first moves, key) to float32[K, P]: the sum of the results of SAMPLES games for each."""
    agent = make_agent("naive" if game.spec.name == "hispania" else "random", game)
    seats = jnp.arange(game.spec.seats)

    def choose(state: Any, key: Array) -> Array:
        legal = game.legal(state)
        if game.spec.dynamics == "alternating":
            mover = jnp.argmax(game.to_move(state))
            return jnp.broadcast_to(
                agent.act(agent.memory(), game.view(state, mover), legal[mover], key), seats.shape
            )
        keys = jax.random.split(key, game.spec.seats)
        return jax.vmap(
            lambda seat, one: agent.act(agent.memory(), game.view(state, seat), legal[seat], one)
        )(seats, keys)

    def one_game(state: Any, seat: Array, action: Array, key: Array) -> Array:
        hide_key, key = jax.random.split(key)
        if game.spec.information == "imperfect":
            state = game.disguise(state, seat, hide_key)

        def turn(carry: tuple[Any, Array]) -> tuple[Any, Array]:
            state, number = carry
            choose_key, step_key = jax.random.split(jax.random.fold_in(key, number))
            asked = (number == 0) & (seats == seat)  # the move to be judged comes first
            actions = jnp.where(asked, action, choose(state, choose_key)).astype(jnp.int32)
            return game.step(state, actions, step_key), number + 1

        def goes_on(carry: tuple[Any, Array]) -> Array:
            return ~game.done(carry[0]) & (carry[1] < HORIZON)

        last = lax.while_loop(goes_on, turn, (state, jnp.int32(0)))[0]
        return jnp.where(game.done(last), game.returns(last), lead(game, last))

    def games(state: Any, seat: Array, actions: Array, key: Array) -> Array:
        keys = jax.random.split(key, SAMPLES)
        results = jax.vmap(lambda action: jax.vmap(lambda one: one_game(state, seat, action, one))(keys))(
            actions
        )
        return results.sum(axis=1)

    return jax.jit(games)


def lead(game: Any, state: Any) -> Array:
    """float32[P]: a guess from the points in an unfinished game; zero where none are counted."""
    if not isinstance(game, Scored):
        return jnp.zeros(game.spec.seats, jnp.float32)
    return shares_of_the_win(game.scores(state).astype(jnp.float32))


def shares_of_the_win(points: Array) -> Array:
    """float32[P]: values from points."""
    shares = jax.nn.softmax(2 * points / POINTS)
    return (len(shares) * shares - 1) / (len(shares) - 1)
