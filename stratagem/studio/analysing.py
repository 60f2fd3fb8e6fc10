"""The analysis engine, asked by the pages: reviews of whole games, and single positions.

The engine is `stratagem analyze`, a process of its own that is started when it is first needed; see docs/analysis.md.
"""

import asyncio
import json
import secrets
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from stratagem.core.errors import StratagemError
from stratagem.protocols import replay as replays
from stratagem.studio.journal import NoSuchGame
from stratagem.studio.limits import TooMuch
from stratagem.studio.watching import Show

MOST_REVIEWS = 12  # kept
MOST_ACTIVE = 4  # under way
MOST_TURNS = 300  # judged in one game; of longer ones every second turn, every third …
MOST_TOGETHER = 60  # the same for games in which all move at once, whose judgements take longer
SHOWN = 12  # candidates of a turn
LONGEST_LINE = 1 << 24

Hear = Callable[[dict[str, Any]], None]


class NoAnalysis(StratagemError):
    """The engine could not do what was asked."""


class Analyst:
    """One engine process, and who waits for its answers."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[str, Hear] = {}
        self._starting = asyncio.Lock()

    async def submit(self, query: dict[str, Any], hear: Hear) -> str:
        """Ask; `hear` is called with every answer until the query is forgotten."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                await self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        name = secrets.token_hex(8)
        self._waiting[name] = hear
        try:
            self._process.stdin.write(json.dumps({"id": name, **query}).encode() + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            self._waiting.pop(name, None)
            raise NoAnalysis("the analysis engine has died; try again") from error
        return name

    def forget(self, name: str) -> None:
        self._waiting.pop(name, None)

    async def judge(self, query: dict[str, Any]) -> dict[str, Any]:
        """The final answer for a single position."""
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

        def hear(answer: dict[str, Any]) -> None:
            if not answered.done() and not answer.get("isDuringSearch"):
                answered.set_result(answer)

        name = await self.submit(query, hear)
        try:
            answer = await asyncio.wait_for(answered, self.seconds)
        except TimeoutError:
            raise NoAnalysis(f"the engine thought for more than {self.seconds:g} seconds") from None
        finally:
            self.forget(name)
        if "error" in answer:
            raise NoAnalysis(answer["error"])
        return answer

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        if self._reader is not None:
            self._reader.cancel()

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "stratagem.cli.main", "analyze",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST_LINE,
        )  # fmt: skip
        self._reader = asyncio.ensure_future(self._read(self._process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            hear = self._waiting.get(answer.get("id") or "")
            if hear is not None:
                hear(answer)
        for hear in list(self._waiting.values()):
            hear({"error": "the analysis engine has died; try again"})
        self._waiting.clear()


class Review:
    """The judgement of one game, as far as it has come."""

    def __init__(self, name: str, show: Show, seat: int | None):
        self.name, self.replay = name, show.replay
        self.simultaneous = show.game.spec.dynamics == "simultaneous"
        self.seat = (seat or 0) if self.simultaneous else seat
        self.wanted = self._turns()
        self.turns: dict[int, dict[str, Any]] = {}
        self.facts: dict[str, Any] = {}
        self.error = ""

    def _turns(self) -> list[int]:
        count = len(self.replay.actions)
        most = MOST_TOGETHER if self.simultaneous else MOST_TURNS
        return list(range(0, count, max(1, -(-count // most))))

    @property
    def done(self) -> bool:
        return bool(self.error) or len(self.turns) >= len(self.wanted)

    def query(self, show: Show, visits: int) -> dict[str, Any]:
        spec = show.game.spec
        found: dict[str, Any] = {
            "game": spec.title,
            "moves": self.replay.actions,
            "analyzeTurns": self.wanted,
            "maxVisits": visits,
            "maxMoves": 1000,
            "includeRolls": show.game.spec.chance == "dice",
            "priority": -1,  # a person who asks about one position does not wait for a review
        }
        for key in ("seed", "outcomes", "fair"):
            if getattr(self.replay, key) is not None:
                found[key] = getattr(self.replay, key)
        if self.replay.start is not None:
            found["position"] = self.replay.start
        if self.simultaneous:
            found["seat"] = self.seat
        return found

    def hear(self, answer: dict[str, Any]) -> None:
        if "error" in answer:
            self.error = answer["error"]
        elif not answer.get("isDuringSearch") and not answer.get("noResults"):
            self.facts = {key: answer.get(key) for key in ("evaluator", "kind", "note")}
            self.turns[answer["turnNumber"]] = condensed(answer, self.replay.actions[answer["turnNumber"]])

    def as_json(self, after: int) -> dict[str, Any]:
        """What is known; turns that were told of before (`after` of them) are left out."""
        fresh = list(self.turns.items())[after:]
        return {
            "id": self.name,
            "done": self.done,
            "judged": len(self.turns),
            "wanted": len(self.wanted),
            "seat": self.seat,
            "error": self.error,
            **self.facts,
            "turns": [{"turn": turn, **judged} for turn, judged in fresh],
        }


def condensed(answer: dict[str, Any], row: list[int]) -> dict[str, Any]:
    """One judged position: the value, the candidates, and what the played move lost."""
    root, infos = answer["rootInfo"], answer["moveInfos"]
    seat = root["seat"]
    played = row[seat] if row and seat is not None else -1
    best = max((info["value"] for info in infos), default=0.0)
    kept = [info for info in infos if info["order"] < SHOWN or info["action"] == played]
    trusted = [info for info in infos if info["visits"] or answer["kind"] == "exact"]
    loss = next((best - info["value"] for info in infos if info["action"] == played), None)
    return {
        "seat": seat,
        "value": root["value"],
        "values": root["values"],
        "played": played,
        "loss": None if loss is None else round(max(0.0, loss), 4),
        "moves": [
            {key: info[key] for key in ("move", "action", "value", "visits", "prior", "pv", "score")}
            for info in kept
        ],
        "losses": {str(info["action"]): round(best - info["value"], 4) for info in trusted},
        "roll": condensed_roll(answer.get("roll")),
    }


def condensed_roll(roll: dict[str, Any] | None) -> dict[str, Any] | None:
    """What could have fallen, as short as can be: [words, chance, value], and which of them fell."""
    if roll is None:
        return None
    falls = roll["outcomes"]
    return {
        "seat": roll["seat"],
        "expected": roll["expected"],
        "luck": roll["luck"],
        "falls": [[one["words"], round(one["chance"], 5), round(one["value"], 4)] for one in falls],
        "fell": [one["fell"] for one in falls].index(True),
    }


class Reviews:
    """The reviews that were asked for last."""

    def __init__(self, analyst: Analyst):
        self.analyst = analyst
        self._known: OrderedDict[str, Review] = OrderedDict()

    async def begin(self, content: Any, seat: int | None, visits: int) -> dict[str, Any]:
        """Start to judge a replay, from decoded JSON."""
        if sum(not review.done for review in self._known.values()) >= MOST_ACTIVE:
            raise TooMuch(f"{MOST_ACTIVE} reviews are being made; wait for one of them")
        show = await asyncio.to_thread(lambda: Show(replays.parse(content, "the replay")))
        review = Review(secrets.token_urlsafe(12), show, seat)
        self._known[review.name] = review
        while len(self._known) > MOST_REVIEWS:
            self._known.popitem(last=False)
        if review.wanted:
            await self.analyst.submit(review.query(show, visits), review.hear)
        return review.as_json(0)

    def get(self, name: str) -> Review:
        if name not in self._known:
            raise NoSuchGame("this review was put away; ask for it again")
        return self._known[name]
