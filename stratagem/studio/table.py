"""One game of the studio: who sits where, what happened, what each seat may see.

A table is plain and synchronous: it knows the rules and its journal, and nothing of sockets or of thinking.
"""

import hashlib
import hmac
import secrets
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from stratagem.core.errors import DamagedFile, IllegalAction, RulesetMismatch, StratagemError
from stratagem.core.game import Explaining, winners_share
from stratagem.games import make_game
from stratagem.protocols.replay import Replay
from stratagem.studio.choices import PERSON
from stratagem.studio.journal import Header, Journal
from stratagem.studio.luck import keys_of
from stratagem.studio.rules import Look, Rules, rules_of

MOVES_TOLD = 400  # of the history, to a client that joins


class NotYourSeat(StratagemError):
    """A client tried to act for a seat whose secret it does not have."""


class Stale(StratagemError):
    """An action was meant for another turn than the one that is on."""


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Table:
    """A game under way, or over."""

    def __init__(self, header: Header, rules: Rules, journal: Journal):
        self.header, self.rules, self.journal = header, rules, journal
        self.keys = keys_of(header.seed, header.dice)
        self.actions: list[list[int]] = []
        self.resigned: list[int] = []
        self.seconds = [0.0] * rules.spec.seats
        self.pace = header.pace
        self.since = time.monotonic()
        self.rematch = ""
        self._stand(rules.first(self.keys(-1)))

    # Beginning and coming back.

    @classmethod
    def start(
        cls,
        rules: Rules,
        players: list[str],
        seed: int,
        pace: float,
        folder: Path,
        dice: dict[str, Any] | None = None,
    ) -> "tuple[Table, list[str]]":
        """A new game: (the table, the secret of every seat; empty for agents)."""
        tokens = [secrets.token_urlsafe(18) if player == PERSON else "" for player in players]
        header = Header(
            id=secrets.token_urlsafe(12),
            game=rules.spec.title,
            ruleset=rules.spec.ruleset,
            players=players,
            keys=[hash_of(token) if token else "" for token in tokens],
            seed=seed,
            created=time.time(),
            pace=pace,
            dice=dice,
        )
        return cls(header, rules, Journal.start(folder, header)), tokens

    @classmethod
    def restore(cls, folder: Path, name: str) -> "Table":
        """A game from its journal, as far as it came."""
        journal, header, events = Journal.open(folder, name)
        game = make_game(header.game)
        if game.spec.ruleset != header.ruleset:
            raise RulesetMismatch(
                f"game {name} was played under ruleset {header.ruleset}; {header.game} has changed"
            )
        table = cls(header, rules_of(game), journal)
        try:
            turns, table.resigned = played(events)
            for row in turns:
                table._advance(row)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DamagedFile(f"{journal.path}: a line is not what it should be ({error})") from error
        if table.over and not any("over" in event for event in events):
            table._end()  # killed between the last move and the result
        return table

    # Facts.

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def turn(self) -> int:
        return len(self.actions)

    @property
    def over(self) -> bool:
        return bool(self.resigned) or bool(self.look.done)

    @property
    def movers(self) -> list[int]:
        return [] if self.over else np.flatnonzero(self.look.to_move).tolist()

    @property
    def simultaneous(self) -> bool:
        return self.rules.spec.dynamics == "simultaneous"

    @property
    def people(self) -> list[int]:
        """The seats at which people sit."""
        return [seat for seat, player in enumerate(self.header.players) if player == PERSON]

    @property
    def returns(self) -> list[float]:
        if self.resigned:
            stayed = jnp.asarray([seat not in self.resigned for seat in range(self.rules.spec.seats)])
            return np.asarray(winners_share(stayed)).tolist()
        return self.look.returns.tolist()

    def seats_of(self, tokens: list[str]) -> list[int]:
        """The seats that these secrets hold."""
        hashes = [hash_of(token) for token in tokens]
        return [
            seat
            for seat, key in enumerate(self.header.keys)
            if key and any(hmac.compare_digest(key, one) for one in hashes)
        ]

    def sees_all(self) -> bool:
        """Whether somebody without a seat may look: nothing is hidden, or nobody plays who could be told."""
        return self.rules.spec.information == "perfect" or self.over or not self.people

    # What can happen.

    def act(self, actions: dict[int, int]) -> None:
        """Every seat to move acts. On an IllegalAction nothing has happened."""
        if self.over:
            raise IllegalAction("the game is over")
        row = [actions.get(seat, -1) for seat in range(self.rules.spec.seats)]
        for seat in self.movers:
            self.check(seat, row[seat])
        row = [action if seat in self.movers else -1 for seat, action in enumerate(row)]
        state = self.rules.step(self.state, row, self.keys(self.turn))
        self._write({"actions": row})
        self.actions.append(row)
        self._stand(state)
        if self.over:
            self._end()

    def check(self, seat: int, action: int) -> None:
        """IllegalAction says why not."""
        legal = self.look.legal[seat]
        if 0 <= action < len(legal) and legal[action]:
            return
        game = self.rules.game
        if not 0 <= action < len(legal):
            why = f"actions are 0 to {len(legal) - 1}"
        elif isinstance(game, Explaining):
            why = game.why_not(self.state, seat, action)
        else:
            why = f"{self.rules.words(action)} is not possible now"
        raise IllegalAction(why)

    def undo(self, seat: int) -> None:
        """Take back everything since this seat's last decision, and that decision."""
        if self.simultaneous:
            raise IllegalAction("nothing can be taken back in a game that does not wait")
        if self.over:
            raise IllegalAction("the game is over; ask for a rematch")
        own = [turn for turn, row in enumerate(self.actions) if row[seat] >= 0]
        if not own:
            raise IllegalAction("you have not moved yet")
        self._write({"undo": self.turn - own[-1]})
        kept = self.actions[: own[-1]]
        self.actions = []
        self._stand(self.rules.first(self.keys(-1)))
        for row in kept:
            self._advance(row)

    def resign(self, seat: int) -> None:
        if self.over:
            raise IllegalAction("the game is over")
        self._write({"resigned": seat})
        self.resigned.append(seat)
        self._end()

    # What is shown.

    def drawing(self, seat: int | None) -> dict[str, Any]:
        return self.rules.draw(self.state, seat)

    def position(self, seats: list[int]) -> dict[str, Any]:
        """All that somebody at these seats may know now; nobody's seat sees all, where that is allowed."""
        seen = None if self.over or not seats else (self.movers_of(seats) or seats)[0]
        fog = self.rules.spec.information == "imperfect" and not self.over and bool(seats)
        last = self.actions[-1] if self.actions else []
        shown = [action if not fog or seat in seats else -1 for seat, action in enumerate(last)]
        return {
            "type": "state",
            "game": self.id,
            "turn": self.turn,
            "seat": seen,
            "drawing": self.drawing(seen),
            "movers": self.movers,
            "legal": {str(seat): self.choices(seat) for seat in self.movers_of(seats)},
            "last": [{"seat": seat, "action": action, "words": self.rules.words(action)}
                     for seat, action in enumerate(shown) if action >= 0],
            "over": self.over,
            "returns": self.returns if self.over else None,
            "resigned": self.resigned,
            "undo": any(row[seat] >= 0 for row in self.actions for seat in seats)
            and not self.over and not self.simultaneous and set(seats) == set(self.people),
            "pace": self.pace,
        }  # fmt: skip

    def movers_of(self, seats: list[int]) -> list[int]:
        return [seat for seat in self.movers if seat in seats]

    def choices(self, seat: int) -> list[int]:
        """The legal actions; in a game that does not wait the page works them out from the board."""
        return [] if self.simultaneous else np.flatnonzero(self.look.legal[seat]).tolist()

    def facts(self, seats: list[int]) -> dict[str, Any]:
        """What does not change during a game, and the moves so far."""
        fog = self.rules.spec.information == "imperfect" and not self.over
        told = [] if fog else self.actions[-MOVES_TOLD:]
        return {
            "type": "joined",
            "game": self.id,
            "title": self.header.game,
            "name": self.rules.spec.name,
            "parameters": dict(self.rules.spec.parameters),
            "players": self.header.players,
            "seats": seats,
            "simultaneous": self.simultaneous,
            "fog": self.rules.spec.information == "imperfect",
            "first": self.turn - len(told),
            "moves": [[[seat, self.rules.words(action)] for seat, action in enumerate(row) if action >= 0]
                      for row in told],
            "rematch": self.rematch,
            "commitment": self.header.dice["commitment"] if self.header.dice else None,
        }  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """A line in a list of games."""
        return {
            "id": self.id,
            "game": self.header.game,
            "players": self.header.players,
            "created": self.header.created,
            "turns": self.turn,
            "over": self.over,
            "returns": self.returns if self.over else None,
        }

    def replay(self) -> Replay:
        """The finished game for everybody to check."""
        if not self.over:
            raise IllegalAction("a game can be replayed when it is over; its dice are secret until then")
        spec = self.rules.spec
        return Replay(
            game=spec.name,
            parameters=dict(spec.parameters),
            ruleset=spec.ruleset,
            seats=list(self.header.players),
            actions=self.actions,
            returns=self.returns,
            seed=None if self.header.dice else self.header.seed,
            fair=self.header.dice,
            resigned=self.resigned,
            seconds=[round(spent, 3) for spent in self.seconds],
        )

    # Inside.

    def _stand(self, state: Any) -> None:
        self.state = state
        self.look: Look = self.rules.look(state)
        self.since = time.monotonic()

    def _advance(self, row: list[int]) -> None:
        """A turn that is in the journal already."""
        for seat in self.movers:
            self.check(seat, row[seat])
        self._stand(self.rules.step(self.state, row, self.keys(self.turn)))
        self.actions.append(list(row))

    def _write(self, event: dict[str, Any], settled: bool = False) -> None:
        self.journal.add(event, settled)

    def _end(self) -> None:
        """The result goes to the journal, and the game becomes a replay beside it."""
        self._write({"over": self.returns}, settled=True)
        self.replay().save(self.journal.path.with_suffix(".json"))


def played(events: list[dict[str, Any]]) -> tuple[list[list[int]], list[int]]:
    """(the turns that stand, the seats that gave up), from the lines of a journal."""
    turns: list[list[int]] = []
    resigned: list[int] = []
    for event in events:
        if "actions" in event:
            turns.append(event["actions"])
        elif "undo" in event:
            del turns[len(turns) - event["undo"] :]
        elif "resigned" in event:
            resigned.append(event["resigned"])
    return turns, resigned
