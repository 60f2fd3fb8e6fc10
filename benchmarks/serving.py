"""The inference service under 256 clients, against the same server asked one by one.

    python benchmarks/serving.py [--seconds 8] [--clients 256] [--json]

Both sides are `stratagem serve` in a process of its own with the shipped Corso 5×5 network, asked over its Unix socket
by the same client class, one connection a client, each client waiting for an answer before it asks again. "One by one"
is a server that takes one question at a time (`--largest 1 --wait-ms 0`), asked by one client and by all of them; the
faster of the two is the yardstick. "Batched" is the server as it stands. The positions are those of games that the
network plays against itself (temperature 1), and of random games, in which hardly any position comes twice.

Then, on the batched server under load: the weight file is replaced 20 times, and every question must be answered
exactly once, by the old or the new network; and the server is killed, every client must hear of it within a second,
and a new one must serve the same clients again.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import report

from stratagem.agents.network import shipped
from stratagem.core.compile_cache import use_compile_cache
from stratagem.games.corso import Corso
from stratagem.networks.tensors import read_facts
from stratagem.networks.weights import load_weights, save_weights
from stratagem.serving import AsyncClient, Busy, ServerGone

GAME = Corso()
MODEL = "corso"


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

    def __init__(self, socket, weights, *words):
        self.socket = socket
        command = [sys.executable, "-m", "stratagem.cli.main", "serve", "--json", "--socket", str(socket)]
        self.process = subprocess.Popen(
            [*command, "--model", f"{MODEL}={weights}", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert json.loads(self.process.stdout.readline())["ready"]

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


async def load(socket, positions, clients, seconds, until=None):
    """Every client asks one position after the other: (questions a second, sorted seconds of each, facts)."""
    stop = asyncio.Event()
    spent, wrong, versions = [], 0, Counter()

    async def client(number):
        nonlocal wrong
        index = number * len(positions) // clients
        async with AsyncClient(socket, connect_s=5.0) as line:
            while not stop.is_set():
                began = time.perf_counter()
                answer = await line.evaluate(MODEL, positions.views[index], positions.legals[index])
                spent.append(time.perf_counter() - began)
                versions[answer.version] += 1
                if len(spent) % 64 == 0 or clients == 1:  # a sample: checking all would slow the clients down
                    wrong += not positions.right(index, answer)
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


def throughput(folder, weights, sets, clients, seconds):
    """One by one and batched, on the same positions."""
    result = {}
    for name, words in (("one_by_one", ["--largest", "1", "--wait-ms", "0"]), ("batched", [])):
        server = ServerProcess(folder / f"{name}.sock", weights, *words)
        for kind, positions in sets.items():
            for count in [1, clients] if name == "one_by_one" else [clients]:
                rate, times, facts = asyncio.run(load(server.socket, positions, count, seconds))
                assert not facts["wrong"], f"{facts['wrong']} wrong answers"
                result[f"{name}, {kind}, {count} clients"] = figures(rate, times)
        told = server.end()
        result[f"{name}: server"] = {
            key: told[key] for key in ("mean_batch", "batch_fill", "asked_alike", "batch_ms")
        }
        assert told["busy"] == told["failed"] == told["late"] == 0
    for kind in sets:
        alone = max(result[f"one_by_one, {kind}, {count} clients"]["per_second"] for count in (1, clients))
        result[f"ratio, {kind}"] = round(
            result[f"batched, {kind}, {clients} clients"]["per_second"] / alone, 2
        )
    return result


def reloads(folder, weights, network, positions, clients, times=20):
    """Replace the weights under load; nothing may be lost, answered twice, or answered by neither network."""
    choice = read_facts(weights)["network"]
    file = folder / "reloaded.safetensors"
    shutil.copy(weights, file)
    server = ServerProcess(folder / "reload.sock", file, "--watch-s", "0.05")
    other = jax.tree.map(lambda leaf: leaf * 1.01, network)
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

    rate, spent, facts = asyncio.run(load(server.socket, positions, clients, 0, replace))
    told = server.end()
    lost = facts["asked"] - told["answered"]
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
    server = ServerProcess(folder / "busy.sock", weights, "--queue", "8", "--largest", "8")
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
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument(
        "--json", action="store_true", help="one JSON line and nothing else (it is always printed)"
    )
    options = parser.parse_args()
    use_compile_cache()
    weights = shipped(GAME)
    network = load_weights(weights, GAME)
    sets = {
        "games": Positions(*played_positions(network, options.clients, 0, 1.0), network),
        "random": Positions(*played_positions(network, options.clients, 1, 0.0), network),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {"throughput": throughput(folder, weights, sets, options.clients, options.seconds)}
        result["reloads"] = reloads(folder, weights, network, sets["games"], options.clients)
        result["killed"] = killed(folder, weights, sets["games"], options.clients)
        result["busy"] = refused(folder, weights, sets["games"], options.clients)
    report("serving", network=weights.name, clients=options.clients, **result)


if __name__ == "__main__":
    main()
