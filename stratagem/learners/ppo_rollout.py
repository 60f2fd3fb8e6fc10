"""Games played by the network against itself, many side by side, and what PPO has to know of them.

A lane is a game that is replaced by a new one when it ends. Every seat has its own memory and sees only its own views.
Guests may take some of the seats.
Records are kept small; the features that the network reads are made again when it learns.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from stratagem.core.game import Game, Truncating
from stratagem.learners.guests import Guest, guests_act
from stratagem.networks.judgements import value_of
from stratagem.networks.senses import Senses

Potential = Callable[[Any], Array]  # state -> float32[P]: how well each seat stands


class Lanes(NamedTuple):
    """Games under way."""

    state: Any  # [B]
    memory: Any  # [B, P]
    length: Array  # int32[B]: turns played
    stock: Any  # [M] first positions to start from, or None to make each anew
    guests: tuple[Any, ...] = ()  # the memories of each guest


class Turn(NamedTuple):
    """What happened in one turn of every lane; with T in front, in a rollout."""

    record: Any  # [B, P]: what each seat knew
    legal: Array  # uint8[B, P, A / 8]: eight actions a byte
    action: Array  # int32[B, P]
    chance: Array  # float32[B, P]: log-probability of the action
    value: Array  # float32[B, P]: what each seat expected
    moved: Array  # bool[B, P]: the seat was to move
    reward: Array  # float32[B, P]: for what the turn led to
    done: Array  # bool[B]: the game ended with this turn
    cut: Array  # bool[B]: it ended undecided, at the limit of turns
    length: Array  # int32[B]: turns of the game, this one included
    first: Array  # float32[B]: the result of the first seat if it ended
    led: Array | bool = False  # bool[B, P]: a guest has this seat


def start_lanes(
    game: Game, senses: Senses, lanes: int, stock: int, key: Array, guests: Sequence[Guest] = ()
) -> Lanes:
    """New games in all lanes."""
    made = jax.vmap(game.init)(jax.random.split(key, lanes + stock))
    states, kept = (
        jax.tree.map(lambda part: part[:lanes], made),
        jax.tree.map(lambda part: part[lanes:], made),
    )
    memory = spread(senses.blank(), (lanes, game.spec.seats))
    known = tuple(guest.blank() for guest in guests)
    return Lanes(states, memory, jnp.zeros(lanes, jnp.int32), kept if stock else None, known)


def restock(game: Game, lanes: Lanes, count: int, key: Array) -> Lanes:
    """With some of the first positions in stock made anew."""
    if lanes.stock is None or not count:
        return lanes
    place_key, make_key = jax.random.split(key)
    size = jax.tree.leaves(lanes.stock)[0].shape[0]
    places = jax.random.permutation(place_key, size)[: min(count, size)]
    made = jax.vmap(game.init)(jax.random.split(make_key, places.shape[0]))
    return lanes._replace(stock=jax.tree.map(lambda old, new: old.at[places].set(new), lanes.stock, made))


def rollout(
    game: Game,
    senses: Senses,
    network: Any,
    lanes: Lanes,
    steps: int,
    reward: Any,
    key: Array,
    guests: Sequence[Guest] = (),
) -> tuple[Lanes, Turn]:
    """`steps` turns in all lanes: (where they stand, Turn[T]). `reward` is made by `rewarding`."""
    turn = partial(one_turn, game, senses, network, reward, guests)
    return lax.scan(turn, lanes, jax.random.split(key, steps))


def one_turn(
    game: Game, senses: Senses, network: Any, reward: Any, guests: Sequence[Guest], lanes: Lanes, key: Array
) -> tuple[Lanes, Turn]:
    """Every seat that is to move draws from its policy, or does what its guest wants."""
    act_key, step_key, start_key = jax.random.split(key, 3)
    count = lanes.length.shape[0]
    memory, record, legal, moved = look(game, senses, lanes)
    action, chance, value = choose(game, senses, network, record, legal, moved, act_key)
    action, led, known = guests_act(
        game, guests, lanes.guests, lanes.state, legal, moved, action, jax.random.fold_in(act_key, 0)
    )

    memory = jax.vmap(jax.vmap(senses.note))(memory, jnp.where(moved, action, -1))
    reached = jax.vmap(game.step)(lanes.state, action, jax.random.split(step_key, count))
    done = jax.vmap(game.done)(reached)
    cut = jax.vmap(game.truncated)(reached) if isinstance(game, Truncating) else jnp.zeros(count, bool)
    length = lanes.length + 1
    turn = Turn(
        record=record,
        legal=jnp.packbits(legal, axis=-1),
        action=action,
        chance=chance,
        value=value,
        moved=moved,
        reward=jax.vmap(reward)(lanes.state, reached),
        done=done,
        cut=cut,
        length=length,
        first=jax.vmap(game.returns)(reached)[:, 0],
        led=led,
    )
    onward = Lanes(reached, memory, length, lanes.stock, known)
    return begin_anew(game, senses, onward, guests, done, start_key), turn


def begin_anew(
    game: Game, senses: Senses, lanes: Lanes, guests: Sequence[Guest], where: Array, key: Array
) -> Lanes:
    """With new games in some lanes, bool[B]."""
    count = lanes.length.shape[0]
    return Lanes(
        state=replaced(where, fresh_states(game, lanes.stock, count, key), lanes.state),
        memory=replaced(where, spread(senses.blank(), (count, game.spec.seats)), lanes.memory),
        length=jnp.where(where, 0, lanes.length),
        stock=lanes.stock,
        guests=tuple(
            replaced(where[guest.lanes], guest.blank(), memory)
            for guest, memory in zip(guests, lanes.guests, strict=True)
        ),
    )


def scattered(
    game: Game, senses: Senses, lanes: Lanes, guests: Sequence[Guest], age: Array, over: int, key: Array
) -> Lanes:
    """With the lanes held back whose turn to begin has not come, of iterations 0 to `over` − 1."""
    waits = jax.random.randint(jax.random.key(0), lanes.length.shape, 1, over + 1)
    return begin_anew(game, senses, lanes, guests, age < waits, key)


def look(game: Game, senses: Senses, lanes: Lanes) -> tuple[Any, Any, Array, Array]:
    """(Memory with the new views in it, records, bool[B, P, A] legal, bool[B, P] to move) of all seats."""
    seats = jnp.arange(game.spec.seats)
    views = jax.vmap(lambda state: jax.vmap(partial(game.view, state))(seats))(lanes.state)
    memory, record = jax.vmap(jax.vmap(senses.observe))(lanes.memory, views)
    return memory, record, jax.vmap(game.legal)(lanes.state), jax.vmap(game.to_move)(lanes.state)


def choose(
    game: Game, senses: Senses, network: Any, record: Any, legal: Array, moved: Array, key: Array
) -> tuple[Array, Array, Array]:
    """(int32 actions, float32 their log-probabilities, float32 values), all [B, P].

    Where seats move in turn only the one to move is asked, and its answer stands for all.
    """
    seats = moved.shape[1]
    if game.spec.dynamics != "simultaneous":
        mover = jnp.argmax(moved, axis=1)
        record, legal = jax.tree.map(lambda leaf: of_seat(leaf, mover), (record, legal))
    judged = judge(senses, network, record)
    chances = jax.vmap(jax.vmap(lambda one, mask: one.chances(mask)))(judged, legal)
    action = jax.random.categorical(key, chances).astype(jnp.int32)
    chance = jnp.take_along_axis(chances, action[..., None], axis=-1)[..., 0]
    told = (action, chance, value_of(judged.belief))
    return tuple(jnp.broadcast_to(leaf, (len(leaf), seats)) for leaf in told)  # type: ignore[return-value]


def of_seat(leaf: Array, seat: Array) -> Array:
    """[B, 1, …] from [B, P, …]: what is one seat's, which differs from lane to lane."""
    return jnp.take_along_axis(leaf, seat.reshape(-1, *[1] * (leaf.ndim - 1)), axis=1)


