"""What can happen to a table: damage, other rules, a full disk, Ctrl-C, a kill. The next run always finishes."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from stratagem.core.errors import DamagedFile, RulesetMismatch, StratagemError
from stratagem.games.dice.family import generala
from stratagem.solvers import dice_table
from stratagem.solvers.dice import solve
from stratagem.solvers.dice_table import load_table, table_path

SMALL = generala().reduced("ones", "escalera", "generala")
MIDDLE = generala().reduced("ones", "twos", "fours", "sixes", "full_house", "four_of_a_kind", "generala")


@pytest.fixture(scope="module")
def value(tmp_path_factory):
    return solve(SMALL, folder=tmp_path_factory.mktemp("sound")).start_equity


def test_a_second_run_loads_what_the_first_one_solved(tmp_path, value):
    solve(SMALL, folder=tmp_path)
    reports = []
    assert solve(SMALL, folder=tmp_path, progress=reports.append).start_equity == value
    assert reports == []


@pytest.mark.parametrize("place", [0, 20, 4096, 5000, -1], ids=["magic", "header", "first", "middle", "last"])
def test_a_damaged_table_is_refused_and_solved_again_once_removed(tmp_path, value, place):
    solve(SMALL, folder=tmp_path)
    path = table_path(SMALL, folder=tmp_path)
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)
    with pytest.raises((DamagedFile, RulesetMismatch), match="solve again"):
        solve(SMALL, folder=tmp_path)
    path.unlink()
    assert solve(SMALL, folder=tmp_path).start_equity == value


def test_a_shortened_table_is_refused(tmp_path):
    path = solve(SMALL, folder=tmp_path).path
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 4)
    with pytest.raises(DamagedFile, match="bytes, not"):
        load_table(SMALL, folder=tmp_path)


def test_a_table_of_other_rules_is_refused_by_name(tmp_path):
    other = generala().reduced("twos", "escalera", "generala")
    solve(other, folder=tmp_path).path.rename(table_path(SMALL, folder=tmp_path))
    with pytest.raises(RulesetMismatch, match="twos"):
        load_table(SMALL, folder=tmp_path)


def test_a_missing_table_says_how_to_make_it(tmp_path):
    with pytest.raises(StratagemError, match="stratagem solve"):
        load_table(SMALL, folder=tmp_path)


def test_a_full_disk_keeps_the_finished_layers_and_the_next_run_goes_on(tmp_path, value, monkeypatch):
    append, appended = dice_table.Growing.append, []

    def fill_up(self, values):
        if len(appended) == 3:
            self.file.write(values.data[: len(values) // 2])  # half a layer still fits
            self.file.flush()
            raise OSError(errno.ENOSPC, "No space left on device")
        appended.append(values)
        append(self, values)

    with monkeypatch.context() as patch:
        patch.setattr(dice_table.Growing, "append", fill_up)
        with pytest.raises(StratagemError, match=r"no space left.*finished layers are kept"):
            solve(SMALL, folder=tmp_path)
    reports = []
    assert solve(SMALL, folder=tmp_path, progress=reports.append).start_equity == value
    assert {report.layer for report in reports} == {4, 5, 6}


def test_a_write_that_the_system_refuses_half_way_is_explained(tmp_path):
    """A limit on file sizes fails a write as a full disk does, part of the way through a layer."""
    code = (
        "import resource, signal, sys, pathlib; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "from test_dice_table import MIDDLE; from stratagem.solvers.dice import solve\n"
        "solve(MIDDLE, folder=pathlib.Path(sys.argv[1]))"
    )
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=here, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "the table needs" in done.stderr
    reports = []
    solve(MIDDLE, folder=tmp_path, progress=reports.append)
    assert reports[0].layer > 1


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_stopped_is_taken_up_where_it_was(tmp_path, signal_):
    code = (
        "import sys, pathlib; from test_dice_table import MIDDLE; from stratagem.solvers.dice import solve\n"
        "solve(MIDDLE, folder=pathlib.Path(sys.argv[1]), threads=1,\n"
        "      progress=lambda report: print(report.layer, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=os.path.dirname(__file__), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as run:  # fmt: skip
        for line in run.stdout:
            if int(line) >= 6:
                break
        time.sleep(0.05)
        run.send_signal(signal_)
        assert run.wait() != 0
    assert not table_path(MIDDLE, folder=tmp_path).exists()
    reports = []
    table = solve(MIDDLE, folder=tmp_path, progress=reports.append)
    assert reports[0].layer >= 6
    assert reports[0].resumed > 0
    fresh = solve(MIDDLE, folder=tmp_path / "fresh")
    for layer in range(1, table.board.layers + 1):
        np.testing.assert_array_equal(table.layer(layer), fresh.layer(layer))


def test_two_runs_do_not_write_one_table(tmp_path):
    with (
        dice_table.growing_table(SMALL, "float32", tmp_path),
        pytest.raises(StratagemError, match="another process"),
    ):
        solve(SMALL, folder=tmp_path)


def test_sixteen_bits_err_by_half_a_step_at_most_a_layer(tmp_path):
    exact, rough = solve(SMALL, folder=tmp_path), solve(SMALL, kind="int16", folder=tmp_path)
    worst = max(np.abs(exact.layer(n) - rough.layer(n)).max() for n in range(1, 7))
    assert worst <= dice_table.QUANTUM / 2 + 1e-7
