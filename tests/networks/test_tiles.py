"""Convolutions in tiles are the same convolutions."""

import jax
import numpy as np
import pytest

from stratagem.games.corso import Corso
from stratagem.networks.blocks import Conv
from stratagem.networks.tiles import TileConv, filtering, for_batches, with_tiles
from tests.serving.small import network


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 5])
def test_filtering_at_points_is_filtering(tile):
    rng = np.random.default_rng(tile)
    signal, weights = rng.normal(size=tile + 2), rng.normal(size=3)
    gather, at_points, spread = filtering(tile)
    expected = [signal[i : i + 3] @ weights for i in range(tile)]
    np.testing.assert_allclose(gather @ ((at_points @ weights) * (spread @ signal)), expected, atol=1e-12)


@pytest.mark.parametrize(("height", "width"), [(1, 2), (5, 5), (4, 3), (3, 5)])
def test_a_convolution_in_tiles_equals_the_plain_one(height, width):
    key, board_key = jax.random.split(jax.random.key(height * 20 + width))
    conv = Conv(3, 4, 3, key)
    board = jax.random.normal(board_key, (height, width, 3))
    tiled, plain = jax.jit(lambda board: (TileConv(conv, height, width)(board), conv(board)))(board)
    np.testing.assert_allclose(tiled, plain, atol=2e-4)


def test_only_what_gains_is_put_into_tiles():
    spread, narrow = Conv(2, 32, 3, jax.random.key(0)), Conv(8, 32, 3, jax.random.key(0))
    assert with_tiles([spread, narrow], 5, 5)[0] is spread
    assert isinstance(with_tiles([spread, narrow], 5, 5)[1], TileConv)
    small, large = np.zeros((5, 4, 3)), np.zeros((6, 4, 3))
    assert isinstance(for_batches(narrow, small), TileConv)
    assert for_batches(narrow, large) is narrow
    assert for_batches(narrow, {"cells": small}) is narrow


def test_a_network_in_tiles_says_the_same():
    game = Corso(4, 3)
    small = network(1, "global:channels=4,blocks=1", game)
    tiled = with_tiles(small, 3, 4)
    parts = jax.tree.leaves(tiled, is_leaf=lambda part: isinstance(part, TileConv))
    assert sum(isinstance(part, TileConv) for part in parts) == 3
    views = np.random.default_rng(0).integers(0, 2, (4, 3, 4, 5)).astype(np.uint8)
    one, other = jax.jit(lambda *both: [jax.vmap(net)(views)[:2] for net in both])(small, tiled)
    for plain, in_tiles in zip(one, other, strict=True):
        np.testing.assert_allclose(plain, in_tiles, atol=1e-3)
