"""What tables with one line to type have in common, and how any terminal table saves its game."""

from collections.abc import Callable
from pathlib import Path

from stratagem.arena.session import Session
from stratagem.cli.output import out
from stratagem.protocols.replay import Replay


def obey(
    session: Session,
    seat: int,
    text: str,
    *,
    help_text: str,
    hint: Callable[[], str],
    read: Callable[[str], int],
) -> str | None:
    """Do what was typed; words to print if that ends the game."""
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
        out.print("A game is saved when it is over; resign if you have had enough.", style="dim")
    elif text == "hint":
        out.print(hint(), style="green", highlight=False)
    elif text in ("help", "?", ""):
        out.print(help_text, style="dim")
    else:
        session.act({seat: read(text)})
    return None


def last_words(session: Session, names: list[str], folder: Path, verdict: str) -> str:
    """What to say when the table is left; a game that is over is saved."""
    if not session.over:
        return verdict
    path = save_game(session, names, folder)
    return f"{verdict}; saved, and explained by: stratagem review {path}"


def save_game(session: Session, names: list[str], folder: Path) -> Path:
    """Write a game that is over as a replay; the result is where."""
    spec = session.game.spec
    path = folder / f"{spec.name}-{session.seed}.json"
    Replay(
        game=spec.name,
        parameters=dict(spec.parameters),
        ruleset=spec.ruleset,
        seats=names,
        actions=session.actions,
        returns=session.returns,
        seed=session.seed,
        resigned=session.resigned,
    ).save(path)
    return path
