"""Several devices are one, several processes are one, and a process that is lost ends the run but loses nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict

import jax
import numpy as np
import pytest

from stratagem.core.errors import BadOption
from stratagem.learners.mesh import divided, mesh_of
from stratagem.learners.run import Run, run
from tests.learners.mesh_run import learner


def started(*words, devices=1):
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.learners.mesh_run", *map(str, words)],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process):
    out, problems = process.communicate(timeout=300)
    assert process.returncode == 0, problems[-3000:]
    return json.loads(out.splitlines()[-1])


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def test_four_devices_play_and_learn_what_one_does():
    facts = told(started("compare", devices=4))
    assert facts["devices"] == 4
    assert facts["spread"] == [4]
    assert facts["rows"] == 4  # of 16 games
    assert facts["weights"] < 1e-5 < 1e-3 < facts["moved"]
    assert max(facts["metrics"]) < 1e-4


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    one = learner(None)
    return run(one, Run(folder / "run", evaluate_every=0), asdict(one.config))[0]


def test_two_processes_end_where_one_does_and_one_of_them_writes(alone, tmp_path):
    address = free_address()
    both = [started("process", tmp_path / "run", 4, address, 2, number) for number in (0, 1)]
    assert [told(one) for one in both] == [{"done": True, "devices": 2}] * 2
    written = learner(None).load(tmp_path / "run" / "checkpoints")
    for one, other in zip(jax.tree.leaves(written.network), jax.tree.leaves(alone.network), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_array_equal(written.lanes.length, alone.lanes.length)
    rows = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["iteration"] for row in rows] == [1, 2, 3, 4]


def test_a_lost_process_ends_the_run_and_it_goes_on_from_what_was_saved(tmp_path):
    folder = tmp_path / "run"
    address = free_address()
    both = [started("process", folder, 100_000, address, 2, number) for number in (0, 1)]
    try:
        saved = folder / "checkpoints" / "checkpoint.safetensors"
        deadline = time.monotonic() + 200
        while not saved.exists():
            assert time.monotonic() < deadline
            assert both[0].poll() is None, both[0].communicate()[1][-3000:]
            time.sleep(0.1)
        both[1].send_signal(signal.SIGKILL)
        _, problems = both[0].communicate(timeout=90)
    finally:
        for one in both:
            one.kill()
            one.communicate()
    assert both[0].returncode not in (0, -signal.SIGKILL)
    assert "a process of this run is gone" in problems
    one = learner(None, 100_000)
    state = one.load(folder / "checkpoints")
    done = one.iteration(state)
    assert done >= 1
    settings = Run(folder, resume=True, stop_at=done + 1, evaluate_every=0)
    state, _ = run(one, settings, asdict(one.config))
    assert one.iteration(state) == done + 1


def test_what_does_not_go_round_is_refused():
    class Three:
        size = 3

    with pytest.raises(BadOption, match="games must be a multiple of the 3 devices, not 16"):
        divided(Three(), minibatch=9, games=16)
    with pytest.raises(BadOption, match="devices"):
        mesh_of(100)
