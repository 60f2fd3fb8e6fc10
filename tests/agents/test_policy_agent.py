"""The agent that plays a trained policy: in the simulator, and as a bot that only sees views."""

import shutil
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent, policy
from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.agents.policy import policy_of, shipped_policy
from stratagem.core.errors import BadOption, DamagedFile
from stratagem.games.generals import Generals
from stratagem.learners.duel import duel
from stratagem.networks import make_network
from stratagem.networks.weights import save_policy
from tests.small_generals import hand_drawn

CHOICE = "patch:depth=1,width=8,heads=2,feed=1,bins=8"
GAME = hand_drawn(5, cap=30)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    senses = GeneralsSenses(GAME)
    save_policy(
        path, jax.jit(lambda key: make_network(CHOICE, senses, key))(jax.random.key(0)), CHOICE, senses, {}
    )
    return path


def test_it_plays_legal_moves_and_remembers_what_it_saw(weights):
    agent = make_agent(f"policy:weights={weights}", GAME)
    act, remember, step = jax.jit(agent.act), jax.jit(agent.remember), jax.jit(GAME.step)
    view_of, legal_of = jax.jit(GAME.view), jax.jit(GAME.legal)
    state, memories = GAME.init(jax.random.key(0)), [agent.memory(), agent.memory()]
    for turn in range(20):
        legal, actions = legal_of(state), []
        for seat in range(2):
            view = view_of(state, jnp.int32(seat))
            action = act(memories[seat], view, legal[seat], jax.random.key(2 * turn + seat))
            assert legal[seat, action]
            memories[seat] = remember(memories[seat], view, action)
            actions.append(action)
        state = step(state, jnp.stack(actions))
    assert (memories[0].seen_at >= 0).sum() >= 4
    assert memories[0].turn == 19
    assert np.count_nonzero(np.asarray(memories[0].land)[0]) == 20


def test_the_shipped_network_beats_the_expander():
    game = Generals(width=8, height=8, cap=250, castles_from=1, castles_to=3, apart=6)
    results = jax.jit(partial(duel, game, GeneralsSenses(game), make_agent("expander", game), 16, 0.25))(
        policy_of(game, ""), jax.random.key(0)
    )
    assert (np.asarray(results) > 0).sum() >= 12


def test_of_several_shipped_files_the_one_trained_under_these_rules_plays(monkeypatch, tmp_path, weights):
    monkeypatch.setattr(policy, "SHIPPED", tmp_path)
    with pytest.raises(BadOption, match="no shipped weights play generals"):
        shipped_policy(GAME)
    other = GeneralsSenses(hand_drawn(5, cap=40))
    network = make_network(CHOICE, other, jax.random.key(0))
    save_policy(tmp_path / "army-late.safetensors", network, CHOICE, other, {})
    shutil.copy(weights, tmp_path / "army.safetensors")
    assert shipped_policy(other.game).name == "army-late.safetensors"
    assert shipped_policy(GAME).name == "army.safetensors"
    assert (
        shipped_policy(hand_drawn(5, cap=50)).name == "army.safetensors"
    )  # the plainest name for rules unseen


def test_of_several_shipped_files_the_one_for_boards_of_nearest_size_plays(monkeypatch, tmp_path):
    monkeypatch.setattr(policy, "SHIPPED", tmp_path)
    for side in (24, 12):
        senses = GeneralsSenses(Generals(width=side, height=side))
        network = make_network(CHOICE, senses, jax.random.key(0))
        save_policy(tmp_path / f"army-{side}.safetensors", network, CHOICE, senses, {})
    chosen = [shipped_policy(Generals(width=side, height=side)).stem for side in (6, 12, 16, 18, 24, 30)]
    assert chosen == ["army-12", "army-12", "army-12", "army-24", "army-24", "army-24"]


def test_without_temperature_it_does_not_depend_on_the_key(weights):
    state = GAME.init(jax.random.key(1))._replace(turn=jnp.int32(20))
    agent = make_agent(f"policy:weights={weights},temperature=0", GAME)
    act = jax.jit(lambda key: agent.act(agent.memory(), GAME.view(state, 0), GAME.legal(state)[0], key))
    assert len({int(act(jax.random.key(seed))) for seed in range(5)}) == 1


def test_what_cannot_be_is_refused(weights, tmp_path):
    with pytest.raises(DamagedFile, match="no such weight file"):
        make_agent(f"policy:weights={tmp_path / 'nothing'}", GAME)
    with pytest.raises(BadOption, match="temperature"):
        make_agent(f"policy:weights={weights},temperature=-1", GAME)
