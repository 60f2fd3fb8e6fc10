"""`stratagem COMMAND …`: finds the command, reads its options, runs it, and turns errors into one clear line.

A command is a module of this package with a frozen dataclass `Command` (its fields are the options, its docstring
the help) that has `run() -> int`, the exit status; or with a dict `COMMANDS` of such classes by a second word.
Modules are imported only when asked for, so that `--help` is quick.
"""

import errno
import importlib
import sys
from typing import Any

from stratagem.core.errors import StratagemError
from stratagem.core.registry import suggestion

COMMANDS = {
    "train": "learn a game by self-play, rate the result, say where to play it",
    "games": "the games, their variants and who plays them",
    "play": "play against any agent in the terminal",
    "match": "two or more agents against each other, with intervals",
    "tournament": "round robin or gauntlet, rated; goes on where it was stopped",
    "solve": "exact values of games that can be solved",
    "review": "grade every decision of a game; luck and skill in dice games",
    "analyze": "what every move is worth: queries and answers in JSON lines, for any game",
    "bot": "one of our agents on stdin and stdout, for competitions",
    "arena-host": "run bots of other people against each other or against ours",
    "studio": "play, watch, compare and learn in the browser",
    "serve": "networks and agents for other programs, in batches, over a socket",
    "verify": "play a replay through and check its result",
    "replays": "import and export generals.io games; make data sets of them",
    "live": "have an agent play on a live game server",
    "bench": "how fast a game runs on this machine",
    "doctor": "what is installed, which devices, where files go, a self-test",
}


def main(words: list[str] | None = None) -> int:
    """Run one command; the exit status is 0, 1 (a negative answer), 2 (bad input) or 130 (Ctrl-C)."""
    words = sys.argv[1:] if words is None else words
    if not words or words[0] in ("-h", "--help", "help"):
        print_overview()
        return 0
    if words[0] == "--version":
        from stratagem import __version__

        print(f"stratagem {__version__}")
        return 0
    try:
        kind, name, rest = find_command(words)
        return read_command(kind, name, rest).run()
    except StratagemError as error:
        return complain(str(error), 2)
    except KeyboardInterrupt:
        return complain("stopped", 130)
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; nothing is left to say
        return 0
    except OSError as error:
        if error.filename or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            where = f"{error.filename}: " if error.filename else "a file could not be written: "
            return complain(f"{where}{error.strerror}; make room or choose another place and run it again", 2)
        raise


def complain(message: str, status: int) -> int:
    """Say what is wrong, in one line."""
    print(f"stratagem: {' '.join(message.split())}", file=sys.stderr)
    return status


def find_command(words: list[str]) -> tuple[Any, str, list[str]]:
    """(the command's class, its full name, the words left for it)."""
    if words[0] not in COMMANDS:
        raise StratagemError(f"no command is called {words[0]!r}{suggestion(words[0], list(COMMANDS))}")
    module = importlib.import_module(f"stratagem.cli.{words[0].replace('-', '_')}")
    if hasattr(module, "Command"):
        return module.Command, words[0], words[1:]
    choices = module.COMMANDS
    if len(words) < 2 or words[1] in ("-h", "--help"):
        raise SystemExit(f"stratagem {words[0]} {{{','.join(choices)}}} …; add --help after one of them")
    if words[1] not in choices:
        raise StratagemError(f"{words[0]} does not know {words[1]!r}{suggestion(words[1], list(choices))}")
    return choices[words[1]], f"{words[0]} {words[1]}", words[2:]


def read_command(kind: Any, name: str, words: list[str]) -> Any:
    """The command with its options filled in; exits with usage if they do not fit."""
    import tyro

    return tyro.cli(
        kind,
        prog=f"stratagem {name}",
        args=words,
        config=(tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalRequiredArgs),
    )


def print_overview() -> None:
    """The commands, a line each."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(
        "[bold]stratagem[/] trains, solves, rates, serves and explains players of strategy games.\n"
    )
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, summary in COMMANDS.items():
        table.add_row(f"[bold cyan]{name}[/]", summary)
    console.print(table)
    console.print(
        "\n`stratagem COMMAND --help` says what a command takes. Start with `stratagem games`.", style="dim"
    )


if __name__ == "__main__":
    raise SystemExit(main())
