"""Where a transformer looks, against the same worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.agents.senses import senses_for
from stratagem.games import make_game
from stratagem.networks import make_network
from stratagem.networks.attention_maps import attention_maps, heard_by_value

GAME = make_game("generals:width=7,height=5,cap=80,castles_from=1,castles_to=2,apart=4")
SENSES = senses_for(GAME)
NETWORK = jax.jit(lambda key: make_network("patch:depth=2,width=8,heads=2,bins=4", SENSES, key))(
    jax.random.key(1)
)


@jax.jit
def features_of(seed):
    view = GAME.view(GAME.init(jax.random.key(seed)), jnp.int32(0))
    return SENSES.features(SENSES.observe(SENSES.blank(), view)[1])


def test_the_maps_are_the_softmax_of_the_value_tokens_queries_and_the_patches_keys():
    features = features_of(2)
    tokens, present = NETWORK.embed(features)
    assert tokens.shape == (3 + 2 * 3, 8)  # value, two scoreboards, patches of 3 × 3 on 5 × 7 cells
    expected = []
    for layer in NETWORK.layers:
        mixed = np.asarray(layer.attention.mix(layer.norm(tokens)), np.float64)
        heads = []
        for head in range(2):
            query = mixed[0, 4 * head : 4 * head + 4]  # queries are the first 8 of 24 columns, 4 a head
            keys = mixed[:, 8 + 4 * head : 8 + 4 * head + 4]
            weights = np.exp([query @ key / 2 for key in keys])  # √4 = 2
            heads.append((weights / weights.sum())[3:].reshape(2, 3))
        expected.append(heads)
        tokens = layer(tokens, present)
    np.testing.assert_allclose(jax.jit(attention_maps)(NETWORK, features), expected, atol=1e-6)


def test_what_is_heard_with_these_weights_is_what_the_network_hears():
    tokens, present = NETWORK.embed(features_of(3))
    present = present.at[5].set(False)
    attention = NETWORK.layers[0].attention
    weights = heard_by_value(attention, tokens, present)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    assert (np.asarray(weights[:, 5]) == 0).all()  # what is not board is not heard
    values = attention.mix(tokens).reshape(-1, 3, 2, 4)[:, 2]
    heard = jnp.einsum("hn,nhc->hc", weights, values).reshape(8)
    np.testing.assert_allclose(attention.out(heard), attention(tokens, present)[0], atol=1e-5)
