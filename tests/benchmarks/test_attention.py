"""Looking inside: what is a look at the hidden general, and that the best head is not chosen where it is told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_belief import empty_mind, look
from stratagem.agents.senses import senses_for
from stratagem.analysis.generals_guess import general_chances
from stratagem.games.generals.board import GENERAL, MOUNTAIN, new_state
from stratagem.learners.guests import Snapshot
from stratagem.networks import make_network
from stratagem.networks.attention_maps import attention_maps
from tests.benchmarks.scripts import script
from tests.small_generals import hand_drawn

attention = script("benchmarks/attention.py")
plots = script("benchmarks/attention_plots.py")
GAME = hand_drawn(7, cap=30, board=8)  # the last row and column are padding
SENSES = senses_for(GAME)


@pytest.fixture(scope="module")
def network():
    choice = "patch:depth=2,width=8,heads=2,feed=1,bins=8"
    return jax.jit(lambda key: make_network(choice, SENSES, key))(jax.random.key(1))


@pytest.fixture(scope="module")
def one_turn(network):
    """Everything that a turn tells, and what it is made of, compiled once."""

    @jax.jit
    def everything(table, key):
        after, told = attention.one_turn(GAME, SENSES, Snapshot(SENSES, network), network, 0, table, key)
        view = GAME.view(table.state, 0)
        mind = look(GAME, table.mind, view)
        features = SENSES.features(SENSES.observe(table.mind.known, view)[1])
        return after, told, attention_maps(network, features), general_chances(mind, view), mind.known

    return everything


def first_table(state):
    return attention.Table(state, empty_mind(GAME), SENSES.blank(), jnp.zeros(2, jnp.int32))


@pytest.mark.parametrize("seed", range(4))
def test_a_look_is_near_if_the_middle_of_the_patch_is_within_two_cells(one_turn, seed):
    table = first_table(GAME.init(jax.random.key(seed)))
    _, told, maps, belief, known = one_turn(table, jax.random.key(seed))
    row, column = divmod(int(table.state.generals[1]), 8)
    middles = [(3 * r + 1, 3 * s + 1) for r in range(3) for s in range(3)]
    near = np.array([max(abs(r - row), abs(s - column)) <= 2 for r, s in middles])
    for layer in range(2):
        for head in range(2):
            peak = np.argmax(np.asarray(maps)[layer, head])
            assert told.hits[layer, head] == near[peak]
    assert told.chance == pytest.approx(near.mean())
    possible = np.asarray(known.possible)
    patches = np.array([possible[r - 1 : r + 2, s - 1 : s + 2].any() for r, s in middles])
    assert told.possible == pytest.approx(near[patches].mean())
    best = divmod(int(np.argmax(belief)), 8)
    assert told.belief == (max(abs(best[0] - row), abs(best[1] - column)) <= 2)
    assert told.unseen
    assert told.playing


def test_a_general_in_sight_and_a_game_that_is_over_do_not_count(one_turn):
    kind, owner, army = (np.zeros((8, 8), np.int32) for _ in range(3))
    kind[7], kind[:, 7] = MOUNTAIN, MOUNTAIN
    kind[0, 0] = kind[0, 2] = GENERAL
    owner[0, 0], owner[0, 1], owner[0, 2] = 1, 1, 2
    army[0, :3] = 9, 4, 1
    parts = [jnp.asarray(part.reshape(-1)) for part in (kind, owner, army)]
    table = first_table(new_state(*parts, jnp.int32(1), jnp.int32(-1)))
    after, told, *_ = one_turn(table, jax.random.key(0))
    assert told.playing
    assert not told.unseen
    np.testing.assert_array_equal(after.lead, [1, 12])  # two cells to one, 13 units to 1
    over = table._replace(state=table.state._replace(winner=jnp.int32(0)))
    after, told, *_ = one_turn(over, jax.random.key(0))
    assert not told.playing
    assert not told.unseen
    assert after.state.turn == over.state.turn


def turns(hits, unseen, playing):
    """A Turn[T, B] with one layer of two heads; the rest says nothing."""
    nothing = np.zeros(unseen.shape)
    return attention.Turn(hits[:, :, None], nothing > 0, nothing, nothing, unseen, playing, nothing)


def test_the_best_head_is_chosen_on_one_half_of_the_games_and_told_on_the_other():
    hits = np.zeros((10, 4, 2), bool)
    hits[:, [0, 2], 0] = True  # the first head sees all in the games that choose,
    hits[:5, [1, 3], 0] = True  # and the first half of the others;
    hits[:, [1, 3], 1] = True  # the second one the opposite
    everywhere = np.ones((10, 4), bool)
    facts = attention.judged(turns(hits, everywhere, everywhere))
    assert facts["best"] == {"layer": 0, "head": 0, "share_where_chosen": 1.0, "share": 0.5}
    assert facts["heads"] == [[0.5, 1.0]]
    by_tenth = facts["by_tenth"]["attention"]
    assert [row["share"] for row in by_tenth] == [1.0] * 5 + [0.0] * 5
    assert [row["bucket"] for row in by_tenth] == list(range(10))


def test_a_tenth_is_of_the_game_and_games_count_alike_however_many_turns_they_have():
    playing = np.arange(20)[:, None] < np.array([20, 10, 20, 20])
    unseen = playing & (np.arange(20)[:, None] < np.array([20, 10, 20, 1]))
    hits = np.zeros((20, 4, 2), bool)
    hits[0, 3] = True
    rows = attention.judged(turns(hits, unseen, playing))["by_tenth"]["attention"]
    # Told are the second and the fourth game: a turn a tenth, and one turn in all, which is a hit.
    assert [row["games"] for row in rows] == [2] + [1] * 9
    assert rows[0]["share"] == 0.5


def test_the_pictures_are_drawn(tmp_path):
    everywhere = np.ones((10, 4), bool)
    facts = attention.judged(turns(np.ones((10, 4, 2), bool), everywhere, everywhere))
    board = np.zeros((7, 8), np.uint8)
    drawn = {"turn": 25, "size": 3, "heat": np.ones((3, 3)), "owner": board, "kind": board}
    drawn |= {"belief": np.ones((7, 8)), "general": (6, 7), "own": (0, 0)}
    plots.plot_attention(facts, drawn, tmp_path / "attention.png")
    plots.plot_attention(facts, None, tmp_path / "curves.png")
    rows = [{"iteration": 1, "seconds": 60.0, "entropy": 1.0, "games": 0, "undecided": 0.0}] * 2
    plots.plot_metrics(rows, tmp_path / "metrics.png")
    for name in ("attention.png", "curves.png", "metrics.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert plots.told(rows[0], "entropy")
    assert not plots.told(rows[0], "undecided")
