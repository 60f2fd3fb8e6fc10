"""The service on a socket: the protocol, both clients, sockets in the way, and a server that dies."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.arena.match import play_games
from stratagem.cli.main import main
from stratagem.core.errors import BadOption
from stratagem.serving import (
    AsyncClient,
    BadRequest,
    Client,
    Closed,
    Evaluation,
    Late,
    Server,
    ServerGone,
    Service,
    ServingError,
    Settings,
)
from stratagem.serving.frames import PREFIX, FrameReader, write_frame
from stratagem.serving.remote import connection
from tests.serving.small import GAME, TITLE, positions, right_answers, save


@pytest.fixture(scope="module")
def folder():
    with (
        tempfile.TemporaryDirectory() as name
    ):  # shorter than pytest's: socket paths have a limit of some 100 bytes
        save(Path(name) / "small.safetensors", 0)
        yield Path(name)


@pytest.fixture(scope="module")
def asked():
    return positions(24)


@pytest.fixture(scope="module")
def running(folder):
    """A server in a thread of this process: (socket, port, service)."""
    ready, facts = threading.Event(), {}

    async def serve():
        with Service(Settings(largest=4, wait_ms=1.0, batches=1, agent_largest=4, watch_s=0.0)) as service:
            service.add_model("small", folder / "small.safetensors")
            async with Server(service, folder / "a.sock", 0) as server:
                facts.update(
                    port=server.port, service=service, loop=asyncio.get_running_loop(), stop=asyncio.Event()
                )
                ready.set()
                await facts["stop"].wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(120)
    yield folder / "a.sock", facts["port"], facts["service"]
    facts["loop"].call_soon_threadsafe(facts["stop"].set)
    thread.join()
    assert not (folder / "a.sock").exists(), "the socket is left behind"


class Raw:
    """A client that may say anything."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self.reader, self.frames = FrameReader(), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def say(self, data):
        self.socket.sendall(data)

    def hear(self):
        """The next frame's header; None when the server has hung up."""
        while not self.frames:
            data = self.socket.recv(1 << 16)
            if not data:
                return None
            self.frames += self.reader.feed(data)
        return self.frames.pop(0).header


def test_both_clients_get_the_networks_answers_over_socket_and_port(running, asked):
    path, port, _ = running
    views, legals, states = asked
    logits, values = right_answers(0, views, legals)

    async def many():
        async with AsyncClient(path) as one, AsyncClient(port) as other:
            return await asyncio.gather(
                *(
                    (one, other)[index % 2].evaluate("small", views[index], legals[index])
                    for index in range(len(views))
                )
            )

    with Client(path) as client, ThreadPoolExecutor(6) as threads:
        blocking = list(
            threads.map(lambda pair: client.evaluate("small", *pair), zip(views, legals, strict=True))
        )
        assert client.metrics()["models"]["small"]["answered"] >= len(views)
        assert client.reload("small") >= 2
        assert 0 <= client.act("random", TITLE, states[0], seed=3) < 9
        assert client.act("random", TITLE, GAME.write(states[0]), seed=3) == client.act(
            "random", TITLE, states[0], seed=3
        )
    for answers in (asyncio.run(many()), blocking):
        for index, answer in enumerate(answers):
            np.testing.assert_allclose(answer.logits, logits[index], atol=1e-3)
            np.testing.assert_allclose(answer.values, values[index], atol=1e-3)


