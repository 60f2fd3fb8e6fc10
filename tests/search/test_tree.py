"""The search on positions whose truth is known, and against mctx's own loop."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from tiny_games import FogDuel, Relay, Ultimatum

from stratagem.core.errors import Unsupported
from stratagem.games.corso import Corso
from stratagem.search import Gumbel, Puct, search
from stratagem.search.rules import IMPOSSIBLE, Node

RULES = [Puct(simulations=200, noise=0.0), Gumbel(simulations=1000, considered=6, scale=0.0)]


def blank(game):
    """A network that knows nothing."""
    return lambda state: (jnp.zeros(game.spec.actions), jnp.zeros(game.spec.seats))


def opinionated(game, seed=0):
    """A network with fixed opinions that mean nothing: a random function of what it sees."""
    shape = jax.eval_shape(lambda: game.view(game.init(jax.random.key(0)), 0)).shape
    inputs = int(np.prod(shape))
    mix = jax.random.normal(jax.random.key(seed), (inputs, game.spec.actions + 1))

    def evaluate(state):
        seat = jnp.argmax(game.to_move(state))
        out = jnp.sin(game.view(state, seat).reshape(-1).astype(jnp.float32) @ mix)
        value = out[-1] * 0.9
        return 2 * out[:-1], jnp.where(jnp.arange(2) == seat, value, -value)

    return evaluate


def exact(game):
    """Values by seat of any small Corso position, by looking at everything (max-n, the mover's best)."""
    step = jax.jit(game.step)
    facts = jax.jit(lambda state: (game.done(state), game.returns(state), game.legal(state).any(0)))
    known = {}

    def value(state):
        text = jax.tree.map(np.asarray, state)
        name = b"".join(leaf.tobytes() for leaf in text)
        if name not in known:
            done, returns, legal = map(np.asarray, facts(state))
            if done:
                known[name] = returns
            else:
                children = [
                    value(step(state, jnp.full(game.players, a), None)) for a in np.flatnonzero(legal)
                ]
                known[name] = max(children, key=lambda child: child[int(state.mover)])
        return known[name]

    return value


@cache
def small():
    game = Corso(width=3, height=2)
    return game, exact(game)


def positions(game, count, seed):
    """Unfinished positions from random play."""
    generator = np.random.default_rng(seed)
    step, legal, done = jax.jit(game.step), jax.jit(game.legal), jax.jit(game.done)
    found = []
    while len(found) < count:
        state = game.init(jax.random.key(0))
        for _ in range(generator.integers(0, game.cells - 1)):
            action = generator.choice(np.flatnonzero(np.asarray(legal(state)).any(0)))
            after = step(state, jnp.full(game.players, action), None)
            if done(after):
                break
            state = after
        found.append(state)
    return found


@pytest.mark.parametrize("rule", RULES, ids=["puct", "gumbel"])
def test_it_finds_the_best_move_of_small_boards_without_knowing_anything(rule):
    game, value = small()
    looked = jax.jit(partial(search, game, blank(game), rule))
    for state in positions(game, 30, seed=1):
        found = looked(state, jax.random.key(0), 0.0)
        after = game.step(state, jnp.full(2, found.action), None)
        assert value(after)[int(state.mover)] == value(state)[int(state.mover)], game.write(state)


def test_values_come_closer_to_the_truth_as_simulations_grow():
    game, value = small()
    states = positions(game, 12, seed=2)
    truth = np.array([value(state)[0] for state in states])
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    keys = jax.random.split(jax.random.key(0), len(states))
    errors = []
    for simulations in (10, 100, 1000):
        rule = Puct(simulations=simulations, noise=0.0)
        found = jax.jit(jax.vmap(partial(search, game, blank(game), rule)))(batch, keys)
        errors.append(np.abs(found.values[:, 0] - truth).mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.2


def test_three_players_each_look_after_themselves():
    game = Corso(width=3, height=2, players=3)
    rule = Puct(simulations=300, noise=0.0)
    found = jax.jit(partial(search, game, blank(game), rule))(game.read("AAB/CCO 1"), jax.random.key(0), 0.0)
    # Player 1 may fill the last cell (3 cells of 6: a win alone) or expand a chain that takes all.
    np.testing.assert_allclose(found.qvalues[found.action], 1, atol=1e-5)
    np.testing.assert_allclose(found.values.sum(), 0, atol=1e-5)


def test_with_three_players_the_mover_does_not_fear_what_only_a_paranoid_would():
    game = Ultimatum()
    found = search(
        game, blank(game), Puct(simulations=60, noise=0.0), game.init(None), jax.random.key(0), 0.0
    )
    # Seat 1, looking after itself, answers 1 with what is good for seat 0 too; a paranoid seat 0 would play 0.
    assert found.action == 1


def test_a_seat_that_moves_twice_keeps_its_sign():
    game = Relay()
    found = search(
        game, blank(game), Puct(simulations=60, noise=0.0), game.init(None), jax.random.key(0), 0.0
    )
    # Seat 0 moves twice, then seat 1 once; only 1 then 1 keeps the win from seat 1. See tiny_games.py.
    assert found.action == 1
    assert found.qvalues[1] > 0.5


def test_illegal_actions_are_never_looked_at_anywhere():
    game = Corso(width=3, height=3)
    evaluate = opinionated(game)
    rule = Gumbel(simulations=150, considered=9)
    tree = search(game, evaluate, rule, game.init(None), jax.random.key(1)).tree
    for node in range(151):
        state = jax.tree.map(lambda leaf: leaf[node], tree.states)  # noqa: B023
        if tree.visits[node] and not tree.over[node]:
            grown = np.asarray(tree.children[node]) > 0
            assert not (grown & ~np.asarray(game.legal(state)).any(0)).any()


def test_what_one_game_finds_does_not_depend_on_its_neighbours():
    game = Corso(width=3, height=3)
    many = jax.jit(jax.vmap(partial(search, game, opinionated(game), Gumbel(simulations=30))))
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *positions(game, 6, seed=4))
    keys = jax.random.split(jax.random.key(7), 6)
    together = many(batch, keys)
    order = jnp.array([3, 5, 1, 0, 2, 4])
    shuffled = many(jax.tree.map(lambda leaf: leaf[order], batch), keys[order])
    for name in ("action", "policy", "values", "visits"):
        np.testing.assert_array_equal(getattr(together, name)[order], getattr(shuffled, name), err_msg=name)


def test_a_narrow_search_looks_at_the_likeliest_legal_actions_only():
    game = Corso(width=3, height=3)
    evaluate, state = opinionated(game), game.read("AOO/OBO/OOb 1")
    found = jax.jit(partial(search, game, evaluate, Gumbel(simulations=40), breadth=3))(
        state, jax.random.key(0)
    )
    logits = np.where(np.asarray(game.legal(state)).any(0), evaluate(state)[0], -np.inf)
    likeliest = set(np.argsort(logits)[-3:].tolist())
    assert set(found.choices.tolist()) == likeliest
    assert (found.policy > 0).all()
    assert found.visits.shape == (3,)
    assert int(found.action) in likeliest
    assert found.visits.sum() == 40


def test_a_search_as_broad_as_the_game_is_the_same_search():
    game = Corso(width=3, height=3)
    evaluate, state = opinionated(game), game.read("AOO/OBO/OOb 1")
    narrow = jax.jit(partial(search, game, evaluate, Puct(simulations=40, noise=0.0), breadth=8))
    whole = jax.jit(partial(search, game, evaluate, Puct(simulations=40, noise=0.0)))
    # Only seven actions are legal here, and fewer later, so eight are all of them.
    found = narrow(state, jax.random.key(0))
    np.testing.assert_array_equal(found.visits, whole(state, jax.random.key(0)).visits[found.choices])


def in_mctx(game, evaluate, state, key, policy, **options):
    """The same search by mctx's own loop, with signs and masks as its interface wants them."""

    def judge(state):
        logits, values = evaluate(state)
        seat = jnp.argmax(game.to_move(state))
        return jnp.where(game.legal(state).any(0), logits, IMPOSSIBLE), values[seat]

    def recurrent(params, key, action, state):
        after = game.step(state, jnp.full(2, action[0]), None)
        done = game.done(after)
        logits, value = judge(after)
        reward = jnp.where(done & ~game.done(state), game.returns(after)[state.mover], 0.0)
        discount = jnp.where(done, 0.0, jnp.where(after.mover == state.mover, 1.0, -1.0))
        return mctx.RecurrentFnOutput(
            reward=reward[None], discount=discount[None], prior_logits=logits[None], value=value[None]
        ), jax.tree.map(lambda leaf: leaf[None], after)

    def unbatched(params, key, action, state):
        return recurrent(params, key, action, jax.tree.map(lambda leaf: leaf[0], state))

    logits, value = judge(state)
    root = mctx.RootFnOutput(
        prior_logits=logits[None], value=value[None], embedding=jax.tree.map(lambda leaf: leaf[None], state)
    )
    invalid = (~game.legal(state).any(0))[None].astype(jnp.float32)
    return policy((), key, root, unbatched, invalid_actions=invalid, **options)


def test_the_tree_is_the_one_that_mctx_grows():
    game = Corso(width=3, height=3)
    evaluate = opinionated(game)
    ours = jax.jit(partial(search, game, evaluate, Gumbel(simulations=64, considered=8, scale=0.0)))
    theirs = jax.jit(
        lambda state, key: in_mctx(
            game, evaluate, state, key, mctx.gumbel_muzero_policy,
            num_simulations=64, max_num_considered_actions=8, gumbel_scale=0.0,
        )
    )  # fmt: skip
    for state in positions(game, 8, seed=5):
        found, output = ours(state, jax.random.key(0)), theirs(state, jax.random.key(0))
        tree = output.search_tree
        np.testing.assert_array_equal(found.visits, tree.children_visits[0, 0])
        np.testing.assert_allclose(found.values[state.mover], tree.node_values[0, 0], atol=1e-5)
        np.testing.assert_allclose(found.policy, output.action_weights[0], atol=1e-5)
        assert found.action == output.action[0]


def test_puct_is_the_formula_of_the_papers():
    node = Node(
        logits=jnp.log(jnp.array([0.5, 0.3, 0.2])),
        visits=jnp.array([3, 0, 0]),
        values=jnp.array([0.1, 0.0, 0.0]),
        value=jnp.float32(0.1),
        raw=jnp.float32(0.1),
    )
    # N = 3 + 1, so √N = 2: 0.1 + 2·0.5·2/4 = 0.6;  2·0.3·2/1 = 1.2;  2·0.2·2/1 = 0.8.
    assert Puct(exploration=2.0).inside(node) == 1


def test_noise_falls_on_legal_actions_only_and_keeps_its_share():
    legal = jnp.array([True, True, False, True])
    logits = jnp.where(legal, 0.0, IMPOSSIBLE)
    keys = jax.random.split(jax.random.key(0), 2000)
    noisy, _ = jax.vmap(lambda key: Puct(noise=0.25, alpha=0.3).prepare(logits, key, 1.0))(keys)
    priors = jax.nn.softmax(noisy, axis=-1)
    assert (priors[:, 2] == 0).all()
    np.testing.assert_allclose(priors.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(priors.mean(0)[legal], 1 / 3, atol=0.02)
    assert priors[:, 0].min() >= 0.75 / 3 - 1e-6


def test_temperature_shapes_the_choice_and_zero_takes_the_most_visited():
    game = Corso(width=3, height=2)
    rule = Puct(simulations=50, noise=0.0)
    looked = jax.jit(partial(search, game, opinionated(game), rule))
    state = game.init(None)
    cold = {int(looked(state, jax.random.key(seed), 0.0).action) for seed in range(20)}
    warm = {int(looked(state, jax.random.key(seed), 1.0).action) for seed in range(20)}
    found = looked(state, jax.random.key(0), 0.0)
    assert cold == {int(jnp.argmax(found.visits))}
    assert len(warm) > 1
    assert found.visits.sum() == 50


def test_gumbel_without_heat_has_no_noise_at_all():
    game = Corso(width=3, height=2)
    looked = jax.jit(partial(search, game, opinionated(game), Gumbel(simulations=8, considered=6)))
    state = game.init(None)
    cold = [looked(state, jax.random.key(seed), 0.0) for seed in range(20)]
    warm = {int(looked(state, jax.random.key(seed), 1.0).action) for seed in range(20)}
    assert len({(int(found.action), *map(int, found.visits)) for found in cold}) == 1
    assert len(warm) > 1


def test_a_game_with_hidden_things_is_refused():
    game = FogDuel()
    with pytest.raises(Unsupported, match="perfect information"):
        search(game, blank(game), Puct(), game.init(None), jax.random.key(0))


def test_the_best_of_the_contenders_may_have_fewer_visits():
    node = Node(
        logits=jnp.zeros(4),
        visits=jnp.array([44, 20, 4, 0]),
        values=jnp.array([0.39, 0.83, 0.9, 0.0]),
        value=jnp.float32(0.5),
        raw=jnp.float32(0.5),
    )
    chosen = [
        Puct(contenders=share).decide(node, (), jax.random.key(0), jnp.float32(0))[0]
        for share in (1.0, 0.1, 0.05)
    ]
    assert chosen == [0, 1, 2]
