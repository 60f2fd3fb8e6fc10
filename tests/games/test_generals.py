"""Generals: single rules on small pictures, views, text, maps, and many games in lanes."""

from collections import deque
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core.errors import BadOption
from stratagem.games import COMPETITION
from stratagem.games.generals import Generals, Pool, Pooled, lanes, make_pool, refresh, rules
from stratagem.games.generals.board import CASTLE, DRAW, GENERAL, MOUNTAIN, PLAIN, army_of, clock_of, kind_of
from tests.games import generals_reference as slow
from tests.games.generals_maps import measure, walks

SMALL = Generals(width=4, height=3, cap=200, castles_from=0, castles_to=0)


def after(game, before, *actions):
    """The text of the position after both seats' actions."""
    state = game.read(before)
    numbers = [game.read_action(action) for action in actions]
    return game.write(game.step(state, jnp.asarray(numbers, jnp.int32)))


def test_a_move_leaves_one_behind_and_takes_with_strictly_more():
    # 5 − 1 = 4 units against 3: one remains. 4 − 1 = 3 against 3: nobody remains, and the cell keeps its owner.
    before = """
        A .a5 .b3 .
        . .   .   .
        . .a4 .b3 B | 1 -
    """
    text = after(SMALL, before, "0,1 right", "2,3 pass")
    assert text.split(" / ")[0] == "ga2 .a1 .a1 ."
    text = after(SMALL, before, "2,1 right", "2,3 pass")
    assert text.split(" / ")[2].startswith(". .a1 .b gb2")


def test_the_chased_stack_is_met_before_it_leaves():
    # Seat 0 moves onto the cell that seat 1 moves from, so seat 0 goes first, though its army is larger:
    # 9 − 1 = 8 against 5 leaves 3 for seat 0, and seat 1 has nothing left to move.
    before = """
        A .a9 .b5 .
        . .   .   .
        . .   .   B | 1 -
    """
    assert after(SMALL, before, "0,1 right", "0,2 down").startswith("ga2 .a1 .a3 . / . . . .")


def test_reinforcing_goes_before_attacking():
    # Seat 1 reinforces the cell that seat 0 attacks: 4 + 3 = 7 stand there when 6 arrive.
    before = """
        A .a7 .b4 .b4
        . .   .   .
        . .   .   B | 1 -
    """
    assert after(SMALL, before, "0,1 right", "0,3 left").startswith("ga2 .a1 .b1 .b1 /")


def test_taking_the_general_ends_the_game_and_brings_no_growth():
    before = """
        A . . .
        . . . .
        . . .a5 gb2 | 1 -
    """
    text = after(SMALL, before, "2,2 right", "2,3 pass")
    assert text == "A . . . / . . . . / . . .a1 xa2 | 2 a"
    state = SMALL.read(text)
    assert SMALL.returns(state).tolist() == [1.0, -1.0]
    assert not bool(SMALL.truncated(state))


def test_two_generals_that_fall_in_one_turn_are_a_draw():
    before = """
        A .b5 . .
        . . . .
        . . .a5 gb2 | 1 -
    """
    state = SMALL.read(after(SMALL, before, "2,2 right", "0,1 left"))
    assert int(state.winner) == DRAW
    assert SMALL.returns(state).tolist() == [0.0, 0.0]


def test_deathtouch_needs_no_larger_army_from_its_turn_on():
    before = """
        A . . .
        . . . .
        . . .a2 gb90 | {turn} -
    """
    game = Generals(width=4, height=3, cap=200, deathtouch=60)
    assert after(game, before.format(turn=59), "2,2 right", "2,3 pass").endswith("| 60 -")
    assert after(game, before.format(turn=60), "2,2 right", "2,3 pass").endswith("| 61 a")


def test_a_castle_costs_more_near_other_sites():
    # Two steps from the general: 35 + (14 − 2·2) = 45.
    game = Generals(width=4, height=3, cap=200, build=True)
    before = """
        A . .a{army} .
        . . . .
        . . . B | 1 -
    """
    assert after(game, before.format(army=44), "0,2 build", "2,3 pass").startswith("ga2 . .a44 .")
    assert after(game, before.format(army=46), "0,2 build", "2,3 pass").startswith("ga2 . ca2 .")
    assert not bool(game.legal(game.read(before.format(army=44)))[0, 2 * 10 + 9])
    assert bool(game.legal(game.read(before.format(army=45)))[0, 2 * 10 + 9])


def test_everything_grows_at_the_tick_and_sites_every_other_turn():
    before = """
        A .a1 c40 .
        . . ca3 .
        . . . B | 49 -
    """
    assert after(SMALL, before, "0,0 pass", "2,3 pass") == "ga3 .a2 c40 . / . . ca5 . / . . . gb3 | 50 -"


