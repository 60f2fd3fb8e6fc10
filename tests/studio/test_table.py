"""One table without a server: seats, fog, undo, and a journal that survives anything."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagem.agents.weight_files import SHIPPED
from stratagem.core.errors import BadOption, IllegalAction, StratagemError
from stratagem.games import make_game
from stratagem.protocols import replay as replays
from stratagem.studio.choices import catalogue, check_agent, read_game
from stratagem.studio.journal import NoSuchGame, path_of
from stratagem.studio.luck import fresh_dice
from stratagem.studio.opponents import offers
from stratagem.studio.rules import rules_of
from stratagem.studio.shelf import Shelf
from stratagem.studio.table import Table, played

CORSO = make_game("corso:width=3,height=3")
CRAG = make_game("crag")
FOG = make_game("generals:width=6,height=6,cap=80,castles_from=1,castles_to=2,apart=4")


@pytest.fixture
def sit(tmp_path):
    """Begins games in a folder."""

    def begin(game, players=("human", "random"), folder=tmp_path):
        dice = None if game.spec.chance == "none" else fresh_dice("my words")
        return Table.start(rules_of(game), list(players), 7, 2.0, folder, dice)

    return begin


def first_moves(table):
    """Whatever is legal first, for everybody who is to move."""
    return {seat: int(table.look.legal[seat].argmax()) for seat in table.movers}


def test_a_secret_holds_its_own_seat_and_no_other(sit, tmp_path):
    table, tokens = sit(CORSO, ("human", "human"))
    assert table.seats_of([tokens[0]]) == [0]
    assert table.seats_of([tokens[1]]) == [1]
    assert table.seats_of(["", "guess", table.header.keys[0]]) == []
    assert tokens[0] not in (tmp_path / f"{table.id}.jsonl").read_text()


def test_an_agents_seat_cannot_be_held(sit):
    table, tokens = sit(CORSO)
    assert tokens[1] == ""
    assert table.seats_of([""]) == []


def test_an_illegal_move_leaves_no_trace(sit, tmp_path):
    table, _ = sit(CORSO)
    before = (tmp_path / f"{table.id}.jsonl").read_text()
    for action in (-1, 9, 10**9):
        with pytest.raises(IllegalAction):
            table.act({0: action})
    assert table.turn == 0
    assert (tmp_path / f"{table.id}.jsonl").read_text() == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["move", "undo"]), st.integers(0, 8)), max_size=20))
def test_a_game_comes_back_from_its_journal_as_it_was(sit, tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("games")
    table, tokens = sit(CORSO, ("human", "human"), folder)
    for step, number in steps:
        try:
            if step == "undo":
                table.undo(number % 2)
            else:
                table.act({table.movers[0]: number} if table.movers else {})
        except IllegalAction:
            continue
    again = Table.restore(folder, table.id)
    assert again.actions == table.actions
    assert CORSO.write(again.state) == CORSO.write(table.state)
    assert again.over == table.over
    assert again.seats_of([tokens[1]]) == [1]


def test_a_line_that_was_cut_short_is_dropped_and_the_rest_stands(sit, tmp_path):
    table, _ = sit(CRAG)
    for _ in range(5):
        table.act(first_moves(table))
    path = tmp_path / f"{table.id}.jsonl"
    path.write_bytes(path.read_bytes()[:-4])
    again = Table.restore(tmp_path, table.id)
    assert again.actions == table.actions[:4]
    again.act(first_moves(again))
    assert again.actions == table.actions  # the same dice fall again


def test_the_luck_is_sealed_before_the_game_and_verified_after_it(sit, tmp_path):
    table, _ = sit(CRAG)
    seal = table.facts([0])["commitment"]
    said = json.dumps([table.facts([0]), table.position([0]), table.summary()])
    assert table.header.dice["secret"] not in said
    with pytest.raises(IllegalAction, match="secret until then"):
        table.replay()
    while not table.over:
        table.act(first_moves(table))
    replay = replays.load(tmp_path / f"{table.id}.json")
    assert replay.fair["commitment"] == seal
    assert replay.fair["nonce"] == "my words"
    replays.verify(replay)


def test_a_seat_is_told_what_it_sees_and_nothing_else(sit):
    table, _ = sit(FOG, ("human", "human"))
    for _ in range(12):
        table.act(first_moves(table))
    mine, theirs = table.position([0]), table.position([1])
    assert mine["drawing"] == FOG.draw(table.state, 0)
    assert mine["drawing"] != theirs["drawing"]
    assert [one["seat"] for one in mine["last"]] == [0]
    assert table.facts([0])["moves"] == []
    assert not table.sees_all()
    table.resign(0)
    assert table.sees_all()


def test_undo_goes_back_to_the_own_last_decision(sit):
    table, _ = sit(CORSO)
    table.act({0: 4})
    table.act({1: 0})
    table.undo(0)
    assert table.turn == 0
    assert table.movers == [0]
    with pytest.raises(IllegalAction, match="not moved yet"):
        table.undo(0)


def test_turns_that_were_taken_back_do_not_stand():
    events = [{"actions": [1, -1]}, {"actions": [-1, 2]}, {"undo": 1}, {"actions": [-1, 3]}, {"resigned": 0}]
    assert played(events) == ([[1, -1], [-1, 3]], [0])


@pytest.mark.parametrize(
    "name", ["../secrets", "a/b/c/d/e/f/g", "", "x" * 50, "..", "abc.jsonl/../../x", "é" * 14]
)
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    with pytest.raises(NoSuchGame):
        path_of(tmp_path, name)


@pytest.mark.parametrize(
    "text",
    [
        "az:weights=/etc/passwd",
        "net:weights=x",
        "net:weights=../other/weights.safetensors",
        "net:weights=run/checkpoint.safetensors",
        "net:weights=broken/weights.safetensors",
        "net:weights=linked/weights.safetensors",
        "remote:socket=/tmp/x",
        "mm:depth=40",
        "mm:depth=nan",
        "nobody",
        "hunter",
        "az:simulations=1000000",
    ],
)
def test_a_page_cannot_name_a_file_or_have_an_agent_think_for_hours(text, tmp_path):
    runs, other = tmp_path / "runs", tmp_path / "other"
    for folder in (runs / "run", runs / "broken", other):
        folder.mkdir(parents=True)
    for place in (runs / "run" / "checkpoint.safetensors", other / "weights.safetensors"):
        shutil.copy(SHIPPED / "corso.safetensors", place)
    (runs / "broken" / "weights.safetensors").write_bytes(b"no weights")
    (runs / "linked").symlink_to(other)
    with pytest.raises(StratagemError):
        check_agent(text, CORSO, Shelf(runs))


def test_weights_of_a_training_run_are_offered_and_found(tmp_path):
    (tmp_path / "mine").mkdir()
    shutil.copy(SHIPPED / "corso.safetensors", tmp_path / "mine" / "weights.safetensors")
    shelf, game = Shelf(tmp_path), make_game("corso")
    agent = "az:simulations=100,weights=mine/weights.safetensors"
    assert offers(game, shelf)[-1]["agent"] == agent
    assert check_agent(agent, game, shelf) == agent
    assert shelf.opened(agent) == f"az:simulations=100,weights={tmp_path}/mine/weights.safetensors"
    assert not [one for one in offers(make_game("generala"), shelf) if "mine" in one["agent"]]
    with pytest.raises(BadOption, match="not trained for"):
        check_agent(agent, make_game("corso:players=3"), shelf)


def test_a_perfect_player_of_an_unsolved_game_says_so_and_how_long_it_takes(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATAGEM_CACHE", str(tmp_path))
    game, shelf = make_game("yacht"), Shelf(tmp_path)
    perfect = next(one for one in offers(game, shelf) if one["agent"] == "malina")
    assert not perfect["ready"]
    # 1,275,321,683 positions at 1.2 million a second are 1063 seconds.
    assert "`stratagem solve yacht` does it, in about 18 minutes" in perfect["why"]
    with pytest.raises(BadOption, match="not solved on this machine yet"):
        check_agent("malina", game, shelf)
    ready = {one["agent"] for one in offers(game, shelf) if one["ready"]}
    assert {"joe", "maximus", "mindful"} <= ready


def test_a_page_cannot_open_a_scenario_of_its_own(tmp_path):
    with pytest.raises(BadOption, match="iberia-small"):
        read_game(f"hispania:scenario={tmp_path}/mine.toml")


def test_every_opponent_and_board_that_is_offered_exists(tmp_path):
    shelf = Shelf(tmp_path)
    for game in catalogue():
        for board in game["boards"]:
            assert read_game(board["game"]).spec.seats == board["seats"]
        offered = [one for one in offers(make_game(game["name"]), shelf) if one["ready"]]
        for one in offered:
            assert check_agent(one["agent"], make_game(game["name"]), shelf) == one["agent"]
            assert one["words"]
        assert game["against"] in [one["agent"] for one in offered]
