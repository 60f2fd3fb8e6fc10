"""The server from outside: hostile input, seats, fog, reconnecting, kill −9."""

import asyncio
import json
import socket
from contextlib import ExitStack

import httpx
import pytest
import schemathesis
import websockets
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.sync.client import connect

from stratagem.games import make_game
from stratagem.protocols import replay as replays
from stratagem.studio.limits import Limits
from stratagem.studio.sockets import Client
from tests.studio.conftest import running

FOG = "generals:width=6,height=6,cap=60,castles_from=1,castles_to=2,apart=4"
SMALL = "corso:width=3,height=3"


def begin(studio, game=SMALL, players=("human", "random"), **more):
    answer = httpx.post(
        f"{studio.address}/api/games", json={"game": game, "players": players, **more}, timeout=60
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


class Seat:
    """A client at a table."""

    def __init__(self, studio, game, *tokens):
        self._open = ExitStack()
        self.socket = self._open.enter_context(connect(f"ws://127.0.0.1:{studio.port}/ws"))
        self.say(type="join", game=game["id"], tokens=list(tokens))

    def say(self, **message):
        self.socket.send(json.dumps(message))

    def hear(self, kind, fits=lambda message: True):
        while True:
            message = json.loads(self.socket.recv(timeout=120))
            if message["type"] == kind and fits(message):
                return message

    def close(self):
        self._open.close()


def test_nobody_moves_for_another_seat(studio):
    game = begin(studio, players=("human", "human"))
    second = Seat(studio, game, game["tokens"]["1"])
    second.hear("state")
    second.say(type="move", turn=0, seat=0, action=4)
    assert second.hear("error")["code"] == "not-your-seat"
    watcher = Seat(studio, game, "no secret of this game")
    assert watcher.hear("state")["legal"] == {}
    for message in (
        {"type": "move", "turn": 0, "seat": 0, "action": 4},
        {"type": "resign", "seat": 1},
        {"type": "undo", "seat": 0},
        {"type": "hint", "seat": 0},
        {"type": "pause", "paused": True},
        {"type": "rematch"},
    ):
        watcher.say(**message)
        assert watcher.hear("error")["code"] == "not-your-seat", message
    first = Seat(studio, game, game["tokens"]["0"])
    assert first.hear("state")["turn"] == 0
    for one in (first, second, watcher):
        one.close()


def test_a_move_is_played_once_however_often_it_is_sent(studio):
    game = begin(studio, players=("human", "human"))
    both = Seat(studio, game, *game["tokens"].values())
    both.hear("state")
    for _ in range(5):
        both.say(type="move", turn=0, seat=0, action=4)
    assert [both.hear("error")["code"] for _ in range(4)] == ["stale"] * 4
    again = Seat(studio, game, *game["tokens"].values())
    assert len(again.hear("joined")["moves"]) == 1
    both.close()
    again.close()


def test_the_fog_is_lifted_for_nobody_until_the_game_is_over(studio):
    game = begin(studio, FOG, ("human", "human"), pace=20)
    watcher = Seat(studio, game)
    assert watcher.hear("error")["code"] == "not-your-seat"
    assert httpx.get(f"{studio.address}/api/games/{game['id']}/replay").status_code == 400
    first = Seat(studio, game, game["tokens"]["0"])
    state = first.hear("state", lambda message: message["turn"] > 2)
    assert state["drawing"]["seat"] == 0
    assert all(one["seat"] == 0 for one in state["last"])
    rules = make_game(FOG)
    hidden = sum(cell == 0 or cell == 5 for row in state["drawing"]["seen"] for cell in row)
    assert hidden > rules.cells // 2  # an opening seen from one general: nine cells at most are in sight
    first.say(type="resign", seat=0)
    assert first.hear("state", lambda message: message["over"])["drawing"]["seat"] is None
    watcher.say(type="join", game=game["id"], tokens=[])
    assert watcher.hear("state")["over"]
    first.close()
    watcher.close()


def test_a_killed_server_has_lost_no_move_and_no_finished_game(tmp_path):
    with running(tmp_path) as studio:
        going, ended = begin(studio, players=("human", "human")), begin(studio, "crag", ("human", "human"))
        both = Seat(studio, going, *going["tokens"].values())
        for turn, cell in enumerate((4, 0, 8)):
            state = both.hear("state", lambda message, turn=turn: message["turn"] == turn)
            both.say(type="move", turn=turn, seat=state["movers"][0], action=cell)
        both.hear("state", lambda message: message["turn"] == 3)
        other = Seat(studio, ended, *ended["tokens"].values())
        other.hear("state")
        other.say(type="resign", seat=1)
        other.hear("state", lambda message: message["over"])
        studio.kill()
        studio.start()
        again = Seat(studio, going, going["tokens"]["1"])
        assert [row[0][1] for row in again.hear("joined")["moves"]] == ["b2", "a1", "c3"]
        assert again.hear("state")["legal"].keys() == {"1"}
        again.say(type="move", turn=3, seat=1, action=1)
        assert again.hear("state", lambda message: message["turn"] == 4)["last"][0]["words"] == "b1"
        again.close()
        content = httpx.get(f"{studio.address}/api/games/{ended['id']}/replay").json()
        replays.verify(replays.parse(content, "replay"))
        assert content["resigned"] == [1]
        listed = {one["id"]: one["over"] for one in httpx.get(f"{studio.address}/api/games").json()}
        assert listed == {going["id"]: False, ended["id"]: True}


def test_a_client_that_comes_back_finds_its_game_and_its_agent_goes_on(studio):
    game = begin(studio, players=("human", "greedy"))
    seat = Seat(studio, game, game["tokens"]["0"])
    seat.hear("state")
    seat.say(type="move", turn=0, seat=0, action=4)
    seat.close()  # before the answer
    again = Seat(studio, game, game["tokens"]["0"])
    state = again.hear("state", lambda message: message["movers"] == [0] and message["turn"] == 2)
    assert state["last"][0]["seat"] == 1
    again.close()


def test_a_game_goes_on_after_an_undo_that_was_refused(studio):
    game = begin(studio, FOG, ("human", "human"), pace=5)
    seat = Seat(studio, game, game["tokens"]["0"])
    turn = seat.hear("state", lambda message: message["turn"] > 1)["turn"]
    seat.say(type="undo", seat=0)
    assert seat.hear("error")["code"] == "illegal"
    assert seat.hear("state", lambda message: message["turn"] > turn + 1)
    seat.close()


def test_a_rematch_swaps_seats_and_tells_both_their_new_secrets(studio):
    game = begin(studio, players=("human", "human"))
    first, second = (Seat(studio, game, game["tokens"][seat]) for seat in "01")
    first.hear("state")
    first.say(type="resign", seat=0)
    second.hear("state", lambda message: message["over"])
    first.say(type="rematch")
    told = [seat.hear("rematch") for seat in (first, second)]
    assert told[0]["game"] == told[1]["game"] != game["id"]
    seats = []
    for message in told:
        again = Seat(studio, {"id": message["game"]}, *message["tokens"])
        seats.append(again.hear("joined")["seats"])
        again.close()
    assert seats == [[1], [0]]
    first.close()
    second.close()


def test_an_agent_with_a_memory_plays_in_games_that_do_not_wait(studio):
    game = begin(studio, FOG, ("human", "hunter"), pace=5)
    seat = Seat(studio, game, game["tokens"]["0"])
    state = seat.hear("state", lambda message: message["turn"] >= 8)  # the general has grown to 5 by now
    seen = [cell for row in state["drawing"]["seen"] for cell in row]
    home = seen.index(4)
    seat.say(type="queue", seat=0, moves=[[number, home * 9 + number % 4] for number in (1, 2, 3, 4)])
    state = seat.hear("state", lambda message: message["done"]["0"] == 4 or message["over"])
    assert state["drawing"]["land"][0] > 1  # one of the four directions was open
    assert state["drawing"]["land"][1] > 1
    seat.close()


# Hostile input.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
TYPES = ["join", "move", "queue", "undo", "resign", "pace", "pause", "hint", "rematch", "ping", "x"]
MESSAGES = st.one_of(
    st.text(max_size=60),
    JSON.map(json.dumps),
    st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES)},
        optional=dict.fromkeys(
            ("game", "tokens", "turn", "seat", "action", "words", "moves", "pace", "id"), JSON
        ),
    ).map(json.dumps),
    st.builds(
        lambda kind, turn, seat, action: json.dumps(
            {"type": kind, "turn": turn, "seat": seat, "action": action}
        ),
        st.sampled_from(TYPES),
        st.integers(-1, 3),
        st.integers(-1, 3),
        st.integers(-1, 12),
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MESSAGES, max_size=12))
def test_nothing_that_a_websocket_can_say_stops_the_server(studio, messages):
    game = begin(studio)
    seat = Seat(studio, game, game["tokens"]["0"])
    for message in messages:
        seat.socket.send(message)
    seat.socket.send(b"\x00\xff")
    assert "bytes" in seat.hear("error", lambda message: "bytes" in message["message"])["message"]
    seat.say(type="ping")
    seat.hear("pong")
    seat.close()


