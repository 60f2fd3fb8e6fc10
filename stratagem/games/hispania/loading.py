"""Reading a scenario file: the fields one by one; `checks` then looks at the whole."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from stratagem.games.hispania.checks import check_whole
from stratagem.games.hispania.reading import BadScenario, Reader
from stratagem.games.hispania.scenario import (
    AREAS,
    BORDERS,
    BUILDINGS,
    LAND,
    MOST_PLAYERS,
    OFF_MAP,
    SEA,
    SLOTS,
    TERRAINS,
    Building,
    Event,
    Line,
    Nation,
    Region,
    Rules,
    Scenario,
    Terrain,
    UnitType,
    VpLine,
)

FOLDER = Path(__file__).parent / "scenarios"


def shipped() -> list[str]:
    """The scenarios that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def load(name: str) -> Scenario:
    """A shipped scenario by its name, or any other by the path of its file."""
    path = FOLDER / f"{name}.toml" if name in shipped() else Path(name)
    if not path.is_file():
        raise BadScenario(
            f"{name}: no such scenario; use the path of a TOML file, or one of {', '.join(shipped())}"
        )
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadScenario(
            f"{path.name}: not readable as TOML ({error}); mend the line that it names"
        ) from None
    return read_scenario(table, path.name)


def read_scenario(table: dict[str, Any], file: str) -> Scenario:
    """A scenario from parsed TOML; BadScenario says what is wrong, where, and what to do."""
    top = Reader(file, "", table)
    top.only("scenario", "player", "rules", "terrain", "building", "unit", "sea", "map", "nation", "event")
    facts = top.inner("scenario")
    facts.only("id", "title", "players", "rounds", "vp_rounds", "labels")
    rounds = facts.whole("rounds", 1, 100)
    numbers = range(1, rounds + 1)
    labels = facts.value("labels", list)
    facts.need(
        len(labels) == rounds and all(isinstance(one, str) for one in labels),
        "labels",
        f"has {len(labels)} entries for {rounds} rounds",
        "write one text a round",
    )
    players = read_players(top, facts.whole("players", 2, MOST_PLAYERS))
    rules = read_rules(top.inner("rules"))
    terrains = read_terrains(top.inner("terrain"))
    buildings = read_buildings(top.inner("building"))
    units = read_units(top.inner("unit"))
    seas = read_seas(top.inner("sea", {}))
    board = top.inner("map")
    board.only("regions", "edges")
    regions = read_regions(board, terrains, [sea[0] for sea in seas])
    edges = read_edges(board, [region.id for region in regions])
    nations = read_nations(top, rounds, len(players), units, regions)
    scenario = Scenario(
        id=facts.text("id"),
        title=facts.text("title"),
        rounds=rounds,
        vp_rounds=facts.wholes("vp_rounds", numbers, f"a round from 1 to {rounds}"),
        labels=tuple(labels),
        players=players,
        rules=rules,
        terrains=terrains,
        buildings=buildings,
        units=units,
        seas=seas,
        regions=regions,
        edges=edges,
        nations=nations,
        events=read_events(top, rounds, units, nations),
    )
    check_whole(scenario, top)
    return scenario


def read_players(top: Reader, number: int) -> tuple[tuple[str, str], ...]:
    rows = top.rows("player", least=2)
    top.need(
        len(rows) == number,
        "player",
        f"there are {len(rows)}, scenario.players says {number}",
        "make them agree",
    )
    for row in rows:
        row.only("name", "color")
    return tuple((row.text("name"), row.text("color")) for row in rows)


def read_rules(rules: Reader) -> Rules:
    rules.only(*Rules.__dataclass_fields__)
    return Rules(
        max_stack=rules.whole("max_stack", 1, SLOTS),
        overpopulation_factor=rules.whole("overpopulation_factor", 1, 20),
        carry_cap=rules.whole("carry_cap", 0, 99),
        leader_mp_bonus=rules.whole("leader_mp_bonus", 0, 5),
        leader_die_bonus=rules.whole("leader_die_bonus", 0, 5),
        leader_stack_bonus=rules.whole("leader_stack_bonus", 0, 5),
        crossing_penalty=rules.whole("crossing_penalty", 0, 5),
        max_battle_rounds=rules.whole("max_battle_rounds", 1, 50),
        sea_range=rules.whole("sea_range", 0, 20),
        submission=rules.value("submission", bool),
        leader_kill_vp=rules.whole("leader_kill_vp", 0, 20),
        capital_vp=rules.whole("capital_vp", 0, 20),
    )


