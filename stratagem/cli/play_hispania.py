"""The terminal table of Hispania: the map, the choices, and one line to type."""

from pathlib import Path
from typing import Any

import numpy as np

from stratagem.agents.agent import Agent
from stratagem.arena.session import Session
from stratagem.cli.output import out
from stratagem.cli.play_dice import _save
from stratagem.core.errors import StratagemError

HELP = (
    "Type a choice: a region with slots (`tarraco:02`), a region (`tarraco`) or `none`; "
    "`map`, `hint`, `undo`, `save`, `resign`, `quit`."
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
            if answer := _obey(session, names, adviser, save, seat, text):
                return answer
        except (StratagemError, ValueError) as error:
            out.print(str(error), style="red", markup=False)
    draw(session)
    best = max(session.returns)
    return "you win" if session.returns[names.index("you")] == best else "you lose"


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


def _obey(session: Session, names: list[str], adviser: Agent, save: Path, seat: int, text: str) -> str | None:
    """Do what was typed; words to print if that ends the game."""
    game: Any = session.game
    if text in ("quit", "q"):
        return "left"
    if text == "resign":
        session.resign(seat)
        return "you gave up"
    if text == "undo":
        session.undo()
        while session.movers and session.players[session.movers[0]] is not None and session.turn:
            session.undo()
    elif text == "save":
        out.print(f"saved {_save(session, names, save)}")
    elif text == "hint":
        out.print(game.write_action(session.think(seat, adviser)), style="green", highlight=False)
    elif text in ("help", "?", "", "map"):
        out.print(HELP, style="dim")
    else:
        session.act({seat: game.read_action(text)})
    return None
