"""`stratagem solve GAME`"""

from dataclasses import dataclass

from rich.table import Table

from stratagem.cli.output import out, print_json, progress_bar
from stratagem.cli.solve_dice import SolveGenerala, SolveYacht
from stratagem.core.errors import BadOption, StratagemError
from stratagem.games.corso import Corso
from stratagem.solvers.corso import Progress, first_moves


@dataclass(frozen=True)
class SolveCorso:
    """The exact value of two-player Corso on a board, and the margin of every first move.

    A margin is the first player's cells minus the second's when both play for it.
    """

    width: int = 5
    """Columns."""
    height: int = 5
    """Rows."""
    seconds: float | None = None
    """Give up after this long."""
    megabytes: float | None = None
    """Size of the table of positions; chosen by the board unless given."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        spec = Corso(self.width, self.height).spec
        try:
            with progress_bar(f"corso {self.width}×{self.height}, first moves") as update:

                def report(news: Progress) -> None:
                    update(news.done, news.total)

                solution, margins = first_moves(
                    self.width, self.height, megabytes=self.megabytes, progress=report, seconds=self.seconds
                )
        except ValueError as error:
            raise BadOption(str(error)) from None
        except TimeoutError:
            raise StratagemError(
                f"corso {self.width}×{self.height} is not solved in {self.seconds:g} s; give it more --seconds"
            ) from None
        if self.json:
            print_json(
                {
                    "game": "corso",
                    "ruleset": spec.ruleset,
                    "width": self.width,
                    "height": self.height,
                    "value": solution.outcome,
                    "margin": solution.margin,
                    "first_moves": margins.tolist(),
                    "nodes": solution.nodes,
                    "seconds": round(solution.seconds, 3),
                }
            )
            return 0
        winner = {1: "the first player wins", 0: "a draw", -1: "the second player wins"}[solution.outcome]
        table = Table(title=f"Corso {self.width}×{self.height}: {winner}, margin {solution.margin:+d}")
        table.add_column("")
        for column in range(self.width):
            table.add_column("abcdefgh"[column], justify="right")
        for row in range(self.height):
            cells = [
                f"[bold green]{m:+d}[/]" if m == solution.margin else f"{m:+d}" for m in margins[row].tolist()
            ]
            table.add_row(str(row + 1), *cells)
        out.print(table)
        out.print("Final margin after each first move; the best ones are green.", style="dim")
        out.print(f"{solution.nodes:,} positions in {solution.seconds:.1f} s")
        return 0


COMMANDS: dict[str, type] = {"corso": SolveCorso, "generala": SolveGenerala, "yacht": SolveYacht}
