"""Playing on a live server: a small real one, with our simulator behind it, runs on loopback."""

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import socketio
from aiohttp import web
from hypothesis import given, settings

from stratagem.agents.simple import Random
from stratagem.cli.live import AgentSeat
from stratagem.cli.main import main
from stratagem.core.errors import BadOption
from stratagem.games.generals import Generals
from stratagem.protocols.generals_live import Address, play, rehearse
from stratagem.protocols.generals_picture import LiveError, Picture, legal_of, patch, view_of

# What the libraries deprecate in newer Pythons is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:(aiohttp|engineio|socketio)")

SIDE = 6  # of the board that clients prepare
GAME = Generals(SIDE, SIDE, cap=60)
MAP = """
    A . # c3
    . . . .
    c2 # . B
"""  # 4 wide, 3 high
STRONG = """
    ga40 .
    . B
"""
SEEN = {1: -1, 2: -2, 3: -1, 4: -1, 0: -3, 5: -4}  # terrain of what the simulator shows


@lru_cache
def functions(game):
    return jax.jit(game.step), jax.jit(game.view), jax.jit(game.legal)


def diff_of(old, new):
    """A patch: the values that did not change are kept, in runs."""
    patch, place = [], 0
    while place < len(new):
        kept = place
        while kept < len(new) and kept < len(old) and old[kept] == new[kept]:
            kept += 1
        fresh = kept
        while fresh < len(new) and not (fresh < len(old) and old[fresh] == new[fresh]):
            fresh += 1
        patch += [kept - place, *([fresh - kept, *new[kept:fresh]] if fresh > kept else [])]
        place = fresh
    return patch


class Server:
    """One room. Game after game of `players` clients; the other seat, if any, passes."""

    def __init__(self, picture, players=1, tick=0.05, trick=None):
        rows = [line.split() for line in picture.strip().splitlines()]
        self.height, self.width = len(rows), len(rows[0])
        padded = [row + ["#"] * (SIDE - self.width) for row in rows] + [["#"] * SIDE] * (SIDE - self.height)
        self.start = GAME.read(" / ".join(" ".join(row) for row in padded))
        self.players, self.tick, self.trick = players, tick, trick
        self.heard = []  # (event, what came with it)
        self.states = []
        self.waiting, self.attacks = [], {}
        self.sockets = socketio.AsyncServer(async_mode="aiohttp", monitor_clients=False)
        for event in ("set_username", "join_private", "join_1v1", "set_force_start", "attack", "leave_game"):
            self.sockets.on(event, self.hearer(event))
        self.sockets.on("disconnect", self.hearer("disconnect"))

    def hearer(self, event):
        async def hear(sid, *words):
            self.heard.append((event, words))
            if self.trick and await self.trick(self, event, sid):
                return
            if event in ("join_private", "join_1v1"):
                self.waiting.append(sid)
                if event == "join_1v1" and len(self.waiting) == self.players:
                    await self.begin()
            if event == "set_force_start" and len(self.waiting) == self.players:
                await self.begin()
            if event == "attack":
                self.attacks[sid] = words

        return hear

    async def begin(self):
        seated, self.waiting = self.waiting, []
        self.sockets.start_background_task(self.play, seated)

    async def say(self, event, sid, *words):
        await self.sockets.emit(event, words, to=sid)

    async def play(self, seated):
        step, _, legal = functions(GAME)
        for seat, sid in enumerate(seated):
            names = ["zero", "one"]
            await self.say(
                "game_start", sid, {"playerIndex": seat, "usernames": names, "replay_id": "r1"}, None
            )
        state, told = self.start, {sid: ([], []) for sid in seated}
        while True:
            self.states.append(state)
            for seat, sid in enumerate(seated):
                told[sid] = await self.tell(state, seat, sid, *told[sid])
            if bool(GAME.done(state)):
                break
            until = time.monotonic() + self.tick
            while time.monotonic() < until and len(self.attacks) < len(seated):
                await asyncio.sleep(0.002)
            actions = [int(cell) * 9 + 8 for cell in state.generals]
            masks = np.asarray(legal(state))
            for seat, sid in enumerate(seated):
                if sid in self.attacks:
                    action = self.action(*self.attacks.pop(sid))
                    actions[seat] = action if masks[seat, action] else actions[seat]
            state = step(state, jnp.array(actions, jnp.int32))
        for seat, sid in enumerate(seated):
            await self.say("game_won" if int(state.winner) == seat else "game_lost", sid, {}, None)

    def action(self, start, end, half):
        (row, column), (to_row, to_column) = divmod(start, self.width), divmod(end, self.width)
        way = [(-1, 0), (1, 0), (0, -1), (0, 1)].index((to_row - row, to_column - column))
        return (row * SIDE + column) * 9 + way + 4 * half

    async def tell(self, state, seat, sid, old_map, old_cities):
        view = jax.tree.map(np.asarray, functions(GAME)[1](state, seat))
        look = view.look[: self.height, : self.width].reshape(-1).tolist()
        army = view.army[: self.height, : self.width].reshape(-1).tolist()
        owners = {0: None, 1: seat, 2: 1 - seat}
        terrain = [SEEN[one & 7] if owners[one >> 3] is None else owners[one >> 3] for one in look]
        cities = [cell for cell, one in enumerate(look) if one & 7 == 3]
        generals = [-1, -1]
        for cell, one in enumerate(look):
            if one & 7 == 4:
                generals[owners[one >> 3]] = cell
        new_map = [self.width, self.height, *army, *terrain]
        scores = [
            {"i": player, "tiles": int(tiles), "total": int(total), "dead": False}
            for player, tiles, total in zip((seat, 1 - seat), view.land, view.total, strict=True)
        ]
        update = {
            "turn": int(state.turn),
            "map_diff": diff_of(old_map, new_map),
            "cities_diff": diff_of(old_cities, cities),
            "generals": generals,
            "scores": scores[::-1],
            "attackIndex": 0,
        }
        await self.say("game_update", sid, update, None)
        return new_map, cities


