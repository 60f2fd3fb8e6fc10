"""Which branch to look at next, and what to play in the end: PUCT as in the papers, and Gumbel.

A rule sees one node at a time, always from the side of the seat that decides there, so it knows nothing of signs,
seats or dice. Gumbel's formulas are those of mctx, which is handed each node as a tree of one node.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import mctx
from jax import Array

IMPOSSIBLE = -1e9  # The logit of an illegal action: softmax turns it into exactly zero.


class Node(NamedTuple):
    """A decision, as the seat that takes it sees it."""

    logits: Array  # float32[A]: the prior; illegal actions are IMPOSSIBLE
    visits: Array  # int32[A]: simulations that went through each action
    values: Array  # float32[A]: their mean value; zero where there were none
    value: Array  # float32: mean value of all simulations that came here
    raw: Array  # float32: what the network said of it


class Rule(Protocol):
    """How a search explores and decides."""

    @property
    def simulations(self) -> int: ...

    def prepare(self, logits: Array, key: Array, temperature: Array | float) -> tuple[Array, Any]:
        """(The root's prior with its noise, whatever the rule wants to see again at the root)."""

    def at_root(self, node: Node, extra: Any) -> Array:
        """The action for the next simulation."""

    def inside(self, node: Node) -> Array:
        """The action at a node below the root."""

    def decide(self, node: Node, extra: Any, key: Array, temperature: Array) -> tuple[Array, Array]:
        """(The action to play, float32[A] the policy to learn)."""


@dataclass(frozen=True)
class Puct:
    """AlphaZero's rule: Q + c · P · √N / (1 + n), Dirichlet noise at the root, moves by visit counts.

    N counts the node's own evaluation, as AlphaZero's pseudocode does; the Q of an action never tried is zero.
    """

    simulations: int = 100
    exploration: float = 1.0
    """c_puct: how much the prior counts against the values found."""
    noise: float = 0.25
    """Share of Dirichlet noise in the root's prior; zero for play that counts."""
    alpha: float = 0.5
    """Concentration of the noise; the papers take about ten divided by the number of legal moves."""
    contenders: float = 1.0
    """At temperature zero: the best value among actions with this share of the most visits; 1 is the most visited."""

    def prepare(self, logits: Array, key: Array, temperature: Array | float) -> tuple[Array, Any]:
        if self.noise == 0:
            return logits, ()
        # Independent gammas, divided by their sum over the legal actions, are Dirichlet over the legal actions.
        gammas = jnp.where(logits > IMPOSSIBLE / 2, jax.random.gamma(key, self.alpha, logits.shape), 0.0)
        dirichlet = gammas / jnp.maximum(gammas.sum(), 1e-30)
        noisy = (1 - self.noise) * jax.nn.softmax(logits) + self.noise * dirichlet
        return jnp.where(noisy > 0, jnp.log(jnp.maximum(noisy, 1e-30)), IMPOSSIBLE), ()

    def at_root(self, node: Node, extra: Any) -> Array:
        return self.inside(node)

    def inside(self, node: Node) -> Array:
        seen = (node.visits.sum() + 1).astype(jnp.float32)
        bonus = self.exploration * jax.nn.softmax(node.logits) * jnp.sqrt(seen) / (1 + node.visits)
        return _best(node.values + bonus, node.logits)

    def decide(self, node: Node, extra: Any, key: Array, temperature: Array) -> tuple[Array, Array]:
        counts = node.visits.astype(jnp.float32)
        policy = counts / jnp.maximum(counts.sum(), 1)
        # Visits to the power 1 / temperature, as logits; a tie at temperature zero falls to the first.
        heat = jnp.maximum(temperature, 1e-3)
        logits = jnp.log(jnp.maximum(counts, 1e-30)) / heat
        sampled = jax.random.categorical(key, jnp.where(node.visits > 0, logits, -jnp.inf))
        if self.contenders < 1:
            best = jnp.argmax(jnp.where(counts >= self.contenders * counts.max(), node.values, -jnp.inf))
        else:
            best = jnp.argmax(counts)
        return jnp.where(temperature > 0, sampled, best).astype(jnp.int32), policy


@dataclass(frozen=True)
class Gumbel:
    """Policy improvement with few simulations (Danihelka et al. 2022), by mctx.

    The root tries its likeliest actions by sequential halving; the action played is the best of the survivors
    under noise of the given scale, and the policy to learn is the prior improved by all values found.
    """

    simulations: int = 32
    considered: int = 16
    """Actions that the root looks at."""
    scale: float = 1.0
    """Of the Gumbel noise, times the temperature: one explores, zero plays the best."""

    def prepare(self, logits: Array, key: Array, temperature: Array | float) -> tuple[Array, Any]:
        # The noise decides who survives the halving, so a cold choice among noisy survivors would still be a noisy one.
        return logits, temperature * self.scale * jax.random.gumbel(key, logits.shape)

    def at_root(self, node: Node, extra: Any) -> Array:
        return mctx.gumbel_muzero_root_action_selection(
            None,
            _alone(node, extra),
            jnp.int32(0),
            num_simulations=self.simulations,
            max_num_considered_actions=self.considered,
        )

    def inside(self, node: Node) -> Array:
        return mctx.gumbel_muzero_interior_action_selection(None, _alone(node, None), jnp.int32(0), 1)

    def decide(self, node: Node, extra: Any, key: Array, temperature: Array) -> tuple[Array, Array]:
        improved = node.logits + mctx.qtransform_completed_by_mix_value(_alone(node, extra), jnp.int32(0))
        finalist = node.visits == node.visits.max()
        action = jnp.argmax(jnp.where(finalist, extra + improved, -jnp.inf))
        policy = jax.nn.softmax(jnp.where(node.logits > IMPOSSIBLE / 2, improved, IMPOSSIBLE))
        return action.astype(jnp.int32), policy


def _best(scores: Array, logits: Array) -> Array:
    """The legal action with the highest score."""
    return jnp.argmax(jnp.where(logits > IMPOSSIBLE / 2, scores, -jnp.inf)).astype(jnp.int32)


def _alone(node: Node, gumbel: Any) -> mctx.Tree:
    """The node as a tree of its own. Its values already are those of the seat that decides."""
    one = jnp.zeros(1, jnp.int32)
    nothing = jnp.zeros_like(node.values)[None]
    return mctx.Tree(
        node_visits=node.visits.sum(keepdims=True) + 1,
        raw_values=node.raw[None],
        node_values=node.value[None],
        parents=one,
        action_from_parent=one,
        children_index=nothing.astype(jnp.int32),
        children_prior_logits=node.logits[None],
        children_visits=node.visits[None],
        children_rewards=nothing,
        children_discounts=jnp.ones_like(nothing),
        children_values=node.values[None],
        embeddings=(),
        root_invalid_actions=(node.logits <= IMPOSSIBLE / 2).astype(jnp.float32),
        extra_data=None if gumbel is None else mctx.GumbelMuZeroExtraData(root_gumbel=gumbel),
    )
