"""Seeded maps: connected, with the generals far enough apart and with comparable room around each.

One attempt draws mountains, castles and generals in bits, and says whether they will do; attempts go on until one
does. All of it can be jitted and vmapped: a batch takes as many rounds as its unluckiest map. Where the wishes
cannot be met (tiny boards), they are eased a little after every `PATIENCE` attempts, so that it always ends.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.games.generals.board import (
    CASTLE,
    GENERAL,
    MOUNTAIN,
    NOBODY,
    PLAIN,
    State,
    above,
    below,
    cells_of_bits,
    left,
    new_state,
    right,
)

GARRISON, GARRISON_SPREAD = 40, 10  # a neutral castle holds 40 to 49
FAIR = 0.8  # the smaller room has at least this share of the larger one
POCKETS = 0.01  # the share of cells that random mountains cut off, which become mountains too
PATIENCE = 64


class Wishes(NamedTuple):
    """What a map should be like. Sides are drawn from `least` up to the board's."""

    shape: tuple[int, int]
    least: int
    mountains: tuple[float, float]
    castles: tuple[int, int]
    apart: int

    @property
    def reach(self) -> int:
        """The walk within which the room around a general is counted: up to half-way to the other."""
        return max(2, self.apart // 2)


class Attempt(NamedTuple):
    """A map that may or may not do."""

    kind: Array  # int32[H, W]
    generals: Array  # bool[P, H, W]
    good: Array  # bool


def generate(key: Array, wishes: Wishes) -> State:
    """A new game on a new map."""

    def again(carry: tuple[Array, Array, Attempt]) -> tuple[Array, Array, Attempt]:
        key, number, _ = carry
        key, attempt_key = jax.random.split(key)
        return key, number + 1, attempt(attempt_key, wishes, number // PATIENCE)

    map_key, garrison_key = jax.random.split(key)
    nothing = Attempt(
        jnp.zeros(wishes.shape, jnp.int32), jnp.zeros((2, *wishes.shape), bool), jnp.zeros((), bool)
    )
    start = (map_key, jnp.int32(0), nothing)
    _, _, found = lax.while_loop(lambda carry: ~carry[2].good, again, start)
    garrison = GARRISON + jax.random.randint(garrison_key, wishes.shape, 0, GARRISON_SPREAD)
    owner = jnp.where(found.generals[0], 1, jnp.where(found.generals[1], 2, 0))
    army = jnp.where(found.kind == CASTLE, garrison, (owner > 0).astype(jnp.int32))
    kind, owner, army = (part.reshape(-1).astype(jnp.int32) for part in (found.kind, owner, army))
    return new_state(kind, owner, army, jnp.int32(0), jnp.int32(NOBODY))


def attempt(key: Array, wishes: Wishes, ease: Array) -> Attempt:
    """One try; `ease` counts how often the wishes have been eased."""
    size_key, mountain_key, castle_key, first_key, second_key = jax.random.split(key, 5)
    height, width = wishes.shape
    sides_low = jnp.minimum(jnp.array([wishes.least, wishes.least]), jnp.array(wishes.shape))
    sides = jax.random.randint(size_key, (2,), sides_low, jnp.array(wishes.shape) + 1)
    inside = (jnp.arange(height)[:, None] < sides[0]) & (jnp.arange(width)[None, :] < sides[1])
    area = sides[0] * sides[1]

    count_key, place_key = jax.random.split(mountain_key)
    low, high = (jnp.ceil(wishes.mountains[0] * area), jnp.floor(wishes.mountains[1] * area))
    wanted = low + jnp.floor(jax.random.uniform(count_key) * (high - low + 1))
    scattered = jnp.maximum(0, jnp.round((wanted - POCKETS * area) * (1 - 0.1 * ease)))
    mountains = scatter(place_key, inside, scattered)

    ground = bits_of(inside & ~mountains)
    middle = nearest_to_middle(inside & ~mountains, sides)
    open_ground = flood(bits_of(middle), ground)  # what is cut off becomes mountain
    open_cells = cells_of_bits(open_ground, width)
    walled = area - open_cells.sum()
    dense = (ease > 0) | ((walled >= low) & (walled <= high))

    number_key, place_key = jax.random.split(castle_key)
    number = jax.random.randint(number_key, (), wishes.castles[0], wishes.castles[1] + 1)
    castles = scatter(place_key, open_cells, jnp.maximum(0, number - ease)) & open_cells
    plain = open_cells & ~castles
    plain_ground = bits_of(plain)

    first = one_of(first_key, plain)
    first_bits = bits_of(first)
    apart = jnp.maximum(1, wishes.apart - ease)
    near = walk(first_bits, open_ground, apart - 1)
    far = flood(first_bits, plain_ground) & ~near
    second = one_of(second_key, cells_of_bits(far, width))
    rooms = [
        lax.population_count(walk(seed, plain_ground, wishes.reach)).sum()
        for seed in (first_bits, bits_of(second))
    ]
    fair = jnp.minimum(*rooms) >= (FAIR - 0.1 * ease) * jnp.maximum(*rooms)
    kind = jnp.where(first | second, GENERAL, jnp.where(castles, CASTLE, jnp.where(plain, PLAIN, MOUNTAIN)))
    return Attempt(kind, jnp.stack([first, second]), dense & fair & second.any())


def bits_of(cells: Array) -> Array:
    """uint32[H] from bool[H, W], as one small reduction, which is quick to compile."""
    columns = jnp.arange(cells.shape[1], dtype=jnp.uint32)
    return (cells.astype(jnp.uint32) << columns).sum(axis=1, dtype=jnp.uint32)


def scatter(key: Array, among: Array, count: Array) -> Array:
    """bool[H, W]: `count` random cells among those given (all of them if there are no more)."""
    tickets = jnp.where(among, jax.random.uniform(key, among.shape), 2.0)
    ranked = jnp.sort(tickets.reshape(-1))
    last = ranked[jnp.clip(count.astype(jnp.int32) - 1, 0, ranked.size - 1)]
    return among & (tickets <= last) & (count > 0)


def one_of(key: Array, among: Array) -> Array:
    """bool[H, W]: one random cell among those given; none if there is none."""
    tickets = jnp.where(among, jax.random.uniform(key, among.shape), -1.0)
    return _only(jnp.argmax(tickets), among.shape) & among


def nearest_to_middle(among: Array, sides: Array) -> Array:
    """bool[H, W]: the cell among those given that is nearest to the middle."""
    rows, columns = jnp.arange(among.shape[0])[:, None], jnp.arange(among.shape[1])[None, :]
    distance = jnp.abs(2 * rows + 1 - sides[0]) + jnp.abs(2 * columns + 1 - sides[1])
    return _only(jnp.argmin(jnp.where(among, distance, 1000)), among.shape) & among


def _only(index: Array, shape: tuple[int, ...]) -> Array:
    return (jnp.arange(shape[0] * shape[1]) == index).reshape(shape)


def spread(cells: Array, ground: Array) -> Array:
    """These cells and all that one step from them reaches, in bits."""
    return (cells | above(cells) | below(cells) | left(cells) | right(cells)) & ground


def walk(cells: Array, ground: Array, steps: Array | int) -> Array:
    """What so many steps reach, in bits."""
    return lax.fori_loop(0, steps, lambda _, reached: spread(reached, ground), cells & ground)


def flood(cells: Array, ground: Array) -> Array:
    """All that any number of steps reaches, in bits."""

    def further(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        reached = spread(spread(pair[1], ground), ground)
        return reached, spread(spread(reached, ground), ground)

    start = (jnp.zeros_like(cells), cells & ground)
    return lax.while_loop(lambda pair: (pair[0] != pair[1]).any(), further, start)[1]


class Pool(NamedTuple):
    """Maps made in advance, for training that restarts games all the time."""

    states: State  # [M]

    def draw(self, key: Array) -> State:
        """One of them."""
        number = jax.random.randint(key, (), 0, self.states.turn.shape[0])
        return jax.tree.map(lambda part: part[number], self.states)


def make_pool(key: Array, wishes: Wishes, size: int) -> Pool:
    return Pool(jax.vmap(generate, (0, None))(jax.random.split(key, size), wishes))


def refresh(pool: Pool, key: Array, wishes: Wishes, count: int) -> Pool:
    """The pool with `count` of its maps, drawn at random, replaced by new ones."""
    place_key, map_key = jax.random.split(key)
    size = pool.states.turn.shape[0]
    places = jax.random.choice(place_key, size, (min(count, size),), replace=False)
    fresh = make_pool(map_key, wishes, min(count, size)).states
    return Pool(jax.tree.map(lambda old, new: old.at[places].set(new), pool.states, fresh))
