"""The rules of one game, compiled, as a table of the studio needs them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from stratagem.core import play
from stratagem.core.game import Game, Textual

KEPT = 24  # games with other options each have their own programs


class Look(NamedTuple):
    """What is true of a position, as arrays of the host."""

    to_move: Any  # bool[P]
    legal: Any  # bool[P, A]
    done: Any  # bool
    returns: Any  # float32[P]


class Rules:
    """A game with its functions compiled. Build it beside the event loop: the compiler takes seconds."""

    def __init__(self, game: Game):
        self.game, self.spec = game, game.spec
        self._init: Callable[..., Any] = jax.jit(game.init)
        self._step: Callable[..., Any] = jax.jit(game.step)
        self._look: Callable[..., Any] = jax.jit(
            lambda state: Look(game.to_move(state), game.legal(state), game.done(state), game.returns(state))
        )
        self._warm()

    def _warm(self) -> None:
        state = self.first(play.turn_key(0, -1))
        look = self.look(state)
        self.step(state, [int(np.argmax(row)) for row in look.legal], play.turn_key(0, 0))
        for seat in (None, *range(self.spec.seats)):
            self.draw(state, seat)

    def first(self, key: Any) -> Any:
        return self._init(key)

    def step(self, state: Any, actions: list[int], key: Any) -> Any:
        return self._step(state, np.asarray(actions, np.int32), key)

    def look(self, state: Any) -> Look:
        return jax.device_get(self._look(state))

    def draw(self, state: Any, seat: int | None) -> dict[str, Any]:
        game: Any = self.game
        return game.draw(state, seat)

    def words(self, action: int) -> str:
        """An action as a person writes it."""
        return self.game.write_action(action) if isinstance(self.game, Textual) else str(action)

    def idle(self, legal: np.ndarray) -> int:
        """What a seat does that has nothing to do, in a game that does not wait: pass if it can."""
        able = np.flatnonzero(legal)
        for action in able[::-1]:
            if self.words(int(action)).endswith("pass"):
                return int(action)
        return int(able[0])


@lru_cache(maxsize=KEPT)
def rules_of(game: Game) -> Rules:
    return Rules(game)
