"""What one seat of Generals knew, turn by turn: where the enemy general could be, and where a network looked.

Nothing but the seat's own views enters, so what is drawn is what the player could have known.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.agents.attention import looking
from stratagem.agents.generals_belief import Mind, empty_mind, look
from stratagem.agents.generals_memory import note_move
from stratagem.analysis.generals_guess import general_chances
from stratagem.core.errors import BadOption, Unsupported

AT_ONCE = 64  # turns that are gone through in one go


class Sight:
    """One seat in one recorded game. `states` has one more entry than `actions`."""

    def __init__(self, game: Any, states: Sequence[Any], actions: Sequence[Sequence[int]], seat: int):
        if game.spec.name != "generals":
            raise Unsupported(
                f"beliefs are drawn for generals, which hides something; {game.spec.name} does not"
            )
        if not 0 <= seat < game.spec.seats:
            raise BadOption(f"seats are 0 to {game.spec.seats - 1}, not {seat}")
        self.game, self.states, self.seat = game, states, seat
        self.actions = [row[seat] for row in actions]
        self._starts: list[Mind] = [empty_mind(game)]  # the mind before each part of the game
        self._kept: tuple[int, Any] = (-1, None)  # the part that was gone through last

    def belief(self, turn: int) -> np.ndarray:
        """float32[H, W]: how likely each cell is to hold the enemy general; adds up to one."""
        beliefs, _ = self._part(turn)
        return np.asarray(beliefs[turn % AT_ONCE]).reshape(self.game.shape)

    def attention(self, turn: int, weights: str) -> tuple[int, np.ndarray]:
        """(Cells along a side of a patch, float32[L, heads, R, S]): where the network of a weight file looks."""
        patch, maps = looking(self.game, weights)
        _, minds = self._part(turn)
        known = jax.tree.map(lambda leaf: leaf[turn % AT_ONCE], minds).known
        view = self.game.view(self.states[turn], jnp.int32(self.seat))
        return patch, np.asarray(maps(known, view))

    def _part(self, turn: int) -> tuple[Array, Mind]:
        """(float32[AT_ONCE, N] beliefs, the minds that held them) of the part of the game that a turn is in."""
        if not 0 <= turn < len(self.states):
            raise BadOption(f"turns are 0 to {len(self.states) - 1}, not {turn}")
        number = turn // AT_ONCE
        while len(self._starts) <= number:
            self._starts.append(self._go_through(len(self._starts) - 1)[0])
        if self._kept[0] != number:
            self._kept = number, self._go_through(number)[1]
        return self._kept[1]

    def _go_through(self, number: int) -> tuple[Mind, Any]:
        first = number * AT_ONCE
        states = list(self.states[first : first + AT_ONCE])
        actions = self.actions[first : first + AT_ONCE]
        states += states[-1:] * (AT_ONCE - len(states))  # one compiled program for parts of any length
        actions += [-1] * (AT_ONCE - len(actions))
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
        return through(self.game)(
            self._starts[number], stacked, np.int32(self.seat), np.array(actions, np.int32)
        )


@lru_cache(maxsize=4)
def through(game: Any) -> Callable[..., tuple[Mind, Any]]:
    """(Mind, states, seat, its actions) to (the mind afterwards, (beliefs, minds) at each of them)."""

    def all_of(mind: Mind, states: Any, seat: Array, actions: Array) -> tuple[Mind, Any]:
        def one(mind: Mind, turn: tuple[Any, Array]) -> tuple[Mind, Any]:
            state, action = turn
            view = game.view(state, seat)
            seen = look(game, mind, view)
            noted = seen._replace(known=note_move(game, seen.known, action))
            return noted, (general_chances(seen, view), seen)

        return lax.scan(one, mind, (states, actions))

    return jax.jit(all_of)