def test_the_cap_is_a_truncation_and_not_a_result():
    game = Generals(width=4, height=3, cap=50)
    state = game.read("A . . . / . . . . / . . . B | 49 -")
    end = game.step(state, jnp.array([8, 11 * 9 + 8]))
    assert bool(game.done(end))
    assert bool(game.truncated(end))
    assert game.returns(end).tolist() == [0.0, 0.0]
    assert not bool(game.legal(end).any())


def test_fog_hides_generals_and_tells_mountains_and_castles_apart_only_in_sight():
    game = Generals(width=6, height=3, cap=50)
    state = game.read("A # . # c41 . / c42 . . . . B / . . . . . . | 0 -")
    view = game.view(state, jnp.int32(0))
    assert rules.seen(view).tolist() == [[4, 2, 0, 5, 5, 0], [3, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    assert view.army.tolist()[1] == [42, 0, 0, 0, 0, 0]
    assert view.land.tolist() == [1, 1]


def test_views_do_not_depend_on_what_is_hidden():
    game = Generals(width=6, height=3, cap=50)
    one = game.read("A . . # c41 . / . . . . . B / . . . . . . | 0 -")
    twin = game.read("A . . c44 # . / . . . . . . / . . . . . B | 0 -")
    for a, b in zip(game.view(one, jnp.int32(0)), game.view(twin, jnp.int32(0)), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A . / . . | 0 -", "each side needs one general"),
        ("A B . . / . .", "rows of"),
        ("A z / . B", "is not a cell"),
        ("A #a / . B", "a mountain has no owner"),
        ("A . / . B | x -", r"after \| comes the turn"),
        ("A . / . g | 0 -", "a general has an owner"),
        ("ga1 xa1 / . . | 0 -", "the game is over"),
    ],
)
def test_texts_that_are_no_position_say_why(text, message):
    with pytest.raises(ValueError, match=message):
        Generals(width=2, height=2, cap=50).read(text)


def test_options_are_checked():
    with pytest.raises(BadOption, match="width is 2 to 32"):
        Generals(width=33)
    with pytest.raises(BadOption, match="castles_to is 9"):
        Generals(castles_to=3)


# Maps.


def walking_distances(kind, start, castles_too=True):
    """int[H, W]: by a plain breadth-first search; −1 where there is no way."""
    distance = np.full(kind.shape, -1)
    distance[start] = 0
    waiting = deque([start])
    while waiting:
        row, column = waiting.popleft()
        for down, across in slow.STEPS:
            cell = row + down, column + across
            if not (0 <= cell[0] < kind.shape[0] and 0 <= cell[1] < kind.shape[1]) or distance[cell] >= 0:
                continue
            if kind[cell] != MOUNTAIN and (castles_too or kind[cell] != CASTLE):
                distance[cell] = distance[row, column] + 1
                waiting.append(cell)
    return distance


def competition():
    return Generals(**COMPETITION)


@pytest.mark.parametrize(
    "make", [Generals, partial(Generals, least=18), competition], ids=["24", "18-24", "competition"]
)
def test_maps_are_connected_fair_and_as_wished(make):
    game = make()
    states = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(7), 170))
    found = measure(game, states)
    assert found.connected.all()
    assert found.fair(game).all()
    kinds = np.asarray(kind_of(states.cells)).reshape(-1, *game.shape)
    armies = np.asarray(jax.vmap(lambda one: army_of(one.cells, clock_of(one)))(states)).reshape(kinds.shape)
    castles = (kinds == CASTLE).sum(axis=(1, 2))
    assert set(castles.tolist()) == ({0} if game.build else {9, 10, 11, 12})
    assert ((armies[kinds == CASTLE] >= 40) & (armies[kinds == CASTLE] <= 49)).all()
    assert ((kinds == GENERAL).sum(axis=(1, 2)) == 2).all()
    if not game.least:
        share = (kinds == MOUNTAIN).mean(axis=(1, 2))
        assert (share >= game.mountains_from - 1e-6).all()
        assert (share <= game.mountains_to + 1e-6).all()
    ground = kinds != MOUNTAIN
    last = [game.height - ground.any(2)[:, ::-1].argmax(1), game.width - ground.any(1)[:, ::-1].argmax(1)]
    assert (len(set(zip(*last, strict=True))) > 10) == bool(game.least)


def test_the_measure_of_maps_walks_as_a_plain_search_does():
    rng = np.random.default_rng(1)
    kinds = rng.choice([PLAIN, MOUNTAIN, CASTLE], (20, 7, 9), p=[0.6, 0.3, 0.1])
    kinds[:, 3, 4] = GENERAL
    starts = np.full(20, 3 * 9 + 4)
    for castles_too in (True, False):
        ground = (kinds != MOUNTAIN) & (castles_too | (kinds != CASTLE))
        for steps, kind, start in zip(walks(ground, starts), kinds, starts, strict=True):
            plain = walking_distances(kind, divmod(int(start), 9), castles_too)
            np.testing.assert_array_equal(steps, plain)


