"""What a seat is told from outside, on a board larger than the map, is what the simulator shows it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.games.generals import Generals, rules, variants
from stratagem.protocols import generals_seen as told

BOARD = Generals(9, 8, cap=200, castles_from=0, castles_to=9, build=True)
# 5 wide and 4 high in the corner of the board, so that own cells come to lie beside what was filled up.
MAP = ["A . # . .", ". c2 . . .", ". . . # .", "# . . . B"]


def test_the_words_of_the_two_modules_mean_the_same():
    seen = (
        rules.FOG,
        rules.SEEN_PLAIN,
        rules.SEEN_MOUNTAIN,
        rules.SEEN_CASTLE,
        rules.SEEN_GENERAL,
        rules.STRUCTURE,
    )
    assert seen == (told.FOG, told.PLAIN, told.MOUNTAIN, told.CASTLE, told.GENERAL, told.STRUCTURE)
    assert (rules.ME, rules.OPPONENT, rules.OWNER_IN_VIEW) == (told.ME, told.OPPONENT, told.KIND_BITS)
    assert (rules.HALF, rules.PASS, rules.BUILD) == (told.HALF, told.PASS, told.BUILD)
    prices = variants.PRICE, variants.NEARNESS, variants.DISCOUNT
    assert prices == (told.PRICE, told.NEAR_PRICE, told.FALL)


@pytest.fixture(scope="module")
def positions():
    """Random games on the map, every third turn; armies are large now and then, so that castles can be built."""
    rows = [row.split() + ["#"] * 4 for row in MAP] + [["#"] * 9] * 4
    start = BOARD.read(" / ".join(" ".join(row) for row in rows))

    def turn(state, key):
        scores = jnp.where(BOARD.legal(state), jax.random.uniform(key, (2, BOARD.spec.actions)), -1.0)
        return BOARD.step(state, jnp.argmax(scores, axis=1)), state

    play = jax.jit(lambda key: jax.lax.scan(turn, start, jax.random.split(key, 180))[1])
    games = [play(jax.random.key(seed)) for seed in range(3)]
    return [
        jax.tree.map(lambda part, turn=turn: part[turn], game) for game in games for turn in range(0, 180, 3)
    ]


def test_a_map_that_was_filled_up_looks_as_in_the_simulator(positions):
    view_of, legal_in = jax.jit(BOARD.view), jax.jit(BOARD.legal)
    built = beside_the_edge = 0
    for state in positions:
        legal = np.asarray(legal_in(state))
        for seat in range(2):
            view = view_of(state, seat)
            kind, owner, army = (
                np.asarray(part)[:4, :5] for part in (rules.seen(view), rules.possessors(view), view.army)
            )
            look = told.look_of(kind, owner, BOARD.shape)
            np.testing.assert_array_equal(look, view.look)
            np.testing.assert_array_equal(told.army_of(army, BOARD.shape, BOARD.army_type), view.army)
            if not bool(BOARD.done(state)):
                allowed = told.legal_actions(look, np.asarray(view.army), build=True)
                np.testing.assert_array_equal(allowed.reshape(-1), legal[seat])
                built += allowed[:, :, told.BUILD].any()
            beside_the_edge += (look[4:] == told.MOUNTAIN).any()
    assert built
    assert beside_the_edge


def test_without_building_there_are_nine_actions_a_cell(positions):
    look = np.asarray(BOARD.view(positions[40], 0).look)
    army = np.full(look.shape, 60)
    both = [told.legal_actions(look, army, build) for build in (False, True)]
    assert both[0].shape == (8, 9, 9)
    np.testing.assert_array_equal(both[0], both[1][:, :, :9])
