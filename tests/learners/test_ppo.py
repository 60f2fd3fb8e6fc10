"""PPO: arithmetic on batches small enough to follow, and games small enough to know the answer."""

import itertools
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_policies import KUHN, PENNIES, SeatedPennies, kuhn_policy, kuhn_value, pure_policies

from stratagem.core.errors import BadOption, Unsupported
from stratagem.core.game import GameSpec
from stratagem.learners.ppo import PPO, PPOConfig, goal_of, one_update, optimiser, told
from stratagem.learners.ppo_rollout import Turn, rewarding, rollout, start_lanes
from stratagem.learners.ppo_update import (
    Sample,
    Weights,
    advantages_of,
    batch_loss,
    filtered,
    samples_at,
)
from stratagem.networks.judgements import Judgement, belief_loss, bell, centres, masked, value_of
from stratagem.networks.senses import PlainSenses
from tests.tiny_games import KuhnPoker, TicTacToe


def turns(value, reward, moved, done, cut=None):
    """A rollout of one lane from lists over time; entries of the first three are lists over seats."""
    value, reward = jnp.asarray(value, jnp.float32)[:, None], jnp.asarray(reward, jnp.float32)[:, None]
    moved, done = jnp.asarray(moved, bool)[:, None], jnp.asarray(done, bool)[:, None]
    cut = jnp.zeros_like(done) if cut is None else jnp.asarray(cut, bool)[:, None]
    empty = jnp.zeros_like(done)
    return Turn((), empty, empty, empty, value, moved, reward, done, cut, empty, empty)


def test_advantages_by_hand_for_a_seat_that_moves_every_turn():
    # γ = 1, λ = 0.5; the game is won in the third turn, and the rollout ends in the middle of the next game.
    # δ₂ = 1 − 0.5 = 0.5; δ₁ = 0.5 − 0.2 = 0.3; δ₀ = 0.2 − 0.1 = 0.1
    # A₂ = 0.5; A₁ = 0.3 + 0.5 · 0.5 = 0.55; A₀ = 0.1 + 0.5 · 0.55 = 0.375
    # The new game: V = 0.3, then 0.4 when it is cut off. A₃ = 0.4 − 0.3; nothing is known of the last decision.
    found, known = advantages_of(
        turns([[0.1], [0.2], [0.5], [0.3], [0.4]], [[0], [0], [1], [0], [0]], [[True]] * 5, [0, 0, 1, 0, 0]),
        1.0, 0.5, cut_is_end=False,
    )  # fmt: skip
    np.testing.assert_allclose(found[:, 0, 0], [0.375, 0.55, 0.5, 0.1, 0.0], atol=1e-6)
    assert known[:, 0, 0].tolist() == [True, True, True, True, False]


def test_advantages_chain_the_decisions_of_each_seat_past_those_of_others():
    # Two seats in turn; seat 1 wins with the fourth move, which seat 0 has to answer for too.
    # Seat 0 decides in turns 0 and 2: A₂ = −1 − 0.4 = −1.4; A₀ = (0.4 − 0.1) + 0.5 · A₂ = −0.4
    # Seat 1 decides in turns 1 and 3: A₃ = 1 − (−0.2) = 1.2; A₁ = (−0.2 − 0.3) + 0.5 · 1.2 = 0.1
    # What the network says for a seat that is not to move (9) does not matter.
    found, known = advantages_of(
        turns(
            [[0.1, 9], [9, 0.3], [0.4, 9], [9, -0.2]], [[0, 0], [0, 0], [0, 0], [-1, 1]],
            [[1, 0], [0, 1], [1, 0], [0, 1]], [0, 0, 0, 1],
        ),
        1.0, 0.5, cut_is_end=False,
    )  # fmt: skip
    np.testing.assert_allclose(found[:, 0], [[-0.4, 0], [0, 0.1], [-1.4, 0], [0, 1.2]], atol=1e-6)
    assert known[:, 0].tolist() == [[True, False], [False, True], [True, False], [False, True]]


def test_rewards_on_the_way_are_gathered_by_the_decision_that_led_there():
    # Seat 0 decides in turn 0 and is paid 0.25 in turns 0, 1 and 2, before it decides again in turn 3 and loses.
    found, _ = advantages_of(
        turns([[0.5], [9], [9], [0.125]], [[0.25], [0.25], [0.25], [-1]], [[1], [0], [0], [1]], [0, 0, 0, 1]),
        0.5, 1.0, cut_is_end=False,
    )  # fmt: skip
    # A₃ = −1 − 0.125; A₀ = 0.75 + 0.5 · 0.125 − 0.5 + 0.5 · A₃
    np.testing.assert_allclose(found[:, 0, 0], [0.3125 - 0.5625, 0, 0, -1.125], atol=1e-6)


