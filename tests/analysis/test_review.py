"""Reviews of any game: what was given away is what the judge says it was."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.corso import cell_codes
from stratagem.analysis.judgement import Judgement, Line
from stratagem.analysis.review import Judged, grade, review_game
from stratagem.cli.main import main
from stratagem.core import play
from stratagem.core.errors import StratagemError
from stratagem.games import make_game
from stratagem.protocols.replay import Replay
from stratagem.solvers.corso import Solver

GAME = make_game("corso:width=3,height=3")


def recorded(game, moves, seed=0, names=("Ana", "Bob"), resigned=()):
    """A replay of these moves in text; the result is worked out."""
    states = [jax.jit(game.init)(play.turn_key(seed, -1))]
    rows = []
    step = jax.jit(game.step)
    for turn, move in enumerate(moves):
        action = game.read_action(move)
        seat = int(np.argmax(np.asarray(game.to_move(states[-1]))))
        rows.append([action if one == seat else -1 for one in range(game.spec.seats)])
        both = jnp.full(game.spec.seats, action, jnp.int32)
        states.append(step(states[-1], both, play.turn_key(seed, turn)))
    spec = game.spec
    returns = np.asarray(game.returns(states[-1])).tolist()
    if resigned:
        returns = [-1.0 if seat in resigned else 1.0 for seat in range(2)]
    return states, Replay(
        game=spec.name,
        parameters=dict(spec.parameters),
        ruleset=spec.ruleset,
        seats=list(names),
        actions=rows,
        returns=returns,
        seed=seed,
        resigned=list(resigned),
    )


MOVES = ["c3", "b2", "c1", "b3", "c2", "b3", "a1"]
LOSSES = [2, 0, 0, 2, 2, 0, 0]  # by the solver: Ana throws the win away at once, and both later


@pytest.fixture(scope="module")
def game():
    states, replay = recorded(GAME, MOVES)
    assert bool(GAME.done(states[-1]))
    return states, replay


def test_the_losses_of_an_exact_review_are_those_of_the_solver(game):
    states, replay = game
    review = review_game(replay)
    assert (review.evaluator, review.kind, review.finished) == ("perfect", "exact", True)
    assert [one.loss for one in review.decisions] == LOSSES
    solver = Solver(3, 3)
    for state, row, one in zip(states[:-1], replay.actions, review.decisions, strict=True):
        cells, movers = cell_codes(np.asarray(GAME.view(state, 0))[None])
        margins = solver.margins(cells[0], int(movers[0]))
        best, played = max(margins.values()), margins[max(row)]
        assert one.before == np.sign(best)
        assert one.after == np.sign(played)
        assert one.loss == np.sign(best) - np.sign(played)
        assert one.mark == ("??" if one.loss else "")
        assert (one.rank == 1) == (one.loss == 0)
        assert one.alternatives == len(margins)


def test_the_graph_ends_with_the_result_and_the_sums_add_up(game):
    _, replay = game
    review = review_game(replay)
    assert len(review.graph) == len(MOVES) + 1
    assert list(review.graph[-1]) == replay.returns
    for seat, summary in enumerate(review.seats):
        own = [one for one in review.decisions if one.seat == seat]
        assert summary.name == replay.seats[seat]
        assert summary.decisions == len(own)
        assert summary.lost == sum(one.loss for one in own)
        assert summary.blunders == sum(one.mark == "??" for one in own)
    # Without dice, what one side gives away the other gains: the graph moves by the losses.
    for before, after, one in zip(review.graph[:-1], review.graph[1:], review.decisions, strict=True):
        assert before[one.seat] - after[one.seat] == pytest.approx(one.loss)


def test_what_chance_may_explain_is_not_marked():
    def marked(visits, sampled):
        lines = (Line(4, visits, 0.52, 0.5), Line(0, visits, 0.2, 0.5))
        one = Judged(0, 0, 0, Judgement(lines, 0.52, None, 2 * visits))
        return grade(GAME, one, None, sampled).mark

    # A loss of 0.32: certain, and as the mean of 4, 16 and 400 games, uncertain by 0.5, 0.25 and 0.05.
    assert [marked(4, False), marked(4, True), marked(16, True), marked(400, True)] == ["??", "", "?!", "?"]


def test_dice_are_reviewed_too_and_progress_is_told():
    game = make_game("crag")
    _, replay = recorded(game, ["keep nothing", "ones"], seed=3)
    heard = []
    review = review_game(replay, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)]
    assert not review.finished
    assert review.evaluator == "mindful"
    assert all(one.loss >= 0 for one in review.decisions)


def test_the_command_prints_a_table_or_json(game, tmp_path, capsys):
    path = tmp_path / "game.json"
    replace(game[1], seats=["Ana [x]", "Bob"]).save(path)
    assert main(["review", str(path), "--errors"]) == 0
    assert "Ana [x]" in capsys.readouterr().out
    assert main(["review", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["action"] for one in told["decisions"]] == MOVES
    assert main(["review", str(path), "--evaluator", "oracle"]) == 2
    assert main(["review", str(path), "--visits", "0"]) == 2


def test_a_replay_that_breaks_the_rules_is_refused(game):
    _, replay = game
    wrong = replace(replay, actions=[replay.actions[0], *replay.actions])
    with pytest.raises(StratagemError, match="turn 2"):
        review_game(wrong)
