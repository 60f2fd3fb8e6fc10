"""Agents that remember, in a process of their own: each is brought up to date from the actions of its game.

Nothing is lost when the process is: a mind that is not there, or that has seen another course of the game, is made
anew.
"""

from collections import OrderedDict
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents import make_agent
from stratagem.agents.agent import Agent
from stratagem.arena.session import decide
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.game import Game
from stratagem.games import make_game
from stratagem.serving.workers import settle_in
from stratagem.studio.luck import Keys, keys_of

MOST = 256  # minds that are kept


def wake() -> None:
    """In the process, before anything else."""
    settle_in()
    use_compile_cache()


@lru_cache(maxsize=64)
def known(title: str, choice: str) -> tuple[Game, Agent, Any]:
    """(the game, the agent, the compiled functions of both)"""
    game = make_game(title)
    agent = make_agent(choice, game)
    functions = (
        jax.jit(game.init),
        jax.jit(game.step),
        jax.jit(lambda state, seat: (game.view(state, seat), game.legal(state)[seat])),
        jax.jit(agent.remember) if agent.traceable else agent.remember,
    )
    return game, agent, functions


class Mind:
    """One agent at one seat of one game."""

    def __init__(self, title: str, choice: str, seat: int, keys: Keys):
        self.game, self.agent, functions = known(title, choice)
        self.init, self.step, self.observe, self.remember = functions
        self.seat, self.keys = seat, keys
        self.actions: list[list[int]] = []
        self.memory = self.agent.memory()
        self.state = self.init(keys(-1))

    def follow(self, actions: list[list[int]]) -> None:
        """See the turns that are new."""
        for row in actions[len(self.actions) :]:
            view, _ = self.observe(self.state, jnp.int32(self.seat))
            done = jnp.int32(row[self.seat]) if self.agent.traceable else row[self.seat]
            self.memory = self.remember(self.memory, view, done)
            self.state = self.step(self.state, np.asarray(row, np.int32), self.keys(len(self.actions)))
            self.actions.append(row)

    def act(self, seed: int) -> int:
        view, legal = self.observe(self.state, jnp.int32(self.seat))
        return decide(self.agent, self.memory, view, np.asarray(legal), seed, self.seat, len(self.actions))


_minds: OrderedDict[tuple[Any, ...], Mind] = OrderedDict()


def meet(title: str, choice: str) -> bool:
    """Whether an agent remembers, so that it must see the game from its start."""
    _, agent, _ = known(title, choice)
    return bool(jax.tree.leaves(agent.memory()))


def think(
    name: str,
    title: str,
    choice: str,
    seat: int,
    seed: int,
    dice: dict[str, Any] | None,
    actions: list[list[int]],
) -> int:
    """What the agent at a seat of a game does after these actions."""
    place = (name, title, choice, seat)
    mind = _minds.pop(place, None)
    if mind is None or mind.actions != actions[: len(mind.actions)]:
        mind = Mind(title, choice, seat, keys_of(seed, dice))
    _minds[place] = mind
    while len(_minds) > MOST:
        _minds.popitem(last=False)
    mind.follow(actions)
    return mind.act(seed)
