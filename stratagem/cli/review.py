"""`stratagem review`"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from stratagem.analysis.dice_notation import read_notation
from stratagem.analysis.dice_review import review_replay
from stratagem.analysis.review import review_game
from stratagem.cli.output import print_json, progress_bar
from stratagem.cli.review_tables import print_dice_review, print_review
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption, DamagedFile
from stratagem.games.dice.rules import DiceGame
from stratagem.protocols.replay import Replay, load
from stratagem.solvers.dice_table import load_table


@dataclass(frozen=True)
class Command:
    """Grade every decision of a game: what it gave away, its rank among the alternatives, what was better.

    Takes a replay (.json) of any game. Solved dice games (generala, yacht) are graded exactly, with the luck of the
    rolls and with reasons, and can also be typed from a paper sheet, one line a turn:
    `Ana: 13334 keep 333, 33336 keep 3333, 33334 threes`.
    """

    file: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The game."""
    evaluator: str | None = None
    """Who judges; the best that fits unless given. docs/analysis.md lists them."""
    visits: int = 100
    """How much to think about every decision."""
    errors: bool = False
    """Show only the decisions that gave something away."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        if not 1 <= self.visits <= 100_000:
            raise BadOption(f"--visits is 1 to 100,000, not {self.visits}")
        replay = read_game(self.file)
        game = replay.rules()
        if (
            isinstance(game, DiceGame)
            and game.family.name in SOLVABLE
            and self.evaluator is None
            and game.players == 2
        ):
            exact = review_replay(replay, load_table(game.family))
            print_json(exact.as_json()) if self.json else print_dice_review(exact, self.errors)
            return 0
        use_compile_cache()
        with progress_bar(f"{replay.game}, turns") as update:
            graded = review_game(replay, self.visits, self.evaluator, update)
        print_json(graded.as_json()) if self.json else print_review(graded, self.errors)
        return 0


SOLVABLE = ("generala", "yacht")


def read_game(path: Path) -> Replay:
    """A replay, or typed text, told apart by the first sign."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path}: not readable ({error})") from None
    return load(path) if text.lstrip().startswith("{") else read_notation(text)
