"""What every game must fulfil, one function a promise, so that a new game can be held against all of them."""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.core import play
from stratagem.core.errors import IllegalAction
from stratagem.core.game import Chance, Game, Hidden, Listing, Perfect, Roles, Sampling, Symmetric, Textual
from stratagem.core.play import Playing

BATCH = 32  # games side by side: one size, so that every function is compiled once
GAMES_SAMPLED = 6
TURNS_SAMPLED = 48


def same(one, other):
    """Whether two trees hold equal arrays of equal dtypes."""
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(other)
    return len(leaves) == len(others) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(leaves, others, strict=True)
    )


def alike(one, other):
    """Like `same`, but floats may differ by rounding: a compiler may reorder sums."""
    return all(
        a.dtype == b.dtype and np.allclose(a, b, rtol=1e-5, atol=1e-6)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


@lru_cache(maxsize=256)
def compiled(game):
    """Batched functions of a game, compiled once for all checks."""
    return {
        "start": jax.jit(jax.vmap(partial(play.start, game))),
        "choose": jax.jit(jax.vmap(partial(play.random_actions, game))),
        "advance": jax.jit(jax.vmap(partial(play.advance, game))),
        "over": jax.jit(jax.vmap(partial(play.over, game))),
        "returns": jax.jit(jax.vmap(partial(play.returns, game))),
        "legal": jax.jit(jax.vmap(game.legal)),
        "to_move": jax.jit(jax.vmap(game.to_move)),
        "step": jax.jit(jax.vmap(game.step)),
    }


@lru_cache(maxsize=256)
def opening(game):
    """The first state of a game, not compiled."""
    return game.init(jax.random.key(0))


def begun(game):
    """Playing[B]: new games."""
    return compiled(game)["start"](jax.random.split(jax.random.key(0), BATCH))


def played_on(game, playing, turn):
    """Playing[B] after one more turn of random actions, which are a function of the turn."""
    choose_keys, step_keys = jax.random.split(play.turn_key(1, turn), (2, BATCH))
    after = compiled(game)["advance"](playing, compiled(game)["choose"](playing, choose_keys), step_keys)
    assert kinds(after) == kinds(playing), (
        "a step keeps shapes and types, so that it can be repeated in a loop"
    )
    return after


def kinds(tree):
    return jax.tree.structure(tree), [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]


def history(game):
    """Playing[T + 1, B]: random games from the first turn on, as far as the sample goes."""
    turns = [begun(game)]
    for turn in range(min(game.spec.longest, TURNS_SAMPLED)):
        turns.append(played_on(game, turns[-1], turn))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *turns)


@lru_cache(maxsize=256)
def sample(game):
    """Playing[N]: states of random games, from first to last (or as far as the sample goes)."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf[:, :GAMES_SAMPLED].swapaxes(0, 1).reshape(-1, *leaf.shape[2:])),
        history(game),
    )


@lru_cache(maxsize=256)
def finished(game):
    """Playing[B]: random games played to their end."""
    playing, turn = begun(game), 0
    while not compiled(game)["over"](playing).all():
        assert turn <= game.spec.longest
        playing, turn = played_on(game, playing, turn), turn + 1
    return playing


def row(tree, index):
    return jax.tree.map(lambda leaf: leaf[index], tree)


def repeated(tree):
    """The same for every game of a batch."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], BATCH, axis=0), tree)


def some(game, count, *, unfinished=False):
    """A few sampled games, spread over the sample."""
    playing = sample(game)
    candidates = np.flatnonzero(~np.asarray(compiled(game)["over"](playing))) if unfinished else None
    if candidates is None:
        candidates = np.arange(len(playing.turn))
    return [row(playing, i) for i in candidates[np.linspace(0, len(candidates) - 1, count).astype(int)]]


def check_shapes(game):
    spec, state = game.spec, opening(game)
    assert isinstance(game, Game)
    assert game.to_move(state).shape == (spec.seats,)
    assert game.to_move(state).dtype == bool
    assert game.legal(state).shape == (spec.seats, spec.actions)
    assert game.legal(state).dtype == bool
    assert game.returns(state).shape == (spec.seats,)
    assert game.returns(state).dtype == jnp.float32
    assert game.done(state).shape == ()
    stepped = game.step(state, jnp.argmax(game.legal(state), axis=1).astype(jnp.int32), jax.random.key(1))
    assert kinds(state) == kinds(stepped)


