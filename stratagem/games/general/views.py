"""What an agent sees of GENERAL, and the position that it shows."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.general.board import (
    ATTACKER,
    CELLS,
    DEFENDER,
    GARRISONS,
    GENERAL,
    MOAT,
    SIDE,
    TRIANGLES,
    pack,
    unpack,
)
from stratagem.games.general.options import choices
from stratagem.games.general.state import HITS_TO_WIN, State


def view(state: State, seat: Array, turns: int) -> Array:
    """float32[10, 10, 15].

    0 my units, 1 the opponent's, 2 the General, 3 ones if I am the Attacker, 4 ones if the opponent is, 5 whose
    ground it is (+1 mine, −1 the opponent's: garrisons and General), 6 die / 6, 7 hits / 3, 8 the moat,
    9 and 10 garrisoning still available to me and to the opponent, 11 the offensive still available,
    12 the units to choose from in a conversion, 13 turn / turns, 14 my seat.
    """
    role = (jnp.asarray(seat) ^ state.attacker).astype(jnp.int32)
    sign = jnp.where(role == ATTACKER, 1.0, -1.0)
    sets = jnp.stack([state.units[role], state.units[1 - role], GENERAL, MOAT, choices(state)])
    mine, others, general, moat, chosen_from = unpack(sets).astype(jnp.float32)
    ground = unpack(jnp.asarray(np.stack([GARRISONS[0], GARRISONS[1] | GENERAL]))).astype(jnp.float32)

    def everywhere(value: Array) -> Array:
        return jnp.full(CELLS, value, jnp.float32)

    planes = [
        mine,
        others,
        general,
        everywhere(role == ATTACKER),
        everywhere(role == DEFENDER),
        sign * (ground[0] - ground[1]),
        everywhere(state.die / 6),
        everywhere(state.hits / HITS_TO_WIN),
        moat,
        everywhere(~state.garrisoned[role]),
        everywhere(~state.garrisoned[1 - role]),
        everywhere(~state.stormed),
        chosen_from,
        everywhere(state.turn / turns),
        everywhere(seat),
    ]
    return jnp.stack(planes, axis=-1).reshape(SIDE, SIDE, len(planes))


def state_of(view: Array, turns: int) -> State:
    planes = view.reshape(CELLS, -1).T
    facts = planes[:, 0]
    role = facts[4].astype(jnp.int32)

    def whole(value: Array, kind: Any) -> Array:
        return jnp.round(value).astype(kind)

    sides = pack(planes[:2] > 0)[jnp.arange(2) ^ role]
    chosen_from = pack(planes[12] > 0)
    in_triangle = jnp.stack([(chosen_from & one).any() for one in TRIANGLES])
    return State(
        units=sides,
        attacker=(whole(facts[14], jnp.int32) ^ role).astype(jnp.int8),
        turn=whole(facts[13] * turns, jnp.int16),
        die=whole(facts[6] * 6, jnp.int8),
        converting=(in_triangle[0] + 2 * in_triangle[1]).astype(jnp.int8),
        hits=whole(facts[7] * HITS_TO_WIN, jnp.int8),
        garrisoned=(facts[9:11] == 0)[jnp.arange(2) ^ role],
        stormed=facts[11] == 0,
    )