@contextmanager
def serving(*args, **options):
    """A server in a thread of its own, on a free port of loopback."""
    server = Server(*args, **options)
    ready, stop = threading.Event(), None

    async def run():
        nonlocal stop
        stop = asyncio.Event()
        app = web.Application()
        server.sockets.attach(app)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.port = runner.addresses[0][1]
        server.loop = asyncio.get_running_loop()
        ready.set()
        await stop.wait()
        await server.sockets.shutdown()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield server
    finally:
        server.loop.call_soon_threadsafe(stop.set)
        thread.join(60)


def address(server, **changed):
    options = {"room": "den", "start_s": 60.0, "silence_s": 60.0, "retries": 0, "pause_s": 0.01, **changed}
    return Address(f"ws://127.0.0.1:{server.port}", "secret", "[Bot] test", **options)


class Notebook:
    """A seat that plays at random, likes to move, and writes down all that it sees and does."""

    def __init__(self, seed=0, think_s=0.0):
        self.rng, self.think_s = np.random.default_rng(seed), think_s
        self.seen, self.done = {}, []

    def decide(self, view, legal, turn):
        time.sleep(self.think_s)
        self.seen[turn] = (view, legal)
        able = np.flatnonzero(legal)
        moves = able[able % 9 != 8]
        return int(self.rng.choice(moves if len(moves) else able))

    def remember(self, view, action):
        self.done.append((int(view.turn), action))


def assert_same(view, expected):
    for mine, theirs in zip(view, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


def eventually(condition):
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    assert condition()


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(-4, 3), max_size=20), st.lists(st.integers(-4, 3), max_size=20))
def test_patches_lead_from_any_map_to_any_other(old, new):
    assert patch(old, diff_of(old, new), "diff") == new


def test_patches_are_kept_and_new_values_by_turns():
    assert patch([0, 0], [1, 1, 3], "diff") == [0, 3]
    assert patch([0, 0], [0, 1, 2, 1], "diff") == [2, 0]
    assert patch([5, 6, 7], [3], "diff") == [5, 6, 7]


@pytest.mark.parametrize("bad", [[3], [-1], [0, 5, 1], [1, -1], ["1"], [True], [0.5], None, {"a": 1}])
def test_bad_patches_are_clear_errors(bad):
    with pytest.raises(LiveError, match="bad diff"):
        patch([1, 2], bad, "diff")


def good_frame(**changed):
    """One turn of a board of 2×1: ours and fog."""
    scores = [{"i": 1, "tiles": 1, "total": 1}, {"i": 0, "tiles": 1, "total": 1}]
    frame = {
        "turn": 1,
        "map_diff": [0, 6, 2, 1, 1, 0, 0, -3],
        "cities_diff": [],
        "generals": [0, -1],
        "scores": scores,
    }
    return {**frame, **changed}


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (None, "object"),
        ([], "object"),
        ({}, "no turn"),
        (good_frame(turn="1"), "turn"),
        (good_frame(map_diff=[0, 2, 2, 1]), "bad map: 2×1"),
        (good_frame(map_diff=[]), "bad map"),
        (good_frame(map_diff=[0, 2, -2, -1]), "bad map"),
        (good_frame(map_diff=[0, 6, 2, 1, 1, 0, 0, -9]), "terrain"),
        (good_frame(map_diff=[0, 6, 2, 1, 1, 0, 0, 5]), "terrain"),
        (good_frame(map_diff=[0, 6, 2, 1, -1, 0, 0, -3]), "armies"),
        (good_frame(generals=[0]), "general"),
        (good_frame(generals=[0, 7]), "general"),
        (good_frame(cities_diff=[0, 1, 9]), "city"),
        (good_frame(scores=None), "scores"),
        (good_frame(scores=[{"i": 0, "tiles": 1, "total": 1}]), "scores"),
        (
            good_frame(scores=[{"i": 0, "tiles": 1, "total": 1}, {"i": 1, "tiles": "many", "total": 1}]),
            "scores",
        ),
    ],
)
def test_bad_frames_are_clear_errors(frame, words):
    Picture().update(good_frame())
    with pytest.raises(LiveError, match=words):
        Picture().update(frame)


