"""Behaviour cloning: learn to move as others do, and to say who will win.

The moves come from a source: teachers who play each other, or recorded games. A student sits behind every seat,
remembers what that seat saw, and is asked what it would have done. The loss is the cross-entropy of the move that was
made and, weighed against it, that of the result.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

from stratagem.core.errors import BadOption
from stratagem.learners.cloning_sources import Moves, Source
from stratagem.learners.whole_state import WholeState, numbers
from stratagem.networks import cast, make_network
from stratagem.networks.judgements import belief_loss, value_of
from stratagem.networks.senses import Senses

HEADS = ("policy", "value")  # the fields of a network that come last


@dataclass(frozen=True)
class CloningConfig:
    """How moves are learned."""

    network: str = "patch"
    """The network, with its sizes."""
    share: float = 0.25
    """Of the moves that were made, drawn at random, is learned from: neighbouring turns are much alike."""
    minibatch: int = 1024
    """Moves a gradient step."""
    value_weight: float = 0.5
    """Of the result's loss beside the move's."""
    sigma: float = 0.04
    """Width of the bell curve around a value to learn."""
    gradient: float = 1.0
    """Largest norm of a gradient."""
    rate: float = 1e-3
    """Learning rate of Adam, after a warm-up of 100 steps."""
    rate_end: float = 0.05
    """It falls along a half cosine to this share of it at the last iteration."""
    only_heads: bool = False
    """Learn the last layers only, the rest stays as it was."""
    average: float = 0.998
    """Decay, at each gradient step, of the moving average of the weights; the average is what plays."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the network's arithmetic; weights stay in float32."""
    iterations: int = 500
    """How many times all this is done."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadOption(f"cloning: share is above 0 and up to 1, not {self.share}")
        for name in ("minibatch", "iterations"):
            if getattr(self, name) < 1:
                raise BadOption(f"cloning: {name} is at least 1, not {getattr(self, name)}")

    def batches(self, moves: int) -> tuple[int, int]:
        """(Gradient steps, moves in each) for so many moves."""
        kept = max(1, round(self.share * moves))
        size = min(self.minibatch, kept)
        return kept // size, size


class Learned(NamedTuple):
    """All that must survive a kill."""

    iteration: Array  # int32
    key: Array
    network: Any
    optimiser: Any
    average: Any
    carried: Any  # by the source


class Cloning(WholeState):
    """The learner. `first` are weights to begin with."""

    def __init__(self, senses: Senses, source: Source, config: CloningConfig, first: Any = None):
        self.senses, self.source, self.config, self._first = senses, source, config, first
        self._iterate = jax.jit(functools.partial(iterate, senses, source, config))
        self._start = functools.partial(start_learning, senses, source, config)

    def start(self, key: Array) -> Learned:
        """The state before the first iteration; same key, same run."""
        learned = jax.jit(self._start)(key)
        if self._first is not None:
            learned = learned._replace(network=self._first, average=self._first)
        return learned

    def iterate(self, state: Learned) -> tuple[Learned, Mapping[str, float]]:
        """One iteration: (the state after it, numbers to log)."""
        state, metrics = self._iterate(state, self.source.fetch(self.iteration(state)))
        return state, numbers(metrics)


def start_learning(senses: Senses, source: Source, config: CloningConfig, key: Array) -> Learned:
    """Before the first iteration."""
    run_key, network_key, source_key = jax.random.split(key, 3)
    network = make_network(config.network, senses, network_key)  # type: ignore[arg-type]
    return Learned(
        iteration=jnp.int32(0),
        key=run_key,
        network=network,
        optimiser=optimiser(config, 1).init(network),
        average=network,
        carried=source.start(source_key),
    )


def optimiser(config: CloningConfig, updates: int) -> optax.GradientTransformation:
    """Adam, with so many updates an iteration."""

    def rate(step: Array) -> Array:
        along = jnp.minimum(step / (config.iterations * updates), 1.0)
        fallen = config.rate_end + (1 - config.rate_end) * (1 + jnp.cos(jnp.pi * along)) / 2
        return config.rate * fallen * jnp.minimum((step + 1) / 100, 1.0)

    return optax.chain(optax.clip_by_global_norm(config.gradient), optax.adam(rate))


def iterate(
    senses: Senses, source: Source, config: CloningConfig, learned: Learned, fetched: Any
) -> tuple[Learned, dict[str, Array]]:
    """One iteration: more moves, and some of them learned."""
    key, play_key, draw_key = jax.random.split(learned.key, 3)
    student = cast(learned.network, jnp.dtype(config.precision))
    carried, moves, told = source.moves(student, learned.carried, fetched, play_key)
    learned, losses = learn(senses, config, learned, drawn(config, moves, draw_key))
    return learned._replace(iteration=learned.iteration + 1, key=key, carried=carried), told | losses


def drawn(config: CloningConfig, moves: Moves, key: Array) -> Moves:
    """Some of the moves in random order, in batches [N, M, …]; those that do not count are at the end."""
    places = jax.random.permutation(key, moves.known.size)
    places = places[jnp.argsort(~moves.known.reshape(-1)[places], stable=True)]
    count, size = config.batches(moves.known.size)

    def rows(leaf: Array) -> Array:
        chosen = leaf.reshape(-1, *leaf.shape[3:])[places[: count * size]]
        return chosen.reshape(count, size, *chosen.shape[1:])

    return jax.tree.map(rows, moves)


def learn(
    senses: Senses, config: CloningConfig, learned: Learned, moves: Moves
) -> tuple[Learned, dict[str, Array]]:
    """A gradient step for each of the batches [N, …]."""
    updates = moves.known.shape[0]
    adam = optimiser(config, updates)
    done = learned.iteration * updates

    def update(carry: Any, indexed: tuple[Array, Moves]) -> tuple[Any, dict[str, Array]]:
        network, state, average = carry
        index, batch = indexed

        def loss(network: Any) -> tuple[Array, dict[str, Array]]:
            return batch_loss(cast(network, jnp.dtype(config.precision)), senses, config.value_weight,
                              config.sigma, batch)  # fmt: skip

        (_, parts), gradients = jax.value_and_grad(loss, has_aux=True)(network)
        changes, state = adam.update(gradients, state, network)
        if config.only_heads:
            changes = heads_of(changes)
        network = optax.apply_updates(network, changes)
        pace = jnp.minimum(config.average, (done + index + 1) / (done + index + 10))
        average = jax.tree.map(lambda old, new: pace * old + (1 - pace) * new, average, network)
        return (network, state, average), parts

    carry = (learned.network, learned.optimiser, learned.average)
    carry, parts = lax.scan(update, carry, (jnp.arange(updates), moves))
    network, state, average = carry
    return learned._replace(network=network, optimiser=state, average=average), jax.tree.map(jnp.mean, parts)


def heads_of(changes: Any) -> Any:
    """Changes with those of all but the heads set to zero."""

    def kept(path: Any, leaf: Array) -> Array:
        return leaf if path[0].name in HEADS else jnp.zeros_like(leaf)

    return jax.tree_util.tree_map_with_path(kept, changes)


def batch_loss(
    network: Any, senses: Senses, value_weight: float, sigma: float, batch: Moves
) -> tuple[Array, dict[str, Array]]:
    """(The loss to go down, its parts), the mean over the moves that count."""

    def one(sample: Moves) -> dict[str, Array]:
        judged = network(senses.features(sample.record), learning=True)
        legal = jnp.unpackbits(sample.legal, count=senses.spec.actions) == 1
        chances = judged.chances(legal)
        return {
            "policy_loss": -chances[sample.action],
            "value_loss": belief_loss(judged.belief, sample.target, sigma),
            "alike": (jnp.argmax(chances) == sample.action).astype(jnp.float32),
            "error": jnp.square(value_of(judged.belief) - sample.target),
        }

    share = batch.known / jnp.maximum(batch.known.sum(), 1)
    means = {name: (part * share).sum() for name, part in jax.vmap(one)(batch).items()}
    return means["policy_loss"] + value_weight * means["value_loss"], means
