"""The map in a terminal, and as an object for other screens. Host side only.

Every region is a line of text at its longitude and latitude: its name, who holds it, and what stands there.

    Tarraco[Ro]2L+    Rome holds it with two legions and a leader
    Saguntum#[Ca]3I   a city; three infantry of Carthage
    Ilerda[Ib]1I!Ro2L a battle: Rome attacks
"""

from typing import Any

import numpy as np

from stratagem.games.hispania.scenario import BUILDINGS, TERRAINS, Scenario
from stratagem.games.hispania.state import DEFEND, DONE
from stratagem.games.hispania.tables import Tables
from stratagem.games.hispania.text import PHASES

MARKS = ("", "^", "%", "#")  # none, fort, castle, city
STEPS = {
    "grow": "buys",
    "pick": "picks a group",
    "go": "sends it",
    "choose": "chooses a battle",
    "defend": "stands, retreats or submits",
    "attack": "goes on or retreats",
    "remove": "removes surplus units",
    "done": "the game is over",
}


def short_names(scenario: Scenario) -> list[str]:
    """Two letters a nation, each pair once."""
    found: list[str] = []
    for nation in scenario.nations:
        letters = [one for one in nation.name if one.isalpha()]
        pairs = [letters[0] + other.lower() for other in letters[1:]] + [
            f"{letters[0]}{n}" for n in range(10)
        ]
        found.append(next(pair for pair in pairs if pair not in found))
    return found


def stacks(tables: Tables, state: Any) -> list[dict[int, str]]:
    """By region: {nation: what it has there}, such as 2L1I+ with a + for each leader."""
    scenario = tables.scenario
    region = np.asarray(state.region)
    found: list[dict[int, str]] = [{} for _ in scenario.regions]
    for nation, row in enumerate(region):
        for place in sorted(set(row[row >= 0].tolist())):
            kinds = tables.kind[nation][row == place]
            counted = [(unit, int((kinds == number).sum())) for number, unit in enumerate(scenario.units)]
            words = [f"{count}{unit.name[0].upper()}" for unit, count in counted if count and not unit.leader]
            found[place][nation] = "".join(words) + "+" * sum(count for unit, count in counted if unit.leader)
    return found


def label(tables: Tables, state: Any, place: int, there: dict[int, str], names: list[str]) -> str:
    """One region in a few letters."""
    region = tables.scenario.regions[place]
    text = region.name + MARKS[int(state.building[place])]
    holder = int(state.holder[place])
    if holder >= 0:
        text += f"[{names[holder]}]{there.get(holder, '')}"
    mark = "!" if region.on_map else " "
    return text + "".join(f"{mark}{names[one]}{what}" for one, what in there.items() if one != holder)


def render(tables: Tables, state: Any, width: int = 110) -> str:
    """The whole position as lines of text."""
    scenario = tables.scenario
    names = short_names(scenario)
    there = stacks(tables, state)
    labels = [label(tables, state, place, there[place], names) for place in range(len(scenario.regions))]
    return "\n".join(
        [headline(tables, state), "", *lay_out(scenario, labels, width), "", *legend(tables, state, names)]
    )


def lay_out(scenario: Scenario, labels: list[str], width: int) -> list[str]:
    """Labels at their places; one that would cover another moves down a line."""
    pos = np.array([region.pos for region in scenario.regions])
    low, high = pos.min(axis=0), pos.max(axis=0)
    span = np.maximum(high - low, 1e-9)
    room = width - max(map(len, labels))
    columns = np.round((pos[:, 0] - low[0]) / span[0] * max(room, 1)).astype(int)
    rows = np.round((high[1] - pos[:, 1]) / span[1] * max(12, len(labels) * 0.6)).astype(int)
    lines: dict[int, str] = {}
    for place in np.lexsort((columns, rows)).tolist():
        row, column = int(rows[place]), max(0, int(columns[place]))
        while lines.get(row, "").ljust(column)[max(0, column - 1) : column + len(labels[place]) + 1].strip():
            row += 1
        line = lines.get(row, "").ljust(column)
        lines[row] = line[:column] + labels[place] + line[column + len(labels[place]) :]
    return [lines.get(row, "").rstrip() for row in range(max(lines) + 1)]


