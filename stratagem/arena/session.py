"""One game played step by step, by people and agents: what a terminal board or a web page talks to.

Everything that happened is kept, so that a move can be taken back and the game saved as a replay at any time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents.agent import Agent
from stratagem.arena.match import AGENT_STREAM, compiled_act
from stratagem.core import play
from stratagem.core.errors import IllegalAction, StratagemError
from stratagem.core.game import Game, winners_share

Player = Agent | None  # None is a person


class Session:
    """A game under way. `players` has one entry a seat.

    `keys` gives the luck of each turn, −1 for the opening, where it is not that of the seed.
    """

    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        seed: int,
        keys: Callable[[int], jax.Array] | None = None,
    ):
        if len(players) != game.spec.seats:
            raise StratagemError(f"{game.spec.title} has {game.spec.seats} seats, got {len(players)} players")
        self.game, self.players, self.seed = game, list(players), seed
        self.actions: list[list[int]] = []
        self.resigned: list[int] = []
        self._init, self._step = jax.jit(game.init), jax.jit(game.step)
        self._view: Callable[..., Any] = jax.jit(game.view)
        self._key = keys or (lambda turn: play.turn_key(seed, turn))
        self._states = [self._init(self._key(-1))]
        self._memories = [[player.memory() if player else None for player in self.players]]

    @property
    def state(self) -> Any:
        return self._states[-1]

    @property
    def turn(self) -> int:
        return len(self.actions)

    @property
    def over(self) -> bool:
        return bool(self.resigned) or bool(self.game.done(self.state))

    @property
    def movers(self) -> list[int]:
        """The seats that must act now."""
        return [] if self.over else np.flatnonzero(np.asarray(self.game.to_move(self.state))).tolist()

    @property
    def returns(self) -> list[float]:
        if self.resigned:
            stayed = jnp.asarray([seat not in self.resigned for seat in range(self.game.spec.seats)])
            return np.asarray(winners_share(stayed)).tolist()
        return np.asarray(self.game.returns(self.state)).tolist()

    def legal(self, seat: int) -> np.ndarray:
        """bool[A]: what a seat may do now."""
        if self.over:
            return np.zeros(self.game.spec.actions, bool)
        return np.asarray(self.game.legal(self.state))[seat]

    def act(self, actions: dict[int, int]) -> None:
        """Every seat to move acts. IllegalAction says why not, and nothing has happened then."""
        if self.over:
            raise IllegalAction("the game is over")
        row = [actions.get(seat, -1) for seat in range(self.game.spec.seats)]
        play.check(self.game, self.state, row)
        views = [self._view(self.state, seat) if player else None for seat, player in enumerate(self.players)]
        memories = [
            player.remember(memory, view, jnp.int32(action) if player.traceable else action)
            if player
            else None
            for player, memory, view, action in zip(self.players, self._memories[-1], views, row, strict=True)
        ]
        self._states.append(self._step(self.state, jnp.asarray(row, jnp.int32), self._key(self.turn)))
        self._memories.append(memories)
        self.actions.append(row)

    def think(self, seat: int, adviser: Agent | None = None) -> int:
        """What the agent at a seat would do now; or what another agent would do in its place."""
        agent = adviser or self.players[seat]
        if agent is None:
            raise StratagemError(f"a person sits at seat {seat}")
        memory = agent.memory() if adviser else self._memories[-1][seat]
        return decide(
            agent, memory, self._view(self.state, seat), self.legal(seat), self.seed, seat, self.turn
        )

    def undo(self, turns: int = 1) -> None:
        """Take back the last turns, or the resignation."""
        if self.resigned:
            self.resigned.clear()
            return
        keep = max(0, self.turn - turns)
        del self.actions[keep:], self._states[keep + 1 :], self._memories[keep + 1 :]

    def resign(self, seat: int) -> None:
        """A seat gives up; the others share the win."""
        if self.over:
            raise IllegalAction("the game is over")
        self.resigned.append(seat)


def decide(agent: Agent, memory: Any, view: Any, legal: np.ndarray, seed: int, seat: int, turn: int) -> int:
    """One decision of one agent, with the same draws as in a match of that seed."""
    if not agent.traceable:
        rng = np.random.default_rng([AGENT_STREAM, seed, seat, turn])
        return int(agent.act(memory, jax.tree.map(np.asarray, view), np.asarray(legal), rng))
    one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (memory, view, jnp.asarray(legal)))
    place = jnp.array([seed], jnp.uint32), jnp.array([seat]), jnp.array([turn])
    return int(compiled_act(agent)(*one, *place)[0])
