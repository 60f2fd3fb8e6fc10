"""The command line as people and programs use it: good words, bad words, and what is left behind."""

import json
import os
import subprocess
import sys

import pytest

from stratagem.cli.main import COMMANDS, main


def run(capsys, *words):
    """(exit status, stdout, stderr) of a command in this process."""
    try:
        status = main(list(words))
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    told = capsys.readouterr()
    return status, told.out, told.err


def test_help_names_every_command(capsys):
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("solve", "replays")])
def test_every_command_explains_itself(capsys, command):
    status, out, _ = run(capsys, command, "--help")
    assert status == 0
    assert f"stratagem {command}" in out


def test_solving_three_by_three_prints_the_promised_object(capsys):
    status, out, _ = run(capsys, "solve", "corso", "--width", "3", "--height", "3", "--json")
    assert status == 0
    content = json.loads(out)
    assert set(content) == {
        "game", "ruleset", "width", "height", "value", "margin", "first_moves", "nodes", "seconds",
    }  # fmt: skip
    assert content["value"] == 1
    assert content["margin"] == 3
    assert content["first_moves"] == [[-3, 1, -3], [1, 3, 1], [-3, 1, -3]]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["conquer"], "no command is called 'conquer'"),
        (["match", "corso", "mimax", "random"], "no agent is called 'mimax'"),
        (["match", "chess", "random", "greedy"], "no game is called 'chess'"),
        (["match", "corso:width=99", "random", "greedy"], "width is 1 to 8, not 99"),
        (["match", "corso", "random", "random"], "every entrant once"),
        (["match", "corso", "random", "greedy", "mm"], "has 2 seats; got 3 agents"),
        (["tournament", "corso", "random"], "at least two entrants"),
        (["tournament", "corso", "random", "mm:deep=3"], "no option 'deep'"),
        (["solve", "go"], "solve does not know 'go'"),
        (["solve", "corso", "--width", "7", "--height", "9"], "height is 1 to 8, not 9"),
        (["solve", "corso", "--width", "8", "--height", "8"], "up to 40 cells"),
        (["play", "corso", "--seat", "3"], "seats 1 to 2, not 3"),
        (["verify", "/nonexistent/game.json"], "no such file"),
    ],
)
def test_bad_input_gets_one_clear_line_and_a_status(capsys, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *words)
    assert status in (1, 2)
    told = err if words[0] != "verify" else out
    assert complaint in " ".join(told.split())
    assert len(told.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_match_and_verify_speak_json(capsys, tmp_path):
    games = tmp_path / "games"
    words = [
        "match",
        "corso:width=3,height=3",
        "greedy",
        "random",
        "--games",
        "6",
        "--save",
        str(games),
        "--json",
    ]
    status, out, _ = run(capsys, *words)
    assert status == 0
    content = json.loads(out)
    assert [row["agent"] for row in content["agents"]] == ["greedy", "random"]
    assert sum(row["score"] for row in content["agents"]) == pytest.approx(1)
    files = sorted(map(str, games.iterdir()))
    assert len(files) == 6
    status, out, _ = run(capsys, "verify", *files, "--json")
    assert status == 0
    assert json.loads(out)["valid"] == 6


def test_a_corrupt_replay_is_reported_and_left_alone(capsys, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"format": "stratagem-replay", "version": 1, "game": "cor')
    status, out, _ = run(capsys, "verify", str(bad))
    assert status == 1
    assert "not readable as JSON" in " ".join(out.split())
    assert bad.read_text().endswith('"cor')


def test_a_tournament_log_with_a_torn_line_goes_on(capsys, tmp_path):
    words = [
        "tournament",
        "corso:width=3,height=3",
        "random",
        "greedy",
        "--games",
        "6",
        "--out",
        str(tmp_path),
        "--json",
    ]
    status, out, _ = run(capsys, *words)
    assert status == 0
    log = tmp_path / "results.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-25])
    status, again, _ = run(capsys, *words)
    assert status == 0
    assert json.loads(again)["ratings"] == json.loads(out)["ratings"]
    lines = log.read_bytes().splitlines()
    assert len(lines) == len(whole.splitlines())
    lines[2] = b"garbage"
    log.write_bytes(b"\n".join(lines) + b"\n")
    status, _, err = run(capsys, *words)
    assert status == 2
    assert "line 3 is not JSON" in err


def test_a_full_disk_is_one_clear_line_and_nothing_is_lost(tmp_path):
    """A limit on the size of files stands in for a full disk: both make a write fail half way."""
    words = ["tournament", "corso:width=3,height=3", "random", "greedy", "--games", "20", "--json", "--out"]
    command = [sys.executable, "-m", "stratagem.cli.main", *words, str(tmp_path)]
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "limited", *command]  # files of at most 1 KiB
    full = subprocess.run(limited, capture_output=True, text=True, timeout=300)
    assert full.returncode == 2
    assert (
        full.stderr.strip()
        .splitlines()[-1]
        .startswith("stratagem: a file could not be written: File too large")
    )
    assert "Traceback" not in full.stderr
    again = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0
    assert json.loads(again.stdout)["counts"][0][1] == 20


def test_a_folder_that_cannot_be_made_is_one_clear_line(capsys):
    status, _, err = run(
        capsys, "tournament", "corso", "random", "greedy", "--games", "2", "--out", "/dev/null/x"
    )
    assert status == 2
    assert "stratagem: /dev/null/x: Not a directory" in err


def test_doctor_finds_everything_well(capsys):
    status, out, _ = run(capsys, "doctor", "--json")
    content = json.loads(out)
    assert status == 0
    assert content["healthy"]
    assert {test["name"] for test in content["self_test"]} >= {"solves 3×3 Corso"}


def test_bench_measures(capsys):
    status, out, _ = run(
        capsys, "bench", "corso:width=3,height=3", "--batch", "64", "--repeats", "2", "--json"
    )
    assert status == 0
    assert json.loads(out)["games_per_second"] > 0


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    import signal
    import time

    words = [
        "tournament",
        "corso",
        "random",
        "mm:depth=1",
        "mm:depth=2",
        "--games",
        "200000",
        "--out",
        str(tmp_path),
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "stratagem.cli.main", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    log = tmp_path / "results.jsonl"
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n") > 30):
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)  # games under way are given up
    assert running.returncode == 130
    assert "goes on from there" in " ".join(err.split())
    assert "Traceback" not in err
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(rows) > 30
