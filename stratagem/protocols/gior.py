"""Replays of generals.io (`.gior`) to and from our own, every move checked.

A file is LZ-string over a JSON array:

    [version, id, width, height, usernames, stars, cities, city armies, generals, mountains,
     moves [player, start, end, is50, turn], afks [player, turn], teams, …]

Turns are the server's ticks, which are our turns. A player without a move in a tick passed. A game that ends before a
general falls was given up by a player in `afks`. Ours adds one last entry, an object under "stratagem", with what the
format has no place for (options, seed, thinking time), so that the way there and back loses nothing.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.core.errors import DamagedFile, Unsupported
from stratagem.core.files import atomic_write
from stratagem.games.generals.board import (
    CASTLE,
    GENERAL,
    MOUNTAIN,
    NOBODY,
    PLAIN,
    army_of,
    clock_of,
    kind_of,
    new_state,
)
from stratagem.games.generals.game import Generals
from stratagem.games.generals.rules import HALF, PASS
from stratagem.protocols.lz_string import compress, decompress
from stratagem.protocols.replay import Replay, _first, result

VERSION = 14
FIELDS = (
    "version", "id", "width", "height", "usernames", "stars", "cities", "city_armies", "generals", "mountains",
    "moves", "afks", "teams",
)  # fmt: skip
NUMBERS = ("cities", "city_armies", "generals", "mountains")
LONGEST = 100_000  # turns


def read_gior(path: Path | str, lenient: bool = False) -> tuple[Replay, list[int]]:
    """(our replay of a file, the stars of both players). See `from_gior`."""
    try:
        content = json.loads(decompress(Path(path).read_bytes()))
    except json.JSONDecodeError as error:
        raise DamagedFile(f"{path}: not a generals.io replay ({error})") from error
    except FileNotFoundError:
        raise DamagedFile(f"{path}: no such file") from None
    except RecursionError:
        raise DamagedFile(f"{path}: not a generals.io replay (nested too deep)") from None
    return from_gior(content, str(path), lenient)


def write_gior(path: Path | str, replay: Replay, stars: tuple[int, int] = (0, 0)) -> None:
    """Write one of our replays as a `.gior` file."""
    text = json.dumps(to_gior(replay, Path(path).stem, stars), separators=(",", ":"))
    with atomic_write(path) as file:
        file.write(compress(text))


def from_gior(content: Any, name: str, lenient: bool = False) -> tuple[Replay, list[int]]:
    """Our replay of a decoded array. A move that our rules do not allow is DamagedFile, or a pass if `lenient`
    (the server drops moves that have become impossible).
    """
    facts = check_form(content, name)
    ours = content[-1].get("stratagem") if isinstance(content[-1], dict) else None
    width, height = facts["width"], facts["height"]
    if ours is not None:
        game = _game_of(ours.get("parameters"), name)
        if game.shape != (height, width):
            raise DamagedFile(f"{name}: the board is {width}×{height}, its options say {game.width}×{game.height}")
    else:
        last = max((move[4] for move in facts["moves"]), default=0)
        castles = len(facts["cities"])
        game = Generals(width=width, height=height, cap=max(1000, last + 2), castles_from=0, castles_to=castles)
    start = first_position(facts, game)
    actions, resigned, returns = play_moves(facts, game, start, ours, name, lenient)
    known = ours or {}
    replay = Replay(
        game="generals",
        parameters=dict(game.spec.parameters),
        ruleset=game.spec.ruleset,
        seats=list(facts["usernames"]),
        actions=actions,
        returns=returns,
        seed=known.get("seed"),
        start=None if known.get("seed") is not None else game.write(start),
        resigned=resigned,
        seconds=known.get("seconds", []),
    )
    return replay, list(facts["stars"] or [0, 0])


def check_form(content: Any, name: str) -> dict[str, Any]:
    """The fields by name, each of the right form; DamagedFile otherwise."""

    def need(holds: bool, what: str) -> None:
        if not holds:
            raise DamagedFile(f"{name}: not a generals.io replay of two players: {what}")

    def whole(value: Any, low: int, high: int) -> bool:
        return type(value) is int and low <= value < high

    need(isinstance(content, list) and len(content) >= len(FIELDS) - 1, "no array of twelve fields or more")
    facts = dict(zip(FIELDS, content, strict=False))
    need(whole(facts["width"], 2, 33) and whole(facts["height"], 2, 33), "sides are 2 to 32")
    cells = facts["width"] * facts["height"]
    for field in NUMBERS:
        need(isinstance(facts[field], list), f"{field} is no list")
        top = 1_000_000 if field == "city_armies" else cells
        need(all(whole(value, 0, top) for value in facts[field]), f"{field} holds something else than cells")
    need(isinstance(facts["usernames"], list) and len(facts["usernames"]) == 2, "there are not two players")
    need(all(isinstance(one, str) for one in facts["usernames"]), "a player has no name")
    need(len(facts["generals"]) == 2, "there are not two generals")
    need(len(facts["cities"]) == len(facts["city_armies"]), "cities and their armies differ in number")
    taken = facts["generals"] + facts["cities"] + facts["mountains"]
    need(len(set(taken)) == len(taken), "two things stand on one cell")
    moves = facts["moves"]
    need(isinstance(moves, list), "moves is no list")
    for move in moves:
        need(isinstance(move, list) and len(move) == 5, "a move is not [player, start, end, is50, turn]")
        need(whole(move[0], 0, 2) and whole(move[1], 0, cells) and whole(move[2], 0, cells), f"bad move {move}")
        need(move[3] in (0, 1) and whole(move[4], 0, LONGEST), f"bad move {move}")
    stars = facts["stars"]
    need(stars is None or (isinstance(stars, list) and all(isinstance(one, int | float) for one in stars)), "stars")
    facts["afks"] = facts.get("afks") or []
    need(isinstance(facts["afks"], list), "afks is no list")
    for afk in facts["afks"]:
        need(isinstance(afk, list) and len(afk) == 2 and whole(afk[0], 0, 2), f"bad afk {afk}")
        need(whole(afk[1], 0, LONGEST), f"bad afk {afk}")
    return facts


def first_position(facts: dict[str, Any], game: Generals) -> Any:
    """The state before the first move."""
    kind = np.full(game.cells, PLAIN)
    owner, army = np.zeros(game.cells, int), np.zeros(game.cells, int)
    kind[facts["mountains"]] = MOUNTAIN
    kind[facts["cities"]] = CASTLE
    army[facts["cities"]] = facts["city_armies"]
    for seat, cell in enumerate(facts["generals"]):
        kind[cell], owner[cell], army[cell] = GENERAL, seat + 1, 1
    parts = (jnp.asarray(part, jnp.int32) for part in (kind, owner, army))
    return new_state(*parts, turn=jnp.int32(0), winner=jnp.int32(NOBODY))


def play_moves(
    facts: dict[str, Any], game: Generals, start: Any, ours: Any, name: str, lenient: bool
) -> tuple[list[list[int]], list[int], list[float]]:
    """(actions a turn, who gave up, the returns), having played every move."""
    by_turn: dict[int, dict[int, list[int]]] = {}
    for move in facts["moves"]:
        row = by_turn.setdefault(move[4], {})
        if move[0] in row:
            raise DamagedFile(f"{name}: player {move[0]} moves twice in turn {move[4]}")
        row[move[0]] = move
    gone = {afk[0]: afk[1] for afk in reversed(facts["afks"])}
    ends = [turn + 1 for turn in by_turn] + ([] if ours else [min(gone.values())] if gone else [])
    turns = ours["turns"] if ours else max(ends, default=0)
    if type(turns) is not int or not 0 <= turns <= game.cap:
        raise DamagedFile(f"{name}: a game of {turns!r} turns")
    passes = [cell * game.per_cell + PASS for cell in facts["generals"]]
    legal, step = jax.jit(game.legal), jax.jit(game.step)
    state, actions = start, []
    for turn in range(turns):
        if int(state.winner) != NOBODY:
            raise DamagedFile(f"{name}: the game is over after turn {turn}, but moves follow")
        allowed = np.asarray(legal(state))
        row = list(passes)
        for seat, move in by_turn.get(turn, {}).items():
            action = action_of(move, game)
            if action is not None and allowed[seat, action]:
                row[seat] = action
            elif not lenient:
                why = "not a step" if action is None else game.why_not(state, seat, action)
                raise DamagedFile(f"{name}: turn {turn}: player {seat} cannot move {move[1]} to {move[2]}: {why}")
        actions.append(row)
        state = step(state, jnp.asarray(row, jnp.int32))
    if int(state.winner) != NOBODY:
        resigned = []
    elif ours:
        resigned = ours.get("resigned", [])
    else:
        resigned = sorted(gone)[:1] if len(gone) == 1 else [min(gone, key=lambda seat: gone[seat])] if gone else []
        if not resigned:
            raise DamagedFile(f"{name}: the game neither ends nor is given up")
    replay = Replay("generals", {}, "", [], actions, [], resigned=resigned)
    return actions, resigned, result(replay, game, state)


def action_of(move: list[int], game: Generals) -> int | None:
    """Our action of a move between neighbours; None if they are none."""
    _, source, target, half, _ = move
    (row, column), (to_row, to_column) = divmod(source, game.width), divmod(target, game.width)
    ways = {(-1, 0): 0, (1, 0): 1, (0, -1): 2, (0, 1): 3}
    way = ways.get((to_row - row, to_column - column))
    return None if way is None else source * game.per_cell + way + (HALF if half else 0)


def to_gior(replay: Replay, identity: str, stars: tuple[int, int] = (0, 0)) -> list[Any]:
    """The array of one of our replays."""
    game: Any = replay.rules()
    if not isinstance(game, Generals):
        raise Unsupported(f"a .gior file holds a game of generals, not of {replay.game}")
    if game.build:
        raise Unsupported("a .gior file has no place for building; save our own replay instead")
    state = _first(replay, game)
    if int(state.turn) or np.asarray(state.land).tolist() != [1, 1]:
        raise Unsupported("a .gior file starts with turn 0 of a map, this replay starts in the middle of a game")
    kind, army = np.asarray(kind_of(state.cells)), np.asarray(army_of(state.cells, clock_of(state)))
    cities = np.flatnonzero(kind == CASTLE).tolist()
    moves = []
    for turn, row in enumerate(replay.actions):
        for seat, action in enumerate(row):
            cell, k = divmod(action, game.per_cell)
            if k < PASS:
                target = cell + (-game.width, game.width, -1, 1)[k % HALF]
                moves.append([seat, cell, target, int(k >= HALF), turn])
    extra = {
        "parameters": replay.parameters,
        "seed": replay.seed,
        "turns": len(replay.actions),
        "resigned": replay.resigned,
        "seconds": replay.seconds,
    }
    return [
        VERSION,
        identity,
        game.width,
        game.height,
        replay.seats,
        list(stars),
        cities,
        army[cities].tolist(),
        np.asarray(state.generals).tolist(),
        np.flatnonzero(kind == MOUNTAIN).tolist(),
        moves,
        [[seat, len(replay.actions)] for seat in replay.resigned],
        None,
        {"stratagem": extra},
    ]


def _game_of(parameters: Any, name: str) -> Generals:
    if not isinstance(parameters, dict):
        raise DamagedFile(f"{name}: its options are missing")
    try:
        options = {key: None if value == "none" else value for key, value in parameters.items()}
        return Generals(**options)
    except TypeError as error:
        raise DamagedFile(f"{name}: its options do not fit this game ({error})") from error