def test_a_game_out_of_turns_is_not_a_lost_one():
    told = turns([[0.5], [0.6], [0.2]], [[0], [0], [-1]], [[1], [1], [1]], [0, 1, 1], [0, 1, 0])
    found, known = advantages_of(told, 1.0, 0.5, cut_is_end=False)
    # The value before the cut stands for what would have come.
    np.testing.assert_allclose(found[:, 0, 0], [0.1, 0.0, -1.2], atol=1e-6)
    assert known[:, 0, 0].tolist() == [True, False, True]
    found, known = advantages_of(told, 1.0, 0.5, cut_is_end=True)
    # As a draw: A₁ = 0 − 0.6; A₀ = 0.1 + 0.5 · A₁
    np.testing.assert_allclose(found[:, 0, 0], [-0.2, -0.6, -1.2], atol=1e-6)
    assert known.all()


def test_the_filter_keeps_the_largest_advantages_of_either_sign():
    advantage = jnp.array([[0.1, -0.9], [0.5, -0.2], [99.0, 0.4], [-0.3, 0.0]])[:, None]
    known = jnp.ones_like(advantage, bool).at[2, 0, 0].set(False)
    assert filtered(advantage, known, 3).tolist() == [1, 2, 5]
    told = turns(jnp.zeros((4, 2)), jnp.zeros((4, 2)), jnp.ones((4, 2)), jnp.zeros(4))
    told = told._replace(
        record=jnp.arange(8).reshape(4, 1, 2), **dict.fromkeys(("legal", "action", "chance"), advantage)
    )
    kept = samples_at(told, advantage, advantage, known, filtered(advantage, known, 8))
    assert kept.record.tolist()[:3] == [1, 2, 5]
    assert kept.weight.tolist() == [
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
    ]  # of the one that is not known, nothing is learned


@dataclass(frozen=True)
class Told:
    """A network that says what it is told."""

    logits: tuple
    value: float

    def __call__(self, features, learning=False):
        return Judgement(jnp.array(self.logits), jnp.array([self.value]))


class ThreeSided(SeatedPennies):
    """With a coin that has an edge to stand on."""

    @property
    def spec(self):
        return GameSpec("three-sided", seats=2, actions=3, longest=1)


def test_losses_by_hand():
    # Three actions, the third not legal; probabilities ¾ and ¼ now.
    network = Told((float(np.log(3)), 0.0, 7.0), 0.5)
    legal = jnp.packbits(jnp.array([1, 1, 0]))
    # Played with ½ each: ratios 1.5 and 0.5, beyond the clip of 0.2.
    batch = Sample(
        record=jnp.zeros((4, 1)),
        legal=jnp.tile(legal, (4, 1)),
        action=jnp.array([0, 0, 1, 1]),
        chance=jnp.full(4, np.log(0.5)),
        advantage=jnp.array([1.0, -1.0, 1.0, 5.0]),
        target=jnp.array([1.0, 0.0, 0.5, 0.5]),
        weight=jnp.array([1.0, 1.0, 1.0, 0.0]),
    )
    weights = Weights(clip=0.2, value=0.5, sigma=0.04, entropy=jnp.float32(0.1))
    total, parts = batch_loss(network, PlainSenses(ThreeSided()), weights, batch)
    # min(1.5, 1.2) = 1.2; min(−1.5, −1.2) = −1.5; min(0.5, 0.8) = 0.5; the fourth does not count.
    assert parts["policy_loss"] == pytest.approx(-(1.2 - 1.5 + 0.5) / 3)
    assert parts["value_loss"] == pytest.approx((0.25 + 0.25 + 0) / 3)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert parts["entropy"] == pytest.approx(entropy)
    assert total == pytest.approx(-0.2 / 3 + 0.5 * 0.5 / 3 - 0.1 * entropy)