def test_errors_arrive_as_what_they_are(running, asked):
    path, _, _ = running
    with Client(path) as client:
        with pytest.raises(BadRequest, match="no model is called 'big'") as refused:
            client.evaluate("big", asked[0][0], asked[1][0])
        assert refused.value.field == "model"
        with pytest.raises(BadRequest, match="did you mean 'random'") as refused:
            client.act("randon", TITLE, asked[2][0])
        assert refused.value.field == "agent"
        with pytest.raises(BadRequest, match="deadline_ms"):
            client.evaluate("small", asked[0][0], asked[1][0], seconds=-1)
        assert client.evaluate("small", asked[0][0], asked[1][0]).logits.shape == (9,)


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ({"op": "ping"}, "id"),
        ({"op": "ping", "id": -1}, "id"),
        ({"op": "ping", "id": "x"}, "id"),
        ({"id": 5}, "op"),
        ({"op": ["ping"], "id": 5}, "op"),
        ({"op": "fly", "id": 5}, "op"),
        ({"op": "evaluate", "id": 5}, "model"),
        ({"op": "evaluate", "id": 5, "model": "small"}, "arrays"),
        ({"op": "evaluate", "id": 5, "model": "small", "deadline_ms": "soon"}, "deadline_ms"),
        ({"op": "act", "id": 5, "agent": "random"}, "game"),
        ({"op": "act", "id": 5, "agent": "random", "game": TITLE}, "position"),
        ({"op": "act", "id": 5, "agent": "random", "game": TITLE, "position": "x", "seat": 0.5}, "seat"),
        ({"op": "act", "id": 5, "agent": "random", "game": "chess", "position": "x"}, "game"),
        ({"op": "cancel", "id": 5}, "target"),
        ({"op": "reload", "id": 5, "model": "big"}, "model"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_and_the_connection_kept(running, header, field):
    with Raw(running[0]) as raw:
        raw.say(write_frame(header))
        answer = raw.hear()
        assert answer["ok"] is False
        assert answer["error"] == "bad-request"
        assert answer["field"] == field
        assert answer["id"] == (5 if header.get("id") == 5 else None)
        raw.say(write_frame({"op": "ping", "id": 6}))
        assert raw.hear()["id"] == 6


def test_damaged_frames_are_answered_and_broken_streams_closed(running):
    with Raw(running[0]) as raw:
        raw.say(PREFIX.pack(b"SG", 1, 0, 3, 0) + b"{no" + write_frame({"op": "ping", "id": 1}))
        assert raw.hear()["field"] == "header"
        assert raw.hear()["pid"] > 0
        raw.say(b"GET / HTTP/1.1\r\n\r\n")
        answer = raw.hear()
        assert (answer["id"], answer["field"]) == (None, "magic")
        assert raw.hear() is None
    with Raw(running[0]) as raw:
        raw.say(PREFIX.pack(b"SG", 9, 0, 2, 0))
        assert raw.hear()["field"] == "version"
        assert raw.hear() is None


def test_an_id_can_be_used_again_only_when_it_is_free(running, asked):
    question = {"op": "evaluate", "model": "small", "id": 1}
    frame = write_frame(question, [asked[0][0], asked[1][0]])
    with Raw(running[0]) as raw:
        raw.say(frame + frame)
        first, second = raw.hear(), raw.hear()
        assert {first.get("field"), second.get("field")} == {"id", None}
        raw.say(frame)
        assert raw.hear()["ok"]


def slow_lane(service, gate):
    """Have the model wait for a gate; the function that undoes it."""
    lane = service._models["small"]
    plain = lane.runner

    class Slow:
        largest, game, forms, ladder, path, version = 1, plain.game, plain.forms, plain.ladder, plain.path, 1

        def __call__(self, questions):
            assert gate.wait(20)
            return plain(questions)

    lane.runner = Slow()
    return lambda: setattr(lane, "runner", plain)


def test_questions_of_a_client_that_hangs_up_or_cancels_leave_the_queue(running, asked):
    path, _, service = running
    gate = threading.Event()
    undo = slow_lane(service, gate)
    before = service.metrics()["models"]["small"]
    frames = [
        write_frame({"op": "evaluate", "model": "small", "id": number}, [asked[0][0], asked[1][0]])
        for number in range(5)
    ]
    with Raw(path) as staying, Raw(path) as leaving:
        staying.say(frames[0] + frames[1] + write_frame({"op": "cancel", "id": 9, "target": 1}))
        answers = [staying.hear(), staying.hear()]
        assert {answer["id"]: answer.get("cancelled", answer.get("error")) for answer in answers} == {
            9: True,
            1: "cancelled",
        }
        leaving.say(b"".join(frames) + write_frame({"op": "ping", "id": 77}))
        assert leaving.hear()["id"] == 77
        leaving.socket.close()
        with Client(path) as client:
            while client.metrics()["models"]["small"]["cancelled"] < before["cancelled"] + 6:
                pass
        gate.set()
        assert staying.hear()["id"] == 0
    undo()
    after = service.metrics()["models"]["small"]
    assert after["answered"] == before["answered"] + 1
    assert after["queue_depth"] == 0


def test_a_deadline_passes_while_the_model_is_held_up(running, asked):
    path, _, service = running
    gate = threading.Event()
    undo = slow_lane(service, gate)
    with Client(path) as client:
        with pytest.raises(Late):
            client.evaluate("small", asked[0][0], asked[1][0], seconds=0.05)
        gate.set()
        undo()
        assert client.evaluate("small", asked[0][0], asked[1][0]).values.shape == (2,)


def test_a_server_that_is_told_to_stop_answers_what_is_open(running, folder, asked):
    service, question = running[2], ("small", asked[0][0], asked[1][0])

    async def scene(drain_s, gate):
        server = Server(service, folder / "stops.sock", drain_s=drain_s)
        await server.__aenter__()
        client = AsyncClient(folder / "stops.sock")
        waiting = asyncio.ensure_future(client.evaluate(*question))
        while not any(connection.open for connection in server.connections):
            await asyncio.sleep(0.001)
        stopping = asyncio.ensure_future(server.__aexit__())
        await asyncio.sleep(0.01)
        with pytest.raises(ServingError):  # closed, or gone if it was quicker
            await client.ping()
        if drain_s > 1:
            gate.set()
        answers = await asyncio.gather(waiting, stopping, return_exceptions=True)
        client.close()
        await asyncio.sleep(0)
        return answers[0]

    for drain_s, kind in ((20.0, Evaluation), (0.03, Closed)):
        gate = threading.Event()
        undo = slow_lane(service, gate)
        assert isinstance(asyncio.run(scene(drain_s, gate)), kind)
        gate.set()
        undo()
    assert not (folder / "stops.sock").exists()


def test_a_socket_in_use_is_refused_and_a_stale_one_removed(running, folder):
    path, _, service = running

    async def listen(where):
        async with Server(service, where):
            return True

    with pytest.raises(BadOption, match="a server listens at"):
        asyncio.run(listen(path))
    assert path.is_socket()
    plain = folder / "plain"
    plain.write_text("mine")
    with pytest.raises(BadOption, match="is not a socket"):
        asyncio.run(listen(plain))
    assert plain.read_text() == "mine"
    stale = folder / "stale.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
    assert asyncio.run(listen(stale))
    assert not stale.exists()


def test_the_arena_plays_through_a_server(running, folder):
    path, _, _ = running
    local = make_agent(f"net:weights={folder / 'small.safetensors'}", GAME)
    rest = make_agent("random", GAME)
    seatings, seeds = [(0, 1), (1, 0)] * 2, range(4)
    beside = play_games(GAME, [local, rest], seatings, seeds, record=True)
    for choice in ("model=small", "model=small,agent=net:temperature=0;sides=false"):
        remote = make_agent(f"remote:socket={path},{choice}", GAME)
        through = play_games(GAME, [remote, rest], seatings, seeds, record=True)
        assert [game.actions for game in through] == [game.actions for game in beside], choice
    connection(str(path)).close()
    connection.cache_clear()


def started(folder, *words):
    """`stratagem serve` in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "stratagem.cli.main",
        "serve",
        "--json",
        "--socket",
        str(folder / "p.sock"),
    ]
    process = subprocess.Popen(
        [*command, "--model", f"small={folder / 'small.safetensors'}", "--largest", "2", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert json.loads(process.stdout.readline())["ready"]
    return process


def test_a_killed_server_is_noticed_and_a_new_one_serves_the_same_clients(folder, asked):
    question = ("small", asked[0][0], asked[1][0])
    process = started(folder, "--wait-ms", "60000", "--largest", "4")  # so that questions wait

    async def scene():
        clients = [AsyncClient(folder / "p.sock") for _ in range(3)]
        waiting = [asyncio.ensure_future(client.evaluate(*question)) for client in clients]
        while (await clients[0].metrics())["models"]["small"]["queue_depth"] < 3:
            pass
        process.kill()
        gone = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(error) for error in gone] == [ServerGone] * 3
        assert "went away" in str(gone[0])
        process.communicate()
        with pytest.raises(ServerGone, match=r"no server at .* start one"):
            await clients[0].ping()
        again = await asyncio.to_thread(started, folder)  # over the socket that the dead one left
        answers = await asyncio.gather(*(client.evaluate(*question) for client in clients))
        for client in clients:
            client.close()
        return again, answers

    again, answers = asyncio.run(scene())
    np.testing.assert_allclose(answers[2].values, right_answers(0, asked[0], asked[1])[1][0], atol=1e-3)
    again.send_signal(signal.SIGTERM)
    told, _ = again.communicate(timeout=60)
    assert again.returncode == 0
    assert json.loads(told)["metrics"]["models"]["small"]["answered"] == 3
    assert not (folder / "p.sock").exists()


def test_nothing_listens_so_the_client_says_so(folder):
    with Client(folder / "nobody.sock") as client, pytest.raises(ServerGone, match="no server at"):
        client.ping()


def test_a_remote_agent_says_what_it_needs(folder):
    with pytest.raises(BadOption, match="give socket=PATH"):
        make_agent("remote:model=small", GAME)
    with pytest.raises(BadOption, match="either model= or agent="):
        make_agent(f"remote:socket={folder / 'nobody.sock'}", GAME)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "serve needs --socket PATH or --port PORT"),
        (["--socket", "SOCKET", "--model", "small"], "give NAME=FILE"),
        (["--socket", "SOCKET", "--agent", "corso"], "give GAME/AGENT"),
        (["--socket", "FILE", "--model", "small=FILE"], "is not a socket"),
        (["--socket", "SOCKET", "--model", "small=FILE@corso"], "was trained for"),
    ],
)
def test_serve_refuses_bad_words_in_one_line(folder, capsys, words, complaint):
    places = {"SOCKET": folder / "new.sock", "FILE": folder / "small.safetensors"}
    filled = [
        word.replace("SOCKET", str(places["SOCKET"])).replace("FILE", str(places["FILE"])) for word in words
    ]
    assert main(["serve", *filled]) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert len(told.strip().splitlines()) == 1
    assert not (folder / "new.sock").exists()
