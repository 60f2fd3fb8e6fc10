"""The Attacker that learns by PPO: its games are those of the rules, and what it learns can be played."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents import make_agent
from stratagem.agents.general import position_of
from stratagem.agents.general_expectimax import root_values
from stratagem.games.general import General
from stratagem.networks.weights import weight_facts
from tests.benchmarks.scripts import script

attacker = script("benchmarks/general_attacker.py")
GAME = General()
OUTCOMES = 84
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


legal_of, view_of, shown_view = jax.jit(GAME.legal), jax.jit(GAME.view), jax.jit(attacker.view_of)


def following(state, action):
    """(state, done, result, view of seat 1) of every way in which chance may go on after an action."""
    states, chances, done, result, views = jax.device_get(follow(state, action))
    for at in np.flatnonzero(chances):
        yield jax.tree.map(lambda leaf, at=at: leaf[at], states), done[at], result[at], views[at]


def answers(state, views):
    """The same for a turn of expectimax as the Defender."""
    legal = np.flatnonzero(np.asarray(legal_of(state))[1])
    board, facts, role, die = position_of(views[1], GAME.turns)
    assert role == 1
    values = root_values(board, facts, 1, die, legal, 2, 1.0) if legal[0] < 10_000 else np.zeros(1)
    for action in legal[values >= values.max() - 1e-9]:
        for after in following(state, action):
            if after[0].converting:
                yield from answers(after[0], after[3])
            else:
                yield after


def steps(state, action):
    """Where a step of a game may lead, by the rules."""
    for after in following(state, action):
        if after[1]:
            yield after
        else:
            yield from answers(after[0], after[3])


def true_side(games, game):
    """(int16[106], int[N]): what is shown of a game and its list, turned back if it was mirrored."""
    shown, listed = games.shown[game].copy(), games.listed[game]
    listed = listed[listed != attacker.GAP].astype(int)
    if games.mirrored[game]:
        across = np.arange(100).reshape(10, 10)[:, ::-1].ravel()
        shown[:100] = shown[across]
        listed = across[listed // 100] * 100 + across[listed % 100]
    return shown, listed


def is_shown(view, shown):
    """Whether the Attacker's view is of the position that is shown."""
    board, facts, _, die = position_of(view, GAME.turns)
    return (board == shown[:100]).all() and (facts[:5] == shown[100:105]).all() and die == shown[105]


def opening(die):
    """The Attacker in seat 0 has rolled this die."""
    return jax.device_get(GAME.resolve(GAME.opening(), jnp.int32(die)))


def test_games_follow_the_rules_and_the_defender_is_expectimax():
    generator, number = np.random.default_rng(0), 6
    games = attacker.Games(number, 2, 1, (1,))
    games.step(np.zeros(number, np.int32))
    states, ended = [opening(int(die)) for die in games.shown[:, 105]], 0
    for _ in range(20):
        sides = [true_side(games, game) for game in range(number)]
        for state, (shown, listed) in zip(states, sides, strict=True):
            view = np.asarray(view_of(state, 0))
            assert is_shown(view, shown)
            np.testing.assert_allclose(shown_view(shown), view, atol=1e-6)
            assert sorted(listed) == np.flatnonzero(np.asarray(legal_of(state))[0]).tolist()
        chosen = np.array([generator.integers(len(listed)) for _, listed in sides])
        games.step(chosen)
        for game, place in enumerate(chosen):
            shown, _ = true_side(games, game)
            over, result = games.result[game] != attacker.OPEN, games.result[game] - attacker.DRAWN
            ways = (
                state
                for state, done, returned, views in steps(states[game], sides[game][1][place])
                if (done and returned == result if over else not done and is_shown(views[0], shown))
            )
            states[game] = next(ways)  # there is one
            if over:
                states[game], ended = opening(int(shown[105])), ended + 1
    assert ended > 2


def test_advantages_are_those_of_the_definition():
    """λ of a half, by hand: values 0.2 and 0.4, then a win; and a game that is still open."""
    value = np.array([[0.2, 0.1], [0.4, 0.3]], np.float32)
    result = np.array([[attacker.OPEN, attacker.LOST], [attacker.WON, attacker.OPEN]], np.int8)
    found = attacker.advantages_of(value, result, np.array([0.9, 0.5], np.float32), 0.5)
    np.testing.assert_allclose(found, [[0.2 + 0.5 * 0.6, -1.1], [0.6, 0.2]], atol=1e-6)


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
        monkeypatch.setattr(sys, "argv", ["general_attacker.py", *words, *more])
        attacker.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    lines = call("--iterations", "2")
    assert [line.get("lesson") for line in lines] == [True, False, None, None]
    assert [line["games"] for line in lines[2:]] == [4, 4]
    lines = call("--iterations", "3", "--resume", "1")
    assert [line.get("iteration") for line in lines] == [3, None, None]
    path = tmp_path / "attacker.safetensors"
    assert weight_facts(path)["summary"]["iteration"] == 3
    agent = make_agent(f"net:weights={path}", GAME)
    state = opening(3)
    legal = np.asarray(legal_of(state))[0]
    assert legal[int(agent.act((), view_of(state, 0), legal, jax.random.key(0)))]
