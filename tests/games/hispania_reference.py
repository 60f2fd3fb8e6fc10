"""Hispania, slowly: the rules read aloud over dictionaries and lists, as the oracle for the fast engine.

A game is one generator that follows the state machine of the rules; it stops at every decision. It reads the parsed
TOML table itself, so it shares nothing with the package. Regions and nations are numbers, as tokens need them.
"""

import itertools
import tomllib
from collections import Counter

NONE = None  # the tile of a token that names none
BUILDINGS = ("none", "fort", "castle", "city")


class Reference:
    """A game under way. `decision` is (kind, nation, legal tokens); a token is (tile or None, units mask)."""

    def __init__(self, table):
        self.rules, self.types, self.facts = table["rules"], table["unit"], table["scenario"]
        self.terrain, self.works = table["terrain"], table["building"]
        self.regions = table["map"]["regions"]
        self.nations = sorted(table["nation"], key=lambda nation: nation["order"])
        self.events_listed = table.get("event", [])
        self.unit_order = list(self.types)
        self.leader = next(name for name, unit in self.types.items() if unit["leader"])
        self.place = {region["id"]: number for number, region in enumerate(self.regions)}
        self.nation_number = {nation["id"]: number for number, nation in enumerate(self.nations)}
        self.borders = {number: {} for number in range(len(self.regions))}
        for a, b, *kind in table["map"]["edges"]:
            a, b = self.place[a], self.place[b]
            self.borders[a][b] = self.borders[b][a] = kind[0] if kind else "land"
        self.sea_next = {sea: set(zone["next"]) for sea, zone in table["sea"].items()}

        self.pieces = []
        self.births = Counter()
        self.building = [region["building"] for region in self.regions]
        self.points = Counter()
        self.vp = Counter()
        self.kills = Counter()  # (killer, victim): points scored for it
        self.suzerain = {}  # vassal: suzerain
        self.round, self.active, self.half, self.over = 0, 0, 1, False
        self.group, self.battle, self.combat = [], None, 0
        self.waiting = []
        for number, nation in enumerate(self.nations):
            for place, units in nation.get("setup", {}).items():
                for kind, count in units.items():
                    for _ in range(count):
                        self.born(number, kind, self.place[place])
            for line in nation.get("reinforce", []):
                self.waiting += self.tickets(number, line)
        self.decision = None
        self.machine = self.play()
        self.advance(None)

    @classmethod
    def from_file(cls, path):
        return cls(tomllib.loads(path.read_text(encoding="utf-8")))

    def step(self, token, dice=()):
        """Play a token; `dice` are the faces of the roll that follows, if one does: attackers, then defenders."""
        assert token in self.decision[2], (self.decision, token)
        self.dice = dice
        self.advance(token)

    def advance(self, token):
        try:
            self.decision = self.machine.send(token)
        except StopIteration:
            self.decision, self.over = None, True

    # -- Pieces -------------------------------------------------------------------------------------------------

    def tickets(self, nation, line):
        kinds = [kind for kind, count in line.get("units", {}).items() for _ in range(count)]
        if "leader" in line:
            kinds.append(self.leader)
        return [
            {
                "nation": nation,
                "kind": kind,
                "at": [self.place[one] for one in line["at"]],
                "round": line["round"],
                "leave": line["round"] + line.get("stay", 1) - 1,
                "uprising": line.get("uprising", False),
            }
            for kind in kinds
        ]

    def born(self, nation, kind, region, leave=None):
        self.pieces.append(
            {
                "nation": nation,
                "kind": kind,
                "region": region,
                "hp": self.types[kind]["hp"],
                "moved": False,
                "entry": None,
                "border": None,
                "age": self.births[nation],
                "leave": leave,
            }
        )
        self.births[nation] += 1

    def is_leader(self, piece):
        return self.types[piece["kind"]]["leader"]

    def on_map(self, region):
        return self.regions[region]["area"] != "Off-map"

    def all_at(self, region, nation):
        return [one for one in self.pieces if one["region"] == region and one["nation"] == nation]

    def units_at(self, region, nation):
        return [one for one in self.all_at(region, nation) if not self.is_leader(one)]

    def leaders_at(self, region, nation):
        return [one for one in self.all_at(region, nation) if self.is_leader(one)]

    def holders(self, region):
        """The nations with units in a region."""
        return sorted(
            {one["nation"] for one in self.pieces if one["region"] == region and not self.is_leader(one)}
        )

    def others(self, region, nation):
        return [one for one in self.holders(region) if one != nation]

    def controls(self, nation, region):
        return self.on_map(region) and self.holders(region) == [nation]

    def controlled(self, nation):
        return [region for region in range(len(self.regions)) if self.controls(nation, region)]

    def player(self, nation):
        return self.nations[nation]["player"]

    def friends(self, one, other):
        tied = self.suzerain.get(one) == other or self.suzerain.get(other) == one
        return self.player(one) == self.player(other) or tied

    def slots(self, region, nation):
        """The pieces in slot order."""
        return sorted(
            self.all_at(region, nation),
            key=lambda one: (
                not self.is_leader(one),
                self.unit_order.index(one["kind"]),
                one["hp"],
                one["moved"],
                one["age"],
            ),
        )

    def alike(self, one, other):
        return all(one[field] == other[field] for field in ("kind", "hp", "moved"))

    def picks(self, region, nation):
        """(mask, pieces) for every choice of pieces; of pieces alike the lower slots come first."""
        row = self.slots(region, nation)
        for size in range(1, len(row) + 1):
            for chosen in itertools.combinations(range(len(row)), size):
                skipped = any(
                    slot and slot - 1 not in chosen and self.alike(row[slot], row[slot - 1])
                    for slot in chosen
                )
                if not skipped:
                    yield sum(1 << slot for slot in chosen), [row[slot] for slot in chosen]

    # -- Stacking -----------------------------------------------------------------------------------------------

    def limit(self, region, nation, leader):
        """Units of one nation that may stand in an on-map region."""
        land = self.regions[region]
        limit = land.get("stack", self.terrain[land["terrain"]]["stack"])
        if self.building[region] != "none" and not self.others(region, nation):
            limit += self.works[self.building[region]]["stack"]
        return limit + (self.rules["leader_stack_bonus"] if leader else 0)

    def room(self, region, nation, units, leaders):
        """Whether so many units and leaders may be added."""
        if len(self.all_at(region, nation)) + units + leaders > self.rules["max_stack"]:
            return False
        if not self.on_map(region) or not units:
            return True
        leader = leaders > 0 or bool(self.leaders_at(region, nation))
        return len(self.units_at(region, nation)) + units <= self.limit(region, nation, leader)

    # -- The round ----------------------------------------------------------------------------------------------

    def play(self):
        for number in range(1, self.facts["rounds"] + 1):
            self.round = number
            self.events()
            self.place_tickets(lambda ticket: not ticket["uprising"])
            for nation in range(len(self.nations)):
                if self.takes_turn(nation):
                    yield from self.turn(nation)
            if self.round in self.facts["vp_rounds"]:
                self.count()
            self.clean_up()

    def events(self):
        for event in self.events_listed:
            if event["round"] != self.round:
                continue
            gone = self.nation_number[event.get("nation") or event.get("from")]
            leaving = sorted(
                (one for one in self.pieces if one["nation"] == gone), key=lambda one: one["age"]
            )
            self.pieces = [one for one in self.pieces if one["nation"] != gone]
            self.waiting = [ticket for ticket in self.waiting if ticket["nation"] != gone]
            self.points[gone] = 0
            self.suzerain = {v: s for v, s in self.suzerain.items() if gone not in (v, s)}
            if event["kind"] == "transform":
                to = self.nation_number[event["to"]]
                for piece in leaving:
                    kind = event["convert"].get(piece["kind"])
                    if kind and self.on_map(piece["region"]) and self.counters_left(to, kind):
                        self.born(to, kind, piece["region"])

    def counters_left(self, nation, kind):
        used = sum(one["nation"] == nation and one["kind"] == kind for one in self.pieces)
        return self.nations[nation]["quantity"].get(kind, 0) - used

    def alive(self, nation):
        one = self.nations[nation]
        return one["start"] <= self.round <= one.get("end", self.facts["rounds"])

    def place_tickets(self, chosen):
        """Arrivals, or the uprisings of one nation."""
        still = []
        for ticket in self.waiting:
            due = ticket["round"] <= self.round and self.alive(ticket["nation"]) and chosen(ticket)
            if not due or not self.place_ticket(ticket):
                still.append(ticket)
        self.waiting = still

    def place_ticket(self, ticket):
        """Whether the piece has arrived or is lost; else it waits."""
        nation, kind = ticket["nation"], ticket["kind"]
        leader = kind == self.leader
        if not leader and not self.counters_left(nation, kind):
            return True
        held = sorted(self.controlled(nation), key=lambda region: (-self.regions[region]["pop"], region))
        places = [place for place in ticket["at"] if self.takes(place, ticket)]
        places += [place for place in held if self.room(place, nation, not leader, leader)]
        if not places:
            return False
        self.born(nation, kind, places[0], ticket["leave"] if leader else None)
        return True

    def takes(self, place, ticket):
        nation, leader = ticket["nation"], ticket["kind"] == self.leader
        if self.on_map(place):
            others = self.others(place, nation)
            if others and not (ticket["uprising"] and not any(self.friends(nation, one) for one in others)):
                return False
            if leader and not self.units_at(place, nation):
                return False
        return self.room(place, nation, not leader, leader)

    def takes_turn(self, nation):
        rising = any(
            ticket["nation"] == nation and ticket["uprising"] and ticket["round"] <= self.round
            for ticket in self.waiting
        )
        return self.alive(nation) and (rising or any(one["nation"] == nation for one in self.pieces))

    def clean_up(self):
        self.pieces = [one for one in self.pieces if one["leave"] is None or one["leave"] > self.round]
        self.waiting = [
            ticket for ticket in self.waiting if ticket["kind"] != self.leader or ticket["leave"] > self.round
        ]
        for vassal, suzerain in list(self.suzerain.items()):
            held = len(self.controlled(suzerain))
            if held == 0 or held < len(self.controlled(vassal)):
                del self.suzerain[vassal]

    # -- The nation turn ----------------------------------------------------------------------------------------

    def own(self, nation):
        return [one for one in self.pieces if one["nation"] == nation]

    def turn(self, nation):
        self.active, self.half = nation, 1
        for piece in self.own(nation):
            piece["hp"] = self.types[piece["kind"]]["hp"]
        self.place_tickets(lambda ticket: ticket["uprising"] and ticket["nation"] == nation)
        self.points[nation] += self.income(nation)
        while self.purchases(nation):
            tile, units = yield "G", nation, self.growth_tokens(nation)
            if tile is NONE:
                break
            self.buy(nation, tile, self.nations[nation]["builds"][units.bit_length() - 1])
        self.points[nation] = min(self.points[nation], self.rules["carry_cap"])
        for self.half in (1, 2):
            if self.half == 2 and self.round not in self.nations[nation]["major_invasions"]:
                break
            self.rest(nation)
            yield from self.movement(nation)
            while self.battles(nation):
                tile, _ = yield "B", nation, {(region, 0) for region in self.battles(nation)}
                yield from self.fight(nation, tile)
        self.half = 1
        while self.surplus(nation) > 0:
            tile, mask = yield "O", nation, self.removals(nation)
            gone = dict(self.picks(tile, nation))[mask]
            self.pieces = [one for one in self.pieces if not any(one is other for other in gone)]
            self.house_leaders(nation)
        self.rest(nation)

    def rest(self, nation):
        """All pieces may move again."""
        for piece in self.own(nation):
            piece.update(moved=False, entry=None, border=None)

    # -- Growth -------------------------------------------------------------------------------------------------

    def harvest(self, nation):
        if self.round < self.nations[nation]["income_from"]:
            return 0
        total = 0
        for region in self.controlled(nation):
            total += self.regions[region]["pop"]
            if self.building[region] != "none":
                total += self.works[self.building[region]]["income"]
        return total

    def income(self, nation):
        total = self.harvest(nation)
        if nation in self.suzerain:
            total -= total // 2
        if self.round >= self.nations[nation]["income_from"]:
            total += sum(self.harvest(v) // 2 for v, s in self.suzerain.items() if s == nation)
        return total

    def purchases(self, nation):
        """{(region, menu slot): whether it is a unit}."""
        found = {}
        for slot, item in enumerate(self.nations[nation]["builds"]):
            unit = item in self.types
            price = (self.types if unit else self.works)[item]["price"]
            if price > self.points[nation]:
                continue
            for region in self.controlled(nation):
                if unit:
                    fine = self.counters_left(nation, item) > 0 and self.room(region, nation, 1, 0)
                else:
                    standing = sum(self.building[one] == item for one in self.controlled(nation))
                    free = standing < self.nations[nation]["quantity"][item]
                    here = self.building[region]
                    fine = free and (here == "none" or (here == "fort" and item != "fort"))
                if fine:
                    found[region, slot] = unit
        return found

    def growth_tokens(self, nation):
        found = self.purchases(nation)
        tokens = {(region, 1 << slot) for region, slot in found}
        return tokens if any(found.values()) else tokens | {(NONE, 0)}

    def buy(self, nation, region, item):
        if item in self.types:
            self.points[nation] -= self.types[item]["price"]
            self.born(nation, item, region)
        else:
            self.points[nation] -= self.works[item]["price"]
            self.building[region] = item
            self.vp[nation] += self.works[item]["built_vp"]

    # -- Movement -----------------------------------------------------------------------------------------------

    def movement(self, nation):
        first = True
        while first or self.movers(nation):
            tile, mask = yield "M1", nation, {(NONE, 0)} | set(self.movers(nation))
            if tile is NONE:
                break
            self.group = self.movers(nation)[tile, mask]
            ways = self.destinations(nation, self.group)
            tile, _ = yield "M2", nation, {(region, 0) for region in ways}
            entry, border = ways[tile]
            for piece in self.group:
                piece.update(region=tile, moved=True, entry=entry, border=border)
            self.group = []
            first = False

    def movers(self, nation):
        """{(origin, mask): group} for all groups that may move and have somewhere to go."""
        found = {}
        for origin in {one["region"] for one in self.own(nation)}:
            if origin in self.battles(nation):
                continue
            for mask, group in self.picks(origin, nation):
                free = not any(one["moved"] for one in group) and self.may_leave(nation, origin, group)
                if free and self.destinations(nation, group):
                    found[origin, mask] = group
        return found

    def may_leave(self, nation, origin, group):
        if not self.on_map(origin):
            return True
        units, leaders = self.units_at(origin, nation), self.leaders_at(origin, nation)
        gone_units = sum(not self.is_leader(one) for one in group)
        leaders_left = len(leaders) - (len(group) - gone_units)
        units_left = len(units) - gone_units
        if leaders_left and not units_left:
            return False
        before = max(0, len(units) - self.limit(origin, nation, bool(leaders)))
        after = max(0, units_left - self.limit(origin, nation, leaders_left > 0))
        return after <= before

    def destinations(self, nation, group):
        """{region: (entry, border)}."""
        origin = group[0]["region"]
        units = sum(not self.is_leader(one) for one in group)
        leaders = len(group) - units
        ways = self.reach(nation, group)
        found = {}
        for region, way in ways.items():
            friend = any(self.friends(nation, one) for one in self.others(region, nation))
            homeless = not units and not self.units_at(region, nation)
            if region == origin or not self.on_map(region) or friend or homeless:
                continue
            if self.room(region, nation, units, leaders):
                found[region] = way
        return found

    def reach(self, nation, group):
        """{region: (entry, border)} by the cheapest path, or by sea."""
        origin, leader = group[0]["region"], any(self.is_leader(one) for one in group)
        bonus = self.rules["leader_mp_bonus"] if leader else 0
        mp = min(self.types[one["kind"]]["mp"] + (0 if self.is_leader(one) else bonus) for one in group)
        arrivals = {}  # region: [(cost, not plain land, second-last region, border)]
        seen, queue = {(origin, 0)}, [(origin, 0)]
        while queue:
            here, spent = queue.pop()
            for there, border in self.borders[here].items():
                land = self.terrain[self.regions[there]["terrain"]]
                cost = spent + land["cost"]
                if (cost > mp and here != origin) or (here == origin and spent > 0):
                    continue
                arrivals.setdefault(there, []).append((cost, border != "land", here, border))
                stops = not leader and (land["stop"] or border == "strait")
                hostile = self.on_map(there) and any(
                    not self.friends(nation, one) for one in self.others(there, nation)
                )
                if not stops and not hostile and (there, cost) not in seen:
                    seen.add((there, cost))
                    queue.append((there, cost))
        ways = {region: min(found)[2:] for region, found in arrivals.items()}
        if self.nations[nation]["ships"]:
            for region in self.voyages(origin):
                ways.setdefault(region, (origin, "sea"))
        return ways

    def voyages(self, origin):
        zones = set(self.regions[origin]["seas"])
        if not self.rules["sea_range"]:
            return []
        for _ in range(self.rules["sea_range"] - 1):
            zones |= {other for zone in zones for other in self.sea_next[zone]}
        return [number for number, region in enumerate(self.regions) if zones & set(region["seas"])]

    # -- Battle -------------------------------------------------------------------------------------------------

    def battles(self, nation):
        return [
            region
            for region in range(len(self.regions))
            if self.on_map(region)
            and self.units_at(region, nation)
            and any(not self.friends(nation, one) for one in self.others(region, nation))
        ]

    def fight(self, nation, region):
        enemy = self.others(region, nation)[0]
        self.battle = region
        for self.combat in itertools.count(1):
            self.roll(nation, enemy, region)
            if not self.units_at(region, nation) or not self.units_at(region, enemy):
                break
            stand = {(NONE, 0)}
            ways = {(one, 0) for one in self.refuges(enemy, nation, region)}
            if self.may_submit(nation, enemy):
                ways.add((region, 0))
            tile = NONE
            if ways:
                tile, _ = yield "D", enemy, stand | ways
            if tile == region:
                self.submit(nation, enemy)
                break
            if tile is not NONE:
                self.withdraw(enemy, region, tile)
                break
            ways = {(one, 0) for one in self.returns(nation, region)}
            last = self.combat >= self.rules["max_battle_rounds"]
            if last and not ways:
                for piece in self.all_at(region, nation):
                    self.destroy(piece, enemy)
                break
            tile, _ = yield "A", nation, ways if last else ways | stand
            if tile is not NONE:
                self.withdraw(nation, region, tile)
                break
        works = self.building[region]
        if self.units_at(region, nation) and works != "none" and self.works[works]["captured"] == "razed":
            self.building[region] = "none"
        self.battle, self.combat = None, 0

    def roll(self, nation, enemy, region):
        land = self.regions[region]
        penalty = self.terrain[land["terrain"]]["defence"]
        if self.building[region] != "none":
            penalty += self.works[self.building[region]]["defence"]
        attackers = [one for one in self.slots(region, nation) if not self.is_leader(one)]
        defenders = [one for one in self.slots(region, enemy) if not self.is_leader(one)]
        bonus = self.rules["leader_die_bonus"]
        helped = bonus if self.leaders_at(region, nation) else 0
        inspired = bonus if self.leaders_at(region, enemy) else 0
        dice = iter(self.dice)
        hits, wounds = [], []
        for piece in attackers:
            crossing = self.combat == 1 and piece["border"] in ("river", "strait", "sea")
            die = next(dice)
            value = die + helped - penalty - (self.rules["crossing_penalty"] if crossing else 0)
            self.judge(die, value, self.types[piece["kind"]]["attack"], hits)
        for piece in defenders:
            die = next(dice)
            self.judge(die, die + inspired, self.types[piece["kind"]]["defence"], wounds)
        fallen = [(piece, nation) for piece in self.losses(defenders, hits)]
        fallen += [(piece, enemy) for piece in self.losses(attackers, wounds)]
        for piece, killer in fallen:
            self.destroy(piece, killer)
        for side, other in ((nation, enemy), (enemy, nation)):
            if not self.units_at(region, side):
                for piece in self.leaders_at(region, side):
                    self.destroy(piece, other if self.units_at(region, other) else None)

    def judge(self, die, value, strength, hits):
        if die == 6:
            hits.append(6)
        elif die != 1 and value >= strength:
            hits.append(max(1, min(6, value)))

    def losses(self, targets, hits):
        """The units that fall; the others keep their wounds."""
        for value in sorted(hits):
            standing = [
                one for one in targets if one["hp"] > 0 and self.types[one["kind"]]["min_die"] <= value
            ]
            if standing:
                struck = min(
                    standing,
                    key=lambda one: (
                        one["hp"] == self.types[one["kind"]]["hp"],
                        self.types[one["kind"]]["price"],
                        self.unit_order.index(one["kind"]),
                        one["age"],
                    ),
                )
                struck["hp"] -= 1
        return [one for one in targets if one["hp"] == 0]

    def destroy(self, piece, killer):
        self.pieces = [one for one in self.pieces if one is not piece]
        if killer is None:
            return
        if self.is_leader(piece):
            self.vp[killer] += self.rules["leader_kill_vp"]
            return
        victim = piece["nation"]
        most = self.nations[killer].get("foes", {}).get(self.nations[victim]["id"], 0)
        if self.kills[killer, victim] < most:
            self.kills[killer, victim] += 1
            self.vp[killer] += 1

    def refuge(self, region, nation, group):
        units = sum(not self.is_leader(one) for one in group)
        free = self.on_map(region) and not self.others(region, nation)
        return free and self.room(region, nation, units, len(group) - units)

    def refuges(self, enemy, nation, region):
        """Where the defender may retreat to."""
        entered = {one["entry"] for one in self.units_at(region, nation)}
        group = self.all_at(region, enemy)
        return [one for one in self.borders[region] if one not in entered and self.refuge(one, enemy, group)]

    def returns(self, nation, region):
        """Where the attacker may retreat to."""
        entries = {one["entry"] for one in self.units_at(region, nation)} - {None}
        group = self.all_at(region, nation)
        return [one for one in entries if self.refuge(one, nation, group)]

    def withdraw(self, nation, region, to):
        for piece in self.all_at(region, nation):
            piece.update(region=to, entry=None, border=None)

    # -- Submission ---------------------------------------------------------------------------------------------

    def may_submit(self, nation, enemy):
        tied = enemy in self.suzerain or enemy in self.suzerain.values()
        willing = self.nations[nation]["subdues"] and self.nations[enemy]["submits"]
        return self.rules["submission"] and willing and not tied

    def submit(self, nation, enemy):
        fields = [region for region in self.battles(nation) if self.units_at(region, enemy)]
        self.suzerain[enemy] = nation
        for region in fields:
            for piece in self.slots(region, nation):
                entry = piece["entry"]
                full = entry is None or len(self.all_at(entry, nation)) >= self.rules["max_stack"]
                if full or (self.on_map(entry) and self.others(entry, nation)):
                    self.rehouse(piece)
                else:
                    piece["region"] = entry
                piece.update(entry=None, border=None)
        self.house_leaders(nation)

    def rehouse(self, piece):
        """To the nearest controlled region below the hard cap, or out of the game."""
        nation = piece["nation"]
        far = self.distances(piece["region"])
        free = [
            region
            for region in self.controlled(nation)
            if len(self.all_at(region, nation)) < self.rules["max_stack"]
        ]
        if free:
            to = min(free, key=lambda region: (far.get(region, 999), region))
            piece.update(region=to, entry=None, border=None)
        else:
            self.pieces = [one for one in self.pieces if one is not piece]

    def distances(self, start):
        far, queue = {start: 0}, [start]
        for here in queue:
            for there in self.borders[here]:
                if there not in far:
                    far[there] = far[here] + 1
                    queue.append(there)
        return far

    def house_leaders(self, nation):
        for region in range(len(self.regions)):
            if self.on_map(region) and not self.units_at(region, nation):
                for piece in self.slots(region, nation):
                    self.rehouse(piece)

    # -- Overpopulation -----------------------------------------------------------------------------------------

    def surplus(self, nation):
        held = self.controlled(nation)
        units = sum(len(self.units_at(region, nation)) for region in held)
        return units - self.rules["overpopulation_factor"] * len(held)

    def removals(self, nation):
        return {
            (region, mask)
            for region in self.controlled(nation)
            for mask, group in self.picks(region, nation)
            if len(group) <= self.surplus(nation) and not any(self.is_leader(one) for one in group)
        }

    # -- Victory points -----------------------------------------------------------------------------------------

    def table_points(self, nation, held):
        """What the nation's own lines give for these regions in this round."""
        total = 0
        for line in self.nations[nation].get("vp", []):
            if self.round not in line["rounds"]:
                continue
            if "at" in line:
                matched = sum(self.regions[region]["id"] in line["at"] for region in held)
            else:
                matched = sum(self.regions[region]["area"] in line["areas"] for region in held)
            if "least" in line:
                total += line["vp"] if matched >= line["least"] else 0
            else:
                total += line["vp"] * matched
        return total

    def count(self):
        gained = {}
        for nation, facts in enumerate(self.nations):
            held = self.controlled(nation)
            total = self.table_points(nation, held)
            for region in held:
                total += self.regions[region].get("vp", 0)
                if self.building[region] != "none":
                    total += self.works[self.building[region]]["vp"]
            if self.place[facts["capital"]] in held:
                total += self.rules["capital_vp"]
            if nation in self.suzerain:
                total -= total // 2
            for vassal, suzerain in self.suzerain.items():
                if suzerain == nation:
                    total += self.table_points(nation, self.controlled(vassal)) // 2
            gained[nation] = total
        self.vp.update(gained)

    def scores(self):
        """Points by player."""
        totals = [0] * self.facts["players"]
        for nation in range(len(self.nations)):
            totals[self.player(nation)] += self.vp[nation]
        return totals

    def winners(self):
        held = [0] * self.facts["players"]
        for nation in range(len(self.nations)):
            held[self.player(nation)] += len(self.controlled(nation))
        ranks = list(zip(self.scores(), held, strict=True))
        return [rank == max(ranks) for rank in ranks]
