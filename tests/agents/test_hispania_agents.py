"""Players of Hispania: what they go by, what they do in positions that speak for themselves, and who wins."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.hispania_alignment import alignment, expected
from stratagem.agents.hispania_odds import enemies_of, groups_of, hit_chance, stacks_of, victory
from stratagem.agents.hispania_senses import HispaniaSenses
from stratagem.agents.hispania_worth import coming, gains
from stratagem.agents.policy import shipped_policy
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.stacks import row_of
from stratagem.games.hispania.state import widen
from stratagem.networks import make_network
from stratagem.networks.weights import save_policy
from tests.games.test_hispania import SMALL, small

REGIONS = [region.id for region in SMALL.content.regions]
CARTHAGE, ROME, IBERIANS, CELTIBERIANS = range(4)
TINY = "hierarchical:width=8,piece_width=8,heads=2,feed=1,depth=1,memory=2,bins=4"


@pytest.fixture(scope="module")
def choose():
    """(agent name, state) to the word of its choice."""
    acts = {}
    for name in ("naive", "historical"):
        agent = make_agent(name, SMALL)
        acts[name] = jax.jit(
            lambda state, agent=agent: agent.act(
                (), SMALL.view(state, 0), SMALL.choices(state).reshape(-1), jax.random.key(0)
            )
        )
    return lambda name, state: SMALL.write_action(int(acts[name](state)))


def at_battle(phase, attackers, defenders):
    """Infantry of Carthage from Valentia against Iberians in Valentia's neighbour Saguntum."""
    mine = ",".join(f"{number}@saguntum.1.{number}m<valentia/land" for number in range(attackers))
    theirs = ",".join(f"{number}@saguntum.1.{number}" for number in range(defenders))
    return small(
        pieces=f"carthage:{mine};iberians:{theirs}", phase=phase, battle="saguntum", combat="1", buildings="-"
    )


def test_a_region_is_worth_what_the_scenario_pays_for_it():
    state = widen(SMALL.init(jax.random.key(0)))
    worth = jax.jit(gains, static_argnums=0)(SMALL.tables, state)
    # Saguntum: its own point, Carthage's line, the city, the capital. Rome has a line; the others have none.
    assert worth[:, REGIONS.index("saguntum")].tolist() == [4, 3, 2, 2]
    assert worth[:, REGIONS.index("africa")].tolist() == [0, 0, 0, 0]
    # Both counts, without the city.
    assert coming(SMALL.tables)[1][1, CARTHAGE, REGIONS.index("saguntum")] == 6


def test_the_lead_counts_points_in_sight_and_is_even_for_nobody_ahead():
    state = SMALL.init(jax.random.key(0))
    # Iberians: Ilerda 1 + 1 + 1, Tarraco 2, Saguntum 1 + 1, Valentia 2 + 1. Celtiberians: Numantia 1 + 1 + 1, 1, 1.
    eagles, towers = 3 + 2 + 2 + 3, 3 + 1 + 1
    found = jax.jit(HispaniaSenses(SMALL).potential)(state)
    np.testing.assert_allclose(
        found, np.array([1, -1]) * (eagles - towers) / (eagles + towers + 10), rtol=1e-5
    )


def test_the_margin_is_what_each_of_four_has_above_a_fair_share_of_the_points_that_were_counted():
    game = Hispania("hispania")
    state = game.init(jax.random.key(0))
    player = np.array(game.tables.of_nation("player"))
    points = np.array([115, 75, 55, 35])  # with five more each, 300 in all
    first = np.array([np.flatnonzero(player == seat)[0] for seat in range(4)])
    vp = jnp.zeros_like(state.vp).at[first].set(jnp.asarray(points, state.vp.dtype))
    state = state._replace(vp=vp)
    np.testing.assert_array_equal(game.scores(state), points)
    found = jax.jit(HispaniaSenses(game).margin)(state)
    np.testing.assert_allclose(found, [0.6, 80 / 75 - 1, -0.2, 40 / 75 - 1], rtol=1e-5)


def test_alignment_by_hand():
    # Iberians hold four regions, two of them named (Ilerda 2 points, Valentia 1), and all that is named: 1/2 and 1.
    # Celtiberians hold three, of which Numantia (2 of 3 points) is named: 1/3 and 2/3. Carthage and Rome hold nothing.
    aligned = jax.jit(alignment, static_argnums=0)
    found = aligned(SMALL.tables, small(round="3"))
    np.testing.assert_allclose(found[0], [2 * 0.5 / 1.5, 2 * (1 / 3) * (2 / 3)], rtol=1e-5)
    assert found[1].tolist() == [2, 2]
    assert (aligned(SMALL.tables, small(round="2")) == 0).all(), "no count in round 2"
    assert expected(SMALL.tables)[5].sum() == 4 * 3


