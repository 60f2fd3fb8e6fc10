"""Where a transformer looks, against the same worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents.senses import senses_for
from stratagem.games import make_game
from stratagem.networks import make_network
from stratagem.networks.attention_maps import attention_maps, heard_by_value
from stratagem.networks.senses import BoardFeatures, shapes_of

GAME = make_game("generals:width=7,height=5,cap=80,castles_from=1,castles_to=2,apart=4")
SENSES = senses_for(GAME)


@jax.jit
def everything(key):
    """A network's maps of some board, and what its layers make of their tokens on the way."""
    network = make_network("patch:depth=2,width=8,heads=2,bins=4", SENSES, key)
    features = BoardFeatures(*(jax.random.normal(key, part.shape) for part in shapes_of(SENSES)))
    features = features._replace(present=jnp.ones((5, 7), bool))
    tokens, present = network.embed(features)
    mixed = []
    for layer in network.layers:
        mixed.append(layer.attention.mix(layer.norm(tokens)))
        tokens = layer(tokens, present)
    attention, without = network.layers[0].attention, present.at[5].set(False)
    weights = heard_by_value(attention, tokens, without)
    values = attention.mix(tokens).reshape(-1, 3, 2, 4)[:, 2]
    heard = attention.out(jnp.einsum("hn,nhc->hc", weights, values).reshape(8))
    return attention_maps(network, features), mixed, weights, heard, attention(tokens, without)[0]


def test_the_maps_are_the_softmax_of_the_value_tokens_queries_and_the_patches_keys():
    maps, mixed, *_ = everything(jax.random.key(1))
    assert mixed[0].shape == (3 + 2 * 3, 24)  # value, two scoreboards, patches of 3 × 3 on 5 × 7 cells
    expected = []
    for columns in np.asarray(mixed, np.float64):
        heads = []
        for head in range(2):
            query = columns[0, 4 * head : 4 * head + 4]  # queries are the first 8 of 24 columns, 4 a head
            keys = columns[:, 8 + 4 * head : 8 + 4 * head + 4]
            weights = np.exp([query @ key / 2 for key in keys])  # √4 = 2
            heads.append((weights / weights.sum())[3:].reshape(2, 3))
        expected.append(heads)
    np.testing.assert_allclose(maps, expected, atol=1e-6)


def test_what_is_heard_with_these_weights_is_what_the_network_hears():
    *_, weights, by_weights, heard = everything(jax.random.key(3))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    assert (np.asarray(weights[:, 5]) == 0).all()  # what is not board is not heard
    np.testing.assert_allclose(by_weights, heard, atol=1e-5)
