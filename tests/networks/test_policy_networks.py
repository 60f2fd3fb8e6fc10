"""Networks that play by feel: sizes, padding, precision, files."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses, on_board
from stratagem.agents.network import shipped
from stratagem.core.errors import BadOption, DamagedFile, RulesetMismatch
from stratagem.core.play import random_actions, resume
from stratagem.games.corso import Corso
from stratagem.games.generals import Generals
from stratagem.games.generals.rules import SEEN_MOUNTAIN, STRUCTURE, View
from stratagem.networks import cast, make_network
from stratagem.networks.tensors import write_tree
from stratagem.networks.transformer import fit_moves, to_patches
from stratagem.networks.weights import load_policy, load_weights, save_policy
from tests.small_generals import hand_drawn

SMALL = {
    "patch": "patch:depth=2,width=16,heads=2,feed=2,margin=1",
    "unet": "unet:channels=8,levels=1,blocks=1,bins=1",
}


def game_of(side, **options):
    return Generals(
        **{"width": side, "height": side, "cap": 100, "castles_from": 1, "castles_to": 2, "apart": 4}
        | options
    )


@pytest.fixture(scope="module")
def records():
    """(game, records [20] of seat 0 in twenty turns of random play on 7 × 7)."""
    game = hand_drawn(7)
    senses = GeneralsSenses(game)

    def turn(carry, key):
        state, memory = carry
        memory, record = senses.observe(memory, game.view(state, 0))
        actions = random_actions(game, resume(game, state), key)
        return (game.step(state, actions), senses.note(memory, actions[0])), record

    def play(key):
        first_key, key = jax.random.split(key)
        return jax.lax.scan(turn, (game.init(first_key), senses.blank()), jax.random.split(key, 60))[1]

    return game, jax.tree.map(lambda leaf: leaf[::3], jax.jit(play)(jax.random.key(3)))


def padded_record(record, side):
    """The same knowledge on a larger board, whose rest is mountain in the fog."""
    add = side - record.cells.shape[0]
    spread = ((0, add), (0, add))
    return record._replace(
        cells=jnp.pad(record.cells, spread, constant_values=STRUCTURE),
        army=jnp.pad(record.army, spread),
        ages=jnp.pad(record.ages, ((0, 0), *spread), constant_values=255),
    )


def test_the_published_transformer_has_about_15_million_parameters():
    # Seven layers of 4 · 448² for attention and 2 · 3 · 448² beside it are 14.05 million; patches, scoreboards and
    # heads the rest.
    shapes = jax.eval_shape(lambda: make_network("patch", GeneralsSenses(Generals()), jax.random.key(0)))
    assert len(shapes.layers) == 7
    assert parameters_of(shapes) == pytest.approx(15.4e6, rel=0.02)


def parameters_of(shapes):
    return sum(leaf.size for leaf in jax.tree.leaves(shapes))


def test_patches_hold_their_cells_and_the_margin_around_them():
    cells = jnp.arange(1, 26).reshape(5, 5, 1)
    plain = to_patches(cells, 3)
    assert plain.shape == (2, 2, 9)
    assert plain[0, 0].tolist() == [1, 2, 3, 6, 7, 8, 11, 12, 13]
    assert plain[1, 1].tolist() == [19, 20, 0, 24, 25, 0, 0, 0, 0]
    wide = to_patches(cells, 3, margin=1).reshape(2, 2, 5, 5)
    assert wide[0, 0].tolist() == [[0, 0, 0, 0, 0], *[[0, *range(r, r + 4)] for r in (1, 6, 11, 16)]]
    np.testing.assert_array_equal(wide[..., 1:4, 1:4].reshape(2, 2, 9), plain)


class Case(NamedTuple):
    """A network, how it judges many features at once, some features, and what it says of them."""

    network: Any
    judge: Any
    features: Any
    judged: Any


@pytest.fixture(scope="module", params=SMALL)
def case(request, records):
    game, record = records
    senses = GeneralsSenses(game)
    network = loud(jax.jit(lambda key: make_network(SMALL[request.param], senses, key))(jax.random.key(0)))
    features = jax.jit(jax.vmap(senses.features))(record)
    judge = jax.jit(jax.vmap(lambda network, one: network(one), in_axes=(None, 0)))
    return Case(network, judge, features, judge(network, features))


def assert_same(one, other):
    """Up to rounding."""
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-4 * float(jnp.abs(second).max()))


def test_many_boards_at_once_are_judged_like_one(case):
    assert case.judged.logits.shape == (20, 7 * 7 * 9)
    assert jnp.isfinite(case.judged.logits).all()
    judge = jax.jit(lambda network, one: network(one))
    for index in (0, 7, 19):
        alone, same = (
            jax.tree.map(lambda leaf, i=index: leaf[i], tree) for tree in (case.features, case.judged)
        )
        assert_same(judge(case.network, alone), same)


def test_padding_does_not_change_the_answer(case, records):
    large = GeneralsSenses(game_of(12))
    wide = jax.vmap(lambda one: padded_record(one, 12))(records[1])
    padded = case.judge(case.network, jax.vmap(large.features)(wide))
    logits = padded.logits.reshape(20, 12, 12, 9)[:, :7, :7]
    assert_same(padded._replace(logits=logits.reshape(20, -1)), case.judged)


def test_half_precision_says_almost_the_same(case):
    half = case.judge(cast(case.network, jnp.bfloat16), case.features)
    assert half.logits.dtype == jnp.float32
    largest = jnp.abs(case.judged.logits).max()
    assert jnp.abs(half.logits - case.judged.logits).max() < 0.05 * largest


def test_the_scoreboard_reaches_the_value(case):
    changed = case.judge(case.network, case.features._replace(scores=case.features.scores + 1))
    assert not np.allclose(changed.belief, case.judged.belief, atol=1e-3)


def loud(network):
    """With larger weights, so that differences would show."""
    return jax.tree.map(lambda leaf: leaf * 1.5, network)


def test_the_board_ends_where_all_beyond_is_mountain():
    ground = np.zeros((4, 5), bool)
    ground[0, 2] = ground[2, 0] = True
    assert on_board(jnp.asarray(ground)).tolist() == [[True, True, True, False, False]] * 3 + [[False] * 5]


def test_a_map_on_a_larger_board_is_seen_as_it_would_be_on_its_own():
    small, large = hand_drawn(5), hand_drawn(5, board=8)

    def seen(game):
        senses = GeneralsSenses(game)
        state = jax.tree.map(lambda part: part[0], game.pool.states)
        return jax.jit(lambda state: senses.features(senses.observe(senses.blank(), game.view(state, 0))[1]))(
            state
        )

    alone, padded = seen(small), seen(large)
    assert padded.present.sum() == 25
    np.testing.assert_array_equal(padded.cells[:5, :5], alone.cells)
    np.testing.assert_array_equal(padded.clock, alone.clock)
    assert (padded.cells[5:] == 0).all()
    assert (padded.cells[:, 5:] == 0).all()


def test_what_a_variant_has_besides_is_never_chosen():
    logits = fit_moves(jnp.arange(18.0).reshape(1, 2, 9), per_cell=10)
    assert logits[:9].tolist() == list(range(9))
    chances = jax.nn.softmax(logits).reshape(2, 10)
    assert (chances[:, 9] == 0).all()
    assert fit_moves(jnp.arange(20.0).reshape(1, 2, 10), per_cell=9).tolist() == [*range(9), *range(10, 19)]


def test_records_are_small():
    # 24 × 24: six bytes a cell, 1.3 KiB of scoreboards; 512 × 512 turns of two seats are 2.2 GB.
    senses = GeneralsSenses(Generals())

    def first(key):
        return senses.observe(senses.blank(), senses.game.view(senses.game.init(key), 0))[1]

    record = jax.eval_shape(first, jax.random.key(0))
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(record))
    assert size == 6 * 576 + 2 * 64 * 2 + 2 * 64 * 4 + 2


def test_features_say_who_owns_what_and_how_long_ago_it_was_seen():
    game = game_of(5)
    senses = GeneralsSenses(game)
    look = np.full((5, 5), 1, np.uint8)  # plain, in sight
    look[4] = 0  # fog
    look[0, 0], look[2, 2], look[1, 1] = 4 + 8, 1 + 16, SEEN_MOUNTAIN  # my general, an enemy, a mountain
    army = np.zeros((5, 5), np.int16)
    army[0, 0], army[2, 2] = 5, 3
    view = View(jnp.asarray(look), jnp.asarray(army), jnp.array([1, 1]), jnp.array([5, 3]), jnp.int32(7))
    features = jax.jit(lambda view: senses.features(senses.observe(senses.blank(), view)[1]))(view)
    cells = np.asarray(features.cells)
    assert cells[0, 0, [4, 6]].tolist() == [1, 1]  # a general, mine
    assert cells[2, 2, [1, 7]].tolist() == [1, 1]  # plain, theirs
    assert cells[1, 1, 2] == 1
    assert cells[0, 0, 11] == pytest.approx(np.log(6) / 4)
    assert cells[2, 2, 12] == pytest.approx(np.log(4) / 4)
    assert cells[4, 0, 8] == 0  # not visible
    assert cells[3, 0, 8] == 1
    assert cells[0, 0, 14] == 1  # all of my army
    assert features.present.all()
    assert features.scores.shape == (2, 128)
    assert features.scores[1, 127] == pytest.approx(np.log(4) / 4)


def test_networks_refuse_what_they_cannot_read():
    with pytest.raises(BadOption, match="try patch"):
        make_network("mlp", GeneralsSenses(game_of(5)), jax.random.key(0))
    with pytest.raises(BadOption, match="multiple of heads"):
        make_network("patch:width=10,heads=4", GeneralsSenses(game_of(5)), jax.random.key(0))


def test_a_policy_file_serves_all_sizes_of_its_game_and_no_other(tmp_path):
    senses = GeneralsSenses(game_of(6))
    network = jax.jit(lambda key: make_network(SMALL["patch"], senses, key))(jax.random.key(1))
    path = tmp_path / "policy.safetensors"
    save_policy(path, network, SMALL["patch"], senses, {})
    again = load_policy(path, GeneralsSenses(game_of(9, build=True)))
    for one, other in zip(jax.tree.leaves(network), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
    half = tmp_path / "half.safetensors"
    save_policy(half, network, SMALL["patch"], senses, {}, stored="float16")
    assert half.stat().st_size < 0.6 * path.stat().st_size
    again = load_policy(half, senses)
    assert again.rows.dtype == jnp.float32
    np.testing.assert_allclose(again.rows, network.rows, atol=1e-3)
    with pytest.raises(RulesetMismatch, match="was trained for"):
        load_weights(path, Corso())
    with pytest.raises(DamagedFile, match="not a policy"):
        load_policy(shipped(Corso())[0], senses)
    write_tree(tmp_path / "other.safetensors", {"x": jnp.zeros(1)}, {"kind": "buffer"})
    with pytest.raises(DamagedFile, match="holds buffer"):
        load_policy(tmp_path / "other.safetensors", senses)
