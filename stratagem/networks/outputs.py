"""What a network says of a position, and how wrong it was.

Values are told from the side of the seat to move and go round the table: entry 0 is the mover's, entry 1 the next
seat's. `by_seat` turns them to the seats of the game.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.game import Game


class Output(NamedTuple):
    """One position judged."""

    logits: Array  # float32[A]
    values: Array  # float32[P] in [−1, 1], the mover first
    belief: Array | None  # float32[P, K]: log-odds of K results, evenly from −1 to 1; None: plain values
    moments: Any = ()  # what batch norms saw, while learning


def by_seat(values: Array, mover: Array) -> Array:
    """float32[P] by seat, from float32[P] that starts with the mover."""
    return jnp.roll(values, mover)


def from_mover(values: Array, mover: Array) -> Array:
    """float32[P] that starts with the mover, from float32[P] by seat."""
    return jnp.roll(values, -mover)


def scalar_output(logits: Array, value: Array, moments: Any = ()) -> Output:
    """For two seats and a value in [−1, 1]."""
    value = value.astype(jnp.float32)
    return Output(logits.astype(jnp.float32), jnp.stack([value, -value]), None, moments)


def belief_output(logits: Array, belief: Array, seats: int) -> Output:
    """From log-odds of results: float[1, K] is enough for two seats, float[P, K] for more."""
    belief = belief.astype(jnp.float32)
    if seats == 2:
        belief = jnp.stack([belief[0], belief[0, ::-1]])
    results = jnp.linspace(-1.0, 1.0, belief.shape[-1])
    values = jax.nn.softmax(belief) @ results
    return Output(logits.astype(jnp.float32), values - values.mean(), belief)


def value_loss(output: Output, target: Array) -> Array:
    """Against float32[P], the mover first: squared error, or cross-entropy where there is a belief."""
    if output.belief is None:
        return jnp.square(output.values - target).mean()
    results = output.belief.shape[-1]
    place = (jnp.clip(target, -1, 1) + 1) / 2 * (results - 1)
    hot = jnp.maximum(0, 1 - jnp.abs(place[:, None] - jnp.arange(results)))  # [P, K], shared by neighbours
    return -(hot * jax.nn.log_softmax(output.belief)).sum(axis=-1).mean()


def policy_loss(output: Output, target: Array, legal: Array) -> tuple[Array, Array]:
    """(Cross-entropy against float32[A], over the legal actions; `drift`)."""
    logits = jnp.where(legal, output.logits, -1e9)
    loss = -(target * jnp.where(legal, jax.nn.log_softmax(logits), 0.0)).sum()
    return loss, drift(output, logits)


def any_of_loss(output: Output, right: Array, legal: Array) -> tuple[Array, Array]:
    """(How surprising it is that one of the right actions, bool[A], is chosen, nothing if none is right; `drift`)."""
    logits = jnp.where(legal, output.logits, -1e9)
    chosen = jax.nn.logsumexp(jnp.where(right, logits, -1e9))
    return jnp.where(right.any(), jax.nn.logsumexp(logits) - chosen, 0.0), drift(output, logits)


def each_of_loss(output: Output, right: Array, legal: Array) -> Array:
    """How surprising it is of a legal action, on average, that it is right or not; logits are then log-odds of that."""
    found = jnp.where(right, jax.nn.softplus(-output.logits), jax.nn.softplus(output.logits))
    return jnp.where(legal, found, 0.0).sum() / jnp.maximum(legal.sum(), 1)


def listed_policy_loss(output: Output, listed: Array, choices: Array, target: Array) -> tuple[Array, Array]:
    """The same for a game that lists its legal actions: `target` float32[M] is for the actions `choices` int32[M].

    Gaps in both lists are −1; a gap has no share of the target.
    """
    logits = jnp.where(listed >= 0, output.logits[listed], -1e9)
    chosen = jnp.where(choices >= 0, output.logits[choices], 0.0)
    return (target * (jax.nn.logsumexp(logits) - chosen)).sum(), drift(output, logits)


def drift(output: Output, logits: Array) -> Array:
    """How far the level of the masked logits and of the belief is from nought, squared.

    Softmax does not see what is added to all logits alike, so nothing in the losses above holds their level. Gradients
    that should cancel there leave their rounding, which Adam makes as large as any other: in bfloat16 the level was
    seen to rise by hundreds, until rounding took the differences too.
    """
    level = jnp.square(jax.nn.logsumexp(logits))
    return (
        level
        if output.belief is None
        else level + jnp.square(jax.nn.logsumexp(output.belief, axis=-1)).mean()
    )


def evaluator(game: Game, network: Any) -> Callable[[Any], tuple[Array, Array]]:
    """The network as a search wants it: from a state to (float32[A] logits, float32[P] values by seat)."""

    def evaluate(state: Any) -> tuple[Array, Array]:
        mover = jnp.argmax(game.to_move(state)).astype(jnp.int32)
        output = network(game.view(state, mover))
        return output.logits, by_seat(output.values, mover)

    return evaluate


def committee(
    game: Game, members: Sequence[Callable[[Any], tuple[Array, Array]]]
) -> Callable[[Any], tuple[Array, Array]]:
    """The mean of what several say of a state: of their values, and of the log-probabilities of legal actions."""

    def mean(state: Any) -> tuple[Array, Array]:
        legal = game.legal(state).any(axis=0)
        logits, values = zip(*(member(state) for member in members), strict=True)
        # The level of logits means nothing, and is another for each member.
        likely = [jax.nn.log_softmax(jnp.where(legal, one, -1e9)) for one in logits]
        return jnp.stack(likely).mean(axis=0), jnp.stack(values).mean(axis=0)

    return mean


def all_sides(
    game: Any, evaluate: Callable[[Any], tuple[Array, Array]]
) -> Callable[[Any], tuple[Array, Array]]:
    """The mean of what is said of a state from every side of the board that looks the same; seats stay."""
    with jax.ensure_compile_time_eval():  # which sides there are is known, also in the middle of a trace
        group = game.symmetries()
        sides = np.flatnonzero((np.asarray(group.seats) == np.arange(game.spec.seats)).all(axis=1))

    def mean(state: Any) -> tuple[Array, Array]:
        turned = jax.vmap(lambda g: game.turn_state(state, g))(jnp.asarray(sides))
        logits, values = jax.vmap(evaluate)(turned)
        back = jnp.take_along_axis(logits, group.actions[sides], axis=1)  # action a went to actions[g, a]
        return back.mean(axis=0), values.mean(axis=0)

    return mean
