"""The network whose moves are pairs of cells."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.general_expectimax import reaches
from stratagem.core.errors import BadOption, UnknownName
from stratagem.games.corso import Corso
from stratagem.games.general import General
from stratagem.networks import make_network
from stratagem.networks.general_planes import reach, read_general, read_nine, read_twelve
from stratagem.networks.weights import load_weights, save_weights

GAME = General()
SMALL = "from-to:channels=4,blocks=1,width=4"


@pytest.fixture(scope="module")
def view():
    return jax.jit(lambda key: GAME.view(GAME.init(key), 0))(jax.random.key(0))


def numbers(choice):
    """How many a network has, without making it."""
    shapes = jax.eval_shape(lambda key: make_network(choice, GAME, key), jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def test_it_has_a_logit_for_every_action_and_values_that_sum_to_zero(view):
    output = jax.jit(lambda key, view: make_network(SMALL, GAME, key)(view))(jax.random.key(0), view)
    assert output.logits.shape == (10_004,)
    np.testing.assert_allclose(output.values.sum(), 0, atol=1e-6)


def test_a_logit_is_how_well_start_and_end_fit(view):
    network = make_network(SMALL, GAME, jax.random.key(0))
    offsets = jnp.zeros((19, 19)).at[9 + 2, 9 - 3].set(5.0)  # two rows down, three columns left
    other = network.__class__.__new__(network.__class__)
    for name, value in vars(network).items():
        object.__setattr__(other, name, offsets if name == "offsets" else value)
    change = np.asarray(other(view).logits - network(view).logits)[:10_000].reshape(100, 100)
    starts, ends = np.nonzero(np.abs(change) > 1)
    # From rows 0 to 7 and columns 3 to 9 such a move stays on the board: 56 pairs, all of the same step.
    assert len(starts) == 8 * 7
    assert set(zip(ends // 10 - starts // 10, ends % 10 - starts % 10, strict=True)) == {(2, -3)}


def test_the_better_network_has_a_fourteenth_of_the_seeds_numbers():
    seed = numbers("classic:planes=9")
    # 9·9·196 + 14·9·196² + 196·2 + 196 + 200·10,004 + 10,004 + 100·64 + 64 + 64 + 1 weights and biases, and four
    # numbers for each of 196·15 + 3 normalised channels.
    weights = 81 * 196 + 126 * 196**2 + 392 + 196 + 200 * 10_004 + 10_004 + 6400 + 64 + 64 + 1
    assert seed == weights + 4 * (196 * 15 + 3)
    assert numbers("from-to") * 14 < seed


def test_nine_and_twelve_planes_remain_available(view):
    assert read_nine(view).shape == (10, 10, 9)
    assert read_twelve(view).shape == (10, 10, 12)
    np.testing.assert_array_equal(read_twelve(view)[..., :9], read_nine(view))
    for planes in (9, 12, 31):
        shape = jax.eval_shape(
            lambda key, planes=planes: make_network(f"{SMALL},planes={planes}", GAME, key).stem.weight,
            jax.random.key(0),
        ).shape
        assert shape == (3, 3, planes, 4)
    with pytest.raises(BadOption, match="9, 12"):
        make_network(f"{SMALL},planes=10", GAME, jax.random.key(0))


def test_the_die_is_told_by_planes_of_its_own():
    for die in range(7):
        view = jnp.zeros((10, 10, 15)).at[..., 6].set(die / 6)
        np.testing.assert_array_equal(read_general(view)[0, 0, -6:], np.arange(1, 7) == die)


def test_reach_counts_the_units_that_could_land_on_a_cell_with_each_die():
    def play(state, key):
        actions = GAME.listed(state)
        drawn = jax.random.categorical(key, jnp.where(actions >= 0, 0.0, -jnp.inf))
        return GAME.step(state, jnp.broadcast_to(actions[drawn], 2), key), state

    _, states = jax.lax.scan(play, GAME.init(jax.random.key(4)), jax.random.split(jax.random.key(5), 60))
    views = jax.vmap(GAME.view, (0, None))(states, jnp.int32(0))
    counted = np.asarray(jax.vmap(reach)(views)).reshape(-1, 100, 2, 6)
    seen = 0
    for planes, found in zip(np.asarray(views).reshape(-1, 100, 15), counted, strict=True):
        role = int(planes[0, 4])  # of seat 0
        board = (planes[:, role] + 2 * planes[:, 1 - role]).astype(np.int8)
        for side, owner in enumerate((role, 1 - role)):
            expected = np.zeros((100, 6))
            for start, way, die in itertools.product(
                np.flatnonzero(board == owner + 1), range(8), range(1, 7)
            ):
                end = reaches(board, owner + 1, start, way, die)
                expected[end, die - 1] += end >= 0
            open_to = (board != owner + 1) & ~((owner == 1) & (planes[:, 2] > 0))
            np.testing.assert_array_equal(found[open_to, side], expected[open_to])
            seen += expected.sum()
    assert seen > 5000
    # A unit is covered by one that has a free way to it: those of a triangle cover each other.
    start = np.asarray(views[0]).reshape(100, 15)
    own = np.flatnonzero(start[:, 0] > 0)
    assert (counted[0][own, 0, 0] >= 2).all()


def test_weights_survive_a_file(view, tmp_path):
    network = make_network(SMALL, GAME, jax.random.key(5))
    save_weights(tmp_path / "w.safetensors", network, SMALL, [GAME], {})
    again = load_weights(tmp_path / "w.safetensors", GAME)
    np.testing.assert_array_equal(network(view).logits, again(view).logits)


def test_it_is_refused_for_a_game_without_such_moves():
    with pytest.raises(UnknownName, match="does not fit corso"):
        make_network("from-to", Corso(), jax.random.key(0))
