"""Agents with trained networks."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.network import shipped
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
    assert shipped(GAME).name == "corso-5x5.safetensors"
    assert replace(make_agent("az", GAME), simulations=5).rule.simulations == 5
