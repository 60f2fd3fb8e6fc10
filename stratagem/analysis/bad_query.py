"""What is said when a query cannot be understood."""

from typing import Any

from stratagem.core.errors import StratagemError


class BadQuery(StratagemError, ValueError):
    """Something is wrong with one field of a query."""

    def __init__(self, field: str | None, message: str, id: str | None = None, busy: bool = False):
        super().__init__(message)
        self.field, self.id, self.busy = field, id, busy

    def as_json(self) -> dict[str, Any]:
        """The answer to such a query."""
        answer = {"error": str(self), "field": self.field, "id": self.id}
        return {**answer, "busy": True} if self.busy else answer


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "nothing"
    names = {
        bool: "true or false",
        str: "text",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


def shown(value: Any) -> str:
    """A value for a message, cut short; numbers too long to print are only named."""
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number with more than 30 digits"
    return repr(value)[:60]
