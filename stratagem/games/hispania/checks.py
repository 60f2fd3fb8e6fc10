"""What a scenario must be as a whole: the checks that need more than one field."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from stratagem.games.hispania.reading import Reader
from stratagem.games.hispania.scenario import Nation, Scenario


def check_whole(scenario: Scenario, top: Reader) -> None:
    """Raises BadScenario if the parts do not fit together."""
    check_rounds(scenario, top)
    check_stacks(scenario, top)
    check_map(scenario, top)
    taken: dict[int, str] = {}
    for nation in scenario.nations:
        row = Reader(top.file, f"nation[{nation.id}]", {})
        check_setup(scenario, nation, row, taken)
        check_arrivals(scenario, nation, row)
        check_points(scenario, nation, row)
        for foe, _ in nation.foes:
            enemy = scenario.nations[foe]
            fine = enemy.player != nation.player
            row.need(
                fine, f"foes.{enemy.id}", "is a nation of the same player", "name nations of other players"
            )


def check_rounds(scenario: Scenario, top: Reader) -> None:
    last = scenario.rounds in scenario.vp_rounds
    top.need(last, "scenario.vp_rounds", f"the last round, {scenario.rounds}, is not in it", "add it")


def check_stacks(scenario: Scenario, top: Reader) -> None:
    """A full stack must fit into the slots of a token."""
    rules = scenario.rules
    base = max(region.stack for region in scenario.regions)
    worst = base + max(one.stack for one in scenario.buildings) + rules.leader_stack_bonus + 1
    top.need(
        worst <= rules.max_stack,
        "rules.max_stack",
        f"a full stack may hold {worst} pieces, above {rules.max_stack}",
        "raise it (at most 6) or lower the stack numbers of terrain, regions, buildings or leaders",
    )


def check_map(scenario: Scenario, top: Reader) -> None:
    links: dict[int, set[int]] = {number: set() for number in range(len(scenario.regions))}
    for a, b, _ in scenario.edges:
        links[a].add(b)
        links[b].add(a)
    for a, one in enumerate(scenario.regions):
        links[a] |= {b for b, other in enumerate(scenario.regions) if set(one.seas) & set(other.seas)}
    cut = set(links) - reachable(0, links)
    names = ", ".join(scenario.regions[number].id for number in sorted(cut))
    first = scenario.regions[0].id
    top.need(not cut, "map.edges", f"{names} cannot be reached from {first}", "add borders or common seas")


def reachable(start: int, links: Mapping[int, Iterable[int]]) -> set[int]:
    seen, queue = {start}, deque([start])
    while queue:
        for other in links[queue.popleft()]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return seen


def stack_limit(scenario: Scenario, place: int) -> int:
    """Units that a region takes before the game, without a leader."""
    region = scenario.regions[place]
    return region.stack + scenario.buildings[region.building].stack


def check_setup(scenario: Scenario, nation: Nation, row: Reader, taken: dict[int, str]) -> None:
    total: Counter[int] = Counter()
    for place, units in nation.setup:
        region = scenario.regions[place]
        field = f"setup.{region.id}"
        row.need(region.on_map, field, "is off the map", "choose a region on the map")
        row.need(place not in taken, field, f"already belongs to {taken.get(place)}", "choose another region")
        taken[place] = nation.id
        for unit, number in units:
            total[unit] += number
        number, limit = sum(number for _, number in units), stack_limit(scenario, place)
        row.need(number > 0, field, "has no units", "add units or remove the region")
        row.need(number <= limit, field, f"has {number} units, its limit is {limit}", "place fewer")
    row.need(
        not total or nation.start == 1,
        "setup",
        f"the nation starts in round {nation.start}",
        "set start to 1",
    )
    allowed = scenario.rules.overpopulation_factor * len(nation.setup)
    row.need(
        total.total() <= allowed,
        "setup",
        f"{total.total()} units are overpopulated",
        f"place at most {allowed}",
    )
    for unit, number in total.items():
        name, counters = scenario.units[unit].name, nation.units[unit]
        row.need(
            not scenario.units[unit].leader, "setup", "leaders arrive, they are not set up", "use reinforce"
        )
        row.need(
            number <= counters, "setup", f"has {number} {name}, quantity has {counters}", "make them agree"
        )


def check_arrivals(scenario: Scenario, nation: Nation, row: Reader) -> None:
    born = {event.to for event in scenario.events}
    order = scenario.nations.index(nation)
    some = bool(nation.setup) or any(line.units for line in nation.reinforce) or order in born
    row.need(some, "reinforce", "the nation never has a unit", "add arrivals or a setup")
    boxes: Counter[tuple[int, int]] = Counter()
    for number, line in enumerate(nation.reinforce, 1):
        field = f"reinforce[{number}]"
        for unit, _ in line.units:
            name = scenario.units[unit].name
            known = nation.units[unit] > 0 and not scenario.units[unit].leader
            row.need(known, f"{field}.units", f"the nation has no counters of {name}", "add them to quantity")
        pieces = sum(count for _, count in line.units)
        boxes[line.round, line.at[0]] += pieces + bool(line.leader)
        on_map = [scenario.regions[place].on_map for place in line.at]
        row.need(
            all(on_map) or not line.uprising,
            f"{field}.at",
            "an uprising is on the map",
            "name regions on the map",
        )
        if all(on_map):
            room = sum(stack_limit(scenario, place) for place in line.at)
            row.need(
                pieces <= room, f"{field}.at", f"has room for {room} of {pieces} units", "name more regions"
            )
        elif not on_map[0]:
            way = leaves(scenario, nation, line.at[0])
            row.need(
                way, f"{field}.at", "there is no way out of this box", "add a border, or ships and a sea"
            )
    most = scenario.rules.max_stack
    for (when, place), count in boxes.items():
        box = scenario.regions[place]
        fits = count <= most or box.on_map
        row.need(
            fits, "reinforce", f"{count} pieces reach {box.id} in round {when}", f"send at most {most} there"
        )


def leaves(scenario: Scenario, nation: Nation, box: int) -> bool:
    """Whether pieces of the nation in this box can get on the map."""
    regions = scenario.regions
    borders = [(a, b) for a, b, _ in scenario.edges] + [(b, a) for a, b, _ in scenario.edges]
    outside = {number for number, region in enumerate(regions) if not region.on_map}
    links = {one: [b for a, b in borders if a == one and b in outside] for one in outside}
    joined = reachable(box, links)
    by_land = any(a in joined and b not in outside for a, b in borders)
    return by_land or (nation.ships and bool(regions[box].seas))


def check_points(scenario: Scenario, nation: Nation, row: Reader) -> None:
    for number, line in enumerate(nation.vp, 1):
        for when in line.rounds:
            counted = when in scenario.vp_rounds
            row.need(
                counted,
                f"vp[{number}].rounds",
                f"{when} is not in scenario.vp_rounds",
                "name a counted round",
            )
