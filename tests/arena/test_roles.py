"""Results by role, in a game whose seats have different jobs."""

import json

import pytest

from stratagem.arena.report import markdown, standing
from stratagem.arena.roles import Seated, role_scores
from stratagem.arena.tournament import Tournament, run_tournament

SHORT = Tournament("general:turns=12", ("random", "expectimax:depth=1"), games=4)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("roles") / "results.jsonl"
    run_tournament(SHORT, path, workers=1)
    return path


def test_scores_are_counted_by_role():
    games = [
        Seated(("a", "b"), ("Attacker", "Defender"), (1.0, -1.0)),
        Seated(("b", "a"), ("Attacker", "Defender"), (0.0, 0.0)),
        Seated(("b", "a"), ("Defender", "Attacker"), (1.0, -1.0)),
        Seated(("a", "b"), (), (1.0, -1.0)),  # played before roles were recorded
    ]
    rows = {(row.player, row.role): row for row in role_scores(games, ["a", "b"])}
    attacking = rows["a", "Attacker"]
    assert (attacking.wins, attacking.draws, attacking.losses, attacking.score) == (1, 0, 1, 0.5)
    assert attacking.low < 0.5 < attacking.high
    assert (rows["b", "Defender"].wins, rows["b", "Defender"].games) == (1, 2)
    assert rows["a", "Defender"].score == 0.5
    pairs = role_scores(games, ["a", "b"], pairs=True)
    assert {row.against for row in pairs if row.player == "a"} == {None, "b"}


def test_both_games_of_a_seed_have_one_toss_so_roles_are_swapped(log):
    rows = [json.loads(line) for line in log.read_text().splitlines()][1:]
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert first["seed"] == second["seed"]
        assert first["players"] == second["players"][::-1]
        assert first["roles"] == second["roles"]
        assert sorted(first["roles"]) == ["Attacker", "Defender"]


def test_every_player_has_each_role_equally_often_in_the_report(log):
    outcome = standing(SHORT, run_tournament(SHORT, log))
    everybody = [row for row in outcome.roles if row.against is None]
    assert [row.games for row in everybody] == [2, 2, 2, 2]
    assert {row["role"] for row in outcome.as_json()["roles"]} == {"Attacker", "Defender"}
    report = markdown(outcome)
    assert "## By role" in report
    assert "The row as Attacker against the column:" in report


def test_a_log_from_before_roles_is_still_read(log, tmp_path):
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines[1:]:
        del line["roles"]
    old = tmp_path / "results.jsonl"
    old.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = standing(SHORT, run_tournament(SHORT, old))
    assert outcome.roles == []
    assert "## By role" not in markdown(outcome)
    assert "roles" not in outcome.as_json()


def test_games_without_roles_are_reported_as_ever(tmp_path):
    plain = Tournament("corso:width=2,height=2", ("random", "greedy"), games=2)
    outcome = standing(plain, run_tournament(plain, tmp_path / "results.jsonl"))
    assert outcome.roles == []
    assert "roles" not in (tmp_path / "results.jsonl").read_text()