def test_a_bell_curve_around_the_target_is_what_a_value_is_learned_from():
    target = bell(jnp.float32(0.25), 128, 0.04)
    assert target.sum() == pytest.approx(1)
    assert target @ centres(128) == pytest.approx(0.25, abs=1e-4)
    spread = jnp.sqrt(target @ jnp.square(centres(128) - 0.25))
    assert spread == pytest.approx(0.04, abs=1e-3)
    # Cross-entropy is least, and as large as the entropy of the curve, where the belief is the curve.
    belief = jnp.log(target + 1e-30)
    least = -(target * belief).sum()
    assert belief_loss(belief, jnp.float32(0.25), 0.04) == pytest.approx(float(least), rel=1e-4)
    assert belief_loss(belief, jnp.float32(0.2), 0.04) > least
    assert value_of(jnp.zeros(128)) == pytest.approx(0, abs=1e-6)
    # At the end of the range half of the curve is cut off: its mean is σ · √(2/π) = 0.032 inside.
    assert bell(jnp.float32(1.0), 128, 0.04) @ centres(128) == pytest.approx(1 - 0.032, abs=2e-3)


def test_illegal_actions_have_no_probability_and_no_gradient():
    def chosen(logits):
        legal = jnp.array([True, False, True])
        chances = jax.nn.log_softmax(masked(logits, legal))
        return chances[0] - jnp.where(legal, jnp.exp(chances) * chances, 0.0).sum(), jnp.exp(chances)

    slope, chances = jax.grad(chosen, has_aux=True)(jnp.array([1.0, 500.0, 2.0]))
    assert chances[1] == 0
    assert slope[1] == 0
    assert jnp.isfinite(slope).all()


def test_schedules_are_the_published_ones():
    config = PPOConfig()
    at = jnp.array([0.0, 1999.0, 9999.0, 1e6])
    # 0.5 · 10,000^−1.1 = 1.99e-5; 0.5 · 2000^−1.1 is above the cap, a millionth iteration below the floor.
    np.testing.assert_allclose(config.rate_at(at), [1e-4, 1e-4, 1.9905e-5, 5e-6], rtol=1e-3)
    np.testing.assert_allclose(config.entropy_at(at[:2]), [0.05, 0.05 * 2000**-0.2], rtol=1e-5)
    # 512 · 512 turns of two seats, a quarter kept, in batches of 1,024.
    assert config.batches(SeatedPennies()) == (128, 1024)
    assert (config.discount, config.trace, config.clip, config.epochs) == (1.0, 0.9, 0.2, 1)
    assert (config.value_weight, config.gradient, config.sigma, config.average) == (0.5, 0.267, 0.04, 0.999)
    halving = replace(config, shaping=0.5, shaping_until=100)
    np.testing.assert_allclose(halving.shaping_at(jnp.array([0, 50, 100, 500])), [0.5, 0.25, 0, 0])


def test_a_gradient_step_moves_the_average_slower_than_the_network():
    learner = PPO(SeatedPennies(), PlainSenses(SeatedPennies()), replace(PENNIES, average=0.9))
    state = learner.start(jax.random.key(0))
    state = state._replace(updates=jnp.int32(1000))
    batch = Sample(
        record=(jnp.zeros((2, 2), jnp.int32), jnp.arange(2)),
        legal=jnp.full((2, 1), 0b11000000, jnp.uint8),
        action=jnp.array([0, 1]),
        chance=jnp.full(2, np.log(0.5)),
        advantage=jnp.ones(2),
        target=jnp.zeros(2),
        weight=jnp.ones(2),
    )
    weights = Weights(0.2, 0.5, 0.04, jnp.float32(0))
    update = jax.jit(partial(one_update, learner.senses, learner.config, weights))
    after, _ = update(jnp.float32(0.01), state, batch)
    before, now, average = state.network.policy.bias, after.network.policy.bias, after.average.policy.bias
    assert (now != before).any()
    np.testing.assert_allclose(average, 0.9 * before + 0.1 * now, rtol=1e-5)


def test_a_gradient_is_never_longer_than_allowed():
    rule = optimiser(PPOConfig(gradient=0.267))
    _, state = rule.update({"x": jnp.array([30.0, 40.0])}, rule.init({"x": jnp.zeros(2)}))
    # Adam's first moment is a tenth of the gradient that it was given: (0.6, 0.8) · 0.267.
    np.testing.assert_allclose(state[1].mu["x"], 0.1 * 0.267 * np.array([0.6, 0.8]), rtol=1e-5)