def judge(senses: Senses, network: Any, record: Any) -> Any:
    """What the network says of records [B, P]: a judgement of each."""
    return jax.vmap(jax.vmap(lambda one: network(senses.features(one))))(record)


class Goal(NamedTuple):
    """Whose margin counts, and for which part of the result."""

    margin: Potential
    share: float


def rewarding(
    game: Game, potential: Potential | None, share: Array | float, goal: Goal | None = None
) -> Callable[[Any, Any], Array]:
    """float32[P] from (state before, state after): the result, and a share of the gain in potential.

    With a goal, a part of the result is not who won but by how much. The potential of a finished game is zero, so
    that over a game all gains add up to minus that of its first state, whatever was played.
    """

    def reward(before: Any, after: Any) -> Array:
        result = game.returns(after)
        if goal is not None:
            margin = jnp.where(game.done(after), goal.margin(after), 0.0)
            result = (1 - goal.share) * result + goal.share * margin
        if potential is None:
            return result
        reached = jnp.where(game.done(after), 0.0, potential(after))
        return result + share * (reached - potential(before))

    return reward


def fresh_states(game: Game, stock: Any, count: int, key: Array) -> Any:
    """First positions [B], from the stock if there is one."""
    if stock is None:
        return jax.vmap(game.init)(jax.random.split(key, count))
    size = jax.tree.leaves(stock)[0].shape[0]
    places = jax.random.randint(key, (count,), 0, size)
    return jax.tree.map(lambda part: part[places], stock)


def spread(one: Any, shape: tuple[int, ...]) -> Any:
    """The same for every seat of every lane."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, shape + jnp.shape(leaf)), one)


def replaced(done: Array, fresh: Any, old: Any) -> Any:
    """`fresh` in the lanes that are done."""

    def choose(new: Array, kept: Array) -> Array:
        return jnp.where(done.reshape(-1, *[1] * (kept.ndim - 1)), new, kept)

    return jax.tree.map(choose, fresh, old)
