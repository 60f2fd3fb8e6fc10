"""Tree search as a judge: visits add up, parts make the whole, and a review reads one position from the next."""

import jax
import jax.numpy as jnp
import pytest

from stratagem.agents.network import opinion_of
from stratagem.analysis.evaluators import search
from stratagem.analysis.evaluators.search import Search, compiled, judgement
from stratagem.analysis.judgement import Question
from stratagem.analysis.review import review_game
from stratagem.games import make_game
from tests.analysis.test_evaluators import judged
from tests.analysis.test_review import GAME, MOVES, recorded


@pytest.fixture(scope="module")
def searched():
    game = make_game("corso:width=3,height=3")
    return game, game.read("OOO/OAb/OOO 1")


def test_the_visits_and_values_of_a_search_add_up(searched):
    game, state = searched
    found = judged(Search(game), state, visits=30)
    assert found.visits == sum(line.visits for line in found.lines) == 30
    assert sum(line.prior for line in found.lines) == pytest.approx(1, abs=1e-5)
    seen = [line for line in found.lines if line.visits]
    # The root's mean has its own first judgement in it, one visit among 31.
    mean = sum(line.value * line.visits for line in seen)
    assert abs(found.value * 31 - mean) <= 1 + 1e-4


def test_a_search_in_parts_is_the_search_in_one(searched):
    game, state = searched
    news = []
    question = Question(game, state, 0, 30)
    watched = Search(game).judge(question, lambda so_far: news.append(so_far()) or True)
    assert [one.visits for one in news] == sorted(one.visits for one in news)
    assert all(one.visits < 30 for one in news)
    start, more = compiled(game, 32)
    assert watched == judgement(question, more(start(state), 0, 30))


def test_a_search_that_outgrows_its_tree_goes_on_in_a_larger_one(searched, monkeypatch):
    game, state = searched
    question = Question(game, state, 0, 48)
    monkeypatch.setattr(search, "SMALL", 32)
    start, more = compiled(game, 256)
    assert Search(game).judge(question, lambda so_far: True) == judgement(question, more(start(state), 0, 48))


def test_a_move_that_a_search_left_out_has_the_networks_value_when_asked_for(searched):
    game, state = searched
    ignored = judged(Search(game), state, visits=1).lines[-1]
    assert ignored.visits == 0
    found = judged(Search(game), state, visits=1, asked=(ignored.action,))
    told = next(line for line in found.lines if line.action == ignored.action)
    onward = game.step(state, jnp.full(2, ignored.action), jax.random.key(0))
    assert told.value == pytest.approx(float(jax.jit(opinion_of(game, "", False))(onward)[1][0]), abs=1e-5)


def test_in_a_review_moves_are_judged_by_the_next_position():
    _, replay = recorded(GAME, MOVES)
    review = review_game(replay, visits=30, evaluator="search")
    assert review.kind == "search"
    for one in review.decisions:
        assert one.loss >= 0
        assert 1 <= one.rank <= one.alternatives
        if one.rank > 1:
            assert one.after == pytest.approx(review.graph[one.turn + 1][one.seat])


def test_who_resigns_has_not_played_a_losing_move():
    _, replay = recorded(GAME, MOVES[:3], resigned=(0,))
    review = review_game(replay, visits=30, evaluator="search")
    assert review.finished
    assert review.decisions[-1].after > -1
    assert list(review.graph[-1]) == [-1.0, 1.0]
