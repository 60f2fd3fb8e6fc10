"""The fast engine against the slow one, cell by cell and view by view, over 200,000 turns and more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core import play
from stratagem.games.generals import Generals
from stratagem.games.generals.board import (
    CAPPED,
    DRAW,
    NOBODY,
    army_of,
    clock_of,
    kind_of,
    new_state,
    owners,
)
from tests.games import generals_reference as slow

RESULTS = {None: NOBODY, 0: 0, 1: 1, "draw": DRAW, "cap": CAPPED}


def crowded_boards(rng, games, height, width, richest):
    """Positions in which much happens: cells of every kind and owner, armies of every size up to `richest`."""
    cells = height * width
    kind = rng.choice(4, (games, cells), p=[0.75, 0.15, 0.1, 0])
    owner = rng.choice(3, (games, cells), p=[0.3, 0.35, 0.35])
    army = np.where(rng.random((games, cells)) < 0.5, rng.integers(0, 4, (games, cells)), 0)
    army = np.where(rng.random((games, cells)) < 0.3, rng.integers(0, richest, (games, cells)), army)
    army = np.where((owner == 0) & (kind == slow.PLAIN), 0, army)
    places = np.stack([rng.choice(cells, 2, replace=False) for _ in range(games)])
    for seat in range(2):
        here = (np.arange(games), places[:, seat])
        kind[here], owner[here], army[here] = slow.GENERAL, seat + 1, rng.integers(1, richest, games)
    owner[kind == slow.MOUNTAIN] = 0
    army[kind == slow.MOUNTAIN] = 0
    turn = rng.integers(0, 120, games)
    return kind, owner, army, turn


def play_out(game, states, turns, key):
    """Both seats play random legal actions, now and then any action at all. Everything, turn by turn: [T, B]."""

    def turn(states, key):
        any_key, legal_key, which_key = jax.random.split(key, 3)
        games = states.turn.shape[0]
        legal = jax.vmap(game.legal)(states)
        points = jax.random.uniform(legal_key, (games, 2))
        proper = jnp.minimum(play.pick(legal, points), game.spec.actions - 1)
        anything = jax.random.randint(any_key, (games, 2), 0, game.spec.actions)
        actions = jnp.where(jax.random.uniform(which_key, (games, 2)) < 0.15, anything, proper)
        after = jax.vmap(game.step)(states, actions)
        views = jax.vmap(lambda one: jax.vmap(game.view, (None, 0))(one, jnp.arange(2)))(after)
        seen = {
            "kind": kind_of(after.cells),
            "owner": jax.vmap(owners)(after),
            "army": army_of(after.cells, clock_of(after)[:, None]),
            "winner": after.winner,
            "turn": after.turn,
            "look": views.look,
            "view_army": views.army,
            "land": views.land,
            "total": views.total,
            "legal": legal,
            "actions": actions,
        }
        return after, seen

    return jax.lax.scan(turn, states, jax.random.split(key, turns))


def compare(game, positions, rules, told):
    """Replay the actions slowly and compare; the number of turns that were played."""
    told = {name: np.asarray(part) for name, part in told.items()}
    count = 0
    for number, position in enumerate(positions):
        turns: list[dict] = []
        for turn in range(told["turn"].shape[0]):
            if position.result is not None:
                break
            allowed = slow.legal(position, rules)
            slow.step(position, told["actions"][turn, number], rules)
            views = [slow.view(position, seat) for seat in range(2)]
            turns.append(
                {
                    "legal": allowed.reshape(2, -1),
                    "kind": position.kind.ravel().copy(),
                    "owner": position.owner.ravel().copy(),
                    "army": position.army.ravel().copy(),
                    "turn": position.turn,
                    "winner": RESULTS[position.result],
                    "look": [types + 8 * holders for types, holders, _, _, _ in views],
                    "view_army": [army for _, _, army, _, _ in views],
                    "land": [land for _, _, _, land, _ in views],
                    "total": [total for _, _, _, _, total in views],
                }
            )
        count += len(turns)
        for name in turns[0]:
            expected = np.array([turn[name] for turn in turns])
            same = told[name][: len(turns), number] == expected
            assert same.all(), f"{name} of game {number}, turn {np.argwhere(~same)[0][0]}, {game.spec.title}"
    return count


@jax.jit
@jax.vmap
def boards_of(state):
    return kind_of(state.cells), owners(state), army_of(state.cells, clock_of(state))


def positions_of(states, shape):
    """The same positions, as the slow engine has them."""
    parts = [np.asarray(part) for part in boards_of(states)]
    return [
        slow.Position(
            *(part[game].reshape(shape).astype(int) for part in parts),
            generals=[divmod(int(cell), shape[1]) for cell in states.generals[game]],
            turn=int(states.turn[game]),
        )
        for game in range(states.turn.shape[0])
    ]


CROWDED = [  # height, width, games, turns, richest army, options; turns that must be played
    (2, 2, 1200, 20, 9, {}, 10_000),
    (3, 3, 1000, 30, 12, {"deathtouch": 60}, 12_000),
    (4, 4, 750, 60, 12, {}, 25_000),
    (5, 7, 600, 60, 20, {"build": True}, 25_000),
    (6, 6, 600, 80, 60, {"build": True, "deathtouch": 90}, 25_000),
    (8, 8, 650, 80, 30, {"deathtouch": 20}, 25_000),
    (12, 9, 320, 100, 30, {}, 25_000),
    (18, 21, 110, 120, 90, {"build": True, "deathtouch": 100}, 10_000),
    (24, 24, 100, 120, 40, {}, 10_000),
    (32, 32, 50, 120, 40, {}, 5_000),
]
MAPPED = [  # options; games, turns
    ({"width": 10, "height": 10, "apart": 6, "castles_from": 2, "castles_to": 4, "cap": 150}, 80, 160),
    (
        {"width": 9, "height": 12, "least": 6, "apart": 5, "build": True, "deathtouch": 120, "cap": 160},
        120,
        170,
    ),
]


def test_the_turns_add_up_to_two_hundred_thousand():
    on_maps = sum(games * min(turns, options["cap"]) * 0.98 for options, games, turns in MAPPED)
    assert sum(row[-1] for row in CROWDED) + on_maps >= 200_000


@pytest.mark.parametrize("row", CROWDED, ids=lambda row: f"{row[0]}x{row[1]}-{'-'.join(row[5]) or 'plain'}")
def test_fast_and_slow_agree_on_crowded_boards(row):
    height, width, games, turns, richest, options, expected = row
    game = Generals(height=height, width=width, cap=200, castles_from=0, castles_to=0, **options)
    object.__setattr__(game, "castles_to", height * width)  # crowded boards hold more castles than maps do
    kind, owner, army, turn = crowded_boards(
        np.random.default_rng(height * 100 + width), games, height, width, richest
    )
    parts = (jnp.asarray(part, jnp.int32) for part in (kind, owner, army, turn))
    states = jax.jit(jax.vmap(new_state, (0, 0, 0, 0, None)))(*parts, jnp.int32(NOBODY))
    rules = slow.Rules(cap=200, build=game.build, deathtouch=game.deathtouch)
    _, told = jax.jit(play_out, static_argnums=(0, 2))(game, states, turns, jax.random.key(height))
    played = compare(game, positions_of(states, game.shape), rules, told)
    assert played >= expected


@pytest.mark.parametrize(("options", "games", "turns"), MAPPED, ids=["plain", "variable-build-deathtouch"])
def test_fast_and_slow_agree_from_the_first_turn_of_a_map_to_the_cap(options, games, turns):
    game = Generals(**options)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(5), games))
    rules = slow.Rules(cap=game.cap, build=game.build, deathtouch=game.deathtouch)
    _, told = jax.jit(play_out, static_argnums=(0, 2))(game, states, turns, jax.random.key(6))
    played = compare(game, positions_of(states, game.shape), rules, told)
    assert played >= games * game.cap * 0.98  # nearly all get to the cap: random players do not meet
    assert bool((told["winner"][-1] == CAPPED).any())
