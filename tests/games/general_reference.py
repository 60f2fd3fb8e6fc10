"""GENERAL straight from its rules page, one cell at a time, without a thought for speed.

Cells are (row, column). Nothing here knows of the fast rules; chance is told what to do, or drawn by `random`.
"""

SIDE = 10
DIRECTIONS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]
GENERAL = {(4, 4), (4, 5), (5, 4), (5, 5)}
MOAT = {(row, column) for row in range(3, 7) for column in range(3, 7)} - GENERAL
TOP_LEFT = {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)}
TOP_RIGHT = {(row, 9 - column) for row, column in TOP_LEFT}
BOTTOM_LEFT = {(9 - row, column) for row, column in TOP_LEFT}
BOTTOM_RIGHT = {(9 - row, 9 - column) for row, column in TOP_LEFT}
GARRISON = {"attacker": TOP_LEFT | TOP_RIGHT, "defender": BOTTOM_LEFT | BOTTOM_RIGHT}
OTHER = {"attacker": "defender", "defender": "attacker"}
PASS = 10_000


def number(cell):
    return cell[0] * 10 + cell[1]


def cell_of(number):
    return divmod(number, 10)


class Reference:
    """A game under way."""

    def __init__(self, attacker, turns=300):
        self.attacker = attacker  # the seat
        self.turns = turns
        self.board = dict.fromkeys(GARRISON["attacker"], "attacker") | dict.fromkeys(
            GARRISON["defender"], "defender"
        )
        self.role = "attacker"
        self.turn = 0
        self.die = None
        self.choices = set()  # units among which the Defender must choose one to convert
        self.hits = 0
        self.may_garrison = {"attacker", "defender"}
        self.may_storm = True

    def units(self, role):
        return {cell for cell, owner in self.board.items() if owner == role}

    def over(self):
        return self.hits == 3 or not self.units("attacker") or self.turn >= self.turns

    def result_for_attacker(self):
        if self.hits == 3:
            return 1
        return -1 if not self.units("attacker") else 0

    def mover(self):
        """The seat whose turn it is."""
        return self.attacker if self.role == "attacker" else 1 - self.attacker

    # What is allowed.

    def destination(self, start, direction, die):
        """Where a unit gets in this direction, or None if it may not."""
        row, column = start
        for step in range(1, die + 1):
            row, column = row + direction[0], column + direction[1]
            if not (0 <= row < SIDE and 0 <= column < SIDE):
                return None
            if step < die and ((row, column) in self.board or (row, column) in GENERAL):
                return None
        if self.board.get((row, column)) == self.role:
            return None
        if (row, column) in GENERAL and self.role == "defender":
            return None
        return row, column

    def normal_moves(self, die):
        found = set()
        for start in self.units(self.role):
            for direction in DIRECTIONS:
                end = self.destination(start, direction, die)
                if end is not None:
                    found.add((start, end))
        return found

    def garrisonings(self, die):
        if die != 6 or self.role not in self.may_garrison:
            return set()
        forbidden = GENERAL | GARRISON["attacker"] | GARRISON["defender"] | set(self.board)
        free = [
            (row, column) for row in range(SIDE) for column in range(SIDE) if (row, column) not in forbidden
        ]
        return {(start, end) for start in self.units(self.role) & GARRISON[self.role] for end in free}

    def offensives(self, die):
        if die != 1 or self.role != "defender" or not self.may_storm or len(self.units("defender")) >= 3:
            return set()
        return self.units("attacker") & MOAT

    def allowed(self, die):
        """The actions that a die allows."""
        actions = {number(start) * 100 + number(end) for start, end in self.normal_moves(die)}
        actions |= {number(start) * 100 + number(end) for start, end in self.garrisonings(die)}
        return actions | {4400 + number(cell) for cell in self.offensives(die)}

    def useful_dice(self):
        return [die for die in range(1, 7)
                if self.normal_moves(die) or self.garrisonings(die) or self.offensives(die)]  # fmt: skip

    def legal(self):
        if self.over():
            return set()
        if self.choices:
            return {number(cell) * 101 for cell in self.choices}
        return self.allowed(self.die) if self.die else {PASS}

    # What happens.

    def act(self, action):
        """The mover's action. Returns the Defender units of which chance must take one, if any."""
        if self.choices:
            self.board[cell_of(action // 100)] = "defender"
            self.choices = set()
            self.end_turn()
            return set()
        guards = set()
        if action != PASS:
            start, end = cell_of(action // 100), cell_of(action % 100)
            if start in GENERAL:
                del self.board[end]
                self.may_storm = False
            else:
                guards = self.move(start, end)
        self.die = None
        if not self.choices:
            self.end_turn()
        return guards

    def move(self, start, end):
        if (start, end) not in self.normal_moves(self.die):
            self.may_garrison.remove(self.role)
        del self.board[start]
        if end in GENERAL:
            guards = self.units("defender") & MOAT
            if not guards:
                self.hits += 1
            return guards
        self.board[end] = self.role
        if self.role == "defender":
            for triangle in (TOP_LEFT, TOP_RIGHT):
                prisoners = self.units("attacker") & triangle
                if end in triangle and len(prisoners) == 1:
                    self.board[prisoners.pop()] = "defender"
                elif end in triangle:
                    self.choices = prisoners
        return set()

    def end_turn(self):
        self.turn += 1
        self.role = OTHER[self.role]

    # Chance on its own, for games without the fast rules.

    def roll(self, rng):
        """Roll until the die allows something; if no value does, there is none."""
        if self.over() or self.choices:
            return
        self.die = rng.randint(1, 6)
        if not self.allowed(self.die):
            useful = self.useful_dice()
            self.die = rng.choice(useful) if useful else None

    def random_turn(self, rng):
        """One step of random play."""
        guards = self.act(rng.choice(sorted(self.legal())))
        if guards:
            del self.board[rng.choice(sorted(guards))]
        self.roll(rng)
