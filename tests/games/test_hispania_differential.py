"""The fast engine against the slow one, decision by decision, and the invariants of the rules.

Games of random tokens are recorded in batches; the reference then plays the same tokens and dice. The tests follow a
few games. `python -m tests.games.test_hispania_differential 1000 200 20` follows that many on each of the three maps.
"""

import copy
import sys
import time
import tomllib
from collections import Counter
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.core.play import pick
from stratagem.games.hispania.loading import FOLDER
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.scenario import BORDERS, BUILDINGS
from stratagem.games.hispania.state import DONE, GROW, REMOVE, ROLL
from tests.games.hispania_reference import Reference

KINDS = ("G", "M1", "M2", "B", "D", "A", "O")
GAMES = 16
CHUNK = 128  # decisions recorded in one call


def wild_table():
    """The small map with most switches in other positions, a transformation and an uprising."""
    table = tomllib.loads((FOLDER / "iberia-small.toml").read_text(encoding="utf-8"))
    table["rules"].update(
        overpopulation_factor=1,
        carry_cap=3,
        leader_mp_bonus=2,
        leader_die_bonus=0,
        crossing_penalty=2,
        max_battle_rounds=2,
        sea_range=1,
        submission=True,
        leader_kill_vp=3,
        capital_vp=0,
    )
    table["terrain"]["poor"]["cost"] = 3
    carthage, rome, iberians, celtiberians = table["nation"]
    carthage.update(subdues=True, builds=["infantry", "castle", "knight"])
    carthage["quantity"].update(castle=1, knight=3)
    rome.update(subdues=True, builds=["legion", "fort", "city"])
    rome["quantity"].update(city=2)
    iberians.update(submits=True, end=3)
    iberians["setup"] = {"ilerda": {"infantry": 1}, "tarraco": {"infantry": 1}, "valentia": {"infantry": 1}}
    iberians["vp"][0]["rounds"] = [3]
    celtiberians.update(submits=True)
    celtiberians["setup"] = {"numantia": {"infantry": 1}, "bilbilis": {"infantry": 1}}
    table["nation"].append(
        copy.deepcopy(iberians)
        | {
            "id": "vascones",
            "name": "Vascones",
            "order": 5,
            "start": 4,
            "end": 5,
            "income_from": 4,
            "setup": {},
            "quantity": {"infantry": 2, "knight": 3},
            "builds": ["knight"],
            "major_invasions": [5],
            "reinforce": [
                {
                    "round": 4,
                    "at": ["segobriga", "saltigi"],
                    "units": {"knight": 2},
                    "leader": "Inigo",
                    "stay": 2,
                    "uprising": True,
                }
            ],
            "vp": [{"rounds": [5], "areas": ["Center"], "vp": 4, "least": 2}],
            "foes": {"celtiberians": 1},
        }
    )
    table["event"] = [
        {
            "round": 4,
            "kind": "transform",
            "from": "iberians",
            "to": "vascones",
            "convert": {"infantry": "infantry"},
        }
    ]
    return table


