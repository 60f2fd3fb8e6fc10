"""The players of the dice games, and what they are worth against each other."""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
import pytest

from stratagem.agents import dice as players
from stratagem.agents.dice import Joe, Malina, Maximus, Mindful, StandingGreedy, StandingRandom
from stratagem.core.errors import Unsupported
from stratagem.games.dice.family import Family, generala
from stratagem.games.dice.rules import DiceGame, Generala, Yatzy
from stratagem.solvers.dice import solve
from stratagem.solvers.dice_duel import ahead_or_behind, duel, player
from stratagem.solvers.dice_onesided import distributions, expected_scores
from stratagem.solvers.dice_strategies import strategy

FAMILY = generala().reduced("ones", "sixes", "escalera", "generala")


@dataclass(frozen=True)
class Short(DiceGame):
    """Four categories of Generala, so that a test can solve it."""

    players: int = 2

    @cached_property
    def family(self) -> Family:
        return FAMILY


@pytest.fixture(scope="module", autouse=True)
def solved(cache):
    """Malina finds the short game in the cache."""
    players.solved.cache_clear()
    return solve(FAMILY)


AGENTS = [Malina, Maximus, Mindful, Joe, StandingGreedy, StandingRandom]
NAMES = ["malina", "maximus", "mindful", "joe", "standing-greedy", "standing-random"]


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("kind", AGENTS, ids=NAMES)
def test_every_player_plays_legal_actions_to_the_end(kind, seats):
    game = Short(players=seats)
    agent, rng = kind(game), np.random.default_rng(0)
    step, legal = jax.jit(game.step), jax.jit(game.legal)
    state, key = game.init(jax.random.key(1)), jax.random.key(2)
    while not bool(game.done(state)):
        view = jax.tree.map(np.asarray, state)
        allowed = np.asarray(legal(state))[int(state.mover)]
        action = agent.act((), view, allowed, rng)
        assert allowed[action]
        key, step_key = jax.random.split(key)
        state = step(state, np.full(seats, action, np.int32), step_key)


def test_a_duel_of_perfect_players_is_the_value_of_the_game(solved):
    assert duel(solved, solved, FAMILY) == pytest.approx(solved.start_equity, abs=1e-6)


@pytest.mark.parametrize("name", NAMES[1:])
def test_nobody_does_better_against_malina_than_malina(solved, name):
    other = player(name, FAMILY)
    assert duel(solved, other, FAMILY) >= solved.start_equity - 1e-6
    assert duel(other, solved, FAMILY) <= solved.start_equity + 1e-6


@pytest.mark.parametrize(
    ("one", "other"), [("maximus", "joe"), ("standing-random", "maximus"), ("joe", "standing-greedy")]
)
def test_a_duel_of_players_who_ignore_each_other_compares_their_score_distributions(one, other):
    first, second = (strategy(FAMILY, name) for name in (one, other))
    chances = distributions(first)[-1]
    expected = float(chances @ ahead_or_behind(distributions(second))[-1])
    assert duel(first, second, FAMILY) == pytest.approx(expected, abs=1e-6)


def test_distributions_have_the_expected_mean():
    chances = distributions(strategy(FAMILY, "maximus"))
    np.testing.assert_allclose(
        chances @ np.arange(chances.shape[1]), expected_scores(FAMILY)[:, 0], atol=1e-9
    )


def test_maximus_numbers_of_the_paper():
    game = generala()
    expected = expected_scores(game)[:, 0]

    def left(*names):
        return round(float(expected[sum(1 << game.index(name) for name in names)]), 1)

    # Heled 2019, "Meet Maximus" and "Mindful Maximus".
    assert left("escalera", "generala") == 10.3
    assert left("sixes", "generala") == 17.7
    assert left("sixes", "escalera") == 20.4
    assert left("twos") == 4.2
    assert left("generala") == 2.3


def test_the_bonus_counts_for_the_expected_score():
    """Two categories and a bonus at 40: worked out by hand from the table of one category."""
    family = Family("small", generala().reduced("fives", "sixes").categories, upper_target=40, upper_bonus=50)
    plain = Family("small", family.categories)
    assert expected_scores(family)[0, 40] == 50
    assert expected_scores(family)[3, 0] > expected_scores(plain)[3, 0]
    # With sixes left and 10 points so far only five sixes reach 40: a bonus that comes with chance p(yacht of sixes).
    p_all_sixes = (1 - (5 / 6) ** 3) ** 5
    assert expected_scores(family)[2, 10] == pytest.approx(5 * 6 * (1 - (5 / 6) ** 3) + 50 * p_all_sixes)


def test_mindful_sees_the_gap_that_maximus_overlooks():
    """X has Twos and Generala left and must score dice that fit neither; O has Ones left and is 40 points ahead."""
    game = Generala()
    mine = "5,-,0,4,5,6,0,0,40,-"  # 60
    theirs = "-,10,15,20,25,0,0,30,0,0"  # 100
    state = jax.tree.map(np.asarray, game.read(f"{mine}/{theirs} 13333 0 1"))
    first = len(game.keeps.multisets)
    rng = np.random.default_rng(0)
    legal = np.asarray(game.legal(state))[0]
    assert game.write_action(Maximus(game).act((), state, legal, rng)) == "generala"
    assert game.write_action(Mindful(game).act((), state, legal, rng)) == "twos"
    assert Mindful(game).values(state)[first + game.family.index("generala")] == pytest.approx(-1)


def test_malina_plays_against_the_most_dangerous_opponent(solved):
    game = Short(players=3)
    state = jax.tree.map(np.asarray, game.read("0,-,-,-/4,-,-,-/5,-,-,- 12345 2* 1"))
    mover, found = players.sheets(game, state)
    assert Malina(game).dangerous(mover, tuple(found), solved) == (found[2].open, -5)
    # The leader is not the more dangerous one when its good categories are gone.
    state = jax.tree.map(np.asarray, game.read("-,0,-,-/-,6,-,-/4,-,-,- 12345 2* 1"))
    mover, found = players.sheets(game, state)
    assert Malina(game).dangerous(mover, tuple(found), solved) == (found[2].open, -4)


def test_mindful_refuses_a_bonus_that_its_distributions_do_not_know():
    with pytest.raises(Unsupported, match="upper_bonus=false"):
        Mindful(Yatzy())
