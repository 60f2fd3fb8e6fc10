"""GENERAL against its rules page, one sentence at a time, and what must always hold."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.core import play
from stratagem.core.errors import BadOption, IllegalAction
from stratagem.core.game import draw
from stratagem.games.general import General
from stratagem.games.general.text import on_board, signs

GAME = General()
afterstate, outcomes, legal_of, resolve = map(
    jax.jit, (GAME.afterstate, GAME.outcomes, GAME.legal, GAME.resolve)
)
EMPTY_ROW = ". . . . . . . . . ."


def position(rows, role="attacker", die=1, hits=0, rights="ADO", turn=None):
    """A state from {row number from 1: picture of the row}; player 1 is the Attacker. The General is put in."""
    lines = [rows.get(row, EMPTY_ROW).replace(" ", "") for row in range(1, 11)]
    for row in (4, 5):
        assert lines[row][4:6] in ("..", "GG")
        lines[row] = lines[row][:4] + "GG" + lines[row][6:]
    turn = {"attacker": 0, "defender": 1}[role] if turn is None else turn
    return GAME.read(f"{'/'.join(lines)} 1 {turn} {die} {hits} {rights}")


def moves(state, start=""):
    """The legal actions by name; with `start` only the ends of those from that cell."""
    seat = int(np.argmax(GAME.to_move(state)))
    names = [GAME.write_action(int(action)) for action in np.flatnonzero(legal_of(state)[seat])]
    return {name.removeprefix(f"{start}-") for name in names if name.startswith(start)}


def act(state, move):
    """What is there after an action, before chance speaks."""
    action = GAME.read_action(move)
    play.check(GAME, state, [action, action])
    return afterstate(state, jnp.full(2, action, jnp.int32))


def units(after, role):
    """The cells of a side, by name."""
    rows = signs(after.state)
    return {f"{'abcdefghij'[c]}{r + 1}" for r in range(10) for c in range(10) if rows[r][c] == role}


def dice(after):
    """{die: probability}, whatever else chance decides."""
    chances = np.asarray(outcomes(after)).reshape(12, 7).sum(axis=0)
    return {die: pytest.approx(chance) for die, chance in enumerate(chances) if chance > 0}


# Board and start.


def test_twelve_units_a_side_fill_their_garrisons_at_the_start():
    start = GAME.opening().state
    assert signs(start) == [
        "AAA....AAA",
        "AA......AA",
        "A........A",
        "..........",
        "....GG....",
        "....GG....",
        "..........",
        "D........D",
        "DD......DD",
        "DDD....DDD",
    ]


def test_a_fair_toss_decides_who_attacks_and_the_attacker_moves_first():
    chances = np.asarray(outcomes(GAME.opening())).reshape(12, 7)
    assert chances.sum(axis=1)[:2] == pytest.approx([1 / 2, 1 / 2])
    for slot in (0, 1):
        state = resolve(GAME.opening(), jnp.int32(slot * 7 + 3))
        assert int(state.attacker) == slot
        assert np.asarray(GAME.to_move(state)).tolist() == [slot == 0, slot == 1]


# Moves.


def test_a_unit_moves_exactly_as_far_as_the_die_in_eight_directions():
    state = position({8: ". . . A . . . . . .", 1: "D . . . . . . . . ."}, die=2)
    assert moves(state) == {f"d8-{end}" for end in ("b6", "d6", "f6", "b8", "f8", "b10", "d10", "f10")}


def test_no_move_leaves_the_board():
    state = position({1: "A . . . . . . . . .", 10: ". . . . . . . . . D"}, die=3)
    assert moves(state) == {"a1-d1", "a1-a4", "a1-d4"}


def test_cells_passed_over_must_be_empty_of_units_of_either_side():
    state = position({1: "A . A . . . . . . .", 2: "D . . . . . . . . .", 10: "D . . . . . . . . ."}, die=4)
    # East the own unit on c1 is in the way, south the enemy on a2; the diagonal ends on the General.
    assert moves(state, "a1") == {"e5"}


def test_the_general_may_not_be_passed_over():
    state = position({5: ". . . A . . . . . .", 10: "D . . . . . . . . ."}, die=3)
    assert "g5" not in moves(state, "d5")
    assert "d8" in moves(state, "d5")


def test_a_move_may_not_end_on_an_own_unit_and_takes_an_enemy():
    state = position({1: ". . . A . A . D . A", 10: "D . . . . . . . . ."}, die=2)
    assert "d1-f1" not in moves(state)
    after = act(state, "f1-h1")
    assert units(after, "A") == {"d1", "h1", "j1"}
    assert units(after, "D") == {"a10"}


# Attacking the General.


def test_an_unguarded_general_takes_a_hit_and_the_attacking_unit_is_removed():
    state = position({5: ". . A . . . . . . .", 1: "A . . . . . . . . .", 10: "D . . . . . . . . ."}, die=2)
    after = act(state, "c5-e5")
    assert int(after.state.hits) == 1
    assert units(after, "A") == {"a1"}
    assert units(after, "D") == {"a10"}


def test_a_guarded_general_takes_no_hit_and_one_guard_is_drawn_uniformly():
    rows = {
        1: "A . . . . . . . . .",
        4: ". . . D . . D . . .",
        5: ". . A . . . . . . .",
        7: ". . . D . . . . . D",
    }
    after = act(position(rows, die=2), "c5-e5")
    assert int(after.state.hits) == 0
    assert units(after, "A") == {"a1"}
    chances = np.asarray(outcomes(after)).reshape(12, 7).sum(axis=1)
    taken = {}
    for slot in np.flatnonzero(chances):
        left = units(after._replace(state=resolve(after, jnp.int32(slot * 7))), "D")
        (gone,) = {"d4", "g4", "d7", "j7"} - left
        taken[gone] = chances[slot]
    assert taken == {cell: pytest.approx(1 / 3) for cell in ("d4", "g4", "d7")}


def test_the_last_attacker_unit_takes_a_guard_along():
    state = position({4: ". . . D . . . . . .", 5: ". . A . . . . . . .", 9: "D . . . . . . . . ."}, die=2)
    after = act(state, "c5-e5")
    end = resolve(after, jnp.argmax(outcomes(after)).astype(jnp.int32))
    assert units(after._replace(state=end), "D") == {"a9"}
    assert np.asarray(GAME.returns(end)).tolist() == [-1, 1]


def test_a_defender_may_not_end_on_the_general():
    state = position({1: "A . . . . . . . . .", 8: ". . . . D . . . . ."}, "defender", die=2)
    assert "e6" not in moves(state, "e8")


# Garrisoning.

GARRISONED = {
    1: "A . . . . . . . . .",
    2: ". . . . . . D . . .",
    3: "A . . . . . . . . .",
    9: ". . . . A . . . . D",
}


def test_with_a_six_a_unit_in_its_garrison_may_go_to_any_empty_cell_outside_garrisons_and_general():
    state = position(GARRISONED, die=6)
    taken = {"a1", "g2", "a3", "e9", "j9"}
    triangles = {f"{c}{r}" for r, columns in ((1, "abchij"), (2, "abij"), (3, "aj")) for c in columns}
    triangles |= {f"{c}{11 - int(r)}" for c, r in (name for name in triangles)}
    general = {"e5", "f5", "e6", "f6"}
    everything = {f"{c}{r}" for c in "abcdefghij" for r in range(1, 11)}
    free = everything - taken - triangles - general
    assert moves(state, "a1") == free | {"g1"}
    assert len(free) == 100 - 24 - 4 - 2, "all but garrisons, the General, and the units on g2 and e9"
    after = act(state, "a1-d5")
    assert units(after, "A") == {"d5", "a3", "e9"}
    assert np.asarray(after.state.garrisoned).tolist() == [True, False]


def test_garrisoning_needs_a_six_a_unit_in_the_garrison_and_the_right():
    assert "d5" not in moves(position(GARRISONED, die=5), "a1")
    assert moves(position(GARRISONED, die=6), "e9") == set(), (
        "outside the garrison, and no line of six is free"
    )
    assert moves(position(GARRISONED, die=6, rights="DO"), "a1") == {"g1"}


def test_what_could_be_a_move_of_six_is_one_and_the_garrisoning_is_kept():
    state = position(GARRISONED, die=6)
    assert np.asarray(act(state, "a1-g1").state.garrisoned).tolist() == [False, False]
    # Along the diagonal the General is in the way, so the same six cells are a garrisoning.
    assert np.asarray(act(state, "a1-g7").state.garrisoned).tolist() == [True, False]


def test_each_side_has_its_own_garrisoning():
    state = position(GARRISONED, "defender", die=6, rights="DO")
    after = act(state, "j9-d4")
    assert np.asarray(after.state.garrisoned).tolist() == [True, True]


# Offensive of the General.

STORMED = {
    1: "A . . . . . . . . .",
    4: ". . . A . . . . . .",
    6: ". . . . . . A A . .",
    9: "D . . . . . . . . D",
}


def test_the_offensive_removes_one_attacker_unit_of_the_moat():
    state = position(STORMED, "defender", die=1)
    assert {name for name in moves(state) if "offensive" in name} == {"offensive d4", "offensive g6"}
    after = act(state, "offensive g6")
    assert units(after, "A") == {"a1", "d4", "h6"}
    assert units(after, "D") == {"a9", "j9"}
    assert bool(after.state.stormed)


def test_the_offensive_is_for_a_one_once_and_for_fewer_than_three_units():
    assert not any("offensive" in name for name in moves(position(STORMED, "defender", die=2)))
    assert not any("offensive" in name for name in moves(position(STORMED, "defender", die=1, rights="AD")))
    three = STORMED | {10: ". . . D . . . . . ."}
    assert not any("offensive" in name for name in moves(position(three, "defender", die=1)))
    assert not any("offensive" in name for name in moves(position(STORMED, "attacker", die=1)))


def test_a_defender_without_units_still_has_the_offensive():
    state = position({1: "A . . . . . . . . .", 4: ". . . A . . . . . ."}, "defender", die=1)
    assert moves(state) == {"offensive d4"}


# Conversion.


def test_the_only_unit_of_the_triangle_is_converted_at_once():
    state = position({1: "A . . . . . . . . A", 3: ". . D . . . . . . ."}, "defender", die=1)
    after = act(state, "c3-b2")
    assert units(after, "D") == {"a1", "b2"}
    assert units(after, "A") == {"j1"}
    assert int(after.state.turn) == 2


def test_of_several_units_the_defender_chooses_in_the_same_turn_without_a_die():
    state = position({1: "A A . . . . . . . A", 3: ". . D . . . . . . ."}, "defender", die=1)
    after = act(state, "c3-b2")
    assert dice(after) == {0: 1}
    chosen_next = resolve(after, jnp.int32(0))
    assert int(chosen_next.turn) == 1
    assert moves(chosen_next) == {"convert a1", "convert b1"}
    end = act(chosen_next, "convert b1")
    assert units(end, "D") == {"b1", "b2"}
    assert units(end, "A") == {"a1", "j1"}
    assert int(end.state.turn) == 2
    assert set(dice(end)) <= {1, 2, 3, 4, 5, 6}


def test_a_unit_taken_on_arrival_is_not_there_to_be_converted():
    state = position({1: "A . A . . . . . . A", 3: ". . D . . . . . . ."}, "defender", die=2)
    after = act(state, "c3-c1")
    assert units(after, "D") == {"a1", "c1"}
    alone = position({1: ". . A . . . . . . A", 3: ". . D . . . . . . ."}, "defender", die=2)
    assert units(act(alone, "c3-c1"), "D") == {"c1"}


def test_only_the_triangle_in_which_the_move_ends_converts_and_only_for_the_defender():
    state = position({1: "A A . . . . . . . A", 3: ". . . . . . . D . ."}, "defender", die=1)
    assert units(act(state, "h3-i2"), "D") == {"i2", "j1"}
    passing = position({1: "A A . D . . . . . A"}, "defender", die=6)
    assert units(act(passing, "d1-j1"), "D") == {"j1"}
    attacker = position({8: ". . A . . . . . . .", 10: "D D . . . . . . . ."}, "attacker", die=1)
    assert units(act(attacker, "c8-b9"), "A") == {"b9"}


def test_converting_the_last_attacker_unit_wins():
    state = position({1: "A . . . . . . . . .", 3: ". . D . . . . . . ."}, "defender", die=1)
    after = act(state, "c3-b2")
    assert np.asarray(GAME.returns(after.state)).tolist() == [-1, 1]


# Stalemate.


def test_the_die_is_drawn_uniformly_from_the_values_that_allow_something():
    # North of the unit on a10 a unit is in reach of 3, east of it one of 2, and the diagonal is shut at once.
    rows = {7: "A . . . . . . . . A", 9: ". A . . . . . . . .", 10: "D . A . . . . . . ."}
    after = act(position(rows, die=1, rights="AO"), "j7-j6")
    assert dice(after) == {die: pytest.approx(1 / 3) for die in (1, 2, 3)}


def test_dice_that_allow_nothing_are_never_rolled():
    rows = {9: "A A . . . . . . . .", 10: "D A . A . . . . . ."}
    after = act(position(rows, die=1, rights="AO"), "d10-e10")
    assert dice(after) == {1: 1}, "hemmed in by three Attackers, it can only take one of them"


def test_the_turn_passes_if_no_value_allows_anything():
    state = position({1: "A . . . . . . . . ."}, die=1)
    after = act(state, "a1-b1")
    assert dice(after) == {0: 1}
    stuck = resolve(after, jnp.int32(0))
    assert moves(stuck) == {"pass"}
    again = act(stuck, "pass")
    assert int(again.state.turn) == 2
    assert dice(again) == {die: pytest.approx(1 / 6) for die in range(1, 7)}


# End.


def test_the_third_hit_wins_even_with_the_last_unit():
    state = position({5: ". . A . . . . . . .", 10: "D . . . . . . . . ."}, die=2, hits=2)
    after = act(state, "c5-e5")
    assert bool(GAME.done(after.state))
    assert np.asarray(GAME.returns(after.state)).tolist() == [1, -1]


def test_the_last_attacker_unit_gone_wins_for_the_defender():
    state = position({1: ". . . A . . . . . .", 3: ". . . D . . . . . ."}, "defender", die=2, hits=2)
    after = act(state, "d3-d1")
    assert np.asarray(GAME.returns(after.state)).tolist() == [-1, 1]
    assert dice(after) == {0: 1}


def test_after_three_hundred_turns_it_is_a_draw():
    state = position({1: "A . . . . . . . . .", 3: ". . . D . . . . . ."}, "defender", die=1, turn=299)
    after = act(state, "d3-d4")
    assert bool(GAME.done(after.state))
    assert bool(GAME.truncated(after.state))
    assert np.asarray(GAME.returns(after.state)).tolist() == [0, 0]


def test_the_cap_on_turns_is_an_option():
    assert General(turns=40).spec.title == "general:turns=40"
    with pytest.raises(BadOption, match="turns is 1 to 10000, not 0"):
        General(turns=0)


# Actions, views, words.


def test_there_are_10004_actions_and_the_last_three_are_never_legal():
    assert GAME.spec.actions == 10_004
    assert GAME.read_action("pass") == 10_000
    assert GAME.read_action("a1-d4") == 33
    assert GAME.read_action("offensive d4") == 44 * 100 + 33
    assert GAME.read_action("convert b1") == 101
    assert [GAME.write_action(action) for action in (10_001, 10_003)] == ["reserved 1", "reserved 3"]
    for action in range(10_004):
        assert GAME.read_action(GAME.write_action(action)) == action


def test_the_view_shows_what_the_page_lists():
    state = position(STORMED, "defender", die=3, hits=1, rights="DO")
    attacker, defender = (np.asarray(GAME.view(state, jnp.int32(seat))) for seat in (0, 1))
    assert attacker.shape == (10, 10, 15)
    for mine, theirs, role in ((attacker, defender, 1), (defender, attacker, 0)):
        assert np.array_equal(mine[..., 0], theirs[..., 1])
        assert (mine[..., 3] == role).all()
        assert (mine[..., 4] == 1 - role).all()
        assert np.array_equal(mine[..., 5], -theirs[..., 5])
        assert mine[..., 6] == pytest.approx(3 / 6)
        assert mine[..., 7] == pytest.approx(1 / 3)
        assert (mine[..., 2].sum(), mine[..., 8].sum()) == (4, 12)
        assert (mine[..., 11] == 1).all()
    assert np.argwhere(attacker[..., 0]).tolist() == [[0, 0], [3, 3], [5, 6], [5, 7]]
    assert (attacker[..., 9] == 0).all(), "the Attacker has garrisoned, the Defender not"
    assert (attacker[..., 10] == 1).all()
    # Twelve cells of garrison are mine; twelve and the General are the Defender's.
    assert ((attacker[..., 5] == 1).sum(), (attacker[..., 5] == -1).sum()) == (12, 16)


def test_scores_count_units_and_four_for_a_hit():
    assert GAME.scores(position(STORMED, hits=2, die=1)).tolist() == [4 + 2 * 4, 2]


def test_a_reflection_leaves_the_offensive_where_it_is_named():
    reflected = np.asarray(GAME.symmetries().actions[1])
    assert reflected[GAME.read_action("offensive d4")] == GAME.read_action("offensive g4")
    assert reflected[GAME.read_action("a1-d4")] == GAME.read_action("j1-g4")
    assert reflected[10_000] == 10_000


@pytest.mark.parametrize(
    ("state", "move", "reason"),
    [
        (lambda: position(STORMED, die=2), "b1-d1", "none of your units stands on b1"),
        (lambda: position(STORMED, die=2), "a1-b1", "a1-b1 is 1 cells, the die shows 2"),
        (lambda: position(STORMED, die=2), "a1-c2", "not along one of the 8 directions"),
        (lambda: position(STORMED, die=3), "a1-d4", "your own unit stands on d4"),
        (lambda: position(STORMED, die=3), "d4-g7", "the way is blocked on e5"),
        (lambda: position(STORMED, "defender", die=4), "a9-e5", "may not stand on the General"),
        (lambda: position(STORMED, die=2), "pass", "no value of the die allows anything"),
        (lambda: position(STORMED, die=2), "reserved 2", "reserved"),
        (lambda: position(STORMED, die=2), "convert a1", "nothing to convert"),
        (lambda: position(STORMED, die=1), "offensive d4", "the Defender's"),
        (lambda: position(STORMED, "defender", die=2), "offensive d4", "needs a die of 1, not 2"),
        (
            lambda: position(STORMED, "defender", die=1),
            "offensive e4",
            "no Attacker unit stands in the moat on e4",
        ),
        (lambda: position(STORMED, "defender", die=1, rights="AD"), "offensive d4", "used already"),
        (lambda: position(GARRISONED, die=6, rights="DO"), "a1-d5", "garrisoned already"),
        (lambda: position(GARRISONED, die=6), "e9-d5", "only units in your garrisons"),
        (lambda: position(GARRISONED, die=6), "a1-b1", "needs an empty cell outside"),
        (
            lambda: position({1: "A A . . . . . . . .", 2: ". D . . . . . . . ."}, "defender", die="<"),
            "b2-b3",
            "a1, b1",
        ),
        (lambda: position({1: "A . . . . . . . . ."}, "defender", die="-"), "a1-b1", "there is only pass"),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_reason(state, move, reason):
    action = GAME.read_action(move)
    with pytest.raises(IllegalAction, match=reason):
        play.check(GAME, state(), [action, action])


GOOD = "A.........{}/........../....GG..../....GG..../........../........../........../D.........".format(
    "/.........." * 2
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("A 1 0 1 0 ADO", "10 rows of 10 cells"),
        (f"{GOOD} 1 0 1 0", "wanted the board"),
        (f"{GOOD.replace('D', 'X')} 1 0 1 0 ADO", "'X' is not A, D, G or ."),
        (f"{GOOD.replace('GG', 'G.')} 1 0 1 0 ADO", "G stands on e5, f5, e6, f6"),
        (f"{GOOD} 3 0 1 0 ADO", "player 1 or 2, not '3'"),
        (f"{GOOD} 1 301 1 0 ADO", "the turn is 0 to 300"),
        (f"{GOOD} 1 0 7 0 ADO", "the die is 1 to 6"),
        (f"{GOOD} 1 0 1 4 ADO", "hits are 0 to 3"),
        (f"{GOOD} 1 0 1 0 OAD", "some of ADO in this order"),
        (f"{GOOD} 1 0 < 0 ADO", "only the Defender"),
        (f"{GOOD} 1 1 < 0 ADO", "among two units or more"),
        (f"{GOOD} 1 0 - 0 ADO", "here the die is one of 1, 2, 3, 4, 5, 6, not -"),
    ],
)
def test_a_bad_position_text_says_what_is_wrong(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        GAME.read(text)


@pytest.mark.parametrize("word", ["", "a1", "a1-", "a1-k4", "a11-a1", "convert", "storm d4"])
def test_a_bad_action_text_is_refused(word):
    with pytest.raises(ValueError, match=r"is not a (move|cell)"):
        GAME.read_action(word)


# What must always hold.


@lru_cache
def random_games(turns):
    """From a key: State[T] of a random game, and whether each was over."""

    def turn(state, key):
        choose_key, step_key = jax.random.split(key)
        stepped = GAME.step(state, GAME.sample(state, jax.random.uniform(choose_key, (2,))), step_key)
        done = GAME.done(state)
        return jax.tree.map(lambda old, new: jnp.where(done, old, new), state, stepped), (state, done)

    def run(key):
        init_key, key = jax.random.split(key)
        return jax.lax.scan(turn, GAME.init(init_key), jax.random.split(key, turns))[1]

    return jax.jit(jax.vmap(run))


@given(st.integers(0, 2**31 - 1))
@settings(deadline=None, max_examples=10, derandomize=True)
def test_what_holds_in_every_game_holds_in_random_ones(seed):
    games = jax.tree.map(np.asarray, random_games(200)(jax.random.split(jax.random.key(seed), 4)))
    for number in range(4):
        holds_throughout(*jax.tree.map(lambda leaf, number=number: leaf[number], games))


def holds_throughout(states, done):
    cells = np.stack([[on_board(rows) for rows in both] for both in states.units])  # bool[T, 2, 100]
    attackers, defenders = cells.sum(axis=2).T
    general = np.isin(np.arange(100), (44, 45, 54, 55))
    assert not (cells[:, 0] & cells[:, 1]).any(), "one unit a cell"
    assert not cells[:, :, general].any(), "nothing ever stands on the General"
    assert (np.diff(attackers) <= 0).all(), "the Attacker never gains a unit"
    assert (np.diff(attackers + defenders) <= 0).all(), "no unit is ever born"
    assert (np.diff(attackers + defenders) >= -2).all(), (
        "an interception takes one of each, nothing takes more"
    )
    gained = np.diff(defenders)
    assert (gained <= 1).all()
    assert (np.diff(attackers)[gained == 1] < 0).all(), "the Defender gains only what the Attacker loses"
    hits = np.diff(states.hits.astype(int))
    assert ((hits == 0) | (hits == 1)).all()
    assert (np.diff(attackers)[hits == 1] == -1).all(), "a hit costs the unit"
    assert (np.diff(states.garrisoned.astype(int), axis=0) >= 0).all(), "a right does not come back"
    assert (np.diff(states.stormed.astype(int)) >= 0).all()
    turn = np.diff(states.turn.astype(int))
    assert np.array_equal(turn == 0, (states.converting[1:] > 0) | done[:-1]), "only a choice is not a turn"
    assert (states.die[done | (states.converting > 0)] == 0).all()


def test_a_step_is_the_outcome_that_its_key_draws():
    """The step finds it slot first; the general way reads it off all 84 probabilities."""
    game = General(turns=200)

    def both(state, key):
        choose_key, step_key = jax.random.split(key)
        action = game.sample(state, jax.random.uniform(choose_key, (2,)))
        stepped = game.step(state, action, step_key)
        same = jnp.stack(
            [
                (one == other).all()
                for one, other in zip(
                    stepped, draw(game, game.afterstate(state, action), step_key), strict=True
                )
            ]
        )
        done = game.done(state)
        return jax.tree.map(lambda old, new: jnp.where(done, old, new), state, stepped), same.all() | done

    def run(key):
        return jax.lax.scan(both, game.init(key), jax.random.split(key, 200))[1]

    assert jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), 64)).all()
