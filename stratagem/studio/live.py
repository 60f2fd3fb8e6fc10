"""A table with people around it: agents are asked when it is their turn, clocks run, and everybody is told.

One task a table drives it while somebody is there. Commands of clients come in between, never in the middle of a turn.
"""

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from stratagem.core.errors import IllegalAction, StratagemError
from stratagem.studio.choices import ADVISERS
from stratagem.studio.table import NotYourSeat, Stale, Table
from stratagem.studio.thinking import Thinkers

if TYPE_CHECKING:
    from stratagem.studio.hall import Hall
    from stratagem.studio.sockets import Client

SLOWEST, FASTEST = 0.25, 20.0  # turns a second
RETRY_S = 1.0


class Live:
    """One table and its clients."""

    def __init__(self, table: Table, thinkers: Thinkers, hall: "Hall"):
        self.table, self.thinkers, self.hall = table, thinkers, hall
        self.clients: set[Client] = set()
        self.queues: dict[int, list[tuple[int, int]]] = {seat: [] for seat in table.people}
        """Moves that wait, as (number, action), in games that do not wait."""
        self.done: dict[int, int] = dict.fromkeys(table.people, 0)
        """The number of the last queued move that was played or dropped."""
        self.paused = False
        self.thinking = False
        self.trouble = ""
        self._warming: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # Coming and going.

    def enter(self, client: "Client") -> None:
        self.clients.add(client)
        if self._warming is None and not self.table.over:
            self._warming = asyncio.ensure_future(self._warm())
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._drive())
        self._changed.set()

    def leave(self, client: "Client") -> None:
        self.clients.discard(client)
        if not self.clients:
            self.stop()
            self.hall.left(self)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.thinking = False

    async def close(self) -> None:
        task = self._task
        self.stop()
        if task is not None:
            with suppress(asyncio.CancelledError, Exception):
                await task

    # What clients ask for.

    def move(self, seats: list[int], turn: int, seat: int, action: int) -> None:
        """A person plays."""
        began = time.perf_counter()
        self._own(seats, seat)
        table = self.table
        if table.simultaneous:
            raise IllegalAction("this game does not wait: queue your moves")
        if turn != table.turn:
            raise Stale(f"that was for turn {turn}; turn {table.turn} is on")
        if seat not in table.movers:
            raise IllegalAction("it is not your turn")
        waited = time.monotonic() - table.since
        table.act({seat: action})
        table.seconds[seat] += waited
        self.tell()
        self.hall.note_latency(time.perf_counter() - began)
        self._changed.set()

    def queue(self, seats: list[int], seat: int, moves: list[tuple[int, int]]) -> None:
        """The moves that a person wants played, in place of those that wait."""
        self._own(seats, seat)
        if not self.table.simultaneous:
            raise IllegalAction("this game waits for you: make a move")
        self.queues[seat] = [(number, action) for number, action in moves if number > self.done[seat]]

    def undo(self, seats: list[int], seat: int) -> None:
        self._own(seats, seat)
        if set(self.table.people) - set(seats):
            raise IllegalAction("another person plays; moves stand")
        self.stop()  # an agent that thinks about what is taken back
        try:
            self.table.undo(seat)
            self.tell(rejoin=True)
        finally:
            self._go_on()

    def resign(self, seats: list[int], seat: int) -> None:
        self._own(seats, seat)
        self.table.resign(seat)
        self.tell()
        self._changed.set()

    def set_pace(self, seats: list[int], pace: float) -> None:
        if self.table.people and not seats:
            raise NotYourSeat("only players set the pace")
        self.table.pace = min(max(pace, SLOWEST), FASTEST)
        self.tell()

    def pause(self, seats: list[int], paused: bool) -> None:
        if self.table.people and not seats:
            raise NotYourSeat("only players pause a game")
        if set(self.table.people) - set(seats):
            raise IllegalAction("another person plays; the game goes on")
        self.paused = paused
        self.tell()
        self._changed.set()

    async def hint(self, seats: list[int], seat: int) -> dict[str, Any]:
        """What a strong player would do."""
        self._own(seats, seat)
        table = self.table
        if seat not in table.movers:
            raise IllegalAction("it is not your turn")
        turn = table.turn
        action = await self.thinkers.choose(table, seat, ADVISERS[table.rules.spec.name])
        return {
            "type": "hint",
            "turn": turn,
            "seat": seat,
            "action": action,
            "words": table.rules.words(action),
        }

    def _own(self, seats: list[int], seat: int) -> None:
        if seat not in seats:
            raise NotYourSeat(f"seat {seat + 1} is not yours")

    # Telling.

    def tell(self, rejoin: bool = False) -> None:
        """Everybody hears of the position; those with the same seats get the same words."""
        told: dict[tuple[int, ...], dict[str, Any]] = {}
        for client in list(self.clients):
            seats = tuple(client.seats)
            if seats not in told:
                told[seats] = self.position(list(seats))
            if rejoin:
                client.send(self.table.facts(client.seats))
            client.show(told[seats])

    def position(self, seats: list[int]) -> dict[str, Any]:
        found = self.table.position(seats) | {
            "thinking": self.thinking,
            "paused": self.paused,
            "trouble": self.trouble,
        }
        if self.table.simultaneous:
            found["done"] = {str(seat): self.done[seat] for seat in seats}
        return found

    # Driving.

    async def _warm(self) -> None:
        """Have the agents made ready while a person thinks about the first move."""
        table = self.table
        for seat, player in enumerate(table.header.players):
            if seat not in table.people and seat not in table.movers:
                with suppress(StratagemError):  # it is not to move, and says so
                    await self.thinkers.choose(table, seat, player)

    def _go_on(self) -> None:
        if self.clients and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._drive())
        self._changed.set()

    async def _drive(self) -> None:
        turn = self._turn_together if self.table.simultaneous else self._turn_alone
        while not self.table.over:
            self._changed.clear()
            if self.paused:
                await self._changed.wait()
                continue
            try:
                await turn()
                self.trouble = ""
            except StratagemError as error:
                self.thinking = False
                self.trouble = str(error)
                self.tell()
                await asyncio.sleep(RETRY_S)

    async def _turn_alone(self) -> None:
        """One seat moves: an agent is asked, a person is waited for."""
        table = self.table
        seat, turn = table.movers[0], table.turn
        if seat in table.people:
            await self._changed.wait()
            return
        self.thinking = True
        began = time.monotonic()
        try:
            action = await self.thinkers.choose(table, seat, table.header.players[seat])
        finally:
            self.thinking = False
        if not table.people:  # nobody plays, so the pace is the watchers'
            await asyncio.sleep(max(0.0, 1 / table.pace - (time.monotonic() - began)))
        if table.turn == turn and not table.over:
            table.seconds[seat] += time.monotonic() - began
            table.act({seat: action})
            self.tell()

    async def _turn_together(self) -> None:
        """All seats move when the clock strikes; agents have been asked by then."""
        table = self.table
        began = time.monotonic()
        agents = [seat for seat in table.movers if seat not in table.people]
        chosen = await asyncio.gather(
            *(self.thinkers.choose(table, seat, table.header.players[seat]) for seat in agents)
        )
        await asyncio.sleep(max(0.0, 1 / table.pace - (time.monotonic() - began)))
        if table.over or self.paused:
            return
        actions = dict(zip(agents, chosen, strict=True))
        for seat in table.movers:
            if seat in table.people:
                actions[seat] = self._next_queued(seat)
        table.act(actions)
        self.tell()

    def _next_queued(self, seat: int) -> int:
        """The first waiting move that is possible; those before it are dropped."""
        legal = self.table.look.legal[seat]
        while self.queues[seat]:
            number, action = self.queues[seat].pop(0)
            self.done[seat] = number
            if 0 <= action < len(legal) and legal[action]:
                return action
        return self.table.rules.idle(legal)
