"""What a seat of Generals could believe, turn by turn, and where its network looked."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.attention import looking
from stratagem.agents.generals_belief import look
from stratagem.agents.senses import senses_for
from stratagem.analysis.generals_guess import general_chances
from stratagem.analysis.sight import AT_ONCE, Sight
from stratagem.core.errors import StratagemError
from stratagem.games import make_game
from stratagem.networks import make_network
from stratagem.networks.attention_maps import attention_maps
from stratagem.networks.weights import save_policy

GAME = make_game("generals:width=6,height=6,cap=80,castles_from=1,castles_to=2,apart=4")
INIT, STEP, LEGAL, VIEW = (jax.jit(one) for one in (GAME.init, GAME.step, GAME.legal, GAME.view))
TURNS = AT_ONCE + 3


@pytest.fixture(scope="module")
def game():
    """(States, actions) of random moves, through more than one part."""
    draw = np.random.default_rng(4)
    states, rows = [INIT(jax.random.key(4))], []
    for _ in range(TURNS):
        allowed = np.asarray(LEGAL(states[-1]))
        rows.append([int(draw.choice(np.flatnonzero(row))) for row in allowed])
        states.append(STEP(states[-1], jnp.asarray(rows[-1], jnp.int32)))
    assert not bool(GAME.done(states[-1]))
    return states, rows


@pytest.fixture(scope="module")
def by_hand(game):
    """The mind of the second seat at every turn, one view at a time, as the cascade keeps it."""
    states, rows = game
    cascade = make_agent("cascade", GAME)
    see, remember = jax.jit(lambda mind, view: look(GAME, mind, view)), jax.jit(cascade.remember)
    mind, found = cascade.memory(), []
    for turn, state in enumerate(states):
        view = VIEW(state, 1)
        found.append(see(mind, view))
        if turn < TURNS:
            mind = remember(mind, view, jnp.int32(rows[turn][1]))
    return found


def fresh(choice, senses):
    return jax.jit(lambda key: make_network(choice, senses, key))(jax.random.key(0))


@pytest.mark.parametrize("turn", [0, 5, AT_ONCE - 1, AT_ONCE, TURNS])
def test_the_belief_of_a_turn_is_the_cascades(game, by_hand, turn):
    states, rows = game
    sight = Sight(GAME, states, rows, 1)
    belief = sight.belief(turn)
    assert belief.shape == (6, 6)
    assert belief.sum() == pytest.approx(1, abs=1e-4)
    expected = general_chances(by_hand[turn], VIEW(states[turn], 1))
    np.testing.assert_allclose(belief.reshape(-1), expected, atol=1e-6)


def test_what_a_seat_cannot_see_does_not_change_what_it_believes(game):
    states, rows = game
    disguise = jax.jit(GAME.disguise)
    others = [disguise(state, 1, jax.random.key(9)) for state in states]
    assert any(not np.array_equal(one.cells, other.cells) for one, other in zip(states, others, strict=True))
    np.testing.assert_array_equal(
        Sight(GAME, states, rows, 1).belief(40), Sight(GAME, others, rows, 1).belief(40)
    )


def test_attention_is_that_of_the_weight_file(game, by_hand, tmp_path):
    states, rows = game
    senses = senses_for(GAME)
    choice = "patch:depth=1,width=8,heads=2,bins=4"
    network = fresh(choice, senses)
    file = str(tmp_path / "weights.safetensors")
    save_policy(file, network, choice, senses, {})
    patch, maps = Sight(GAME, states, rows, 1).attention(7, file)
    assert (patch, maps.shape) == (3, (1, 2, 2, 2))

    def directly(memory, view):
        return attention_maps(network, senses.features(senses.observe(memory, view)[1]))

    expected = jax.jit(directly)(by_hand[7].known, VIEW(states[7], 1))
    np.testing.assert_allclose(maps, expected, atol=1e-5)


def test_a_network_without_patches_and_a_game_without_fog_are_refused(game, monkeypatch):
    states, rows = game
    monkeypatch.setattr("stratagem.agents.attention.policy_of", lambda game, weights: "a pyramid")
    with pytest.raises(StratagemError, match=r"other\.safetensors has no patches"):
        looking(GAME, "other.safetensors")
    with pytest.raises(StratagemError, match="turns are 0 to"):
        Sight(GAME, states, rows, 1).belief(TURNS + 1)
    with pytest.raises(StratagemError, match="beliefs are drawn for generals"):
        Sight(make_game("corso"), [], [], 0)