def test_a_map_larger_than_the_board_says_what_to_do():
    position = Picture().update(good_frame(map_diff=[0, 18, 8, 1, *[1] * 8, *[0] * 8]))
    with pytest.raises(LiveError, match="--board 8"):
        view_of(position, 0, GAME)


def test_two_clients_see_what_the_simulator_shows_them():
    with serving(MAP, players=2, tick=0.15) as server:
        books, outcomes = [Notebook(1), Notebook(2)], [None, None]

        def sit(place):
            outcomes[place] = play(address(server), GAME, books[place])

        other = threading.Thread(target=sit, args=(1,))
        other.start()
        sit(0)
        other.join()
    by_turn = {int(state.turn): state for state in server.states}
    first = books[0].seen[0][0]
    seats = [0, 1] if int(np.asarray(first.look)[0, 0]) == 4 + 8 else [1, 0]  # who sees A as their own
    _, view, legal = functions(GAME)
    for book, seat in zip(books, seats, strict=True):
        assert len(book.seen) > 10
        for turn, (seen, mask) in book.seen.items():
            assert_same(seen, view(by_turn[turn], seat))
            if turn < len(server.states) - 1:  # that the last turn ended the game is said only after it
                np.testing.assert_array_equal(mask, np.asarray(legal(by_turn[turn]))[seat])
    assert {outcome.opponent for outcome in outcomes} == {"zero", "one"}
    assert all(outcome.turns == len(server.states) - 1 for outcome in outcomes)
    assert sum(outcome.attacks for outcome in outcomes) == sum(event == "attack" for event, _ in server.heard)


def test_every_turn_is_remembered_even_by_a_slow_agent():
    with serving(MAP, tick=0.02) as server:
        book = Notebook(think_s=0.1)
        outcome = play(address(server), GAME, book)
    turns = [turn for turn, _ in book.done]
    assert turns == list(range(len(turns)))
    assert outcome.late > 0
    assert len(turns) > len(book.seen)


def test_a_won_game_is_left_cleanly():
    with serving(STRONG) as server:
        outcome = play(address(server, room=None), GAME, Notebook())
        eventually(lambda: server.heard[-1][0] == "disconnect")
    assert outcome.result == ("won" if int(server.states[-1].winner) == 0 else "lost")
    assert outcome.replay_id == "r1"
    assert server.heard[0] == ("set_username", ("secret", "[Bot] test"))
    assert server.heard[1] == ("join_1v1", ("secret",))
    assert [event for event, _ in server.heard[-2:]] == ["leave_game", "disconnect"]


def test_a_bad_frame_in_a_game_is_an_error_and_the_game_is_left():
    async def garbage(server, event, sid):
        if event == "attack":
            await server.say("game_update", sid, {"turn": 3, "map_diff": "x"})
        return False

    with serving(MAP, trick=garbage) as server:
        with pytest.raises(LiveError, match="bad game_update"):
            play(address(server), GAME, Notebook())
        eventually(lambda: ("leave_game", ()) in server.heard)


def test_stopping_while_thinking_leaves_the_game():
    class Stopped(Notebook):
        def decide(self, view, legal, turn):
            raise KeyboardInterrupt

    with serving(MAP) as server:
        with pytest.raises(KeyboardInterrupt):
            play(address(server), GAME, Stopped())
        eventually(lambda: ("leave_game", ()) in server.heard)


def test_a_connection_lost_before_the_game_is_made_again():
    lost = []

    async def drop_first(server, event, sid):
        if event == "join_private" and not lost:
            lost.append(sid)
            await server.sockets.disconnect(sid)
            return True
        return event == "set_force_start" and sid in lost

    lines = []
    with serving(STRONG, trick=drop_first) as server:
        outcome = play(address(server, retries=2), GAME, Notebook(), lines.append)
    assert outcome.result in ("won", "lost")
    assert len(lost) == 1
    assert any("trying again" in line for line in lines)


