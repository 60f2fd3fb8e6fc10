"""The competition protocol: frames and answers, our bot on its streams, and a host that survives hostile bots."""

import io
import sys
import time
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.agents import make_agent
from stratagem.games import make_game
from stratagem.games.generals.rules import possessors, seen
from stratagem.protocols import generals_stdio as stdio
from stratagem.protocols.generals_host import Limits, host_game, kill_marked
from stratagem.protocols.generals_stdio import Answer, Frame

SMALL = "generals:width=6,height=6,apart=4,castles_from=1,castles_to=2,cap=40"


def frame_of(game, state, seat):
    view = game.view(state, jnp.int32(seat))
    return Frame(
        int(view.turn),
        tuple(np.asarray(view.land).tolist()),
        tuple(np.asarray(view.total).tolist()),
        np.asarray(seen(view)),
        np.asarray(possessors(view)),
        np.asarray(view.army),
    )


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_frames_survive_the_way_there_and_back():
    game = make_game(SMALL)
    frame = frame_of(game, game.init(jax.random.key(1)), 0)
    (back,) = stdio.read_frames(iter(stdio.write_frame(frame).splitlines()), 6, 6)
    assert same(back, frame)


def test_answers_stand_for_the_actions_of_the_game():
    for action in range(6 * 6 * 10):
        answer = stdio.answer_of(action, 6)
        if answer.kind != stdio.REST:
            assert stdio.action_of(stdio.read_answer(answer.line(), 6, 6), 6, rest=-1) == action


def test_the_frame_tells_what_is_legal():
    game = make_game("generals:width=6,height=6,apart=4,build=yes,cap=60")
    state = game.read(
        "A .a60 . . . . / . .a2 # . . . / . . . . . . / . . . . . . / . . . . .b9 . / . . . . . B | 10 -"
    )
    for seat in range(2):
        told = stdio.legal_in(frame_of(game, state, seat), build=True)
        assert np.array_equal(told.reshape(-1), game.legal(state)[seat])


def test_a_damaged_frame_is_skipped_and_the_next_one_read():
    good = stdio.write_frame(Frame(3, (1, 1), (2, 2), *np.zeros((3, 2, 2), int)))
    broken = good.replace("0 0\n", "0 x\n", 1)
    short = "\n".join(good.splitlines()[:4]) + "\n"
    lines = iter((broken + good + "hello\n\n" + short + good).splitlines())
    frames = list(stdio.read_frames(lines, 2, 2))
    assert [frame is not None for frame in frames] == [False, True, False, True]


@given(st.text(alphabet="0123456789 -\nx\t.", max_size=400))
@settings(deadline=None)
def test_any_text_is_read_without_a_crash(text):
    lines = iter(text.splitlines())
    hello = stdio.read_hello(lines)
    if hello:
        for frame in stdio.read_frames(lines, hello[1], hello[2]):
            assert frame is None or frame.army.shape == hello[1:]


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 6))
@settings(deadline=None, max_examples=60)
def test_the_plain_answer_to_any_frame_is_legal(seed, height, width):
    generator = np.random.default_rng(seed)
    parts = [generator.integers(0, top, (height, width)) for top in (6, 3, 9)]
    written = stdio.write_frame(Frame(3, (1, 1), (2, 2), *parts))
    (frame,) = stdio.read_frames(iter(written.splitlines()), height, width)
    legal, answer = stdio.legal_in(frame, build=True), stdio.plain_answer(frame)
    assert legal.shape == (height, width, 10)
    assert answer == stdio.RESTS or legal[answer.row, answer.column, answer.direction]


@given(st.text(max_size=40))
@settings(deadline=None)
def test_an_answer_is_understood_or_refused(text):
    answer = stdio.read_answer(text, 5, 5)
    assert answer is None or isinstance(answer, Answer)


damage = st.lists(
    st.tuples(
        st.integers(0, 18), st.sampled_from(["", "x", "1 2", "9" * 30, "-5 0 0 0 0 0", "0 0 0 0 0 9", "\x00"])
    ),
    max_size=4,
)


@cache
def first_frame():
    game = make_game(SMALL)
    return stdio.write_frame(frame_of(game, game.init(jax.random.key(1)), 0))


class Silent:
    """A player that never answers in time."""

    def __init__(self, *options):
        pass

    def ask(self, number, frame, seconds):
        stdio.legal_in(frame, build=True)

    def played(self, answer):
        pass


@given(st.lists(damage, min_size=1, max_size=6))
@settings(deadline=None, max_examples=200)
def test_the_bot_answers_every_frame_whatever_it_holds(turns):
    whole = first_frame().splitlines()
    text = ["0 6 6"]
    for lines in turns:
        frame = list(whole)
        for place, line in lines:
            frame[place] = line
        text += frame
    sink = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio, "Thinker", Silent)
        stdio.run_bot("random", io.StringIO("\n".join(text) + "\n"), sink, limit=0.01)
    answers = sink.getvalue().splitlines()
    assert len(answers) <= len(turns)
    assert all(stdio.read_answer(line, 6, 6) is not None for line in answers)


def test_the_first_answer_may_wait_for_the_player(capsys):
    text = io.StringIO("0 6 6\n" + first_frame())
    assert stdio.run_bot("expander", text, io.StringIO(), limit=0.01, first=120.0) == 1
    assert "1 answers, 0 of them by the plain player" in capsys.readouterr().err


