"""Replays: a game as one JSON object that anyone can play through again and check.

{"format": "stratagem-replay", "version": 1,
 "game": "corso", "parameters": {"width": 3, …}, "ruleset": "9f…",
 "seed": 7,                      the dice follow from it; null if they fell elsewhere
 "start": null,                  or the text form of another first position
 "outcomes": null,               or every outcome of chance, the opening's first
 "fair": {…},                    only with honest dice, in place of a seed: see fair_dice.py
 "seats": ["random", "mm:depth=3"],
 "actions": [[4, -1], [-1, 0]],  per turn and seat; −1 for a seat that was not to move
 "resigned": [],                 seats that gave up after the last action
 "returns": [1.0, -1.0],
 "seconds": [0.1, 2.5]}          thinking time per seat
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core import play
from stratagem.core.errors import DamagedFile, IllegalAction, RulesetMismatch, StratagemError
from stratagem.core.files import read_json, write_json
from stratagem.core.game import Chance, Game, Textual, require, winners_share
from stratagem.core.registry import read_options
from stratagem.games import GAMES
from stratagem.protocols.fair_dice import check_form, dice_of

FORMAT = "stratagem-replay"
VERSION = 1
TOLERANCE = 1e-5


class BadOutcome(DamagedFile):
    """A recorded outcome of chance is missing, impossible, or not the one that the dice give."""


@dataclass(frozen=True)
class Replay:
    """One recorded game."""

    game: str
    parameters: dict[str, Any]
    ruleset: str
    seats: list[str]
    actions: list[list[int]]
    returns: list[float]
    seed: int | None = None
    start: str | None = None
    outcomes: list[int] | None = None
    resigned: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    fair: dict[str, Any] | None = None
    format: str = FORMAT
    version: int = VERSION

    def save(self, path: Path | str) -> None:
        write_json(path, self.as_json())

    def as_json(self) -> dict[str, Any]:
        """The content of the file."""
        content = asdict(self)
        if self.fair is None:
            del content["fair"]
        return content

    def key(self, turn: int) -> Array:
        """The key of one moment of the game; −1 is the opening."""
        if self.fair is not None:
            return dice_of(self.fair).key(turn)
        return play.turn_key(self.seed or 0, turn)

    @property
    def has_keys(self) -> bool:
        """Whether it says how luck fell."""
        return self.seed is not None or self.fair is not None

    def rules(self) -> Game:
        """The game that it was played under; RulesetMismatch if those rules are not the ones in force."""
        kind = GAMES.row(self.game).load()
        texts = {key: str(value).lower() if isinstance(value, bool) else str(value)
                 for key, value in self.parameters.items()}  # fmt: skip
        game = kind(**read_options(f"game {self.game}", kind, texts))
        if game.spec.ruleset != self.ruleset:
            raise RulesetMismatch(
                f"the replay was made under ruleset {self.ruleset}; {game.spec.title} is {game.spec.ruleset} now"
            )
        return game


def load(path: Path | str) -> Replay:
    """Read a replay, checking its form; `verify` checks its content."""
    return parse(read_json(path), str(path))


def parse(content: Any, name: str) -> Replay:
    """A replay from decoded JSON; `name` is for messages."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DamagedFile(f'{name}: not a replay (no "format": "{FORMAT}")')
    if content.get("version") != VERSION:
        raise DamagedFile(f"{name}: replay version {content.get('version')}; this program reads {VERSION}")
    kinds: dict[str, type | tuple[type, ...]] = {
        "game": str,
        "parameters": dict,
        "ruleset": str,
        "seats": list,
        "actions": list,
        "returns": list,
        "seed": (int, type(None)),
        "start": (str, type(None)),
        "outcomes": (list, type(None)),
        "resigned": list,
        "seconds": list,
    }
    for key, kind in kinds.items():
        if key not in content:
            raise DamagedFile(f"{name}: {key!r} is missing")
        if not isinstance(content[key], kind):
            raise DamagedFile(f"{name}: {key!r} has the wrong type, {type(content[key]).__name__}")
    unknown = set(content) - set(kinds) - {"format", "version", "fair"}
    if unknown:
        raise DamagedFile(f"{name}: unknown entries {', '.join(sorted(unknown))}")
    seats = len(content["seats"])
    for turn, row in enumerate(content["actions"]):
        if not isinstance(row, list) or len(row) != seats or not all(type(action) is int for action in row):
            raise DamagedFile(f"{name}: turn {turn + 1} is not a list of {seats} whole numbers")
    for key in ("returns", "seconds"):
        if not all(isinstance(value, int | float) for value in content[key]):
            raise DamagedFile(f"{name}: {key!r} must hold numbers")
    for key in ("resigned", "outcomes"):
        if not all(type(value) is int for value in content[key] or []):
            raise DamagedFile(f"{name}: {key!r} must hold whole numbers")
    if content.get("fair") is not None:
        try:
            check_form(content["fair"])
        except DamagedFile as error:
            raise DamagedFile(f"{name}: {error}") from None
        if content["seed"] is not None:
            raise DamagedFile(f"{name}: the dice come from 'seed' or from 'fair', not from both")
    return Replay(**content)