def read_terrains(table: Reader) -> tuple[Terrain, ...]:
    table.only(*TERRAINS)
    found = []
    for name in TERRAINS:
        row = table.inner(name)
        row.only("cost", "stop", "stack", "defence")
        found.append(
            Terrain(
                row.whole("cost", 1, 9),
                row.value("stop", bool),
                row.whole("stack", 1, SLOTS),
                row.whole("defence", 0, 5),
            )
        )
    return tuple(found)


def read_buildings(table: Reader) -> tuple[Building, ...]:
    table.only(*BUILDINGS[1:])
    found = [Building(0, 0, 0, 0, 0, 0, False)]
    for name in BUILDINGS[1:]:
        row = table.inner(name)
        row.only("price", "defence", "stack", "income", "vp", "built_vp", "captured")
        found.append(
            Building(
                price=row.whole("price", 1, 60),
                defence=row.whole("defence", 0, 5),
                stack=row.whole("stack", 0, SLOTS),
                income=row.whole("income", 0, 20),
                vp=row.whole("vp", 0, 20),
                built_vp=row.whole("built_vp", 0, 20),
                razed=row.one_of("captured", ("kept", "razed")) == 1,
            )
        )
    return tuple(found)


def read_units(table: Reader) -> tuple[UnitType, ...]:
    found = []
    for name in table.table:
        row = table.inner(name)
        row.only("hp", "attack", "defence", "min_die", "mp", "price", "leader")
        leader = row.value("leader", bool)
        unit = UnitType(
            name=name,
            hp=row.whole("hp", 1, 8),
            attack=row.whole("attack", 0, 6),
            defence=row.whole("defence", 0, 6),
            min_die=row.whole("min_die", 1, 6),
            mp=row.whole("mp", 1, 9),
            price=row.whole("price", 0 if leader else 1, 60),
            leader=leader,
        )
        for field, strength in (("attack", unit.attack), ("defence", unit.defence)):
            remedy = "a leader rolls no die (0), all others hit on 2 to 6"
            row.need(strength == 0 if leader else strength >= 2, field, f"is {strength}", remedy)
        found.append(unit)
    table.need(
        sum(unit.leader for unit in found) == 1, "", "must have one leader", "write leader = true on one type"
    )
    table.need(2 <= len(found) <= 15, "", f"has {len(found)} types", "write 2 to 15")
    levels = {unit.min_die for unit in found if not unit.leader}
    table.need(
        len(levels) <= 3,
        "min_die",
        f"has {len(levels)} different values",
        "use at most three, so that dice can be listed",
    )
    return tuple(found)


def read_seas(table: Reader) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    known = list(table.table)
    found = []
    for sea in known:
        row = table.inner(sea)
        row.only("name", "next")
        nearby = row.some_of("next", known)
        for other in nearby:
            back = table.inner(known[other]).value("next", list)
            row.need(sea in back, "next", f"{known[other]} does not name {sea}", "name each other, both ways")
        row.need(known.index(sea) not in nearby, "next", "names itself", "name other zones")
        found.append((sea, row.text("name"), nearby))
    return tuple(found)


def read_regions(board: Reader, terrains: tuple[Terrain, ...], seas: list[str]) -> tuple[Region, ...]:
    found: list[Region] = []
    for row in board.rows("regions", "id", least=2):
        row.only("id", "name", "modern", "area", "terrain", "pop", "building", "seas", "pos", "vp", "stack")
        terrain = row.one_of("terrain", TERRAINS)
        pos = row.value("pos", list)
        good = len(pos) == 2 and all(isinstance(one, (int, float)) for one in pos)
        row.need(good, "pos", f"is {pos!r}", "write [longitude, latitude]")
        region = Region(
            id=row.text("id"),
            name=row.text("name"),
            modern=row.text("modern", ""),
            area=row.one_of("area", AREAS),
            terrain=terrain,
            pop=row.whole("pop", 0, 20),
            building=row.one_of("building", BUILDINGS),
            seas=row.some_of("seas", seas),
            pos=(float(pos[0]), float(pos[1])),
            vp=row.whole("vp", 0, 20, 0),
            stack=row.whole("stack", 1, SLOTS, terrains[terrain].stack),
        )
        row.need(
            region.id not in [one.id for one in found],
            "id",
            "is used twice",
            "give each region an id of its own",
        )
        for field in ("pop", "vp", "building"):
            empty = region.on_map or not getattr(region, field)
            row.need(empty, field, "an off-map box has none", 'write 0, or "none"')
        found.append(region)
    board.need(len(found) <= 120, "regions", f"has {len(found)} entries", "write at most 120")
    return tuple(found)


