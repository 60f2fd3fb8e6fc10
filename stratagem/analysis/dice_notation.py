"""A dice game as one can type it from a paper score sheet.

    # anything after a hash is a remark
    game generala
    players Ana, Bob
    Ana: 13334 keep 333, 33336 keep 3333, 33334 threes
    Bob: 11333 full_house
    Ana: 12256 keep 22, ...

One line a turn: each roll in full, what was kept of it, and after the last roll the category. Who stands after the
first or second roll writes the category right behind it. A category may be cut short (`full`) while it is clear.
Names before the colon may be left out; seats alternate. The game line may carry options: `game generala:players=3`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from stratagem.core.errors import StratagemError
from stratagem.games import make_game
from stratagem.games.dice.rules import DiceGame
from stratagem.protocols.replay import Replay, positions


class BadNotation(StratagemError, ValueError):
    """A line of a typed game cannot be read."""


@dataclass(frozen=True)
class Turn:
    """One typed line: the rolls, what was kept of all but the last, and the category."""

    rolls: list[int]
    keeps: list[int]
    category: int


def read_notation(text: str) -> Replay:
    """A replay from typed text; a game that breaks off is allowed. BadNotation names the line."""
    game: DiceGame | None = None
    names: list[str] = []
    turns: list[Turn] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        word, _, rest = line.partition(" ")
        try:
            if word == "game":
                game = _game(rest.strip())
            elif word == "players":
                names = [name.strip() for name in rest.split(",")]
            else:
                game = game or _game("generala")
                turns.append(_turn(game, line, names, len(turns) % game.players))
        except ValueError as error:
            raise BadNotation(f"line {number}: {error}") from None
    if game is None or not turns:
        raise BadNotation("there is no turn in this text; a turn looks like: 13334 keep 333, 33336 threes")
    return _replay(game, names, turns)


def _game(text: str) -> DiceGame:
    game = make_game(text)
    if not isinstance(game, DiceGame):
        raise ValueError(f"{text!r} is no dice game")
    return game


def _turn(game: DiceGame, line: str, names: list[str], seat: int) -> Turn:
    name, colon, rest = line.partition(":")
    if colon and names and name.strip() != names[seat]:
        raise ValueError(f"it is {names[seat]}'s turn, not {name.strip()}'s")
    rolls: list[int] = []
    keeps: list[int] = []
    parts = [part.strip() for part in (rest if colon else line).split(",")]
    for place, part in enumerate(parts):
        dice, _, what = part.partition(" ")
        rolls.append(game.keeps.full(game.read_dice(dice, full=True)))
        if place == len(parts) - 1:
            return Turn(rolls, keeps, _category(game, what.strip()))
        keeps.append(game.read_action(what))
    raise ValueError("the line is empty")


def _category(game: DiceGame, text: str) -> int:
    short = re.sub(r"[\s-]+", "_", text.lower())
    fitting = [name for name in game.family.names if name.startswith(short)]
    if short in game.family.names:
        fitting = [short]
    if not short or len(fitting) != 1:
        raise ValueError(f"{text!r} is not one of {', '.join(game.family.names)}")
    return game.family.index(fitting[0])


def _replay(game: DiceGame, names: list[str], turns: list[Turn]) -> Replay:
    k, family = game.keeps, game.family
    actions: list[list[int]] = []
    outcomes = [turns[0].rolls[0]]
    for number, turn in enumerate(turns):
        seat = number % game.players
        last = turn.rolls[-1]

        def act(action: int, outcome: int, seat: int = seat) -> None:
            actions.append([action if one == seat else -1 for one in range(game.players)])
            outcomes.append(outcome)

        for keep, then in zip(turn.keeps, turn.rolls[1:], strict=True):
            act(keep, then)
        if len(turn.rolls) < family.rolls:  # stood before the last roll
            act(k.partial + last, last)
        following = turns[number + 1].rolls[0] if number + 1 < len(turns) else _next_roll(game, turns, last)
        act(len(k.multisets) + turn.category, following)
    seats = names or [f"player {seat + 1}" for seat in range(game.players)]
    spec = game.spec
    replay = Replay(
        game=spec.name, parameters=dict(spec.parameters), ruleset=spec.ruleset, seats=seats,
        actions=actions, returns=[0.0] * game.players, outcomes=outcomes,
    )  # fmt: skip
    if len(turns) < game.players * len(family.categories):
        return replay
    *_, final = positions(replay, game)
    return replace(replay, returns=np.asarray(game.returns(final)).tolist())


def _next_roll(game: DiceGame, turns: list[Turn], last: int) -> int:
    """What lies on the table after the last typed turn: the same dice at the end, else nothing is known."""
    complete = len(turns) == game.players * len(game.family.categories)
    return last if complete else 0


def write_notation(replay: Replay) -> str:
    """Typed text for a replay whose outcomes of chance are known."""
    game = replay.rules()
    if not isinstance(game, DiceGame):
        raise StratagemError(f"{replay.game} is no dice game")
    lines = [f"game {game.spec.title.lower()}", f"players {', '.join(replay.seats)}"]
    parts: list[str] = []
    for state, actions in zip(positions(replay, game), replay.actions, strict=False):
        seat = int(state.mover)
        dice = "".join(map(str, game.keeps.rolls[int(state.dice)]))
        action = actions[seat]
        if action >= len(game.keeps.multisets):
            lines.append(
                f"{replay.seats[seat]}: {', '.join([*parts, f'{dice} {game.write_action(action)}'])}"
            )
            parts = []
        elif action < game.keeps.partial:
            kept = "".join(map(str, game.keeps.multisets[action])) or "nothing"
            parts.append(f"{dice} keep {kept}")
    return "\n".join(lines) + "\n"
