"""Reading a TOML table field by field: whatever is wrong is said with the file, the field and the remedy."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from stratagem.core.errors import StratagemError
from stratagem.core.registry import suggestion


class BadScenario(StratagemError, ValueError):
    """A scenario file that cannot be played."""


@dataclass(frozen=True)
class Reader:
    """One table of the file, with the name under which a person finds it."""

    file: str
    where: str
    table: Mapping[str, Any]

    def fail(self, field: str, wrong: str, remedy: str) -> NoReturn:
        place = ".".join(part for part in (self.where, field) if part)
        raise BadScenario(f"{self.file}: {place}: {wrong}; {remedy}")

    def need(self, fine: bool, field: str, wrong: str, remedy: str) -> None:
        if not fine:
            self.fail(field, wrong, remedy)

    def only(self, *known: str) -> None:
        """Refuse fields that nobody reads: most are typing errors."""
        for field in self.table:
            self.need(
                field in known,
                field,
                "no such field",
                f"remove it or rename it{suggestion(field, list(known))}",
            )

    def value(self, field: str, kind: type, default: Any = None) -> Any:
        """A field of this kind; without a default it must be there."""
        if field not in self.table:
            self.need(default is not None, field, "is missing", f"add it, {WORDS[kind]}")
            return default
        found = self.table[field]
        fits = isinstance(found, kind) and (kind is bool or not isinstance(found, bool))
        self.need(fits, field, f"is {found!r}", f"write {WORDS[kind]}")
        return found

    def whole(self, field: str, low: int, high: int, default: int | None = None) -> int:
        found = self.value(field, int, default)
        self.need(low <= found <= high, field, f"is {found}", f"choose a number from {low} to {high}")
        return found

    def text(self, field: str, default: str | None = None) -> str:
        found = self.value(field, str, default)
        self.need(bool(found) or default == "", field, "is empty", "write a text")
        return found

    def one_of(self, field: str, known: Sequence[str]) -> int:
        """The index of the name in `known`."""
        return self.index(field, self.text(field), known)

    def index(self, field: str, name: Any, known: Sequence[str]) -> int:
        if name not in known:
            self.fail(
                field, f"{name!r} is not known", f"use a known name{suggestion(str(name), list(known))}"
            )
        return known.index(name)

    def some_of(self, field: str, known: Sequence[str], default: Any = None) -> tuple[int, ...]:
        """The indices of a list of names, each at most once."""
        found = self.value(field, list, default)
        self.need(
            all(isinstance(one, str) for one in found),
            field,
            f"is {found!r}",
            "write a list of names in quotes",
        )
        self.need(len(set(found)) == len(found), field, "names something twice", "name each once")
        return tuple(self.index(field, one, known) for one in found)

    def wholes(self, field: str, allowed: Collection[int], what: str) -> tuple[int, ...]:
        """A list of whole numbers, each at most once."""
        found = self.value(field, list)
        for one in found:
            whole = isinstance(one, int) and not isinstance(one, bool)
            self.need(whole and one in allowed, field, f"{one!r} is not {what}", f"list {what}")
        self.need(len(set(found)) == len(found), field, "lists a number twice", "list each once")
        return tuple(found)

    def counts(self, field: str, known: Sequence[str], default: Any = None) -> tuple[tuple[int, int], ...]:
        """A table {name = number}, as (index, number) in the order written; numbers are 1 or more."""
        found = self.value(field, dict, default)
        rows = []
        for name, number in found.items():
            place = f"{field}.{name}"
            index = self.index(place, name, known)
            good = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= 99
            self.need(good, place, f"is {number!r}", "write a number from 1 to 99")
            rows.append((index, number))
        return tuple(rows)

    def inner(self, field: str, default: Any = None) -> "Reader":
        """A table inside this one."""
        found = self.value(field, dict, default)
        return Reader(self.file, ".".join(part for part in (self.where, field) if part), found)

    def rows(self, field: str, name: str = "", least: int = 0) -> list["Reader"]:
        """A list of tables; each is found under its field `name`, or its number from 1."""
        found = self.value(field, list, [] if least == 0 else None)
        self.need(len(found) >= least, field, "is empty", f"add at least {least}")
        readers = []
        for number, row in enumerate(found, 1):
            self.need(
                isinstance(row, dict), field, f"entry {number} is {row!r}", "write a table {field = value, …}"
            )
            label = str(row.get(name, number)) if name else str(number)
            place = ".".join(part for part in (self.where, field) if part)
            readers.append(Reader(self.file, f"{place}[{label}]", row))
        return readers


WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    bool: "true or false",
    list: "a list in [ ]",
    dict: "a table in { }",
}