def test_what_is_too_large_or_too_fast_is_refused_and_the_server_goes_on(studio):
    game = begin(studio)
    seat = Seat(studio, game, game["tokens"]["0"])
    seat.hear("state")
    with pytest.raises(websockets.ConnectionClosed):
        seat.socket.send("x" * 100_000)
        seat.socket.recv(timeout=10)
    seat.close()
    seat = Seat(studio, game, game["tokens"]["0"])
    seat.hear("state")
    for _ in range(150):
        seat.say(type="ping")
    assert seat.hear("error")["code"] == "too-much"
    seat.close()
    huge = httpx.post(f"{studio.address}/api/replays", content=b"[" * 5_000_000)
    assert huge.status_code == 413
    deep = httpx.post(
        f"{studio.address}/api/replays",
        content=b'{"a":' * 30_000,
        headers={"content-type": "application/json"},
    )
    assert deep.status_code in (400, 422)
    assert httpx.get(f"{studio.address}/api/metrics").status_code == 200


def test_a_client_that_does_not_read_does_not_grow_the_server():
    limits = Limits(outgoing=10)
    client = Client(None, None, limits)
    for number in range(1000):
        client.send({"number": number})
        client.show({"turn": number})
    assert len(client._waiting) == limits.outgoing
    assert client._position == {"turn": 999}  # the latest position, not every one


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/api/games/..%2f..%2fetc%2fpasswd/replay",
        "/api/tournaments/..",
        "/api/training/%2e%2e",
        "/docs",
        "/redoc",
    ],
)
def test_no_path_leads_out_of_the_folders(studio, path):
    with socket.create_connection(("127.0.0.1", studio.port)) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = raw.makefile("rb").readline()
    assert b" 404 " in answer or b" 400 " in answer