def toml_of(value, name=""):
    """Enough of TOML to write a scenario: tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml_of(one) for one in value) + "]"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


@pytest.fixture(scope="session")
def wild(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenarios") / "wild.toml"
    table = wild_table()
    path.write_text("\n".join(f"{key} = {toml_of(value)}" for key, value in table.items()), encoding="utf-8")
    return Hispania(str(path)), table


def shipped(name):
    return Hispania(name), tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def record_chunk(game, states, key):
    """(states after CHUNK decisions, all that happened): states, legal tokens, actions, dice, whether dice rolled."""

    def turn(state, key):
        action_key, dice_key = jax.random.split(key)
        legal = game.choices(state)
        action = jnp.minimum(pick(legal.reshape(-1), jax.random.uniform(action_key)), game.spec.actions - 1)
        dice = jax.random.randint(dice_key, (2, 6), 1, 7)
        after = game.afterstate(state, jnp.full(game.spec.seats, action, jnp.int32))
        moved = game.fall(after, dice)
        stays = game.done(state)
        onward = jax.tree.map(lambda old, new: jnp.where(stays, old, new), state, moved)
        return onward, (state, legal, action, dice, after.state.phase == ROLL)

    def one(state, key):
        return jax.lax.scan(turn, state, jax.random.split(key, CHUNK))

    return jax.vmap(one)(states, jax.random.split(key, states.phase.shape[0]))


@lru_cache
def recorder(game):
    return jax.jit(partial(record_chunk, game))


def record(game, batch, seed):
    """Everything that happened in whole random games: trees of NumPy arrays with axes [B, T]."""
    states = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), game.init(jax.random.key(0))
    )
    chunks = []
    while True:
        seed_key = jax.random.fold_in(jax.random.key(seed), len(chunks))
        states, happened = recorder(game)(states, seed_key)
        chunks.append(jax.tree.map(np.asarray, happened))
        if (np.asarray(states.phase) == DONE).all():
            break
    last = jax.tree.map(lambda leaf: np.asarray(leaf)[:, None], states)
    happened = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *chunks)
    whole = jax.tree.map(lambda some, end: np.concatenate([some, end], axis=1), happened[0], last)
    return whole, *happened[1:]


# -- The two engines ----------------------------------------------------------------------------------------------


def pieces_of(game, state):
    """The pieces of the fast engine in the words of the slow one."""
    tables, names = game.tables, [unit.name for unit in game.content.units]
    found = []
    for nation, place in np.argwhere(state.region >= 0):
        active = nation == state.nation
        came = active and state.entry[place] >= 0
        found.append(
            (
                int(nation),
                int(state.age[nation, place]),
                names[tables.kind[nation, place]],
                int(state.region[nation, place]),
                int(state.hp[nation, place]),
                bool(active and state.moved[place]),
                int(state.entry[place]) if came else None,
                BORDERS[state.crossed[place]] if came else None,
                int(tables.leaves[nation, place]) if tables.leads[nation, place] else None,
            )
        )
    return sorted(found, key=lambda piece: piece[:2])


def slow_pieces(slow):
    fields = ("nation", "age", "kind", "region", "hp", "moved", "entry", "border", "leave")
    return sorted((tuple(one[field] for field in fields) for one in slow.pieces), key=lambda piece: piece[:2])


def slow_holders(slow):
    found = []
    for region in range(len(slow.regions)):
        there = slow.holders(region) if slow.on_map(region) else []
        there = [one for one in there if one != slow.active] or there
        found.append(there[0] if there else -1)
    return found


def assert_same(game, slow, state, legal):
    nations = range(len(slow.nations))
    assert pieces_of(game, state) == slow_pieces(slow)
    assert state.holder.tolist() == slow_holders(slow)
    assert [BUILDINGS[one] for one in state.building] == slow.building
    assert state.points.tolist() == [slow.points[nation] for nation in nations]
    assert state.vp.tolist() == [slow.vp[nation] for nation in nations]
    assert {(a, b): state.kills[a, b] for a, b in np.argwhere(state.kills)} == +slow.kills
    assert {n: state.suzerain[n] for n in nations if state.suzerain[n] >= 0} == slow.suzerain
    assert state.waiting.sum() == len(slow.waiting)
    assert (state.phase == DONE) == slow.over
    if not slow.over:
        kind, nation, tokens = slow.decision
        assert (KINDS[state.phase], state.round, state.half, state.nation) == (
            *(kind, slow.round, slow.half, slow.active),
        )
        assert nation == (state.holder[state.battle] if kind == "D" else state.nation)
        wanted = {((game.regions if tile is None else tile) * 64 + mask) for tile, mask in tokens}
        assert set(np.flatnonzero(legal.reshape(-1)).tolist()) == wanted


def follow(game, table, states, legal, actions, dice, rolled):
    """Play one recorded game with the reference; counts what was seen."""
    slow = Reference(table)
    seen = Counter()
    for turn in range(len(states.phase)):
        state = jax.tree.map(lambda leaf, turn=turn: leaf[turn], states)
        assert_same(game, slow, state, legal[turn] if turn < len(legal) else None)
        if slow.over:
            break
        kind = slow.decision[0]
        tile, mask = divmod(int(actions[turn]), 64)
        token = (None if tile == game.regions else tile, mask)
        faces = dice[turn]
        if kind in "BA":
            field = tile if kind == "B" else slow.battle
            attackers = len(slow.units_at(field, slow.active))
            faces = np.concatenate([dice[turn, 0, :attackers], dice[turn, 1]])
            assert rolled[turn] == (kind == "B" or token[0] is None)
        seen[kind] += 1
        seen["submission"] += kind == "D" and tile == slow.battle
        ties = len(slow.suzerain)
        slow.step(token, faces.reshape(-1).tolist())
        seen["end of a tie"] += len(slow.suzerain) < ties
        seen["crossing"] += any(one["border"] in ("river", "strait", "sea") for one in slow.pieces)
    seen["decisions"] = turn
    winners = slow.winners()
    final = jax.tree.map(lambda leaf: jnp.asarray(leaf[-1]), states)
    won = np.asarray(game.returns(final)) > 0
    assert won.tolist() == [one and not all(winners) for one in winners]
    assert np.asarray(game.scores(final)).tolist() == slow.scores()
    return seen


def compare(game, table, batch, seed):
    states, legal, actions, dice, rolled = record(game, batch, seed)
    seen = Counter()
    for number in range(batch):
        own = jax.tree.map(lambda leaf, number=number: leaf[number], states)
        seen += follow(game, table, own, legal[number], actions[number], dice[number], rolled[number])
    return seen


def test_engines_agree_under_other_rules_than_the_shipped_ones(wild):
    seen = compare(*wild, batch=GAMES, seed=1)
    assert all(seen[kind] for kind in (*KINDS, "submission", "end of a tie", "crossing")), seen


def test_engines_agree_on_the_full_map():
    seen = compare(*shipped("hispania"), batch=1, seed=1)
    assert all(seen[kind] for kind in (*KINDS, "crossing")), seen


# -- Invariants (section 16 of the rules) -------------------------------------------------------------------------


def units_by_region(game, states):
    """int[…, N, R]: units; and the same for leaders."""
    here = states.region[..., None] == np.arange(game.regions)
    leads = game.tables.leads[..., None]
    return (here & ~leads).sum(axis=-2), (here & leads).sum(axis=-2)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_invariants_hold_after_every_legal_token(wild, seed):
    game, _ = wild
    tables, scenario = game.tables, game.content
    states, legal, actions, *_ = record(game, GAMES, seed)
    units, leaders = units_by_region(game, states)
    assert (units + leaders).max() <= scenario.rules.max_stack
    nations_here = (units > 0).sum(axis=-2)[..., tables.on_map]  # [B, T, R]
    assert nations_here.max() <= 2
    rising = np.isin(states.nation, [one.nation for one in tables.arrivals if one.uprising])
    quiet = ((states.phase == GROW) & ~rising) | (states.phase == REMOVE) | (states.phase == DONE)
    assert nations_here[quiet].max() <= 1
    alone = (leaders > 0) & (units == 0) & tables.on_map
    assert not alone.any()

    held = states.holder[..., None, :] == np.arange(len(scenario.nations))[:, None]
    fed = (units * held).sum(-1) <= scenario.rules.overpopulation_factor * held.sum(-1)
    changed = (states.nation[:, 1:] != states.nation[:, :-1]) & (states.round[:, 1:] == states.round[:, :-1])
    game_of, turn = np.nonzero(changed)
    assert fed[game_of, turn + 1, states.nation[game_of, turn]].all()

    for event in scenario.events:
        assert not (states.region[states.round >= event.round][:, event.nation] >= 0).any()
    player = tables.of_nation("player")
    fought = states.battle >= 0
    enemy = np.take_along_axis(states.holder, np.maximum(states.battle, 0)[..., None], axis=-1)[..., 0]
    attacker = states.nation
    assert (player[attacker] != player[enemy])[fought].all()
    lord = np.take_along_axis(states.suzerain, enemy[..., None].astype(int), axis=-1)[..., 0]
    assert (lord != attacker)[fought].all()
    own = np.take_along_axis(states.region, attacker[..., None, None].astype(int), axis=-2)[..., 0, :]
    assert tables.on_map[own[states.entry >= 0]].all(), "who moved stands on the map"
    scores = np.stack([states.vp[..., player == seat].sum(-1) for seat in range(game.spec.seats)], -1)
    assert (np.diff(scores.astype(int), axis=1) >= 0).all()
    assert (legal.any(axis=(-1, -2)) == (states.phase[:, :-1] != DONE)).all()
    again = record(game, GAMES, seed)
    assert np.array_equal(again[2], actions)
    assert all(np.array_equal(a, b) for a, b in zip(again[0], states, strict=True))


def main():
    counts = [int(word) for word in sys.argv[1:]] or [20, 4, 1]
    for name, games in zip(("iberia-small", "iberia-medium", "hispania"), counts, strict=True):
        game, table = shipped(name)
        began, seen, batch = time.time(), Counter(), min(games, 20)
        for seed in range(-(-games // batch)):
            seen += compare(game, table, batch, seed + 100)
        print(
            name, batch * (seed + 1), "games agree:", dict(seen), f"{time.time() - began:.0f} s", flush=True
        )


if __name__ == "__main__":
    main()
