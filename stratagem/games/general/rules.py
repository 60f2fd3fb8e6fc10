"""The rules of GENERAL.

A turn is one action by the side whose turn it is, Attacker first, then a chance event: the unit of the moat that an
interception takes, if there was one, and the die for the next turn, drawn among the values that allow something. A
conversion with a choice is a second action of the same turn; no die falls before it.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from stratagem.core.errors import BadOption
from stratagem.core.game import GameSpec, Symmetries
from stratagem.games.general import listing, options, symmetries, text, views
from stratagem.games.general.board import (
    ATTACKER,
    CELLS,
    DEFENDER,
    GARRISONS,
    GENERAL,
    MOAT,
    MOAT_CELLS,
    SIDE,
    TRIANGLES,
    cell_set,
    count,
    count_bits,
    nth_bit,
    nth_cell,
    pack,
    unpack,
)
from stratagem.games.general.state import ACTIONS, HITS_TO_WIN, OFFENSIVE_FROM, PASS, State, role_of, seat_of

HIT_WORTH = 4  # in units: three hits win as much as twelve units are

NOTHING, INTERCEPTION, TOSS = 0, 1, 2  # what chance decides before the die
SLOTS, FACES = len(MOAT_CELLS), 7  # an outcome is `slot · 7 + die`; die 0 is none


class After(NamedTuple):
    """A position before chance speaks."""

    state: State
    event: Array  # int8: NOTHING, INTERCEPTION or TOSS


@dataclass(frozen=True)
class General:
    """GENERAL on its 10×10 board."""

    turns: int = 300
    """Turns, of both sides together, after which the game is a draw."""

    def __post_init__(self) -> None:
        if not 1 <= self.turns <= 10_000:
            raise BadOption(f"general: turns is 1 to 10000, not {self.turns}")

    @cached_property
    def spec(self) -> GameSpec:
        return GameSpec(
            name="general",
            seats=2,
            actions=ACTIONS,
            # A choice of conversion is a step of its own, and each takes one of the twelve Attacker units.
            longest=self.turns + 12,
            chance="dice",
            parameters={"turns": self.turns},
        )

    # Chance: first the toss or the interception, then the die.

    def opening(self) -> After:
        state = State(
            units=jnp.asarray(GARRISONS),
            attacker=jnp.int8(0),
            turn=jnp.int16(0),
            die=jnp.int8(0),
            converting=jnp.int8(0),
            hits=jnp.int8(0),
            garrisoned=jnp.zeros(2, bool),
            stormed=jnp.bool_(False),
        )
        return After(state, jnp.int8(TOSS))

    def afterstate(self, state: State, actions: Array) -> After:
        role, seat = role_of(state), seat_of(state)
        action = actions[seat].astype(jnp.int32)
        start, end = action // CELLS, action % CELLS
        passing, choosing = action == PASS, state.converting > 0
        storming = (start == OFFENSIVE_FROM) & ~choosing
        moving = ~(passing | choosing | storming)
        own, theirs = state.units[role], state.units[1 - role]
        source, target = cell_set(start), cell_set(end)

        attacking = moving & (target & GENERAL).any()
        guarded = (theirs & MOAT).any()
        theirs = jnp.where(passing, theirs, theirs & ~target)
        # A converted unit changes sides where it stands: its source is its target.
        own = own & ~source | jnp.where(passing | storming | attacking, np.uint16(0), target)

        # Conversion: a lone unit is taken at once, of several the Defender chooses.
        arriving = moving & (role == DEFENDER)
        triangles = jnp.stack([arriving & (target & one).any() for one in TRIANGLES])
        candidates = theirs & jnp.where(triangles[:, None], TRIANGLES, np.uint16(0)).sum(
            axis=0, dtype=jnp.uint16
        )
        number = count(candidates)
        alone = jnp.where(number == 1, candidates, np.uint16(0))
        converting = jnp.where(number > 1, 1 + triangles[1], 0).astype(jnp.int8)

        garrisoning = moving & (state.die == 6) & ~options.is_line_of_six(state, start, end)
        roles = jnp.arange(2) == role
        after = State(
            units=jnp.where(roles[:, None], own | alone, theirs & ~alone),
            attacker=state.attacker,
            turn=state.turn + (converting == 0),
            die=jnp.int8(0),
            converting=converting,
            hits=state.hits + (attacking & ~guarded),
            garrisoned=state.garrisoned | (roles & garrisoning),
            stormed=state.stormed | storming,
        )
        return After(after, jnp.where(attacking & guarded, INTERCEPTION, NOTHING).astype(jnp.int8))

    def outcomes(self, after: After) -> Array:
        """float32[84]: for each slot (of the moat, or of the toss) and die the probability."""
        slots = self._slots(after)
        dice = jax.vmap(lambda slot: self._dice(self._settle(after, slot)))(jnp.arange(SLOTS))  # bool[12, 7]
        fair = dice / dice.sum(axis=1, keepdims=True) * (slots / slots.sum())[:, None]
        return fair.reshape(-1).astype(jnp.float32)

    def resolve(self, after: After, outcome: Array) -> State:
        slot, die = outcome // FACES, outcome % FACES
        return self._settle(after, slot)._replace(die=jnp.asarray(die, jnp.int8))

    def init(self, key: Array) -> State:
        return self.fall(self.opening(), jax.random.uniform(key))

    def step(self, state: State, actions: Array, key: Array) -> State:
        return self.fall(self.afterstate(state, actions), jax.random.uniform(key))

    def fall(self, after: After, point: Array) -> State:
        """The outcome at this point of `outcomes`, found slot first, so that one set of dice is enough, not twelve."""
        moat = [after.state.units[DEFENDER][row] & MOAT[row] for row in range(3, 7)]
        guards = count_bits(moat)
        slots = jnp.where(after.event == INTERCEPTION, guards, jnp.where(after.event == TOSS, 2, 1))
        through = point * slots
        number = jnp.floor(through)
        slot = number.astype(jnp.int32)
        settled = self._remove(after, slot, 3 * SIDE + nth_cell(moat, slot))
        dice = self._dice_bits(settled)
        falls = jnp.floor((through - number) * lax.population_count(dice))
        return settled._replace(die=nth_bit(dice, falls.astype(jnp.int32), FACES).astype(jnp.int8))

    def _slots(self, after: After) -> Array:
        """bool[12]: the units of the moat that may be taken, or the seats that may be the Attacker; else the first."""
        guards = unpack(after.state.units[DEFENDER])[MOAT_CELLS]
        places = jnp.arange(SLOTS)
        only = places <= (after.event == TOSS)
        return jnp.where(after.event == INTERCEPTION, guards, only)

    def _settle(self, after: After, slot: Array) -> State:
        """What the toss or the interception leaves."""
        return self._remove(after, slot, jnp.asarray(MOAT_CELLS)[slot])

    def _remove(self, after: After, slot: Array, cell: Array) -> State:
        state = after.state
        taken = jnp.where(after.event == INTERCEPTION, cell_set(cell), np.uint16(0))
        defenders = jnp.arange(2)[:, None] == DEFENDER
        return state._replace(
            units=state.units & ~jnp.where(defenders, taken, np.uint16(0)),
            attacker=jnp.where(after.event == TOSS, slot, state.attacker).astype(jnp.int8),
        )

    def _dice(self, state: State) -> Array:
        """bool[7]: what the die may show now; 0 if nothing is to be rolled or nothing helps."""
        moves = (options.moves(state) != 0).any(axis=(0, 2))
        return (self._useful(state, [moves[die] for die in range(6)]) >> np.arange(FACES)) & 1 == 1

    def _dice_bits(self, state: State) -> Array:
        """int32: `_dice` as a word, in numbers alone."""
        lines = options.lines(state)
        moves = [reduce(or_, [word for line in lines for word in line[die]]) != 0 for die in range(6)]
        return self._useful(state, moves)

    def _useful(self, state: State, moves: list[Array]) -> Array:
        """int32: a bit for each die that allows something, if it allows these moves."""
        units, places = options.garrisoning(state)
        special: list[Any] = [options.storming(state).any(), *[False] * 4, units.any() & places.any()]
        useful = jnp.int32(0)
        for die in range(1, 7):
            useful = useful | jnp.where(moves[die - 1] | special[die - 1], 1 << die, 0)
        rolls = ~self.done(state) & (state.converting == 0) & (useful != 0)
        return jnp.where(rolls, useful, 1).astype(jnp.int32)

    # Decisions.

    def to_move(self, state: State) -> Array:
        return (jnp.arange(2) == seat_of(state)) & ~self.done(state)

    def legal(self, state: State) -> Array:
        every = listing.legal(state)
        return self.to_move(state)[:, None] & every[None]

    def listed(self, state: State) -> Array:
        every = listing.listed(state)
        return jnp.where(self.done(state), -1, every).astype(jnp.int32)

    def sample(self, state: State, points: Array) -> Array:
        return listing.sample(state, points)

    @property
    def role_names(self) -> tuple[str, ...]:
        return text.ROLES

    def roles(self, state: State) -> Array:
        return jnp.arange(2) ^ state.attacker.astype(jnp.int32)

    def done(self, state: State) -> Array:
        return self._stormed(state) | self._cleared(state) | (state.turn >= self.turns)

    def truncated(self, state: State) -> Array:
        return self.done(state) & ~self._stormed(state) & ~self._cleared(state)

    def _stormed(self, state: State) -> Array:
        return state.hits >= HITS_TO_WIN

    def _cleared(self, state: State) -> Array:
        return ~state.units[ATTACKER].any()

    def returns(self, state: State) -> Array:
        # A last unit that deals the third hit has won before it is gone.
        won, lost = self._stormed(state), self._cleared(state)
        result = jnp.where(won, 1.0, jnp.where(lost, -1.0, 0.0)).astype(jnp.float32)
        return jnp.where(jnp.arange(2) == state.attacker, result, -result)

    def scores(self, state: State) -> Array:
        """int32[2]: units on the board; for the Attacker a hit counts as four more."""
        by_role = count(state.units) + jnp.stack([state.hits * HIT_WORTH, jnp.int8(0)]).astype(jnp.int32)
        return by_role[jnp.arange(2) ^ state.attacker]

    # What an agent sees.

    def view(self, state: State, seat: Array) -> Array:
        return views.view(state, seat, self.turns)

    def state_of(self, view: Array) -> State:
        return views.state_of(view, self.turns)

    def symmetries(self) -> Symmetries:
        return symmetries.symmetries()

    def turn_state(self, state: State, g: Array) -> State:
        return symmetries.turn_state(state, g)

    def turn_view(self, view: Array, g: Array) -> Array:
        return symmetries.turn_view(view, g)

    # Text and drawing.

    def write(self, state: State) -> str:
        return text.write(state)

    def read(self, line: str) -> State:
        parts = text.read(line, self.turns)
        state = State(
            units=pack(jnp.asarray(parts.units)),
            attacker=jnp.int8(parts.attacker),
            turn=jnp.int16(parts.turn),
            die=jnp.int8(parts.die),
            converting=jnp.int8(parts.converting),
            hits=jnp.int8(parts.hits),
            garrisoned=jnp.asarray(parts.garrisoned),
            stormed=jnp.bool_(parts.stormed),
        )
        if parts.converting and int(count(options.choices(state))) < 2:
            raise ValueError(f"{line!r}: a conversion is chosen among two units or more, and by the Defender")
        possible = np.flatnonzero(np.asarray(self._dice(state)))
        if parts.die not in possible:
            shown = ", ".join("-" if die == 0 else str(die) for die in possible)
            raise ValueError(f"{line!r}: here the die is one of {shown}, not {parts.die or '-'}")
        return state

    def write_action(self, action: int) -> str:
        return text.write_action(int(action))

    def read_action(self, word: str) -> int:
        return text.read_action(word)

    def why_not(self, state: State, seat: int, action: int) -> str:
        if bool(self.done(state)):
            return "the game is over"
        return text.why_not(state, seat, action)

    def draw(self, state: State, seat: int | None) -> dict[str, Any]:
        over = bool(self.done(state))
        scores = np.asarray(self.scores(state)).tolist()
        return text.draw(state) | {"turns": self.turns, "over": over, "scores": scores}
