"""Generala, Yacht, Crag and Yatzy as games: keep, roll again, score.

A turn is up to `rolls - 1` decisions which dice to keep and one which category to score. Keeping all dice goes
straight to scoring. Chance is explicit: the dice that are not kept are rolled, and after a category is scored all
dice are rolled for the next seat.

Actions: first the keeps, in the order of `keeps` (fewest dice first; 462 of them with five dice, 84 with three),
then the categories in the order of the sheet.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption
from stratagem.core.game import ChanceSteps, GameSpec, winners_share
from stratagem.games.dice import family as families
from stratagem.games.dice.family import Family
from stratagem.games.dice.keeps import Keeps, keeps, scores

OPEN = -1  # on a sheet, in place of points


class State(NamedTuple):
    """A position with dice on the table. N categories."""

    sheet: Array  # int32[P, N]: points scored, or OPEN
    dice: Array  # int32: which full roll lies there, counted as in `keeps`
    left: Array  # int32: re-rolls left; 0 means that a category must be scored
    first: Array  # bool: whether these dice came from the first roll
    mover: Array  # int32


class After(NamedTuple):
    """A position before the dice fall."""

    state: State
    kept: Array  # int32: the multiset that stays


class Arrays(NamedTuple):
    """The family as constants for compiled code. K keeps, R rolls."""

    contains: np.ndarray  # bool[R, K]: which keeps a roll allows
    chance: np.ndarray  # float32[K, R]: how the dice fall
    points: np.ndarray  # int32[2, N, R]: [1] on the first roll
    upper: np.ndarray  # bool[N]: face categories


@lru_cache
def arrays(family: Family) -> Arrays:
    k = keeps(family.dice, family.faces)
    contains = np.all(k.counts[None, :, :] <= k.counts[k.partial :, None, :], axis=2)
    chance = np.zeros((len(k.multisets), len(k.rolls)))
    chance[k.partial :] = np.eye(len(k.rolls))
    for keep in range(k.partial - 1, -1, -1):
        chance[keep] = chance[k.add[keep]].mean(axis=0)
    points = np.stack([scores(family), scores(family, first=True)]).astype(np.int32)
    upper = np.array([category.fits == "face" for category in family.categories])
    return Arrays(contains, chance.astype(np.float32), points, upper)


class DiceGame(ChanceSteps):
    """The rules; a subclass is a frozen dataclass that says which family, and has a field `players`."""

    players: int

    @cached_property
    def family(self) -> Family:
        raise NotImplementedError

    def __post_init__(self) -> None:
        if not 2 <= self.players <= 8:
            raise BadOption(f"{self.family.name}: players is 2 to 8, not {self.players}")

    @cached_property
    def spec(self) -> GameSpec:
        family = self.family
        return GameSpec(
            name=family.name,
            seats=self.players,
            actions=len(self.keeps.multisets) + len(family.categories),
            longest=self.players * len(family.categories) * family.rolls,
            chance="dice",
            version=families.RULES_VERSION,
            parameters=self.parameters(),
        )

    def parameters(self) -> dict[str, Any]:
        """What distinguishes this game, as JSON can hold it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    @property
    def keeps(self) -> Keeps:
        return keeps(self.family.dice, self.family.faces)

    # Chance.

    def opening(self) -> After:
        sheet = jnp.full((self.players, len(self.family.categories)), OPEN, jnp.int32)
        return self._next_turn(
            State(sheet, jnp.int32(0), jnp.int32(0), jnp.bool_(True), jnp.int32(0)), jnp.int32(0)
        )

    def afterstate(self, state: State, actions: Array) -> After:
        action = actions[state.mover]
        keeping = action < len(self.keeps.multisets)
        scored, kept = self._score(state, action - len(self.keeps.multisets)), self._keep(state, action)
        return After(
            State(
                *(jnp.where(keeping, one, other) for one, other in zip(kept.state, scored.state, strict=True))
            ),
            jnp.where(keeping, kept.kept, scored.kept),
        )

    def outcomes(self, after: After) -> Array:
        """float32[R]: the chance of each full roll."""
        return jnp.asarray(arrays(self.family).chance)[after.kept]

    def resolve(self, after: After, outcome: Array) -> State:
        return after.state._replace(dice=jnp.asarray(outcome, jnp.int32))

    def _keep(self, state: State, keep: Array) -> After:
        everything = keep >= self.keeps.partial
        left = jnp.where(everything, 0, state.left - 1)
        return After(state._replace(left=left, first=state.first & everything), keep)

    def _score(self, state: State, category: Array) -> After:
        points = jnp.asarray(arrays(self.family).points)[state.first.astype(jnp.int32), category, state.dice]
        sheet = state.sheet.at[state.mover, category].set(points)
        scored = state._replace(sheet=sheet)
        seat = (state.mover + 1) % self.players
        over = self.done(scored)
        start = self._next_turn(scored, seat)
        stays = jnp.where(over, self.keeps.partial + state.dice, start.kept)
        return After(
            State(*(jnp.where(over, one, other) for one, other in zip(scored, start.state, strict=True))),
            stays,
        )

    def _next_turn(self, state: State, seat: Array) -> After:
        left = jnp.int32(self.family.rolls - 1)
        return After(
            state._replace(dice=jnp.int32(0), left=left, first=jnp.bool_(True), mover=seat), jnp.int32(0)
        )

    # Decisions.

    def to_move(self, state: State) -> Array:
        return (jnp.arange(self.players) == state.mover) & ~self.done(state)

    def legal(self, state: State) -> Array:
        keeping = state.left > 0
        kept = keeping & jnp.asarray(arrays(self.family).contains)[state.dice]
        scored = ~keeping & (state.sheet[state.mover] == OPEN)
        return self.to_move(state)[:, None] & jnp.concatenate([kept, scored])[None, :]

    def done(self, state: State) -> Array:
        return ~(state.sheet == OPEN).any()

    def scores(self, state: State) -> Array:
        """int32[P]: points so far, the upper bonus included once it is earned."""
        points = jnp.maximum(state.sheet, 0)
        upper = jnp.where(jnp.asarray(arrays(self.family).upper), points, 0).sum(axis=1)
        bonus = (
            self.family.upper_bonus * (upper >= self.family.upper_target) if self.family.upper_bonus else 0
        )
        return (points.sum(axis=1) + bonus).astype(jnp.int32)

    def returns(self, state: State) -> Array:
        scores = self.scores(state)
        return jnp.where(self.done(state), winners_share(scores == scores.max()), 0.0)

    def view(self, state: State, seat: Array) -> State:
        """Everything is on the table."""
        return state

    def state_of(self, view: State) -> State:
        return State(*view)

    # Text: each seat's sheet, `-` where open; the dice; re-rolls left, `*` on the first roll; the player to move.
    # `-,6,-,-,-,-,-,30,-,-/-,-,-,-,-,-,20,-,-,- 13345 2* 1`

    def write(self, state: State) -> str:
        sheets = "/".join(
            ",".join("-" if points == OPEN else str(points) for points in seat)
            for seat in np.asarray(state.sheet).tolist()
        )
        star = "*" if bool(state.first) else ""
        dice = "".join(map(str, self.keeps.rolls[int(state.dice)]))
        return f"{sheets} {dice} {int(state.left)}{star} {int(state.mover) + 1}"

    def read(self, text: str) -> State:
        words = text.split()
        if len(words) != 4:
            raise ValueError(f"{text!r}: wanted sheets, dice, re-rolls left and the player to move")
        sheets, dice, left, player = words
        sheet = [self._read_sheet(part) for part in sheets.split("/")]
        if len(sheet) != self.players:
            raise ValueError(f"{text!r}: {len(sheet)} sheets for {self.players} players")
        number = left.rstrip("*")
        if not number.isdecimal() or int(number) >= self.family.rolls:
            raise ValueError(
                f"{text!r}: re-rolls left are 0 to {self.family.rolls - 1}, with * on the first roll"
            )
        if not player.isdecimal() or not 1 <= int(player) <= self.players:
            raise ValueError(f"{text!r}: the player to move is 1 to {self.players}, not {player!r}")
        return State(
            jnp.asarray(sheet, jnp.int32),
            jnp.int32(self.keeps.full(self.read_dice(dice, full=True))),
            jnp.int32(int(number)),
            jnp.bool_(left.endswith("*")),
            jnp.int32(int(player) - 1),
        )

    def _read_sheet(self, text: str) -> list[int]:
        parts = text.split(",")
        if len(parts) != len(self.family.categories):
            raise ValueError(f"{text!r}: a sheet has {len(self.family.categories)} entries, not {len(parts)}")
        if not all(part == "-" or part.isdecimal() for part in parts):
            raise ValueError(f"{text!r}: entries are points, or - where a category is open")
        return [OPEN if part == "-" else int(part) for part in parts]

    def read_dice(self, text: str, full: bool = False) -> tuple[int, ...]:
        """Dice from `13345` or `1-3-3-4-5`, in ascending order; all of them if `full`."""
        dice = tuple(sorted(int(sign) for sign in text if sign.isdecimal()))
        strange = set(text) - set("0123456789-")
        if strange or any(not 1 <= die <= self.family.faces for die in dice):
            raise ValueError(f"{text!r}: dice show 1 to {self.family.faces}")
        if len(dice) > self.family.dice or (full and len(dice) != self.family.dice):
            raise ValueError(f"{text!r}: {len(dice)} dice; {self.family.name} has {self.family.dice}")
        return dice

    def write_action(self, action: int) -> str:
        """`keep 2-3-4`, `keep nothing`, or the name of a category."""
        if action >= len(self.keeps.multisets):
            return self.family.names[action - len(self.keeps.multisets)]
        return f"keep {'-'.join(map(str, self.keeps.multisets[action])) or 'nothing'}"

    def read_action(self, text: str) -> int:
        text = text.strip().lower()
        if text in self.family.names:
            return len(self.keeps.multisets) + self.family.index(text)
        word, _, dice = text.partition(" ")
        if word != "keep" or not dice.strip():
            raise ValueError(
                f"{text!r} is neither `keep 2-3-4`, `keep nothing` nor one of {', '.join(self.family.names)}"
            )
        return self.keeps.index[() if dice.strip() == "nothing" else self.read_dice(dice.strip())]

    def why_not(self, state: State, seat: int, action: int) -> str:
        if bool(self.done(state)):
            return "the game is over"
        if seat != int(state.mover):
            return f"it is player {int(state.mover) + 1}'s turn"
        name = self.write_action(action)
        if action < len(self.keeps.multisets):
            if int(state.left) == 0:
                return f"{name}: no re-roll is left, a category must be scored"
            return f"{name}: the dice are {'-'.join(map(str, self.keeps.rolls[int(state.dice)]))}"
        if int(state.left) > 0:
            return f"{name}: first say which dice to keep; keeping all of them goes to scoring"
        return f"{name} is already used"

    def draw(self, state: State, seat: int | None) -> dict[str, Any]:
        return {
            "kind": "dice",
            "game": self.family.name,
            "categories": list(self.family.names),
            "sheets": [
                [None if points == OPEN else points for points in row]
                for row in np.asarray(state.sheet).tolist()
            ],
            "scores": np.asarray(self.scores(state)).tolist(),
            "dice": list(self.keeps.rolls[int(state.dice)]),
            "left": int(state.left),
            "worth": [int(row[int(state.dice)]) for row in arrays(self.family).points[int(state.first)]],
            "mover": int(state.mover),
        }


