"""GENERAL learned by looking one action ahead: the look is true, targets are right, what is learned is played."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents import make_agent
from stratagem.agents.general_expectimax import INTERCEPTED, act
from stratagem.agents.general_heuristic import IS_MOAT
from stratagem.games.general import General
from stratagem.networks.weights import weight_facts
from tests.benchmarks.scripts import script

learner = script("benchmarks/general_afterstates.py")
GAP = 32_767
TINY = "from-to:channels=8,blocks=1,width=4,planes=31"


def test_looking_ahead_finds_what_the_rules_say():
    """Every action of games that begin anywhere, in both roles, against the rules of expectimax."""
    number, seen, intercepted, pending = 64, 0, 0, 0
    games = learner.Games(np.full(number, learner.BOTH, np.int8), 2, 1, (3,), wild=0.8)
    generator = np.random.default_rng(0)
    games.step(np.zeros(number, np.int32))
    keys = jax.random.split(jax.random.key(0), games.listed.shape)
    for _ in range(12):
        counts = (games.listed != GAP).sum(axis=1)
        found = jax.device_get(look(games.shown, games.listed, keys))
        for game in range(number):
            for place in range(counts[game]):
                after, sure = found[0][game, place], found[1][game, place]
                board, facts, left = acted(games.shown[game], int(games.listed[game, place]))
                if left == INTERCEPTED:
                    gone = np.flatnonzero(after[:100] != board)
                    assert not sure
                    assert len(gone) == 1
                    assert IS_MOAT[gone[0]]
                    assert board[gone[0]] == 2
                    board[gone[0]] = 0
                    intercepted += 1
                else:
                    assert sure
                assert (after[:100] == board).all()
                assert after[100:].tolist() == [*facts[:5].tolist(), 0, max(left - 1, 0)]
                seen, pending = seen + 1, pending + (left >= 2)
        games.step(generator.integers(0, counts))
    assert seen > 10_000
    assert intercepted > 50
    assert pending > 50


look = jax.jit(jax.vmap(jax.vmap(learner.after_of, (None, 0, 0))))


def acted(shown, action):
    """(board, facts, what is left open) after an action, by the rules of expectimax."""
    board, facts = shown[:100].astype(np.int8), np.append(shown[100:105], 300).astype(np.int64)
    return board, facts, act(board, facts, facts[4] % 2, int(shown[105]), action)


def test_the_best_candidate_is_played_and_the_likeliest_without_looking():
    plan = learner.settings_of(learner.Plan(out="x", network=TINY))
    network, _, _ = learner.first(learner.Plan(out="x", network=TINY))
    games = learner.Games(np.full(16, learner.BOTH, np.int8), 2, 1, (1,), wild=0.5)
    games.step(np.zeros(16, np.int32))
    seen = jnp.asarray(games.shown), jnp.asarray(games.listed)
    made = learner.decide(plan, network, *seen, jax.random.key(0))
    counts = (games.listed != GAP).sum(axis=1)
    for game in range(16):
        looked = made.candidates[game][made.candidates[game] < games.listed.shape[1]]
        assert len(set(looked.tolist())) == len(looked) == min(counts[game], plan.likely + plan.others)
        assert made.place[game] == made.candidates[game][made.worths[game].argmax()]
        assert made.place[game] < counts[game]
        best = float(made.worths[game].max())
        assert np.isclose(best, float(made.worth[game]) * (1 - 2 * (games.shown[game, 104] % 2)), atol=1e-6)
    alone = learner.decide(plan, network, *seen, jax.random.key(0), ahead=False)
    assert (alone.place == made.candidates[:, 0]).all()


def test_targets_are_those_of_the_definition():
    """λ of a half, by hand: expectations 0.2 and 0.4, then a win; and a game that is lost, then one open."""
    worth = np.array([[0.2, 0.1], [0.4, 0.3]], np.float32)
    result = np.array([[learner.OPEN, learner.LOST], [learner.WON, learner.OPEN]], np.int8)
    last = np.array([0.9, 0.5], np.float32)
    target, after = learner.targets_of(worth, result, last, 0.5)
    # The first game: 1 after the win, so 0.5 · 1 + 0.5 · 0.4 before it. The second: −1, then 0.5 all over.
    np.testing.assert_allclose(after, [[0.7, -1.0], [1.0, 0.5]], atol=1e-6)
    np.testing.assert_allclose(target, (after + worth) / 2, atol=1e-6)


def test_what_it_learns_is_kept_and_played_and_gone_on_with(monkeypatch, tmp_path, capsys):
    words = (
        f"--network {TINY} --lanes 8 --steps 4 --batch 16 --every 1 --games 4 --threads 2 --out {tmp_path}"
    )

    def call(more):
        monkeypatch.setattr(sys, "argv", ["general_afterstates.py", *f"{words} {more}".split()])
        learner.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    lines = call("--iterations 2 --wild 0.5 --wild_end 0")
    assert [line.get("iteration") for line in lines] == [1, 2, None, None, None, None]
    assert all(np.isfinite(line["loss"]) for line in lines[1:2])
    ends = [(line["lane"], line["ahead"], line["games"]) for line in lines[2:]]
    assert ends == [(lane, ahead, 4) for ahead in (True, False) for lane in ("attacks", "defends")]
    lines = call("--iterations 3 --resume 1")
    assert lines[0]["iteration"] == 3
    path = tmp_path / "general.safetensors"
    assert weight_facts(path)["summary"]["iteration"] == 3
    game = General()
    state = game.resolve(game.opening(), jnp.int32(3))
    legal = np.asarray(game.legal(state))[0]
    agent = make_agent(f"net:weights={path}", game)
    assert legal[int(agent.act((), game.view(state, 0), legal, jax.random.key(0)))]