def read_edges(board: Reader, known: list[str]) -> tuple[tuple[int, int, int], ...]:
    found: list[tuple[int, int, int]] = []
    for number, edge in enumerate(board.value("edges", list), 1):
        field = f"edges[{number}]"
        shape = isinstance(edge, list) and len(edge) in (2, 3) and all(isinstance(one, str) for one in edge)
        board.need(shape, field, f"is {edge!r}", 'write ["a", "b"] or ["a", "b", "river"]')
        a, b = (board.index(field, one, known) for one in edge[:2])
        kind = board.index(field, edge[2], BORDERS[:SEA]) if len(edge) == 3 else LAND
        board.need(a != b, field, "joins a region to itself", "name two regions")
        double = any({a, b} == {c, d} for c, d, _ in found)
        board.need(not double, field, f"joins {edge[0]} and {edge[1]} a second time", "remove one of the two")
        found.append((a, b, kind))
    return tuple(found)


def read_nations(
    top: Reader, rounds: int, players: int, units: tuple[UnitType, ...], regions: tuple[Region, ...]
) -> tuple[Nation, ...]:
    rows = top.rows("nation", "id", least=1)
    ids = [row.text("id") for row in rows]
    for row, own in zip(rows, ids, strict=True):
        row.need(ids.count(own) == 1, "id", "is used twice", "give each nation an id of its own")
    for row in rows:
        row.whole("order", 1, len(rows))
    orders = [row.table["order"] for row in rows]
    for row, own in zip(rows, orders, strict=True):
        remedy = f"number the nations 1 to {len(rows)} without gaps"
        row.need(orders.count(own) == 1, "order", f"{own} is used twice", remedy)
    ordered = sorted(rows, key=lambda row: row.table["order"])
    known = [row.table["id"] for row in ordered]
    return tuple(read_nation(row, known, rounds, players, units, regions) for row in ordered)


def read_nation(
    row: Reader,
    known: list[str],
    rounds: int,
    players: int,
    units: tuple[UnitType, ...],
    regions: tuple[Region, ...],
) -> Nation:
    row.only(
        "order",
        "quantity",
        *(field for field in Nation.__dataclass_fields__ if field not in ("units", "buildings")),
    )
    places = [region.id for region in regions]
    soldiers = [unit.name for unit in units]
    start = row.whole("start", 1, rounds)
    end = row.whole("end", start, rounds, rounds)
    life = range(start, end + 1)
    lifetime = f"a round of its life ({start} to {end})"
    counters = soldiers + list(BUILDINGS[1:])
    quantity = dict(row.counts("quantity", counters))
    builds = row.some_of("builds", counters)
    row.need(len(builds) <= SLOTS, "builds", f"has {len(builds)} entries", f"list at most {SLOTS}")
    for item in builds:
        row.need(item in quantity, "builds", f"{counters[item]} has no counters", "add it to quantity")
    for item in quantity:
        leader = item < len(units) and units[item].leader
        row.need(not leader, "quantity", "leaders have no counters", "remove the leader")
    setup = row.inner("setup", {})
    placed = tuple(
        (setup.index(place, place, places), setup.counts(place, soldiers)) for place in setup.table
    )
    nation = Nation(
        id=row.text("id"),
        name=row.text("name"),
        player=row.whole("player", 0, players - 1),
        start=start,
        end=end,
        income_from=row.whole("income_from", 1, rounds + 1),
        ships=row.value("ships", bool),
        subdues=row.value("subdues", bool),
        submits=row.value("submits", bool),
        capital=row.one_of("capital", places),
        builds=tuple(
            ("unit", item) if item < len(units) else ("building", item - len(units) + 1) for item in builds
        ),
        units=tuple(quantity.get(number, 0) for number in range(len(units))),
        buildings=(0, *(quantity.get(len(units) + number, 0) for number in range(len(BUILDINGS) - 1))),
        major_invasions=row.wholes("major_invasions", life, lifetime),
        setup=placed,
        reinforce=tuple(read_line(line, life, lifetime, soldiers, places) for line in row.rows("reinforce")),
        vp=tuple(read_vp(line, life, lifetime, regions) for line in row.rows("vp")),
        foes=row.counts("foes", known, {}),
    )
    row.need(regions[nation.capital].on_map, "capital", "is off the map", "choose a region on the map")
    return nation