def test_odds_follow_the_dice():
    # Infantry needs a 5; in the mountains with a fort a 7, so only the 6 that always hits.
    assert hit_chance(jnp.array([5, 7, 4, 1])).tolist() == pytest.approx([1 / 3, 1 / 6, 1 / 2, 5 / 6])
    state = widen(at_battle("attack", 2, 1))
    tables = SMALL.tables

    @jax.jit
    def forces(state):
        stacks = stacks_of(tables, row_of(tables, state, jnp.int32(0)))
        return groups_of(tables, state, stacks), enemies_of(tables, state, jnp.int32(0))

    (force, led), (enemies, units, leaders) = forces(state)
    here = REGIONS.index("saguntum")
    assert force.attack[here, 0b11, here] == pytest.approx(2 / 3)
    assert force.attack[here, 0b11, REGIONS.index("numantia")] == pytest.approx(2 / 3 - 1 / 3, abs=1e-5)
    assert force.endurance[here, 0b01] == 1
    assert not led.any()
    assert (units[here], leaders.sum()) == (1, 0)
    assert enemies.defence[here] == pytest.approx(1 / 3)
    assert victory(2.0, 2.0, 1.0, 1.0) == pytest.approx(8 / 9, abs=1e-5)


@pytest.mark.parametrize(
    ("phase", "attackers", "defenders", "stays"),
    [("defend", 3, 1, False), ("defend", 1, 3, True), ("attack", 3, 1, True), ("attack", 1, 3, False)],
)
def test_the_weaker_side_leaves_and_the_stronger_one_fights_on(choose, phase, attackers, defenders, stays):
    state = at_battle(phase, attackers, defenders)
    for name in ("naive", "historical"):
        assert (choose(name, state) == "none") == stays, name


def test_carthage_lands_where_it_is_rewarded(choose):
    state = SMALL.init(jax.random.key(0))
    for name in ("naive", "historical"):
        group = choose(name, state)
        assert group.startswith("africa:")
        after = SMALL.step(state, jnp.full(2, SMALL.read_action(group), jnp.int32), jax.random.key(0))
        assert choose(name, after) in ("saguntum", "valentia", "tarraco")


def test_the_hungry_give_up_units_and_not_land(choose):
    # Six units in two regions feed four: two must go, and none of the single one in Tarraco.
    pieces = ",".join(f"{number}@ilerda.1.{number}" for number in range(4)) + ",4@tarraco.1.4"
    state = small(pieces=f"iberians:{pieces}", nation="iberians", phase="remove")
    assert choose("historical", state).startswith("ilerda:")


def evaluation():
    """benchmarks/hispania_eval.py as a module."""
    spec = importlib.util.spec_from_file_location(
        "hispania_eval", Path(__file__).parents[2] / "benchmarks" / "hispania_eval.py"
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_historical_beats_random_and_holds_what_history_held():
    script = evaluation()
    agents = [make_agent(name, SMALL) for name in ("historical", "random")]
    returns, scores, aligned, decisions = script.play(SMALL, *agents, 48, 7)
    games, own = np.arange(48), np.arange(48) % 2
    # Of 400 games it wins more than 90 %: fewer than 36 of 48 would be six standard deviations away.
    assert (returns[games, own] > 0).sum() >= 36
    assert (scores[games, own].sum() / scores.sum()) > 0.6
    assert aligned[games, own].mean() > aligned[games, 1 - own].mean() + 0.1
    assert (decisions > 40).all()
    assert (returns.sum(axis=1) == 0).all()


def test_a_policy_draws_legal_tokens(tmp_path):
    senses, path = HispaniaSenses(SMALL), tmp_path / "tiny.safetensors"
    network = jax.jit(lambda key: make_network(TINY, senses, key))(jax.random.key(0))
    save_policy(path, network, TINY, senses, {})
    agent = make_agent(f"policy:weights={path},temperature=1", SMALL)

    @jax.jit
    def draw(state, keys):
        legal = SMALL.choices(state).reshape(-1)
        return jax.vmap(lambda key: agent.act((), SMALL.view(state, 0), legal, key))(keys), legal

    chosen, legal = draw(SMALL.init(jax.random.key(0)), jax.random.split(jax.random.key(1), 16))
    assert legal[chosen].all()
    assert len(set(chosen.tolist())) > 1, "it draws from its policy"


def test_the_shipped_network_beats_random():
    agents = [make_agent(name, SMALL) for name in ("policy", "random")]
    returns, *_ = evaluation().play(SMALL, *agents, 48, 3)
    # Of 400 games it won 382: fewer than 36 of 48 would be six standard deviations away.
    assert (returns[np.arange(48), np.arange(48) % 2] > 0).sum() >= 36


@pytest.mark.parametrize(
    ("scenario", "file"),
    [("iberia-small", "hispania"), ("iberia-medium", "hispania-medium"), ("hispania", "hispania-full")],
)
def test_each_map_has_weights_of_its_own(scenario, file):
    assert shipped_policy(Hispania(scenario)).stem == file
