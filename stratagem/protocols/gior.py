"""Replays of generals.io (`.gior`): import with every move checked, and export that loses nothing.

A file is an LZ-string of a JSON array. Cells are numbers from the upper left, row by row:

[version, id, width, height, [usernames], [stars], [castles], [their garrisons], [generals], [mountains],
 [[player, from, to, half, turn], …], [[player, turn of leaving], …], teams,
 title, [neutral cells with an army], [their armies], [swamps], chat, colours, [lights], options, [modifiers],
 [observatories], [lookouts], [deserts], transforms, pings, [trades]]

A turn without a move is a pass. What we write has one more entry at its end, an object with the rest of our replay.
The server that made a file may order the two moves of a turn otherwise than our rules do; a move that is not possible
under ours is reported, becomes a pass, and the game goes on. Of a game that ends by nothing in the file, the replay
ends by its cap on turns.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.core.errors import DamagedFile, IllegalAction, StratagemError, Unsupported
from stratagem.core.files import atomic_write
from stratagem.games.generals.board import CAPPED, CASTLE, GENERAL, MOUNTAIN, PLAIN, State
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import BUILD, DOWN, HALF, LEFT, PASS, RIGHT, UP
from stratagem.protocols import lzstring
from stratagem.protocols.generals_referee import Ground, ground_of, judge, pad, rewidth, state_of
from stratagem.protocols.replay import Replay, parse, positions, result

VERSION = 13  # of the files that we write
SIDE = 32  # the largest board, on which every game is judged
LONGEST = 100_000  # turns
CAP = 1000  # turns; longer games get a higher cap
STANDARD = range(12)  # the entries that every file has
NEUTRALS, NEUTRAL_ARMIES = 14, 15
FOREIGN = {16: "swamps", 19: "lights", 21: "modifiers", 22: "observatories", 23: "lookouts", 24: "deserts",
           27: "trades of generals"}  # fmt: skip
OURS = 28  # where our entry is in a file of ours

Ending = Literal["general", "resigned", "capped", "open"]


@dataclass(frozen=True)
class Move:
    """One move as a file has it."""

    player: int
    start: int
    end: int
    half: bool
    turn: int


@dataclass(frozen=True)
class Gior:
    """The content of a file, its form checked."""

    id: str
    width: int
    height: int
    usernames: list[str]
    stars: list[float | None]
    ground: Ground
    generals: list[int]
    moves: list[Move]
    left: list[tuple[int, int]]
    """(player, turn) of each player that left or gave up."""
    ours: dict[str, Any] | None
    """The rest of our replay, in files of ours."""


@dataclass(frozen=True)
class Deviation:
    """A move that our rules treat otherwise than the server did."""

    number: int
    """Which move of the file, from 0."""
    move: Move
    rejected: bool
    """It was not legal and became a pass; else it was, but came too late to do anything."""
    why: str

    def __str__(self) -> str:
        move = self.move
        return f"move {self.number} (turn {move.turn}, player {move.player}, {move.start} to {move.end}): {self.why}"


@dataclass(frozen=True)
class Imported:
    """A game read from a file."""

    replay: Replay
    id: str
    stars: list[float | None]
    ended: Ending
    """By the fall of a general, a player who left, the cap on turns, or not at all."""
    moves: int
    """How many the file has."""
    deviations: list[Deviation]


def load(path: Path | str) -> Imported:
    """A file as a replay of ours; DamagedFile or Unsupported if it cannot be one."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"{path}: {error.strerror}") from None
    try:
        return convert(read(data))
    except StratagemError as error:
        raise type(error)(f"{path}: {error}") from None


def save(replay: Replay, path: Path | str, stars: Sequence[float | None] = (None, None)) -> None:
    """Write a replay as a file that generals.io's tools read."""
    data = write(replay, stars)
    with atomic_write(path) as file:
        file.write(data)


# Reading.


