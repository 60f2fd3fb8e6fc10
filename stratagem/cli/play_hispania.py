"""The terminal table of Hispania: the map, the choices, and one line to type."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.agents.agent import Agent
from stratagem.arena.session import Session
from stratagem.cli.output import out
from stratagem.cli.typed import last_words, obey
from stratagem.core.errors import StratagemError

HELP = (
    "Type a choice: a region with slots (`tarraco:02`), a region (`tarraco`) or `none`; "
    "`hint`, `undo`, `resign`, `quit`."
)
SHOWN = 40


def play(session: Session, names: list[str], adviser: Agent, save: Path) -> str:
    """Play until the game is over or left; the result is what to print then."""
    game: Any = session.game
    out.print(HELP, style="dim")
    while not session.over:
        seat = session.movers[0]
        if session.players[seat] is not None:
            action = session.think(seat)
            nation = game.content.nations[int(game.decider(session.state))].name
            out.print(f"{names[seat]} ({nation}): {game.write_action(action)}", style="cyan", highlight=False)
            session.act({seat: action})
            continue
        show(session, seat)
        try:
            text = input("> ").strip().lower()
        except EOFError:
            return "left"
        try:
            answer = obey(
                session,
                seat,
                text,
                help_text=HELP,
                hint=partial(_hint, session, adviser, seat),
                read=game.read_action,
            )
            if answer:
                return last_words(session, names, save, answer)
        except (StratagemError, ValueError) as error:
            out.print(str(error), style="red", markup=False)
    draw(session)
    best = max(session.returns)
    verdict = "you win" if session.returns[names.index("you")] == best else "you lose"
    return last_words(session, names, save, verdict)


def _hint(session: Session, adviser: Agent, seat: int) -> str:
    game: Any = session.game
    return game.write_action(session.think(seat, adviser))


def draw(session: Session) -> None:
    game: Any = session.game
    out.print(game.render(session.state, out.width), markup=False, highlight=False)


def show(session: Session, seat: int) -> None:
    """The map and what may be played."""
    game: Any = session.game
    draw(session)
    words = [game.write_action(int(action)) for action in np.flatnonzero(session.legal(seat))]
    more = f" … and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    out.print(f"choices: {' '.join(words[:SHOWN])}{more}", markup=False, highlight=False)
