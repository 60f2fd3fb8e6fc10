"""Replays for the page: every position of a game as a drawing, from any seat or with nothing hidden."""

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from stratagem.core import play
from stratagem.core.errors import BadOption, DamagedFile, StratagemError
from stratagem.core.game import Textual
from stratagem.protocols import replay as replays
from stratagem.studio.choices import read_game
from stratagem.studio.journal import NoSuchGame
from stratagem.studio.rules import rules_of

MOST_TURNS = 5000
MOST_FRAMES = 200  # at a time
BRANCH_SEED = 0xB0A7  # dice of what might have been


class Show:
    """One replay, played through."""

    def __init__(self, replay: replays.Replay):
        options = ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}"
                           for key, value in replay.parameters.items())  # fmt: skip
        read_game(f"{replay.game}:{options}")  # no file of the page's choice is opened
        if len(replay.actions) > MOST_TURNS:
            raise BadOption(
                f"the studio shows games of at most {MOST_TURNS} turns, not {len(replay.actions)}"
            )
        self.replay, self.game = replay, replay.rules()
        self.states = list(replays.positions(replay, self.game))
        replays.result(replay, self.game, self.states[-1])

    def facts(self, name: str) -> dict[str, Any]:
        game: Any = self.game
        words = game.write_action if isinstance(game, Textual) else str
        moves = [
            [[seat, words(action)] for seat, action in enumerate(row) if action >= 0]
            for row in self.replay.actions
        ]
        return {
            "id": name,
            "name": game.spec.name,
            "title": game.spec.title,
            "parameters": dict(game.spec.parameters),
            "players": self.replay.seats,
            "seats": game.spec.seats,
            "fog": game.spec.information == "imperfect",
            "dice": game.spec.chance == "dice",
            "turns": len(self.replay.actions),
            "moves": moves,
            "returns": self.replay.returns,
            "resigned": self.replay.resigned,
        }

    def frames(self, first: int, count: int, seat: int | None) -> list[dict[str, Any]]:
        """Drawings of the positions from one on."""
        game: Any = self.game
        if seat is not None and not 0 <= seat < game.spec.seats:
            raise BadOption(f"seats are 0 to {game.spec.seats - 1}, not {seat}")
        found = []
        for turn in range(first, min(first + min(count, MOST_FRAMES), len(self.states))):
            state = self.states[turn]
            row = self.replay.actions[turn - 1] if turn else []
            last = [{"seat": one, "action": action, "words": game.write_action(action)}
                    for one, action in enumerate(row) if action >= 0]  # fmt: skip
            movers = np.flatnonzero(np.asarray(game.to_move(state))).tolist()
            found.append(
                {
                    "turn": turn,
                    "drawing": game.draw(state, seat),
                    "last": last,
                    "movers": movers,
                    "seat": seat,
                }
            )
        return found

    def branch(self, turn: int, actions: list[int], words: str = "") -> dict[str, Any]:
        """Where other moves than the ones played would have led: after a turn, one action a decision.

        The last of them may be given in words instead.
        """
        game: Any = self.game
        if game.spec.dynamics == "simultaneous":
            raise BadOption("other moves can be tried where one seat moves at a time")
        if not 0 <= turn < len(self.states):
            raise BadOption(f"turns are 0 to {len(self.states) - 1}, not {turn}")
        if words:
            actions = [*actions, read_words(game, words)]
        rules = rules_of(game)
        state, last = self.states[turn], []
        for number, action in enumerate(actions):
            look = rules.look(state)
            if bool(look.done):
                raise BadOption("the game is over there")
            seat = int(np.argmax(look.to_move))
            if not 0 <= action < game.spec.actions or not look.legal[seat, action]:
                raise BadOption(f"{action} is not possible there")
            row = [action if one == seat else -1 for one in range(game.spec.seats)]
            state = rules.step(state, row, play.turn_key(BRANCH_SEED, turn + number))
            last = [{"seat": seat, "action": action, "words": game.write_action(action)}]
        look = rules.look(state)
        over = bool(look.done)
        seat = int(np.argmax(look.to_move))
        return {
            "turn": turn + len(actions),
            "actions": actions,
            "drawing": game.draw(state, None),
            "last": last,
            "over": over,
            "seat": None if over else seat,
            "legal": [] if over else np.flatnonzero(look.legal[seat]).tolist(),
            "position": game.write(state),
            "returns": look.returns.tolist() if over else None,
        }


def read_words(game: Any, words: str) -> int:
    """An action as a person writes it."""
    try:
        return int(game.read_action(words))
    except (ValueError, KeyError, IndexError) as error:
        raise BadOption(f"{words[:60]!r} is not possible there: {error}") from None


class Shows:
    """The replays that were opened last. Safe from any thread."""

    def __init__(self, most: int):
        self.most = most
        self._known: OrderedDict[str, Show] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, content: Any) -> dict[str, Any]:
        """A replay from decoded JSON, checked and played through; a StratagemError says what is wrong."""
        try:
            replay = replays.parse(content, "the replay")
            name = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
            show = self._known.get(name) or Show(replay)
        except StratagemError:
            raise
        except (TypeError, ValueError, OverflowError, KeyError, IndexError, AttributeError) as error:
            raise DamagedFile(f"the replay cannot be played: {error}") from error
        with self._lock:
            self._known[name] = show
            self._known.move_to_end(name)
            while len(self._known) > self.most:
                self._known.popitem(last=False)
        return show.facts(name)

    def get(self, name: str) -> Show:
        with self._lock:
            if name not in self._known:
                raise NoSuchGame("this replay was put away; open it again")
            return self._known[name]
