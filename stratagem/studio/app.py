"""The studio as one ASGI application."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from stratagem import __version__
from stratagem.core.errors import StratagemError
from stratagem.studio.analysing import Analyst, Reviews
from stratagem.studio.api import router
from stratagem.studio.comparing import Runs
from stratagem.studio.guard import LOOPBACK, Guard
from stratagem.studio.hall import Hall
from stratagem.studio.journal import NoSuchGame
from stratagem.studio.limits import Buckets, Limits, TooMuch
from stratagem.studio.shelf import Shelf
from stratagem.studio.table import NotYourSeat
from stratagem.studio.thinking import Thinkers
from stratagem.studio.watching import Shows

STATIC = Path(__file__).parent / "static"
STATUS = ((NoSuchGame, 404), (TooMuch, 429), (NotYourSeat, 403))


@dataclass(frozen=True)
class Settings:
    """Where a studio listens and keeps things."""

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = 8321
    """The port; 0 takes a free one."""
    token: str = ""
    """What visitors must know; needed beyond the loopback address."""
    runs: Path = Path("runs")
    """Where tournaments and training runs are."""
    folder: Path = Path("runs/studio")
    """Where games are kept."""
    limits: Limits = field(default_factory=Limits)

    @property
    def local(self) -> bool:
        return self.host in LOOPBACK


def create_app(settings: Settings) -> Any:
    """The application; its processes start and end with its lifespan."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        limits = settings.limits
        shelf = Shelf(settings.runs)
        async with Thinkers(shelf, seconds=limits.thinking_s) as thinkers:
            app.state.limits = limits
            app.state.closed = 0
            app.state.hall = Hall(settings.folder, thinkers, limits)
            app.state.shows = Shows(limits.replays)
            app.state.shelf = shelf
            app.state.runs = Runs(settings.runs, shelf)
            app.state.analyst = Analyst(limits.thinking_s)
            app.state.reviews = Reviews(app.state.analyst)
            app.state.creations = Buckets(limits.creations_s, 20 * limits.creations_s)
            # What is there by now stays: without it, Python looks for garbage among finished games now and then,
            # instead of hardly ever.
            gc.collect()
            gc.freeze()
            yield
            await app.state.hall.close()
            await app.state.runs.close()
            await app.state.analyst.close()

    # The pages that FastAPI offers about itself load from elsewhere; openapi.json stays, for tests and tools.
    app = FastAPI(
        title="Stratagem studio", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.include_router(router)
    app.add_exception_handler(StratagemError, explain)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, explain_form)  # type: ignore[arg-type]

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    app.mount("/static", Pages(directory=STATIC), "static")
    app.add_middleware(Guard, token=settings.token, local=settings.local, limits=settings.limits)
    return app


class Pages(StaticFiles):
    """The pages; a browser asks each time whether they have changed."""

    def file_response(self, *arguments: Any, **options: Any) -> Any:
        answer = super().file_response(*arguments, **options)
        answer.headers["cache-control"] = "no-cache"
        return answer


async def explain(request: Request, error: StratagemError) -> JSONResponse:
    """What a user can mend, in a sentence."""
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 400)
    return JSONResponse({"error": printable(str(error))}, status)


async def explain_form(request: Request, error: RequestValidationError) -> JSONResponse:
    """A request that does not have the form it should have."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return JSONResponse({"error": printable(f"{where}: {first['msg']}")}, 422)


def printable(text: str) -> str:
    """Text that UTF-8 can hold, whatever a client sent."""
    return text.encode("utf-8", "replace").decode()