def test_a_rollout_plays_by_the_rules_and_starts_again():
    game = TicTacToe()
    senses = PlainSenses(game)
    network = PPO(game, senses, KUHN).start(jax.random.key(0)).network
    lanes = start_lanes(game, senses, 4, 0, jax.random.key(1))
    play = jax.jit(
        lambda lanes, key: rollout(game, senses, network, lanes, 40, rewarding(game, None, 0.0), key)
    )
    after, told = play(lanes, jax.random.key(2))
    cells = np.asarray(told.record.cells)[:, :, 0]
    for lane, time in itertools.product(range(4), range(39)):
        mover = int(told.moved[time, lane, 1])
        board, action = cells[time, lane].copy(), int(told.action[time, lane, mover])
        assert told.moved[time, lane].sum() == 1
        assert board[action] == 0
        board[action] = mover + 1
        assert (cells[time + 1, lane] == (0 if told.done[time, lane] else board)).all()
    lengths = np.asarray(told.length)[np.asarray(told.done)]
    assert ((lengths >= 5) & (lengths <= 9)).all()
    assert (np.asarray(told.reward)[~np.asarray(told.done)] == 0).all()
    assert (np.asarray(told.reward).sum(axis=-1) == 0).all()
    assert after.length.shape == (4,)


def test_what_is_learned_is_what_was_played():
    # With one pass over everything and no step taken, the policy that learns is the policy that played.
    game, senses = KuhnPoker(), PlainSenses(KuhnPoker())
    config = replace(KUHN, games=8, minibatch=1024, rate_high=0.0, rate_low=0.0)
    before = PPO(game, senses, config).start(jax.random.key(1))
    after, metrics = PPO(game, senses, config).iterate(before)
    assert metrics["divergence"] == pytest.approx(0, abs=1e-6)
    assert metrics["clipped"] == 0
    for one, other in zip(jax.tree.leaves(before.network), jax.tree.leaves(after.network), strict=True):
        np.testing.assert_array_equal(one, other)


class Leading:
    """Senses of tic-tac-toe that find the middle worth having."""

    def __init__(self, game):
        self.game, self.spec = game, game.spec

    def potential(self, state):
        lead = jnp.where(state.cells[4] == 1, 0.5, jnp.where(state.cells[4] == 2, -0.5, 0.125))
        return jnp.stack([lead, -lead])

    def margin(self, state):
        free = (state.cells == 0).sum() / 8  # a win is the higher the sooner it comes
        return jnp.where(state.cells[4] == 1, 1, -1) * jnp.stack([free, -free])


def test_shaping_adds_up_to_minus_the_first_potential_whatever_is_played():
    game = TicTacToe()
    reward = rewarding(game, Leading(game).potential, 1.0)
    plain = rewarding(game, None, 0.0)
    for moves in ([4, 0, 3, 1, 5], [0, 4, 1, 3, 2], [0, 1, 2, 4, 3, 5, 7, 6, 8]):
        state, extra = game.init(None), 0
        for move in moves:
            after = game.step(state, jnp.array([move, move]), None)
            extra += reward(state, after) - plain(state, after)
            state = after
        assert game.done(state)
        np.testing.assert_allclose(extra, [-0.125, 0.125], atol=1e-6)


def test_a_part_of_the_result_is_by_how_much_and_nothing_is_paid_before_the_end():
    game = TicTacToe()
    senses = Leading(game)
    reward = rewarding(game, None, 0.0, goal_of(senses, replace(KUHN, margin=0.75)))
    state, paid = game.init(None), []
    for move in (4, 0, 3, 1, 5):
        after = game.step(state, jnp.array([move, move]), None)
        paid.append(reward(state, after))
        state = after
    np.testing.assert_array_equal(paid[:-1], np.zeros((4, 2)))
    assert paid[-1].tolist() == [0.25 + 0.75 * 0.5, -0.25 - 0.75 * 0.5]
    assert goal_of(senses, KUHN) is None


