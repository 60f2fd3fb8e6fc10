"""Networks for campaigns: one set of parameters for all maps, and what they hear and do not hear."""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core.errors import BadOption
from stratagem.games.hispania.state import CHOOSE, DEFEND, GO, GROW, PICK
from stratagem.networks import cast, make_network
from tests.hispania_maps import still

SENSES, FULL = still("iberia-small"), still("hispania")
GAME = SENSES.game
SMALL = {
    "hierarchical": "hierarchical:width=16,piece_width=8,heads=2,feed=1,decoder_depth=2,memory=4,bins=4",
    "flat": "flat:width=16,depth=1,bins=4",
}


class Case(NamedTuple):
    network: Any
    judge: Any  # (network, features) to (chances, belief), for many
    features: Any  # [B]: of the decisions of one game
    legal: Any  # bool[B, A]
    judged: Any


@pytest.fixture(scope="module")
def decisions():
    """(states, features, legal) of a recorded game."""
    lines = (Path(__file__).parents[1] / "playthroughs" / "hispania.txt").read_text().splitlines()
    states = [
        GAME.read(line.split(maxsplit=1)[1])
        for line in lines
        if " phase=" in line and "phase=done" not in line
    ]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    look = jax.jit(jax.vmap(lambda state: (SENSES.features(state), GAME.choices(state).reshape(-1))))
    return batch, *look(batch)


@pytest.fixture(scope="module", params=SMALL)
def case(request, decisions):
    _, features, legal = decisions
    network = jax.jit(lambda key: loud(make_network(SMALL[request.param], SENSES, key)))(jax.random.key(0))
    judge = jax.jit(jax.vmap(judged, in_axes=(None, 0, 0)))
    return Case(network, partial(judge, network), features, legal, judge(network, features, legal))


def judged(network, features, legal):
    told = network(features)
    return told.chances(legal), told.belief


def loud(network):
    """With larger weights, so that differences show."""
    return jax.tree.map(lambda leaf: leaf * 3, network)


def test_probabilities_add_up_to_one_and_only_legal_tokens_have_any(case, decisions):
    chances = np.exp(case.judged[0])
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-4)
    assert (chances[~np.asarray(case.legal)] == 0).all()
    assert {GROW, PICK, GO, CHOOSE, DEFEND} <= set(np.asarray(decisions[0].phase).tolist())


def test_many_decisions_at_once_are_judged_like_one(case):
    for index in (0, 40, 77):
        alone = [jax.tree.map(lambda leaf, i=index: leaf[i], tree) for tree in (case.features, case.legal)]
        for one, many in zip(jax.jit(judged)(case.network, *alone), case.judged, strict=True):
            np.testing.assert_allclose(one, many[index], rtol=2e-4, atol=1e-3)


@pytest.mark.parametrize("case", ["hierarchical"], indirect=True)
def test_half_precision_says_almost_the_same(case):
    half = jax.jit(jax.vmap(judged, in_axes=(None, 0, 0)))(
        cast(case.network, jnp.bfloat16), case.features, case.legal
    )
    assert half[0].dtype == half[1].dtype == jnp.float32
    assert np.abs(np.exp(half[0]) - np.exp(case.judged[0])).mean() < 0.005


@pytest.mark.parametrize("choice", [*SMALL.values(), "hierarchical:top_k=yes"])
def test_the_same_parameters_fit_the_smallest_and_the_largest_map(choice):
    def shapes(senses):
        network = jax.eval_shape(lambda: make_network(choice, senses, jax.random.key(0)))
        state = jax.eval_shape(senses.game.init, jax.random.key(0))

        def chances(network, state):
            return network(senses.features(state)).chances(jnp.ones(senses.spec.actions, bool))

        assert jax.eval_shape(chances, network, state).shape == (senses.spec.actions,)
        return jax.tree.map(lambda leaf: leaf.shape, network)

    assert shapes(SENSES) == shapes(FULL)


def test_the_network_of_a_laptop_has_less_than_a_million_parameters():
    shapes = jax.eval_shape(lambda: make_network("hierarchical", SENSES, jax.random.key(0)))
    assert 500_000 < sum(leaf.size for leaf in jax.tree.leaves(shapes)) < 1_000_000


def test_the_order_of_pieces_does_not_matter_and_those_out_of_play_are_not_heard(case):
    features = case.features
    alive = features.places >= 0
    ghosts = jnp.where(alive[..., None], features.pieces, 7.0)
    same = case.judge(features._replace(pieces=ghosts), case.legal)
    back = features.pieces.shape[1] - 1
    turned = jnp.where(features.stacked <= back, back - features.stacked, features.stacked)
    mirrored = features._replace(
        pieces=features.pieces[:, ::-1], places=features.places[:, ::-1], stacked=turned
    )
    for other in (same, case.judge(mirrored, case.legal)):
        for one, many in zip(other, case.judged, strict=True):
            np.testing.assert_allclose(one, many, rtol=1e-3, atol=1e-3)


def test_pieces_tiles_and_facts_are_heard(case):
    for part in ("pieces", "tiles", "facts"):
        changed = case.features._replace(**{part: getattr(case.features, part) + 1})
        assert not np.allclose(case.judge(changed, case.legal)[1], case.judged[1], atol=1e-3)


def moved(case, **changes):
    """How far the probabilities move when features are changed, at each decision."""
    other = case.judge(case.features._replace(**changes), case.legal)[0]
    return np.abs(np.exp(other) - np.exp(case.judged[0])).sum(axis=1)


@pytest.mark.parametrize("case", ["hierarchical"], indirect=True)
def test_the_decoder_hears_the_earlier_tokens_of_the_phase_and_no_others(case):
    # Tokens that there are: some answers change. Tokens that there are not, or too long ago: none does.
    several = np.asarray(case.features.remembered).sum(axis=1)
    choices = np.asarray(case.legal).sum(axis=1) > 1
    tiles = (case.features.past_tiles + 5) % 55
    effect = moved(case, past_tiles=tiles)
    assert effect[several == 0].max() < 1e-5
    assert effect[(several > 0) & choices].max() > 1e-3
    beyond = jnp.where(jnp.arange(32) < 4, case.features.past_tiles, tiles)
    assert moved(case, past_tiles=beyond).max() < 1e-5


@pytest.mark.parametrize("case", ["hierarchical"], indirect=True)
def test_distances_are_heard_once_they_have_been_learned(case):
    apart = jnp.full_like(case.features.distances, 9)
    assert moved(case, distances=apart).max() < 1e-5  # the bias starts at zero
    near = case.network.board.layers[0].bias.at[:, 1].set(3.0)
    learned = eqx.tree_at(lambda network: network.board.layers[0].bias, case.network, near)
    judge = jax.jit(jax.vmap(judged, in_axes=(None, 0, 0)))
    one = judge(learned, case.features, case.legal)
    other = judge(learned, case.features._replace(distances=apart), case.legal)
    assert np.abs(one[1] - other[1]).max() > 1e-3


def test_each_player_has_a_value_of_its_own(case):
    chances, belief = case.judge(case.features._replace(player=1 - case.features.player), case.legal)
    np.testing.assert_allclose(chances, case.judged[0], atol=1e-5)
    assert np.abs(belief - case.judged[1]).max() > 1e-3


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(BadOption, match="piece_width 10 is not a multiple of heads 4"):
        make_network("hierarchical:piece_width=10", SENSES, jax.random.key(0))
