"""The studio under 200 simultaneous games, all played over websockets by this one process.

    python benchmarks/studio.py [--games 200] [--minutes 10] [--think 4]

Every client plays whole games of Corso against an agent, with random legal moves and a pause for thought that is drawn
around `--think` seconds; when a game is over the next one begins. Every tenth connection is dropped in the middle of a
game now and then and comes back. At the end of each game its replay is fetched, played through, and compared with what
this client sent: a move that is missing, doubled or altered counts.

Two latencies of a person's move are told: the server's own (from reading the message to handing the new position to
the socket; agents think after that), and the round trip as the client sees it. Memory is that of the server process
and of all its helpers, from /proc.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import websockets

sys.path.insert(0, str(Path(__file__).parent))
from machine import report

from stratagem.protocols import replay as replays

GOAL_MS = 50.0
FLAT = 1.05  # the server's memory in the last minute, compared with the second one


class Tally:
    """What happened to all clients."""

    def __init__(self):
        self.games = self.moves = self.lost = self.doubled = self.altered = self.dropped = 0
        self.trips = []
        self.errors = []


async def play_one(http, address, tally, think, until, rng, opponent):
    """One game; whether it came to its end."""
    wish = {"game": "corso", "players": ["human", opponent]}
    if rng.random() < 0.5:
        wish["players"].reverse()
    answer = await http.post("/api/games", json=wish)
    if answer.status_code == 429:
        await asyncio.sleep(rng.uniform(0.5, 2))
        return
    game = answer.raise_for_status().json()
    seat, token = next((int(seat), token) for seat, token in game["tokens"].items())
    sent = []
    while time.monotonic() < until:
        async with websockets.connect(address.replace("http", "ws") + "/ws", open_timeout=60) as socket:
            await socket.send(json.dumps({"type": "join", "game": game["id"], "tokens": [token]}))
            waiting = None  # (turn, when) of the move whose outcome is awaited
            async for text in socket:
                message = json.loads(text)
                if message["type"] == "error":
                    if message["code"] != "stale":
                        tally.errors.append(message["message"])
                    continue
                if message["type"] != "state":
                    continue
                if waiting and message["turn"] > waiting[0]:
                    tally.trips.append(time.perf_counter() - waiting[1])
                    waiting = None
                if message["over"]:
                    await compare(http, game, seat, sent, tally)
                    return
                if time.monotonic() > until:
                    return
                if seat not in message["movers"] or waiting:
                    continue
                if rng.random() < 0.01:
                    tally.dropped += 1
                    break  # hang up, and come back
                await asyncio.sleep(rng.uniform(0.5, 1.5) * think)
                action = rng.choice(message["legal"][str(seat)])
                sent.append((message["turn"], action))
                waiting = (message["turn"], time.perf_counter())
                await socket.send(
                    json.dumps({"type": "move", "turn": message["turn"], "seat": seat, "action": action})
                )
                tally.moves += 1


async def compare(http, game, seat, sent, tally):
    """Hold the server's record against what was sent."""
    answer = (await http.get(f"/api/games/{game['id']}/replay")).raise_for_status()
    replay = replays.parse(answer.json(), game["id"])
    kept = [(turn, row[seat]) for turn, row in enumerate(replay.actions) if row[seat] >= 0]
    tally.games += 1
    tally.lost += len(set(sent) - set(kept))
    tally.altered += len(set(kept) - set(sent))
    tally.doubled += len(kept) - len(set(kept))
    if tally.games % 20 == 1:
        await asyncio.to_thread(replays.verify, replay)


async def client(number, http, address, tally, think, until, opponent):
    rng = random.Random(number)
    await asyncio.sleep(rng.uniform(0, 2 * think))
    while time.monotonic() < until:
        try:
            await play_one(http, address, tally, think, until, rng, opponent)
        except (websockets.ConnectionClosed, httpx.HTTPError, TimeoutError) as error:
            tally.errors.append(repr(error))


def memory(root):
    """MiB that a process and all below it hold: (itself, all)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    family = {root}
    while fresh := {one for one, parent in parents.items() if parent in family} - family:
        family |= fresh
    return resident(root), sum(resident(one) for one in family)


def resident(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


async def watch(pid, until, samples):
    began = time.monotonic()
    while time.monotonic() < until:
        samples.append((time.monotonic() - began, *memory(pid)))
        await asyncio.sleep(5)


def at(values, share):
    ordered = sorted(values)
    return round(1000 * ordered[int(share * (len(ordered) - 1))], 2) if ordered else None


async def bench(options, studio, address):
    tally, samples = Tally(), []
    limits = httpx.Limits(max_connections=50, keepalive_expiry=2.0)  # the server closes idle ones after 5 s
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as http:
        # The agent and the rules are compiled before the clock starts.
        await play_one(http, address, Tally(), 0.0, time.monotonic() + 60, random.Random(0), options.opponent)
        began = time.monotonic()
        until = began + 60 * options.minutes
        await asyncio.gather(
            watch(studio.pid, until, samples),
            *(
                client(number, http, address, tally, options.think, until, options.opponent)
                for number in range(options.games)
            ),
        )
        metrics = (await http.get("/api/metrics")).json()

    def by_minute(column):
        """MiB, the mean of each minute."""
        minutes = sorted({int(row[0] // 60) for row in samples})
        rows = [[row[column] for row in samples if row[0] // 60 == minute] for minute in minutes]
        return [round(sum(row) / len(row), 1) for row in rows]

    return {
        "games_at_once": options.games,
        "minutes": options.minutes,
        "games_finished": tally.games,
        "moves": tally.moves,
        "moves_per_second": round(tally.moves / (60 * options.minutes), 1),
        "reconnections": tally.dropped,
        "lost": tally.lost,
        "doubled": tally.doubled,
        "altered": tally.altered,
        "errors": len(tally.errors),
        "first_errors": tally.errors[:3],
        "server_ms": metrics["latency_ms"],
        "round_trip_ms": {
            "p50": at(tally.trips, 0.5),
            "p95": at(tally.trips, 0.95),
            "p99": at(tally.trips, 0.99),
        },
        "memory_mib_by_minute": {"server": by_minute(1), "all": by_minute(2)},
        "goal_ms": GOAL_MS,
        "reached": not (tally.lost or tally.doubled or tally.altered or tally.errors)
        and metrics["latency_ms"]["p95"] < GOAL_MS
        and by_minute(1)[-1] <= FLAT * by_minute(1)[:2][-1],
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--think", type=float, default=4, help="seconds between a position and the move, on average"
    )
    parser.add_argument("--opponent", default="random")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        studio = subprocess.Popen(
            [sys.executable, "-m", "stratagem.cli.main", "studio", "--no-browser", "--json", "--port", "0",
             "--runs", folder],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            address = json.loads(studio.stdout.readline())["address"].rstrip("/")
            report("studio", **asyncio.run(bench(options, studio, address)))
        finally:
            studio.terminate()
            studio.wait()


if __name__ == "__main__":
    main()
