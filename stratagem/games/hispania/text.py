"""Hispania in text. Host side only.

A position is one line of `field=value`, so that a person can read it and a program can rebuild it:

    round=3 nation=rome half=1 phase=pick battle=- combat=0 pieces=rome:0@tarraco.1.4m<ilerda/land;…
    buildings=saguntum:city points=… vp=… births=… kills=rome>carthage:2 vassals=iberians>rome waiting=4,5 past=-

A piece is `place@region.hits.age`: its place among the nation's counters, where it is, its hit points and how many
pieces of its nation came before it; then `m` if it has moved, `p` if it is picked, and `<` its entry and the border.

An action is `tarraco:02` (slots 0 and 2, or the place on the menu), `tarraco` (the region alone) or `none`.
"""

import re
from typing import Any

import jax.numpy as jnp
import numpy as np

from stratagem.games.hispania.scenario import BORDERS, BUILDINGS, SLOTS
from stratagem.games.hispania.state import REMEMBERED, State, narrow
from stratagem.games.hispania.tables import MASKS, Tables

PHASES = ("grow", "pick", "go", "choose", "defend", "attack", "remove", "done")
FIELDS = [
    *(
        "round",
        "nation",
        "half",
        "phase",
        "battle",
        "combat",
        "pieces",
        "buildings",
        "points",
        "vp",
        "births",
    ),
    *("kills", "vassals", "waiting", "past"),
]
PIECE = re.compile(r"(\d+)@(\w+)\.(\d+)\.(\d+)(m?)(p?)(?:<(\w+)/(\w+))?")


def write(tables: Tables, position: State) -> str:
    state: Any = State(*map(np.asarray, position))  # type: ignore[arg-type]
    regions = [region.id for region in tables.scenario.regions]
    nations = [nation.id for nation in tables.scenario.nations]

    def named(values: np.ndarray) -> str:
        return (
            ",".join(f"{name}:{value}" for name, value in zip(nations, values, strict=True) if value) or "-"
        )

    armies = []
    for number, name in enumerate(nations):
        pieces = []
        for place in np.flatnonzero(state.region[number] >= 0):
            where = regions[state.region[number, place]]
            piece = f"{place}@{where}.{state.hp[number, place]}.{state.age[number, place]}"
            if number == state.nation:
                piece += "m" * bool(state.moved[place]) + "p" * bool(state.picked[place])
                if state.entry[place] >= 0:
                    piece += f"<{regions[state.entry[place]]}/{BORDERS[state.crossed[place]]}"
            pieces.append(piece)
        if pieces:
            armies.append(f"{name}:{','.join(pieces)}")
    built = [f"{regions[one]}:{BUILDINGS[state.building[one]]}" for one in np.flatnonzero(state.building)]
    kills = [f"{nations[a]}>{nations[b]}:{state.kills[a, b]}" for a, b in np.argwhere(state.kills)]
    ties = [f"{nations[one]}>{nations[state.suzerain[one]]}" for one in np.flatnonzero(state.suzerain >= 0)]
    past = ["/".join(map(str, token)) for token in state.past[: state.steps]]
    values = (
        state.round,
        nations[state.nation],
        state.half,
        PHASES[state.phase],
        regions[state.battle] if state.battle >= 0 else "-",
        state.combat,
        ";".join(armies) or "-",
        ",".join(built) or "-",
        named(state.points),
        named(state.vp),
        named(state.births),
        ",".join(kills) or "-",
        ",".join(ties) or "-",
        ",".join(map(str, np.flatnonzero(state.waiting))) or "-",
        ",".join(past) or "-",
    )
    return " ".join(f"{field}={value}" for field, value in zip(FIELDS, values, strict=True))


def parts(text: str) -> list[str]:
    return [] if text == "-" else text.split(",")


