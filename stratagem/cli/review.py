"""`stratagem review`"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from stratagem.analysis.dice_notation import read_notation
from stratagem.analysis.dice_review import Decision, Review, review_replay
from stratagem.cli.output import out, print_json
from stratagem.core.errors import DamagedFile, Unsupported
from stratagem.games.dice.rules import DiceGame
from stratagem.protocols.replay import Replay, load
from stratagem.solvers.dice_table import load_table


@dataclass(frozen=True)
class Command:
    """Grade every decision of a dice game: equity lost, rank among the alternatives, luck of the rolls, and why.

    Takes a replay (.json) or a game typed from a paper sheet, one line a turn:
    `Ana: 13334 keep 333, 33336 keep 3333, 33334 threes`.
    """

    file: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """The game."""
    errors: bool = False
    """Show only the decisions that gave something away."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        replay = read_game(self.file)
        game = replay.rules()
        if not isinstance(game, DiceGame):
            raise Unsupported(f"review grades dice games that are solved; {replay.game} is none")
        graded = review_replay(replay, load_table(game.family))
        if self.json:
            print_json(graded.as_json())
        else:
            print_review(graded, self.errors)
        return 0


def read_game(path: Path) -> Replay:
    """A replay, or typed text, told apart by the first sign."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path}: not readable ({error})") from None
    return load(path) if text.lstrip().startswith("{") else read_notation(text)


def print_review(graded: Review, errors_only: bool) -> None:
    """The decisions and the sums, on the terminal."""
    table = Table(title=graded.game, show_lines=False)
    for heading in ("turn", "player", "dice", "luck", "decision", "equity", "loss", "rank"):
        table.add_column(
            heading, justify="right" if heading in ("turn", "luck", "equity", "loss", "rank") else "left"
        )
    for one in graded.decisions:
        if errors_only and not one.mark:
            continue
        table.add_row(*_row(one, graded))
    out.print(table)
    for one in graded.decisions:
        if one.mark:
            out.print(
                f"{graded.seats[one.seat].name}, turn {one.turn}, {one.dice}, {one.action} {one.mark} {one.why}"
            )
    for summary in graded.seats:
        out.print(
            f"[bold]{summary.name}[/]: result {summary.result:+.3f} = skill {summary.skill:+.3f} "
            f"+ luck {summary.luck:+.3f}. Gave away {summary.lost:.3f} in {summary.decisions} decisions, "
            f"{summary.errors} errors, {summary.blunders} blunders; plays like {summary.rating:+.0f} Elo "
            "against perfection."
        )
    if not graded.finished:
        out.print("The game breaks off; the result is the equity of the last position.", style="dim")


def _row(one: Decision, graded: Review) -> list[str]:
    loss = f"{one.loss:.3f}" if one.loss >= 0.0005 else ""
    colour = {"??": "bold red", "?": "yellow", "?!": "cyan"}.get(one.mark, "")
    action = f"{one.action} {one.mark}".strip()
    return [
        str(one.turn),
        graded.seats[one.seat].name,
        one.dice,
        f"{one.luck:+.3f}" if abs(one.luck) >= 0.0005 else "",
        f"[{colour}]{action}[/]" if colour else action,
        f"{one.after:+.3f}",
        loss,
        f"{one.rank}/{one.alternatives}",
    ]