def check_same_key_same_game(game):
    started = compiled(game)["start"](repeated(jax.random.key(0)))
    for i in range(BATCH):
        assert same(row(started, i).state, opening(game))
    assert same(history(game), history(game))


def check_games_go_on_in_a_loop_with_fresh_ones_in_their_place(game):
    """Traced, not run: `play.rollout` itself is tested on small games."""

    def run(key):
        return play.rollout(game, partial(play.random_actions, game), play.start(game, key), key, 8)

    last, _ = jax.eval_shape(run, jax.random.key(0))
    assert kinds(last) == kinds(jax.eval_shape(partial(play.start, game), jax.random.key(0)))


def check_movers_have_actions_and_others_none(game):
    playing = sample(game)
    to_move, legal = (np.asarray(compiled(game)[name](playing.state)) for name in ("to_move", "legal"))
    over = np.asarray(compiled(game)["over"](playing))
    assert np.array_equal(legal.any(axis=2), to_move)
    assert np.array_equal(to_move.any(axis=1), ~over), "somebody is to move exactly while the game is on"
    if game.spec.dynamics == "alternating":
        assert to_move.sum(axis=1).max() <= 1


def check_legal_actions_are_accepted(game):
    for playing in some(game, 4, unfinished=True):
        legal = np.asarray(game.legal(playing.state))
        seat = int(np.argmax(np.asarray(game.to_move(playing.state))))
        others = np.argmax(legal, axis=1)
        actions = np.tile(others, (min(BATCH, legal[seat].sum()), 1)).astype(np.int32)
        actions[:, seat] = np.flatnonzero(legal[seat])[: len(actions)]
        for choice in actions:
            play.check(game, playing.state, choice)
        padded = np.resize(actions, (BATCH, actions.shape[1]))
        batch = repeated(playing)
        after = compiled(game)["advance"](
            batch, jnp.asarray(padded), jax.random.split(jax.random.key(0), BATCH)
        )
        assert not after.fouls.any()
        assert (after.turn == playing.turn + 1).all()


def check_illegal_actions_are_refused(game):
    """On the host with an error that names seat and action; inside jit by losing the game."""
    for playing in some(game, 3, unfinished=True):
        legal = np.asarray(game.legal(playing.state))
        seat = int(np.argmax(np.asarray(game.to_move(playing.state))))
        for action in [*np.flatnonzero(~legal[seat])[:3].tolist(), -1, game.spec.actions]:
            actions = np.argmax(legal, axis=1).astype(np.int32)
            actions[seat] = action
            with pytest.raises(IllegalAction, match=rf"seat {seat} .*action {action}: ..."):
                play.check(game, playing.state, actions)
            after = compiled(game)["advance"](
                repeated(playing), repeated(jnp.asarray(actions)), jax.random.split(jax.random.key(0), BATCH)
            )
            returns = np.asarray(compiled(game)["returns"](after))
            assert compiled(game)["over"](after).all()
            assert returns[0][seat] == pytest.approx(-1 / (game.spec.seats - 1)), "the others share the win"
            assert returns.sum(axis=1) == pytest.approx(0, abs=1e-6)
            assert same(row(after, 0).state, playing.state), "a foul leaves the position as it was"


def check_terminal_states_absorb(game):
    playing = finished(game)
    keys = jax.random.split(jax.random.key(3), len(playing.turn))
    actions = jnp.zeros((len(playing.turn), game.spec.seats), jnp.int32)
    after = compiled(game)["advance"](playing, actions, keys)
    assert same(after, playing)


def check_games_end_in_time_with_returns_that_sum_to_zero(game):
    playing = finished(game)
    returns = np.asarray(compiled(game)["returns"](playing))
    assert not playing.fouls.any()
    assert int(playing.turn.max()) <= game.spec.longest
    assert np.abs(returns.sum(axis=1)).max() < 1e-5
    assert np.abs(returns).max() <= 1
    underway = sample(game)
    over = np.asarray(compiled(game)["over"](underway))
    assert not np.asarray(compiled(game)["returns"](underway))[~over].any(), "no returns before the end"