def test_another_sites_page_cannot_reach_in(studio):
    outside = httpx.get(f"{studio.address}/api/games", headers={"host": "evil.example"})
    assert outside.status_code == 403
    cross = httpx.post(f"{studio.address}/api/games", json={}, headers={"origin": "http://evil.example"})
    assert cross.status_code == 403
    address = f"ws://127.0.0.1:{studio.port}/ws"
    with pytest.raises(websockets.InvalidStatus), connect(address, origin="http://evil.example"):
        pass


def test_beyond_the_loopback_address_a_token_is_asked_for(tmp_path):
    with running(tmp_path, "--host", "0.0.0.0", "--token", "hush") as studio:
        assert httpx.get(f"{studio.address}/").status_code == 401
        assert httpx.get(f"{studio.address}/?token=wrong").status_code == 401
        with pytest.raises(websockets.InvalidStatus), connect(f"ws://127.0.0.1:{studio.port}/ws"):
            pass
        with httpx.Client(base_url=studio.address, follow_redirects=True) as client:
            welcome = client.get("/?token=hush")
            assert welcome.status_code == 200
            assert "token" not in str(welcome.url)
            assert client.get("/api/games").json() == []


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # inside schemathesis
def test_the_api_answers_whatever_is_sent_without_falling_over(studio):
    document = httpx.get(f"{studio.address}/openapi.json").json()
    api = schemathesis.openapi.from_dict(document)
    strange = []
    for operation in api.get_all_operations():
        case = operation.ok()

        @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case.as_strategy())
        def fuzz(one):
            answer = one.call(base_url=studio.address, timeout=60)
            if answer.status_code >= 500:
                strange.append((one.method, one.path, answer.status_code))

        fuzz()
    assert not strange
    assert httpx.get(f"{studio.address}/api/metrics").status_code == 200


def test_hostile_replays_are_refused_with_a_reason(studio):
    good = {
        "format": "stratagem-replay", "version": 1, "game": "corso",
        "parameters": {"width": 3, "height": 3, "players": 2},
        "ruleset": make_game(SMALL).spec.ruleset, "seats": ["a", "b"], "actions": [[4, -1]], "returns": [1.0, -1.0],
        "seed": 1, "start": None, "outcomes": None, "resigned": [1], "seconds": [],
    }  # fmt: skip
    post = lambda content: httpx.post(f"{studio.address}/api/replays", json=content, timeout=60)  # noqa: E731
    opened = post(good)
    assert opened.status_code == 200
    sight = httpx.get(f"{studio.address}/api/replays/{opened.json()['id']}/sight?turn=0&seat=0&network=../x")
    assert sight.status_code == 400
    assert "nothing is hidden in corso" in sight.json()["error"]
    for change in (
        {"game": "hispania", "parameters": {"scenario": "/etc/passwd"}},
        {"game": "chess"},
        {"parameters": {"width": 10**9}},
        {"parameters": {"width": [1]}},
        {"actions": [[99, -1]]},
        {"actions": [[4, -1]] * 6000},
        {"resigned": [7]},
        {"seed": -5},
        {"seats": []},
        {"start": "x" * 1000},
        {"returns": ["x"]},
    ):
        answer = post({**good, **change})
        assert answer.status_code == 400, (change, answer.text)
        assert answer.json()["error"]


def test_many_clients_at_once_are_all_answered(studio):
    game = begin(studio, players=("human", "human"))

    async def visit(number):
        async with websockets.connect(f"ws://127.0.0.1:{studio.port}/ws") as one:
            await one.send(json.dumps({"type": "join", "game": game["id"], "tokens": []}))
            return json.loads(await asyncio.wait_for(one.recv(), 30))["type"]

    async def together():
        return await asyncio.gather(*(visit(number) for number in range(60)))

    assert set(asyncio.run(together())) == {"joined"}
