"""The competition protocol of Generals, as text, and our bots on its stdin and stdout. All numbers are whole.

    once, to the bot        player_id H W
    each turn, to the bot   turn my_land my_army opp_land opp_army
                            then three grids of H lines of W numbers:
                            type   0 fog, 1 plain, 2 mountain, 3 castle, 4 general, 5 structure in fog
                            owner  0 nobody or unknown, 1 me, 2 the opponent
                            army   0 where not visible
    each turn, from the bot pass row col dir split
                            pass 0 move, 1 pass, 2 build; dir 0 up, 1 down, 2 left, 3 right; split 1 = half
    end of input            the game is over

A bot must answer in time from the first turn on, so the compiled player thinks in a thread of its own, and until it
is ready (or when it is late) a plain one answers. A frame that makes no sense is answered with a pass.
"""

import queue
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TextIO

import numpy as np

from stratagem.protocols.generals_seen import (
    BUILD,
    GENERAL,
    HALF,
    KIND_BITS,
    MOUNTAIN,
    PASS,
    STEPS,
    STRUCTURE,
    army_of,
    legal_actions,
    look_of,
)

TYPES, OWNERS = 6, 3
LARGEST = 2**31 - 1
MOVE, REST, BUILD_ANSWER = range(3)
ACTIONS = 10  # a cell: four directions twice, pass, build


class Frame(NamedTuple):
    """One turn as a bot is told it."""

    turn: int
    land: tuple[int, int]  # mine, the opponent's
    total: tuple[int, int]
    type: np.ndarray  # int[H, W]
    owner: np.ndarray  # int[H, W]
    army: np.ndarray  # int[H, W]


class Answer(NamedTuple):
    """One turn as a bot answers it."""

    kind: int
    row: int = 0
    column: int = 0
    direction: int = 0
    half: int = 0

    def line(self) -> str:
        return " ".join(map(str, self))


RESTS = Answer(REST)


# Text to and from frames and answers.


def numbers(line: str, count: int) -> list[int] | None:
    """So many whole numbers, or None."""
    words = line.split()
    if len(words) != count:
        return None
    try:
        read = [int(word) for word in words]
    except ValueError:
        return None
    return read if all(-LARGEST <= one <= LARGEST for one in read) else None


def read_hello(lines: Iterator[str]) -> tuple[int, int, int] | None:
    """(player, H, W) from the first line that has such; None at the end of input."""
    for line in lines:
        read = numbers(line, 3)
        if read and all(2 <= side <= 32 for side in read[1:]):
            return read[0], read[1], read[2]
    return None


def read_frames(lines: Iterator[str], height: int, width: int) -> Iterator[Frame | None]:
    """Every frame; None for one that makes no sense. Lines that cannot start a frame are passed over.

    A damaged frame ends where the next header or as many lines as it should have had are reached.
    """
    header: list[int] | None = None
    while True:
        while header is None:
            line = next(lines, None)
            if line is None:
                return
            header = numbers(line, 5)
        rows: list[list[int]] = []
        upcoming: list[int] | None = None
        for _ in range(3 * height):
            line = next(lines, None)
            if line is None:
                return
            row = numbers(line, width)
            if row is not None:
                rows.append(row)
            elif (upcoming := numbers(line, 5)) is not None:
                break
        whole = len(rows) == 3 * height
        yield make_frame(header, np.array(rows).reshape(3, height, width)) if whole else None
        header = upcoming


def make_frame(header: list[int], grids: np.ndarray) -> Frame | None:
    """A frame, or None if a number has no meaning."""
    types, owners, army = grids
    known = (types >= 0) & (types < TYPES) & (owners >= 0) & (owners < OWNERS) & (army >= 0)
    if not known.all() or min(header) < 0:
        return None
    turn, my_land, my_army, opponent_land, opponent_army = header
    return Frame(turn, (my_land, opponent_land), (my_army, opponent_army), types, owners, army)


