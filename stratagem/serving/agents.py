"""Whole agents that are served: a position in, an action out, with the same draws as in a match of that seed.

Only agents that decide from the view alone can be asked about a position out of the blue; one with a memory must see
the game from its start, so it is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.agents import make_agent
from stratagem.agents.agent import Agent
from stratagem.arena.match import compiled_act
from stratagem.core.errors import StratagemError
from stratagem.core.game import Game, Textual, require
from stratagem.serving.checks import fitted, leaves_of, shapes_of
from stratagem.serving.errors import BadRequest
from stratagem.serving.ladder import Ladder
from stratagem.serving.lane import Batch

MOVER = -1  # in place of a seat: whoever is to move


class Turn(NamedTuple):
    """A question to an agent: what to do here?"""

    position: Any  # the state, or the text that the game writes of it
    seat: int = MOVER
    seed: int = 0
    turn: int = 0


class Row(NamedTuple):
    """A turn as the compiled programs take it."""

    state: Any
    seat: Any  # int32
    seed: Any  # uint32
    turn: Any  # int32


class Seen(NamedTuple):
    """What the seat sees."""

    view: Any
    legal: Array  # bool[A]
    seat: Array  # int32


Choose = Callable[[str, str, list[Any], np.ndarray, list[list[int]]], list[int]]


def observe(game: Game, row: Row) -> Seen:
    """Find out who is to move, and what is seen from there."""
    mover = jnp.argmax(game.to_move(row.state)).astype(jnp.int32)
    seat = jnp.where(row.seat == MOVER, mover, row.seat)
    return Seen(game.view(row.state, seat), game.legal(row.state)[seat], seat)


def row_of(game: Game, turn: Turn) -> Row:
    """A question from outside, checked."""
    if not -1 <= turn.seat < game.spec.seats:
        raise BadRequest(f"seat is 0 to {game.spec.seats - 1}, or −1 for the mover, not {turn.seat}", "seat")
    if not 0 <= turn.seed < 1 << 32:
        raise BadRequest(f"seed is 0 to 2³² − 1, not {turn.seed}", "seed")
    if not 0 <= turn.turn < 1 << 31:
        raise BadRequest(f"turn is 0 to 2³¹ − 1, not {turn.turn}", "turn")
    state = read_position(game, turn.position) if isinstance(turn.position, str) else turn.position
    return Row(
        fitted("state", shapes_of(game).state, leaves_of(state)),
        np.int32(turn.seat),
        np.uint32(turn.seed),
        np.int32(turn.turn),
    )


def read_position(game: Any, text: str) -> Any:
    require(game, Textual, "a position as text")
    try:
        return game.read(text)
    except ValueError as error:
        raise BadRequest(f"position: {error}", "position") from error


@dataclass(frozen=True)
class ServedAgent:
    """One agent, compiled, or with its compiled eyes and a pool of workers to think in."""

    game: Game
    choice: str
    ladder: Ladder
    choose: Choose | None
    """Host agents: where the thinking is done."""

    @property
    def largest(self) -> int:
        return self.ladder.largest

    def __call__(self, questions: list[Turn]) -> Batch:
        answers: list[Any] = [None] * len(questions)
        rows, where = [], []
        for index, question in enumerate(questions):
            try:
                rows.append(row_of(self.game, question))
                where.append(index)
            except BadRequest as error:
                answers[index] = error
        slots = 0
        if rows:
            (seen, actions), slots = self.ladder((), rows)
            able = seen.legal.any(axis=1)
            if self.choose is not None and able.any():
                actions = np.full(len(rows), -1)
                views = [leaf[able] for leaf in jax.tree.leaves(seen.view)]
                draws = [
                    [int(row.seed), int(seat), int(row.turn)]
                    for row, seat, can in zip(rows, seen.seat, able, strict=True)
                    if can
                ]
                actions[able] = self.choose(self.choice, self.game.spec.title, views, seen.legal[able], draws)
            for index, action, can in zip(where, actions, able, strict=True):
                answers[index] = int(action) if can else BadRequest("this seat is not to move here", "seat")
        return Batch(answers, len(rows), slots)


def serve_agent(game: Game, choice: str, sizes: list[int], choose: Choose) -> ServedAgent:
    """Make, check and compile an agent."""
    try:
        agent = make_agent(choice, game)
    except StratagemError as error:
        raise BadRequest(str(error), "agent") from error
    if jax.tree.leaves(agent.memory()):
        raise BadRequest(
            f"agent {choice} remembers the game, and a service keeps no games; let it play in a session",
            "agent",
        )
    shapes = shapes_of(game)
    number = jax.ShapeDtypeStruct((), np.int32)
    row = Row(shapes.state, number, jax.ShapeDtypeStruct((), np.uint32), number)
    ladder = Ladder(traced(game, agent) if agent.traceable else eyes(game), (), row, sizes)
    served = ServedAgent(game, choice, ladder, None if agent.traceable else choose)
    opening = jax.jit(game.init)(jax.random.key(0))
    for size in sizes if agent.traceable else sizes[:1]:
        served([Turn(opening)] * size)
    return served


def eyes(game: Game) -> Callable[..., Any]:
    """For host agents: what is seen; the actions are still to come."""

    def look(_: tuple[()], rows: Row) -> tuple[Seen, Array]:
        seen = jax.vmap(lambda row: observe(game, row))(rows)
        return seen, jnp.full_like(seen.seat, -1)

    return look


def traced(game: Game, agent: Agent) -> Callable[..., Any]:
    """For traceable agents: what is seen, and what to do."""
    # Not from the cache of compiled agents: the weights of an agent of the same name may have changed since.
    act = compiled_act.__wrapped__(agent)

    def decide(_: tuple[()], rows: Row) -> tuple[Seen, Array]:
        seen = jax.vmap(lambda row: observe(game, row))(rows)
        memory = agent.memory()  # empty
        return seen._replace(view=()), act(memory, seen.view, seen.legal, rows.seed, seen.seat, rows.turn)

    return decide
