"""Where the luck of a game comes from: a seed, or dice that the server has committed to."""

from collections.abc import Callable
from typing import Any

from stratagem.core import play

Keys = Callable[[int], Any]  # the key of a turn; −1 is the opening


def keys_of(seed: int, dice: dict[str, Any] | None) -> Keys:
    """The keys of every turn of a game, from what its journal holds."""
    return lambda turn: play.turn_key(seed, turn)
