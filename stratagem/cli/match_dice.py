"""`stratagem match GAME A B --exact`: the expected result, computed instead of played."""

from typing import Any

from rich.table import Table

from stratagem.analysis.dice_review import elo
from stratagem.cli.output import out, print_json, progress_bar
from stratagem.core.errors import BadOption, Unsupported
from stratagem.core.game import Game
from stratagem.games.dice.rules import DiceGame
from stratagem.solvers.dice import LARGEST, solve
from stratagem.solvers.dice_duel import duel, player
from stratagem.solvers.dice_layers import layout

PLAYERS = ("malina", "maximus", "mindful", "joe", "standing-greedy", "standing-random")


def exact_match(game: Game, agents: tuple[str, ...], as_json: bool) -> int:
    """Both seatings of two strategies, by backward induction."""
    if not isinstance(game, DiceGame) or game.players != 2:
        raise Unsupported(f"exact matches are for dice games of two players; this is {game.spec.title}")
    if len(agents) != 2 or not set(agents) <= set(PLAYERS):
        raise BadOption(f"an exact match takes two of {', '.join(PLAYERS)}; got {' '.join(agents)}")
    family = game.family
    if layout(family).positions > LARGEST:
        raise Unsupported(f"{family.name} is too large for an exact match on this machine; leave out --exact")
    with progress_bar("solving") as update:
        table = (
            solve(family, progress=lambda news: update(news.done, news.total)) if "malina" in agents else None
        )
    players = [player(name, family, table) for name in agents]
    results = []
    for seating, (first, second) in enumerate((players, players[::-1])):
        with progress_bar(f"{agents[0]} {'second' if seating else 'first'}, percent") as update:
            value = duel(first, second, family, lambda done, show=update: show(round(100 * done), 100))  # type: ignore[misc]
        results.append(-value if seating else value)
    mean = sum(results) / 2
    facts: dict[str, Any] = {
        "game": game.spec.title,
        "ruleset": game.spec.ruleset,
        "agents": list(agents),
        "first": results[0],
        "second": results[1],
        "mean": mean,
        "elo": elo(mean),
    }
    if as_json:
        print_json(facts)
        return 0
    rows = Table(title=f"{game.spec.name}: {agents[0]} against {agents[1]}, exact")
    for heading in (f"{agents[0]} first", "second", "mean", "Elo"):
        rows.add_column(heading, justify="right")
    rows.add_row(f"{results[0]:+.4f}", f"{results[1]:+.4f}", f"{mean:+.4f}", f"{elo(mean):+.1f}")
    out.print(rows)
    out.print("Expected result: +1 a win, 0 a draw, -1 a loss.", style="dim")
    return 0
