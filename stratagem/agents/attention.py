"""Where the network of a policy looks, for those who want to see it."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import equinox as eqx
from jax import Array

from stratagem.agents.policy import policy_of
from stratagem.agents.senses import senses_for
from stratagem.core.errors import Unsupported
from stratagem.networks.attention_maps import attention_maps
from stratagem.networks.transformer import PatchNet


class Looking(NamedTuple):
    """How to ask one network."""

    patch: int  # cells along a side of a patch
    maps: Callable[[Any, Any], Array]  # (memory before the view, view) to float32[L, heads, R, S]


def looking(game: Any, weights: str) -> Looking:
    """The attention of a policy's network; Unsupported unless it is a patch transformer."""
    network = policy_of(game, weights)
    if not isinstance(network, PatchNet):
        raise Unsupported(
            f"{weights or 'the shipped network'} has no patches to look at; only patch networks have"
        )
    return Looking(network.size, partial(_compiled(game), network))


@lru_cache(maxsize=4)
def _compiled(game: Any) -> Callable[[Any, Any, Any], Array]:
    """One program for all networks of one shape."""
    senses = senses_for(game)

    @eqx.filter_jit
    def maps(network: PatchNet, memory: Any, view: Any) -> Array:
        return attention_maps(network, senses.features(senses.observe(memory, view)[1]))

    return maps
