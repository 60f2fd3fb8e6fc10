"""Data sets of Generals: what is worth imitating is kept, and comes back as it was played."""

import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core.errors import BadOption, DamagedFile, IllegalAction, RulesetMismatch
from stratagem.games.generals import Generals
from stratagem.protocols.generals_dataset import Dataset, Filters, Writer, samples
from stratagem.protocols.replay import Replay, positions

BOARD = Generals(4, 4, cap=70)
ANY = Filters(stars=0, activity=0)
START = "A . c2 / # . B"


def game_of(width=3, height=2, **options):
    return Generals(width, height, **{"cap": 70, **options})


def replay_of(moves, turns, start=START, resigned=(), returns=(0.0, 0.0), game=None):
    """Moves {(turn, seat): text}; all else are passes on the generals at 0,0 and 1,2."""
    game = game or game_of()
    spec = game.spec
    actions = [[0 * 9 + 8, (1 * game.width + 2) * 9 + 8] for _ in range(turns)]
    for (turn, seat), text in moves.items():
        actions[turn][seat] = game.read_action(text)
    return Replay(
        spec.name, dict(spec.parameters), spec.ruleset, ["a", "b"], actions, list(returns), start=start,
        resigned=list(resigned),
    )  # fmt: skip


# A's general holds 11 at turn 20; they walk round to B's, left with 1 by a move to the castle's cell, 2 at turn 22.
ATTACK = {(20, 0): "0,0 right", (20, 1): "1,2 up", (21, 0): "0,1 down", (22, 0): "1,1 right"}
WON = replay_of(ATTACK, 23, returns=(1.0, -1.0))
GIVEN_UP = replay_of({(4, 0): "0,0 right"}, 6, resigned=[0], returns=(-1.0, 1.0))
OPEN = replay_of({}, 70)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three games in two shards, from boards of different sizes."""
    folder = tmp_path_factory.mktemp("data") / "set"
    tall = replay_of(
        {}, 3, "A . . / . . B / . . . / . . .", resigned=[1], returns=(1.0, -1.0), game=game_of(height=4)
    )
    with Writer(folder, BOARD, ANY, shard=2) as writer:
        for number, replay in enumerate((WON, GIVEN_UP, tall)):
            assert writer.add(replay, [80, None], f"game {number}") is None
        assert writer.add(OPEN) == "undecided"
    return folder


def copied(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_games_come_back_as_they_were_played(folder):
    data = Dataset(folder)
    games = list(data)
    assert (len(data), data.turns, data.dropped) == (3, 23 + 6 + 3, {"undecided": 1})
    assert [game.source for game in games] == ["game 0", "game 1", "game 2"]
    assert [len(game.actions) for game in games] == [23, 6, 3]
    assert games[0].returns.tolist() == [1, -1]
    assert games[0].stars[0] == 80
    assert np.isnan(games[0].stars[1])
    # Row 0, column 1 of a board of 3 is cell 1; on one of 4 it is, too; row 1 begins at 4 instead of 3.
    assert BOARD.write_action(int(games[0].actions[21, 0])) == "0,1 down"
    assert BOARD.write_action(int(games[0].actions[20, 1])) == "1,2 up"


def test_samples_are_what_the_seats_saw_and_did(folder):
    data = Dataset(folder, BOARD)
    [batch] = data.batches(8)
    padded = replace(
        WON,
        start="A . c2 # / # . B # / # # # # / # # # #",
        parameters=dict(BOARD.spec.parameters),
        ruleset=BOARD.spec.ruleset,
        actions=np.asarray(batch.actions[0, :23]).tolist(),
    )
    states = list(positions(padded))
    turns = list(samples(BOARD, batch))
    assert len(turns) == 23
    assert [int(sample.live.sum()) for sample in turns] == [3] * 3 + [2] * 3 + [1] * 17
    for turn in (0, 5, 20, 22):
        for seat in range(2):
            expected = BOARD.view(states[turn], jnp.int32(seat))
            for mine, theirs in zip(turns[turn].view, expected, strict=True):
                np.testing.assert_array_equal(mine[0, seat], theirs)
        np.testing.assert_array_equal(turns[turn].legal[0], BOARD.legal(states[turn]))
        assert turns[turn].legal[0, jnp.arange(2), turns[turn].actions[0]].all()


def test_batches_hold_every_game_once_in_a_seeded_order(folder):
    data = Dataset(folder)
    for seed in (None, 1, 2):
        sizes = [len(batch.turns) for batch in data.batches(2, seed)]
        assert sizes == [2, 1]
        assert sorted(int(turn) for batch in data.batches(2, seed) for turn in batch.turns) == [3, 6, 23]
    orders = {tuple(game.source for game in data.in_order(seed)) for seed in range(8)}
    assert len(orders) > 1
    assert len({tuple(game.source for game in data.in_order(3)) for _ in range(3)}) == 1


@pytest.mark.parametrize(
    ("replay", "filters", "stars", "why"),
    [
        (WON, ANY, [None, None], None),
        (OPEN, ANY, [99, 99], "undecided"),
        (WON, Filters(longest=22, stars=0, activity=0), [None, None], "too long"),
        (WON, Filters(stars=0), [None, None], "idle"),  # A moves in 3 of 23 turns
        (WON, Filters(stars=0, activity=1 / 23), [None, None], None),  # B in 1 of 23
        (WON, Filters(activity=0), [None, 69.9], "too few stars"),
        (WON, Filters(activity=0), [12, 70], None),
        (replay_of({}, 3, "A . . . . / . . B . .", game=game_of(5)), ANY, [1, 1], "too large"),
        (replay_of({}, 3, "A . . / . . B", game=game_of(deathtouch=5)), ANY, [1, 1], "other rules"),
    ],
)
def test_filters_keep_what_is_worth_imitating(replay, filters, stars, why, tmp_path):
    writer = Writer(tmp_path / "set", BOARD, filters)
    assert writer.add(replay, stars) == why
    assert writer.dropped == ({why: 1} if why else {})


def test_wrong_games_are_refused(tmp_path):
    writer = Writer(tmp_path / "set", BOARD, ANY)
    with pytest.raises(IllegalAction, match="turn 1, seat 0"):
        writer.add(replay_of({(0, 0): "0,0 right"}, 3, resigned=[0], returns=(-1.0, 1.0)))
    with pytest.raises(DamagedFile, match="claims"):
        writer.add(replace(WON, returns=[-1.0, 1.0]))
    with pytest.raises(DamagedFile, match="turn 0"):
        writer.add(replace(GIVEN_UP, start=START + " | 4 -"))
    with pytest.raises(BadOption, match="activity"):
        Filters(activity=80)


def test_a_writer_that_was_cut_off_leaves_an_unfinished_set(tmp_path):
    with pytest.raises(ZeroDivisionError), Writer(tmp_path / "set", BOARD, ANY, shard=1) as writer:
        writer.add(WON)
        raise ZeroDivisionError
    with pytest.raises(DamagedFile, match="unfinished"):
        Dataset(tmp_path / "set")
    with pytest.raises(BadOption, match="already"):
        Writer(tmp_path / "set", BOARD, ANY)


def test_a_damaged_shard_is_named(folder, tmp_path):
    copy = copied(folder, tmp_path)
    shard = copy / "shard-00001.npz"
    whole = shard.read_bytes()
    for damaged in (whole[:-10], whole[:50] + b"?" + whole[51:], b""):
        shard.write_bytes(damaged)
        with pytest.raises(DamagedFile, match=r"shard-00001\.npz"):
            list(Dataset(copy))
    shard.unlink()
    with pytest.raises(DamagedFile, match="incomplete"):
        list(Dataset(copy))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "?"}, "not a data set"),
        ({"version": 2}, "version 2"),
        ({"shards": [{}]}, "damaged"),
        ({"parameters": {"width": "wide"}}, "damaged"),
    ],
)
def test_a_damaged_index_is_a_clear_error(change, words, folder, tmp_path):
    copy = copied(folder, tmp_path)
    index = json.loads((copy / "dataset.json").read_text())
    (copy / "dataset.json").write_text(json.dumps({**index, **change}))
    with pytest.raises(DamagedFile, match=words):
        Dataset(copy)


def test_other_rules_are_refused(folder):
    with pytest.raises(RulesetMismatch, match="other rules"):
        Dataset(folder, replace(BOARD, cap=71))
