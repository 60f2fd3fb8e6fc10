"""`stratagem verify`"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from stratagem.cli.output import out, print_json
from stratagem.core.errors import StratagemError
from stratagem.core.game import Textual
from stratagem.protocols.replay import load, verify


@dataclass(frozen=True)
class Command:
    """Play replays through under today's rules and check every action, every die and the result.

    With honest dice, the revealed secret must be the one that was committed to before the game.
    """

    files: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE")]
    """Replay files."""
    json: bool = False
    """Print one JSON object instead of lines."""

    def run(self) -> int:
        verdicts = [check_file(path) for path in self.files]
        wrong = sum(not verdict["valid"] for verdict in verdicts)
        if self.json:
            print_json({"files": verdicts, "valid": len(verdicts) - wrong, "invalid": wrong})
        else:
            for verdict in verdicts:
                mark = "[green]valid[/]  " if verdict["valid"] else "[red]invalid[/]"
                out.print(f"{mark} {verdict['file']}: {verdict['reason']}", highlight=False, soft_wrap=True)
        return 1 if wrong else 0


def check_file(path: Path) -> dict[str, object]:
    """What is to be said of one file."""
    try:
        replay = load(path)
        final = verify(replay)
    except StratagemError as error:
        return {"file": str(path), "valid": False, "reason": str(error)}
    game = replay.rules()
    end = f", ends in {game.write(final)}" if isinstance(game, Textual) else ""
    dice = f", honest dice as committed to ({replay.fair['commitment'][:16]}…)" if replay.fair else ""
    reason = f"{game.spec.title}, {len(replay.actions)} turns, result {replay.returns}{dice}{end}"
    return {"file": str(path), "valid": True, "reason": reason}
