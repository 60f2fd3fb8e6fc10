"""Hispania by example: the numbers of the rules, dice, views and tokens."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core.errors import RulesetMismatch
from stratagem.games.hispania import encoding, engine
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.state import ATTACK, CHOOSE, DEFEND, PICK, narrow

SMALL = Hispania("iberia-small")
FULL = Hispania("hispania")


def small(**changes):
    """The opening of the small map with some fields of its text written anew."""
    words = dict(word.split("=") for word in SMALL.write(SMALL.init(jax.random.key(0))).split(" "))
    return SMALL.read(" ".join(f"{key}={value}" for key, value in (words | changes).items()))


LANDING = small(
    pieces="carthage:0@saguntum.1.0m<africa/sea,1@saguntum.1.1m<valentia/land,9@saguntum.1.3m<africa/sea;"
    "iberians:2@saguntum.1.2,3@saguntum.1.3,0@ilerda.1.0",
    phase="choose",
)


@partial(jax.jit, static_argnums=0)
def encode(game, state):
    return game.encode(game.view(state, 0))


def act(state, word):
    return jnp.full(2, SMALL.read_action(word), jnp.int32)


def legal_words(state):
    legal = np.asarray(SMALL.legal(state)).any(axis=0)
    return {SMALL.write_action(int(action)) for action in np.flatnonzero(legal)}


def test_outcomes_weigh_every_throw_of_the_dice():
    """Carthage's 5s: +1 leader, −1 city, −1 from the sea in the first round. Iberia's 5s are plain."""
    after = SMALL.afterstate(LANDING, act(LANDING, "saguntum"))
    counted = np.zeros(len(SMALL.tables.hits) ** 2)
    for a, b, c, d in itertools.product(range(1, 7), repeat=4):
        # The piece by sea needs a natural 6 (6 always hits); the one by land a 5. Values: 6 counts as 6, 5 as 5.
        sea, land = (6 if a == 6 else 0), (b if b >= 5 else 0)
        hits = [sum(1 <= value < 6 for value in (sea, land)), sum(value == 6 for value in (sea, land))]
        wounds = [sum(die == 5 for die in (c, d)), sum(die == 6 for die in (c, d))]
        rows = SMALL.tables.hits.tolist()
        counted[rows.index(hits) * len(rows) + rows.index(wounds)] += 1 / 6**4
    assert SMALL.tables.levels.tolist() == [1, 6]
    assert np.asarray(SMALL.outcomes(after)) == pytest.approx(counted, abs=1e-6)


def test_a_throw_brings_its_outcome():
    after = SMALL.afterstate(LANDING, act(LANDING, "saguntum"))
    dice = jnp.array([[6, 5, 1, 1, 1, 1], [1, 1, 6, 6, 6, 6]])  # both Iberians fall
    state = SMALL.fall(after, dice)
    assert "iberians:0@ilerda.1.0 " in SMALL.write(state)
    assert int(SMALL.scores(state)[1]) == 2, "iberians are worth one point each to Carthage, up to two"
    held = state.holder[[region.id for region in SMALL.content.regions].index("saguntum")]
    assert int(held) == 0


def test_the_defender_may_leave_but_not_where_an_attacker_came_from():
    after = SMALL.afterstate(LANDING, act(LANDING, "saguntum"))
    state = SMALL.fall(after, jnp.ones((2, 6), jnp.int32))
    assert int(state.phase) == DEFEND
    assert SMALL.to_move(state).tolist() == [True, False]
    # Borders of Saguntum: Caesaraugusta, Tarraco, Valentia (entered from there), Segobriga.
    assert legal_words(state) == {"none", "caesaraugusta", "tarraco", "segobriga"}
    stood = SMALL.fall(SMALL.afterstate(state, act(state, "none")), jnp.ones((2, 6), jnp.int32))
    assert int(stood.phase) == ATTACK
    assert legal_words(stood) == {"none", "valentia"}, "Africa is off the map"


def test_every_game_starts_as_the_opening_resolves():
    started, resolved = SMALL.init(jax.random.key(0)), SMALL.resolve(SMALL.opening(), jnp.int32(0))
    assert all(np.array_equal(one, other) for one, other in zip(started, resolved, strict=True))


def test_widths_are_those_of_the_rules():
    opening = narrow(engine.opening(FULL.tables))
    seen = encode(FULL, opening)
    assert seen.tiles.shape == (55, 13)
    assert seen.pieces.shape[1] == 32
    assert seen.facts.shape == (32,)
    assert seen.fused.shape == (55, 237)
    assert seen.fused.size == 13_035
    assert seen.history.shape[1] == 120
    assert (seen.pieces[:, 12:].sum(axis=1) == (seen.places >= 0)).all(), "one nation a piece in play"
    assert int((seen.places >= 0).sum()) == int((opening.region >= 0).sum())


def test_rome_sails_from_italia_to_saguntum():
    """Sinus Gallicus touches Italia, its neighbour Mare Balearicum touches Saguntum: two zones (section 17)."""
    names = [region.id for region in FULL.content.regions]
    from_italia = FULL.tables.sails[names.index("italia")]
    assert from_italia[names.index("saguntum")]
    assert not from_italia[names.index("gades")], "four zones away"
    assert not from_italia[names.index("africa")], "nobody lands in a box"


def test_the_map_shows_every_region_with_its_stacks():
    picture = SMALL.render(LANDING)
    assert "Saguntum#[Ib]2I!Ca2I+" in picture, (
        "a city, two Iberians, and two of Carthage with a leader attack"
    )
    assert "Ilerda[Ib]1I" in picture
    assert "Carthage (Towers) chooses a battle" in picture
    opening = engine.opening(FULL.tables)._replace(phase=jnp.int32(PICK), nation=jnp.int32(0))
    whole = FULL.render(narrow(opening))
    for region in FULL.content.regions:
        assert region.name in whole
    assert max(map(len, whole.split("\n\n")[1].splitlines())) <= 110


def test_stacks_show_the_deciding_nation_first():
    seen = encode(SMALL, LANDING)
    names = [region.id for region in SMALL.content.regions]
    stack = np.asarray(seen.stacks[names.index("saguntum")])
    carthage, iberians = (FULL.content.nations[number].id for number in (0, 3))
    assert (carthage, iberians) == ("carthage", "iberians")
    assert stack[:, 11].tolist() == [1, 0, 0, 0, 0, 0], "its leader fills the first slot"
    assert np.argmax(stack[:5, 12:], axis=1).tolist() == [0, 0, 0, 3, 3]
    assert not stack[5].any()


def test_a_phase_remembers_its_tokens_and_forgets_them_after_it():
    state = SMALL.init(jax.random.key(0))
    state = SMALL.step(state, act(state, "africa:0123"), jax.random.key(1))
    seen = encode(SMALL, state)
    assert seen.remembered.sum() == 1
    regions = SMALL.regions
    token = np.zeros(4 + 2 * regions + 6)
    token[[1, 4 + 11]] = 1  # Movement, Africa
    token[4 + regions : 4 + regions + 4] = 1  # slots 0 to 3
    assert seen.history[0].tolist() == token.tolist()
    state = SMALL.step(state, act(state, "valentia"), jax.random.key(1))
    assert int(state.phase) == CHOOSE
    assert encode(SMALL, state).remembered.sum() == 0


def test_parts_of_a_token_and_flat_actions_are_the_same_choices():
    factors, actions = jax.jit(SMALL.factors), jax.jit(SMALL.action_of)
    state, regions = SMALL.init(jax.random.key(0)), SMALL.regions
    step = jax.jit(SMALL.step)
    for turn in range(60):
        parts = jax.tree.map(np.asarray, factors(state))
        assert parts.type.sum() == 1
        found = set()
        for tile, units in np.argwhere(parts.units & parts.tile[:, None]):
            for battle in np.flatnonzero(parts.battle):
                found.add(int(actions(state, tile, units, battle)))
        legal = set(np.flatnonzero(np.asarray(SMALL.choices(state)).reshape(-1)).tolist())
        assert found == legal
        assert regions not in np.flatnonzero(parts.battle) or parts.battle.sum() == 1
        point = (turn * 0.618) % 1
        state = step(state, SMALL.sample(state, jnp.full(2, point)), jax.random.key(turn))


def test_atlas_names_the_same_places_on_all_maps():
    regions, nations = encoding.atlas(SMALL.tables)
    assert [FULL.content.regions[one].id for one in regions] == [one.id for one in SMALL.content.regions]
    assert [FULL.content.nations[one].id for one in nations] == [one.id for one in SMALL.content.nations]
    assert encoding.atlas(FULL.tables) == (tuple(range(55)), tuple(range(20)))


def test_distances_count_borders_and_common_seas():
    names = [region.id for region in SMALL.content.regions]
    far = encoding.distances(SMALL.tables)

    def between(one, other):
        return far[names.index(one), names.index(other)]

    assert between("tarraco", "ilerda") == 1
    assert between("africa", "valentia") == 1, "both on Mare Balearicum"
    assert between("africa", "saltigi") == 2
    assert (far == far.T).all()


def test_a_replay_of_another_scenario_is_refused():
    assert Hispania("iberia-small", digest=SMALL.digest) == SMALL
    with pytest.raises(RulesetMismatch, match="the file has changed"):
        Hispania("iberia-small", digest="0123456789ab")