def check_eager_jit_and_vmap_agree(game):
    key = jax.random.key(5)
    playings = some(game, 3, unfinished=True)
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *playings)
    actions = jnp.argmax(jax.vmap(game.legal)(batch.state), axis=2).astype(jnp.int32)
    whole = jax.tree.map(lambda leaf: jnp.resize(leaf, (BATCH, *leaf.shape[1:])), (batch.state, actions))
    batched = {
        "step": compiled(game)["step"](*whole, repeated(key)),
        "view": jax.jit(jax.vmap(game.view))(batch.state, jnp.zeros(len(playings), jnp.int32)),
        "returns": jax.jit(jax.vmap(game.returns))(batch.state),
        "done": jax.jit(jax.vmap(game.done))(batch.state),
    }
    jitted_step = jax.jit(game.step)
    for i, playing in enumerate(playings):
        eager = game.step(playing.state, actions[i], key)
        assert alike(eager, jitted_step(playing.state, actions[i], key))
        assert alike(eager, row(batched["step"], i))
        assert alike(game.view(playing.state, jnp.int32(0)), row(batched["view"], i))
        assert alike(game.returns(playing.state), row(batched["returns"], i))
        assert alike(game.done(playing.state), row(batched["done"], i))


def check_text_round_trips(game):
    assert isinstance(game, Textual), "every game has a text form"
    for playing in some(game, 12):
        text = game.write(playing.state)
        assert "\n" not in text
        assert same(game.read(text), playing.state), text
    for nonsense in ("", "?", text + "x", text[:-1] + "\x00"):
        with pytest.raises(ValueError):  # noqa: PT011 (each game says it in its own words)
            game.read(nonsense)
    state = opening(game)
    for action in np.flatnonzero(np.asarray(game.legal(state)).any(axis=0))[:40]:
        assert game.read_action(game.write_action(int(action))) == action


