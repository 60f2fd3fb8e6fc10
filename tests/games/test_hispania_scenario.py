"""Scenario files: the shipped ones are read, and a broken one is refused with the field and a remedy."""

import copy
import tomllib

import pytest

from stratagem.games.hispania.loading import FOLDER, load, read_scenario
from stratagem.games.hispania.reading import BadScenario

NAMES = ("iberia-small", "iberia-medium", "hispania")
TABLES = {name: tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")) for name in NAMES}


def region(table):
    return table["map"]["regions"][0]


def rome(table):
    return next(nation for nation in table["nation"] if nation["id"] == "rome")


def iberians(table):
    return next(nation for nation in table["nation"] if nation["id"] == "iberians")


def put(find, field, value):
    """A mutation that writes one field."""
    return lambda table: find(table).__setitem__(field, value)


def drop(find, field):
    return lambda table: find(table).pop(field)


def top(table):
    return table


def inside(*keys):
    def find(table):
        for key in keys:
            table = table[key]
        return table

    return find


def maroon(table):
    """Carthage has no ships, and no land leads out of Africa."""
    table["nation"][0]["ships"] = False
    table["map"]["edges"] = [
        edge for edge in table["map"]["edges"] if not {"africa", "mauretania"} & set(edge)
    ]


MUTATIONS = {
    "table missing": (drop(top, "rules"), "rules"),
    "table unknown": (put(top, "weather", {}), "weather"),
    "rounds a text": (put(inside("scenario"), "rounds", "five"), "scenario.rounds"),
    "rounds a truth": (put(inside("scenario"), "rounds", True), "scenario.rounds"),
    "no label for a round": (lambda t: t["scenario"]["labels"].pop(), "scenario.labels"),
    "last round not counted": (lambda t: t["scenario"]["vp_rounds"].pop(), "scenario.vp_rounds"),
    "count after the end": (lambda t: t["scenario"]["vp_rounds"].append(99), "scenario.vp_rounds"),
    "count twice": (lambda t: t["scenario"]["vp_rounds"].append(3), "scenario.vp_rounds"),
    "a player too few": (lambda t: t["player"].pop(), "player"),
    "five players": (put(inside("scenario"), "players", 5), "scenario.players"),
    "player without a name": (drop(inside("player", 0), "name"), "player[1].name"),
    "rule missing": (drop(inside("rules"), "carry_cap"), "rules.carry_cap"),
    "rule misspelt": (put(inside("rules"), "sea_rang", 2), "rules.sea_rang"),
    "rule negative": (put(inside("rules"), "crossing_penalty", -1), "rules.crossing_penalty"),
    "switch a number": (put(inside("rules"), "submission", 1), "rules.submission"),
    "stack above the slots": (put(inside("rules"), "max_stack", 7), "rules.max_stack"),
    "stack below a full one": (put(inside("rules"), "max_stack", 4), "rules.max_stack"),
    "terrain free": (put(inside("terrain", "clear"), "cost", 0), "terrain.clear.cost"),
    "terrain missing": (drop(inside("terrain"), "poor"), "terrain.poor"),
    "terrain unknown": (put(inside("terrain"), "swamp", {}), "terrain.swamp"),
    "building kept or not": (put(inside("building", "fort"), "captured", "maybe"), "building.fort.captured"),
    "building for nothing": (put(inside("building", "city"), "price", 0), "building.city.price"),
    "leader with a sword": (put(inside("unit", "leader"), "attack", 3), "unit.leader.attack"),
    "unit without a die": (put(inside("unit", "infantry"), "defence", 0), "unit.infantry.defence"),
    "unit that always hits": (put(inside("unit", "infantry"), "attack", 1), "unit.infantry.attack"),
    "die with seven": (put(inside("unit", "legion"), "min_die", 7), "unit.legion.min_die"),
    "unit without life": (put(inside("unit", "elite"), "hp", 0), "unit.elite.hp"),
    "unit without legs": (drop(inside("unit", "elite"), "mp"), "unit.elite.mp"),
    "no leaders": (drop(inside("unit"), "leader"), "unit"),
    "sea one way": (lambda t: t["sea"]["gallicum"]["next"].clear(), "sea.balearicum.next"),
    "sea unknown": (lambda t: t["sea"]["gallicum"]["next"].append("aral"), "sea.gallicum.next"),
    "region twice": (lambda t: t["map"]["regions"].append(dict(region(t))), ".id"),
    "region without terrain": (drop(region, "terrain"), ".terrain"),
    "region of lava": (put(region, "terrain", "lava"), ".terrain"),
    "region nowhere": (put(region, "area", "West"), ".area"),
    "region with a mill": (put(region, "building", "mill"), ".building"),
    "region on a lake": (put(region, "seas", ["lake"]), ".seas"),
    "region with half a place": (put(region, "pos", [1.0]), ".pos"),
    "people in a box": (put(inside("map", "regions", -1), "pop", 2), ".pop"),
    "region full of nobody": (put(region, "pop", -1), ".pop"),
    "border to nowhere": (lambda t: t["map"]["edges"].append(["tarraco", "roma"]), "map.edges"),
    "border with itself": (lambda t: t["map"]["edges"].append(["tarraco", "tarraco"]), "map.edges"),
    "border twice": (lambda t: t["map"]["edges"].append(["tarraco", "ilerda", "river"]), "map.edges"),
    "border of fire": (lambda t: t["map"]["edges"].append(["tarraco", "numantia", "fire"]), "map.edges"),
    "border of one": (lambda t: t["map"]["edges"].append(["tarraco"]), "map.edges"),
    "map in two": (lambda t: t["map"]["edges"].clear(), "map.edges"),
    "nation twice": (put(rome, "id", "carthage"), "nation[carthage].id"),
    "order twice": (put(rome, "order", 1), ".order"),
    "order with a gap": (put(rome, "order", 99), "nation[rome].order"),
    "nobody's nation": (put(rome, "player", 4), "nation[rome].player"),
    "capital in a box": (put(rome, "capital", "africa"), "nation[rome].capital"),
    "capital unknown": (put(rome, "capital", "atlantis"), "nation[rome].capital"),
    "builds the unknown": (put(rome, "builds", ["elephant"]), "nation[rome].builds"),
    "builds without counters": (put(rome, "builds", ["knight"]), "nation[rome].builds"),
    "builds twice": (put(rome, "builds", ["legion", "legion"]), "nation[rome].builds"),
    "counters of leaders": (lambda t: rome(t)["quantity"].update(leader=2), "nation[rome].quantity"),
    "counters below zero": (lambda t: rome(t)["quantity"].update(legion=-2), "nation[rome].quantity.legion"),
    "invades before it lives": (put(rome, "major_invasions", [1]), "nation[rome].major_invasions"),
    "ends before it starts": (put(rome, "end", 1), "nation[rome].end"),
    "starts after the end": (put(rome, "start", 99), "nation[rome].start"),
    "ships of wood": (put(rome, "ships", "wood"), "nation[rome].ships"),
    "setup in a box": (put(iberians, "setup", {"africa": {"infantry": 1}}), "setup.africa"),
    "setup of the unknown": (put(iberians, "setup", {"ilerda": {"elephant": 1}}), "setup"),
    "setup on another": (put(iberians, "setup", {"numantia": {"infantry": 1}}), "setup.numantia"),
    "setup overstacked": (put(iberians, "setup", {"ilerda": {"infantry": 4}}), "setup.ilerda"),
    "setup too late": (put(iberians, "start", 2), "nation[iberians].setup"),
    "arrival at an unknown place": (
        put(lambda t: rome(t)["reinforce"][0], "at", ["roma"]),
        "reinforce[1].at",
    ),
    "arrival nowhere": (put(lambda t: rome(t)["reinforce"][0], "at", []), "reinforce[1].at"),
    "arrival before it lives": (put(lambda t: rome(t)["reinforce"][0], "round", 1), "reinforce[1].round"),
    "arrival without counters": (
        put(lambda t: rome(t)["reinforce"][0], "units", {"knight": 1}),
        "reinforce[1].units",
    ),
    "arrival of nobody": (
        lambda t: rome(t)["reinforce"].append({"round": 3, "at": ["tarraco"], "units": {}}),
        "reinforce[",
    ),
    "arrival of too many": (
        put(lambda t: rome(t)["reinforce"][0], "units", {"legion": 6}),
        "nation[rome].reinforce",
    ),
    "arrival without a way out": (maroon, "nation[carthage].reinforce[1].at"),
    "uprising in a box": (put(lambda t: rome(t)["reinforce"][0], "uprising", True), "reinforce[1].at"),
    "leader without a stay": (put(lambda t: rome(t)["reinforce"][0], "stay", 0), "reinforce[1].stay"),
    "nation that never lives": (put(rome, "reinforce", []), "nation[rome].reinforce"),
    "points off the map": (put(lambda t: rome(t)["vp"][0], "at", ["africa"]), "vp[1].at"),
    "points by both": (put(lambda t: rome(t)["vp"][0], "areas", ["East"]), "vp[1].at"),
    "points for an impossible number": (put(lambda t: rome(t)["vp"][0], "least", 9), "vp[1].least"),
    "points outside the counts": (put(lambda t: rome(t)["vp"][0], "rounds", [4]), "vp[1].rounds"),
    "points for nothing": (put(lambda t: rome(t)["vp"][0], "vp", 0), "vp[1].vp"),
    "foe of the same player": (put(iberians, "foes", {"iberians": 2}), "foes.iberians"),
    "foe unknown": (put(iberians, "foes", {"gauls": 2}), "foes.gauls"),
    "event of a strange kind": (put(top, "event", [{"round": 3, "kind": "plague"}]), "event[1].kind"),
    "withdrawal without an end": (
        put(top, "event", [{"round": 3, "kind": "withdraw", "nation": "iberians"}]),
        "event[1].nation",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_unbroken_scenario_is_read(name):
    scenario = read_scenario(TABLES[name], f"{name}.toml")
    assert scenario == load(name)
    assert scenario.id == name
    assert [nation.id for nation in scenario.nations][:2] == ["carthage", "rome"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_broken_scenario_is_refused_by_field(name, mutation):
    table = copy.deepcopy(TABLES[name])
    change, field = MUTATIONS[mutation]
    change(table)
    with pytest.raises(BadScenario) as caught:
        read_scenario(table, "broken.toml")
    message = str(caught.value)
    assert message.startswith("broken.toml: ")
    assert field in message, message
    assert "; " in message, "a remedy follows"


def test_every_scenario_is_broken_in_more_than_thirty_ways():
    assert len(MUTATIONS) >= 30


def test_the_digest_follows_the_rules_and_not_the_comments(tmp_path):
    text = (FOLDER / "iberia-small.toml").read_text(encoding="utf-8")
    same, other = tmp_path / "same.toml", tmp_path / "other.toml"
    same.write_text("# a remark\n" + text, encoding="utf-8")
    other.write_text(text.replace("carry_cap             = 8", "carry_cap             = 9"), encoding="utf-8")
    assert load(str(same)).digest == load("iberia-small").digest
    assert load(str(other)).digest != load("iberia-small").digest


def test_a_file_that_is_not_toml_or_not_there_is_refused(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("[scenario", encoding="utf-8")
    with pytest.raises(BadScenario, match="not readable as TOML"):
        load(str(broken))
    with pytest.raises(BadScenario, match="no such scenario; use the path"):
        load("iberia-tiny")
