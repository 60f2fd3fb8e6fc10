"""All the tables of a studio: games begin here, are found again, and leave memory when nobody is there."""

import asyncio
import secrets
from collections import OrderedDict
from pathlib import Path
from typing import Any

from stratagem.core.errors import BadOption, StratagemError
from stratagem.core.game import Game
from stratagem.studio import journal
from stratagem.studio.choices import PERSON, check_agent, read_game
from stratagem.studio.limits import Limits, TooMuch
from stratagem.studio.live import Live
from stratagem.studio.luck import fresh_dice
from stratagem.studio.rules import KEPT, Rules, rules_of
from stratagem.studio.table import Table
from stratagem.studio.thinking import Thinkers

LISTED = 100


class Hall:
    """Every game that is being played, by its name."""

    def __init__(self, folder: Path, thinkers: Thinkers, limits: Limits):
        self.folder, self.thinkers, self.limits = folder, thinkers, limits
        self.live: OrderedDict[str, Live] = OrderedDict()
        self.latencies: list[float] = []
        self.moves = 0
        self.hinting = 0
        self._opening: dict[str, asyncio.Future[Live]] = {}
        self._building = asyncio.Lock()  # one compiler at a time
        self._ready: set[Game] = set()

    async def create(
        self, title: str, players: list[str], pace: float = 2.0, nonce: str = ""
    ) -> tuple[Live, list[str]]:
        """A new game: (the table, the secret of each seat). The nonce is the players' part of the dice."""
        self._make_room()
        game = await asyncio.to_thread(read_game, title)
        if len(players) != game.spec.seats:
            raise BadOption(f"{game.spec.title} has {game.spec.seats} seats, not {len(players)}")
        for player in players:
            if player != PERSON:
                await asyncio.to_thread(check_agent, player, game, self.thinkers.shelf)
        rules = await self._rules(game)
        self._make_room()
        dice = None if game.spec.chance == "none" else fresh_dice(nonce)
        table, tokens = Table.start(rules, players, secrets.randbelow(2**31), pace, self.folder, dice)
        return self._sit(table), tokens

    async def _rules(self, game: Game) -> Rules:
        """Compiled rules; those that are ready wait for nobody."""
        if game not in self._ready:
            async with self._building:
                await asyncio.to_thread(rules_of, game)
            self._ready.add(game)
            if len(self._ready) > KEPT:
                self._ready.clear()
        return await asyncio.to_thread(rules_of, game)

    async def find(self, name: str) -> Live:
        """A game by its name, from memory or from its journal."""
        if name in self.live:
            self.live.move_to_end(name)
            return self.live[name]
        journal.path_of(self.folder, name)
        if name not in self._opening:
            self._make_room()
            self._opening[name] = asyncio.ensure_future(self._restore(name))
        return await asyncio.shield(self._opening[name])

    async def _restore(self, name: str) -> Live:
        try:
            async with self._building:
                table = await asyncio.to_thread(Table.restore, self.folder, name)
            return self._sit(table)
        finally:
            self._opening.pop(name, None)

    async def rematch(self, live: Live) -> tuple[Live, list[str]]:
        """The same again with seats rotated: (the new table, its secrets)."""
        old = live.table
        players = [*old.header.players[1:], old.header.players[0]]
        return await self.create(old.header.game, players, old.pace)

    def games(self) -> list[dict[str, Any]]:
        """The latest games, in memory or on disk."""
        found = []
        for path in journal.recent(self.folder, LISTED):
            if path.stem in self.live:
                found.append(self.live[path.stem].table.summary())
                continue
            try:
                header, events = journal.read(path)
            except StratagemError:
                continue
            result = next((event["over"] for event in events if "over" in event), None)
            turns = sum("actions" in event for event in events) - sum(
                event.get("undo", 0) for event in events
            )
            found.append(
                {"id": header.id, "game": header.game, "players": header.players, "created": header.created,
                 "turns": turns, "over": result is not None, "returns": result}
            )  # fmt: skip
        return found

    def note_latency(self, seconds: float) -> None:
        """How long the server itself took over a person's move."""
        self.moves += 1
        self.latencies.append(seconds)
        if len(self.latencies) > 8192:
            del self.latencies[:4096]

    def metrics(self) -> dict[str, Any]:
        waits = sorted(self.latencies)

        def at(share: float) -> float | None:
            return round(1000 * waits[int(share * (len(waits) - 1))], 3) if waits else None

        return {
            "games": len(self.live),
            "connections": sum(len(live.clients) for live in self.live.values()),
            "moves": self.moves,
            "latency_ms": {"p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "most": at(1.0)},
        }

    def left(self, live: Live) -> None:
        """Everybody has left a table; a finished game need not stay in memory."""
        if live.table.over and self.live.get(live.table.id) is live:
            del self.live[live.table.id]

    async def close(self) -> None:
        for live in list(self.live.values()):
            await live.close()
        self.live.clear()

    def _sit(self, table: Table) -> Live:
        live = Live(table, self.thinkers, self)
        self.live[table.id] = live
        return live

    def _make_room(self) -> None:
        """Put away games at which nobody is; they stay on disk."""
        if len(self.live) < self.limits.games:
            return
        for name, live in list(self.live.items()):
            if not live.clients:
                live.stop()
                del self.live[name]
                if len(self.live) < self.limits.games:
                    return
        raise TooMuch(f"{self.limits.games} games are being played; try again when one of them has ended")
