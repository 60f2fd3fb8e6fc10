"""Tables of named things, and the one way to write a choice: `name` or `name:option=value,option=value`."""

import dataclasses
import difflib
import importlib
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from stratagem.core.errors import BadOption, UnknownName

T = TypeVar("T")


@dataclass(frozen=True)
class Row(Generic[T]):
    """One line of a table: where a thing is and what it is, without importing it."""

    name: str
    where: str
    """`module:dataclass`, imported when asked for."""
    summary: str
    games: tuple[str, ...] = ()
    """For agents: the games it plays; empty means every game."""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For games: named parameter sets that deserve a test of their own."""

    def load(self) -> type[T]:
        module, _, attribute = self.where.partition(":")
        return getattr(importlib.import_module(module), attribute)


class Registry(Generic[T]):
    """Rows by name. A program may add its own with `add`."""

    def __init__(self, kind: str, rows: list[Row[T]]):
        self.kind = kind
        self.rows = {row.name: row for row in rows}

    def add(self, row: Row[T]) -> None:
        self.rows[row.name] = row

    def remove(self, name: str) -> None:
        del self.rows[name]

    def __iter__(self) -> Iterator[Row[T]]:
        return iter(self.rows.values())

    def row(self, name: str) -> Row[T]:
        if name not in self.rows:
            raise UnknownName(f"no {self.kind} is called {name!r}{suggestion(name, list(self.rows))}")
        return self.rows[name]

    def make(self, text: str, *first: Any) -> T:
        """Build what `text` names; `first` are positional arguments before the options."""
        name, options = split_choice(text)
        kind = self.row(name).load()
        return kind(*first, **read_options(f"{self.kind} {name}", kind, options, skip=len(first)))


def suggestion(name: str, known: list[str]) -> str:
    """`; did you mean …?` or the list of all."""
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; there is {', '.join(sorted(known)) or 'none'}"


def split_choice(text: str) -> tuple[str, dict[str, str]]:
    """`mm:depth=4,temperature=0` becomes ("mm", {"depth": "4", "temperature": "0"})."""
    name, _, rest = text.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise BadOption(f"{text!r}: {part!r} is not option=value")
        if key in options:
            raise BadOption(f"{text!r}: option {key!r} is given twice")
        options[key] = value
    return name, options


def read_options(owner: str, kind: type, options: Mapping[str, str], skip: int = 0) -> dict[str, Any]:
    """The options as the dataclass's field types want them."""
    fields = [one for one in dataclasses.fields(kind) if one.init][skip:]
    hints = typing.get_type_hints(kind)
    known = {one.name: hints[one.name] for one in fields}
    read: dict[str, Any] = {}
    for key, value in options.items():
        if key not in known:
            raise UnknownName(f"{owner} has no option {key!r}{suggestion(key, list(known))}")
        read[key] = read_value(f"{owner}: option {key}", known[key], value)
    return read


def read_value(owner: str, kind: Any, text: str) -> Any:
    """One value from its text; optional types take `none`."""
    if isinstance(kind, types.UnionType):
        if text == "none" and type(None) in typing.get_args(kind):
            return None
        kind = next(one for one in typing.get_args(kind) if one is not type(None))
    if kind is bool:
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise BadOption(f"{owner} is yes or no, not {text!r}")
    if typing.get_origin(kind) is typing.Literal:
        if text in typing.get_args(kind):
            return text
        raise BadOption(f"{owner} is one of {', '.join(typing.get_args(kind))}, not {text!r}")
    try:
        return kind(text)
    except ValueError:
        raise BadOption(f"{owner} takes {kind.__name__}, not {text!r}") from None
