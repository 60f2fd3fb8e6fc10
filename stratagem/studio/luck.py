"""Where the luck of a game comes from: dice that the server has committed to, or a seed where there is no luck."""

from collections.abc import Callable
from typing import Any

from stratagem.core import play
from stratagem.protocols.fair_dice import FairDice, dice_of

Keys = Callable[[int], Any]  # the key of a turn; −1 is the opening


def fresh_dice(nonce: str) -> dict[str, Any]:
    """Dice that nobody knows yet, for a journal; `nonce` are the player's own words."""
    return FairDice.fresh().with_nonce(nonce).reveal()


def keys_of(seed: int, dice: dict[str, Any] | None) -> Keys:
    """The keys of every turn of a game, from what its journal holds."""
    if dice is None:
        return lambda turn: play.turn_key(seed, turn)
    return dice_of(dice).key
