"""The inference service under 256 clients, against the same network asked one by one.

    python benchmarks/serving.py [--seconds 3] [--rounds 5] [--clients 256] [--weights FILE] [--json]

Every question goes the same way: `stratagem serve` in a process of its own with a Corso 5×5 network (the shipped one
unless told otherwise), asked over its Unix socket by the same client class, one connection a client, each client
waiting for its answer before it asks again. Four settings take turns, round after round, and the medians count:

    one caller        a server that never waits and never batches (--largest 1 --wait-ms 0), one client
    unbatched         the same server, all clients: what queueing without batching gives
    one, same server  the batching server as it stands, one client: its wait for company included
    batched           the batching server as it stands, all clients

The positions are those of games that the network plays against itself (temperature 1) and of random games, in which
hardly any position is asked twice at a time. The same four settings are measured once more inside a program, where
clients ask the service in their own process, as the studio does.

Then, on a batching server under load: the weight file is replaced 20 times, and every question must be answered
exactly once, by the network that its version names; a damaged file must change nothing; a server is killed, every
client must hear of it within a second, and a new one must serve the same clients again; and clients of a queue that
is too short must be told so, come back, and all be answered.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import measure, report

from stratagem.agents.network import shipped
from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.networks.tensors import read_facts
from stratagem.networks.tiles import for_batches
from stratagem.networks.weights import load_weights, save_weights
from stratagem.serving import AsyncClient, Busy, ServerGone, Service, Settings
from stratagem.serving.models import Forms

GAME = Corso()
MODEL = "corso"
GOAL = 8.0


class Positions:
    """What the clients ask, and what the right answers are."""

    def __init__(self, views, legals, network):
        self.views, self.legals = np.asarray(views), np.asarray(legals)
        judge = jax.jit(lambda views: jax.vmap(network)(views)[:2])
        parts = [judge(self.views[i : i + 64]) for i in range(0, len(self.views), 64)]
        self.logits = np.where(self.legals, np.concatenate([part[0] for part in parts]), -np.inf)
        self.values = np.concatenate([part[1] for part in parts])

    def __len__(self):
        return len(self.views)

    def right(self, index, answer):
        legal = self.legals[index]
        return (
            np.allclose(answer.logits[legal], self.logits[index][legal], atol=5e-3)
            and np.isneginf(answer.logits[~legal]).all()
            and np.allclose(answer.values, self.values[index], atol=5e-3)
        )


def played_positions(network, games, seed, sharpness):
    """The positions of games drawn from the network's policy (sharpness 1) or at random (0), game after game."""

    @jax.jit
    def turn(states, key):
        views = jax.vmap(GAME.view)(states, states.mover)
        legals = jax.vmap(GAME.legal)(states)[jnp.arange(games), states.mover]
        logits = jnp.where(legals, sharpness * jax.vmap(network)(views).logits, -jnp.inf)
        actions = jnp.repeat(jax.random.categorical(key, logits)[:, None], 2, axis=1)
        done = jax.vmap(GAME.done)(states)
        stepped = jax.vmap(GAME.step, in_axes=(0, 0, None))(states, actions, key)
        onward = jax.tree.map(
            lambda old, new: jnp.where(done.reshape(-1, *[1] * (old.ndim - 1)), old, new), states, stepped
        )
        return onward, (views, legals, ~done)

    states = jax.vmap(lambda _: GAME.init(None))(jnp.arange(games))
    seen = []
    for key in jax.random.split(jax.random.key(seed), GAME.spec.longest):
        states, rows = turn(states, key)
        seen.append(jax.tree.map(np.asarray, rows))
    views, legals, alive = (np.stack(part, axis=1) for part in zip(*seen, strict=True))  # [games, T, …]
    return views[alive], legals[alive]