def headline(tables: Tables, state: Any) -> str:
    scenario = tables.scenario
    number, phase = int(state.round), int(state.phase)
    when = f"{scenario.title}: round {number} of {scenario.rounds} ({scenario.labels[number - 1]})"
    if phase == DONE:
        return f"{when}, {STEPS['done']}"
    nation = int(state.holder[int(state.battle)]) if phase == DEFEND else int(state.nation)
    half = ", Major Invasion" if int(state.half) == 2 else ""
    battle = f" at {scenario.regions[int(state.battle)].name}" if int(state.battle) >= 0 else ""
    one = scenario.nations[nation]
    return f"{when}{half}. {one.name} ({scenario.players[one.player][0]}) {STEPS[PHASES[phase]]}{battle}."


def legend(tables: Tables, state: Any, names: list[str]) -> list[str]:
    """Players with their points, and their nations."""
    scenario, vp = tables.scenario, np.asarray(state.vp)
    lines = []
    for seat, (name, _) in enumerate(scenario.players):
        own = [number for number, nation in enumerate(scenario.nations) if nation.player == seat]
        parts = []
        for number in own:
            held, lord = int((np.asarray(state.holder) == number).sum()), int(state.suzerain[number])
            alive = (np.asarray(state.region[number]) >= 0).any()
            tie = f", vassal of {names[lord]}" if lord >= 0 else ""
            facts = (
                f" {vp[number]} VP, {held} regions, {int(state.points[number])} points{tie}"
                if alive
                else " -"
            )
            parts.append(f"{names[number]} {scenario.nations[number].name}:{facts}")
        lines.append(f"{name} {int(vp[own].sum())} VP | " + " | ".join(parts))
    units = ", ".join(f"{unit.name[0].upper()} {unit.name}" for unit in scenario.units if not unit.leader)
    return [*lines, f"{units}, + leader; ^ fort, % castle, # city; ! attackers"]


def slots(tables: Tables, state: Any, nation: int) -> list[list[str]]:
    """By region: what a nation has in each slot, in words, such as "legion" or "legion, moved"."""
    region, kind = np.asarray(state.region)[nation], tables.kind[nation]
    hp, age = np.asarray(state.hp)[nation], np.asarray(state.age)[nation]
    moved = np.asarray(state.moved) & (nation == int(state.nation))
    rank = np.where(tables.leads[nation], 0, 1 + kind)
    found: list[list[str]] = [[] for _ in tables.scenario.regions]
    for piece in np.lexsort((age, moved, hp, rank)):  # as in `stacks.key_of`
        if region[piece] >= 0:
            name = tables.scenario.units[kind[piece]].name
            found[region[piece]].append(f"{name}, moved" if moved[piece] else name)
    return found


def menu(tables: Tables, nation: int) -> list[str]:
    """What a nation can buy, in the order of the menu."""
    found = []
    for unit, building, price in tables.menu[nation].tolist():
        if unit >= 0 or building > 0:
            name = tables.scenario.units[unit].name if unit >= 0 else BUILDINGS[building]
            found.append(f"{name} ({price})")
    return found


def draw(tables: Tables, state: Any) -> dict[str, Any]:
    """A JSON object with everything that a board on a screen shows."""
    scenario, there = tables.scenario, stacks(tables, state)
    battle, over = int(state.battle), int(state.phase) == DONE
    decider = int(state.holder[battle]) if int(state.phase) == DEFEND else int(state.nation)
    in_slots = [[] for _ in scenario.regions] if over else slots(tables, state, decider)
    regions = [
        {
            "id": region.id,
            "name": region.name,
            "pos": region.pos,
            "onMap": region.on_map,
            "terrain": TERRAINS[region.terrain],
            "worth": region.vp,
            "building": BUILDINGS[int(state.building[place])],
            "holder": int(state.holder[place]),
            "stacks": {scenario.nations[nation].id: what for nation, what in there[place].items()},
            "slots": in_slots[place],
        }
        for place, region in enumerate(scenario.regions)
    ]
    return {
        "kind": "hispania",
        "scenario": scenario.id,
        "headline": headline(tables, state),
        "round": int(state.round),
        "rounds": scenario.rounds,
        "phase": PHASES[int(state.phase)],
        "nation": scenario.nations[int(state.nation)].id,
        "decider": "" if over else scenario.nations[decider].id,
        "menu": [] if over else menu(tables, decider),
        "points": 0 if over else int(state.points[decider]),
        "battle": scenario.regions[battle].id if battle >= 0 else "",
        "nations": [{"id": one.id, "name": one.name, "player": one.player} for one in scenario.nations],
        "players": [name for name, _ in scenario.players],
        "regions": regions,
        "edges": [list(edge) for edge in scenario.edges],
        "vp": np.asarray(state.vp).tolist(),
    }