class Functions(NamedTuple):
    """What playing through asks of a game, compiled."""

    init: Callable[..., Any]
    step: Callable[..., Any]
    done: Callable[..., Any]
    illegal: Callable[..., Any]


@lru_cache(maxsize=32)
def _functions(game: Any) -> Functions:
    illegal = jax.jit(lambda state, actions: play.illegal(game, state, actions).any())
    return Functions(jax.jit(game.init), jax.jit(game.step), jax.jit(game.done), illegal)


@lru_cache(maxsize=32)
def _resolve(game: Any) -> Callable[..., Any]:
    return jax.jit(game.resolve)


def positions(replay: Replay, game: Game | None = None) -> Iterator[Any]:
    """Every state, from the first to the last, checking each action. IllegalAction names the turn."""
    game = game or replay.rules()
    if len(replay.seats) != game.spec.seats:
        raise DamagedFile(f"{replay.game} has {game.spec.seats} seats, the replay {len(replay.seats)}")
    if replay.seed is not None and not 0 <= replay.seed < 2**31:
        raise DamagedFile(f"a seed is 0 to 2³¹ − 1, not {replay.seed}")
    functions = _functions(game)
    state = _first(replay, game)
    yield state
    for turn, actions in enumerate(replay.actions):
        if bool(functions.done(state)):
            raise DamagedFile(
                f"the game is over after turn {turn}, but {len(replay.actions) - turn} more follow"
            )
        known = jnp.asarray([min(max(action, -1), game.spec.actions) for action in actions], jnp.int32)
        if bool(functions.illegal(state, known)):
            try:
                play.check(game, state, actions)
            except IllegalAction as error:
                raise IllegalAction(f"turn {turn + 1}: {error}") from None
        state = _next(replay, game, state, known, turn)
        yield state


def _first(replay: Replay, game: Any) -> Any:
    if replay.start is not None:
        require(game, Textual, "a replay with a start position")
        try:
            return game.read(replay.start)
        except ValueError as error:
            raise DamagedFile(f"start position: {error}") from None

    def rolled() -> Any:
        return _functions(game).init(replay.key(-1))

    if isinstance(game, Chance) and replay.outcomes is not None:
        return _fall(replay, game, game.opening(), -1, rolled)
    if not replay.has_keys:
        raise DamagedFile("a replay needs a seed, or a start position, or the outcomes of chance")
    return rolled()


def _next(replay: Replay, game: Any, state: Any, actions: Any, turn: int) -> Any:
    def rolled() -> Any:
        return _functions(game).step(state, actions, replay.key(turn))

    if replay.outcomes is not None and isinstance(game, Chance):
        return _fall(replay, game, game.afterstate(state, actions), turn, rolled)
    if not replay.has_keys and game.spec.chance == "dice":
        raise DamagedFile("a replay of a game with dice needs a seed or the outcomes of chance")
    return rolled()


def _fall(replay: Replay, game: Any, after: Any, turn: int, rolled: Callable[[], Any]) -> Any:
    """The state after the recorded outcome, which must be possible, and lead where the dice do if they are known."""
    assert replay.outcomes is not None
    place = turn + (1 if replay.start is None else 0)
    if place >= len(replay.outcomes):
        raise BadOutcome(f"turn {turn + 1}: no outcome of chance is recorded")
    outcome = replay.outcomes[place]
    chances = np.asarray(game.outcomes(after))
    if not 0 <= outcome < len(chances) or chances[outcome] <= 0:
        raise BadOutcome(f"turn {turn + 1}: outcome {outcome} of chance cannot happen here")
    state = _resolve(game)(after, outcome)
    if replay.has_keys and not _same(state, rolled()):
        source = "the secret" if replay.fair is not None else f"seed {replay.seed}"
        raise BadOutcome(f"turn {turn + 1}: outcome {outcome} of chance is not what {source} gives")
    return state


def _same(one: Any, other: Any) -> bool:
    return all(
        np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def result(replay: Replay, game: Game, final: Any) -> list[float]:
    """The returns that the replay should state."""
    if replay.resigned:
        if not all(0 <= seat < game.spec.seats for seat in replay.resigned):
            raise DamagedFile(f"seats {replay.resigned} resigned, but seats are 0 to {game.spec.seats - 1}")
        stayed = jnp.asarray([seat not in replay.resigned for seat in range(game.spec.seats)])
        return np.asarray(winners_share(stayed)).tolist()
    if not bool(game.done(final)):
        raise DamagedFile(f"the game is not over after the last of {len(replay.actions)} turns")
    return np.asarray(game.returns(final)).tolist()


def verify(replay: Replay) -> Any:
    """Play it through and compare the result; returns the final state, raises a StratagemError otherwise."""
    game = replay.rules()
    final: Any = None
    for state in positions(replay, game):
        final = state
    expected = result(replay, game, final)
    if len(expected) != len(replay.returns) or any(
        abs(one - other) > TOLERANCE for one, other in zip(expected, replay.returns, strict=True)
    ):
        raise StratagemError(f"the replay claims {replay.returns}, but its actions lead to {expected}")
    return final
