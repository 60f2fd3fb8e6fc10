"""Games of a network against itself, many side by side, searched at every move, without an idle lane.

A lane that finishes a game starts the next at once, so every iteration plays the same number of moves. A move can
only be learned from when its game is over; moves whose game is still open wait in `Lanes.pending`, which holds as
many turns as the longest game has, so that every move comes out exactly once and with its true result. Where games are
long it may hold fewer: a move whose game is still open when it comes out gets the last value found in that game.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.core.game import Game, Roles
from stratagem.core.play import Playing, advance_and_reset, over, random_actions, returns, start
from stratagem.networks.outputs import evaluator
from stratagem.search import Rule, looked_at, search


class Record(NamedTuple):
    """One move as it was played."""

    state: Any  # S, before the move
    choices: Array | None  # int16[M] or int32[M]: the actions looked at, −1 in empty places; None for all
    policy: Array  # float16[M]: what the search found, M = A where there are no choices
    values: Array  # float32[P]: the root's values by seat
    returns: Array  # float32[P]: of the state after it; zero while the game goes on
    ended: Array  # bool: whether the game ended with it
    real: Array  # bool: false where nothing has been played yet


class Lanes(NamedTuple):
    """B games under way."""

    playing: Playing  # [B]
    pending: (
        Record  # [L, B]: the last moves, some of games that are still open; L = longest game, or the horizon
    )


class Sample(NamedTuple):
    """Something to learn from."""

    state: Any  # S
    choices: Array | None  # int16[M] or int32[M]
    policy: Array  # float16[M]
    values: Array  # float32[P] by seat
    real: Array  # bool: whether it counts


class Tally(NamedTuple):
    """What happened in an iteration of self-play."""

    games: Array  # int32: games that ended
    moves: Array  # int32: moves they had in all
    first: Array  # float32: mean return of seat 0, or of the first role where seats have roles
    surprise: Array  # float32: mean |search value − result| of the samples, seat 0


def index_type(game: Game) -> Any:
    """The smallest integer that holds every action, and −1."""
    return jnp.int16 if game.spec.actions < 2**15 else jnp.int32


def start_lanes(
    game: Game, lanes: int, key: Array, breadth: int | None = None, horizon: int | None = None
) -> Lanes:
    """New games, nothing pending."""
    playing = jax.vmap(partial(start, game))(jax.random.split(key, lanes))
    seats, longest = game.spec.seats, min(horizon or game.spec.longest, game.spec.longest)
    chosen = looked_at(game, breadth)

    def empty(leaf: Array) -> Array:
        return jnp.zeros((longest, *leaf.shape), leaf.dtype)

    pending = Record(
        state=jax.tree.map(empty, playing.state),
        choices=None if chosen is None else jnp.zeros((longest, lanes, chosen), index_type(game)),
        policy=jnp.zeros((longest, lanes, chosen or game.spec.actions), jnp.float16),
        values=jnp.zeros((longest, lanes, seats)),
        returns=jnp.zeros((longest, lanes, seats)),
        ended=jnp.zeros((longest, lanes), bool),
        real=jnp.zeros((longest, lanes), bool),
    )
    return Lanes(playing, pending)


def random_opening(game: Game, plies: int, share: float, key: Array) -> Playing:
    """A game that, with probability `share`, has had 1 to `plies` random moves (fewer if that would end it)."""
    init_key, share_key, count_key, walk_key = jax.random.split(key, 4)
    count = jnp.where(
        jax.random.uniform(share_key) < share, jax.random.randint(count_key, (), 1, plies + 1), 0
    )

    def step(playing: Playing, indexed: tuple[Array, Array]) -> tuple[Playing, None]:
        index, key = indexed
        choose_key, step_key = jax.random.split(key)
        state = game.step(playing.state, random_actions(game, playing, choose_key), step_key)  # cannot foul
        onward = playing._replace(state=state, turn=playing.turn + 1)
        goes = (index < count) & ~over(game, onward)
        return jax.tree.map(lambda new, old: jnp.where(goes, new, old), onward, playing), None

    keys = jax.random.split(walk_key, plies)
    return lax.scan(step, start(game, init_key), (jnp.arange(plies), keys))[0]


def self_play(
    game: Game,
    network: Any,
    rule: Rule,
    temperature: Callable[[Array], Array],
    steps: int,
    openings: tuple[int, float],
    trust: float,
    lanes: Lanes,
    key: Array,
    breadth: int | None = None,
) -> tuple[Lanes, Sample, Tally]:
    """`steps` moves in every lane: (the lanes after it, Sample[steps · B], what happened).

    `trust` is the share of the search's value, against the game's result, in the value to learn.
    """
    pool_key, play_key = jax.random.split(key)
    count = lanes.playing.turn.shape[0]
    plies, share = openings
    pool = None
    if plies and share:
        opening = partial(random_opening, game, plies, share)
        pool = jax.vmap(opening)(jax.random.split(pool_key, count))
    look = partial(search, game, evaluator(game, network), rule, breadth=breadth)

    def turn(playing: Playing, key: Array) -> tuple[Playing, tuple[Record, Array, Array]]:
        search_key, step_key, pick_key = jax.random.split(key, 3)
        heat = temperature(playing.turn)
        found = jax.vmap(look)(playing.state, jax.random.split(search_key, count), heat)
        actions = jnp.broadcast_to(found.action[:, None], (count, game.spec.seats))
        onward, reached = jax.vmap(partial(advance_and_reset, game))(
            playing, actions, jax.random.split(step_key, count)
        )
        ended = jax.vmap(partial(over, game))(reached)
        results = jax.vmap(partial(returns, game))(reached)
        if pool is not None:
            drawn = jax.random.randint(pick_key, (count,), 0, count)
            onward = jax.tree.map(
                lambda fresh, old: jnp.where(ended.reshape(-1, *[1] * (old.ndim - 1)), fresh[drawn], old),
                pool,
                onward,
            )
        record = Record(
            state=playing.state,
            choices=None if found.choices is None else found.choices.astype(index_type(game)),
            policy=found.policy.astype(jnp.float16),
            values=found.values,
            returns=results,
            ended=ended,
            real=jnp.ones(count, bool),
        )
        firsts = jax.vmap(partial(_of_first, game))(reached.state, results)
        return onward, (record, jnp.where(ended, reached.turn, 0), jnp.where(ended, firsts, 0.0))

    playing, (records, lengths, firsts) = lax.scan(turn, lanes.playing, jax.random.split(play_key, steps))
    every = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), lanes.pending, records)
    results = _results(every)
    done = jax.tree.map(lambda leaf: leaf[:steps], every)
    values = (1 - trust) * results[:steps] + trust * done.values
    sample = Sample(done.state, done.choices, done.policy, values, done.real)
    games = records.ended.sum()
    tally = Tally(
        games=games.astype(jnp.int32),
        moves=lengths.sum(),
        first=firsts.sum() / jnp.maximum(games, 1),
        surprise=(jnp.abs(done.values[..., 0] - results[:steps, :, 0]) * done.real).sum()
        / jnp.maximum(done.real.sum(), 1),
    )
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), sample)
    return Lanes(playing, jax.tree.map(lambda leaf: leaf[steps:], every)), flat, tally


def _results(records: Record) -> Array:
    """float32[T, B, P]: how the game of each move ended, from Record[T, B]; its last value where it is still open."""

    def back(later: Array, record: tuple[Array, Array]) -> tuple[Array, Array]:
        reached, ended = record
        result = jnp.where(ended[:, None], reached, later)
        return result, result

    return lax.scan(back, records.values[-1], (records.returns, records.ended), reverse=True)[1]


def _of_first(game: Any, state: Any, results: Array) -> Array:
    """The return of seat 0, or of whoever has the first role."""
    return jnp.where(game.roles(state) == 0, results, 0.0).sum() if isinstance(game, Roles) else results[0]
