"""Waiting for a reply: in a thread, or in an event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from stratagem.serving.lane import Reply, Ticket


def answer_of(ask: Callable[[Reply], Ticket]) -> "Future[Any]":
    """A future that the reply fills."""
    future: Future[Any] = Future()

    def reply(answer: Any) -> None:
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    ask(reply)
    return future


async def awaited(ask: Callable[[Reply], Ticket]) -> Any:
    """The answer, in the running loop; the question is taken back if the caller is cancelled."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def reply(answer: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(fill, future, answer)

    ticket = ask(reply)
    try:
        return await future
    except asyncio.CancelledError:
        ticket.cancel()
        raise


def fill(future: "asyncio.Future[Any]", answer: Any) -> None:
    """The answer or the exception, unless nobody waits any more."""
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