def test_a_connection_lost_in_a_game_is_the_end():
    async def drop(server, event, sid):
        if event == "attack":
            await server.sockets.disconnect(sid)
        return False

    with (
        serving(MAP, trick=drop) as server,
        pytest.raises(LiveError, match=r"lost in turn \d+; the server counts"),
    ):
        play(address(server, retries=5), GAME, Notebook())


def test_silence_is_an_error():
    async def never_start(server, event, sid):
        return event == "set_force_start"

    async def start_only(server, event, sid):
        if event == "join_1v1":
            await server.say("game_start", sid, {"playerIndex": 1})
            return True
        return False

    with serving(MAP, trick=never_start) as server, pytest.raises(LiveError, match="no game started within"):
        play(address(server, start_s=0.3), GAME, Notebook())
    with serving(MAP, trick=start_only) as server, pytest.raises(LiveError, match="no word within"):
        play(address(server, room=None, silence_s=0.3), GAME, Notebook())


def test_refusals_and_strange_games_are_errors():
    async def refuse(server, event, sid):
        if event == "join_private":
            await server.say("gio_error", sid, "You must choose a username")
        return True

    async def crowd(server, event, sid):
        if event == "join_private":
            await server.say("game_start", sid, {"playerIndex": 5})
        return True

    with serving(MAP, trick=refuse) as server, pytest.raises(LiveError, match="gio_error: You must choose"):
        play(address(server, retries=3), GAME, Notebook())
    with serving(MAP, trick=crowd) as server, pytest.raises(LiveError, match="bad game_start"):
        play(address(server), GAME, Notebook())


def test_no_server_is_an_error():
    with serving(MAP) as server:
        gone = address(server, connect_s=5.0, retries=1)
    lines = []
    with pytest.raises(LiveError, match=r"no connection with ws://127\.0\.0\.1"):
        play(gone, GAME, Notebook(), lines.append)
    assert len(lines) == 1


@pytest.mark.parametrize("server", ["", "generals.io", "ftp://x", "ws://"])
def test_addresses_are_checked(server):
    with pytest.raises(BadOption, match="address like"):
        Address(server, "id", "name")


def test_the_command_plays_a_game(capsys, monkeypatch):
    monkeypatch.setenv("STRATAGEM_USER_ID", "secret")
    with serving(STRONG) as server:
        url = f"http://127.0.0.1:{server.port}"
        words = ["--server", url, "--username", "[Bot] test", "--1v1", "--board", str(SIDE), "--json"]
        assert main(["live", "generals", "--agent", "random", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["games"][0]["result"] == ("won" if int(server.states[-1].winner) == 0 else "lost")
    assert server.heard[1] == ("join_1v1", ("secret",))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "needs --agent"),
        (["--agent", "random"], "needs --server"),
        (["--agent", "random", "--server", "ws://h", "--username", "n"], "either --room"),
        (["--agent", "random", "--server", "ws://h", "--username", "n", "--1v1"], "--user-id"),
        (["--agent", "random", "--server", "h", "--username", "n", "--1v1", "--user-id", "x"], "address"),
    ],
)
def test_the_command_says_what_is_missing(words, complaint, capsys, monkeypatch):
    monkeypatch.delenv("STRATAGEM_USER_ID", raising=False)
    assert main(["live", "generals", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_nothing_is_compiled_in_a_game_after_the_rehearsal():
    traced = []

    @dataclass(frozen=True)
    class Counting(Random):
        def memory(self):
            return 0  # a plain number, which comes back as an array

        def act(self, memory, view, legal, key):
            traced.append("act")
            return super().act(memory, view, legal, key)

        def remember(self, memory, view, action):
            traced.append("remember")
            return memory + 1

    agent = Counting(GAME)
    rehearse(GAME, AgentSeat(agent, 0))
    assert {*traced} == {"act", "remember"}
    before = len(traced)
    with serving(STRONG) as server:
        seat = AgentSeat(agent, 1)
        outcome = play(address(server), GAME, seat)
    assert len(traced) == before
    # Updates that come along with the result are not for the agent.
    assert 0 < int(seat.memory) <= outcome.turns + 1


def test_legal_actions_need_only_the_view():
    state = GAME.read(
        "ga5 . # . . . / .a3 c9 . . . . / # .a1 . . . . / . . . . . . / . . . . . . / . . . . . B"
    )
    _, view, legal = functions(GAME)
    for seat in range(2):
        np.testing.assert_array_equal(legal_of(view(state, seat), GAME), np.asarray(legal(state))[seat])
