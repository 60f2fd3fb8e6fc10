"""What a game is: pure functions from states and actions to states.

Axes, everywhere, one letter each: T time, B games in a batch, P seats, A actions, H W board, C channels.
Code is for a single game; `jax.vmap` makes many of it at the edge.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from stratagem.core.errors import Unsupported

S = TypeVar("S")
View = Any  # a pytree of arrays; what it holds is the game's business
Parameter = int | float | str | bool


@dataclass(frozen=True)
class GameSpec:
    """The facts about a game that an algorithm may ask for before it starts."""

    name: str
    seats: int
    """P, the number of players."""
    actions: int
    """A, the size of the action index; which of them are legal depends on the state."""
    longest: int
    """No game takes more steps than this."""
    dynamics: Literal["alternating", "simultaneous"] = "alternating"
    """Whether at most one seat moves at a time."""
    chance: Literal["none", "setup", "dice"] = "none"
    """Where luck enters: nowhere, only in `init`, or in any step."""
    information: Literal["perfect", "imperfect"] = "perfect"
    """Whether every seat sees everything."""
    version: int = 1
    """Of the rules as coded; goes up when the same actions can lead to another result."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)
    """What distinguishes this variant, as JSON can hold it."""

    @property
    def ruleset(self) -> str:
        """Sixteen hex digits that stand for these rules: same digits, same game."""
        facts = {"name": self.name, "version": self.version, "parameters": dict(self.parameters)}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """The name with its parameters, as the command line takes it: `corso:width=5,height=5`."""
        options = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}:{options}" if options else self.name


@runtime_checkable
class Game(Protocol[S]):
    """The rules of one game with its parameters fixed. Implementations are frozen dataclasses.

    Nothing is drawn from the state: keys come in, so that a planner cannot peek at future dice.
    """

    @property
    def spec(self) -> GameSpec: ...

    def __hash__(self) -> int: ...

    def init(self, key: Array) -> S:
        """The state in which a game starts."""

    def to_move(self, state: S) -> Array:
        """bool[P]: the seats that must act now; none when the game is over."""

    def legal(self, state: S) -> Array:
        """bool[P, A]: what each seat may do now; all false for a seat that is not to move."""

    def step(self, state: S, actions: Array, key: Array) -> S:
        """The next state. `actions` is int32[P]; seats that are not to move are ignored.

        Defined for legal actions in unfinished games; `stratagem.core.play` guards the rest.
        """

    def returns(self, state: S) -> Array:
        """float32[P]: zero until done, then +1 for a win; sums to zero."""

    def done(self, state: S) -> Array:
        """bool: whether the game is over."""

    def view(self, state: S, seat: Array) -> View:
        """All that `seat` may know: the only thing an agent looks at."""


@runtime_checkable
class Perfect(Protocol):
    """A perfect-information game, whose view holds the whole state, so that a planner can search from it."""

    def state_of(self, view: View) -> Any: ...


@runtime_checkable
class Hidden(Protocol):
    """An imperfect-information game that can say what a seat cannot tell apart."""

    def disguise(self, state: Any, seat: Array, key: Array) -> Any:
        """Another state, drawn at random, in which `seat` has the same view and the same legal actions."""


@runtime_checkable
class Chance(Protocol):
    """Luck made explicit; `ChanceSteps` derives `init` and `step` from it.

    `after` is the state between an action and the fall of the dice.
    """

    def opening(self) -> Any:
        """The afterstate from which a game starts."""

    def afterstate(self, state: Any, actions: Array) -> Any: ...

    def outcomes(self, after: Any) -> Array:
        """float32[K]: the probability of each outcome; K is fixed, impossible ones have zero."""

    def resolve(self, after: Any, outcome: Array) -> Any: ...


class Symmetries(NamedTuple):
    """A finite group, acting on actions and on seats. Element 0 is the identity."""

    actions: Array  # int32[G, A]: action a becomes actions[g, a]
    seats: Array  # int32[G, P]: seat p becomes seats[g, p]
    product: Array  # int32[G, G]: first h, then g, is product[g, h]


