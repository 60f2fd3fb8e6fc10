"""Generals as a `Game`: rules, variants and maps put together, and its text form."""

from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption
from stratagem.core.game import GameSpec
from stratagem.games.generals import maps, rules, text
from stratagem.games.generals.board import (
    CAPPED,
    CASTLE,
    GENERAL,
    MOUNTAIN,
    NEUTRAL,
    NOBODY,
    SPROUT,
    TICK,
    State,
    decided,
    kind_of,
    owner_of,
    owners,
)
from stratagem.games.generals.rules import Outcome, Turn, View
from stratagem.games.generals.variants import buildable, with_build, with_deathtouch


@dataclass(frozen=True)
class Generals:
    """The game of generals.io, one against one, under fog."""

    width: int = 24
    """Columns, 2 to 32."""
    height: int = 24
    """Rows, 2 to 32."""
    least: int = 0
    """If not 0, either side of a map is drawn from this up; the rest of the board is mountain."""
    cap: int = 1000
    """Turns after which the game is a draw, undecided."""
    mountains_from: float = 0.18
    """The least share of mountains on a map."""
    mountains_to: float = 0.24
    """The largest share of mountains on a map."""
    castles_from: int = 9
    """The least number of neutral castles on a map (none with build)."""
    castles_to: int = 12
    """The largest number of neutral castles on a map."""
    apart: int = 15
    """The least walking distance between the generals."""
    build: bool = False
    """Variant: castles are built, not found."""
    deathtouch: int | None = None
    """Variant: the turn from which reaching the enemy general wins."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("width", 2, 32),
            ("height", 2, 32),
            ("least", 0, min(self.width, self.height)),
            ("cap", 1, 100_000),
            ("mountains_from", 0, 0.4),
            ("mountains_to", self.mountains_from, 0.4),
            ("castles_from", 0, 200),
            ("castles_to", self.castles_from, 200),
            ("apart", 1, 200),
        ):
            if not low <= getattr(self, name) <= high:
                raise BadOption(f"generals: {name} is {low} to {high}, not {getattr(self, name)}")
        if self.deathtouch is not None and self.deathtouch < 0:
            raise BadOption(f"generals: deathtouch is a turn or none, not {self.deathtouch}")

    @cached_property
    def spec(self) -> GameSpec:
        options = {one.name: getattr(self, one.name) for one in fields(self)}
        return GameSpec(
            name="generals",
            seats=2,
            actions=self.cells * self.per_cell,
            longest=self.cap,
            dynamics="simultaneous",
            chance="setup",
            information="imperfect",
            parameters={key: "none" if value is None else value for key, value in options.items()},
        )

    @property
    def cells(self) -> int:
        return self.width * self.height

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def per_cell(self) -> int:
        """Actions a cell: four directions twice, pass, and build where there is building."""
        return 10 if self.build else 9

    @property
    def wishes(self) -> maps.Wishes:
        return maps.Wishes(
            shape=self.shape,
            least=self.least or max(self.shape),
            mountains=(self.mountains_from, self.mountains_to),
            castles=(0, 0) if self.build else (self.castles_from, self.castles_to),
            apart=self.apart,
        )

    @property
    def army_type(self) -> Any:
        """The smallest type that holds any army of this game: all that can ever grow, on one cell."""
        sites = self.cells if self.build else self.castles_to + 2
        most = self.cells * (self.cap // TICK) + sites * (self.cap // SPROUT + maps.GARRISON + 10)
        return jnp.int16 if most < 2**15 else jnp.int32

    @cached_property
    def turn(self) -> Turn:
        """What both actions do, variants included."""
        turn: Turn = partial(rules.play_moves, shape=self.shape, per_cell=self.per_cell)
        if self.build:
            turn = with_build(turn, self.shape)
        if self.deathtouch is not None:
            turn = with_deathtouch(turn, self.deathtouch)
        return turn

    # The game.

    def init(self, key: Array) -> State:
        return maps.generate(key, self.wishes)

    def to_move(self, state: State) -> Array:
        return jnp.full(2, ~self.done(state))

    def legal(self, state: State) -> Array:
        chosen = rules.choices(state, rules.exits(state, self.shape), self.shape)
        actions = rules.spread_actions(chosen)  # bool[P, H, W, 9]
        if self.build:
            here = buildable(state, self.shape).reshape(2, *self.shape, 1)
            actions = jnp.concatenate([actions, here], axis=3)
        return actions.reshape(2, -1)

    def step(self, state: State, actions: Array, key: Array | None = None) -> State:
        outcome: Outcome = self.turn(state, actions)
        return rules.close(outcome.state, outcome.taken, self.cap)

    def returns(self, state: State) -> Array:
        won = jnp.where(state.winner == 0, 1.0, -1.0)
        return jnp.where(decided(state), jnp.stack([won, -won]), 0.0).astype(jnp.float32)

    def done(self, state: State) -> Array:
        return state.winner != NOBODY

    def truncated(self, state: State) -> Array:
        return state.winner == CAPPED

    def view(self, state: State, seat: Array) -> View:
        visible = rules.seen_from(owners(state).reshape(self.shape) == seat + 1)
        return rules.view_of(state, visible, seat, self.shape, self.army_type)

    def disguise(self, state: State, seat: Array, key: Array) -> State:
        """Another position that this seat cannot tell from this one: what it does not see has changed places.

        In the fog, mountains may be castles and castles mountains, and any plain cell may be another one, or hold
        the enemy general. An enemy's castle stays, because it counts in the score as it grows.
        """
        structure_key, ground_key = jax.random.split(key)
        visible = rules.seen_from(owners(state).reshape(self.shape) == seat + 1).reshape(-1)
        kind, neutral = kind_of(state.cells), owner_of(state.cells) == NEUTRAL
        structure = ~visible & ((kind == MOUNTAIN) | (kind == CASTLE)) & neutral
        ground = ~visible & (kind != MOUNTAIN) & (kind != CASTLE)
        comes_from = shuffled(structure_key, structure)[shuffled(ground_key, ground)]
        cells = state.cells[comes_from]
        general = (kind_of(cells) == GENERAL) & (owner_of(cells) == 2 - seat)
        other = jnp.where(general.any(), jnp.argmax(general), state.generals[1 - seat]).astype(jnp.int32)
        return state._replace(cells=cells, generals=state.generals.at[1 - seat].set(other))

    # Text and drawings.

    def write(self, state: State) -> str:
        return text.write(state, self.shape)

    def read(self, line: str) -> State:
        return text.read(line, self.shape)

    def write_action(self, action: int) -> str:
        return text.write_action(int(action), self.shape, self.per_cell)

    def read_action(self, line: str) -> int:
        return text.read_action(line, self.shape, self.per_cell)

    def why_not(self, state: State, seat: int, action: int) -> str:
        if bool(self.done(state)):
            return "the game is over"
        return text.why_not(state, seat, action, self.shape, self.per_cell)

    def draw(self, state: State, seat: int | None) -> dict[str, Any]:
        if seat is None:
            return text.draw_all(state, self.shape)
        view: View = _compiled_view(self, state, jnp.int32(seat))
        return {
            "kind": "generals",
            "seat": seat,
            "seen": np.asarray(rules.seen(view)).tolist(),
            "owner": np.asarray(rules.possessors(view)).tolist(),
            "army": np.asarray(view.army).tolist(),
            "land": np.asarray(view.land).tolist(),
            "total": np.asarray(view.total).tolist(),
            "turn": int(view.turn),
        }


@partial(jax.jit, static_argnums=0)  # outside of a trace every operation would be compiled on its own
def _compiled_view(game: Generals, state: State, seat: Array) -> View:
    return game.view(state, seat)


def shuffled(key: Array, among: Array) -> Array:
    """int32[N]: a permutation that mixes the cells given and leaves the others."""
    places = jnp.arange(among.size)
    in_order = jnp.argsort(jnp.where(among, places, among.size + places))
    at_random = jnp.argsort(jnp.where(among, jax.random.uniform(key, among.shape), 1.0 + places))
    return jnp.zeros_like(places).at[in_order].set(at_random)


@dataclass(frozen=True)
class Pooled(Generals):
    """Generals whose games start on maps of a pool, so that a restart costs one look-up."""

    pool: maps.Pool | None = None
    """Where `init` draws from; replace it to go on with a refreshed one."""

    __hash__ = object.__hash__

    def init(self, key: Array) -> State:
        if self.pool is None:
            return super().init(key)
        return self.pool.draw(key)

    @cached_property
    def spec(self) -> GameSpec:
        return Generals(**{one.name: getattr(self, one.name) for one in fields(Generals)}).spec
