"""Replays of generals.io: what we write comes back unchanged, what others wrote is checked move by move."""

import contextlib
import json
from dataclasses import replace
from functools import lru_cache

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from stratagem.core import play
from stratagem.core.errors import DamagedFile, IllegalAction, StratagemError, Unsupported
from stratagem.games.generals import Generals
from stratagem.protocols import gior, lzstring
from stratagem.protocols.generals_dataset import Dataset, Filters, Writer
from stratagem.protocols.replay import Replay, positions, result, verify

SMALL = Generals(6, 5, cap=30, castles_from=1, castles_to=3, apart=4)
BUILDING = Generals(6, 5, cap=110, build=True, deathtouch=104, apart=4)
DRAWN = "A . # . . . / . c41 . . . . / . . .3 . . . / . . . # . . / . . . . . B"

# What the JavaScript library lz-string 1.5.0 makes of some texts.
STREAMS = {
    "": "4000",
    "hello": "0585303660f64000",
    "ababababa": "218235ec8000",
    '[7,"x",18]': "3687603404401e1608c00e02e900",
}


@lru_cache
def functions(game):
    return jax.jit(game.init), jax.jit(game.step), jax.jit(game.legal)


def record(game, seed, start=None, resigned=(), turns=10_000, script=None):
    """A game of random actions as a replay; or one by a script {(turn, seat): action as text} and passes."""
    init, step, legal = functions(game)
    state = init(play.turn_key(seed, -1)) if start is None else game.read(start)
    rng, actions = np.random.default_rng(seed), []
    while not bool(game.done(state)) and len(actions) < turns:
        row = [int(rng.choice(np.flatnonzero(mask))) for mask in np.asarray(legal(state))]
        if script is not None:
            row = [int(cell) * game.per_cell + 8 for cell in state.generals]
            for seat in range(2):
                if (len(actions), seat) in script:
                    row[seat] = game.read_action(script[len(actions), seat])
        actions.append(row)
        state = step(state, jnp.asarray(row, jnp.int32), play.turn_key(seed, len(actions) - 1))
    spec = game.spec
    replay = Replay(
        game=spec.name,
        parameters=dict(spec.parameters),
        ruleset=spec.ruleset,
        seats=["random", "Πέτρος 🙂"],
        actions=actions,
        returns=[],
        seed=seed if start is None else None,
        start=start,
        resigned=list(resigned),
        seconds=[0.1, 1 / 3],
    )
    return replace(replay, returns=result(replay, game, state))


@lru_cache
def own_file():
    """The text of a file of ours."""
    return lzstring.decompress(gior.write(record(SMALL, 1, DRAWN)))


def elsewhere(moves, afks=(), **changed):
    """A file as another program writes it: 3 wide, 2 high, A upper left and B lower right, a castle, a mountain.

    A . #
    c2 . B
    """
    entries = {
        "version": 7, "id": "abc", "width": 3, "height": 2, "usernames": ["one", "two"], "stars": [71, 12.5],
        "cities": [3], "city_armies": [2], "generals": [0, 5], "mountains": [2], "moves": moves,
        "afks": list(afks), "teams": None,
    }  # fmt: skip
    return lzstring.compress(json.dumps([*{**entries, **changed}.values()]))


def test_streams_are_those_of_the_library():
    for text, stream in STREAMS.items():
        assert lzstring.compress(text).hex() == stream
        assert lzstring.decompress(bytes.fromhex(stream)) == text


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(codec="utf-16"), max_size=80) | st.text("ab", max_size=200))
def test_any_text_comes_back(text):
    assert lzstring.decompress(lzstring.compress(text)) == text


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_text_or_a_clear_error(data):
    with contextlib.suppress(DamagedFile):
        assert isinstance(lzstring.decompress(data), str)


def test_a_small_file_cannot_fill_the_memory():
    with pytest.raises(DamagedFile, match="longer than 1000"):
        lzstring.decompress(lzstring.compress("a" * 5000), longest=1000)


@pytest.mark.parametrize("seed", range(3))
def test_our_games_come_back_as_they_were(seed, tmp_path):
    replay = record(SMALL, seed)
    gior.save(replay, tmp_path / "game.gior", stars=[80, None])
    back = gior.load(tmp_path / "game.gior")
    assert back.replay == replay
    assert back.stars == [80, None]
    assert back.deviations == []


def test_builds_and_deathtouch_come_back_as_they_were():
    # At turn 98 a general holds 1 + 49 + 1: 50 leave it, enough for a castle next to it, which costs 35 + 12.
    script = {(98, 0): "0,0 right", (99, 0): "0,1 build", (98, 1): "4,5 up half"}
    replay = record(BUILDING, 5, DRAWN.replace("c41", "."), script=script)
    assert replay.actions[99][0] % 10 == 9
    assert gior.convert(gior.read(gior.write(replay))).replay == replay


def test_a_drawn_map_and_a_resignation_come_back_as_they_were():
    replay = record(SMALL, 1, DRAWN, resigned=[1], turns=20)
    imported = gior.convert(gior.read(gior.write(replay)))
    assert imported.replay == replay
    assert imported.ended == "resigned"
    assert imported.replay.returns == [1.0, -1.0]


