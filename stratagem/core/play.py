"""How any game is played: what every game needs once, so that rules need not repeat it.

A `Playing` wraps a state with the fouls committed in it. Inside jit an illegal action cannot raise, so it is
scored: the game is over at once, the seat that chose it loses and the others share the win; if every seat
to move fouls, they lose to the rest, or draw when there is no rest. On the host, `check` raises instead.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.core.errors import IllegalAction
from stratagem.core.game import Explaining, Game, Listing, Sampling, winners_share


class Playing(NamedTuple):
    """A game under way."""

    state: Any
    fouls: Array  # bool[P]: seats that chose an illegal action
    turn: Array  # int32: steps taken


class Step(NamedTuple):
    """One turn of a rollout, with what was known before it."""

    before: Playing
    actions: Array  # int32[P]
    after: Playing  # the final state itself when the game ended here, never the reset one
    returns: Array  # float32[P]
    done: Array  # bool


Chooser = Callable[[Playing, Array], Array]  # (playing, key) -> int32[P]


def start(game: Game, key: Array) -> Playing:
    """A new game."""
    return resume(game, game.init(key))


def resume(game: Game, state: Any) -> Playing:
    """A game that goes on from a given state."""
    return Playing(state, jnp.zeros(game.spec.seats, bool), jnp.int32(0))


def over(game: Game, playing: Playing) -> Array:
    """bool: whether the game has ended, by its rules or by a foul."""
    return game.done(playing.state) | playing.fouls.any()


def returns(game: Game, playing: Playing) -> Array:
    """float32[P]: the result, fouls included; zero until the game is over."""
    return jnp.where(playing.fouls.any(), winners_share(~playing.fouls), game.returns(playing.state))


def illegal(game: Game, state: Any, actions: Array) -> Array:
    """bool[P]: the seats to move whose action is not legal (or is no action at all)."""
    if isinstance(game, Listing):
        return game.to_move(state) & ~(
            (actions[:, None] == game.listed(state)) & (actions[:, None] >= 0)
        ).any(axis=1)
    seats = jnp.arange(game.spec.seats)
    known = (actions >= 0) & (actions < game.spec.actions)
    allowed = game.legal(state)[seats, jnp.clip(actions, 0, game.spec.actions - 1)]
    return game.to_move(state) & ~(known & allowed)


def advance(game: Game, playing: Playing, actions: Array, key: Array) -> Playing:
    """One step; a finished game stays as it is, a foul ends it where it stands."""
    finished = over(game, playing)
    fouls = illegal(game, playing.state, actions) & ~finished
    stepped = game.step(playing.state, jnp.where(fouls, _harmless(game, playing.state), actions), key)
    stays = finished | fouls.any()
    state = jax.tree.map(lambda old, new: jnp.where(stays, old, new), playing.state, stepped)
    return Playing(state, playing.fouls | fouls, playing.turn + ~finished)


def _harmless(game: Game, state: Any) -> Array:
    """int32[P]: a legal action for every seat to move."""
    if isinstance(game, Listing):
        return jnp.maximum(game.listed(state).max(), 0) * jnp.ones(game.spec.seats, jnp.int32)
    return jnp.argmax(game.legal(state), axis=1).astype(jnp.int32)


def advance_and_reset(game: Game, playing: Playing, actions: Array, key: Array) -> tuple[Playing, Playing]:
    """One step, then a new game if it ended: (what to go on with, the state just reached)."""
    step_key, init_key = jax.random.split(key)
    reached = advance(game, playing, actions, step_key)
    ended = over(game, reached)
    fresh = start(game, init_key)
    return jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, reached), reached


def rollout(game: Game, choose: Chooser, playing: Playing, key: Array, steps: int) -> tuple[Playing, Step]:
    """`steps` turns with auto-reset: (where it stands, Step[T])."""

    def turn(playing: Playing, key: Array) -> tuple[Playing, Step]:
        choose_key, step_key = jax.random.split(key)
        actions = choose(playing, choose_key)
        onward, reached = advance_and_reset(game, playing, actions, step_key)
        return onward, Step(playing, actions, reached, returns(game, reached), over(game, reached))

    return lax.scan(turn, playing, jax.random.split(key, steps))


def playout(game: Game, choose: Chooser, playing: Playing, key: Array) -> Playing:
    """Play on to the end of this one game."""

    def turn(carry: tuple[Playing, Array]) -> tuple[Playing, Array]:
        playing, key = carry
        choose_key, step_key, key = jax.random.split(key, 3)
        return advance(game, playing, choose(playing, choose_key), step_key), key

    return lax.while_loop(lambda carry: ~over(game, carry[0]), turn, (playing, key))[0]


def random_games(game: Game, batch: int, key: Array) -> Playing:
    """Playing[B]: whole games of uniformly random legal actions, as fast as the rules allow.

    Random actions cannot foul, so nothing is guarded, and one draw serves the whole batch.
    """
    init_key, key = jax.random.split(key)
    playing = jax.vmap(lambda one: start(game, one))(jax.random.split(init_key, batch))

    def turn(carry: tuple[Playing, Array]) -> tuple[Playing, Array]:
        playing, key = carry
        choose_key, step_key, key = jax.random.split(key, 3)
        points = jax.random.uniform(choose_key, (batch, game.spec.seats))

        def one(playing: Playing, points: Array, key: Array) -> Playing:
            done = game.done(playing.state)
            stepped = game.step(playing.state, actions_at(game, playing.state, points), key)
            state = jax.tree.map(lambda old, new: jnp.where(done, old, new), playing.state, stepped)
            return playing._replace(state=state, turn=playing.turn + ~done)

        return jax.vmap(one)(playing, points, jax.random.split(step_key, batch)), key

    def unfinished(carry: tuple[Playing, Array]) -> Array:
        return ~jax.vmap(game.done)(carry[0].state).all()

    return lax.while_loop(unfinished, turn, (playing, key))[0]


def pick(legal: Array, point: Array) -> Array:
    """int32: the legal action at `point` in [0, 1) of the way through bool[A]; uniform if the point is."""
    counted = jnp.cumsum(legal, axis=-1, dtype=jnp.int32)
    target = jnp.floor(point * counted[..., -1]).astype(jnp.int32)
    return jnp.sum(counted <= target[..., None], axis=-1).astype(jnp.int32)


def random_actions(game: Game, playing: Playing, key: Array) -> Array:
    """int32[P]: a uniformly random legal action for every seat. A `Chooser` with the game filled in."""
    return actions_at(game, playing.state, jax.random.uniform(key, (game.spec.seats,)))


def actions_at(game: Game, state: Any, points: Array) -> Array:
    """int32[P]: for each seat the legal action at its point in [0, 1)."""
    if isinstance(game, Sampling):
        return game.sample(state, points)
    return jnp.minimum(pick(game.legal(state), points), game.spec.actions - 1)


def check(game: Game, state: Any, actions: Any) -> None:
    """Host side: raise IllegalAction, naming seat, action and reason, unless every mover's action is legal."""
    movers, legal = np.asarray(game.to_move(state)), np.asarray(game.legal(state))
    for seat in np.flatnonzero(movers):
        action = int(actions[seat])
        if not 0 <= action < game.spec.actions:
            why = f"actions are 0 to {game.spec.actions - 1}"
        elif legal[seat, action]:
            continue
        elif isinstance(game, Explaining):
            why = game.why_not(state, int(seat), action)
        else:
            why = f"legal now: {', '.join(map(str, np.flatnonzero(legal[seat])[:12]))}"
        raise IllegalAction(f"seat {seat} of {game.spec.name} may not play action {action}: {why}")


def turn_key(seed: int | Array, turn: int | Array) -> Array:
    """The key of one moment of a game with this seed: turn −1 is `init`, turn t the t-th step."""
    return jax.random.fold_in(jax.random.key(seed), turn + 1)
