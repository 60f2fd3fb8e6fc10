"""Learning from exact answers: positions whose value is known, and for some of them the actions that keep it.

Whoever knows the answers hands over material, any tree of arrays, and a way to draw lessons from it; so this knows no
game and no solver. One compiled program an iteration.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.core.game import Game
from stratagem.learners.descent import STEADY, descend, optimiser
from stratagem.learners.whole_state import WholeState, numbers
from stratagem.networks import cast, make_network
from stratagem.networks.blocks import BATCH, Training
from stratagem.networks.outputs import any_of_loss, each_of_loss, value_loss


class Lesson(NamedTuple):
    """One position and what is known of it."""

    view: Any  # as the seat to move sees it
    legal: Array  # bool[A]
    right: Array  # bool[A]: actions known to be best; none where none is known, or where none wins
    values: Array  # float32[P]: what it is worth, the mover first
    complete: Array  # bool: whether `right` has all of them


Draw = Callable[[Any, int, Array], Lesson]
"""From material, a number of rows and a key to Lesson[B]."""


@dataclass(frozen=True)
class LessonsConfig:
    """How lessons are learned."""

    network: str = "global"
    """The network, with its sizes."""
    batch: int = 4096
    """Lessons a gradient step."""
    updates: int = 100
    """Gradient steps an iteration."""
    rate: float = 2e-3
    """Learning rate of Adam, after a warm-up of 100 steps."""
    rate_end: float = 0.02
    """The rate falls along a half cosine to this share of it at the last iteration."""
    decay: float = 0.03
    """Weight decay, on matrices and convolutions only."""
    clip: float = 1.0
    """Largest norm of a gradient."""
    each_weight: float = 7.0
    """Where all right actions are known, of the loss of each action, right or not, beside the value's."""
    any_weight: float = 0.35
    """Where only some are known, of the loss of choosing any of those."""
    average: float = 0.999
    """Decay of the moving average of the weights; the average is what plays."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the network's arithmetic; weights stay in float32."""
    iterations: int = 300
    """How many times all this is done."""


class Learned(NamedTuple):
    """All that must survive a kill."""

    iteration: Array  # int32
    key: Array
    network: Any
    optimiser: Any
    average: Any


class Lessons(WholeState):
    """The learner. `first` is a network of the configured kind to begin with."""

    def __init__(self, game: Game, draw: Draw, material: Any, config: LessonsConfig, first: Any = None):
        self.material, self.config, self._first = material, config, first
        self._start = functools.partial(start_learning, game, config)
        self._iterate = jax.jit(functools.partial(iterate, draw, config))

    def start(self, key: Array) -> Learned:
        """The state before the first iteration; same key, same run."""
        learned = jax.jit(self._start)(key)
        if self._first is not None:
            learned = learned._replace(network=self._first, average=self._first)
        return learned

    def iterate(self, state: Learned) -> tuple[Learned, Mapping[str, float]]:
        """One iteration: (the state after it, numbers to log)."""
        # The number of iterations is an argument, so that runs of different lengths share a compiled program.
        state, losses = self._iterate(state, self.material, jnp.int32(self.config.iterations))
        return state, numbers(losses)


def start_learning(game: Game, config: LessonsConfig, key: Array) -> Learned:
    """Before the first iteration."""
    run_key, network_key = jax.random.split(key)
    network = make_network(config.network, game, network_key)
    adam = optimiser(config, config.iterations)
    return Learned(jnp.int32(0), run_key, network, adam.init(network), network)


def iterate(
    draw: Draw, config: LessonsConfig, learned: Learned, material: Any, iterations: Array
) -> tuple[Learned, dict[str, Array]]:
    """The updates of one iteration of so many."""
    key, update_key = jax.random.split(learned.key)
    (network, state, average), losses = descend(
        functools.partial(batch_loss, draw, config, material),
        optimiser(config, iterations),
        config.average,
        learned.iteration * config.updates,
        (learned.network, learned.optimiser, learned.average),
        jax.random.split(update_key, config.updates),
    )
    return Learned(learned.iteration + 1, key, network, state, average), jax.tree.map(jnp.mean, losses)


def batch_loss(
    draw: Draw, config: LessonsConfig, material: Any, network: Any, key: Array
) -> tuple[Array, tuple[Any, dict[str, Array]]]:
    """The mean loss over lessons drawn anew."""
    draw_key, drop_key = jax.random.split(key)
    lessons = draw(material, config.batch, draw_key)
    one = functools.partial(lesson_loss, cast(network, jnp.dtype(config.precision)))
    found, seen = jax.vmap(one, axis_name=BATCH)(lessons, jax.random.split(drop_key, config.batch))
    means = jax.tree.map(jnp.mean, found)
    actions = config.each_weight * means["each_loss"] + config.any_weight * means["any_loss"]
    total = actions + means["value_loss"] + STEADY * means["drift"]
    return total, (jax.tree.map(lambda leaf: leaf[0], seen), means | {"loss": total})


def lesson_loss(network: Any, lesson: Lesson, key: Array) -> tuple[dict[str, Array], Any]:
    """(Losses of the actions and of the value, drift, and whether the winner is right; what batch norms saw)."""
    output = network(lesson.view, Training(key))
    some, away = any_of_loss(output, lesson.right, lesson.legal)
    agrees = jnp.sign(output.values[0]) == jnp.sign(lesson.values[0])
    losses = {
        "each_loss": jnp.where(lesson.complete, each_of_loss(output, lesson.right, lesson.legal), 0.0),
        "any_loss": jnp.where(lesson.complete, 0.0, some),
        "value_loss": value_loss(output, lesson.values),
        "drift": jnp.where(lesson.complete, 0.0, away),  # log-odds have a level of their own
        "winner_right": agrees.astype(jnp.float32),
    }
    return losses, output.moments
