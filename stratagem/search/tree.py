"""Tree search for one game: each simulation walks down, adds one state, and adds its value to all on the way.

Values are kept for every seat (max-n), so nothing ever changes sign: whoever decides at a node looks at their own
component. A seat that moves twice and a game of four are no special cases. Legal actions are masked at every node.

In a game with dice, the node after an action is a chance node. Its branches are taken as the dice would take them,
by the probabilities that the rules state and with the search's own numbers, so no search knows what will fall.

Under `vmap` this grows the trees of many games in lockstep, each from its own key, and the network sees one batch a
simulation. Only single entries of a tree are written in the loops; see docs/alphazero.md for why this is not mctx's.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.core.errors import Unsupported
from stratagem.core.game import Chance, Game, Listing
from stratagem.search.rules import IMPOSSIBLE, Node, Rule

# From a state to (float32[A] logits, float32[P] values by seat). Illegal actions need not be masked.
Evaluate = Callable[[Any], tuple[Array, Array]]

Walk = tuple[Array, Array, Array, Array]  # node, edge to follow, depth, path so far

GOLDEN = 0.6180339887  # Its multiples, modulo one, spread evenly: fewer visits give the dice their due.


class Tree(NamedTuple):
    """N nodes, node 0 the root. W is the number of actions looked at, or of outcomes where those are more."""

    choices: Array | None  # int32[N, W]: the action of each branch; None where all actions are looked at
    states: Any  # S[N]: at a chance node, the state before the action
    seats: Array  # int32[N]: who decides
    over: Array  # bool[N]
    chance: Array  # bool[N]: whether dice decide
    arrival: Array  # int32[N]: the action that led to a chance node
    logits: Array  # float32[N, W]: prior, or log-probability of the outcomes
    children: Array  # int32[N, W]: zero where nothing has grown yet
    visits: Array  # int32[N]: simulations that came here, the one that made it included
    totals: Array  # float32[N, P]: sum of their values
    raw: Array  # float32[N, P]: the network's word, or the result where the game is over


class Found(NamedTuple):
    """What a search came to. M is the number of actions looked at: A, unless there are `choices`."""

    action: Array  # int32: the move to play
    choices: (
        Array | None
    )  # int32[M]: the actions looked at, −1 in empty places; None where that is all of them
    policy: Array  # float32[M]: the policy to learn
    values: Array  # float32[P]: mean value of the root by seat
    visits: Array  # int32[M]
    qvalues: Array  # float32[M]: of the mover; zero where nothing was tried
    tree: Tree


class Growing(NamedTuple):
    """A search under way."""

    tree: Tree
    extra: Any  # what the rule wants to see again at the root
    offset: Array  # float32 in [0, 1): where the dice of this search start


def check_searchable(game: Game) -> None:
    """Refuse what this search would get wrong."""
    spec = game.spec
    if spec.dynamics != "alternating" or spec.information != "perfect":
        raise Unsupported(
            f"tree search needs alternating moves and perfect information; {spec.name} is {spec.dynamics} "
            f"with {spec.information} information, which asks for another way to learn"
        )
    if spec.chance == "dice" and not isinstance(game, Chance):
        raise Unsupported(f"tree search needs the odds of the dice; {spec.name} does not offer Chance")


def search(
    game: Game,
    evaluate: Evaluate,
    rule: Rule,
    state: Any,
    key: Array,
    temperature: Array | float = 1.0,
    breadth: int | None = None,
) -> Found:
    """Search one unfinished position. Deterministic in its arguments.

    With `breadth`, each node looks at its so many likeliest legal actions only: for games with thousands. A game that
    lists its legal actions is never searched over all of them.
    """
    noise_key, dice_key, play_key = jax.random.split(key, 3)
    heat = jnp.asarray(temperature, jnp.float32)
    growing = plant(game, evaluate, rule, state, noise_key, dice_key, breadth, heat)
    growing = grow(game, evaluate, rule, growing, 0, rule.simulations, breadth)
    tree = growing.tree
    root = _look(game, tree, jnp.int32(0))
    action, policy = rule.decide(root, growing.extra, play_key, heat)
    choices = None if tree.choices is None else tree.choices[0]
    values = tree.totals[0] / tree.visits[0]
    played = action if choices is None else choices[action]
    return Found(played, choices, policy, values, root.visits, root.values, tree)


def plant(
    game: Game,
    evaluate: Evaluate,
    rule: Rule,
    state: Any,
    noise_key: Array,
    dice_key: Array,
    breadth: int | None = None,
    temperature: Array | float = 1.0,
) -> Growing:
    """A tree of one node with room for `rule.simulations` more, for `grow`."""
    check_searchable(game)
    choices, logits, values = _narrowed(game, evaluate, breadth)(state)
    logits, extra = rule.prepare(logits, noise_key, temperature)
    tree = _plant(game, rule, state, choices, logits, values)
    return Growing(tree, extra, jax.random.uniform(dice_key))


def grow(
    game: Game,
    evaluate: Evaluate,
    rule: Rule,
    growing: Growing,
    first: Array | int,
    last: Array | int,
    breadth: int | None = None,
) -> Growing:
    """Simulations `first` up to, not including, `last`: a search may be done in parts."""
    judge = _narrowed(game, evaluate, breadth)

    def simulate(simulation: Array, tree: Tree) -> Tree:
        return _simulate(game, judge, rule, tree, growing.extra, growing.offset, simulation)

    return growing._replace(tree=lax.fori_loop(first, last, simulate, growing.tree))


def looked_at(game: Game, breadth: int | None) -> int | None:
    """M, how many actions a search with this breadth looks at; None where that is all of them."""
    listed = game.spec.actions
    if isinstance(game, Listing):
        listed = jax.eval_shape(lambda key: game.listed(game.init(key)), jax.random.key(0)).shape[0]
    if breadth is not None and breadth < listed:
        return breadth
    return listed if isinstance(game, Listing) else None


def _outcomes(game: Any) -> int:
    """How many ways the dice can fall at most; zero in a game without dice."""
    if game.spec.chance != "dice":
        return 0
    return jax.eval_shape(lambda: game.outcomes(game.opening())).shape[0]


# From a state to (int32[W] actions looked at, or None for all; float32[W] masked logits; float32[P] values).
Narrowed = Callable[[Any], tuple[Any, Array, Array]]


def _narrowed(game: Game, evaluate: Evaluate, breadth: int | None) -> Narrowed:
    """Masks illegal actions, keeps the likeliest, and knows the true result where the game is over."""

    def judge(state: Any) -> tuple[Any, Array, Array]:
        logits, values = evaluate(state)
        logits = logits.astype(jnp.float32)
        values = jnp.where(game.done(state), game.returns(state), values.astype(jnp.float32))
        choices = None
        if isinstance(game, Listing):
            choices = game.listed(state)
            masked = jnp.where(choices >= 0, logits[choices], IMPOSSIBLE)
        else:
            masked = jnp.where(game.legal(state).any(axis=0), logits, IMPOSSIBLE)
        if breadth is None or breadth >= masked.shape[0]:
            return choices, masked, values
        kept, places = lax.top_k(masked, breadth)
        return places if choices is None else choices[places], kept, values

    return judge


def _plant(game: Game, rule: Rule, state: Any, choices: Any, logits: Array, values: Array) -> Tree:
    """A tree of one node, with room for the rest."""
    outcomes = _outcomes(game)
    size = 1 + rule.simulations * (2 if outcomes else 1)
    width = max(logits.shape[0], outcomes)

    def room(leaf: Array) -> Array:
        leaf = jnp.asarray(leaf)
        return jnp.zeros((size, *leaf.shape), leaf.dtype).at[0].set(leaf)

    return Tree(
        choices=None if choices is None else room(choices),
        states=jax.tree.map(room, state),
        seats=room(jnp.argmax(game.to_move(state)).astype(jnp.int32)),
        over=room(game.done(state)),
        chance=jnp.zeros(size, bool),
        arrival=jnp.zeros(size, jnp.int32),
        logits=room(_widen(logits, width)),
        children=jnp.zeros((size, width), jnp.int32),
        visits=room(jnp.int32(1)),
        totals=room(values),
        raw=room(values),
    )


def _widen(logits: Array, width: int) -> Array:
    return jnp.pad(logits, (0, width - logits.shape[0]), constant_values=IMPOSSIBLE)


def _look(game: Game, tree: Tree, node: Array) -> Node:
    """A decision node from the side of the seat that decides there."""
    actions = game.spec.actions if tree.choices is None else tree.choices.shape[1]
    seat = tree.seats[node]
    children = tree.children[node, :actions]
    grown = children > 0
    visits = jnp.where(grown, tree.visits[children], 0)
    values = jnp.where(grown, tree.totals[children, seat] / jnp.maximum(visits, 1), 0.0)
    return Node(
        logits=tree.logits[node, :actions],
        visits=visits,
        values=values,
        value=tree.totals[node, seat] / tree.visits[node],
        raw=tree.raw[node, seat],
    )


def _fall(log_odds: Array, point: Array) -> Array:
    """int32: the outcome at `point` in [0, 1) of the way through the probabilities."""
    cumulative = jnp.cumsum(jnp.exp(log_odds))
    reached = jnp.sum(cumulative <= point * cumulative[-1])
    return jnp.minimum(reached, log_odds.shape[0] - 1).astype(jnp.int32)


def _point(tree: Tree, node: Array, offset: Array) -> Array:
    """In [0, 1): where the dice fall at this visit of a chance node; uniform, and even over the visits."""
    return (offset + node * 0.7548776662 + tree.visits[node] * GOLDEN) % 1.0


def _simulate(
    game: Any, evaluate: Narrowed, rule: Rule, tree: Tree, extra: Any, offset: Array, simulation: Array
) -> Tree:
    """One walk from the root, one new state, one evaluation."""
    outcomes = _outcomes(game)
    size = tree.visits.shape[0]
    deepest = (min(rule.simulations, game.spec.longest) + 1) * (2 if outcomes else 1) + 1

    def choose(node: Array) -> Array:
        edge = rule.inside(_look(game, tree, node))
        if outcomes:
            edge = jnp.where(tree.chance[node], _fall(tree.logits[node], _point(tree, node, offset)), edge)
        return edge

    def goes_on(walk: Walk) -> Array:
        child = tree.children[walk[0], walk[1]]
        return (child > 0) & ~tree.over[child]

    def down(walk: Walk) -> Walk:
        node, edge, depth, path = walk
        child = tree.children[node, edge]
        return child, choose(child), depth + 1, path.at[depth].set(child)

    # Places of the path that are not reached point past the end, where additions are dropped.
    path = jnp.full(deepest, size, jnp.int32).at[0].set(0)
    first = rule.at_root(_look(game, tree, jnp.int32(0)), extra)
    node, edge, depth, path = lax.while_loop(goes_on, down, (jnp.int32(0), first, jnp.int32(1), path))

    child = tree.children[node, edge]
    fresh = child == 0  # else it is a finished game, whose result counts once more
    parent = jax.tree.map(lambda leaf: leaf[node], tree.states)
    movers = jnp.zeros(game.spec.seats, jnp.int32)
    action = edge if tree.choices is None else tree.choices[node, edge % tree.choices.shape[1]]
    if outcomes:
        decided = ~tree.chance[node]
        chance_slot, slot = 2 * simulation + 1, 2 * simulation + 2
        action = jnp.where(decided, action, tree.arrival[node])
        after = game.afterstate(parent, movers + action)
        log_odds = jnp.log(jnp.maximum(game.outcomes(after), 1e-30))
        outcome = jnp.where(decided, _fall(log_odds, _point(tree, chance_slot, offset)), edge)
        state = game.resolve(after, outcome)
        tree = tree._replace(
            states=jax.tree.map(lambda leaf, new: leaf.at[chance_slot].set(new), tree.states, parent),
            chance=tree.chance.at[chance_slot].set(True),
            arrival=tree.arrival.at[chance_slot].set(action),
            logits=tree.logits.at[chance_slot].set(_widen(log_odds, tree.logits.shape[1])),
            children=tree.children.at[node, edge]
            .set(jnp.where(fresh, jnp.where(decided, chance_slot, slot), child))
            .at[chance_slot, outcome]
            .set(jnp.where(fresh & decided, slot, 0)),
        )
        passed = decided & fresh
        path = path.at[depth].set(jnp.where(passed, chance_slot, path[depth]))
        depth = depth + passed
    else:
        slot = simulation + 1
        # Without dice a step needs no luck: the key is a formality.
        state = game.step(parent, movers + action, jax.random.key(0))
        tree = tree._replace(children=tree.children.at[node, edge].set(jnp.where(fresh, slot, child)))

    choices, logits, values = evaluate(state)
    values = jnp.where(fresh, values, tree.raw[child])
    path = path.at[depth].set(jnp.where(fresh, slot, child))
    return tree._replace(
        choices=None if tree.choices is None else tree.choices.at[slot].set(choices),
        states=jax.tree.map(lambda leaf, new: leaf.at[slot].set(new), tree.states, state),
        seats=tree.seats.at[slot].set(jnp.argmax(game.to_move(state)).astype(jnp.int32)),
        over=tree.over.at[slot].set(game.done(state)),
        logits=tree.logits.at[slot].set(_widen(logits, tree.logits.shape[1])),
        visits=tree.visits.at[path].add(1, mode="drop"),
        totals=tree.totals.at[path].add(values, mode="drop"),
        raw=tree.raw.at[slot].set(values),
    )
