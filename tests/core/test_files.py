"""Files are whole or absent."""

import json

import pytest

from stratagem.core.errors import DamagedFile
from stratagem.core.files import append_json, atomic_write, read_json, recover_lines, write_json


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"old": True})
    with pytest.raises(RuntimeError, match="power cut"), atomic_write(path, "w") as file:
        file.write("half of the n")
        raise RuntimeError("power cut")
    assert read_json(path) == {"old": True}
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_file_may_be_read_by_whoever_the_user_lets_read_files(tmp_path):
    (tmp_path / "plain").write_text("")
    write_json(tmp_path / "ours", {})
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_log_cut_short_by_a_kill_loses_only_its_last_line(tmp_path):
    path = tmp_path / "log.jsonl"
    append_json(path, [{"n": 1}, {"n": 2}])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"n": 3, "half')
    assert recover_lines(path) == [{"n": 1}, {"n": 2}]
    assert path.read_bytes() == whole
    append_json(path, [{"n": 3}])
    assert [row["n"] for row in recover_lines(path)] == [1, 2, 3]


def test_a_bad_line_in_the_middle_of_a_log_is_named_and_kept(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"n": 1}\n{"n": oops}\n{"n": 3}\n')
    with pytest.raises(DamagedFile, match="line 2 is not JSON"):
        recover_lines(path)
    assert path.read_text() == '{"n": 1}\n{"n": oops}\n{"n": 3}\n'


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"not json"])
def test_unreadable_json_is_a_clear_error(tmp_path, content):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"bad\.json: not readable as JSON"):
        read_json(path)
    with pytest.raises(DamagedFile, match="no such file"):
        read_json(tmp_path / "absent.json")


def test_json_round_trips(tmp_path):
    write_json(tmp_path / "deep" / "file.json", [1, {"a": None}])
    assert json.loads((tmp_path / "deep" / "file.json").read_text()) == [1, {"a": None}]
