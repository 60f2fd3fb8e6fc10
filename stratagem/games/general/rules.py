"""The rules of GENERAL.

A turn is one action by the side whose turn it is, Attacker first, then a chance event: the unit of the moat that an
interception takes, if there was one, and the die for the next turn, drawn among the values that allow something. A
conversion with a choice is a second action of the same turn; no die falls before it.

Actions: moves and garrisonings are `from · 100 + to` (what could be both is a move), the offensive is from 44 to the
unit that it removes, a conversion from its cell to the same cell, and 10,000 passes.
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
from stratagem.games.general import text
from stratagem.games.general.board import (
    ATTACKER,
    BOARD,
    CELLS,
    DEFENDER,
    GARRISON_CELLS,
    GARRISONS,
    GENERAL,
    GENERAL_CELLS,
    MOAT,
    MOAT_CELLS,
    OPEN_CELLS,
    SIDE,
    STEPS,
    TRIANGLES,
    Cells,
    Rows,
    ahead,
    aside,
    cell_set,
    count,
    count_bits,
    first_row,
    holds,
    mirror,
    movable_rows,
    moves_of,
    nth_bit,
    nth_cell,
    nth_set,
    pack,
    rows,
    unpack,
)

PASS = CELLS * CELLS
ACTIONS = PASS + 4  # the last three are reserved
OFFENSIVE_FROM = 44
HITS_TO_WIN = 3
AHEAD = [down * SIDE + right for down, right in STEPS]  # what one step adds to the number of a cell
HIT_WORTH = 4  # in units: three hits win as much as twelve units are

NOTHING, INTERCEPTION, TOSS = 0, 1, 2  # what chance decides before the die
SLOTS, FACES = len(MOAT_CELLS), 7  # an outcome is `slot · 7 + die`; die 0 is none


class State(NamedTuple):
    """A position with the die on the table. Whose turn it is follows from the turn: the Attacker has the even ones."""

    units: Array  # uint16[2, 10]: the Attacker's and the Defender's, a word a row
    attacker: Array  # int8: the seat that plays the Attacker
    turn: Array  # int16: turns finished
    die: Array  # int8: 1 to 6; 0 while a conversion is chosen, when nothing is possible, and after the end
    converting: Array  # int8: 0, or 1 + the triangle (left, right) in which the Defender must choose a unit
    hits: Array  # int8: on the General
    garrisoned: Array  # bool[2]: by role, whether the right is used up
    stormed: Array  # bool: whether the offensive of the General is used up


class After(NamedTuple):
    """A position before chance speaks."""

    state: State
    event: Array  # int8: NOTHING, INTERCEPTION or TOSS


def _lines() -> tuple[np.ndarray, np.ndarray]:
    """(int8[100, 100], int8[100, 100]): steps between two cells on a line, else 0; and the direction."""
    row, column = np.divmod(np.arange(CELLS), SIDE)
    down, right = row[None] - row[:, None], column[None] - column[:, None]
    far = np.maximum(abs(down), abs(right))
    straight = (down == 0) | (right == 0) | (abs(down) == abs(right))
    way = np.zeros((CELLS, CELLS), np.int8)
    for number, (one_down, one_right) in enumerate(STEPS):
        way[(np.sign(down) == one_down) & (np.sign(right) == one_right)] = number
    return np.where(straight, far, 0).astype(np.int8), way


DISTANCE, DIRECTION = _lines()


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
        role, seat = self._role(state), self._seat(state)
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

        garrisoning = moving & (state.die == 6) & ~self._is_line_of_six(state, start, end)
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
        moves = (self._moves(state) != 0).any(axis=(0, 2))
        return (self._useful(state, [moves[die] for die in range(6)]) >> np.arange(FACES)) & 1 == 1

    def _dice_bits(self, state: State) -> Array:
        """int32: `_dice` as a word, in numbers alone."""
        lines = self._lines(state)
        moves = [reduce(or_, [word for line in lines for word in line[die]]) != 0 for die in range(6)]
        return self._useful(state, moves)

    def _useful(self, state: State, moves: list[Array]) -> Array:
        """int32: a bit for each die that allows something, if it allows these moves."""
        units, places = self._garrisoning(state)
        special: list[Any] = [self._storming(state).any(), *[False] * 4, units.any() & places.any()]
        useful = jnp.int32(0)
        for die in range(1, 7):
            useful = useful | jnp.where(moves[die - 1] | special[die - 1], 1 << die, 0)
        rolls = ~self.done(state) & (state.converting == 0) & (useful != 0)
        return jnp.where(rolls, useful, 1).astype(jnp.int32)

    def _moves(self, state: State) -> Array:
        """`moves_of` for the side whose turn it is."""
        role = self._role(state)
        return moves_of(state.units[role], state.units[1 - role], role == ATTACKER)

    def _lines(self, state: State) -> list[list[Rows]]:
        """`movable_rows` for the side whose turn it is."""
        attacking = self._role(state) == ATTACKER
        sides = [rows(units) for units in state.units]
        own = [jnp.where(attacking, *pair) for pair in zip(*sides, strict=True)]
        theirs = [jnp.where(attacking, *pair[::-1]) for pair in zip(*sides, strict=True)]
        return movable_rows(own, theirs, attacking)

    # Decisions.

    def _role(self, state: State) -> Array:
        return (state.turn % 2).astype(jnp.int32)

    def _seat(self, state: State) -> Array:
        """int32: whose turn it is."""
        return state.attacker.astype(jnp.int32) ^ self._role(state)

    def _garrisoning(self, state: State) -> tuple[Cells, Cells]:
        """(Units that may go, cells where they may go), when the die shows 6; no units if the right is used up."""
        role = self._role(state)
        available = ~state.garrisoned[role]
        units = state.units[role] & jnp.asarray(GARRISONS)[role]
        closed = GARRISONS[0] | GARRISONS[1] | GENERAL
        places = BOARD & ~(state.units[0] | state.units[1] | closed)
        return jnp.where(available, units, np.uint16(0)), places

    def _storming(self, state: State) -> Cells:
        """The units that an offensive of the General may remove, when the die shows 1."""
        few = count(state.units[DEFENDER]) < 3
        ready = (self._role(state) == DEFENDER) & few & ~state.stormed
        return jnp.where(ready, state.units[ATTACKER] & MOAT, np.uint16(0))

    def _choices(self, state: State) -> Cells:
        """The units among which the Defender must choose one to convert."""
        here = jnp.where(state.converting == 2, TRIANGLES[1], TRIANGLES[0])
        return jnp.where(state.converting > 0, state.units[ATTACKER] & here, np.uint16(0))

    def _movable(self, state: State) -> Array:
        """uint16[8, 10]: for each direction the units that have a normal move with this die."""
        shown = (jnp.arange(1, 7) == state.die)[:, None]
        return jnp.where(shown, self._moves(state), np.uint16(0)).sum(axis=1, dtype=jnp.uint16)

    def _is_line_of_six(self, state: State, start: Array, end: Array) -> Array:
        """bool: whether a normal move of six leads there, if the end is no own unit."""
        row, column, to_row, to_column = start // SIDE, start % SIDE, end // SIDE, end % SIDE
        down, right = to_row - row, to_column - column
        straight = (jnp.abs(down) % 6 == 0) & (jnp.abs(right) % 6 == 0)
        occupied = state.units[0] | state.units[1] | GENERAL
        blocked = jnp.bool_(False)
        for one in range(1, 6):
            passed = (row + down * one // 6) * SIDE + column + right * one // 6
            blocked |= holds(occupied, passed)
        return straight & ~blocked

    def to_move(self, state: State) -> Array:
        return (jnp.arange(2) == self._seat(state)) & ~self.done(state)

    def legal(self, state: State) -> Array:
        start = unpack(self._movable(state))  # bool[8, 100]
        moves = (state.die == DISTANCE) & (state.die > 0) & start[DIRECTION, np.arange(CELLS)[:, None]]
        units, places = self._garrisoning(state)
        moves |= (state.die == 6) & unpack(units)[:, None] & unpack(places)[None]
        general = np.arange(CELLS) == OFFENSIVE_FROM
        moves |= (state.die == 1) & general[:, None] & unpack(self._storming(state))[None]
        moves |= np.eye(CELLS, dtype=bool) & unpack(self._choices(state))[None]
        passes = (state.die == 0) & (state.converting == 0)
        every = jnp.concatenate([moves.reshape(-1), passes[None], jnp.zeros(ACTIONS - PASS - 1, bool)])
        return self.to_move(state)[:, None] & every[None]

    def listed(self, state: State) -> Array:
        """int32[1689]: 8 × 100 moves, 12 × 72 garrisonings, 12 offensives, 12 conversions, the pass."""
        garrisoned, places = self._garrisoning(state)
        units = jnp.where(state.die == 6, garrisoned, np.uint16(0))
        storms = jnp.where(state.die == 1, self._storming(state), np.uint16(0))
        # A move that could be a garrisoning is listed there.
        both = jnp.stack([units & ahead(places, 6 * down, 6 * right) for down, right in STEPS])
        cells = np.arange(CELLS)
        ends = cells + np.array(AHEAD)[:, None] * state.die.astype(jnp.int32)
        home, open_cells = jnp.asarray(GARRISON_CELLS)[self._role(state)], OPEN_CELLS
        garrisons = unpack(units)[home][:, None] & unpack(places)[open_cells]
        triangles = GARRISON_CELLS[ATTACKER]
        passes = (state.die == 0) & (state.converting == 0)
        parts = [
            (unpack(self._movable(state) & ~both), cells * CELLS + ends),
            (garrisons, home[:, None] * CELLS + open_cells),
            (unpack(storms)[MOAT_CELLS], OFFENSIVE_FROM * CELLS + MOAT_CELLS),
            (unpack(self._choices(state))[triangles], triangles * (CELLS + 1)),
            (passes[None], np.array([PASS])),
        ]
        every = jnp.concatenate([jnp.where(there, actions, -1).reshape(-1) for there, actions in parts])
        return jnp.where(self.done(state), -1, every).astype(jnp.int32)

    def sample(self, state: State, points: Array) -> Array:
        """The same actions, drawn without listing them, in numbers alone."""
        garrisoned, free = self._garrisoning(state)
        units = rows(jnp.where(state.die == 6, garrisoned, np.uint16(0)))
        places = rows(free)
        moves = self._movable_rows(state)
        for words, (down, right) in zip(moves, STEPS, strict=True):
            for row in range(max(0, -6 * down), SIDE - max(0, 6 * down)):
                words[row] = words[row] & ~(units[row] & aside(places[row + 6 * down], -6 * right))
        storms = rows(jnp.where(state.die == 1, self._storming(state), np.uint16(0)))
        sets = [*moves, storms, rows(self._choices(state))]
        plain, room = sum(count_bits(words) for words in sets), count_bits(places)
        total = plain + count_bits(units) * room
        target = jnp.floor(points[self._seat(state)] * total).astype(jnp.int32)
        target = jnp.minimum(target, total - 1)

        way, words, rest = nth_set(sets, target)  # 8 is the offensive, 9 a conversion
        cell = nth_cell(words, rest)
        ahead = sum(jnp.where(way == one, step, 0) for one, step in enumerate(AHEAD)) * state.die
        action = jnp.where(way == 8, OFFENSIVE_FROM, cell) * CELLS + cell + ahead

        # Garrisonings come after the moves; with a die of 6 there is nothing else.
        rest, wide = target - plain, jnp.maximum(room, 1)
        garrisoning = nth_cell(units, rest // wide) * CELLS + nth_cell(places, rest % wide)
        action = jnp.where(rest >= 0, garrisoning, action)
        return jnp.full(2, jnp.where(total > 0, action, PASS), jnp.int32)

    def _movable_rows(self, state: State) -> list[Rows]:
        """`_movable` in numbers alone."""
        shown = [jnp.where(state.die == die, np.uint16(0xFFFF), np.uint16(0)) for die in range(1, 7)]
        found = []
        for way, line in enumerate(self._lines(state)):
            words = [jnp.uint16(0)] * SIDE
            for die in range(1, 7):
                for row, word in enumerate(line[die - 1], first_row(way, die)):
                    words[row] = words[row] | word & shown[die - 1]
            found.append(words)
        return found

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
        """float32[10, 10, 15].

        0 my units, 1 the opponent's, 2 the General, 3 ones if I am the Attacker, 4 ones if the opponent is, 5 whose
        ground it is (+1 mine, −1 the opponent's: garrisons and General), 6 die / 6, 7 hits / 3, 8 the moat,
        9 and 10 garrisoning still available to me and to the opponent, 11 the offensive still available,
        12 the units to choose from in a conversion, 13 turn / turns, 14 my seat.
        """
        role = (jnp.asarray(seat) ^ state.attacker).astype(jnp.int32)
        sign = jnp.where(role == ATTACKER, 1.0, -1.0)
        sets = jnp.stack([state.units[role], state.units[1 - role], GENERAL, MOAT, self._choices(state)])
        mine, others, general, moat, choices = unpack(sets).astype(jnp.float32)
        ground = unpack(jnp.asarray(np.stack([GARRISONS[0], GARRISONS[1] | GENERAL]))).astype(jnp.float32)

        def everywhere(value: Array) -> Array:
            return jnp.full(CELLS, value, jnp.float32)

        planes = [
            mine,
            others,
            general,
            everywhere(role == ATTACKER),
            everywhere(role == DEFENDER),
            sign * (ground[0] - ground[1]),
            everywhere(state.die / 6),
            everywhere(state.hits / HITS_TO_WIN),
            moat,
            everywhere(~state.garrisoned[role]),
            everywhere(~state.garrisoned[1 - role]),
            everywhere(~state.stormed),
            choices,
            everywhere(state.turn / self.turns),
            everywhere(seat),
        ]
        return jnp.stack(planes, axis=-1).reshape(SIDE, SIDE, len(planes))

    def state_of(self, view: Array) -> State:
        planes = view.reshape(CELLS, -1).T
        facts = planes[:, 0]
        role = facts[4].astype(jnp.int32)

        def whole(value: Array, kind: Any) -> Array:
            return jnp.round(value).astype(kind)

        sides = pack(planes[:2] > 0)[jnp.arange(2) ^ role]
        choices = pack(planes[12] > 0)
        in_triangle = jnp.stack([(choices & one).any() for one in TRIANGLES])
        return State(
            units=sides,
            attacker=(whole(facts[14], jnp.int32) ^ role).astype(jnp.int8),
            turn=whole(facts[13] * self.turns, jnp.int16),
            die=whole(facts[6] * 6, jnp.int8),
            converting=(in_triangle[0] + 2 * in_triangle[1]).astype(jnp.int8),
            hits=whole(facts[7] * HITS_TO_WIN, jnp.int8),
            garrisoned=(facts[9:11] == 0)[jnp.arange(2) ^ role],
            stormed=facts[11] == 0,
        )

    # Left and right are alike. The offensive keeps its name, 44, for its General cell.

    def symmetries(self) -> Symmetries:
        row, column = np.divmod(np.arange(CELLS), SIDE)
        across = row * SIDE + SIDE - 1 - column
        general = np.isin(np.arange(CELLS), GENERAL_CELLS)
        moved = np.where(general, np.arange(CELLS), across)[:, None] * CELLS + across[None]
        reflected = np.concatenate([moved.ravel(), np.arange(PASS, ACTIONS)])
        actions = np.stack([np.arange(ACTIONS), reflected])
        product = np.array([[0, 1], [1, 0]])
        parts = (actions, np.tile(np.arange(2), (2, 1)), product)
        return Symmetries(*(jnp.asarray(part, jnp.int32) for part in parts))

    def turn_state(self, state: State, g: Array) -> State:
        other = jnp.where(state.converting > 0, 3 - state.converting, 0).astype(jnp.int8)
        return state._replace(
            units=jnp.where(jnp.asarray(g) == 1, mirror(state.units), state.units),
            converting=jnp.where(jnp.asarray(g) == 1, other, state.converting),
        )

    def turn_view(self, view: Array, g: Array) -> Array:
        return jnp.where(jnp.asarray(g) == 1, view[:, ::-1], view)

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
        if parts.converting and int(count(self._choices(state))) < 2:
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
