"""The rules of Generala, Yacht, Crag and Yatzy, as data and in play."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.games.dice.family import (
    Category,
    Family,
    crag,
    family_from_toml,
    generala,
    yacht,
    yatzy,
)
from stratagem.games.dice.keeps import keeps
from stratagem.games.dice.rules import Crag, Generala, Variant, Yacht, Yatzy


@pytest.mark.parametrize(
    ("family", "category", "dice", "points"),
    [
        (generala(), "fours", "13444", 12),
        (generala(), "ones", "23456", 0),
        (generala(), "escalera", "12345", 20),
        (generala(), "escalera", "23456", 20),
        (generala(), "escalera", "12346", 0),
        (generala(), "full_house", "22333", 30),
        (generala(), "full_house", "55555", 30),
        (generala(), "full_house", "22334", 0),
        (generala(), "four_of_a_kind", "11113", 40),
        (generala(), "four_of_a_kind", "11111", 40),
        (generala(), "generala", "66666", 50),
        (yacht(), "full_house", "22333", 13),
        (yacht(), "full_house", "66666", 30),
        (yacht(), "four_of_a_kind", "55552", 20),
        (yacht(), "four_of_a_kind", "55555", 20),
        (yacht(), "little_straight", "12345", 30),
        (yacht(), "big_straight", "12345", 0),
        (yacht(), "choice", "12366", 18),
        (yacht(), "yacht", "33333", 50),
        (crag(), "odd_straight", "135", 20),
        (crag(), "low_straight", "135", 0),
        (crag(), "three_of_a_kind", "222", 25),
        (crag(), "thirteen", "346", 26),
        (crag(), "thirteen", "355", 26),
        (crag(), "crag", "355", 50),
        (crag(), "crag", "346", 0),
        (yatzy(), "one_pair", "22355", 10),
        (yatzy(), "two_pairs", "22355", 14),
        (yatzy(), "two_pairs", "22223", 0),
        (yatzy(pairs_alike=True), "two_pairs", "22223", 8),
        (yatzy(), "three_of_a_kind", "24444", 12),
        (yatzy(), "four_of_a_kind", "24444", 16),
        (yatzy(), "small_straight", "12345", 15),
        (yatzy(), "large_straight", "23456", 20),
        (yatzy(), "full_house", "22333", 13),
        (yatzy(), "chance", "12366", 18),
    ],
)
def test_points_are_those_of_the_rules(family, category, dice, points):
    roll = tuple(sorted(int(die) for die in dice))
    assert family.categories[family.index(category)].score(roll) == points


def test_multisets_are_counted_and_ordered():
    k = keeps(5, 6)
    assert (len(k.multisets), len(k.rolls), k.ways.sum()) == (462, 252, 6**5)
    assert len(keeps(3, 6).multisets) == 84
    assert k.multisets[0] == ()
    assert k.multisets[1:7] == ((1,), (2,), (3,), (4,), (5,), (6,))
    assert k.full((3, 1, 2, 2, 1)) == k.rolls.index((1, 1, 2, 2, 3))


def test_the_same_rules_written_as_toml_have_the_same_hash(tmp_path):
    lines = ['name = "mine"', "dice = 5", "faces = 6", "rolls = 3"]
    for category in generala(first_roll_bonus=True).categories:
        lines += ["[[categories]]", f'name = "{category.name}"', f'fits = "{category.fits}"']
        lines += [f"value = {category.value}", f"points = {category.points}"]
        lines += [f"first_roll = {category.first_roll}", f"runs = {[list(run) for run in category.runs]}"]
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(lines))
    assert family_from_toml(path).ruleset == generala(first_roll_bonus=True).ruleset
    game = Variant(family_from_toml(path), players=3)
    assert (game.spec.name, game.spec.seats) == ("mine", 3)
    assert game.init(jax.random.key(0)).sheet.shape == (3, 10)
    assert generala().ruleset != generala(first_roll_bonus=True).ruleset


def test_a_bad_variant_is_refused_by_name():
    with pytest.raises(ValueError, match="fits must be one of"):
        Category("moons", "moon")
    with pytest.raises(ValueError, match="share a name"):
        Family("twice", (Category("ones", "face", 1),) * 2)


def played(game, *words, start=None):
    """The state after these actions, the dice falling as the key wants."""
    state = start or game.init(jax.random.key(0))
    for number, word in enumerate(words):
        actions = jnp.full(game.players, game.read_action(word), jnp.int32)
        state = game.step(state, actions, jax.random.key(number))
    return state


def test_keeping_all_dice_goes_straight_to_scoring():
    game = Generala()
    state = played(game, "keep 1-2-3-4-5", start=game.read(f"{_blank(2)} 12345 2* 1"))
    assert game.write(state).endswith("12345 0* 1")
    assert played(game, "escalera", start=state).sheet[0, 6] == 20


def test_the_first_roll_bonus_needs_the_first_roll():
    game = Generala(first_roll_bonus=True)
    assert played(game, "escalera", start=game.read(f"{_blank(2)} 12345 0* 1")).sheet[0, 6] == 25
    assert played(game, "escalera", start=game.read(f"{_blank(2)} 12345 0 1")).sheet[0, 6] == 20
    assert played(game, "generala", start=game.read(f"{_blank(2)} 11111 0* 1")).sheet[0, 9] == 50


def test_a_waived_category_scores_nothing_and_is_used():
    game = Generala()
    state = played(game, "generala", start=game.read(f"{_blank(2)} 12345 0 1"))
    assert int(state.sheet[0, 9]) == 0
    assert int(state.mover) == 1


def test_yatzy_pays_the_bonus_at_sixty_three():
    game = Yatzy()
    upper = "3,6,9,12,15,18"  # three of each: exactly 63
    short = "3,6,9,12,15,12"
    rest = ",".join("-" * 9)
    state = game.read(f"{upper},{rest}/{short},{rest} 12345 2* 1")
    assert game.scores(state).tolist() == [63 + 50, 57]


def test_chance_is_the_fall_of_the_dice_not_kept():
    game = Crag()
    state = game.read(f"{_blank(2, 13)} 355 1* 1")
    after = game.afterstate(state, jnp.full(2, game.read_action("keep 5-5"), jnp.int32))
    chances = np.asarray(game.outcomes(after))
    assert chances[game.keeps.full((3, 5, 5))] == pytest.approx(1 / 6)
    assert chances[game.keeps.full((5, 5, 5))] == pytest.approx(1 / 6)
    assert chances.sum() == pytest.approx(1)


def test_a_random_game_ends_after_every_category_is_used():
    game = Yacht()
    state, key = game.init(jax.random.key(3)), jax.random.key(4)
    step, legal = jax.jit(game.step), jax.jit(game.legal)
    turns = 0
    while not bool(game.done(state)):
        key, step_key = jax.random.split(key)
        action = int(np.flatnonzero(np.asarray(legal(state))[int(state.mover)])[-1])
        state = step(state, jnp.full(2, action, jnp.int32), step_key)
        turns += 1
    assert turns == 2 * 12 * 2  # the last legal action keeps everything: two decisions a turn
    assert int(game.returns(state).sum()) == 0


def _blank(players, categories=10):
    return "/".join([",".join("-" * categories)] * players)
