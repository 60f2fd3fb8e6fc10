"""The coach: luck and skill add up, grades are right, typed games are read, reasons have numbers."""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.analysis.dice_notation import BadNotation, read_notation, write_notation
from stratagem.analysis.dice_review import elo, review
from stratagem.core import play
from stratagem.core.errors import Unsupported
from stratagem.games.dice.family import Family, generala
from stratagem.games.dice.rules import DiceGame, Generala
from stratagem.protocols.replay import Replay, positions, verify
from stratagem.solvers.dice import solve


@dataclass(frozen=True)
class Short(DiceGame):
    """Generala with three categories, so that a test can solve it."""

    players: int = 2

    @cached_property
    def family(self) -> Family:
        return generala().reduced("sixes", "escalera", "generala")


GAME = Short()
INIT, STEP, LEGAL = jax.jit(GAME.init), jax.jit(GAME.step), jax.jit(GAME.legal)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return solve(GAME.family, folder=tmp_path_factory.mktemp("solved"))


def random_game(seed):
    """(states, actions) of a game with random decisions."""
    draw = np.random.default_rng(seed)
    states, actions = [INIT(play.turn_key(seed, -1))], []
    while not bool(GAME.done(states[-1])):
        legal = np.asarray(LEGAL(states[-1]))[int(states[-1].mover)]
        actions.append(int(draw.choice(np.flatnonzero(legal))))
        both = np.full(2, actions[-1], np.int32)
        states.append(STEP(states[-1], both, play.turn_key(seed, len(actions))))
    return states, actions


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31 - 1))
def test_skill_and_luck_add_up_to_the_result(table, seed):
    states, actions = random_game(seed)
    graded = review(GAME, states, actions, ("a", "b"), table)
    for seat, summary in enumerate(graded.seats):
        assert summary.result == float(GAME.returns(states[-1])[seat])
        assert summary.skill + summary.luck == pytest.approx(summary.result, abs=1e-9)
        own = [one for one in graded.decisions if one.seat == seat]
        assert summary.lost == pytest.approx(sum(one.loss for one in own), abs=1e-12)
    assert all(one.loss >= 0 for one in graded.decisions)


def test_luck_is_zero_on_average(table):
    """Over all first rolls, weighted by their chances, the first roll's luck cancels."""
    k = GAME.keeps
    start = INIT(play.turn_key(0, -1))
    luck = []
    for roll in range(len(k.rolls)):
        state = start._replace(dice=np.int32(roll))
        stand = int(k.partial + roll)
        after = state._replace(left=np.int32(0))
        luck.append(review(GAME, [state, after], [stand], ("a", "b"), table).decisions[0].luck)
    assert np.dot(k.ways, luck) / k.ways.sum() == pytest.approx(0, abs=1e-6)


def test_the_best_action_loses_nothing_and_ranks_first(table):
    states, _ = random_game(5)
    state = states[0]
    graded = review(GAME, states[:2], [0], ("a", "b"), table).decisions[0]
    best = GAME.read_action(graded.best)
    again = review(GAME, states[:2], [best], ("a", "b"), table).decisions[0]
    assert again.loss <= 1e-7
    assert again.rank == 1
    assert again.mark == again.why == ""
    assert graded.before == again.before
    assert int(np.asarray(LEGAL(state)).sum()) == graded.alternatives


def test_keeping_the_wrong_dice_is_explained_by_what_it_makes_rarer(table):
    # Escalera is one die away; throwing everything away gives it up.
    state = GAME.read("-,-,-/-,-,- 23455 2* 1")
    after = GAME.read("-,-,-/-,-,- 11111 1 1")
    graded = review(GAME, [state, after], [GAME.read_action("keep 5-5")], ("a", "b"), table).decisions[0]
    assert graded.best == "keep 2-3-4-5"
    assert "escalera" in graded.why
    assert "56% against" in graded.why  # 5/9 in two rolls, Heled 2019


def test_three_players_are_refused(table):
    with pytest.raises(Unsupported, match="two players"):
        review(Short(players=3), [], [], (), table)


def test_elo_is_the_papers():
    assert elo(-0.24) == pytest.approx(-85, abs=0.5)  # Joe against Malina
    assert elo(0.039) == pytest.approx(14, abs=0.5)  # Malina against Maximus


TYPED = """
# the first turns of a game
players Ana, Bob
Ana: 13334 keep 333, 33336 keep 3333, 33334 four of a kind     # or just: four_
Bob: 11333 full house
Ana: 12256 keep nothing, 66612 keep 666, 66645 six
"""


def test_a_typed_game_becomes_a_replay():
    replay = read_notation(TYPED)
    game = Generala()
    *_, last = positions(replay, game)
    assert game.write(last).split()[0] == "-,-,-,-,-,18,-,-,40,-/-,-,-,-,-,-,-,30,-,-"
    assert int(last.mover) == 1
    assert replay.returns == [0.0, 0.0]


def test_a_whole_typed_game_knows_its_result():
    game, rng = Generala(), np.random.default_rng(1)
    after, resolve = jax.jit(game.afterstate), jax.jit(game.resolve)
    outcomes, actions = [7], []
    state = resolve(game.opening(), 7)
    while not bool(game.done(state)):
        seat = int(state.mover)
        action = int(rng.choice(np.flatnonzero(np.asarray(game.legal(state))[seat])))
        actions.append([action if one == seat else -1 for one in range(2)])
        waiting = after(state, np.full(2, action, np.int32))
        outcomes.append(int(rng.choice(np.flatnonzero(np.asarray(game.outcomes(waiting))))))
        state = resolve(waiting, outcomes[-1])
    spec = game.spec
    replay = Replay(
        game=spec.name, parameters=dict(spec.parameters), ruleset=spec.ruleset, seats=["a", "b"],
        actions=actions, returns=np.asarray(game.returns(state)).tolist(), outcomes=outcomes,
    )  # fmt: skip
    again = read_notation(write_notation(replay))
    assert again.returns == replay.returns
    verify(again)


def test_writing_and_reading_a_typed_game_gives_the_same_actions():
    replay = read_notation(TYPED)
    again = read_notation(write_notation(replay))
    assert (again.actions, again.outcomes) == (replay.actions, replay.outcomes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("13334 keep 333", "line 1"),
        ("1333 threes", "4 dice"),
        ("13337 threes", "1 to 6"),
        ("13334 f", "not one of"),
        ("players A, B\nB: 13334 threes", "line 2: it is A's turn"),
        ("game chess", "no game is called"),
        ("", "no turn"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises((BadNotation, KeyError), match=message):
        read_notation(text)
