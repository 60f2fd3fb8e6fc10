"""Runs that are killed, and files that are spoilt."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import jax
import numpy as np
import pytest
from small_run import CONFIG, GAME

import stratagem
from stratagem.core.errors import BadOption, DamagedFile
from stratagem.core.files import recover_lines
from stratagem.learners.alphazero import AlphaZero
from stratagem.learners.run import DiskFull, Run, run

pytestmark = pytest.mark.usefixtures("compile_cache")

SCRIPT = Path(__file__).parent / "small_run.py"
ROOT = Path(stratagem.__file__).parent.parent


def started(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def logged(folder):
    try:
        return (folder / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


@pytest.mark.timeout(900)
def test_a_run_killed_ten_times_ends_in_the_very_weights_of_one_that_was_not(tmp_path):
    whole, _ = started(tmp_path / "whole").communicate()
    assert whole.startswith("True")
    chance = random.Random(4)
    moments = sorted(chance.sample(range(1, CONFIG.iterations), 10))
    for moment in moments:
        process = started(tmp_path / "killed")
        while logged(tmp_path / "killed") < moment and process.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.random() * 0.05)  # anywhere: playing, learning, or in the middle of a write
        process.send_signal(signal.SIGKILL)
        process.communicate()
    killed, _ = started(tmp_path / "killed").communicate()
    assert killed == whole
    iterations = [row["iteration"] for row in recover_lines(tmp_path / "killed" / "metrics.jsonl")]
    assert iterations == list(range(1, CONFIG.iterations + 1))


@pytest.fixture(scope="module")
def learner():
    return AlphaZero([GAME], CONFIG)


@pytest.fixture(scope="module")
def halfway(learner, tmp_path_factory):
    """The folder of a run that stopped at iteration 4."""
    folder = tmp_path_factory.mktemp("run")
    run(learner, Run(folder, save_every=2, stop_at=4, evaluate_every=0), asdict(CONFIG))
    return folder


@pytest.fixture
def copy(halfway, tmp_path):
    folder = tmp_path / "run"
    subprocess.run(["cp", "-r", halfway, folder], check=True)
    return folder


def test_a_folder_that_holds_a_run_is_not_overwritten(learner, copy):
    with pytest.raises(BadOption, match="--resume"):
        run(learner, Run(copy), asdict(CONFIG))


def test_a_run_is_not_resumed_with_other_settings(copy):
    other = replace(CONFIG, simulations=5)
    with pytest.raises(BadOption, match="simulations was 4, now 5"):
        run(AlphaZero([GAME], other), Run(copy, resume=True), asdict(other))


def test_a_damaged_buffer_file_is_named_and_left_alone(learner, copy):
    path = next((copy / "checkpoints" / "buffer").rglob("0000003.safetensors"))
    spoilt = bytearray(path.read_bytes())
    spoilt[-3] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(DamagedFile, match=r"0000003\.safetensors: damaged"):
        run(learner, Run(copy, resume=True), asdict(CONFIG))
    assert path.read_bytes() == spoilt
    path.write_bytes(spoilt[:100])
    with pytest.raises(DamagedFile, match=r"0000003\.safetensors"):
        run(learner, Run(copy, resume=True), asdict(CONFIG))
    path.unlink()
    with pytest.raises(DamagedFile, match="no such file"):
        run(learner, Run(copy, resume=True), asdict(CONFIG))


def test_a_full_disk_is_told_and_costs_nothing_that_was_saved(learner, copy, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    checkpoint = (copy / "checkpoints" / "checkpoint.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"space|room"):
            run(learner, Run(copy, resume=True, stop_at=6, evaluate_every=0), asdict(CONFIG))
    with monkeypatch.context() as patch:
        patch.setattr("stratagem.core.files.os.replace", full)
        with pytest.raises(DiskFull, match="up to iteration 4"):
            run(learner, Run(copy, resume=True, save_every=2, stop_at=6, evaluate_every=0), asdict(CONFIG))
    assert (copy / "checkpoints" / "checkpoint.safetensors").read_bytes() == checkpoint
    assert not list((copy / "checkpoints").rglob(".*"))
    state, _ = run(learner, Run(copy, resume=True, stop_at=6, evaluate_every=0), asdict(CONFIG))
    assert learner.iteration(state) == 6


def test_only_the_buffer_that_is_needed_is_kept(learner, copy):
    run(learner, Run(copy, resume=True, save_every=1, stop_at=7, evaluate_every=0), asdict(CONFIG))
    kept = sorted(path.stem for path in (copy / "checkpoints" / "buffer").rglob("*.safetensors"))
    assert kept == ["0000004", "0000005", "0000006"]  # CONFIG.kept is 3


def test_ctrl_c_finishes_the_iteration_and_saves(learner, tmp_path):
    def interrupt(network, iteration):
        if iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return {"asked": 1.0}

    settings = Run(tmp_path / "run", save_every=100, evaluate_every=1)
    state, done = run(learner, settings, asdict(CONFIG), evaluate=interrupt)
    assert not done
    assert learner.iteration(state) == 2
    again = learner.load(settings.checkpoints)
    for one, other in zip(jax.tree.leaves(state.rings), jax.tree.leaves(again.rings), strict=True):
        np.testing.assert_array_equal(one, other)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