class ServerProcess:
    """`stratagem serve` on a socket."""

    def __init__(self, socket, weights, **options):
        self.socket = socket
        options |= {"model": [f"{MODEL}={weights}"], "json": True}
        start = (
            "import json, pathlib, sys; from stratagem.cli.serve import Command; "
            "sys.exit(Command(socket=pathlib.Path(sys.argv[1]), **json.loads(sys.argv[2])).run())"
        )  # as the command line would, but where tyro is not installed too
        command = [sys.executable, "-c", start, str(socket), json.dumps(options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert json.loads(self.process.stdout.readline())["ready"]

    def cpu(self):
        """Seconds of all cores that the server has used; does not depend on what else the machine does."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        """Ask it to leave; its last word on what it counted."""
        self.process.send_signal(signal.SIGTERM)
        told = self.process.communicate(timeout=30)[0]
        assert self.process.returncode == 0
        return json.loads(told)["metrics"]["models"][MODEL]


def over_socket(socket):
    """What gives each client a connection of its own."""
    return lambda: AsyncClient(socket, connect_s=5.0)


@contextlib.asynccontextmanager
async def within(service):
    """The same for clients in the process of the service."""
    yield service


async def load(connect, positions, clients, seconds, until=None, others=()):
    """Every client asks one position after the other: (questions a second, sorted seconds of each, facts).

    `others` have the right answers of later versions of the model, which take turns.
    """
    right = [positions, *others]
    stop = asyncio.Event()
    spent, wrong, versions = [], 0, Counter()

    async def client(number):
        nonlocal wrong
        index = number * len(positions) // clients
        async with connect() as line:
            while not stop.is_set():
                began = time.perf_counter()
                answer = await line.evaluate(MODEL, positions.views[index], positions.legals[index])
                spent.append(time.perf_counter() - began)
                versions[answer.version] += 1
                if len(spent) % 16 == 0:  # a sample: checking all would slow the clients down
                    wrong += not right[(answer.version - 1) % len(right)].right(index, answer)
                index = (index + 1) % len(positions)

    tasks = [asyncio.ensure_future(client(number)) for number in range(clients)]
    await asyncio.sleep(1.0)  # until the first wave is through
    spent.clear()
    began = time.perf_counter()
    if until is None:
        await asyncio.sleep(seconds)
    else:
        await until()
    rate = len(spent) / (time.perf_counter() - began)
    times = np.sort(spent)
    stop.set()
    await asyncio.gather(*tasks)
    return rate, times, {"wrong": wrong, "asked": sum(versions.values()), "versions": versions}


def figures(rate, times):
    return {
        "per_second": round(rate, 1),
        "p50_ms": round(1000 * float(np.percentile(times, 50)), 2),
        "p99_ms": round(1000 * float(np.percentile(times, 99)), 2),
    }


def socket_throughput(folder, weights, sets, clients, seconds, rounds):
    """A server in a process of its own, asked over its socket."""
    plain = ServerProcess(folder / "plain.sock", weights, largest=1, wait_ms=0.0)
    batching = ServerProcess(folder / "batching.sock", weights)
    servers = [(over_socket(server.socket), server.cpu) for server in (plain, batching)]
    result = throughput(*servers, sets, clients, seconds, rounds)
    told = batching.end()
    plain.end()
    return result | counted(told)


def inside_throughput(weights, sets, clients, seconds, rounds):
    """The service and its clients in this process; the CPU time is then that of both."""
    with Service(Settings(largest=1, wait_ms=0.0)) as plain, Service() as batching:
        for service in (plain, batching):
            service.add_model(MODEL, weights)
        services = [(partial(within, service), time.process_time) for service in (plain, batching)]
        result = throughput(*services, sets, clients, seconds, rounds)
        return result | counted(batching.metrics()["models"][MODEL])


def counted(told):
    """What the batching service says of itself."""
    assert told["busy"] == told["failed"] == told["late"] == 0
    return {
        "batching service": {
            key: told[key] for key in ("mean_batch", "batch_fill", "asked_alike", "batch_ms")
        }
    }


def throughput(plain, batching, sets, clients, seconds, rounds):
    """The four settings in turn: {setting: medians}, with how often batching is better.

    `plain` and `batching` are each a way to connect and a clock of the CPU time.
    """
    settings = {
        "one caller": (plain, 1),
        "unbatched": (plain, clients),
        "one, same server": (batching, 1),
        "batched": (batching, clients),
    }
    seen = {}
    for _ in range(rounds):
        for kind, positions in sets.items():
            for name, ((connect, cpu), count) in settings.items():
                before = cpu()
                rate, times, facts = asyncio.run(load(connect, positions, count, seconds))
                assert not facts["wrong"], f"{facts['wrong']} wrong answers"
                spent = {"cpu_ms": 1000 * (cpu() - before) / facts["asked"]}
                seen.setdefault(kind, {}).setdefault(name, []).append(figures(rate, times) | spent)
    result = {}
    for kind, by_name in seen.items():
        medians = {
            name: {key: round(float(np.median([row[key] for row in rows])), 3) for key in rows[0]}
            for name, rows in by_name.items()
        }
        rates = {name: np.array([row["per_second"] for row in rows]) for name, rows in by_name.items()}
        gains = {
            f"batched / {name}": [
                round(float(f(rates["batched"] / rates[name])), 2) for f in (np.median, np.min, np.max)
            ]
            for name in settings
            if name != "batched"
        }
        saved = medians["one caller"]["cpu_ms"] / medians["batched"]["cpu_ms"]
        result[f"positions of {kind}"] = medians | {
            "median, lowest and highest gain": gains,
            "CPU, one caller / batched": round(saved, 2),
        }
    gain = result["positions of games"]["median, lowest and highest gain"]["batched / one caller"][0]
    return result | {"goal": {"batched / one caller": GOAL, "reached": gain >= GOAL}}


def computed(forms, positions):
    """Without any service: positions a second of the compiled network, by batch size, plain and in tiles."""
    program = jax.jit(lambda network, views: jax.vmap(network)(views)[:2])
    rates = {}
    for size in (1, 4, 16, 64, 256):
        views = positions.views[:size]
        for name, network in zip(("plain", "tiles"), forms, strict=True):
            seconds = measure(lambda: jax.block_until_ready(program(network, views)), least=0.5)  # noqa: B023
            rates[f"{name}, batch of {size}"] = round(size / seconds["median"], 1)
    return rates


def reloads(folder, weights, network, positions, clients, times=20):
    """Replace the weights under load; nothing may be lost, answered twice, or answered by neither network."""
    choice = read_facts(weights)["network"]
    file = folder / "reloaded.safetensors"
    shutil.copy(weights, file)
    server = ServerProcess(folder / "reload.sock", file, watch_s=0.05)
    other = jax.tree.map(lambda leaf: leaf * 1.1, network)
    changed = Positions(positions.views, positions.legals, other)
    assert not np.allclose(changed.values, positions.values, atol=1e-2)
    seen = []

    async def replace():
        async with AsyncClient(server.socket) as line:
            for number in range(times):
                save_weights(file, [other, network][number % 2], choice, [GAME], {})
                while (now := (await line.metrics())["models"][MODEL])["reloads"] <= number:
                    await asyncio.sleep(0.02)
                assert now["last_error"] is None
                seen.append(now["version"])
            file.with_suffix(".bad").write_bytes(b"not weights")
            os.replace(file.with_suffix(".bad"), file)
            while (now := (await line.metrics())["models"][MODEL])["last_error"] is None:
                await asyncio.sleep(0.02)
            assert now["reloads"] == times, "a damaged file was taken"

    rate, spent, facts = asyncio.run(
        load(over_socket(server.socket), positions, clients, 0, replace, [changed])
    )
    told = server.end()
    lost = facts["asked"] - told["answered"]
    assert not facts["wrong"], f"{facts['wrong']} answers of neither network"
    assert lost == 0, f"{facts['asked']} answers came, {told['answered']} were sent"
    assert told["failed"] == told["late"] == told["cancelled"] == told["busy"] == 0
    return {
        "reloads": told["reloads"],
        "versions_that_answered": len(facts["versions"]),
        "questions": facts["asked"],
        "lost_or_twice": lost,
        "damaged_file": "refused, the old weights stayed",
        **figures(rate, spent),
    }


def killed(folder, weights, positions, clients):
    """Kill the server with all clients waiting; then start another for the same clients."""
    socket = folder / "killed.sock"
    server = ServerProcess(socket, weights)
    heard, back = [], []
    began = 0.0
    restarted = asyncio.Event()

    async def client(number):
        line = AsyncClient(socket, connect_s=0.5)
        try:
            while True:
                await line.evaluate(MODEL, positions.views[number], positions.legals[number])
        except ServerGone:
            heard.append(time.perf_counter() - began)
        try:
            await line.ping()
            raise AssertionError("a dead server answered")
        except ServerGone:
            pass
        await restarted.wait()
        answer = await line.evaluate(MODEL, positions.views[number], positions.legals[number])
        back.append(positions.right(number, answer))
        line.close()

    async def scene():
        nonlocal began, server
        tasks = [asyncio.ensure_future(client(number)) for number in range(clients)]
        await asyncio.sleep(2.0)
        began = time.perf_counter()
        server.process.kill()
        while len(heard) < clients:
            assert time.perf_counter() - began < 10
            await asyncio.sleep(0.005)
        server.kill()
        server = await asyncio.to_thread(ServerProcess, socket, weights)
        restarted.set()
        await asyncio.gather(*tasks)

    asyncio.run(scene())
    server.end()
    assert max(heard) < 1.0, f"a client heard of it only after {max(heard):.2f} s"
    assert len(back) == clients
    assert all(back)
    return {"clients_told": len(heard), "slowest_to_hear_s": round(max(heard), 3), "served_again": sum(back)}


def refused(folder, weights, positions, clients):
    """A queue of 8 under all clients: those who are told `busy` come back after the time that they were told."""
    server = ServerProcess(folder / "busy.sock", weights, queue=8, largest=8)
    refusals = 0

    async def client(number):
        nonlocal refusals
        async with AsyncClient(server.socket, connect_s=5.0) as line:
            while True:
                try:
                    return await line.evaluate(MODEL, positions.views[number], positions.legals[number])
                except Busy as busy:
                    refusals += 1
                    await asyncio.sleep(busy.retry_s)

    async def scene():
        return await asyncio.gather(*(client(number) for number in range(clients)))

    answers = asyncio.run(scene())
    told = server.end()
    assert told["busy"] == refusals
    assert told["answered"] == clients
    return {"answered": len(answers), "told_busy": refusals}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--weights", type=Path, help="of another network for Corso 5×5 than the shipped one")
    parser.add_argument(
        "--json", action="store_true", help="one JSON line and nothing else (it is always printed)"
    )
    options = parser.parse_args()
    use_compile_cache()
    weights = options.weights or shipped(GAME)[-1]
    network = load_weights(weights, GAME)
    view = jax.ShapeDtypeStruct((GAME.height, GAME.width, 5), np.uint8)
    forms = Forms(network, for_batches(network, view))
    sets = {
        "games": Positions(*played_positions(network, options.clients, 0, 1.0), network),
        "random": Positions(*played_positions(network, options.clients, 1, 0.0), network),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {"load_average_before": os.getloadavg()[0], "computed": computed(forms, sets["games"])}
        asked = (sets, options.clients, options.seconds, options.rounds)
        result["over the socket"] = socket_throughput(folder, weights, *asked)
        result["inside a program"] = inside_throughput(weights, *asked)
        result["reloads"] = reloads(folder, weights, network, sets["games"], options.clients)
        result["killed"] = killed(folder, weights, sets["games"], options.clients)
        result["busy"] = refused(folder, weights, sets["games"], options.clients)
    report("serving", network=read_facts(weights)["network"], clients=options.clients, **result)


if __name__ == "__main__":
    main()
