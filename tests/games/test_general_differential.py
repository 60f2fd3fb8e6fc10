"""The fast rules of GENERAL against the plain ones, turn by turn: states, legal actions, the odds of each outcome."""

from collections import Counter
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.games.general import General, State
from stratagem.games.general.board import pack
from tests.games.general_reference import GENERAL, MOAT, PASS, TOP_LEFT, Reference, number

ROUNDS, TURNS_A_ROUND = 8, 12_500  # 100,000 turns in all
GAMES = 96
GUARD_PLACES = sorted(MOAT)


@lru_cache
def compiled(game):
    """From State[B] and a key: the states State[T, B], what was done and what could have been, until all are over."""

    def turn(state, key):
        choose_key, step_key = jax.random.split(key)
        action = game.sample(state, jax.random.uniform(choose_key, (2,)))
        legal = jnp.packbits(game.legal(state), axis=-1)
        odds = game.outcomes(game.afterstate(state, action))
        stepped = game.step(state, action, step_key)
        facts = (state, action[0], legal, odds, game.done(state), game.returns(state))
        return jax.tree.map(lambda old, new: jnp.where(game.done(state), old, new), state, stepped), facts

    def play(state, key):
        return jax.lax.scan(turn, state, jax.random.split(key, game.spec.longest + 1))[1]

    return jax.jit(jax.vmap(play)), jax.jit(jax.vmap(game.init))


def sparse_game(game, rng):
    """A plain game that starts with few units anywhere, some rights used and some hits made."""
    plain = Reference(int(rng.integers(2)), game.turns)
    places = [(row, column) for row in range(10) for column in range(10) if (row, column) not in GENERAL]
    attackers, defenders = rng.integers(1, 7), rng.integers(0, 5)
    chosen = [places[i] for i in rng.permutation(len(places))[: attackers + defenders]]
    plain.board = dict.fromkeys(chosen[:attackers], "attacker") | dict.fromkeys(
        chosen[attackers:], "defender"
    )
    plain.hits = int(rng.integers(3))
    plain.turn = 2 * int(rng.integers(game.turns // 2))
    plain.may_garrison = {role for role in ("attacker", "defender") if rng.random() < 0.5}
    plain.may_storm = bool(rng.random() < 0.8)
    useful = plain.useful_dice()
    plain.die = int(rng.choice(useful)) if useful else None
    return plain


def as_arrays(plain):
    """The fast state of a plain game."""
    units = np.zeros((2, 100), bool)
    for cell, role in plain.board.items():
        units[int(role == "defender"), number(cell)] = True
    side = 0 if not plain.choices else 1 if plain.choices <= TOP_LEFT else 2
    return State(
        units=(units.reshape(2, 10, 10) << np.arange(10)).sum(axis=2).astype(np.uint16),
        attacker=np.int8(plain.attacker),
        turn=np.int16(plain.turn),
        die=np.int8(plain.die or 0),
        converting=np.int8(side),
        hits=np.int8(plain.hits),
        garrisoned=np.array([role not in plain.may_garrison for role in ("attacker", "defender")]),
        stormed=np.bool_(not plain.may_storm),
    )


def odds_of_dice(plain):
    """[7]: the chance of each die; of none at 0."""
    odds = np.zeros(7)
    useful = [] if plain.over() or plain.choices else plain.useful_dice()
    odds[useful or [0]] = 1 / max(len(useful), 1)
    return odds


def expected_odds(plain, guards):
    """[84]: by slot and die."""
    odds = np.zeros((12, 7))
    for guard in guards:
        role = plain.board.pop(guard)
        odds[GUARD_PLACES.index(guard)] = odds_of_dice(plain) / len(guards)
        plain.board[guard] = role
    if not guards:
        odds[0] = odds_of_dice(plain)
    return odds.ravel()


def follow(plain, game):
    """Play one recorded game again by the plain rules; returns what happened, counted."""
    states, actions, legals, odds, done, returns = game
    seen = Counter()
    for t in range(len(actions)):
        fast, wanted = jax.tree.map(lambda leaf, t=t: leaf[t], states), as_arrays(plain)
        for name, one, other in zip(State._fields, fast, wanted, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other), f"{name} in turn {t}"
        assert done[t] == plain.over()
        legal = np.unpackbits(legals[t], axis=-1, count=10_004)
        assert set(np.flatnonzero(legal[plain.mover()]).tolist()) == plain.legal()
        assert not legal[1 - plain.mover()].any()
        if plain.over():
            result = plain.result_for_attacker()
            assert returns[t][plain.attacker] == result == -returns[t][1 - plain.attacker]
            seen[{1: "stormed", -1: "cleared", 0: "drawn"}[result]] += 1
            break
        assert not returns[t].any()
        seen["turns"] += 1
        action, before = int(actions[t]), (plain.hits, set(plain.may_garrison), len(plain.board))
        choosing, attackers = bool(plain.choices), len(plain.units("attacker"))
        guards = plain.act(action)
        assert np.abs(odds[t] - expected_odds(plain, guards)).max() < 1e-6
        after = jax.tree.map(lambda leaf, t=t: leaf[t + 1], states)
        if guards:
            left = {cell for cell in guards if after.units[1][cell[0]] >> cell[1] & 1}
            (taken,) = guards - left
            del plain.board[taken]
        plain.die = int(after.die) or None
        seen["pass"] += action == PASS
        seen["choice"] += choosing
        seen["single conversion"] += (
            not choosing and len(plain.board) == before[2] and len(plain.units("attacker")) < attackers
        )
        seen["hit"] += plain.hits > before[0]
        seen["interception"] += bool(guards)
        seen["garrisoning"] += plain.may_garrison != before[1]
        seen["offensive"] += 4400 <= action < 4500
    return seen


SPECIAL = ("pass", "choice", "single conversion", "hit", "interception", "garrisoning", "offensive")


@pytest.mark.parametrize("part", range(ROUNDS))
def test_fast_rules_agree_with_the_plain_ones_in_every_turn(part):
    game = General() if part % 2 == 0 else General(turns=200)
    play, init = compiled(game)
    rng = np.random.default_rng(part)
    seen = Counter()
    while seen["turns"] < TURNS_A_ROUND:
        init_key, play_key = jax.random.split(jax.random.key(int(rng.integers(2**31))))
        opened = init(jax.random.split(init_key, GAMES))
        plains = [Reference(int(seat), game.turns) for seat in np.asarray(opened.attacker)]
        for plain, die in zip(plains, np.asarray(opened.die), strict=True):
            plain.die = int(die)
        plains[1::2] = [sparse_game(game, rng) for _ in plains[1::2]]
        starts = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(as_arrays, plains))
        games = jax.tree.map(np.asarray, play(starts, jax.random.split(play_key, GAMES)))
        for number_of, plain in enumerate(plains):
            seen += follow(plain, jax.tree.map(lambda leaf, g=number_of: leaf[g], games))
    assert all(seen[special] for special in (*SPECIAL, "stormed", "cleared", "drawn")), seen


def test_pack_and_the_plain_words_agree():
    cells = np.random.default_rng(0).random((5, 100)) < 0.3
    words = (cells.reshape(5, 10, 10) << np.arange(10)).sum(axis=2)
    assert np.array_equal(pack(jnp.asarray(cells)), words)
