"""Honest dice: luck that was fixed before the game, shown as a hash then, and revealed at the end.

The server draws 32 secret bytes and shows their SHA-256, the commitment. The player may add a nonce of their own. All
luck of turn t (−1 is the opening) comes from HMAC-SHA256(secret, "stratagem dice 1\\n{t}\\n{nonce}"): its first eight
bytes are the two words of the JAX key that the rules are given. So the server cannot choose the dice after it has seen
the nonce, nobody can tell the next roll from those that fell, and whoever knows the secret can check them all.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption, DamagedFile

SECRET_BYTES = 32
LONGEST_NONCE = 200


@dataclass(frozen=True, repr=False)
class FairDice:
    """The dice of one game."""

    secret: bytes
    nonce: str = ""

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:
            raise BadOption(f"the secret of honest dice has {SECRET_BYTES} bytes, not {len(self.secret)}")
        if len(self.nonce) > LONGEST_NONCE:
            raise BadOption(f"a nonce has up to {LONGEST_NONCE} signs, not {len(self.nonce)}")
        try:
            self.nonce.encode()
        except UnicodeEncodeError:
            raise BadOption("a nonce is text that UTF-8 can hold") from None

    def __repr__(self) -> str:
        return f"FairDice({self.commitment})"  # a log must not tell the secret

    @classmethod
    def fresh(cls) -> "FairDice":
        """Dice that nobody knows yet."""
        return cls(secrets.token_bytes(SECRET_BYTES))

    @property
    def commitment(self) -> str:
        """64 hex digits, to be shown before the game."""
        return hashlib.sha256(self.secret).hexdigest()

    def with_nonce(self, nonce: str) -> "FairDice":
        """The same secret with the player's words; before the first key is used."""
        return replace(self, nonce=nonce)

    def key(self, turn: int) -> Array:
        """The JAX key of one moment of the game: turn −1 is `init`, turn t the t-th step."""
        message = f"stratagem dice 1\n{turn}\n{self.nonce}".encode()
        digest = hmac.new(self.secret, message, hashlib.sha256).digest()
        words = np.frombuffer(digest[:8], ">u4").astype(np.uint32)
        return jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")

    def sealed(self) -> dict[str, Any]:
        """What a replay may say while the game goes on."""
        return {"commitment": self.commitment, "nonce": self.nonce, "secret": None}

    def reveal(self) -> dict[str, Any]:
        """What the replay of a finished game says."""
        return {"commitment": self.commitment, "nonce": self.nonce, "secret": self.secret.hex()}


def dice_of(revealed: dict[str, Any]) -> FairDice:
    """The dice that a replay reveals; DamagedFile unless they are those that were committed to."""
    check_form(revealed)
    if revealed["secret"] is None:
        raise DamagedFile(
            "the secret of the honest dice is not revealed yet: ask for the replay of the finished game"
        )
    dice = FairDice(bytes.fromhex(revealed["secret"]), revealed["nonce"])
    if dice.commitment != revealed["commitment"]:
        raise DamagedFile(
            f"the dice are not those that were committed to: the secret has the hash {dice.commitment}, "
            f"shown was {revealed['commitment']}"
        )
    return dice


def check_form(revealed: Any) -> None:
    """DamagedFile unless this is an object as `reveal` and `sealed` write it."""
    if not isinstance(revealed, dict) or set(revealed) != {"commitment", "nonce", "secret"}:
        raise DamagedFile("'fair' must be an object with commitment, nonce and secret")
    nonce = revealed["nonce"]
    if not isinstance(nonce, str) or len(nonce) > LONGEST_NONCE:
        raise DamagedFile(f"'fair': the nonce is text of up to {LONGEST_NONCE} signs")
    for name, may_miss in (("commitment", False), ("secret", True)):
        value = revealed[name]
        if value is None and may_miss:
            continue
        if (
            not isinstance(value, str)
            or len(value) != 2 * SECRET_BYTES
            or set(value) - set("0123456789abcdef")
        ):
            raise DamagedFile(f"'fair': the {name} is {2 * SECRET_BYTES} small hex digits")
