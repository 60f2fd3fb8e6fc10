"""Tree search with the shipped network, in parts, so that it can tell of its progress and be stopped."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents.network import AlphaZero, opinion_of
from stratagem.analysis.judgement import Judgement, Kind, Line, Progress, Question
from stratagem.core.game import Listing
from stratagem.search import Growing, Puct, grow, plant

SIZES = (32, 256, 2048, 16_384, 131_072)  # simulations that a compiled tree has room for
SMALL = 2048  # a search starts in a tree of at most this size: a large one is slow to write in
PART_SECONDS = 0.1  # how long a part of a search should take
FIRST_PART = 16
LONGEST_LINE = 10


@dataclass(frozen=True)
class Search:
    """PUCT as agent `az` does it."""

    game: Any
    kind: ClassVar[Kind] = "search"
    unit: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        AlphaZero(self.game)

    def judge(self, question: Question, goes_on: Progress) -> Judgement:
        most = min(question.visits, SIZES[-1])
        size = next(size for size in SIZES if size >= min(most, SMALL))
        start, more = compiled(self.game, size)
        growing = start(question.state)
        done, part = 0, FIRST_PART
        while done < most:
            if done == size:
                size = next(larger for larger in SIZES if larger > size)
                start, more = compiled(self.game, size)
                growing = enlarged(growing, jax.eval_shape(start, question.state))
            then = min(done + part, most, size)
            began = time.monotonic()
            growing = jax.block_until_ready(more(growing, done, then))
            taken = time.monotonic() - began
            part = max(1, min(2 * part, int((then - done) * PART_SECONDS / max(taken, 1e-6))))
            done = then
            if done < most and not goes_on(partial(judgement, question, growing)):
                break
        return judgement(question, growing, self.looks(question, growing))

    def looks(self, question: Question, growing: Growing) -> dict[int, np.ndarray]:
        """float32[P] for each move that was asked about: what the network expects right after it."""
        look = one_look(self.game)
        return {action: np.asarray(look(question.state, np.int32(action))) for action in question.asked}


@lru_cache(maxsize=8)
def one_look(game: Any) -> Callable[..., Array]:
    """(state, action) to float32[P]: the network's values after the action, the mean over the dice."""
    evaluate = opinion_of(game, "", False)

    def worth(state: Any) -> Array:
        return jnp.where(game.done(state), game.returns(state), evaluate(state)[1])

    def look(state: Any, action: Array) -> Array:
        actions = jnp.full(game.spec.seats, action, jnp.int32)
        if game.spec.chance == "none":
            return worth(game.step(state, actions, jax.random.key(0)))
        after = game.afterstate(state, actions)
        chances = game.outcomes(after)
        values = jax.vmap(lambda outcome: worth(game.resolve(after, outcome)))(jnp.arange(chances.shape[0]))
        return chances @ values / chances.sum()

    return jax.jit(look)


@lru_cache(maxsize=8)
def compiled(game: Any, size: int) -> tuple[Callable[[Any], Growing], Callable[..., Growing]]:
    """(Plants a tree, grows it further) with room for so many simulations."""
    agent = AlphaZero(game)
    evaluate = opinion_of(game, agent.weights, agent.sides)
    rule = Puct(size, agent.exploration, noise=0.0)
    breadth = (agent.breadth or None) if isinstance(game, Listing) else None

    def start(state: Any) -> Growing:
        noise_key, dice_key = jax.random.split(jax.random.key(0))
        return plant(game, evaluate, rule, state, noise_key, dice_key, breadth)

    def more(growing: Growing, first: Array, last: Array) -> Growing:
        return grow(game, evaluate, rule, growing, first, last, breadth)

    return jax.jit(start), jax.jit(more, donate_argnums=0)


def enlarged(growing: Growing, like: Growing) -> Growing:
    """The same search in a tree with more room."""

    def longer(leaf: Array, wanted: Any) -> Array:
        return jnp.pad(leaf, [(0, wanted.shape[0] - leaf.shape[0]), *[(0, 0)] * (leaf.ndim - 1)])

    return growing._replace(tree=jax.tree.map(longer, growing.tree, like.tree))


class Grown(NamedTuple):
    """A tree on the host, without its states."""

    choices: np.ndarray | None  # int32[N, W]
    chance: np.ndarray  # bool[N]
    children: np.ndarray  # int32[N, W]
    visits: np.ndarray  # int32[N]
    totals: np.ndarray  # float32[N, P]
    logits: np.ndarray  # float32[N, W]

    def action(self, node: int, edge: int) -> int:
        return edge if self.choices is None else int(self.choices[node, edge])

    def edges(self, node: int) -> np.ndarray:
        """int64[…]: the branches of a node that have grown."""
        width = self.children.shape[1] if self.choices is None else self.choices.shape[1]
        return np.flatnonzero(self.children[node, :width] > 0)

    def best_edge(self, node: int) -> int | None:
        edges = self.edges(node)
        return int(edges[np.argmax(self.visits[self.children[node, edges]])]) if len(edges) else None


def judgement(question: Question, growing: Growing, looks: dict[int, np.ndarray] | None = None) -> Judgement:
    """What the tree says so far, and `looks` of moves that it left out. Most visited first, as it would play."""
    tree = growing.tree
    grown = Grown(
        None if tree.choices is None else np.asarray(tree.choices),
        *(np.asarray(part) for part in (tree.chance, tree.children, tree.visits, tree.totals, tree.logits)),
    )
    seat = question.seat
    means = grown.totals[0] / grown.visits[0]
    width = question.game.spec.actions if grown.choices is None else grown.choices.shape[1]
    weights = np.exp(grown.logits[0, :width] - grown.logits[0, :width].max())
    priors = weights / weights.sum()
    found = {grown.action(0, edge): edge for edge in range(width)}
    lines = []
    for action in question.legal.tolist():
        edge = found.get(action)
        child = 0 if edge is None else int(grown.children[0, edge])
        visits = int(grown.visits[child]) if child else 0
        value = float(grown.totals[child, seat] / visits) if child else float(means[seat])
        if not child and looks and action in looks:
            value = float(looks[action][seat])
        prior = 0.0 if edge is None else float(priors[edge])
        lines.append(Line(action, visits, value, prior, None, onward(grown, child) if child else ()))
    lines.sort(key=lambda line: (-line.visits, -line.value, -line.prior, line.action))
    return Judgement(tuple(lines), float(means[seat]), tuple(means.tolist()), int(grown.visits[0]) - 1)


def onward(grown: Grown, node: int) -> tuple[int, ...]:
    """The most visited moves after a node, until dice fall."""
    line: list[int] = []
    while len(line) < LONGEST_LINE and not grown.chance[node]:
        edge = grown.best_edge(node)
        if edge is None:
            break
        line.append(grown.action(node, edge))
        node = int(grown.children[node, edge])
    return tuple(line)
