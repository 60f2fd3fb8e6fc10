"""Replays of Generals on the command line: there and back, what is wrong is named, and the rest goes on."""

import json

import pytest

from stratagem.games.generals import Generals
from stratagem.protocols import gior
from stratagem.protocols.generals_dataset import Dataset
from stratagem.protocols.replay import Replay
from stratagem.protocols.replay import load as load_replay
from tests.cli.test_main import run
from tests.protocols.test_gior import elsewhere

GAME = Generals(3, 2, cap=70)
# As in the tests of the files: A's general holds 11 at turn 20, and they walk round to B's.
ATTACK = {(20, 0): "0,0 right", (20, 1): "1,2 up", (21, 0): "0,1 down", (22, 0): "1,1 right"}


def won_game():
    actions = [[8, 5 * 9 + 8] for _ in range(23)]
    for (turn, seat), text in ATTACK.items():
        actions[turn][seat] = GAME.read_action(text)
    spec = GAME.spec
    parameters = dict(spec.parameters)
    return Replay(
        spec.name, parameters, spec.ruleset, ["a", "b"], actions, [1.0, -1.0], start="A . c2 / # . B"
    )


@pytest.fixture
def files(tmp_path):
    """Three files: one of ours, one from elsewhere with a move that is not legal, one that is none."""
    gior.save(won_game(), tmp_path / "ours.gior", stars=[80, None])
    # The first move takes one unit from the general at turn 2; the second asks for more than there is.
    moves = [[0, 0, 1, 0, 2], [0, 0, 1, 0, 3]]
    (tmp_path / "theirs.gior").write_bytes(elsewhere(moves, afks=[[1, 5]]))
    (tmp_path / "broken.gior").write_bytes(b"nonsense")
    return tmp_path


def test_files_are_imported_and_what_is_wrong_is_named_while_the_rest_goes_on(files, capsys):
    names = [str(files / f"{name}.gior") for name in ("broken", "ours", "theirs")]
    status, out, _ = run(capsys, "replays", "import", *names, "--out", str(files / "in"), "--json")
    told = json.loads(out)
    assert status == 1
    assert (told["imported"], told["failed"]) == (2, 1)
    broken, ours, theirs = told["files"]
    assert "broken.gior" in broken["error"]
    assert (ours["turns"], ours["ended"], ours["rejected"]) == (23, "general", 0)
    assert (theirs["ended"], theirs["moves"], theirs["rejected"]) == ("resigned", 2, 1)
    assert "move 1 (turn 3" in theirs["deviations"][0]
    assert sorted(path.name for path in (files / "in").iterdir()) == ["ours.json", "theirs.json"]
    status, _, _ = run(capsys, "verify", ours["replay"], theirs["replay"])
    assert status == 0


def test_strict_import_refuses_moves_that_are_not_legal(files, capsys):
    name = str(files / "theirs.gior")
    status, out, _ = run(capsys, "replays", "import", name, "--out", str(files / "in"), "--strict")
    assert status == 1
    assert "1 moves are not legal" in " ".join(out.split())
    assert not (files / "in").exists()


def test_two_files_of_one_name_do_not_become_one_replay(files, capsys):
    (files / "more").mkdir()
    (files / "more" / "ours.gior").write_bytes((files / "ours.gior").read_bytes())
    names = [str(files / "ours.gior"), str(files / "more" / "ours.gior")]
    status, out, _ = run(capsys, "replays", "import", *names, "--out", str(files / "in"), "--json")
    assert status == 1
    assert "rename one" in json.loads(out)["files"][1]["error"]


def test_an_exported_game_comes_back_as_it_was(tmp_path, capsys):
    won_game().save(tmp_path / "game.json")
    status, out, _ = run(capsys, "replays", "export", str(tmp_path / "game.json"), "--json")
    assert status == 0
    target = json.loads(out)["gior"]
    assert target == str(tmp_path / "game.gior")
    status, _, _ = run(capsys, "replays", "import", target, "--out", str(tmp_path / "back"))
    assert status == 0
    assert load_replay(tmp_path / "back" / "game.json") == won_game()


def test_a_data_set_takes_what_the_filters_let_through(files, capsys):
    won_game().save(files / "plain.json")
    (files / "notes.txt").write_text("not a game")
    words = [
        "replays",
        "dataset",
        str(files),
        "--game",
        "generals:width=4,height=4,cap=70",
        "--activity",
        "0",
    ]
    status, out, _ = run(capsys, *words, "--out", str(files / "set"), "--json")
    told = json.loads(out)
    # Ours has 80 stars, theirs 71; the replay has none, and one file is broken.
    assert status == 1
    assert (told["games"], told["left_out"]) == (2, {"too few stars": 1})
    assert ["broken.gior" in row["error"] for row in told["failed"]] == [True]
    assert sorted(game.source for game in Dataset(files / "set")) == ["ours.gior", "theirs.gior"]
    (files / "broken.gior").unlink()
    status, out, _ = run(
        capsys, *words, "--stars", "0", "--longest", "20", "--out", str(files / "short"), "--json"
    )
    assert status == 0  # the first data set lies in the folder and is passed over
    assert json.loads(out)["left_out"] == {"too long": 2}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["replays", "burn"], "replays does not know 'burn'"),
        (["replays", "dataset", "/nonexistent"], "no such folder"),
        (["replays", "dataset", ".", "--game", "corso"], "games of generals, not of corso"),
        (["replays", "dataset", "."], "no .gior or .json files"),
        (["replays", "dataset", ".", "--activity", "80"], "activity is 0 to 1"),
        (["replays", "export", "/nonexistent/game.json"], "no such file"),
    ],
)
def test_bad_words_get_one_clear_line(capsys, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, *words)
    assert status == 2
    assert complaint in " ".join(err.split())
    assert not list(tmp_path.iterdir())
