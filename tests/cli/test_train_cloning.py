"""What `stratagem train --teachers` and `--data` learn from."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.cli.train_cloning import Reader, cloning_config, source_of
from stratagem.core.errors import BadOption
from stratagem.games import make_game
from stratagem.learners.cloning_sources import Recorded, Teachers
from stratagem.learners.ppo_presets import PRESETS
from stratagem.protocols.generals_dataset import Dataset, Writer
from tests.protocols.test_generals_dataset import ANY, BOARD, GIVEN_UP, WON

CONFIG = PRESETS["smoke"].config


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("games") / "data"
    with Writer(folder, BOARD, ANY, shard=2) as writer:
        for number in range(5):
            writer.add(replace(WON if number % 2 else GIVEN_UP, seed=number))
    return folder


def test_the_games_of_an_iteration_are_the_same_after_a_restart(dataset):
    data = Dataset(dataset, BOARD)
    whole = Reader(data, 5)
    whole.size, whole.rounds = 2, len(data) // 2
    seen = [whole.games(iteration) for iteration in range(2 * whole.rounds + 1)]
    shapes = {jax.tree.map(np.shape, games.actions) for games in seen}
    assert len(shapes) == 1
    for iteration in (0, 1, whole.rounds, 2 * whole.rounds):
        again = Reader(data, 5)
        again.size, again.rounds = whole.size, whole.rounds
        np.testing.assert_array_equal(again.games(iteration).actions, seen[iteration].actions)
        np.testing.assert_array_equal(again.games(iteration).returns, seen[iteration].returns)


def test_teachers_play_in_the_lanes_of_the_preset():
    game = make_game(f"generals:{PRESETS['smoke'].board}")
    source = source_of(game, GeneralsSenses(game), ("expander", "random"), None, CONFIG, 0)
    assert isinstance(source, Teachers)
    assert (source.lanes, source.steps, source.stock) == (CONFIG.games, CONFIG.steps, CONFIG.stock)
    assert cloning_config(CONFIG).network == CONFIG.network


def test_a_data_set_is_for_its_own_game_and_not_beside_teachers(dataset):
    senses = GeneralsSenses(BOARD)
    assert isinstance(source_of(BOARD, senses, (), dataset, CONFIG, 0), Recorded)
    with pytest.raises(BadOption, match="not from both"):
        source_of(BOARD, senses, ("random",), dataset, CONFIG, 0)
    with pytest.raises(BadOption, match="not of corso"):
        source_of(make_game("corso"), senses, (), dataset, CONFIG, 0)
    with pytest.raises(BadOption, match="cannot be compiled"):
        source_of(make_game("corso"), senses, ("mm:depth=1",), None, replace(CONFIG, games=2), 0)
