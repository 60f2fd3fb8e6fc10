"""The HTTP side: what there is to play, new games, replays, results. Moves go over the websocket (`sockets`)."""

import asyncio
import gc
from typing import Any

from fastapi import APIRouter, Path, Query, Request, WebSocket
from pydantic import BaseModel, ConfigDict, Field

from stratagem import __version__
from stratagem.core.errors import BadOption
from stratagem.studio.analysing import condensed
from stratagem.studio.choices import PERSON, catalogue, read_game
from stratagem.studio.guard import address
from stratagem.studio.limits import TooMuch
from stratagem.studio.opponents import offers
from stratagem.studio.sockets import Client
from stratagem.studio.table import Table

router = APIRouter()
SWEEP = 100  # closed connections after which garbage is collected
GAME_ID = Path(max_length=64)
WRONG: dict[int | str, dict[str, Any]] = {
    code: {"description": text}
    for code, text in (
        (400, "it makes no sense; `error` says why"),
        (404, "there is no such thing"),
        (429, "too much"),
    )
}


class Strict(BaseModel):
    """What a page sends; nothing else may be in it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewGame(Strict):
    """A game to begin."""

    game: str = Field(max_length=300)
    players: list[str] = Field(min_length=1, max_length=8)
    pace: float = Field(2.0, ge=0.25, le=20)
    nonce: str = Field("", max_length=100)


class NewTournament(Strict):
    """A tournament to begin."""

    game: str = Field(max_length=300)
    entrants: list[str] = Field(min_length=2, max_length=12)
    games: int = Field(20, ge=1, le=1000)


class Branch(Strict):
    """Moves that were not played."""

    turn: int = Field(ge=0, le=100_000)
    actions: list[int] = Field(max_length=200)
    words: str = Field("", max_length=100)


class NewReview(Strict):
    """A game to judge."""

    replay: dict[str, Any]
    seat: int | None = Field(None, ge=0, le=7)
    visits: int = Field(60, ge=1, le=2000)


class Question(Strict):
    """A position to judge."""

    game: str = Field(max_length=300)
    position: str = Field(max_length=20_000)
    visits: int = Field(60, ge=1, le=2000)


@router.get("/api/catalogue")
def get_catalogue(request: Request) -> dict[str, Any]:
    """Every game and its boards."""
    state = request.app.state
    if not hasattr(state, "catalogue"):
        state.catalogue = {"version": __version__, "games": catalogue()}
    return state.catalogue


@router.get("/api/opponents", responses=WRONG)
async def get_opponents(request: Request, game: str = Query(max_length=300)) -> list[dict[str, Any]]:
    """Who plays a game here, weakest first; who is not ready says why."""
    return await asyncio.to_thread(lambda: offers(read_game(game), request.app.state.shelf))


@router.post("/api/games", responses=WRONG)
async def post_game(request: Request, wish: NewGame) -> dict[str, Any]:
    """Begin a game. The secrets are told here and nowhere else."""
    state = request.app.state
    if not state.creations.take(address(request.scope)):
        raise TooMuch("you begin games too fast; wait a moment")
    live, tokens = await state.hall.create(wish.game, wish.players, wish.pace, wish.nonce)
    table: Table = live.table
    return {
        "id": table.id,
        "title": table.header.game,
        "tokens": {str(seat): token for seat, token in enumerate(tokens) if token},
        "commitment": table.header.dice["commitment"] if table.header.dice else None,
        "people": [seat for seat, player in enumerate(wish.players) if player == PERSON],
    }


@router.get("/api/games", responses=WRONG)
async def get_games(request: Request) -> list[dict[str, Any]]:
    """The latest games."""
    return await asyncio.to_thread(request.app.state.hall.games)


@router.get("/api/games/{name}", responses=WRONG)
async def get_game(request: Request, name: str = GAME_ID) -> dict[str, Any]:
    """One game, in a line."""
    return (await request.app.state.hall.find(name)).table.summary()


@router.get("/api/games/{name}/replay", responses=WRONG)
async def get_replay(request: Request, name: str = GAME_ID) -> dict[str, Any]:
    """A finished game, for `stratagem verify` and everybody else."""
    return (await request.app.state.hall.find(name)).table.replay().as_json()


@router.post("/api/replays", responses=WRONG)
async def post_replay(request: Request, content: dict[str, Any]) -> dict[str, Any]:
    """Open a replay; every move of it is checked."""
    state = request.app.state

    def opened() -> dict[str, Any]:
        facts = state.shows.add(content)
        game = state.shows.get(facts["id"]).game
        return facts | {"networks": state.shelf.looking(game) if facts["fog"] else []}

    return await asyncio.to_thread(opened)


@router.get("/api/replays/{name}/frames", responses=WRONG)
async def get_frames(
    request: Request,
    name: str = GAME_ID,
    first: int = Query(0, ge=0, le=100_000),
    count: int = Query(50, ge=1, le=200),
    seat: int | None = Query(None, ge=0, le=7),
) -> list[dict[str, Any]]:
    """Positions of an open replay, drawn for a seat or in full."""
    show = request.app.state.shows.get(name)
    return await asyncio.to_thread(show.frames, first, count, seat)


@router.get("/api/replays/{name}/sight", responses=WRONG)
async def get_sight(
    request: Request,
    name: str = GAME_ID,
    turn: int = Query(ge=0, le=100_000),
    seat: int = Query(ge=0, le=7),
    network: str | None = Query(None, max_length=200),
) -> dict[str, Any]:
    """Under fog: where a seat could believe the enemy general to be, and where a network looked."""
    state = request.app.state
    show = state.shows.get(name)
    if show.game.spec.information == "perfect":
        raise BadOption(f"nothing is hidden in {show.game.spec.name}")
    return await state.hall.thinkers.see(name, show.replay, seat, turn, network)


@router.post("/api/replays/{name}/try", responses=WRONG)
async def post_try(request: Request, wish: Branch, name: str = GAME_ID) -> dict[str, Any]:
    """Where other moves would have led."""
    show = request.app.state.shows.get(name)
    return await asyncio.to_thread(show.branch, wish.turn, wish.actions, wish.words)


@router.post("/api/reviews", responses=WRONG)
async def post_review(request: Request, wish: NewReview) -> dict[str, Any]:
    """Have every decision of a finished game judged; ask for the result with its id."""
    return await request.app.state.reviews.begin(wish.replay, wish.seat, wish.visits)


@router.get("/api/reviews/{name}", responses=WRONG)
async def get_review(
    request: Request, name: str = GAME_ID, after: int = Query(0, ge=0, le=100_000)
) -> dict[str, Any]:
    """What is judged so far, without the first `after` turns."""
    return request.app.state.reviews.get(name).as_json(after)


@router.post("/api/analyse", responses=WRONG)
async def post_analyse(request: Request, wish: Question) -> dict[str, Any]:
    """What every move is worth in one position."""
    state = request.app.state
    await asyncio.to_thread(read_game, wish.game)
    query = {"game": wish.game, "position": wish.position, "maxVisits": wish.visits, "maxMoves": 1000}
    answer = await state.analyst.judge(query)
    return condensed(answer, []) | {"kind": answer["kind"], "evaluator": answer["evaluator"]}


@router.get("/api/runs")
async def get_runs(request: Request) -> dict[str, Any]:
    """Tournaments and training runs."""
    return await asyncio.to_thread(request.app.state.runs.listed)


@router.get("/api/tournaments/{name}", responses=WRONG)
async def get_tournament(request: Request, name: str = Path(max_length=100)) -> dict[str, Any]:
    """Ratings and crosstable."""
    return await asyncio.to_thread(request.app.state.runs.tournament, name)


@router.post("/api/tournaments", responses=WRONG)
async def post_tournament(request: Request, wish: NewTournament) -> dict[str, Any]:
    """Begin a tournament; one at a time."""
    return {"name": await request.app.state.runs.play(wish.game, wish.entrants, wish.games)}


@router.get("/api/training/{name}", responses=WRONG)
async def get_training(
    request: Request, name: str = Path(max_length=100), after: int = Query(0, ge=0, le=2**31)
) -> dict[str, Any]:
    """The curves of a training run, after an iteration."""
    return await asyncio.to_thread(request.app.state.runs.training, name, after)


@router.get("/api/metrics")
async def get_metrics(request: Request) -> dict[str, Any]:
    """How the server is doing."""
    return request.app.state.hall.metrics()


@router.websocket("/ws")
async def websocket(socket: WebSocket) -> None:
    await socket.accept()
    state = socket.app.state
    await Client(socket, state.hall, state.limits).serve()
    state.closed += 1
    if state.closed % SWEEP == 0:
        gc.collect()  # a closed connection is garbage that points at itself, which Python leaves lying about for long
