"""How likely each token is when a network judges it part by part: type, tile (or battle), units given the tile.

A token is `tile · 64 + units`, the last tile stands for none, and `units` is a set of six slots. Each part is drawn
among what is legal given the parts before it, so all probabilities are exact: those of the whole tokens add up to 1.
"""

from itertools import combinations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.networks.hispania_features import MASKS, STACK, TYPES
from stratagem.networks.judgements import masked

BITS = (np.arange(MASKS)[:, None] >> np.arange(STACK)) & 1 == 1  # bool[64, 6]
SIZES = BITS.sum(axis=1)  # int[64]
PAIRS = list(combinations(range(STACK), 2))  # (earlier slot, later slot)
# What the earlier slots of a set add to each slot: [15 pairs, 64 sets, 6 slots]
EARLIER = np.array([[BITS[:, a] & (slot == b) for slot in range(STACK)] for a, b in PAIRS]).swapaxes(1, 2)


class TokenJudgement(eqx.Module):
    """One position judged by the seat that sees it."""

    type: Array  # float32[4]
    asked: Array  # int32: the one type that is legal
    tile: Array  # float32[R + 1]: or the battle, where that is asked for
    units: Array  # float32[R + 1, U]: what U means is for the subclass to say
    belief: Array  # float32[K]: log-odds of the bins; with K = 1, the value itself

    def chances(self, legal: Array) -> Array:
        """float32[A]: log-probabilities."""
        sets = legal.reshape(-1, MASKS)
        type = jax.nn.log_softmax(masked(self.type, jnp.arange(TYPES) == self.asked))[self.asked]
        tile = jax.nn.log_softmax(masked(self.tile, sets.any(axis=1)))
        whole = type + tile[:, None] + self.units_given_tile(sets)
        return masked(whole, sets).reshape(-1)

    def units_given_tile(self, legal: Array) -> Array:
        """float32[R + 1, 64]: log-probabilities of sets of slots; anything where a set is not legal."""
        raise NotImplementedError


class SlotBySlot(TokenJudgement):
    """Slots are decided one after the other; each hears which of the earlier ones were taken.

    `units` are 6 log-odds of the slots and 15 changes of them, one for each earlier and later slot.
    """

    def units_given_tile(self, legal: Array) -> Array:
        odds = self.units[:, None, :STACK] + jnp.einsum("tp,pmk->tmk", self.units[:, STACK:], EARLIER)
        chances = jax.nn.log_sigmoid(jnp.where(BITS, odds, -odds))  # [R + 1, 64, 6]
        return jnp.where(open_slots(legal), chances, 0.0).sum(axis=-1)


class SizeThenSet(TokenJudgement):
    """The top-K reading: first how many slots, then which, by how much each is liked.

    `units` are 6 likings of slots and 7 of sizes. Of sets of one size the likeliest holds the K best liked slots.
    """

    def units_given_tile(self, legal: Array) -> Array:
        slots, sizes = self.units[:, :STACK], self.units[:, STACK:]
        liking = slots @ BITS.T.astype(np.float32)  # [R + 1, 64]
        alike = legal[:, None] & (np.arange(STACK + 1)[:, None] == SIZES)  # [R + 1, 7, 64]
        size = jax.nn.log_softmax(masked(sizes, alike.any(axis=-1)))
        total = jax.nn.logsumexp(masked(liking[:, None], alike), axis=-1)
        return liking + (size - total)[:, SIZES]


def open_slots(legal: Array) -> Array:
    """bool[…, 64, 6]: whether the slot could have been decided otherwise, after the slots before it."""
    found = []
    for slot in range(STACK):
        prefixes = 2 << slot
        possible = legal.reshape(*legal.shape[:-1], MASKS // prefixes, prefixes).any(axis=-2)
        found.append(possible[..., (np.arange(MASKS) % prefixes) ^ (1 << slot)])
    return jnp.stack(found, axis=-1)
