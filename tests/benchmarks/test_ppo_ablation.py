"""The ablation of PPO: variants that differ in one thing, work that can be shared, a table of what came out."""

import itertools
from dataclasses import asdict, replace

import jax
import numpy as np
import pytest

from stratagem.agents.senses import senses_for
from stratagem.core.errors import BadOption
from stratagem.core.files import read_json, write_json
from stratagem.learners.ppo import PPOConfig
from stratagem.learners.ppo_presets import PRESETS
from stratagem.networks import make_network
from stratagem.networks.weights import load_policy, save_policy
from tests.benchmarks.scripts import script
from tests.small_generals import hand_drawn

ablation = script("benchmarks/ppo_ablation.py")
GAME = hand_drawn(5, cap=12)
SMALL = "patch:depth=1,width=8,heads=2,feed=1,bins=8"
BASE = PPOConfig(
    network=SMALL, games=4, steps=8, stock=8, restock=2, minibatch=8, shaping=0.5, rate_high=1e-2, average=0.9
)


def test_a_variant_differs_from_the_base_in_one_thing():
    base = PRESETS["laptop"].config
    for name in ablation.VARIANTS:
        varied = asdict(ablation.varied(base, name))
        differing = [key for key, value in asdict(base).items() if varied[key] != value]
        assert len(differing) == (name != "as it is"), name
    assert ablation.varied(base, "plain value").network == base.network + ",bins=1"
    assert ablation.varied(BASE, "plain value").network == SMALL.replace("bins=8", "bins=1")
    with pytest.raises(BadOption, match="there is as it is"):
        ablation.varied(base, "no gravity")


def test_shares_of_the_work_are_all_of_it_and_what_is_done_is_not_done_again(tmp_path):
    variants, seeds = list(ablation.VARIANTS), [0, 1]
    (tmp_path / "no-filter-1.json").write_text("{}")
    found = [
        (variant, seed)
        for number in range(3)
        for variant, some in ablation.jobs(variants, seeds, f"{number}/3", tmp_path)
        for seed in some
    ]
    wanted = {(variant, seed) for variant in variants for seed in seeds} - {("no filter", 1)}
    assert len(found) == len(wanted)
    assert set(found) == wanted


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """(A weight file to begin with, its network)."""
    path, senses = tmp_path_factory.mktemp("taught") / "taught.safetensors", senses_for(GAME)
    network = jax.jit(lambda key: make_network(SMALL, senses, key))(jax.random.key(5))
    save_policy(path, network, SMALL, senses, {})
    return path, network


def test_all_begin_with_the_weights_of_the_file_except_for_the_value(taught):
    path, network = taught
    begun = ablation.begun(path, senses_for(GAME), ablation.varied(BASE, "plain value"), 3)
    np.testing.assert_array_equal(begun.rows, network.rows)
    np.testing.assert_array_equal(begun.policy.out.weight, network.policy.out.weight)
    assert begun.value.out.weight.shape == (8, 1)
    assert (begun.value.hidden.weight != network.value.hidden.weight).any()
    with pytest.raises(BadOption, match="say --set network=patch:depth=1"):
        ablation.begun(path, senses_for(GAME), replace(BASE, network=SMALL.replace("feed=1", "feed=2")), 3)


class Counting:
    """A learner that takes a second for an iteration, and nine for the first."""

    def __init__(self):
        self.now = 0.0

    def iterate(self, state):
        self.now += 1.0 if state else 9.0
        return state + 1, {"entropy": 0.5}


def test_variants_have_equal_time_and_compiling_is_free():
    learner = Counting()
    state, rows, spent = ablation.trained(learner, 0, 5.0, lambda: learner.now)
    assert (state, len(rows), spent) == (6, 6, 5.0)


def test_what_was_trained_is_kept(taught, tmp_path, monkeypatch):
    path, network = taught
    told = (*ablation.TOLD, "games")
    rows = [dict.fromkeys(told, 1.0)] * 5 + [dict.fromkeys(told, 2.0)] * ablation.LAST
    monkeypatch.setattr(ablation, "trained", lambda learner, state, seconds, clock: (state, rows, 10.0))
    (facts,) = ablation.tried(GAME, BASE, "as it is", [7], 10.0, None, path, tmp_path)
    assert facts == read_json(tmp_path / "as-it-is-7.json")
    assert (facts["iterations"], facts["turns"], facts["entropy"]) == (25, 25 * 4 * 8, 2.0)
    kept = load_policy(tmp_path / "as-it-is-7.safetensors", senses_for(GAME))
    np.testing.assert_array_equal(kept.policy.out.weight, network.policy.out.weight)


def test_the_table_puts_seeds_beside_each_other(tmp_path, monkeypatch):
    for variant, seed in itertools.product(("no filter", "as it is"), (0, 1)):
        facts = {"variant": variant, "seed": seed, "iterations": 10, "turns": 3000, "seconds": 2.0}
        write_json(tmp_path / f"{ablation.file_name(variant, seed)}.json", facts)
    wins = {
        "as-it-is-0": 75,
        "as-it-is-1": 75,
        "no-filter-0": 25,
        "no-filter-1": 50,
    }  # of 100 against expander
    results = [(name, "expander", float(game < won)) for name, won in wins.items() for game in range(100)]
    shares = {(name, rival): "half" for name in wins for rival in ablation.LADDER}
    monkeypatch.setattr(ablation, "played", lambda game, games, folder, names: (results, shares))
    lines = ablation.table(GAME, 100, tmp_path).splitlines()
    assert lines[2].startswith("| as it is | 0 | 10 | 1,500 | half | half | half | +191 (")
    assert lines[5].startswith("| no filter | 1 | 10 | 1,500 | half | half | half | +0 (")
    # 400 · log₁₀ 3 = 191; the seeds without the filter are at −191 and 0.
    assert lines[-2:] == [
        "- as it is: +191 over 2 of 2 seeds, 0 between them",
        "- no filter: -95 over 2 of 2 seeds, 191 between them",
    ]
