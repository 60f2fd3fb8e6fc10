"""GENERAL learned by PPO against expectimax: its games are those of the rules, and what it learns can be played."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.general import position_of
from stratagem.agents.general_expectimax import root_values
from stratagem.games.general import General
from stratagem.networks.weights import weight_facts
from tests.benchmarks.scripts import script

ppo = script("benchmarks/general_ppo.py")
GAME = General()
OUTCOMES = 84
GAP = 32_767
TINY = "from-to:channels=8,blocks=1,width=4,planes=31"


@jax.jit
def follow(state, action):
    """(States after an action, by outcome, their probabilities, done, result of the Attacker, views of both seats)."""
    after = GAME.afterstate(state, jnp.full(2, action, jnp.int32))
    states = jax.vmap(lambda outcome: GAME.resolve(after, outcome))(jnp.arange(OUTCOMES))
    views = jax.vmap(lambda state: jnp.stack([GAME.view(state, 0), GAME.view(state, 1)]))(states)
    return (
        states,
        GAME.outcomes(after),
        jax.vmap(GAME.done)(states),
        jax.vmap(GAME.returns)(states)[:, 0],
        views,
    )


legal_of, view_of, shown_view = jax.jit(GAME.legal), jax.jit(GAME.view), jax.jit(ppo.view_of)


def following(state, action):
    """(state, done, result of the Attacker, views of both seats) of every way in which chance may go on."""
    states, chances, done, result, views = jax.device_get(follow(state, action))
    for at in np.flatnonzero(chances):
        yield jax.tree.map(lambda leaf, at=at: leaf[at], states), done[at], result[at], views[at]


def goes_on(after, lane):
    """Where the game may stand when it is over or the learner decides, after turns of expectimax."""
    state, done, _, views = after
    role = int(state.turn) % 2
    legal = np.flatnonzero(np.asarray(legal_of(state))[role])
    if done or (lane in (role, ppo.BOTH) and legal[0] < 10_000):
        yield after
        return
    board, facts, _, die = position_of(views[role], GAME.turns)
    values = root_values(board, facts, role, die, legal, 2, 1.0) if legal[0] < 10_000 else np.zeros(1)
    for action in legal[values >= values.max() - 1e-9]:
        for further in following(state, action):
            yield from goes_on(further, lane)


def true_side(games, game):
    """(int16[107], int[N]): what is shown of a game and its list, turned back if it was mirrored."""
    shown, listed = games.shown[game].copy(), games.listed[game]
    listed = listed[listed != GAP].astype(int)
    if games.mirrored[game]:
        across = np.arange(100).reshape(10, 10)[:, ::-1].ravel()
        shown[:100] = shown[across]
        shown[106] = shown[106] and 3 - shown[106]
        starts = np.where((listed // 100 == 44) & (listed % 100 != 44), 44, across[listed // 100])
        listed = starts * 100 + across[listed % 100]
    return shown, listed


def is_shown(state, views, shown):
    """Whether this is the position that is shown to whose turn it is."""
    role = int(state.turn) % 2
    board, facts, _, die = position_of(views[role], GAME.turns)
    same = (board == shown[:100]).all() and (facts[:5] == shown[100:105]).all()
    return same and die == shown[105] and int(state.converting) == shown[106]


def openings(lane):
    """Where a game may stand when the learner decides for the first time; the Attacker has seat 0."""
    for die in range(1, 7):
        state = opening(die)
        views = np.stack([view_of(state, seat) for seat in range(2)])
        yield from goes_on((state, False, 0.0, views), lane)


def opening(die):
    """The Attacker in seat 0 has rolled this die."""
    return jax.device_get(GAME.resolve(GAME.opening(), jnp.int32(die)))


@pytest.mark.parametrize("lane", [ppo.ATTACKS, ppo.DEFENDS, ppo.BOTH])
def test_games_follow_the_rules_and_the_opponent_is_expectimax(lane):
    generator, number = np.random.default_rng(0), 6
    games = ppo.Games(np.full(number, lane, np.int8), 2, 1, (1,))
    games.step(np.zeros(number, np.int32))

    def found(ways, game):
        shown, _ = true_side(games, game)
        over, result = games.result[game] != ppo.OPEN, games.result[game] - ppo.DRAWN
        return next(  # there is one
            after[0]
            for after in ways
            if (
                after[1] and after[2] == result
                if over
                else not after[1] and is_shown(after[0], after[3], shown)
            )
        )

    states, ended, conversions = [found(openings(lane), game) for game in range(number)], 0, 0
    for _ in range(24):
        sides = [true_side(games, game) for game in range(number)]
        for state, (shown, listed) in zip(states, sides, strict=True):
            role = int(state.turn) % 2
            np.testing.assert_allclose(shown_view(shown), view_of(state, role), atol=1e-6)
            assert sorted(listed) == np.flatnonzero(np.asarray(legal_of(state))[role]).tolist()
            conversions += shown[106] > 0
        chosen = np.array([generator.integers(len(listed)) for _, listed in sides])
        games.step(chosen)
        for game, place in enumerate(chosen):
            ways = (
                way
                for after in following(states[game], sides[game][1][place])
                for way in goes_on(after, lane)
            )
            states[game] = found(ways, game)
            if games.result[game] != ppo.OPEN:
                games.result[game], ended = ppo.OPEN, ended + 1
                states[game] = found(openings(lane), game)
    if lane == ppo.BOTH:
        assert conversions  # random Defenders come to the triangles
    else:
        assert ended > 2


def test_advantages_are_those_of_the_definition():
    """λ of a half, by hand, with all luck: values 0.2 and 0.4, then a win; and a game that is lost, then one open.

    What positions between two decisions are worth does not matter then: what skill gains, luck loses.
    """
    value = np.array([[0.2, 0.1], [0.4, 0.3]], np.float32)
    result = np.array([[ppo.OPEN, ppo.LOST], [ppo.WON, ppo.OPEN]], np.int8)
    worth, last = np.array([[0.3, -0.5], [0.7, 0.6]], np.float32), np.array([0.9, 0.5], np.float32)
    advantage, target, later = ppo.advantages_of(value, worth, result, last, 0.5, 1.0)
    np.testing.assert_allclose(advantage, [[0.2 + 0.5 * 0.6, -1.1], [0.6, 0.2]], atol=1e-6)
    np.testing.assert_allclose(target, value + advantage, atol=1e-6)
    np.testing.assert_allclose(later, target, atol=1e-6)


def test_without_luck_only_what_actions_gain_counts():
    """The first game again: actions gain 0.3 − 0.2 and 0.7 − 0.4; targets are as before."""
    value, worth = np.array([[0.2], [0.4]], np.float32), np.array([[0.3], [0.7]], np.float32)
    result = np.array([[ppo.OPEN], [ppo.WON]], np.int8)
    last = np.array([0.9], np.float32)
    advantage, target, _ = ppo.advantages_of(value, worth, result, last, 0.5, 0.0)
    np.testing.assert_allclose(advantage, [[0.1 + 0.5 * 0.3], [0.3]], atol=1e-6)
    np.testing.assert_allclose(target, [[0.7], [1.0]], atol=1e-6)


def test_what_it_learns_is_kept_and_played_and_gone_on_with(monkeypatch, tmp_path, capsys):
    words = [
        "--network",
        TINY,
        "--lanes",
        "8",
        "--steps",
        "4",
        "--batch",
        "16",
        "--every",
        "1",
        "--games",
        "4",
    ]
    words += ["--out", str(tmp_path), "--threads", "2", "--lessons", "1"]

    def call(*more):
        monkeypatch.setattr(sys, "argv", ["general_ppo.py", *words, *more])
        ppo.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    lines = call("--iterations", "2")
    assert [line.get("lesson") for line in lines] == [True, False, None, None]
    assert [line["games"] for line in lines[2:]] == [4, 4]
    assert [line["lane"] for line in lines[2:]] == ["attacks", "defends"]
    lines = call("--iterations", "3", "--resume", "1")
    assert [line.get("iteration") for line in lines] == [3, None, None]
    path = tmp_path / "general.safetensors"
    assert weight_facts(path)["summary"]["iteration"] == 3
    agent = make_agent(f"net:weights={path}", GAME)
    state = opening(3)
    legal = np.asarray(legal_of(state))[0]
    assert legal[int(agent.act((), view_of(state, 0), legal, jax.random.key(0)))]
