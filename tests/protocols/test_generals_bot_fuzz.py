"""The bot with its real, compiled player, fed thousands of frames: whole, wild and broken ones."""

import random
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.games import make_game
from stratagem.games.generals.rules import possessors, seen
from stratagem.protocols import generals_stdio as stdio
from stratagem.protocols.generals_stdio import Frame

HEIGHT, WIDTH = 6, 7
GAME = make_game("generals:width=7,height=6,apart=4,build=yes,cap=120")
FRAMES = 2000
BROKEN_LINES = [
    "", "x", "1 2", "9" * 400, "-1 0 0 0 0 0 0", "0 0 0 0 0 0 7", "\x00", "1e3 0 0 0 0 0 0", "٣ ٣", "0 " * 5000,
    "\ufffd\ufffd", "nan nan nan nan nan nan nan", "0 0 0 0 0 0 99999999999999999999", "\x1b[2J",
]  # fmt: skip


@pytest.fixture(scope="module")
def true_frames():
    """Both seats' frames of a random game."""

    def turn(state, key):
        scores = jnp.where(GAME.legal(state), jax.random.uniform(key, (2, GAME.spec.actions)), -1.0)
        views = jax.vmap(GAME.view, (None, 0))(state, jnp.arange(2))
        return GAME.step(state, jnp.argmax(scores, axis=1)), views

    keys = jax.random.split(jax.random.key(3), GAME.cap)
    views = jax.jit(lambda start: jax.lax.scan(turn, start, keys)[1])(GAME.init(jax.random.key(4)))
    land, total, army = (np.asarray(part) for part in (views.land, views.total, views.army))
    kinds, owners = np.asarray(seen(views)), np.asarray(possessors(views))
    return [
        Frame(at[0], tuple(land[at].tolist()), tuple(total[at].tolist()), kinds[at], owners[at], army[at])
        for at in np.ndindex(GAME.cap, 2)
    ]


def wild_frame(rng):
    """A frame of the right form that no game could show: any kinds, owners and armies, with or without generals."""
    most = rng.choice([1, 3, 60, 2**31 - 1])
    kinds, owners, armies = (
        np.array([[rng.randint(0, high) for _ in range(WIDTH)] for _ in range(HEIGHT)])
        for high in (5, 2, most)
    )
    header = [rng.choice([0, 1, 49, 50, 999, 2**31 - 1]) for _ in range(5)]
    return stdio.make_frame(header, np.stack([kinds, owners, armies]))


def broken(frame, rng):
    """The lines of a frame, damaged so that it cannot be read; the next one can."""
    lines = stdio.write_frame(frame).splitlines()
    kind = rng.randrange(3)
    if kind == 0:  # grid lines that are none
        for place in rng.sample(range(1, len(lines)), rng.randint(1, 4)):
            lines[place] = rng.choice(BROKEN_LINES)
    elif kind == 1:  # cut short: the next header ends it
        lines = lines[: rng.randint(1, len(lines) - 1)]
    else:  # noise between frames
        lines = rng.choices(BROKEN_LINES, k=rng.randint(1, 5))
    return lines


class Talk:
    """The bot's input and output: what was sent, and that each whole frame was answered before more was read."""

    def __init__(self, frames, seed):
        self.frames, self.rng = frames, random.Random(seed)
        self.ready = threading.Event()
        self.answers = []  # since the last whole frame
        self.by_player = 0

    def lines(self):
        yield f"0 {HEIGHT} {WIDTH}\n"
        while not self.ready.is_set():  # until the compiled player answers
            yield from self.send(self.frames[0])
        for number in range(FRAMES):
            choice = self.rng.random()
            if choice < 0.25:
                yield from (line + "\n" for line in broken(self.rng.choice(self.frames), self.rng))
            if choice < 0.5:
                yield from self.send(wild_frame(self.rng))
            else:
                yield from self.send(self.frames[number % len(self.frames)])

    def send(self, frame):
        whole = stdio.write_frame(frame).splitlines(keepends=True)
        yield from whole[:-1]
        self.answers = []
        yield whole[-1]
        assert len(self.answers) == 1
        answer = stdio.read_answer(self.answers[0], HEIGHT, WIDTH)
        assert answer is not None
        action = stdio.action_of(answer, WIDTH, rest=-1)
        assert action == -1 or stdio.legal_in(frame, build=True).reshape(-1)[action]

    def write(self, line):
        self.answers.append(line)

    def flush(self):
        pass


def test_the_compiled_player_gives_a_legal_answer_to_every_frame_and_survives_the_broken_ones(
    true_frames, monkeypatch, capsys
):
    talk = Talk(true_frames, seed=5)
    asks = stdio.Thinker.ask

    def watched(self, *question):
        answer = asks(self, *question)
        if answer is not None:
            talk.ready.set()
            talk.by_player += 1
        return answer

    monkeypatch.setattr(stdio.Thinker, "ask", watched)
    # The limit is wide, so that it is the compiled player that answers, however busy the machine.
    turns = stdio.run_bot("cascade", talk.lines(), talk, limit=2.0)
    assert turns >= FRAMES
    assert talk.by_player > FRAMES * 0.9
    assert "failed" not in capsys.readouterr().err
