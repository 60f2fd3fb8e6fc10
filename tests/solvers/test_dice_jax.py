"""The accelerator engine gives the CPU engine's numbers, on games small enough for a test.

On one processor to the last bit: both round the same sums and products in the same order.
"""

import numpy as np
import pytest

from stratagem.games.dice.family import Family, crag, generala, yatzy
from stratagem.solvers import dice_jax, dice_numba
from stratagem.solvers.dice_layers import layout

GAMES = [
    generala().reduced("twos", "sixes", "full_house", "generala"),
    generala(first_roll_bonus=True).reduced("sixes", "escalera", "four_of_a_kind"),
    crag().reduced("ones", "fives", "odd_straight", "three_of_a_kind", "thirteen", "crag"),
    yatzy(upper_bonus=False).reduced("one_pair", "two_pairs", "chance"),
]


def cpu_layers(family):
    board, below = layout(family), np.zeros(1, np.float32)
    for layer in range(1, board.layers + 1):
        out = np.empty(int(board.starts(layer)[-1]), np.float32)
        for _ in dice_numba.solve_layer(board, layer, below, out):
            pass
        yield out
        below = out


@pytest.mark.parametrize("family", GAMES, ids=lambda family: family.name)
def test_engines_agree_on_every_position(family):
    stream = dice_jax.Stream(family)
    for expected in cpu_layers(family):
        for _ in stream.advance():
            pass
        np.testing.assert_array_equal(stream.compact(), expected)
        assert stream.report().mean == pytest.approx(expected.astype(np.float64).mean(), abs=1e-6)


def test_opponents_sets_that_come_in_several_parts_fill_the_same_layer(monkeypatch):
    monkeypatch.setattr(dice_jax, "CHUNK", 600)  # 140 columns: at most four sets at a time, of twenty
    family = GAMES[2]
    stream = dice_jax.Stream(family)
    assert stream.shape.rows == 4
    for expected in cpu_layers(family):
        for _ in stream.advance(chunks=3):
            pass
        np.testing.assert_allclose(stream.compact(), expected, atol=1e-6)


def test_a_layer_can_be_solved_from_a_layer_on_disk():
    family = GAMES[0]
    board, layers = layout(family), list(cpu_layers(family))
    out = np.empty_like(layers[3])
    for _ in dice_jax.solve_layer(board, 4, layers[2], out):
        pass
    np.testing.assert_allclose(out, layers[3], atol=1e-6)


@pytest.mark.parametrize(
    "family",
    [
        crag().reduced("ones", "fives", "odd_straight", "thirteen"),
        Family("small", generala().reduced("ones", "twos").categories, dice=2, faces=3, rolls=3),
    ],
    ids=lambda family: family.name,
)
def test_the_fused_kernels_solve_the_same_game(family):
    stream = dice_jax.Stream(family, fused=True)
    for expected in cpu_layers(family):
        for _ in stream.advance():
            pass
        np.testing.assert_allclose(stream.compact(), expected, atol=1e-6)