def read_line(line: Reader, life: range, lifetime: str, soldiers: list[str], places: list[str]) -> Line:
    line.only("round", "at", "units", "leader", "stay", "uprising")
    found = Line(
        round=line.value("round", int),
        at=line.some_of("at", places),
        units=line.counts("units", soldiers, {}),
        leader=line.text("leader", ""),
        stay=line.whole("stay", 1, 100, 1),
        uprising=line.value("uprising", bool, False),
    )
    line.need(found.round in life, "round", f"{found.round} is not {lifetime}", "choose another")
    line.need(bool(found.at), "at", "is empty", "name at least one region")
    line.need(bool(found.units or found.leader), "units", "nothing arrives", "add units or a leader")
    return found


def read_vp(line: Reader, life: range, lifetime: str, regions: tuple[Region, ...]) -> VpLine:
    line.only("rounds", "vp", "at", "areas", "least")
    both = ("at" in line.table) == ("areas" in line.table)
    line.need(not both, "at", "and areas: one of the two is needed", "write either at or areas")
    if "at" in line.table:
        pool = line.some_of("at", [region.id for region in regions])
    else:
        areas = line.some_of("areas", AREAS[:OFF_MAP])
        pool = tuple(number for number, region in enumerate(regions) if region.area in areas)
    line.need(bool(pool), "at", "names no region", "name at least one")
    for place in pool:
        line.need(
            regions[place].on_map, "at", f"{regions[place].id} is off the map", "name regions on the map"
        )
    return VpLine(
        rounds=line.wholes("rounds", life, lifetime),
        vp=line.whole("vp", 1, 50),
        regions=pool,
        least=line.whole("least", 1, len(pool)) if "least" in line.table else 0,
    )


def read_events(
    top: Reader, rounds: int, units: tuple[UnitType, ...], nations: tuple[Nation, ...]
) -> tuple[Event, ...]:
    found = []
    known, soldiers = [nation.id for nation in nations], [unit.name for unit in units]
    for row in top.rows("event"):
        transform = row.one_of("kind", ("withdraw", "transform")) == 1
        row.only("round", "kind", *(("from", "to", "convert") if transform else ("nation",)))
        convert = row.value("convert", dict) if transform else {}
        field = "from" if transform else "nation"
        event = Event(
            round=row.whole("round", 1, rounds),
            nation=row.one_of(field, known),
            to=row.one_of("to", known) if transform else -1,
            convert=tuple(
                (row.index("convert", old, soldiers), row.index("convert", new, soldiers))
                for old, new in convert.items()
            ),
        )
        gone = nations[event.nation]
        ended = gone.end == event.round - 1
        row.need(ended, field, f"{gone.id} ends in round {gone.end}", f"set its end to {event.round - 1}")
        if transform:
            to = nations[event.to]
            row.need(
                to.player == gone.player,
                "to",
                f"{to.id} has another player",
                "choose a nation of the same player",
            )
            row.need(
                to.start == event.round,
                "to",
                f"{to.id} starts in round {to.start}",
                f"set its start to {event.round}",
            )
            for _, new in event.convert:
                counters = to.units[new] > 0
                row.need(
                    counters,
                    "convert",
                    f"{to.id} has no counters of {soldiers[new]}",
                    "add them to its quantity",
                )
        found.append(event)
    return tuple(found)