def test_kuhn_poker_reaches_its_value_and_stays_there():
    # By Kuhn (1950) the game is worth −1/18 of an ante to the first player. It is the moving average of the weights
    # that settles there while the rate falls: it is held against the best answers of both seats, so it is near to
    # an equilibrium and not only to its value.
    learner = PPO(KuhnPoker(), PlainSenses(KuhnPoker()), KUHN)
    state = learner.start(jax.random.key(0))
    for iteration in range(1, KUHN.iterations + 1):
        state, _ = learner.iterate(state)
        if iteration >= 500 and iteration % 50 == 0:
            policy = kuhn_policy(learner.senses, learner.network(state))
            assert kuhn_value(policy, policy) == pytest.approx(-1 / 18, abs=0.01)
            best_first = max(kuhn_value(answer, policy) for answer in pure_policies((0, 3)))
            best_second = min(kuhn_value(policy, answer) for answer in pure_policies((1, 2)))
            assert best_first < -1 / 18 + 0.03
            assert best_second > -1 / 18 - 0.03


@pytest.mark.parametrize("entropy", [0.5, 0.0])
def test_matching_pennies_stays_mixed_if_and_only_if_that_is_worth_something(entropy):
    # Only ½ cannot be exploited. Two learners that chase each other spiral away from it; a price on certainty
    # pulls them back.
    game = SeatedPennies()
    learner = PPO(game, PlainSenses(game), replace(PENNIES, entropy=entropy))
    state = learner.start(jax.random.key(1))
    seen = []
    for _ in range(PENNIES.iterations):
        state, metrics = learner.iterate(state)
        seen.append(metrics["entropy"])
    nothing = jnp.full(2, -1, jnp.int32)
    judged = [
        learner.network(state)(learner.senses.features((nothing, jnp.int32(seat)))) for seat in range(2)
    ]
    heads = [float(jax.nn.softmax(one.logits)[0]) for one in judged]
    if entropy:
        assert min(seen) > 0.9 * np.log(2)
        assert heads == pytest.approx([0.5, 0.5], abs=0.03)
    else:
        assert min(seen) < 0.5 * np.log(2)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(BadOption, match="top is a share"):
        PPOConfig(top=0.0)
    with pytest.raises(BadOption, match="steps is at least 1"):
        PPOConfig(steps=0)
    with pytest.raises(BadOption, match="margin is a part"):
        PPOConfig(margin=1.5)
    with pytest.raises(Unsupported, match="by how much"):
        PPO(KuhnPoker(), PlainSenses(KuhnPoker()), replace(KUHN, margin=0.5))
    with pytest.raises(Unsupported, match="no potential"):
        PPO(KuhnPoker(), PlainSenses(KuhnPoker()), replace(KUHN, shaping=0.5))
    with pytest.raises(BadOption, match="try mlp"):
        PPO(KuhnPoker(), PlainSenses(Named(KuhnPoker())), replace(KUHN, network="patch")).start(
            jax.random.key(0)
        )


@dataclass(frozen=True)
class Named(KuhnPoker):
    """Kuhn poker under a name for which there are board networks."""

    base: KuhnPoker = None

    @property
    def spec(self):
        return GameSpec("generals", seats=2, actions=2, longest=3)


def test_training_goes_on_with_its_schedules_from_weights_that_have_some_of_it_behind_them():
    game = SeatedPennies()
    fresh = PPO(game, PlainSenses(game), PENNIES)
    first = fresh.start(jax.random.key(1)).network
    learner = PPO(game, PlainSenses(game), PENNIES, first, begun=100)
    state = learner.start(jax.random.key(2))
    assert learner.iteration(state) == 100
    # 256 games of 4 turns and two seats in batches of 512: four gradient steps an iteration.
    assert state.updates == 400
    state, metrics = learner.iterate(state)
    assert learner.iteration(state) == 101
    assert metrics["rate"] == pytest.approx(0.1 / 101)


def test_games_that_ended_otherwise_than_expected_are_told():
    # Four lanes in their last turn: won as expected, lost against expectation, undecided, and one that goes on.
    ended = Turn(
        record=None,
        legal=None,
        action=None,
        chance=None,
        value=jnp.array([[[0.5, -0.5], [0.1, 0.0], [0.9, 0.9], [0.3, 0.3]]]),
        moved=jnp.ones((1, 4, 2), bool),
        reward=None,
        done=jnp.array([[True, True, True, False]]),
        cut=jnp.array([[False, False, True, False]]),
        length=jnp.array([[10, 20, 60, 5]]),
        first=jnp.array([[1.0, -1.0, 0.0, 0.0]]),
    )
    facts = {name: float(value) for name, value in told(ended).items()}
    assert facts == pytest.approx(
        {"games": 3, "moves_a_game": 30, "undecided": 1 / 3, "first_seat": 0, "upsets": 1 / 2}
    )