def test_the_bot_answers_in_time_from_the_first_turn_and_its_player_takes_over():
    game = make_game(SMALL)
    state = game.init(jax.random.key(1))
    state = game.step(game.step(state, jnp.array([-1, -1])), jnp.array([-1, -1]))
    text = stdio.write_frame(frame_of(game, state, 0))
    times, answers = [], []

    class Sink(io.StringIO):
        def write(self, line):
            times.append(time.monotonic())
            answers.append(line)
            return len(line)

    def frames():
        yield "0 6 6\n"
        for turn in range(400):
            asked.append(time.monotonic())
            yield from text.splitlines(keepends=True)
            if turn % 20 == 19 and thinker_ready():
                return
            time.sleep(0.05)

    asked: list[float] = []
    ready = []
    original = stdio.Thinker.ask

    def watched(self, *arguments):
        answer = original(self, *arguments)
        if answer is not None:
            ready.append(True)
        return answer

    def thinker_ready():
        return len(ready) > 3

    stdio.Thinker.ask = watched
    try:
        stdio.run_bot("expander", frames(), Sink(), limit=0.2)
    finally:
        stdio.Thinker.ask = original
    took = [answered - began for began, answered in zip(asked, times, strict=False)]
    assert np.median(took) < 0.2
    assert took[0] < 1.0  # nothing was compiled yet, and still there was an answer
    assert ready, "the compiled player never came to answer"
    assert all(line == "0 " + line[2:] for line in answers[:1])  # with two units it moves


# The zoo.

BOTS = {
    "sleeps": "import time; time.sleep(600)",
    "floods": "import sys\nwhile True: sys.stdout.write('0 0 0 0 0 ' * 1000)",
    "floods lines": "import sys\nwhile True: sys.stdout.write('1 0 0 0 0\\n' * 1000)",
    "exits": "import sys; sys.exit(3)",
    "crashes": "raise RuntimeError('oh no')",
    "binary garbage": "import sys, os\nos.write(1, bytes(range(128, 256)) + b'\\n')\nsys.stdin.read()",
    "nonsense": "import sys\nprint('I resign', flush=True)\nsys.stdin.read()",
    "out of the board": "import sys\nprint('0 99 0 0 0', flush=True)\nsys.stdin.read()",
    "never reads": "import os, time\nos.close(0)\ntime.sleep(600)",
    "closes its output": "import os, time\nos.close(1)\ntime.sleep(600)",
    "forks": (
        "import os, time\n"
        "for _ in range(5):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid(); time.sleep(600)\n"
        "time.sleep(600)"
    ),
    "eats memory": "import sys\nhoard = []\nwhile True: hoard.append(bytearray(1 << 24))",
    "half a line": "import sys\nsys.stdout.write('1 0 0 0'); sys.stdout.flush()\nsys.stdin.read()",
    "answers twice": "print('1 0 0 0 0\\n1 0 0 0 0', flush=True)\nimport sys; sys.stdin.read()",
}
GOOD = """
import sys
player, height, width = map(int, sys.stdin.readline().split())
while True:
    if not sys.stdin.readline():
        break
    for _ in range(3 * height):
        sys.stdin.readline()
    print("1 0 0 0 0", flush=True)
"""


def bot(source):
    return [sys.executable, "-I", "-S", "-c", source]


@pytest.mark.parametrize("name", BOTS)
def test_a_hostile_bot_forfeits_and_leaves_nothing_behind(name, monkeypatch):
    import uuid

    marks = []
    plain = uuid.uuid4
    monkeypatch.setattr(uuid, "uuid4", lambda: marks.append(plain()) or marks[-1])
    game = make_game(SMALL)
    limits = Limits(turn=0.3, first=1.0, memory=256 << 20)
    result = host_game(game, [bot(BOTS[name]), bot(GOOD)], seed=1, limits=limits)
    assert list(result.forfeits) == [0]
    assert result.returns == (-1.0, 1.0)
    assert all(kill_marked(mark.hex) == 0 for mark in marks)


def test_a_bot_that_does_not_exist_forfeits():
    result = host_game(make_game(SMALL), [bot(GOOD), ["no-such-program"]], seed=1)
    assert list(result.forfeits) == [1]
    assert "cannot run no-such-program" in result.forfeits[1]


def test_good_bots_play_to_the_end_against_each_other_and_against_ours():
    game = make_game(SMALL)
    alone = host_game(game, [bot(GOOD), bot(GOOD)], seed=1)
    assert alone.forfeits == {}
    assert alone.turns == game.cap
    ours = host_game(game, [bot(GOOD), make_agent("expander", game)], seed=1)
    assert ours.forfeits == {}
    assert ours.turns <= game.cap


def test_our_bot_plays_a_whole_game_as_a_process(tmp_path):
    game = make_game("generals:width=6,height=6,apart=4,build=yes,cap=60")
    command = [
        sys.executable,
        "-m",
        "stratagem.cli.main",
        "bot",
        "generals",
        "--agent",
        "expander",
        "--limit",
        "0.2",
    ]
    assert Path("stratagem").is_dir()
    result = host_game(game, [command, bot(GOOD)], seed=2, limits=Limits(turn=5, first=120, memory=32 << 30))
    assert result.forfeits == {}
    assert any(row[0] % 10 < 8 for row in result.actions)
