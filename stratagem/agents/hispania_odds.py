"""Rough odds in Hispania: how hard forces hit, how long they last, and who is likely to be left.

A force wins over another by hits times endurance, as in Lanchester's square law, blurred by dice. No crossings.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.hispania.arrays import lookup
from stratagem.games.hispania.stacks import BITS, Row, codes_of, friends_of, slots_of
from stratagem.games.hispania.state import State
from stratagem.games.hispania.tables import Tables

TOUGH = 2.0  # how much longer a unit lasts that only a 6 can hurt
SHARPNESS = 1.5  # how sure the stronger side is to win
DANGER = 0.5  # how much of what may come does come


class Force(NamedTuple):
    """Some units; the arrays may have any shape."""

    attack: Any  # float32: hits a round when it attacks
    defence: Any  # float32: hits a round when it defends
    endurance: Any  # float32: hits that it takes to destroy it

    def __add__(self, other: "Force") -> "Force":  # type: ignore[override]
        return Force(*(a + b for a, b in zip(self, other, strict=True)))

    def each(self, change: Callable[[Array], Array]) -> "Force":
        return Force(*map(change, self))


class Stacks(NamedTuple):
    """The pieces of one nation by region and slot."""

    units: Array  # bool[R, 6]
    leaders: Array  # bool[R, 6]
    attack: Array  # int32[R, 6]: least die that hits
    defence: Array  # int32[R, 6]
    endurance: Array  # float32[R, 6]
    price: Array  # int32[R, 6]


def hit_chance(least: Array) -> Array:
    """A 6 always hits, a 1 never."""
    return jnp.clip((7.0 - least) / 6, 1 / 6, 5 / 6)


def lasting(tables: Tables, kind: Array, hp: Array) -> Array:
    tough = lookup(tables.of_unit("min_die"), kind) > 1
    return hp * jnp.where(tough, TOUGH, 1.0)


def stacks_of(tables: Tables, row: Row) -> Stacks:
    codes = codes_of(row, slots_of(row), len(tables.on_map))
    kind, hp = codes // 32 - 1, codes % 32 // 2
    leaders = (codes > 0) & (kind == tables.scenario.leader)
    units = (codes > 0) & ~leaders
    return Stacks(
        units=units,
        leaders=leaders,
        attack=lookup(tables.of_unit("attack"), kind),
        defence=lookup(tables.of_unit("defence"), kind),
        endurance=jnp.where(units, lasting(tables, kind, hp), 0.0),
        price=lookup(tables.of_unit("price"), kind),
    )


def obstacles(tables: Tables, state: State) -> Array:
    """int32[R]: what attackers lose on their dice."""
    walls = lookup(tables.of_building("defence"), state.building)
    return walls + tables.of_terrain("defence")


def groups_of(tables: Tables, state: State, stacks: Stacks) -> tuple[Force, Array]:
    """(forces [R, 64] of the groups of each region, whose attack is [R, 64, R], by where; whether they are led)."""
    bonus = tables.scenario.rules.leader_die_bonus
    led = (BITS & stacks.leaders[:, None]).any(axis=2)  # [R, 64]
    counts = (BITS & stacks.units[:, None]).astype(jnp.float32)  # [R, 64, 6]

    def sums(chances: Array) -> Array:
        return jnp.einsum("tmk,tkd->tmd", counts, chances)

    where = stacks.attack[..., None] + obstacles(tables, state)  # [R, 6, R]
    attack = jnp.where(led[..., None], sums(hit_chance(where - bonus)), sums(hit_chance(where)))
    plain, inspired = (hit_chance(stacks.defence - extra)[..., None] for extra in (0, bonus))
    defence = jnp.where(led, sums(inspired)[..., 0], sums(plain)[..., 0])
    return Force(attack, defence, sums(stacks.endurance[..., None])[..., 0]), led


def whole(force: Force) -> Force:
    """[R]: all pieces of each region, which attack it if they have to."""
    return Force(jnp.diagonal(force.attack[:, -1]), force.defence[:, -1], force.endurance[:, -1])


def enemies_of(tables: Tables, state: State, nation: Array) -> tuple[Force, Array, Array]:
    """(forces of all enemies by region [R], attacking open ground; units [R]; leaders [R])."""
    regions = jnp.arange(len(tables.on_map))
    hostile = ~friends_of(tables, state, nation)
    here = (state.region[..., None] == regions) & hostile[:, None, None]  # bool[N, S, R]
    leaders = (here & tables.leads[..., None]).sum(axis=(0, 1))
    units = here & ~tables.leads[..., None]
    kind = jnp.asarray(tables.kind)
    defence = lookup(tables.of_unit("defence"), kind)[..., None] - jnp.where(
        leaders > 0, tables.scenario.rules.leader_die_bonus, 0
    )
    attack = lookup(tables.of_unit("attack"), kind)[..., None]
    lasts = lasting(tables, kind, state.hp)[..., None]
    sums = [(units * one).sum(axis=(0, 1)) for one in (hit_chance(attack), hit_chance(defence), lasts)]
    return Force(*sums), units.sum(axis=(0, 1)), leaders


def victory(mine: Array, endurance: Array, theirs: Array, lasting: Array) -> Array:
    """The chance that a side with these hits a round and this endurance is left in the end."""
    ours, others = (mine * endurance) ** SHARPNESS, (theirs * lasting) ** SHARPNESS
    return ours / (ours + others + 1e-6)


def threats(tables: Tables, enemies: Force) -> Force:
    """[R]: what may come to each region: all from next door, less from two borders away."""
    near = np.where(tables.far == 1, 1.0, np.where(tables.far == 2, 0.4, 0.0)).astype(np.float32)
    return enemies.each(lambda part: part @ near)


def keeping(tables: Tables, state: State, force: Force, threat: Force) -> Array:
    """[…, R]: the chance that a force still holds a region when the threat has passed."""
    slope = hit_chance(5 + obstacles(tables, state)) / hit_chance(jnp.int32(5))
    stands = force.defence * force.endurance
    storm = DANGER * slope * threat.attack * threat.endurance
    return stands / (stands + storm + 1e-6)
