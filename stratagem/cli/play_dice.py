"""The terminal table of the dice games: sheets, dice, and one line to type."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from stratagem.agents.agent import Agent
from stratagem.arena.session import Session
from stratagem.cli.output import out
from stratagem.cli.typed import last_words, obey
from stratagem.core.errors import StratagemError
from stratagem.games.dice.rules import OPEN, DiceGame

HELP = (
    "Type the dice to keep (`336`, `all`, `nothing`) or a category (`full`); "
    "`hint`, `undo`, `resign`, `quit`."
)


def play(session: Session, names: list[str], adviser: Agent, save: Path) -> str:
    """Play until the game is over or left; the result is what to print then."""
    game: Any = session.game
    out.print(HELP, style="dim")
    while not session.over:
        seat = session.movers[0]
        if session.players[seat] is not None:
            action = session.think(seat)
            out.print(f"{names[seat]}: {_dice(session)} {game.write_action(action)}", style="cyan")
            session.act({seat: action})
            continue
        show(session, names)
        try:
            text = input(f"{_dice(session)} > ").strip().lower()
        except EOFError:
            return "left"
        try:
            answer = obey(
                session,
                seat,
                text,
                help_text=HELP,
                hint=partial(_hint, session, adviser, seat),
                read=lambda words: read_words(game, session.state, words),
            )
            if answer:
                return last_words(session, names, save, answer)
        except (StratagemError, ValueError) as error:
            out.print(str(error), style="red")
    show(session, names)
    result = {1.0: "you win", 0.0: "a draw", -1.0: "you lose"}
    verdict = result.get(session.returns[names.index("you")], str(session.returns))
    return last_words(session, names, save, verdict)


def read_words(game: DiceGame, state: Any, text: str) -> int:
    """The action that a person means."""
    if text in ("all", "stand") and int(state.left) > 0:
        return game.keeps.partial + int(state.dice)
    if text in ("nothing", "none", "roll"):
        return 0
    if set(text) <= set("123456789- "):
        return game.read_action(f"keep {text.replace(' ', '')}")
    short = text.replace(" ", "_")
    row = np.asarray(state.sheet)[int(state.mover)]
    fitting = [name for i, name in enumerate(game.family.names) if name.startswith(short) and row[i] == OPEN]
    if short in game.family.names:
        fitting = [short]
    if len(fitting) != 1:
        raise ValueError(f"{text!r} is no dice to keep and not one open category; {HELP}")
    return game.read_action(fitting[0])


def _hint(session: Session, adviser: Any, seat: int) -> str:
    game: Any = session.game
    if not hasattr(adviser, "values"):
        return f"{game.write_action(session.think(seat, adviser))}"
    values = adviser.values(session.state)
    order = np.argsort(-values)[:3]
    told = [f"{game.write_action(int(a))} {values[a]:+.3f}" for a in order if np.isfinite(values[a])]
    return "; ".join(told)


def _dice(session: Session) -> str:
    game: Any = session.game
    return "-".join(map(str, game.keeps.rolls[int(session.state.dice)]))


def show(session: Session, names: list[str]) -> None:
    """The sheets."""
    game: Any = session.game
    drawn = game.draw(session.state, None)
    table = Table(title=f"{game.spec.name}; re-rolls left: {drawn['left']}")
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right")
    for i, category in enumerate(drawn["categories"]):
        table.add_row(category, *("" if sheet[i] is None else str(sheet[i]) for sheet in drawn["sheets"]))
    table.add_row("[bold]total", *(f"[bold]{score}" for score in drawn["scores"]))
    out.print(table)
