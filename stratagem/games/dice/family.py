"""The family as data: dice, faces, rolls a turn, categories and bonuses.

A variant is a `Family` value or a small TOML file:

    name = "generala"
    dice = 5
    faces = 6
    rolls = 3
    [[categories]]
    name = "ones"
    fits = "face"
    value = 1
    [[categories]]
    name = "escalera"
    fits = "runs"
    runs = [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
    points = 20
    first_roll = 5

The ruleset hash is a digest of these numbers and of nothing else: same rules, same hash.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

Dice = tuple[int, ...]  # faces in ascending order

RULES_VERSION = 1
FACES = ("ones", "twos", "threes", "fours", "fives", "sixes")


@dataclass(frozen=True)
class Category:
    """One line of the score sheet: which dice fit it, and what they score."""

    name: str
    """The name a player would use."""
    fits: str
    """How dice are matched; one of `SCORING`."""
    value: int = 0
    """The face, the count or the total that `fits` asks for."""
    runs: tuple[Dice, ...] = ()
    """The straights that count, for `fits = "runs"`."""
    points: int = 0
    """Fixed points when the dice fit; 0 means the sum that `fits` describes."""
    first_roll: int = 0
    """Extra points when the dice fit on the first roll and are scored at once."""

    def __post_init__(self) -> None:
        if self.fits not in SCORING:
            raise ValueError(
                f"category {self.name}: fits must be one of {sorted(SCORING)}, got {self.fits!r}"
            )

    def score(self, dice: Dice, first: bool = False) -> int:
        """Points for these dice, zero when they do not fit; `first` if the first roll brought them."""
        worth = SCORING[self.fits](self, dice)
        if worth and self.points:
            worth = self.points
        return worth + self.first_roll if worth and first else worth


def _face(category: Category, dice: Dice) -> int:
    return category.value * dice.count(category.value)


def _runs(category: Category, dice: Dice) -> int:
    return sum(dice) if dice in category.runs else 0


def _full_house(category: Category, dice: Dice) -> int:
    return sum(dice) if sorted(Counter(dice).values()) in ([2, 3], [5]) else 0


def _equal(category: Category, dice: Dice) -> int:
    return max((category.value * face for face, n in Counter(dice).items() if n >= category.value), default=0)


def _pairs(category: Category, dice: Dice) -> int:
    pairs = sorted((face for face, n in Counter(dice).items() if n >= 2), reverse=True)[: category.value]
    return 2 * sum(pairs) if len(pairs) == category.value else 0


def _pairs_alike(category: Category, dice: Dice) -> int:
    pairs = sorted((face for face, n in Counter(dice).items() for _ in range(n // 2)), reverse=True)
    return 2 * sum(pairs[: category.value]) if len(pairs) >= category.value else 0


def _total(category: Category, dice: Dice) -> int:
    return sum(dice) if sum(dice) == category.value else 0


def _pair_total(category: Category, dice: Dice) -> int:
    return sum(dice) if sum(dice) == category.value and len(set(dice)) < len(dice) else 0


def _any(category: Category, dice: Dice) -> int:
    return sum(dice)


SCORING: dict[str, Callable[[Category, Dice], int]] = {
    "face": _face,  # value × how often it shows
    "runs": _runs,  # exactly one of the straights
    "full_house": _full_house,  # three and two, or five equal
    "equal": _equal,  # at least `value` equal dice; their sum
    "pairs": _pairs,  # `value` different pairs, the highest; their sum
    "pairs_alike": _pairs_alike,  # the same, but four equal dice are two pairs
    "total": _total,  # the dice add up to `value`
    "pair_total": _pair_total,  # the same, with a pair among them
    "any": _any,  # everything fits; the sum
}


@dataclass(frozen=True)
class Family:
    """One game of the family."""

    name: str
    categories: tuple[Category, ...]
    dice: int = 5
    faces: int = 6
    rolls: int = 3
    """Rolls a turn, the first one included."""
    upper_target: int = 0
    """Points in the face categories that earn `upper_bonus`."""
    upper_bonus: int = 0
    """The bonus itself; 0 switches it off."""

    def __post_init__(self) -> None:
        names = [category.name for category in self.categories]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: two categories share a name in {names}")
        if min(self.dice, self.faces, self.rolls, len(names)) < 1:
            raise ValueError(f"{self.name}: dice, faces, rolls and categories must each be at least 1")

    @cached_property
    def ruleset(self) -> str:
        """Sixteen hex digits that change when, and only when, the rules do."""
        rules: dict[str, Any] = {key: value for key, value in asdict(self).items() if key != "name"}
        rules["version"] = RULES_VERSION
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(category.name for category in self.categories)

    @property
    def has_first_roll_bonus(self) -> bool:
        return any(category.first_roll for category in self.categories)

    def index(self, name: str) -> int:
        """Position of a category on the sheet."""
        if name not in self.names:
            raise ValueError(f"{self.name} has no category {name!r}; it has {', '.join(self.names)}")
        return self.names.index(name)

    def reduced(self, *names: str) -> Family:
        """The same game with only these categories, in this order."""
        kept = tuple(self.categories[self.index(name)] for name in names)
        return replace(self, name=f"{self.name}[{','.join(names)}]", categories=kept)


def _upper(faces: int = 6) -> tuple[Category, ...]:
    return tuple(Category(FACES[face - 1], "face", face) for face in range(1, faces + 1))


LOW, HIGH = (1, 2, 3, 4, 5), (2, 3, 4, 5, 6)


def generala(first_roll_bonus: bool = False) -> Family:
    """Vanilla Generala, or the variant that pays 5 more for three combinations made on the first roll."""
    extra = 5 if first_roll_bonus else 0
    special = (
        Category("escalera", "runs", runs=(LOW, HIGH), points=20, first_roll=extra),
        Category("full_house", "full_house", points=30, first_roll=extra),
        Category("four_of_a_kind", "equal", 4, points=40, first_roll=extra),
        Category("generala", "equal", 5, points=50),
    )
    return Family("generala", _upper() + special)


def yacht() -> Family:
    special = (
        Category("full_house", "full_house"),
        Category("four_of_a_kind", "equal", 4),
        Category("little_straight", "runs", runs=(LOW,), points=30),
        Category("big_straight", "runs", runs=(HIGH,), points=30),
        Category("choice", "any"),
        Category("yacht", "equal", 5, points=50),
    )
    return Family("yacht", _upper() + special)


def crag() -> Family:
    special = (
        Category("odd_straight", "runs", runs=((1, 3, 5),), points=20),
        Category("even_straight", "runs", runs=((2, 4, 6),), points=20),
        Category("low_straight", "runs", runs=((1, 2, 3),), points=20),
        Category("high_straight", "runs", runs=((4, 5, 6),), points=20),
        Category("three_of_a_kind", "equal", 3, points=25),
        Category("thirteen", "total", 13, points=26),
        Category("crag", "pair_total", 13, points=50),
    )
    return Family("crag", _upper() + special, dice=3, rolls=2)


def yatzy(upper_bonus: bool = True, pairs_alike: bool = False) -> Family:
    """Yatzy; the upper bonus of 50 at 63 is off in the two-player solution.

    With `pairs_alike` four equal dice count as two pairs, which is how Heled counts positions.
    """
    special = (
        Category("one_pair", "pairs", 1),
        Category("two_pairs", "pairs_alike" if pairs_alike else "pairs", 2),
        Category("three_of_a_kind", "equal", 3),
        Category("four_of_a_kind", "equal", 4),
        Category("small_straight", "runs", runs=(LOW,), points=15),
        Category("large_straight", "runs", runs=(HIGH,), points=20),
        Category("full_house", "full_house"),
        Category("chance", "any"),
        Category("yatzy", "equal", 5, points=50),
    )
    bonus = 50 if upper_bonus else 0
    return Family("yatzy", _upper() + special, upper_target=63 if bonus else 0, upper_bonus=bonus)


FAMILIES: dict[str, Callable[..., Family]] = {
    "generala": generala,
    "yacht": yacht,
    "crag": crag,
    "yatzy": yatzy,
}


def family_from_mapping(rules: Mapping[str, Any]) -> Family:
    """A family from parsed TOML; unknown keys are refused by name."""
    rules = dict(rules)
    lines = rules.pop("categories", ())
    try:
        categories = tuple(
            Category(**{**line, "runs": tuple(tuple(run) for run in line.get("runs", ()))}) for line in lines
        )
        return Family(categories=categories, **rules)
    except TypeError as error:
        raise ValueError(f"dice variant: {error}") from None


def family_from_toml(path: Path) -> Family:
    return family_from_mapping(tomllib.loads(path.read_text(encoding="utf-8")))
