"""Policies in files of half the length."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.core.errors import DamagedFile
from stratagem.networks import make_network
from stratagem.networks.tensors import read_tree, write_tree
from stratagem.networks.weights import load_policy, save_policy
from tests.small_generals import hand_drawn

CHOICE = "patch:depth=1,width=32,heads=2,feed=2,bins=8"


@pytest.mark.parametrize("stored", ["bfloat16", "float16"])
def test_weights_stored_in_two_bytes_come_back_rounded_and_otherwise_the_same(stored, tmp_path):
    senses = GeneralsSenses(hand_drawn(5))
    network = jax.jit(lambda key: make_network(CHOICE, senses, key))(jax.random.key(0))
    save_policy(tmp_path / "whole", network, CHOICE, senses, {})
    save_policy(tmp_path / "half", network, CHOICE, senses, {}, stored)
    read = load_policy(tmp_path / "half", senses)
    for one, other in zip(jax.tree.leaves(network), jax.tree.leaves(read), strict=True):
        assert other.dtype == jnp.float32
        np.testing.assert_array_equal(one.astype(stored).astype(jnp.float32), other)
    sizes = [(tmp_path / name).stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]


def test_a_type_that_is_never_written_is_a_damaged_file(tmp_path):
    path = tmp_path / "numbers"
    write_tree(path, {"a": np.zeros(4, np.uint8)}, {"kind": "numbers"})
    path.write_bytes(path.read_bytes().replace(b'"dtype":"U8"', b'"dtype":"F8_E4M3"', 1))
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little") + len(b'"dtype":"F8_E4M3"') - len(b'"dtype":"U8"')
    path.write_bytes(size.to_bytes(8, "little") + content[8:])
    with pytest.raises(DamagedFile, match="damaged"):
        read_tree(path, {"a": np.zeros(4, np.uint8)})
