"""Where host agents think: a few processes beside the service.

Processes, not threads, because some agents hold Python's lock for seconds, and the service must go on answering.
They are started with `spawn` (a fork of a process that runs JAX deadlocks) and leave when the service is gone.
"""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing.connection import wait
from typing import Any

import jax
import numpy as np

from stratagem.agents import make_agent
from stratagem.agents.agent import Agent, BatchAgent
from stratagem.arena.match import AGENT_STREAM
from stratagem.core.game import Game
from stratagem.games import make_game
from stratagem.serving.checks import shapes_of
from stratagem.serving.errors import Closed, Failed


class Workers:
    """At most `count` host agents think at a time; the processes start when the first one is asked."""

    def __init__(self, count: int):
        self.count = count
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._closed = False

    def choose(
        self, choice: str, title: str, views: list[Any], legals: np.ndarray, draws: list[list[int]]
    ) -> list[int]:
        """The actions of an agent in several positions; blocks until it has thought."""
        pool = self._ready()
        try:
            return pool.submit(think, choice, title, views, legals, draws).result()
        except BrokenProcessPool as error:
            with self._lock:
                if self._pool is pool:
                    self._pool = None
            raise Failed(f"the process in which {choice} was thinking died; ask again") from error

    def close(self) -> None:
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:  # a long thought is not worth waiting for
                process.terminate()

    def _ready(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._closed:
                raise Closed("the service is shutting down")
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self.count, context, initializer=settle_in)
            return self._pool


def settle_in() -> None:
    """In a worker: leave Ctrl-C to the service, and leave with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(0)), daemon=True).start()


@lru_cache(maxsize=16)
def known_agent(choice: str, title: str) -> tuple[Agent, Game]:
    game = make_game(title)
    return make_agent(choice, game), game


def think(choice: str, title: str, views: list[Any], legals: np.ndarray, draws: list[list[int]]) -> list[int]:
    """In a worker: one action for each row, with the draws of (seed, seat, turn)."""
    agent, game = known_agent(choice, title)
    tree = jax.tree.unflatten(jax.tree.structure(shapes_of(game).view), views)
    keys = [np.random.default_rng([AGENT_STREAM, *draw]) for draw in draws]
    memories = [agent.memory() for _ in draws]
    if isinstance(agent, BatchAgent):
        return [int(action) for action in agent.act_many(memories, tree, legals, keys)]
    return [
        int(agent.act(memory, jax.tree.map(lambda leaf, row=row: leaf[row], tree), legals[row], keys[row]))
        for row, memory in enumerate(memories)
    ]