def read(data: bytes) -> Gior:
    """The content of a file; DamagedFile names the entry that is wrong."""
    try:
        entries = json.loads(lzstring.decompress(data))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(f"not a .gior replay: its text is no JSON ({error})") from None
    if not isinstance(entries, list) or len(entries) < len(STANDARD):
        raise DamagedFile("not a .gior replay: an array of at least 12 entries is needed")
    ours = entries.pop() if isinstance(entries[-1], dict) else None
    if ours is not None and not isinstance(ours.get("stratagem"), dict):
        raise DamagedFile("the last entry is an object, but not one of Stratagem's")
    for place, what in FOREIGN.items():
        if place < len(entries) and entries[place]:
            raise Unsupported(f"the game has {what}, which our rules do not know")
    width, height = _whole(entries[2], "width"), _whole(entries[3], "height")
    if not (2 <= width <= SIDE and 2 <= height <= SIDE):
        raise Unsupported(f"the board is {width}×{height}; ours are 2 to {SIDE} a side")
    usernames = ["Anonymous" if name is None else name for name in _list(entries[4], "usernames")]
    if not all(isinstance(name, str) for name in usernames):
        raise DamagedFile("usernames are texts")
    teams = _list((entries[12] if len(entries) > 12 else None) or [], "teams")
    if len(usernames) != 2 or (len(teams) > 1 and all(team == teams[0] for team in teams)):
        raise Unsupported(f"the game has {len(usernames)} players; ours is one against one")
    generals = _cells(entries[8], "generals", width * height)
    if len(generals) != 2:
        raise DamagedFile(f"there are {len(generals)} generals, not 2")
    moves = [_move(entry, number, width * height) for number, entry in enumerate(_list(entries[10], "moves"))]
    left = [
        (_whole(player, "a player who left", 2), _whole(turn, "a turn of leaving", LONGEST))
        for player, turn, *_ in (_list(entry, "a player who left", 2) for entry in _list(entries[11], "afks"))
    ]
    return Gior(
        id=str(entries[1]),
        width=width,
        height=height,
        usernames=usernames,
        stars=_stars(entries[5]),
        ground=_ground(entries, (height, width), generals),
        generals=generals,
        moves=moves,
        left=left,
        ours=ours["stratagem"] if ours else None,
    )


def _whole(value: Any, what: str, below: int = 1 << 26) -> int:
    if type(value) is not int or not 0 <= value < below:
        raise DamagedFile(f"{what}: a whole number from 0 to {below - 1} is needed, not {value!r:.40}")
    return value


def _list(value: Any, what: str, least: int = 0) -> list[Any]:
    if not isinstance(value, list) or len(value) < least:
        raise DamagedFile(f"{what}: a list is needed, not {value!r:.40}")
    return value


def _cells(value: Any, what: str, count: int) -> list[int]:
    return [_whole(cell, what, count) for cell in _list(value, what)]


def _stars(value: Any) -> list[float | None]:
    stars = [None, None] if value is None else _list(value, "stars", 2)[:2]
    if not all(one is None or (isinstance(one, int | float) and not isinstance(one, bool)) for one in stars):
        raise DamagedFile("stars are numbers")
    return stars


def _move(entry: Any, number: int, cells: int) -> Move:
    what = f"move {number}"
    player, start, end, half, turn = _list(entry, what, 5)[:5]
    if half not in (0, 1):
        raise DamagedFile(f"{what}: half is 0 or 1, not {half!r:.40}")
    return Move(
        player=_whole(player, f"{what}, player", 2),
        start=_whole(start, f"{what}, start", cells),
        end=_whole(end, f"{what}, end", cells),
        half=bool(half),
        turn=_whole(turn, f"{what}, turn", LONGEST),
    )


def _ground(entries: list[Any], shape: tuple[int, int], generals: list[int]) -> Ground:
    cells = shape[0] * shape[1]
    castles, mountains = _cells(entries[6], "cities", cells), _cells(entries[9] or [], "mountains", cells)
    garrisons = [_whole(army, "city armies") for army in _list(entries[7], "city armies")]
    armed, armies = (
        (entries[place] if place < len(entries) else None) or [] for place in (NEUTRALS, NEUTRAL_ARMIES)
    )
    neutrals = _cells(armed, "neutrals", cells)
    strengths = [_whole(army, "neutral armies") for army in _list(armies, "neutral armies")]
    if len(castles) != len(garrisons) or len(neutrals) != len(strengths):
        raise DamagedFile("there are not as many armies as cells for them")
    used = [*castles, *mountains, *generals, *neutrals]
    if len(set(used)) != len(used):
        raise DamagedFile("a cell is two things at once: general, city, mountain or neutral army")
    kind, owner, army = (np.zeros(cells, np.int32) for _ in range(3))
    kind[castles], kind[mountains], kind[generals] = CASTLE, MOUNTAIN, GENERAL
    owner[generals], army[generals] = (1, 2), 1
    army[castles], army[neutrals] = garrisons, strengths
    return Ground(*(part.reshape(shape) for part in (kind, owner, army)))


# Import.


def convert(gior: Gior) -> Imported:
    """The game as a replay of ours, every move judged by our rules."""
    return _our_own(gior, gior.ours) if gior.ours is not None else _from_elsewhere(gior)


