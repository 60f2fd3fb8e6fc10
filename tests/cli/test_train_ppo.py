"""Which learner `stratagem train` takes, and what it is told."""

from dataclasses import replace
from pathlib import Path

import jax
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.cli import train_ppo
from stratagem.cli.train import Command
from stratagem.cli.train_ppo import Training, configured, first_weights, fits
from stratagem.core.errors import BadOption, UnknownName
from stratagem.core.files import read_json, recover_lines
from stratagem.games import make_game
from stratagem.learners.ppo import PPOConfig
from stratagem.learners.ppo_preset import Preset
from stratagem.networks import make_network
from stratagem.networks.weights import save_policy
from tests.small_generals import hand_drawn

SMALL = "patch:depth=1,width=8,heads=2,feed=1,bins=8"


def test_games_with_secrets_are_learned_by_ppo_and_others_by_search():
    assert fits(make_game("generals"))
    assert not fits(make_game("corso"))
    assert not fits(make_game("general"))


def test_what_was_asked_for_reaches_the_learner():
    command = Command(
        game="generals", preset="gpu", set=("trace=0.7",), minutes=25.0, seed=3, out=Path("there")
    )
    asked = command.for_ppo()
    assert asked == Training("generals", "gpu", ("trace=0.7",), None, Path("there"), 3, minutes=25.0)
    with pytest.raises(BadOption, match="least=8"):
        Command(game="generals", also=("generals:width=9",)).for_ppo()


def test_settings_are_changed_by_name():
    assert configured(PPOConfig(), ("top=0.5", "cut_is_draw=yes")) == PPOConfig(top=0.5, cut_is_draw=True)
    with pytest.raises(UnknownName, match="did you mean 'trace'"):
        configured(PPOConfig(), ("trac=0.5",))


def test_training_starts_only_from_weights_of_the_same_network(tmp_path):
    senses = GeneralsSenses(hand_drawn(5))
    network = jax.jit(lambda key: make_network(SMALL, senses, key))(jax.random.key(0))
    path = tmp_path / "first.safetensors"
    save_policy(path, network, SMALL, senses, {})
    larger = GeneralsSenses(hand_drawn(7))
    assert (first_weights(path, larger, PPOConfig(network=SMALL)).rows == network.rows).all()
    with pytest.raises(BadOption, match="--set network="):
        first_weights(path, larger, PPOConfig(network="patch"))
    in_one_kernel = first_weights(path, larger, PPOConfig(network=SMALL + ",flash=yes"))
    assert in_one_kernel.layers[0].attention.flash
    assert (in_one_kernel.rows == network.rows).all()
    assert first_weights(None, larger, PPOConfig()) is None


def test_lessons_come_first_and_go_on_where_they_were_stopped(tmp_path, monkeypatch):
    board = "width=5,height=5,cap=20,castles_from=0,castles_to=0,apart=3"
    config = PPOConfig(network=SMALL, games=4, steps=4, minibatch=8, iterations=1)
    preset = Preset(board, config, rivals=(), teachers=("random",), lessons=3)
    monkeypatch.setattr(train_ppo, "ppo_preset", lambda name, family: preset)
    folder = tmp_path / "run"
    asked = Training("generals", "smoke", out=folder, rate=0)
    assert train_ppo.train(replace(asked, minutes=1e-6)) == 0
    assert len(recover_lines(folder / "lessons" / "metrics.jsonl")) == 1
    assert not (folder / "config.json").exists()
    assert train_ppo.train(replace(asked, resume=True)) == 0
    assert [row["iteration"] for row in recover_lines(folder / "lessons" / "metrics.jsonl")] == [1, 2, 3]
    assert len(recover_lines(folder / "metrics.jsonl")) == 1
    assert read_json(folder / "config.json")["lessons"] == 3
    assert (folder / "weights.safetensors").exists()