def read(tables: Tables, text: str) -> State:
    """ValueError says what is wrong."""
    words = dict(word.partition("=")[::2] for word in text.split(" "))
    if list(words) != FIELDS:
        raise ValueError(f"{text!r}: wanted the fields {' '.join(FIELDS)} in this order, each as field=value")
    scenario = tables.scenario
    regions = [region.id for region in scenario.regions]
    nations = [nation.id for nation in scenario.nations]

    def index(known: Any, name: str, what: str) -> int:
        if name not in known:
            raise ValueError(f"{name!r} is no {what}; there is {', '.join(known)}")
        return list(known).index(name)

    def whole(word: str, low: int, high: int, what: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", word) or not low <= int(word) <= high:
            raise ValueError(f"{what} is a number from {low} to {high}, not {word!r}")
        return int(word)

    def by_nation(field: str) -> np.ndarray:
        found = np.zeros(len(nations), np.int32)
        for part in parts(words[field]):
            name, _, value = part.partition(":")
            found[index(nations, name, "nation")] = whole(value, -9999, 9999, field)
        return found

    shape = tables.kind.shape
    region, hp, age = (np.full(shape, fill, np.int32) for fill in (-1, 0, 0))
    moved, picked = np.zeros(shape[1], bool), np.zeros(shape[1], bool)
    entry, crossed = np.full(shape[1], -1, np.int32), np.zeros(shape[1], np.int32)
    active = index(nations, words["nation"], "nation")
    for army in [] if words["pieces"] == "-" else words["pieces"].split(";"):
        name, _, pieces = army.partition(":")
        nation = index(nations, name, "nation")
        for piece in pieces.split(","):
            match = PIECE.fullmatch(piece)
            if not match:
                raise ValueError(f"{piece!r} is not a piece; write place@region.hits.age")
            place = whole(match[1], 0, len(tables.pieces[nation]) - 1, f"a place of {name}")
            region[nation, place] = index(regions, match[2], "region")
            hp[nation, place], age[nation, place] = int(match[3]), int(match[4])
            if nation == active:
                moved[place], picked[place] = bool(match[5]), bool(match[6])
                if match[7]:
                    entry[place] = index(regions, match[7], "region")
                    crossed[place] = index(BORDERS, match[8], "border")
    building = np.zeros(len(regions), np.int32)
    for part in parts(words["buildings"]):
        name, _, kind = part.partition(":")
        building[index(regions, name, "region")] = index(BUILDINGS, kind, "building")
    kills = np.zeros((len(nations),) * 2, np.int32)
    for part in parts(words["kills"]):
        pair, _, value = part.partition(":")
        killer, _, victim = pair.partition(">")
        kills[index(nations, killer, "nation"), index(nations, victim, "nation")] = whole(
            value, 0, 99, "kills"
        )
    suzerain = np.full(len(nations), -1, np.int32)
    for part in parts(words["vassals"]):
        vassal, _, lord = part.partition(">")
        suzerain[index(nations, vassal, "nation")] = index(nations, lord, "nation")
    waiting = np.zeros(len(tables.arrivals), bool)
    for part in parts(words["waiting"]):
        waiting[whole(part, 0, len(waiting) - 1, "waiting")] = True
    past = np.full((REMEMBERED, 3), -1, np.int32)
    tokens = [part.split("/") for part in parts(words["past"])]
    for number, token in enumerate(tokens):
        if len(token) != 3 or number >= REMEMBERED:
            raise ValueError(f"past: {'/'.join(token)!r} is not tile/units/battle, or there are too many")
        past[number] = [whole(one, -1, max(MASKS, len(regions)), "past") for one in token]
    phase = index(PHASES, words["phase"], "phase")
    fought = words["battle"]
    found: dict[str, Any] = dict(  # noqa: C408 (reads as the fields do)
        region=region,
        hp=hp,
        age=age,
        births=by_nation("births"),
        moved=moved,
        entry=entry,
        crossed=crossed,
        picked=picked,
        holder=holders(tables, region, active),
        building=building,
        points=by_nation("points"),
        vp=by_nation("vp"),
        kills=kills,
        suzerain=suzerain,
        waiting=waiting,
        round=whole(words["round"], 1, scenario.rounds, "the round"),
        nation=active,
        half=whole(words["half"], 1, 2, "the half"),
        phase=phase,
        battle=-1 if fought == "-" else index(regions, fought, "region"),
        combat=whole(words["combat"], 0, 99, "the combat round"),
        past=past,
        steps=len(tokens),
    )
    return narrow(State(**{name: jnp.asarray(value) for name, value in found.items()}))


def holders(tables: Tables, region: np.ndarray, active: int) -> np.ndarray:
    """int32[R]: who holds each region; where two nations stand, the one that is not on turn."""
    found = np.full(len(tables.on_map), -1, np.int32)
    for nation in (active, *(number for number in range(len(region)) if number != active)):
        units = region[nation][(region[nation] >= 0) & ~tables.leads[nation]]
        found[units[tables.on_map[units]]] = nation
    return found


def write_action(tables: Tables, action: int) -> str:
    tile, mask = divmod(action, MASKS)
    name = tables.scenario.regions[tile].id if tile < len(tables.on_map) else "none"
    slots = "".join(str(slot) for slot in range(SLOTS) if mask >> slot & 1)
    return f"{name}:{slots}" if slots else name


def read_action(tables: Tables, text: str) -> int:
    name, colon, slots = text.strip().lower().partition(":")
    known = [*(region.id for region in tables.scenario.regions), "none"]
    if name not in known:
        raise ValueError(f"{name!r} is no region; write tarraco, tarraco:02 or none")
    if colon and not re.fullmatch(f"[0-{SLOTS - 1}]+", slots):
        raise ValueError(f"{text!r}: slots are digits from 0 to {SLOTS - 1}, such as :02")
    return known.index(name) * MASKS + sum(1 << slot for slot in {int(one) for one in slots})