def _from_elsewhere(gior: Gior) -> Imported:
    leaving = min(gior.left, key=lambda one: one[1], default=None)
    last = max((move.turn + 1 for move in gior.moves), default=0)
    turns = max(last, 1) if leaving is None else max(min(last, leaving[1] + 1), leaving[1])
    game = Generals(
        gior.width,
        gior.height,
        cap=min(max(CAP, turns + 1), LONGEST),
        castles_to=max(12, int(np.count_nonzero(gior.ground.kind == CASTLE))),
    )
    asked = np.empty((turns, 2), np.int32)
    asked[:] = [cell * game.per_cell + PASS for cell in gior.generals]
    numbers = np.full((turns, 2), -1)
    deviations = []
    for number, move in enumerate(gior.moves):
        action = action_of(move, game)
        if move.turn >= turns:
            why = "a player had left"
        elif action is None:
            why = "the cells are no neighbours"
        elif numbers[move.turn, move.player] >= 0:
            why = f"move {numbers[move.turn, move.player]} was the player's in this turn"
        else:
            asked[move.turn, move.player], numbers[move.turn, move.player] = action, number
            continue
        deviations.append(Deviation(number, move, True, why))
    final, found = _judge(game, gior.ground, asked)
    for turn, seat, rejected, why in found:
        deviations.append(Deviation(int(numbers[turn, seat]), gior.moves[numbers[turn, seat]], rejected, why))
        if rejected:
            asked[turn, seat] = gior.generals[seat] * game.per_cell + PASS
    resigned: list[int] = []
    ended: Ending = "general"
    if bool(game.done(final)):
        asked = asked[: int(final.turn)]
    elif leaving is not None:
        resigned, ended = [leaving[0]], "resigned"
    else:
        ended, game = "open", replace(game, cap=turns)
    replay = Replay(
        game=game.spec.name,
        parameters=dict(game.spec.parameters),
        ruleset=game.spec.ruleset,
        seats=gior.usernames,
        actions=asked.tolist(),
        returns=[0.0, 0.0],
        start=game.write(state_of(gior.ground)),
        resigned=resigned,
    )
    if ended != "open":
        replay = replace(replay, returns=result(replay, game, final))
    deviations.sort(key=lambda one: one.number)
    return Imported(replay, gior.id, gior.stars, ended, len(gior.moves), deviations)


def action_of(move: Move, game: Generals) -> int | None:
    """The action index of a move; None if its cells are no neighbours."""
    steps = {-game.width: UP, game.width: DOWN}
    if move.start // game.width == move.end // game.width:
        steps |= {-1: LEFT, 1: RIGHT}
    way = steps.get(move.end - move.start)
    return None if way is None else move.start * game.per_cell + way + (HALF if move.half else 0)


def _judge(
    game: Generals, ground: Ground, asked: np.ndarray
) -> tuple[State, list[tuple[int, int, bool, str]]]:
    """The state at last, however late, and (turn, seat, whether rejected, why) of what our rules see otherwise."""
    wide = Generals(SIDE, SIDE, cap=LONGEST, build=game.build, deathtouch=game.deathtouch)
    start = state_of(pad(ground, wide.shape))
    actions = rewidth(asked, game.width, SIDE, game.per_cell)
    found: list[tuple[int, int, bool, str]] = []
    final = start
    for judged in judge(wide, start, actions):
        final = judged.after
        some = actions[judged.first : judged.first + len(judged.legal)]
        given = some % game.per_cell != PASS
        for turn, seat in np.argwhere(given & ~(judged.legal & judged.executed)).tolist():
            rejected = not judged.legal[turn, seat]
            why = "by our rules the opponent's move came first and left nothing to move"
            if rejected:
                state = jax.tree.map(lambda part, turn=turn: part[turn], judged.before)
                why = wide.why_not(state, seat, int(some[turn, seat]))
            found.append((judged.first + turn, seat, rejected, why))
    return final, found


# Files of ours.


