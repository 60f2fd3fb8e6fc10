"""Tokens drawn part by part: exact probabilities, against drawing them in plain Python in every possible way."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.learners.ppo_update import Sample, Weights, sample_loss
from stratagem.networks.hispania_tokens import PAIRS, SizeThenSet, SlotBySlot

TILES = 3  # and none
WIDTHS = {SlotBySlot: 6 + 15, SizeThenSet: 6 + 7}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(likings):
    weights = np.exp(likings - np.max(likings))
    return weights / weights.sum()


def slots_in_turn(likings, sets):
    """{set: probability} when slots are drawn one by one, each among what can still become a legal set."""
    done = {}

    def draw(slot, taken, chance):
        if slot == 6:
            done[taken] = chance
            return
        here = likings[slot] + sum(likings[6 + PAIRS.index((a, slot))] for a in range(slot) if taken >> a & 1)
        answers = [
            (bit, sigmoid(here if bit else -here))
            for bit in (0, 1)
            if any(one % (2 << slot) == taken | bit << slot for one in sets)
        ]
        for bit, share in answers:
            draw(slot + 1, taken | bit << slot, chance * (share if len(answers) == 2 else 1))

    draw(0, 0, 1.0)
    return done


def size_then_slots(likings, sets):
    """{set: probability} when first the number is drawn, then a set of so many slots."""
    sizes = sorted({bin(one).count("1") for one in sets})
    done = {}
    for size, share in zip(sizes, softmax(likings[6:][sizes]), strict=True):
        alike = [one for one in sets if bin(one).count("1") == size]
        liked = [sum(likings[slot] for slot in range(6) if one >> slot & 1) for one in alike]
        done |= {one: share * part for one, part in zip(alike, softmax(np.array(liked)), strict=True)}
    return done


PLAIN = {SlotBySlot: slots_in_turn, SizeThenSet: size_then_slots}


@partial(jax.jit, static_argnums=0)
def log_chances(kind, tile, units, legal):
    return kind(jnp.array([9.0, 0, 0, 0]), jnp.int32(2), tile, units, jnp.zeros(1)).chances(legal)


legal_tokens = st.lists(
    st.tuples(st.integers(0, TILES), st.integers(0, 63)), min_size=1, max_size=40, unique=True
)


@pytest.mark.parametrize("kind", WIDTHS)
@settings(deadline=None, max_examples=60)
@given(tokens=legal_tokens, seed=st.integers(0, 999))
def test_every_token_has_the_probability_of_its_parts(kind, tokens, seed):
    rng = np.random.default_rng(seed)
    tile = rng.normal(size=TILES + 1).astype(np.float32) * 2
    units = rng.normal(size=(TILES + 1, WIDTHS[kind])).astype(np.float32) * 2
    legal = np.zeros((TILES + 1, 64), bool)
    legal[tuple(zip(*tokens, strict=True))] = True
    found = np.exp(log_chances(kind, tile, units, legal.reshape(-1)).reshape(TILES + 1, 64))

    named = np.flatnonzero(legal.any(axis=1))
    wanted = np.zeros_like(found)
    for place, share in zip(named, softmax(tile[named]), strict=True):
        for one, part in PLAIN[kind](units[place], np.flatnonzero(legal[place]).tolist()).items():
            wanted[place, one] = share * part
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    assert (found[~legal] == 0).all()


@pytest.mark.parametrize("kind", WIDTHS)
def test_the_learner_sees_the_exact_entropy_and_no_gradient_of_what_is_not_legal(kind):
    rng = np.random.default_rng(5)
    tile = jnp.asarray(rng.normal(size=TILES + 1), jnp.float32)
    units = jnp.asarray(rng.normal(size=(TILES + 1, WIDTHS[kind])), jnp.float32)
    legal = rng.random((TILES + 1, 64)) < 0.2
    legal[1] = False
    chances = np.asarray(log_chances(kind, tile, units, legal.reshape(-1)), np.float64)[legal.reshape(-1)]
    sample = Sample(
        record=(),
        legal=jnp.packbits(legal.reshape(-1)),
        action=jnp.int32(np.flatnonzero(legal.reshape(-1))[3]),
        chance=jnp.float32(chances[3]),
        advantage=jnp.float32(1),
        target=jnp.float32(0),
        weight=jnp.float32(1),
    )

    class Senses:
        class spec:
            actions = (TILES + 1) * 64

        def features(self, record):
            return record

    weights = Weights(0.2, 0.5, 0.04, jnp.float32(0))

    def parts(tile, units):
        network = lambda features, learning: kind(jnp.zeros(4), jnp.int32(0), tile, units, jnp.zeros(1))  # noqa: E731
        return sample_loss(network, Senses(), weights, sample)

    told = jax.jit(parts)(tile, units)
    assert told["entropy"] == pytest.approx(-(np.exp(chances) * chances).sum(), rel=1e-5)
    assert told["divergence"] == pytest.approx(0, abs=1e-6)
    slopes = jax.jit(jax.grad(lambda *given: parts(*given)["entropy"], argnums=(0, 1)))(tile, units)
    assert slopes[0][1] == 0
    assert (slopes[1][1] == 0).all()
    assert all(jnp.isfinite(one).all() for one in slopes)
    assert (slopes[0][legal.any(axis=1)] != 0).all()


def test_of_one_size_the_likeliest_set_holds_the_best_liked_slots():
    likes = jnp.array([0.1, 2.0, -1.0, 1.0, 0.5, -2.0])
    units = jnp.zeros((1, 13)).at[0, :6].set(likes).at[0, 6 + 3].set(50.0)  # three of them, surely
    chances = log_chances(SizeThenSet, jnp.zeros(1), units, jnp.ones(64, bool))
    assert int(jnp.argmax(chances)) == 0b011010  # slots 1, 3 and 4