def write_frame(frame: Frame) -> str:
    """The lines of a frame."""
    header = (frame.turn, frame.land[0], frame.total[0], frame.land[1], frame.total[1])
    lines = [" ".join(map(str, header))]
    for grid in (frame.type, frame.owner, frame.army):
        lines += [" ".join(map(str, row)) for row in grid.tolist()]
    return "\n".join(lines) + "\n"


def read_answer(line: str, height: int, width: int) -> Answer | None:
    """An answer, or None if the line is none."""
    read = numbers(line, 5)
    if read is None or not 0 <= read[0] <= BUILD_ANSWER:
        return None
    answer = Answer(*read)
    if answer.kind == REST:
        return RESTS
    inside = 0 <= answer.row < height and 0 <= answer.column < width
    return answer if inside and 0 <= answer.direction < 4 and answer.half in (0, 1) else None


def answer_of(action: int, width: int, per_cell: int = ACTIONS) -> Answer:
    """The answer that stands for an action of the game."""
    cell, k = divmod(action, per_cell)
    row, column = divmod(cell, width)
    if k == PASS:
        return RESTS
    if k == BUILD:
        return Answer(BUILD_ANSWER, row, column)
    return Answer(MOVE, row, column, k % HALF, k // HALF)


def action_of(answer: Answer, width: int, rest: int, per_cell: int = ACTIONS) -> int:
    """The action that an answer stands for; `rest` is the one of passing."""
    cell = answer.row * width + answer.column
    if answer.kind == MOVE:
        return cell * per_cell + answer.direction + HALF * answer.half
    return cell * per_cell + BUILD if answer.kind == BUILD_ANSWER and per_cell > BUILD else rest


# What may be done, from the frame alone.


def legal_in(frame: Frame, build: bool) -> np.ndarray:
    """bool[H, W, 9 or 10]"""
    return legal_actions(frame.type + (frame.owner << KIND_BITS), frame.army, build)


def plain_answer(frame: Frame) -> Answer:
    """A sensible move without any compiled code: the largest stack that can take something takes it."""
    height, width = frame.type.shape
    best, found = (0, 0), RESTS
    for row, column in np.argwhere((frame.owner == 1) & (frame.army >= 2)):
        units = int(frame.army[row, column]) - 1
        for direction, (down, across) in enumerate(STEPS):
            to_row, to_column = row + down, column + across
            if not (0 <= to_row < height and 0 <= to_column < width):
                continue
            kind, owner = frame.type[to_row, to_column], frame.owner[to_row, to_column]
            if owner == 1 or kind in (MOUNTAIN, STRUCTURE) or frame.army[to_row, to_column] >= units:
                continue
            worth = (int(kind == GENERAL) * 4 + int(owner), units)
            if worth > best:
                best, found = worth, Answer(MOVE, int(row), int(column), direction)
    return found


# Our players as bots.


@dataclass
class Thinker:
    """A compiled agent in a thread of its own: asked about frames, told what was played in the end."""

    agent_name: str
    shape: tuple[int, int]
    build: bool
    seed: int = 0
    questions: "queue.Queue[Any]" = field(default_factory=queue.Queue)
    answers: "queue.Queue[tuple[int, Answer]]" = field(default_factory=queue.Queue)
    failure: str | None = None

    def __post_init__(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def ask(self, number: int, frame: Frame, seconds: float) -> Answer | None:
        """Its answer to a frame, or None if it is not there in time."""
        self.questions.put((number, frame))
        end = time.monotonic() + seconds
        while self.failure is None:
            try:
                answered, answer = self.answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return None
            if answered == number:
                return answer
        return None

    def played(self, answer: Answer) -> None:
        """What was answered in the end, which it must remember."""
        self.questions.put(answer)

    def _run(self) -> None:
        try:
            self._think()
        except Exception as error:  # the bot goes on with its plain player, whatever happened here
            self.failure = f"{type(error).__name__}: {error}"
            print(f"the player failed and a plain one goes on: {self.failure}", file=sys.stderr)

    def _think(self) -> None:
        player = CompiledPlayer(self.agent_name, self.shape, self.build, self.seed)
        waiting: tuple[int, Frame] | None = None
        while True:
            item = self.questions.get()
            if isinstance(item, Answer):
                if waiting is not None:
                    player.remember(waiting[1], item)
                waiting = None
                continue
            waiting = item
            if self.questions.empty():  # otherwise the answer was given without us, and the next frame waits
                self.answers.put((item[0], player.answer(item[1])))


class CompiledPlayer:
    """An agent of ours on boards of up to a fixed size, so that it is compiled once and before the game."""

    def __init__(self, name: str, shape: tuple[int, int], build: bool, seed: int):
        import jax

        from stratagem.agents import make_agent
        from stratagem.core.compile_cache import use_compile_cache
        from stratagem.games.generals.game import Generals

        use_compile_cache()
        side = 21 if max(shape) <= 21 else 32
        self.game = Generals(width=side, height=side, build=True, apart=min(17, sum(shape) // 3), cap=100_000)
        self.agent: Any = make_agent(name, self.game)
        self.shape, self.build, self.seed = shape, build, seed
        self._act, self._remember = jax.jit(self.agent.act), jax.jit(self.agent.remember)
        self.memory = self.agent.memory()
        empty = np.zeros(shape, int)
        first = Frame(0, (1, 1), (1, 1), empty, empty, empty)
        self.answer(first)  # compiles
        self._remember(self.memory, self._view(first), np.int32(-1))

    def answer(self, frame: Frame) -> Answer:
        import jax

        allowed = np.zeros((*self.game.shape, ACTIONS), bool)
        here = legal_in(frame, self.build)
        allowed[: self.shape[0], : self.shape[1], : here.shape[2]] = here
        if not here[:, :, PASS].any():  # a frame without our general; every player needs something to do
            allowed[0, 0, PASS] = True
        key = jax.random.key(self.seed * 1_000_003 + frame.turn)
        action = int(self._act(self.memory, self._view(frame), allowed.reshape(-1), key))
        return answer_of(action, self.game.width)

    def remember(self, frame: Frame, answer: Answer) -> None:
        action = action_of(answer, self.game.width, rest=-1)
        self.memory = self._remember(self.memory, self._view(frame), np.int32(action))

    def _view(self, frame: Frame) -> Any:
        from stratagem.games.generals.rules import View

        look = look_of(frame.type, frame.owner, self.game.shape)
        army = army_of(np.minimum(frame.army, 1_000_000), self.game.shape, self.game.army_type)
        land, total = np.asarray(frame.land, np.int32), np.asarray(frame.total, np.int32)
        parts: list[Any] = [look, army, land, total, np.int32(min(frame.turn, 30_000))]
        return View(*parts)


def run_bot(
    agent: str,
    source: TextIO,
    sink: TextIO,
    limit: float = 0.1,
    build: bool = True,
    seed: int = 0,
    first: float = 0.0,
) -> int:
    """Play one game on these streams; returns the turns that were answered. Leaves at the end of input.

    An answer takes `limit` seconds at most, the first one `first` seconds if that is more.
    """
    lines = iter(source)
    hello = read_hello(lines)
    if hello is None:
        return 0
    shape = hello[1], hello[2]
    thinker = Thinker(agent, shape, build, seed)
    turns = plain = 0
    for number, frame in enumerate(read_frames(lines, *shape)):
        answer: Answer | None = RESTS
        if frame is not None:
            answer = thinker.ask(number, frame, limit / 2 if number else max(limit / 2, first))
            plain += answer is None
            answer = answer or plain_answer(frame)
            thinker.played(answer)
        try:
            sink.write((answer or RESTS).line() + "\n")
            sink.flush()
        except (BrokenPipeError, ValueError):  # the host has gone
            break
        turns += 1
    print(f"{turns} answers, {plain} of them by the plain player", file=sys.stderr)
    return turns