def _our_own(gior: Gior, ours: dict[str, Any]) -> Imported:
    rest = dict(ours)
    turns = _whole(rest.pop("turns", None), "turns", LONGEST + 1)
    builds = [_list(build, "a build", 3) for build in _list(rest.pop("builds", None), "builds")]
    opening = parse({**rest, "seats": gior.usernames, "actions": []}, "Stratagem's entry")
    game, first = _first(opening)
    if game.shape != (gior.height, gior.width) or not all(map(np.array_equal, first, gior.ground)):
        raise DamagedFile("the map is not the one on which the replay was played")
    if turns > game.cap:
        raise DamagedFile(f"a game of {turns} turns, where {game.cap} are the most")
    asked = np.empty((turns, 2), np.int32)
    asked[:] = [cell * game.per_cell + PASS for cell in gior.generals]
    given = [(move.turn, move.player, action_of(move, game)) for move in gior.moves]
    for player, cell, turn, *_ in builds:
        seat, place = _whole(player, "a build's player", 2), _whole(cell, "a build's cell", game.cells)
        given.append((_whole(turn, "a build's turn", LONGEST), seat, place * game.per_cell + BUILD))
    for turn, seat, action in given:
        if turn >= turns or action is None:
            raise DamagedFile(f"turn {turn} of {turns}: player {seat} cannot have done that")
        asked[turn, seat] = action
    replay = replace(opening, actions=asked.tolist())
    final = _check(replay, game, first)
    ended: Ending = "resigned" if replay.resigned else "capped" if bool(game.truncated(final)) else "general"
    return Imported(replay, gior.id, gior.stars, ended, len(gior.moves), [])


def _first(replay: Replay) -> tuple[Generals, Ground]:
    """The game of a replay of ours, and its ground; Unsupported if a .gior file cannot hold it."""
    game = replay.rules()
    if not isinstance(game, Generals):
        raise Unsupported(f"a .gior file holds games of generals, not of {replay.game}")
    state = next(positions(replace(replay, actions=[]), game))
    ground = ground_of(state, game.shape)
    crowns = ground.kind == GENERAL
    usual = crowns.sum() == 2 and (ground.army[crowns] == 1).all() and not ground.owner[~crowns].any()
    if int(state.turn) != 0 or not usual:
        raise Unsupported(
            "a .gior file starts at turn 0, with one unit on either general; the replay does not"
        )
    return game, ground


def _check(replay: Replay, game: Generals, ground: Ground) -> State:
    """Play a replay of ours through; the final state if all of it is right."""
    final, found = _judge(game, ground, np.array(replay.actions, np.int32).reshape(-1, 2))
    for turn, seat, rejected, why in found:
        if rejected:
            raise IllegalAction(f"turn {turn + 1}: seat {seat}: {why}")
    if int(final.turn) == game.cap and not bool(game.done(final)):
        final = final._replace(winner=jnp.int32(CAPPED))
    length = min(int(final.turn), game.cap)
    if length != len(replay.actions):
        raise DamagedFile(f"the game is over after turn {length}, but has {len(replay.actions)} turns")
    if result(replay, game, final) != replay.returns:
        raise DamagedFile(f"the replay claims {replay.returns}, but its actions lead elsewhere")
    return final


def write(replay: Replay, stars: Sequence[float | None] = (None, None)) -> bytes:
    """The file of a replay; raises a StratagemError if it is not right or cannot be one."""
    game, ground = _first(replay)
    _check(replay, game, ground)
    kind, army = ground.kind.reshape(-1), ground.army.reshape(-1)
    castles, mountains = (np.flatnonzero(kind == one).tolist() for one in (CASTLE, MOUNTAIN))
    neutrals = np.flatnonzero((kind == PLAIN) & (army > 0)).tolist()
    generals = [int(np.flatnonzero((ground.owner == seat + 1).reshape(-1))[0]) for seat in range(2)]
    moves, builds = _moves(replay, game)
    rest = {key: value for key, value in asdict(replay).items() if key not in ("seats", "actions")}
    entries: list[Any] = [None] * OURS
    entries[: len(STANDARD)] = [
        VERSION, hashlib.sha256(repr(replay).encode()).hexdigest()[:9], game.width, game.height, replay.seats,
        list(stars), castles, army[castles].tolist(), generals, mountains, moves,
        [[seat, len(replay.actions)] for seat in replay.resigned],
    ]  # fmt: skip
    entries[NEUTRALS], entries[NEUTRAL_ARMIES] = neutrals, army[neutrals].tolist()
    entries.append({"stratagem": {**rest, "turns": len(replay.actions), "builds": builds}})
    return lzstring.compress(json.dumps(entries, separators=(",", ":")))


def _moves(replay: Replay, game: Generals) -> tuple[list[list[int]], list[list[int]]]:
    """Every move [player, from, to, half, turn] and every build [player, cell, turn]."""
    moves, builds = [], []
    steps = {UP: -game.width, DOWN: game.width, LEFT: -1, RIGHT: 1}
    for turn, row in enumerate(replay.actions):
        for player, action in enumerate(row):
            cell, k = divmod(action, game.per_cell)
            if k == BUILD:
                builds.append([player, cell, turn])
            elif k != PASS:
                moves.append([player, cell, cell + steps[k % HALF], int(k >= HALF), turn])
    return moves, builds
