"""Generals, slowly: the rules page turned into plain Python, one sentence after the other.

Nothing here is shared with the fast engine. A position is a `Position` of NumPy grids that hold true armies.
"""

from dataclasses import dataclass

import numpy as np

PLAIN, MOUNTAIN, CASTLE, GENERAL = range(4)
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


@dataclass
class Position:
    kind: np.ndarray  # int[H, W]
    owner: np.ndarray  # int[H, W]: 0 neutral, 1, 2
    army: np.ndarray  # int[H, W]
    generals: list[tuple[int, int]]
    turn: int = 0
    result: str | int | None = None  # None, a seat, "draw" or "cap"


@dataclass
class Rules:
    cap: int = 1000
    build: bool = False
    deathtouch: int | None = None

    @property
    def per_cell(self) -> int:
        return 10 if self.build else 9


def step(position: Position, actions, rules: Rules) -> None:
    """One turn, in place."""
    kind, owner, army = position.kind, position.owner, position.army
    height, width = kind.shape
    orders = []  # (seat, source, target, half)
    for seat in range(2):
        cell, k = divmod(int(actions[seat]), rules.per_cell)
        source = divmod(cell, width)
        if k == 9:  # builds resolve before moves
            price = build_price(position, seat, source)
            if kind[source] == PLAIN and owner[source] == seat + 1 and army[source] >= price:
                army[source] -= price
                kind[source] = CASTLE
        elif k < 8:
            target = (source[0] + STEPS[k % 4][0], source[1] + STEPS[k % 4][1])
            if 0 <= target[0] < height and 0 <= target[1] < width:
                orders.append((seat, source, target, k >= 4))

    if len(orders) == 2 and goes_first(position, orders) == 1:
        orders.reverse()

    fallen = set()  # seats whose general fell
    for seat, source, target, half in orders:
        if owner[source] != seat + 1 or kind[target] == MOUNTAIN:
            continue
        units = army[source] // 2 if half else army[source] - 1
        if units < 1:
            continue
        onto_general = target == position.generals[1 - seat]
        army[source] -= units
        if owner[target] == seat + 1:
            army[target] += units
        elif units > army[target]:
            army[target] = units - army[target]
            owner[target] = seat + 1
            if onto_general:
                fallen.add(1 - seat)
        else:
            army[target] -= units
        if onto_general and rules.deathtouch is not None and position.turn >= rules.deathtouch:
            fallen.add(1 - seat)

    position.turn += 1
    if len(fallen) == 2:
        position.result = "draw"
    elif fallen:
        loser = fallen.pop()
        position.result = 1 - loser
        owner[owner == loser + 1] = 2 - loser
    else:
        if position.turn % 2 == 0:
            army[(owner > 0) & (kind >= CASTLE)] += 1
        if position.turn % 50 == 0:
            army[owner > 0] += 1
        if position.turn >= rules.cap:
            position.result = "cap"


def goes_first(position: Position, orders) -> int:
    """Which of two orders (of seat 0 and of seat 1) is applied first."""
    (_, source_0, target_0, _), (_, source_1, target_1, _) = orders
    chases = target_0 == source_1, target_1 == source_0
    if chases[0] != chases[1]:
        return chases.index(True)
    reinforces = position.owner[target_0] == 1, position.owner[target_1] == 2
    if reinforces[0] != reinforces[1]:
        return reinforces.index(True)
    return 1 if position.army[source_1] < position.army[source_0] else 0


def build_price(position: Position, seat: int, cell) -> int:
    price = 35
    for row, column in np.argwhere((position.owner == seat + 1) & (position.kind >= CASTLE)):
        price += max(0, 14 - 2 * (abs(row - cell[0]) + abs(column - cell[1])))
    return price


def legal(position: Position, rules: Rules) -> np.ndarray:
    """bool[P, H, W, per cell]"""
    height, width = position.kind.shape
    allowed = np.zeros((2, height, width, rules.per_cell), bool)
    if position.result is not None:
        return allowed
    walls = np.pad(position.kind == MOUNTAIN, 1, constant_values=True)
    for seat in range(2):
        able = (position.owner == seat + 1) & (position.army >= 2)
        for k, (down, across) in enumerate(STEPS):
            open_way = ~walls[1 + down : 1 + down + height, 1 + across : 1 + across + width]
            allowed[seat, :, :, k] = allowed[seat, :, :, k + 4] = able & open_way
        allowed[seat][position.generals[seat]][8] = True
        if rules.build:
            for row, column in np.argwhere((position.owner == seat + 1) & (position.kind == PLAIN)):
                dear = position.army[row, column] >= 35
                allowed[seat, row, column, 9] = dear and position.army[row, column] >= build_price(
                    position, seat, (row, column)
                )
    return allowed


def view(position: Position, seat: int):
    """(type, owner, army, land, total) as a seat sees them: the grids of the competition protocol."""
    height, width = position.kind.shape
    mine = np.pad(position.owner == seat + 1, 1)
    visible = np.zeros((height, width), bool)
    for down in range(3):
        for across in range(3):
            visible |= mine[down : down + height, across : across + width]
    structure = (position.kind == MOUNTAIN) | (position.kind == CASTLE)
    types = np.where(visible, position.kind + 1, np.where(structure, 5, 0))
    holders = np.where(position.owner == 0, 0, np.where(position.owner == seat + 1, 1, 2))
    land = [int((position.owner == one).sum()) for one in (seat + 1, 2 - seat)]
    total = [int(position.army[position.owner == one].sum()) for one in (seat + 1, 2 - seat)]
    return types, np.where(visible, holders, 0), np.where(visible, position.army, 0), land, total
