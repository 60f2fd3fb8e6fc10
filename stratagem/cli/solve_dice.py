"""`stratagem solve generala` and `stratagem solve yacht`"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from rich.table import Table

from stratagem.cli.output import log, out, print_json, progress_bar
from stratagem.core.errors import BadOption, StratagemError
from stratagem.games.dice.family import FAMILIES, Family, family_from_toml, generala
from stratagem.games.dice.keeps import keeps
from stratagem.solvers.dice import Progress, solve
from stratagem.solvers.dice_counts import positions
from stratagem.solvers.dice_outlook import best_keeps
from stratagem.solvers.dice_table import solve_command


@dataclass(frozen=True)
class SolveDice:
    """Exact equities of every position of a two-player dice game, kept in a table in the cache folder.

    Ctrl-C or a kill leaves the finished layers behind; the same command goes on from there.
    """

    engine: Literal["numba", "jax"] = "numba"
    """numba on the processor's cores, or jax on an accelerator."""
    small: bool = False
    """Keep 16-bit numbers: half the file, errors up to 0.000016."""
    threads: int | None = None
    """Threads of the numba engine; all cores unless given."""
    rules: Path | None = None
    """A TOML file with other rules, to be solved instead."""
    json: bool = False
    """Print one JSON object instead of a table."""
    game: ClassVar[str]

    def family(self) -> Family:
        if self.rules is None:
            return FAMILIES[self.game]()
        try:
            return family_from_toml(self.rules)
        except (OSError, ValueError) as error:
            raise BadOption(f"{self.rules}: {error}") from None

    def run(self) -> int:
        family = self.family()
        began, solved = time.perf_counter(), 0
        with progress_bar(f"{self.game}, positions") as update:

            def report(news: Progress) -> None:
                nonlocal solved
                solved = news.done - news.resumed
                update(news.done, news.total)

            try:
                kind = "int16" if self.small else "float32"
                table = solve(family, self.engine, kind, progress=report, threads=self.threads)
            except KeyboardInterrupt:
                again = solve_command(family)
                raise StratagemError(f"stopped; the finished layers are kept. To go on: {again}") from None
        seconds = time.perf_counter() - began
        k = keeps(family.dice, family.faces)
        everything = (1 << len(family.categories)) - 1
        turn = table.turn(everything, everything, 0)
        choice = best_keeps(k, turn.kept[0])
        if self.json:
            print_json(
                {
                    "game": family.name,
                    "ruleset": family.ruleset,
                    "value": table.start_equity,
                    "positions": positions(family),
                    "stored": table.board.positions,
                    "solved_now": solved,
                    "seconds": round(seconds, 3),
                    "table": str(table.path),
                    "first_keeps": {
                        "".join(map(str, roll)): "".join(map(str, k.multisets[choice[i]]))
                        for i, roll in enumerate(k.rolls)
                    },
                }
            )
            return 0
        rows = Table(title=f"{family.name}: the first player's equity is {table.start_equity:+.4f}")
        rows.add_column("first roll")
        rows.add_column("best keep")
        rows.add_column("equity", justify="right")
        for i in sorted(range(len(k.rolls)), key=lambda i: -turn.rolled[0][i])[:: len(k.rolls) // 12]:
            kept = "-".join(map(str, k.multisets[choice[i]])) or "nothing"
            rows.add_row("-".join(map(str, k.rolls[i])), kept, f"{turn.rolled[0][i]:+.3f}")
        out.print(rows)
        what = f"{solved:,} positions solved" if solved else "read from the cache"
        log.print(f"{what} in {seconds:.1f} s; {table.path}")
        return 0


@dataclass(frozen=True)
class SolveGenerala(SolveDice):
    __doc__ = SolveDice.__doc__
    first_roll_bonus: bool = False
    """The variant that pays five more for combinations made on the first roll."""
    game: ClassVar[str] = "generala"

    def family(self) -> Family:
        return generala(first_roll_bonus=True) if self.first_roll_bonus else super().family()


class SolveYacht(SolveDice):
    __doc__ = SolveDice.__doc__
    game: ClassVar[str] = "yacht"
