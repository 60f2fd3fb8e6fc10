"""Settings with which PPO plays tiny games, and what a policy is worth in Kuhn poker, worked out in full."""

import itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.learners.ppo import PPOConfig
from tests.tiny_games import MatchingPennies

KUHN = PPOConfig(
    network="mlp:width=64,depth=2,bins=1", games=512, steps=12, trace=0.95, top=1.0, minibatch=1024, gradient=1.0,
    rate=0.2, rate_power=1.0, rate_high=2e-3, rate_low=1e-5, entropy=0.3, entropy_power=0.3, average=0.998,
    iterations=600,
)  # fmt: skip
PENNIES = PPOConfig(
    network="mlp:width=16,depth=1,bins=1", games=256, steps=4, top=1.0, minibatch=512, gradient=1.0, rate=0.1,
    rate_power=1.0, rate_high=2e-3, rate_low=1e-5, entropy=0.5, entropy_power=0.0, average=0.99, iterations=120,
)  # fmt: skip
HISTORIES = jnp.array([(-1, -1, -1), (0, -1, -1), (1, -1, -1), (0, 1, -1)])  # seat 0 acts at 0 and 3


@dataclass(frozen=True)
class SeatedPennies(MatchingPennies):
    """Matching pennies in which a seat knows which one it is."""

    def view(self, state, seat):
        return state, jnp.asarray(seat, jnp.int32)


def kuhn_policy(senses, network):
    """float[3 cards, 4 histories, 2 actions]"""

    def chances(card, history):
        return jax.nn.softmax(network(senses.features((card, history))).logits)

    every = jax.vmap(lambda card: jax.vmap(lambda history: chances(card, history))(HISTORIES))
    return np.asarray(jax.jit(every)(jnp.arange(3)))


def kuhn_value(first, second):
    """What the first seat wins on average, in antes, if the seats play these policies."""
    worth = 0.0
    for mine, yours in itertools.permutations(range(3), 2):
        higher = 1 if mine > yours else -1
        answered = first[mine, 3] @ [-1, 2 * higher]
        checked = second[yours, 1] @ [higher, answered]
        bet = second[yours, 2] @ [1, 2 * higher]
        worth += first[mine, 0] @ [checked, bet]
    return worth / 6


def pure_policies(histories):
    """Every policy that decides the two histories of a seat without chance, card by card."""
    for bits in itertools.product((0, 1), repeat=6):
        policy = np.zeros((3, 4, 2))
        for (card, place), bit in zip(itertools.product(range(3), histories), bits, strict=True):
            policy[card, place, bit] = 1
        yield policy
