"""Errors that a user caused and can mend: each message says what, got, and do.

The command line prints them as one line and exits with 2; everything else is a bug and shows its traceback.
"""


class StratagemError(Exception):
    """Something the user can mend."""


class IllegalAction(StratagemError, ValueError):
    """A seat tried an action that the rules do not allow now."""


class Unsupported(StratagemError, TypeError):
    """A game was asked for something that it does not offer."""


class UnknownName(StratagemError, KeyError):
    """No game, agent, preset or option of that name."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotes


class BadOption(StratagemError, ValueError):
    """An option has a value that it cannot have."""


class DamagedFile(StratagemError, ValueError):
    """A file is not what it claims to be."""


class RulesetMismatch(StratagemError, ValueError):
    """A file was made under other rules than the ones in force."""
