"""Trees of arrays in safetensors files: tree paths as names, a checksum, and facts about the tree as metadata.

Nothing is ever half written, and nothing is read that is not exactly what was written.
"""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from stratagem.core.errors import DamagedFile
from stratagem.core.files import atomic_write

FORMAT = 1
TYPES = {
    "BF16": jnp.bfloat16,
    "BOOL": np.bool_,
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{f"I{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"U{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
"""The types of the format; the library's own reader for NumPy does not know bfloat16."""


def write_tree(path: Path | str, tree: Any, facts: Mapping[str, Any]) -> None:
    """Write the arrays of a tree, and facts that JSON can hold. Atomic."""
    arrays = {name: _plain(leaf) for name, leaf in _named(tree)}
    metadata = {"format": str(FORMAT), "checksum": _checksum(arrays), "facts": json.dumps(dict(facts))}
    content = save(arrays, metadata)
    with atomic_write(path) as file:
        file.write(content)


def read_facts(path: Path | str) -> dict[str, Any]:
    """The facts of a file, without its arrays."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if not 0 < size <= 100_000_000:
                raise ValueError("no header")
            metadata = json.loads(file.read(size))["__metadata__"]
        if metadata["format"] != str(FORMAT):
            raise DamagedFile(f"{path}: format {metadata['format']}, this version reads {FORMAT}")
        return json.loads(metadata["facts"])
    except FileNotFoundError:
        raise DamagedFile(f"{path}: no such file") from None
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(f"{path}: not a file of ours, or cut short ({error!r})") from error


def read_tree(path: Path | str, like: Any) -> Any:
    """Read a tree with the structure, shapes and types of `like` (arrays or `jax.ShapeDtypeStruct`)."""
    path = Path(path)
    read_facts(path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    try:
        arrays = _arrays(content)
    except (SafetensorError, KeyError) as error:  # KeyError: a type that we never write
        raise DamagedFile(f"{path}: damaged ({error})") from error
    if _checksum(arrays) != metadata.get("checksum"):
        raise DamagedFile(f"{path}: damaged, its checksum does not fit its content")
    wanted = _named(like)
    missing = sorted({name for name, _ in wanted} ^ set(arrays))
    if missing:
        raise DamagedFile(f"{path}: holds another tree; these do not match: {', '.join(missing[:5])}")
    leaves = []
    for name, leaf in wanted:
        stored, expected = arrays[name], jax.eval_shape(_plain_traced, leaf)
        if stored.shape != expected.shape or stored.dtype != expected.dtype:
            raise DamagedFile(
                f"{path}: {name} is {stored.dtype}{list(stored.shape)}, "
                f"expected {expected.dtype}{list(expected.shape)}"
            )
        leaves.append(_restored(stored, leaf))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    return {
        name: np.frombuffer(part["data"], TYPES[part["dtype"]]).reshape(part["shape"])
        for name, part in deserialize(content)
    }


def _named(tree: Any) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [(jax.tree_util.keystr(path).lstrip("."), leaf) for path, leaf in leaves]


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain_traced(leaf: Any) -> Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else jnp.asarray(leaf)


def _plain(leaf: Any) -> np.ndarray:
    return np.array(jax.random.key_data(leaf) if _is_key(leaf) else leaf, order="C")


def _restored(stored: np.ndarray, leaf: Any) -> Array:
    return jax.random.wrap_key_data(jnp.asarray(stored)) if _is_key(leaf) else jnp.asarray(stored)


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).view(np.uint8).reshape(-1).data, total)
    return f"{total:08x}"
