"""What PPO learns from a rollout: advantages seat by seat, the samples worth learning from, and the updates.

Arrays are [T, B, P] until they are filtered, and rows of samples after.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.learners.ppo_rollout import Turn
from stratagem.networks.judgements import belief_loss, value_of
from stratagem.networks.senses import Senses


class Sample(NamedTuple):
    """One decision of one seat."""

    record: Any
    legal: Array  # uint8[A / 8]
    action: Array  # int32
    chance: Array  # float32: log-probability when it was played
    advantage: Array  # float32
    target: Array  # float32: what the value should have been
    weight: Array  # float32: 0 for a sample that does not count


class Weights(NamedTuple):
    """What the loss is made of."""

    clip: float
    value: float
    sigma: float
    entropy: Array  # float32: falls as learning goes on


def advantages_of(turn: Turn, discount: float, trace: float, cut_is_end: bool) -> tuple[Array, Array]:
    """(float32[T, B, P] generalised advantages, bool[T, B, P] where they are known).

    A seat's decisions are chained to one another, however many turns of others lie between; rewards on the way are
    added up. A game that is decided ends the chain at zero. Where the chain is cut (by the end of the rollout, or by
    the limit of turns unless that counts as an end) the last decision before the cut lends its value to what came
    before, and is not itself learned from.
    """
    seats = turn.value.shape[1:]
    blank = jnp.zeros(seats)
    ended = turn.done & ~turn.cut | (turn.cut if cut_is_end else jnp.zeros_like(turn.cut))
    severed = turn.done & ~ended

    def back(carry: Any, row: Any) -> tuple[Any, tuple[Array, Array]]:
        advantage, value, gathered, open_end = carry
        now, reward, moved, ended, severed = row
        over = (ended | severed)[:, None]
        advantage, value = jnp.where(over, 0.0, advantage), jnp.where(over, 0.0, value)
        gathered = jnp.where(over, 0.0, gathered) + reward
        open_end = jnp.where(over, severed[:, None], open_end)
        known = moved & ~open_end
        step = gathered + discount * value - now + discount * trace * advantage
        mine = jnp.where(known, step, 0.0)
        carry = (
            jnp.where(moved, mine, advantage),
            jnp.where(moved, now, value),
            jnp.where(moved, 0.0, gathered),
            open_end & ~moved,
        )
        return carry, (mine, known)

    rows = (turn.value, turn.reward, turn.moved, ended, severed)
    last = (blank, blank, blank, jnp.ones(seats, bool))
    return lax.scan(back, last, rows, reverse=True)[1]


def filtered(advantage: Array, known: Array, count: int) -> Array:
    """int32[count]: where (in the flattened [T, B, P]) the advantage is largest, up or down; the largest first."""
    size = jnp.where(known, jnp.abs(advantage), -1.0).reshape(-1)
    return jnp.argsort(-size)[:count].astype(jnp.int32)


def samples_at(turn: Turn, advantage: Array, target: Array, known: Array, places: Array) -> Sample:
    """The samples [N] at these places of the flattened rollout."""

    def rows(leaf: Array) -> Array:
        return leaf.reshape(-1, *leaf.shape[3:])[places]

    parts = (turn.record, turn.legal, turn.action, turn.chance, advantage, target, known.astype(jnp.float32))
    return Sample(*jax.tree.map(rows, parts))


def batch_loss(
    network: Any, senses: Senses, weights: Weights, batch: Sample
) -> tuple[Array, dict[str, Array]]:
    """(The loss to go down, its parts), the mean over the samples that count."""
    parts = jax.vmap(partial(sample_loss, network, senses, weights))(batch)
    share = batch.weight / jnp.maximum(batch.weight.sum(), 1)
    means = {name: (part * share).sum() for name, part in parts.items()}
    total = means["policy_loss"] + weights.value * means["value_loss"] - weights.entropy * means["entropy"]
    return total, means


def sample_loss(network: Any, senses: Senses, weights: Weights, sample: Sample) -> dict[str, Array]:
    """The parts of the loss of one sample, and how far the policy has moved from the one that played it."""
    judged = network(senses.features(sample.record), learning=True)
    legal = jnp.unpackbits(sample.legal, count=senses.spec.actions) == 1
    chances = judged.chances(legal)
    change = chances[sample.action] - sample.chance
    ratio = jnp.exp(change)
    held = jnp.clip(ratio, 1 - weights.clip, 1 + weights.clip)
    return {
        "policy_loss": -jnp.minimum(ratio * sample.advantage, held * sample.advantage),
        "value_loss": belief_loss(judged.belief, sample.target, weights.sigma),
        "entropy": -jnp.where(legal, jnp.exp(chances) * chances, 0.0).sum(),
        "divergence": ratio - 1 - change,
        "clipped": (ratio != held).astype(jnp.float32),
        "error": jnp.square(value_of(judged.belief) - sample.target),
    }
