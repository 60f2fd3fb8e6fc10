"""Agents with trained networks."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.network import opinion_of, shipped
from stratagem.arena.match import play_games
from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch
from stratagem.games.corso import Corso
from stratagem.networks import make_network
from stratagem.networks.weights import save_weights

GAME = Corso()
SMALL = "global:channels=8,blocks=1"


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_weights(path, make_network(SMALL, GAME, jax.random.key(0)), SMALL, [GAME, Corso(3, 3)], {})
    return path


def scores(game, one, other, games):
    seatings = [(index % 2, 1 - index % 2) for index in range(games)]
    played = play_games(game, [make_agent(one, game), make_agent(other, game)], seatings, range(games))
    assert not any(result.fouls for result in played)
    return [result.returns[result.seating.index(0)] for result in played]


def test_search_makes_an_untrained_network_beat_random_players(weights):
    game = Corso(3, 3)
    assert np.mean(scores(game, f"az:simulations=60,weights={weights}", "random", 32)) > 0.5


def test_the_shipped_network_beats_minimax_of_depth_two():
    assert np.mean(scores(GAME, "net", "mm:depth=2", 20)) > 0.5


def test_greedy_play_does_not_depend_on_the_key(weights):
    view = GAME.view(GAME.init(None), 0)
    legal = GAME.legal(GAME.init(None))[0]
    for name in ("net:sides=true", "az:simulations=8", "az:simulations=8,search=gumbel"):
        colon = "," if ":" in name else ":"
        agent = make_agent(f"{name}{colon}weights={weights}", GAME)
        act = jax.jit(lambda key, agent=agent: agent.act((), view, legal, key))
        assert len({int(act(jax.random.key(seed))) for seed in range(5)}) == 1, name


def test_a_committee_says_the_mean_of_what_its_members_say(weights, tmp_path):
    other = tmp_path / "other+one.safetensors"
    save_weights(other, make_network(SMALL, GAME, jax.random.key(1)), SMALL, [GAME], {})
    third = tmp_path / "third.safetensors"
    save_weights(third, make_network(SMALL, GAME, jax.random.key(2)), SMALL, [GAME], {})
    state = GAME.step(GAME.init(None), np.full(2, 7), None)
    (ours, worth), (theirs, their_worth) = (
        opinion_of(GAME, str(path), False)(state) for path in (weights, third)
    )
    logits, values = opinion_of(GAME, f"{weights}+{third}", False)(state)
    np.testing.assert_allclose(values, (worth + their_worth) / 2, atol=1e-6)
    legal = np.asarray(GAME.legal(state).any(axis=0))
    likely = [np.asarray(one)[legal] - np.log(np.exp(np.asarray(one)[legal]).sum()) for one in (ours, theirs)]
    np.testing.assert_allclose(np.asarray(logits)[legal], (likely[0] + likely[1]) / 2, atol=1e-5)
    make_agent(f"net:weights={other}", GAME)  # one file whose name has a plus
    with pytest.raises(DamagedFile, match="no such weight file"):
        make_agent(f"az:weights={weights}+{tmp_path / 'nothing'}", GAME)


def test_weights_must_fit_the_game(weights, tmp_path):
    with pytest.raises(RulesetMismatch, match="was trained for"):
        make_agent(f"az:weights={weights}", Corso(4, 4))
    with pytest.raises(DamagedFile, match="no such weight file"):
        make_agent(f"net:weights={tmp_path / 'nothing'}", GAME)
    with pytest.raises(BadOption, match="stratagem train"):
        make_agent("net", Corso(8, 2))
    with pytest.raises(BadOption, match="simulations"):
        make_agent("az:simulations=0", GAME)


def test_there_are_weights_for_the_standard_board():
    assert [path.name for path in shipped(GAME)] == ["corso-5x5-taught.safetensors", "corso-5x5.safetensors"]
    assert replace(make_agent("az", GAME), simulations=5).rule.simulations == 5
