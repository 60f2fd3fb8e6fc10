"""The rating curve: shares, ratings and pictures from results that are known."""

import json
import sys

import numpy as np
import pytest

from tests.benchmarks.scripts import script

curve = script("benchmarks/ppo_curve.py")


def match(file, rival, wins, draws=0, games=400, board="8-12", choice="sampled"):
    results = np.repeat([1.0, 0.0, -1.0], [wins, draws, games - wins - draws])
    told = {"file": file, "minutes": 1.0, "board": board, "rival": rival, "choice": choice}
    return told | curve.counted(results)


def test_a_share_is_of_wins_and_draws_are_not():
    told = curve.counted(np.array([1, 1, 1, 0, -1, -1, -1, -1, -1, -1], float))
    assert (told["wins"], told["draws"], told["losses"]) == (3, 1, 6)
    assert told["share"] == 0.3
    # Wilson's interval of 3 in 10, by hand: (0.3 + 0.192 ± 1.96 · √(0.021 + 0.0096)) / 1.384
    assert (told["low"], told["high"]) == pytest.approx((0.1078, 0.6032), abs=1e-4)


def test_who_wins_three_of_four_is_191_points_ahead():
    matches = [match("old", "hunter", 100), match("new", "hunter", 300), match("new", "cascade", 200)]
    matches += [match("new", "hunter", 400, board="18-24")]  # another board is another rating
    rows = {row["name"]: row for row in curve.fitted("8-12", matches, "hunter")}
    # 400 · log₁₀ 3 = 190.8; an even match with cascade puts it level.
    assert rows["new sampled"]["rating"] == pytest.approx(190.8, abs=0.5)
    assert rows["old sampled"]["rating"] == pytest.approx(-190.8, abs=0.5)
    assert rows["cascade"]["rating"] == pytest.approx(190.8, abs=0.5)
    assert rows["new sampled"]["low"] < 190 < rows["new sampled"]["high"]
    (above,) = [row for row in curve.fitted("18-24", matches, "hunter") if row["name"] != "hunter"]
    assert above["rating"] is None
    assert curve.rating_words(above).startswith("above +")


def test_a_rating_from_draws_alone_is_not_one():
    rows = curve.fitted("8-12", [match("new", "hunter", 0, draws=400)], "hunter")
    assert [curve.rating_words(row) for row in rows if row["name"] != "hunter"] == ["not measurable"]


def test_what_was_played_becomes_a_table_and_a_picture(tmp_path, monkeypatch, capsys):
    matches = [
        match(file, rival, wins, choice=choice)
        for choice in ("sampled", "greedy")
        for file, rival, wins in (("old", "hunter", 0), ("new", "hunter", 300), ("new", "cascade", 90))
    ]
    (tmp_path / "curve.json").write_text(json.dumps({"matches": matches}))
    monkeypatch.setattr(sys, "argv", ["ppo_curve.py", "--table", "--out", str(tmp_path)])
    curve.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| board | weights | minutes | moves | hunter | cascade | rating |"
    assert lines[2].startswith("| 8-12 | old | 1 | sampled | 0.0% (0.0% to 1.0%) |  | below -")
    assert lines[3].startswith("| 8-12 | new | 1 | sampled | 75.0% (70.5% to 79.0%) | 22.5%")
    assert len(lines) == 6
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "ratings" in json.loads((tmp_path / "curve.json").read_text())