def check_samples_are_uniform_over_legal_actions(game):
    if not isinstance(game, Sampling):
        return
    points_tried = 4096
    sample_all = jax.jit(jax.vmap(game.sample, in_axes=(None, 0)))
    for playing in some(game, 6, unfinished=True):
        legal, movers = np.asarray(game.legal(playing.state)), np.asarray(game.to_move(playing.state))
        for seat in np.flatnonzero(movers):
            each = min(20, points_tried // legal[seat].sum())
            number = legal[seat].sum() * each
            points = (np.arange(points_tried) % number + 0.5) / number  # evenly spaced, then repeated
            rows = jnp.tile(jnp.asarray(points, jnp.float32)[:, None], (1, game.spec.seats))
            chosen = np.asarray(sample_all(playing.state, rows))[:number, seat]
            counts = np.bincount(chosen, minlength=game.spec.actions)
            assert not counts[~legal[seat]].any()
            assert np.abs(counts[legal[seat]] - each).max() <= 1  # a point may fall on an edge


def check_lists_hold_every_legal_action_once(game):
    if not isinstance(game, Listing):
        return
    states = sample(game).state
    listed = np.asarray(jax.jit(jax.vmap(game.listed))(states))
    legal = np.asarray(compiled(game)["legal"](states)).any(axis=1)
    for row, allowed in zip(listed, legal, strict=True):
        np.testing.assert_array_equal(np.sort(row[row >= 0]), np.flatnonzero(allowed))
        assert (row >= -1).all()


def check_roles_stay_with_their_seats(game):
    if not isinstance(game, Roles):
        return
    held = np.asarray(jax.vmap(game.roles)(sample(game).state))
    assert held.shape[1] == game.spec.seats
    assert set(np.unique(held)) <= set(range(len(game.role_names)))
    playing = play.start(game, jax.random.key(0))
    later = play.advance(
        game, playing, play.random_actions(game, playing, jax.random.key(1)), jax.random.key(2)
    )
    np.testing.assert_array_equal(game.roles(playing.state), game.roles(later.state))


def check_symmetries(game):
    """A group action on states, views, actions and seats that commutes with every part of the rules."""
    if not isinstance(game, Symmetric):
        return
    group = game.symmetries()
    product, order = np.asarray(group.product), len(group.product)
    assert np.array_equal(product[0], np.arange(order)), "element 0 is the identity"
    assert np.array_equal(np.sort(product, axis=1), np.tile(np.arange(order), (order, 1)))
    turn = jax.jit(game.turn_state)
    turn_view = jax.jit(game.turn_view)
    rng = np.random.default_rng(0)
    for playing in some(game, 6, unfinished=True):
        state = playing.state
        assert same(turn(state, 0), state)
        g, h = rng.integers(order, size=2)
        assert same(turn(turn(state, h), g), turn(state, product[g, h]))
        turned, seats, moves = turn(state, g), np.asarray(group.seats[g]), np.asarray(group.actions[g])
        legal, turned_legal = np.asarray(game.legal(state)), np.asarray(game.legal(turned))
        assert np.array_equal(turned_legal[seats][:, moves], legal)
        assert np.array_equal(np.asarray(game.to_move(turned))[seats], np.asarray(game.to_move(state)))
        for seat in range(game.spec.seats):
            seen = turn_view(game.view(state, jnp.int32(seat)), g)
            assert same(seen, game.view(turned, jnp.int32(seats[seat])))
        actions = np.asarray(play.random_actions(game, playing, jax.random.key(int(g))))
        turned_actions = np.zeros_like(actions)
        turned_actions[seats] = moves[actions]
        if isinstance(game, Chance):
            assert futures(game, state, actions, turn=lambda s, g=g: turn(s, g)) == pytest.approx(
                futures(game, turned, turned_actions)
            )
        else:
            key = jax.random.key(0)
            stepped = turn(game.step(state, jnp.asarray(actions), key), g)
            assert same(stepped, game.step(turned, jnp.asarray(turned_actions), key))
    ends = finished(game)
    for i in range(4):
        final, g = row(ends, i).state, int(rng.integers(order))
        returns = np.asarray(game.returns(final))
        assert np.allclose(np.asarray(game.returns(turn(final, g)))[np.asarray(group.seats[g])], returns)


def futures(game, state, actions, turn=lambda state: state):
    """{text of a next state: its probability}."""
    after = game.afterstate(state, jnp.asarray(actions))
    found = {}
    for outcome, chance in enumerate(np.asarray(game.outcomes(after))):
        if chance > 0:
            text = game.write(turn(game.resolve(after, jnp.int32(outcome))))
            found[text] = found.get(text, 0.0) + float(chance)
    return found


def check_chance_is_a_distribution_that_step_follows(game):
    if not isinstance(game, Chance):
        return
    for playing in some(game, 3, unfinished=True):
        actions = np.argmax(np.asarray(game.legal(playing.state)), axis=1).astype(np.int32)
        possible = futures(game, playing.state, actions)
        assert sum(possible.values()) == pytest.approx(1, abs=1e-5)
        here = repeated((playing.state, jnp.asarray(actions)))
        for keys in jax.random.split(jax.random.key(9), (2, BATCH)):
            reached = compiled(game)["step"](*here, keys)
            assert {game.write(row(reached, i)) for i in range(BATCH)} <= set(possible)


def check_views_hold_what_they_should(game):
    """With perfect information a view gives the state back; else it hides what the seat cannot know."""
    seats = range(game.spec.seats)
    if game.spec.information == "perfect":
        assert isinstance(game, Perfect), "a perfect-information game rebuilds the state from a view"
        for playing in some(game, 6):
            for seat in seats:
                assert same(game.state_of(game.view(playing.state, jnp.int32(seat))), playing.state)
        return
    assert isinstance(game, Hidden), "an imperfect-information game says what a seat cannot tell apart"
    disguise, view = jax.jit(game.disguise), jax.jit(game.view)
    differed = 0
    for number, playing in enumerate(some(game, 12, unfinished=True)):
        for seat in seats:
            other = disguise(playing.state, jnp.int32(seat), jax.random.key(number))
            differed += not same(other, playing.state)
            assert same(view(other, jnp.int32(seat)), view(playing.state, jnp.int32(seat)))
            assert np.array_equal(game.legal(other)[seat], game.legal(playing.state)[seat])
    assert differed, "the disguises must really differ, or nothing was tested"


def check_ruleset_names_the_rules(game):
    spec = game.spec
    assert len(spec.ruleset) == 16
    twin = type(game)(**{name: getattr(game, name) for name in game.__dataclass_fields__})
    assert twin == game
    assert hash(twin) == hash(game), "games are values: compiled functions are kept by them"
    assert twin.spec.ruleset == spec.ruleset


CHECKS = {
    name.removeprefix("check_"): check for name, check in dict(globals()).items() if name.startswith("check_")
}

__all__ = ["CHECKS", "Playing", "same"]