@runtime_checkable
class Symmetric(Protocol):
    """A game that looks the same from several sides."""

    def symmetries(self) -> Symmetries: ...

    def turn_state(self, state: Any, g: Array) -> Any: ...

    def turn_view(self, view: View, g: Array) -> View:
        """Equals the view, by the turned seat, of the turned state."""


@runtime_checkable
class Textual(Protocol):
    """Positions and actions that a person can read and type. Host side only."""

    def write(self, state: Any) -> str:
        """One line; `read(write(state))` is `state`."""

    def read(self, text: str) -> Any:
        """Raises ValueError saying what is wrong with the text."""

    def write_action(self, action: int) -> str: ...

    def read_action(self, text: str) -> int: ...


@runtime_checkable
class Drawable(Protocol):
    """What a board on a screen needs. Host side only."""

    def draw(self, state: Any, seat: int | None) -> dict[str, Any]:
        """A JSON object for the drawing; `seat` limits it to what that seat may see."""


@runtime_checkable
class Scored(Protocol):
    """A game that counts points on the way, so that a greedy player makes sense."""

    def scores(self, state: Any) -> Array:
        """int32[P] or float32[P]: the points of each seat now."""


@runtime_checkable
class Sampling(Protocol):
    """A game that finds a uniformly random legal action faster than through `legal`."""

    def sample(self, state: Any, points: Array) -> Array:
        """int32[P] from float32[P] in [0, 1): for each seat to move a legal action, uniform if its point is."""


@runtime_checkable
class Listing(Protocol):
    """A game with so many actions that the few legal ones are worth a list of their own."""

    def listed(self, state: Any) -> Array:
        """int32[L]: the legal actions of the seat to move, each once, in fixed order with gaps of −1; L is fixed."""


@runtime_checkable
class Roles(Protocol):
    """A game whose seats have different jobs, dealt out when it starts."""

    @property
    def role_names(self) -> tuple[str, ...]: ...

    def roles(self, state: Any) -> Array:
        """int32[P]: which role each seat has, by its place among the names."""


@runtime_checkable
class Explaining(Protocol):
    """Says why an action is not legal. Host side only."""

    def why_not(self, state: Any, seat: int, action: int) -> str: ...


@runtime_checkable
class Truncating(Protocol):
    """A game with a cap on turns: a capped game is over without having been decided."""

    def truncated(self, state: Any) -> Array: ...


def require(game: Game, capability: type, purpose: str) -> None:
    """Refuse a game that lacks a capability, saying what for."""
    if not isinstance(game, capability):
        name = capability.__name__
        raise Unsupported(f"{purpose} needs a game that is {name}; {game.spec.name} is not")


def winners_share(winners: Array) -> Array:
    """float32[P] from bool[P]: the returns when `winners` share a win; sums to zero, a lone winner gets +1.

    With two seats that is +1, 0, −1. With more, a loser gets −1/(P − 1). If all win, or none, all get zero.
    """
    seats = winners.shape[0]
    share = winners / jnp.maximum(winners.sum(), 1)
    fair = (share - 1 / seats) * (seats / (seats - 1))
    return jnp.where(winners.any(), fair, 0.0).astype(jnp.float32)


class ChanceSteps:
    """Derives `init` and `step` from the `Chance` methods of the class that inherits it."""

    def init(self: Any, key: Array) -> Any:
        return draw(self, self.opening(), key)

    def step(self: Any, state: Any, actions: Array, key: Array) -> Any:
        return draw(self, self.afterstate(state, actions), key)


def draw(game: Any, after: Any, key: Array) -> Any:
    """Let the dice fall."""
    return game.resolve(after, draw_outcome(game, after, key))


def draw_outcome(game: Any, after: Any, key: Array) -> Array:
    """int32: which outcome the dice give under this key."""
    cumulative = jnp.cumsum(game.outcomes(after))
    point = jax.random.uniform(key) * cumulative[-1]
    return jnp.sum(cumulative <= point).astype(jnp.int32)
