"""Networks: sizes, precision, sides of the board, files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch, UnknownName
from stratagem.core.play import random_actions, start
from stratagem.games.corso import Corso
from stratagem.networks import cast, full_choice, make_network, parameters
from stratagem.networks.blocks import BATCH, Conv, Training, largest, unrolled
from stratagem.networks.outputs import (
    all_sides,
    belief_output,
    by_seat,
    evaluator,
    from_mover,
    policy_loss,
    value_loss,
)
from stratagem.networks.tensors import read_facts, read_tree, write_tree
from stratagem.networks.weights import load_weights, save_weights

GAME = Corso()
SMALL = "global:channels=8,blocks=1"


def position(game, moves, seed=0):
    playing = start(game, jax.random.key(seed))
    state = playing.state
    for index in range(moves):
        actions = random_actions(game, playing._replace(state=state), jax.random.key(100 * seed + index))
        state = game.step(state, actions, None)
    return state


def test_the_gradient_of_the_largest_goes_to_the_first_of_the_cells_that_have_it():
    board = jnp.array([[[1.0, 5.0], [3.0, 2.0]], [[3.0, 4.0], [0.0, 5.0]]])
    np.testing.assert_array_equal(largest(board), [3, 5])
    wanted = [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    np.testing.assert_array_equal(jax.grad(lambda board: largest(board).sum())(board), wanted)


@pytest.mark.parametrize(("height", "width"), [(5, 5), (3, 4), (1, 2)])
def test_a_convolution_of_a_small_board_is_one_matrix(height, width):
    conv = Conv(3, 4, 3, jax.random.key(0), bias=False)
    board = jax.random.normal(jax.random.key(1), (height, width, 3))
    found = (board.reshape(-1) @ unrolled(conv.weight, height, width)).reshape(height, width, 4)
    np.testing.assert_allclose(found, conv(board), atol=1e-5)
    np.testing.assert_allclose(found, conv(board, Training(jax.random.key(2))), atol=1e-5)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_gradients_are_numbers_however_much_the_compiler_works_out_anew(level):
    network = make_network("global:channels=16,blocks=1", Corso(3, 2), jax.random.key(0))
    network = jax.tree.map(
        lambda leaf: leaf + 0.01 * jax.random.normal(jax.random.key(1), leaf.shape), network
    )
    views = jax.vmap(lambda state: Corso(3, 2).view(state, jnp.int32(0)))(
        jax.tree.map(
            lambda *leaves: jnp.stack(leaves), *(position(Corso(3, 2), 2, seed) for seed in range(8))
        )
    )

    def loss(network):
        return jax.vmap(lambda view: jax.nn.log_softmax(network(view).logits)[0])(views).sum()

    options = {"xla_backend_optimization_level": level}
    gradient = jax.jit(jax.grad(loss)).lower(network).compile(options)(network)
    for one, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(jax.grad(loss)(network)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_papers_network_has_about_150_thousand_parameters():
    # 9·(5 + 3·64)·64 + 9·64·32 + 9·32 + 1 + 64·2 + 50·512 + 512 + 512 + 1 weights and biases, 2 · 290 of norms,
    # and as many running means: 160,106 in all, 159,526 of them learned.
    assert parameters(make_network("paper", GAME, jax.random.key(0))) == 160_106


def test_generals_residual_network_has_seven_blocks_of_196():
    network = make_network("classic", GAME, jax.random.key(0))
    assert len(network.blocks) == 7
    assert network.blocks[0].first.weight.shape == (3, 3, 196, 196)


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_one_network_plays_every_board_size(size):
    network = make_network(SMALL, GAME, jax.random.key(0))
    game = Corso(size, size)
    output = network(game.view(game.init(None), 0))
    assert output.logits.shape == (size * size,)
    assert output.values.shape == (2,)


def test_colours_swapped_are_the_same_position_to_the_global_network():
    network = make_network(SMALL, GAME, jax.random.key(0))
    state = position(GAME, 7)
    swapped = GAME.turn_state(state, jnp.int32(8))  # element 8 swaps the colours and leaves the board
    one, other = network(GAME.view(state, 0)), network(GAME.view(swapped, 0))
    np.testing.assert_array_equal(one.logits, other.logits)
    np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("choice", ["paper:channels=8", "classic:channels=8,blocks=2", SMALL])
def test_learning_and_playing_agree_but_for_norms_and_dropout(choice):
    network = make_network(choice, GAME, jax.random.key(1))
    views = jax.vmap(lambda seed: GAME.view(GAME.init(None), 0))(jnp.arange(4))
    learning = jax.vmap(lambda view, key: network(view, Training(key)), axis_name=BATCH)(
        views, jax.random.split(jax.random.key(0), 4)
    )
    assert learning.logits.shape == (4, 25)
    if choice == SMALL:
        np.testing.assert_allclose(learning.logits[0], network(views[0]).logits, atol=1e-5)
    else:
        moments = jax.tree.map(lambda leaf: leaf[0], learning.moments)
        renewed = network
        for _ in range(200):
            renewed = renewed.absorb(moments)
        np.testing.assert_allclose(learning.logits[0], renewed(views[0]).logits, atol=1e-3)


def test_a_convolution_and_its_matrix_product_are_the_same():
    conv = Conv(3, 5, 3, jax.random.key(0))
    board = jax.random.normal(jax.random.key(1), (4, 6, 3))
    np.testing.assert_allclose(conv(board), conv(board, Training(jax.random.key(2))), atol=1e-5)


def test_values_go_round_the_table():
    values = jnp.array([0.5, -0.1, -0.4])  # the mover, the next, the one after
    np.testing.assert_allclose(by_seat(values, 1), [-0.4, 0.5, -0.1])
    np.testing.assert_allclose(from_mover(by_seat(values, 2), 2), values)


def test_an_evaluator_tells_values_by_seat():
    network = make_network(SMALL, GAME, jax.random.key(0))
    state = position(GAME, 3)  # seat 1 is to move
    _, values = evaluator(GAME, network)(state)
    np.testing.assert_allclose(values[1], network(GAME.view(state, 1)).values[0])
    np.testing.assert_allclose(values.sum(), 0, atol=1e-6)


def test_seen_from_all_sides_a_turned_board_gets_the_same_judgement():
    evaluate = all_sides(GAME, evaluator(GAME, make_network(SMALL, GAME, jax.random.key(0))))
    state, group = position(GAME, 6), GAME.symmetries()
    logits, values = evaluate(state)
    for g in (1, 4, 7):
        turned_logits, turned_values = evaluate(GAME.turn_state(state, jnp.int32(g)))
        np.testing.assert_allclose(turned_logits[group.actions[g]], logits, atol=1e-5)
        np.testing.assert_allclose(turned_values, values, atol=1e-5)


def test_a_belief_in_a_win_is_worth_one_and_costs_nothing_when_it_comes():
    sure = belief_output(jnp.zeros(4), jnp.array([[-50.0, 50.0]]), 2)
    np.testing.assert_allclose(sure.values, [1, -1])
    assert value_loss(sure, jnp.array([1.0, -1.0])) < 1e-6
    # A draw under an even belief of two results costs log 2.
    even = belief_output(jnp.zeros(4), jnp.zeros((1, 2)), 2)
    np.testing.assert_allclose(value_loss(even, jnp.zeros(2)), np.log(2), rtol=1e-6)


def test_three_seats_have_beliefs_of_their_own():
    game = Corso(3, 3, players=3)
    network = make_network(SMALL, game, jax.random.key(0))
    output = network(game.view(game.init(None), 0))
    assert output.belief.shape == (3, 2)
    np.testing.assert_allclose(output.values.sum(), 0, atol=1e-6)


def test_the_policy_loss_knows_no_illegal_actions():
    output = belief_output(jnp.array([0.0, 0.0, 9.0]), jnp.zeros((1, 2)), 2)
    legal = jnp.array([True, True, False])
    loss, _ = policy_loss(output, jnp.array([0.5, 0.5, 0.0]), legal)
    np.testing.assert_allclose(loss, np.log(2), rtol=1e-6)


def test_drift_is_the_level_of_logits_and_belief_which_no_other_loss_sees():
    legal, target = jnp.array([True, True, False]), jnp.array([0.5, 0.5, 0.0])
    losses, drifts = zip(
        *(
            policy_loss(
                belief_output(level + jnp.array([0.0, 0.0, 9.0]), jnp.full((1, 2), level), 2), target, legal
            )
            for level in (-np.log(2), 3.0)
        ),
        strict=True,
    )
    np.testing.assert_allclose(losses, np.log(2), rtol=1e-6)
    # Two logits of -log 2 sum to one, whose logarithm is nought; two of 3 are 3 + log 2, here and in the belief.
    np.testing.assert_allclose(drifts, [0.0, 2 * (3 + np.log(2)) ** 2], atol=1e-6)


def test_bfloat16_is_close():
    network = make_network(SMALL, GAME, jax.random.key(0))
    view = GAME.view(position(GAME, 6), 0)
    half = cast(network, jnp.bfloat16)
    assert half.stem.weight.dtype == jnp.bfloat16
    assert half(view).logits.dtype == jnp.float32
    np.testing.assert_allclose(half(view).logits, network(view).logits, atol=0.1)


def test_a_network_that_does_not_fit_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'global'"):
        make_network("globl", GAME, jax.random.key(0))
    with pytest.raises(BadOption, match="two players"):
        make_network("paper", Corso(players=3), jax.random.key(0))


def test_weights_come_back_bit_for_bit_and_only_under_their_rules(tmp_path):
    path = tmp_path / "weights.safetensors"
    network = make_network(SMALL, GAME, jax.random.key(3))
    save_weights(path, network, SMALL, [GAME, Corso(4, 4)], {"games": 7})
    for game in (GAME, Corso(4, 4)):
        again = load_weights(path, game)
        for one, other in zip(jax.tree.leaves(network), jax.tree.leaves(again), strict=True):
            np.testing.assert_array_equal(one, other)
    assert read_facts(path)["network"] == full_choice(SMALL, GAME)
    with pytest.raises(RulesetMismatch, match=r"not for corso:width=6"):
        load_weights(path, Corso(6, 6))


def test_weights_of_another_network_are_refused(tmp_path):
    path = tmp_path / "weights.safetensors"
    network = make_network(SMALL, GAME, jax.random.key(3))
    save_weights(path, network, "global:channels=8,blocks=2", [GAME], {})
    with pytest.raises(DamagedFile, match="another tree"):
        load_weights(path, GAME)
    save_weights(path, network, "global:channels=16,blocks=1", [GAME], {})
    with pytest.raises(DamagedFile, match=r"expected float32\[3, 3, 5, 16\]"):
        load_weights(path, GAME)


def test_a_spoilt_file_is_found_out(tmp_path):
    path = tmp_path / "tree.safetensors"
    tree = {"one": jnp.arange(100.0), "key": jax.random.key(5)}
    write_tree(path, tree, {"kind": "test"})
    again = read_tree(path, tree)
    assert (jax.random.key_data(again["key"]) == jax.random.key_data(tree["key"])).all()
    whole = path.read_bytes()
    for spoilt in (
        whole[:-1] + bytes([whole[-1] ^ 1]),
        whole[:-40],
        whole[:6],
        b"",
        b"not a file of ours at all",
    ):
        path.write_bytes(spoilt)
        with pytest.raises(DamagedFile, match=r"tree\.safetensors"):
            read_tree(path, tree)
