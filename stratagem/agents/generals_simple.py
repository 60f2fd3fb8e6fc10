"""Simple players of Generals: one that expands, and one that walks its armies to the enemy general."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.agents.agent import Forgetful
from stratagem.agents.generals_memory import Memory, Remembering, take_in
from stratagem.agents.generals_paths import downhill, flow, neighbours
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import (
    ME,
    OPPONENT,
    PASS,
    SEEN_CASTLE,
    SEEN_GENERAL,
    SEEN_MOUNTAIN,
    STRUCTURE,
    View,
    possessors,
    seen,
)


def act_best(game: Generals, scores: Array, legal: Array, key: Array) -> Array:
    """int32: the move of all (float32[4, H, W] by direction) with the highest score above zero, else the pass.

    Ties are broken at random.
    """
    noise = jax.random.uniform(key, scores.shape, maxval=1e-3)
    by_cell = jnp.moveaxis(scores + noise, 0, 2).reshape(game.cells, 4)
    allowed = legal.reshape(game.cells, game.per_cell)[:, :4]
    by_cell = jnp.where(allowed & (by_cell > 1e-3), by_cell, -1.0)
    best = jnp.argmax(by_cell.reshape(-1))
    move = best // 4 * game.per_cell + best % 4
    passing = jnp.argmax(legal.reshape(game.cells, game.per_cell)[:, PASS]) * game.per_cell + PASS
    return jnp.where(by_cell.max() > 0, move, passing).astype(jnp.int32)


def one_move(direction: Array, chosen: Array) -> Array:
    """float32[4, H, W]: 1 for the move of the chosen cell (bool[H, W]) in its direction (int32[H, W])."""
    ways = jnp.arange(4)[:, None, None]
    return ((ways == direction) & chosen).astype(jnp.float32)


def takings(view: View) -> Array:
    """float32[4, H, W]: the worth of moves that take a cell at once: enemy general, castle, enemy land, plain."""
    kind, owner, army = seen(view), possessors(view), view.army.astype(jnp.int32)
    beside_army = neighbours(army, 1 << 20)
    beside_owner, beside_kind = neighbours(owner, 0), neighbours(kind, SEEN_MOUNTAIN)
    takes = (owner == ME) & (army - 1 > beside_army) & (beside_owner != ME)
    takes = takes & (beside_kind != SEEN_MOUNTAIN) & (beside_kind != STRUCTURE)
    worth = jnp.where(beside_owner == OPPONENT, 2.0, 1.0)
    worth = jnp.where(beside_kind == SEEN_CASTLE, 3.0, worth)
    worth = jnp.where((beside_kind == SEEN_GENERAL) & (beside_owner == OPPONENT), 100.0, worth)
    return jnp.where(takes, worth, 0.0)


def march(game: Generals, view: View, goal: Array) -> Array:
    """float32[4, H, W]: the worth of one step of the largest armies towards the goal, below that of any taking."""
    kind, owner, army = seen(view), possessors(view), view.army.astype(jnp.int32)
    passable = (kind != SEEN_MOUNTAIN) & (kind != STRUCTURE)
    passable = passable & ~((kind == SEEN_CASTLE) & (owner != ME) & ~goal)
    ways = flow(goal & passable, passable, jnp.zeros_like(army), (game.height + game.width) * 3 // 4)
    movable = (owner == ME) & (army >= 2) & ways.open & ~goal
    worth = jnp.where(movable, army / (1.0 + army + ways.steps), 0.0)
    return one_move(downhill(ways.cost), movable) * worth


@dataclass(frozen=True)
class Expander(Forgetful):
    """Takes whatever it can take; else brings its largest army nearer to land that is not its own."""

    game: Any
    traceable: ClassVar[bool] = True

    def act(self, memory: Any, view: View, legal: Array, key: Array) -> Array:
        kind, owner = seen(view), possessors(view)
        frontier = (owner != ME) & (kind != SEEN_MOUNTAIN) & (kind != STRUCTURE) & (kind != SEEN_CASTLE)
        scores = takings(view) + march(self.game, view, frontier)
        return act_best(self.game, scores, legal, key)


@dataclass(frozen=True)
class Hunter(Remembering):
    """Expands; and for some of every fifty turns walks its armies to the enemy general or where it is likeliest."""

    game: Any
    hunt: int = 46
    """Turns after each tick in which it hunts."""
    traceable: ClassVar[bool] = True

    def act(self, memory: Memory, view: View, legal: Array, key: Array) -> Array:
        game = self.game
        known = take_in(game, memory, view)
        kind, owner, army = seen(view), possessors(view), view.army.astype(jnp.int32)
        frontier = (owner != ME) & (kind != SEEN_MOUNTAIN) & (kind != STRUCTURE) & (kind != SEEN_CASTLE)
        expanding = takings(view) + march(game, view, frontier)
        goal = likeliest_general(game, known)
        passable = (known.kind != SEEN_MOUNTAIN) & (known.kind != STRUCTURE)
        passable = passable & ~((known.kind == SEEN_CASTLE) & (known.owner == 0)) | goal
        gain = jnp.where(owner == ME, army - 1, -(known.army + 1))
        ways = flow(goal, passable, gain, (game.height + game.width) // 2 + 4)
        arriving = ways.arrives / jnp.maximum(1.0, ways.steps)
        able = (owner == ME) & (army >= 2) & ways.open
        best = jnp.where(able, arriving, -jnp.inf)
        hunter = able & (best == best.max())
        hunts = hunter.any() & (view.turn >= 50) & (view.turn % 50 < self.hunt)
        scores = jnp.where(hunts, one_move(downhill(ways.cost), hunter), expanding)
        winning = takings(view) * (takings(view) >= 100.0)
        return act_best(game, scores + winning, legal, key)


def likeliest_general(game: Generals, known: Memory) -> Array:
    """bool[H, W]: the cell where the opponent's general is known or likeliest to be.

    Among the places that remain possible: near land that the opponent is known to hold, or, before any was seen,
    far from what was explored.
    """
    theirs = known.owner == OPPONENT
    everywhere = jnp.ones(game.shape, bool)
    rounds = (game.height + game.width) // 2
    nothing = jnp.zeros(game.shape, jnp.int32)
    ground = jnp.where(theirs.any(), theirs, known.seen_at >= 0)
    away = flow(ground, everywhere, nothing, rounds).steps
    # Land that was seen early is nearer to the general than land that was seen late.
    worth = jnp.where(theirs.any(), 1000 - away, away)
    best = jnp.argmax(jnp.where(known.possible, worth, -1).reshape(-1))
    guess = (jnp.arange(game.cells) == best).reshape(game.shape) & known.possible
    found = (jnp.arange(game.cells) == known.general).reshape(game.shape)
    return jnp.where(known.general >= 0, found, guess)
