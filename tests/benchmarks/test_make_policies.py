"""The stages of networks that play by feel: what a weight file says was spent, and what goes on from it."""

from types import SimpleNamespace

import jax
import pytest

from stratagem.agents.senses import senses_for
from stratagem.core.files import append_json
from stratagem.games import make_game
from stratagem.learners.cloning import CloningConfig
from stratagem.learners.ppo import PPOConfig
from stratagem.learners.ppo_presets import ppo_preset
from stratagem.networks import make_network
from stratagem.networks.weights import weight_facts
from tests.benchmarks.scripts import script
from tests.small_generals import hand_drawn

make = script("docs/make_policies.py")
SMALL = "patch:depth=1,width=8,heads=2,feed=1,bins=8"
SENSES = senses_for(hand_drawn(5))


@pytest.fixture(scope="module")
def network():
    return jax.jit(lambda key: make_network(SMALL, SENSES, key))(jax.random.key(0))


def keeper(tmp_path, stage, config, machine, start=None, resume=False):
    words = SimpleNamespace(
        stage=stage, out=tmp_path, snapshots=0.0, runs=tmp_path / machine, start=start, resume=resume
    )
    return make.Keeper(words, config, SENSES)


def test_a_file_says_what_was_spent_on_it_by_all_stages_and_machines(network, tmp_path):
    ppo = PPOConfig(network=SMALL, games=10, steps=20)
    clone = keeper(tmp_path, "clone", CloningConfig(network=SMALL), "first")
    append_json(
        clone.folder / "metrics.jsonl", [{"iteration": 1, "seconds": 90}, {"iteration": 2, "seconds": 30}]
    )
    assert clone.write(network, 2)["minutes"] == 2
    assert make.begun(tmp_path / "clone.safetensors", "small") == 0

    small = keeper(tmp_path, "small", ppo, "first", tmp_path / "clone.safetensors")
    append_json(small.folder / "metrics.jsonl", [{"iteration": 1, "seconds": 60}])
    assert small.write(network, 1)["minutes"] == 3
    # Resumed on the same machine it knows what was before, without being told again.
    again = keeper(tmp_path, "small", ppo, "first", resume=True)
    append_json(small.folder / "metrics.jsonl", [{"iteration": 2, "seconds": 60}])
    assert again.write(network, 2)["minutes"] == 4
    assert (tmp_path / "small-metrics.jsonl").exists()

    # On another machine the stage goes on from its own weights: iterations and minutes are added up once.
    start = tmp_path / "small.safetensors"
    assert make.begun(start, "small") == 2
    other = keeper(tmp_path, "small", ppo, "second", start)
    append_json(other.folder / "metrics.jsonl", [{"iteration": 3, "seconds": 120}])
    other.write(network, 3)
    summary = weight_facts(start)["summary"]
    assert (summary["minutes"], summary["turns"], summary["iterations"]) == (6, 3 * 10 * 20, 3)
    assert {stage: part["minutes"] for stage, part in summary["spent"].items()} == {"clone": 2, "small": 4}
    assert weight_facts(start)["stored"] == "bfloat16"


def test_a_network_too_large_to_travel_is_refused_at_once():
    make.fits(PPOConfig(network="patch:depth=5,width=256"), SENSES)
    with pytest.raises(SystemExit, match="more than 16,777,216"):
        make.fits(PPOConfig(network="patch"), SENSES)


def test_every_stage_has_a_game_and_settings_that_exist():
    sizes = []
    for stage in make.STAGES.values():
        game = make_game(stage.game)
        family = make.FAMILIES.get(game.spec.name, "boards")
        config = CloningConfig() if stage.teachers else ppo_preset(stage.preset, family).config
        make.configured(config, stage.set)
        if game.spec.name == "generals":
            sizes.append((game.least, game.width))
    assert sizes == [(8, 12), (8, 12), (12, 15), (18, 24)]