@dataclass(frozen=True)
class Generala(DiceGame):
    """Ten categories, five dice."""

    first_roll_bonus: bool = False
    """Five more points for escalera, full house and four of a kind made on the first roll."""
    players: int = 2
    """Seats, 2 to 8."""

    @cached_property
    def family(self) -> Family:
        return families.generala(self.first_roll_bonus)


@dataclass(frozen=True)
class Yacht(DiceGame):
    """Twelve categories, five dice."""

    players: int = 2
    """Seats, 2 to 8."""

    @cached_property
    def family(self) -> Family:
        return families.yacht()


@dataclass(frozen=True)
class Crag(DiceGame):
    """Thirteen categories, three dice, one re-roll."""

    players: int = 2
    """Seats, 2 to 8."""

    @cached_property
    def family(self) -> Family:
        return families.crag()


@dataclass(frozen=True)
class Yatzy(DiceGame):
    """Fifteen categories, five dice."""

    upper_bonus: bool = True
    """Fifty more points for 63 in ones to sixes."""
    players: int = 2
    """Seats, 2 to 8."""

    @cached_property
    def family(self) -> Family:
        return families.yatzy(self.upper_bonus)


@dataclass(frozen=True)
class Variant(DiceGame):
    """Rules of one's own: `Variant(family_from_toml(path))`. Not in the table of games, so replays cannot name it."""

    rules: Family
    players: int = 2
    """Seats, 2 to 8."""

    @cached_property
    def family(self) -> Family:
        return self.rules

    def parameters(self) -> dict[str, Any]:
        return {"rules": self.rules.ruleset, "players": self.players}