def test_others_read_our_file_by_its_places():
    replay = record(SMALL, 0)
    entries = json.loads(lzstring.decompress(gior.write(replay)))
    _, _, width, height, names, _, castles, garrisons, generals, mountains, moves, afks, teams = entries[:13]
    assert (width, height, names, afks, teams) == (6, 5, replay.seats, [], None)
    assert len(castles) == len(garrisons)
    assert all(40 <= army <= 49 for army in garrisons)
    assert not {*castles, *generals} & {*mountains}
    assert all(abs(start - end) in (1, 6) for _, start, end, _, _ in moves)
    assert sum(action % 9 != 8 for row in replay.actions for action in row) == len(moves)


def test_a_foreign_game_becomes_a_replay_that_verifies():
    # By turn 2 either general holds 2, by turn 4 again after its move. Player 1 sits still.
    moves = [[0, 0, 1, 0, 2], [0, 0, 1, 0, 4], [0, 1, 4, 0, 5]]
    imported = gior.convert(gior.read(elsewhere(moves, [[1, 9]])))
    assert imported.deviations == []
    assert (imported.id, imported.stars, imported.ended, imported.moves) == ("abc", [71, 12.5], "resigned", 3)
    assert imported.replay.seats == ["one", "two"]
    assert imported.replay.start == "A . # / c2 . B | 0 -"
    assert imported.replay.resigned == [1]
    assert len(imported.replay.actions) == 9
    verify(imported.replay)


def test_taking_the_general_ends_the_game_and_what_follows_is_reported():
    # At turn 20 either general holds 11. Player 0's go to the castle, player 1's round to the general left with 1,
    # which has grown to 2 by turn 22: 10, 9 and 8 units move.
    moves = [[0, 0, 3, 0, 20], [1, 5, 4, 0, 20], [1, 4, 1, 0, 21], [1, 1, 0, 0, 22], [0, 3, 4, 0, 30]]
    imported = gior.convert(gior.read(elsewhere(moves)))
    assert imported.ended == "general"
    assert imported.replay.returns == [-1.0, 1.0]
    assert len(imported.replay.actions) == 23
    assert [(one.number, one.rejected) for one in imported.deviations] == [(4, True)]
    assert "the game is over" in str(imported.deviations[0])
    verify(imported.replay)


def test_impossible_moves_are_named_and_the_game_goes_on():
    moves = [
        [0, 0, 1, 0, 0],  # one unit only
        [0, 0, 1, 0, 2],
        [0, 1, 2, 0, 4],  # one unit; into a mountain, besides
        [1, 0, 1, 0, 5],  # not theirs
        [1, 5, 0, 0, 6],  # no neighbours
        [1, 5, 4, 0, 6],
        [1, 5, 4, 0, 6],  # a second one in the turn
        [0, 0, 3, 0, 8],
    ]
    imported = gior.convert(gior.read(elsewhere(moves)))
    assert [one.number for one in imported.deviations] == [0, 2, 3, 4, 6]
    assert all(one.rejected for one in imported.deviations)
    whys = [one.why for one in imported.deviations]
    assert "at least one stays behind" in whys[0]
    assert "not yours" in whys[2]
    assert "no neighbours" in whys[3]
    assert "move 5" in whys[4]
    assert imported.ended == "open"


def test_a_move_that_comes_too_late_by_our_order_is_counted_apart():
    # Both stand next to each other in row 1 (cells 3 and 4); player 1 chases 0's source with more units, so by our
    # rules goes first, and player 0's move is left nothing to move.
    moves = [[0, 0, 1, 0, 10], [1, 5, 4, 0, 12], [0, 1, 0, 0, 13], [1, 4, 1, 0, 13]]
    imported = gior.convert(gior.read(elsewhere(moves)))
    assert [(one.number, one.rejected) for one in imported.deviations] == [(2, False)]
    assert "came first" in imported.deviations[0].why


def test_open_games_end_by_their_cap():
    imported = gior.convert(gior.read(elsewhere([[0, 0, 1, 0, 2]])))
    assert (imported.ended, imported.replay.parameters["cap"]) == ("open", 3)
    assert imported.replay.returns == [0.0, 0.0]
    verify(imported.replay)


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({"width": 40}, Unsupported, "40×2"),
        ({"width": "3"}, DamagedFile, "width"),
        ({"usernames": ["a", "b", "c"]}, Unsupported, "3 players"),
        ({"usernames": [["a"], "b"]}, DamagedFile, "usernames"),
        ({"generals": [0]}, DamagedFile, "1 generals"),
        ({"generals": [0, 6]}, DamagedFile, "0 to 5"),
        ({"mountains": [0]}, DamagedFile, "two things"),
        ({"city_armies": []}, DamagedFile, "as many armies"),
        ({"moves": [[0, 1]]}, DamagedFile, "move 0"),
        ({"moves": [[2, 0, 1, 0, 0]]}, DamagedFile, "move 0, player"),
        ({"moves": [[0, 0, 1, 0, 10**9]]}, DamagedFile, "move 0, turn"),
        ({"moves": [[0, 0, 1, 3, 1]]}, DamagedFile, "half"),
        ({"afks": [3]}, DamagedFile, "left"),
        ({"stars": "many"}, DamagedFile, "stars"),
        ({"teams": [1, 1]}, Unsupported, "one against one"),
        ({"title": None, "neutrals": [], "neutral_armies": [], "swamps": [4]}, Unsupported, "swamps"),
        ({"ours": {"else": 1}}, DamagedFile, "not one of Stratagem"),
    ],
)
def test_a_damaged_or_unknown_file_is_a_clear_error(changed, kind, words):
    with pytest.raises(kind, match=words):
        gior.read(elsewhere(**{"moves": [], **changed}))