def test_maps_on_boards_too_small_for_the_wishes_still_come_out():
    for side in (2, 3):
        game = Generals(width=side, height=side, castles_from=0, castles_to=0)
        state = jax.jit(game.init)(jax.random.key(0))
        assert sorted(np.asarray(state.land).tolist()) == [1, 1]


def test_a_pool_is_drawn_from_and_refreshed():
    game = Generals(width=8, height=8, apart=5, castles_from=1, castles_to=2)
    pool = jax.jit(partial(make_pool, wishes=game.wishes, size=8))(jax.random.key(0))
    pooled = Pooled(**{name: getattr(game, name) for name in game.__dataclass_fields__}, pool=pool)
    assert pooled.spec == game.spec
    drawn = jax.jit(pooled.init)(jax.random.key(1))
    assert any(np.array_equal(drawn.cells, words) for words in pool.states.cells)
    newer = jax.jit(partial(refresh, wishes=game.wishes, count=3))(pool, jax.random.key(2))
    assert isinstance(newer, Pool)
    changed = (np.asarray(newer.states.cells) != np.asarray(pool.states.cells)).any(axis=1)
    assert changed.sum() == 3


# Many games, batch last.


@pytest.fixture(scope="module")
def played():
    """Games in lanes after some random play, and everything seen on the way."""
    game = Generals(width=7, height=6, apart=4, castles_from=1, castles_to=2, cap=70)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(jax.random.key(0), 64))
    state = lanes.from_states(states)
    begin = lanes.survey(game, state, lanes.explore(game, state))
    run = jax.jit(partial(lanes.random_play, game, turns=80))
    return game, states, begin, run(lanes=begin, key=jax.random.key(1))


def test_lanes_and_single_games_see_and_do_the_same(played):
    game, states, _, (end, (seen, actions)) = played
    single = jax.jit(jax.vmap(lambda state: (game.view(state, 0), game.view(state, 1), game.legal(state))))
    step = jax.jit(jax.vmap(game.step))
    for turn in range(80):
        views = single(states)
        for seat in range(2):
            for one, other in zip(views[seat], seen.views[seat], strict=True):
                assert np.array_equal(one, np.moveaxis(np.asarray(other[turn]), -1, 0))
        legal = np.moveaxis(np.asarray(seen.legal[turn]), -1, 0).reshape(64, 2, -1)
        assert np.array_equal(views[2], legal)
        states = step(states, actions[turn].T)
    assert np.array_equal(states.cells, end.state.cells.T)
    assert (np.asarray(end.state.winner) != -1).all()


def test_drawn_actions_are_legal_and_uniform(played):
    game, _, begin, _ = played
    busy = begin.state._replace(base=begin.state.base + 8, cells=busy_cells(begin.state))
    middle = lanes.survey(game, busy, begin.terrain)
    draws = jax.jit(jax.vmap(lambda key: lanes.draw(game, middle, key)))(
        jax.random.split(jax.random.key(3), 4000)
    )
    legal = np.moveaxis(np.asarray(lanes.observe(game, middle).legal), -1, 0).reshape(64, 2, -1)
    assert legal.any(axis=2).all()
    for number in range(0, 64, 16):
        for seat in range(2):
            counts = np.bincount(np.asarray(draws)[:, seat, number], minlength=game.spec.actions)
            allowed = legal[number, seat]
            assert counts[~allowed].sum() == 0
            expected = 4000 / allowed.sum()
            # Five standard deviations of a binomial count.
            assert np.abs(counts[allowed] - expected).max() <= 5 * np.sqrt(expected) + 1e-9


def busy_cells(state):
    """Generals with nine units, so that there are moves to draw."""
    games = jnp.arange(state.turn.size)
    cells = state.cells
    for seat in range(2):
        cells = cells.at[state.generals[seat], games].add(8 << 4)
    return cells


def test_masks_are_the_same_bytes_however_they_are_written(played):
    game, _, begin, _ = played
    plain, octets, words = (
        np.asarray(lanes.observe(game, begin, masks).legal) for masks in ("bool", "bytes", "words")
    )
    assert np.array_equal(words.view(np.uint8), plain.view(np.uint8))
    assert np.array_equal(octets, plain.view(np.uint8))


def test_play_in_place_ends_where_play_on_record_ends(played):
    game, _, begin, (end, _) = played
    run = jax.jit(partial(lanes.random_play_in_place, game, turns=80))
    other, _ = run(lanes=begin, key=jax.random.key(1))
    assert np.array_equal(other.state.cells, end.state.cells)


def test_restart_replaces_finished_games_only(played):
    _, _, begin, (end, _) = played
    mixed = end.state._replace(winner=end.state.winner.at[:5].set(-1))
    after_restart = lanes.restart(mixed, begin.state)
    assert np.array_equal(after_restart.cells[:, :5], end.state.cells[:, :5])
    assert np.array_equal(after_restart.cells[:, 5:], begin.state.cells[:, 5:])
