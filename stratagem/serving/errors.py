"""What can go wrong between a question and its answer. Each error has a word for the wire and says what to do."""

from typing import Any

from stratagem.core.errors import StratagemError


class ServingError(StratagemError):
    """A question was not answered."""

    code = "failed"

    def as_json(self) -> dict[str, Any]:
        return {"error": self.code, "message": str(self)}


class Busy(ServingError):
    """The queue is full; nothing was kept of the question."""

    code = "busy"

    def __init__(self, message: str, retry_s: float):
        super().__init__(message)
        self.retry_s = retry_s
        """How long to wait before asking again."""

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "retry_ms": round(1000 * self.retry_s, 1)}


class Late(ServingError):
    """The question's deadline passed before it was answered."""

    code = "late"


class Cancelled(ServingError):
    """The question was taken back."""

    code = "cancelled"


class Closed(ServingError):
    """The service is shutting down."""

    code = "closed"


class BadRequest(ServingError, ValueError):
    """The question makes no sense; `field` is the part that does not."""

    code = "bad-request"

    def __init__(self, message: str, field: str):
        super().__init__(message)
        self.field = field

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "field": self.field}


class Failed(ServingError):
    """The service could not do what was asked; the message says why."""


class ServerGone(ServingError):
    """No server answers at the address, or it went away with questions open. Asking again reconnects."""

    code = "gone"


KINDS: dict[str, type[ServingError]] = {
    kind.code: kind for kind in (Late, Cancelled, Closed, Failed, ServerGone)
}


def from_json(content: dict[str, Any]) -> ServingError:
    """The error that an answer tells of."""
    code, message = str(content.get("error")), str(content.get("message", ""))
    if code == Busy.code:
        return Busy(message, float(content.get("retry_ms", 0)) / 1000)
    if code == BadRequest.code:
        return BadRequest(message, str(content.get("field", "")))
    return KINDS.get(code, Failed)(message)
