"""What hangs together on a Corso board is what the rules expand, and a network hears along it from every side."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.games.corso import Corso
from stratagem.networks import full_choice, make_network
from stratagem.networks.blocks import Training
from stratagem.networks.corso_chains import EXTRA_PLANES, read_chains
from stratagem.networks.recipes import read_corso
from stratagem.networks.weights import load_weights, save_weights
from stratagem.solvers.corso_bits import expansion, flood, make_board, pack
from tests.networks.test_networks import position

SMALL = "global:channels=8,blocks=2,chains=True"


def bits(cells):
    """The set of a row of noughts and ones."""
    return sum(1 << int(cell) for cell in np.flatnonzero(cells))


@pytest.mark.parametrize("game", [Corso(), Corso(4, 3), Corso(7, 7), Corso(1, 6)], ids=str)
def test_links_are_what_the_solver_floods(game):
    board = make_board(game.width, game.height)
    expanded = 0
    for seed in range(6):
        state = position(game, min(3 + 2 * seed, game.cells // 2 + 1), seed)
        planes = read_corso(game.view(state, state.mover))
        sight = read_chains(planes)
        flat = np.asarray(planes).reshape(game.cells, -1)
        codes = (flat[:, :4] * np.array([1, 2, 3, 4])).sum(axis=1).astype(np.int8)
        own, other, *_ = packed = tuple(np.uint64(plane) for plane in pack(codes, 0))
        marbles, free = own | other, board.full & ~np.uint64(bits(flat[:, 1] + flat[:, 3]))
        chain, dyes, dyed_by, region = (np.asarray(kind) > 0 for kind in sight.links)
        for cell in range(game.cells):
            one = np.uint64(1 << cell)
            group, dyed = expansion(packed, one, board) if marbles & one else (0, 0)
            assert bits(chain[cell]) == group
            assert bits(dyes[cell]) == dyed
            assert bits(region[cell]) == (flood(one, free, board) if free & one else 0)
            expanded += bool(group)
        np.testing.assert_array_equal(dyed_by, dyes.T)
        sums = np.asarray(sight.links).sum(axis=-1)
        assert np.all((np.abs(sums - 1) < 1e-5) | (sums == 0))  # a mean of those that are linked
    assert expanded > 3


def test_what_the_mover_wins_by_expanding_is_told():
    game = Corso(3, 3)
    # A . b     the two marbles hang together by nothing; A dyes itself and two cells, the b is out of its reach
    # . . .
    # . . B
    state = game.read("AOb/OOO/OOB 1")
    sight = read_chains(read_corso(game.view(state, state.mover)))
    told = np.asarray(sight.planes)[..., -EXTRA_PLANES:].reshape(9, -1) * 9
    size, reach, fills, wins = told[0, :4]
    assert (size, reach, fills, wins) == pytest.approx((1, 3, 2, 0))
    assert told[0, 6] == pytest.approx(2)  # the mover may expand it and gains two cells
    assert told[8, 6] == 0  # that one is the other player's


def test_a_network_that_hears_along_chains_is_the_same_from_every_side_in_its_links():
    game = Corso(4, 4)
    network = make_network(SMALL, game, jax.random.key(0))
    state = position(game, 5)
    turned = game.turn_state(state, jnp.int32(3))
    here, there = (read_chains(read_corso(game.view(one, one.mover))).links for one in (state, turned))
    to = np.asarray(game.symmetries().actions[3])
    np.testing.assert_allclose(np.asarray(there)[:, to][:, :, to], here, atol=1e-6)
    output = network(game.view(state, state.mover))
    assert output.logits.shape == (16,)
    learned = network(game.view(state, state.mover), Training(jax.random.key(1)))
    np.testing.assert_allclose(learned.logits, output.logits, atol=1e-4)


def test_weights_with_chains_are_kept_in_half_the_room(tmp_path):
    game = Corso(3, 3)
    network = make_network(SMALL, game, jax.random.key(0))
    for stored in ("float32", "bfloat16"):
        save_weights(tmp_path / stored, network, SMALL, [game], {}, stored)
    view = game.view(game.init(None), jnp.int32(0))
    exact, rounded = (load_weights(tmp_path / name, game)(view).logits for name in ("float32", "bfloat16"))
    np.testing.assert_array_equal(exact, network(view).logits)
    np.testing.assert_allclose(rounded, exact, atol=0.02)
    assert (tmp_path / "bfloat16").stat().st_size < 0.7 * (tmp_path / "float32").stat().st_size
    assert "chains=True" in full_choice(SMALL, game)
