"""`stratagem play`"""

import importlib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from stratagem.agents import make_agent
from stratagem.arena.session import Player, Session
from stratagem.cli.output import out
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption, Unsupported
from stratagem.games import make_game

DICE = ("generala", "yacht", "crag", "yatzy")
BOARDS = {
    "corso": "stratagem.cli.play_corso:play",
    "general": "stratagem.cli.play_general:play",
    "hispania": "stratagem.cli.play_hispania:play",
} | dict.fromkeys(DICE, "stratagem.cli.play_dice:play")
"""Per game, a function (session, names, adviser, save folder) that runs the terminal board until it is left."""

OPPONENTS = {
    "corso": "mm:depth=4",
    "general": "expectimax:depth=1",
    "hispania": "historical",
} | dict.fromkeys(DICE, "maximus")
ADVISERS = {
    "corso": "mm:depth=5,temperature=0",
    "general": "expectimax:depth=2",
    "hispania": "historical",
    **dict.fromkeys(DICE, "maximus"),
    "generala": "malina",
}


@dataclass(frozen=True)
class Command:
    """Play in the terminal against an agent, or two people at one keyboard.

    Corso: cursor keys or mouse, Enter acts, u undo, h hint, r resign, n new game with seats swapped, s save, q quit.
    GENERAL: the same; Enter takes a unit (or the General, for its offensive), then Enter on a marked cell plays.
    """

    game: Annotated[str, tyro.conf.arg(metavar="GAME")]
    """The game, with options after a colon: corso:width=4,height=4."""
    against: str | None = None
    """The opponent, or `human`; a fair one for the game unless given."""
    seat: int = 1
    """Where you sit, counted from 1; seat 1 moves first."""
    hints: str | None = None
    """The agent that gives hints; a strong one for the game unless given."""
    seed: int | None = None
    """For the agent's draws and any dice; a new one every game unless given."""
    save: Path = Path("runs/games")
    """Folder for replays."""

    def run(self) -> int:
        use_compile_cache()
        game = make_game(self.game)
        name = game.spec.name
        if name not in BOARDS:
            raise Unsupported(f"there is no terminal board for {name}; there is one for {', '.join(BOARDS)}")
        if not 1 <= self.seat <= game.spec.seats:
            raise BadOption(f"{game.spec.title} has seats 1 to {game.spec.seats}, not {self.seat}")
        opponent = self.against or OPPONENTS[name]
        players: list[Player] = []
        names = []
        for seat in range(1, game.spec.seats + 1):
            human = seat == self.seat or opponent == "human"
            players.append(None if human else make_agent(opponent, game))
            names.append("you" if seat == self.seat else opponent)
        adviser = make_agent(self.hints or ADVISERS[name], game)
        seed = random.randrange(2**31) if self.seed is None else self.seed
        module, _, function = BOARDS[name].partition(":")
        last = getattr(importlib.import_module(module), function)(
            Session(game, players, seed), names, adviser, self.save
        )
        if last:
            out.print(last)
        return 0