def test_no_file_and_no_replay_are_clear_errors(tmp_path):
    with pytest.raises(DamagedFile, match="No such file"):
        gior.load(tmp_path / "none.gior")
    for data in (b"", b"\0", b"{}", lzstring.compress("{}"), lzstring.compress("[" * 10**5)):
        (tmp_path / "bad.gior").write_bytes(data)
        with pytest.raises(DamagedFile, match="bad"):
            gior.load(tmp_path / "bad.gior")


def test_a_file_of_ours_that_was_tampered_with_is_refused():
    entries = json.loads(lzstring.decompress(gior.write(record(SMALL, 2))))

    def changed(change):
        copy = json.loads(json.dumps(entries))
        change(copy)
        return lzstring.compress(json.dumps(copy))

    def refused(change, kind, words):
        with pytest.raises(kind, match=words):
            gior.convert(gior.read(changed(change)))

    refused(lambda file: file[10][0].__setitem__(4, 0), IllegalAction, "turn 1")  # nobody can move then
    refused(lambda file: file[7].__setitem__(0, 1), DamagedFile, "the map")
    refused(lambda file: file[28]["stratagem"].update(returns=[1.0, -1.0, 0.0]), DamagedFile, "claims")
    refused(lambda file: file[28]["stratagem"].pop("turns"), DamagedFile, "turns")
    refused(lambda file: file[28]["stratagem"].update(ruleset="0" * 16), StratagemError, "ruleset")
    refused(lambda file: file[28]["stratagem"].update(builds=[[0, 0]]), DamagedFile, "build")


def test_positions_that_no_gior_file_can_hold_are_refused():
    later = record(SMALL, 3, f"{DRAWN} | 7 -")
    with pytest.raises(Unsupported, match="turn 0"):
        gior.write(later)
    with pytest.raises(IllegalAction, match="turn 1"):
        gior.write(replace(later, start=DRAWN, actions=[[0, 0]]))


def test_imported_positions_are_those_of_the_rules():
    imported = gior.convert(gior.read(elsewhere([[0, 0, 1, 0, 2]])))
    game = imported.replay.rules()
    assert game.write(list(positions(imported.replay))[-1]) == "A .a1 # / c2 . gb2 | 3 ^"


def test_imported_games_of_any_size_make_a_data_set(tmp_path):
    board = Generals(gior.SIDE, gior.SIDE, cap=gior.LONGEST)
    moves = [[0, 0, 1, 0, 2], [1, 5, 4, 0, 2], [0, 0, 1, 0, 4], [1, 5, 4, 0, 4]]
    with Writer(tmp_path / "set", board, Filters(activity=0.4)) as writer:
        for afk in (5, 50):  # 2 moves in 5 turns are 40 %, in 50 they are not
            imported = gior.convert(gior.read(elsewhere(moves, [[0, afk]])))
            writer.add(imported.replay, imported.stars, imported.id)
    data = Dataset(tmp_path / "set")
    assert [(game.source, len(game.actions), game.returns.tolist()) for game in data] == [("abc", 5, [-1, 1])]
    assert data.dropped == {"idle": 1}


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "x", 10**12]),
    lambda some: st.lists(some, max_size=6) | st.dictionaries(st.sampled_from(["stratagem", "turns"]), some),
    max_leaves=8,
)


def refused_or_whole(entries):
    """Import the file: either an error of ours, or a game of two with a result."""
    try:
        imported = gior.convert(gior.read(lzstring.compress(json.dumps(entries))))
    except StratagemError:
        return
    assert len(imported.replay.seats) == len(imported.replay.returns) == 2
    assert sum(imported.replay.returns) == 0
    assert all(len(turn) == 2 for turn in imported.replay.actions)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 13), JUNK, st.lists(st.lists(st.integers(0, 6), min_size=5, max_size=5), max_size=8))
def test_no_file_crashes_the_import(place, junk, moves):
    entries = json.loads(lzstring.decompress(elsewhere(moves)))
    entries = [*entries[:place], junk, *entries[place + 1 :]]
    refused_or_whole(entries)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_no_change_of_our_own_entry_crashes_the_import(data):
    entries = json.loads(own_file())
    ours = entries[28]["stratagem"]
    ours[data.draw(st.sampled_from(sorted(ours)))] = data.draw(JUNK)
    refused_or_whole(entries)
