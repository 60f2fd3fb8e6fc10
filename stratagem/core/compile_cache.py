"""Compiled programs kept from one run of a command to the next."""

import os
import secrets
from pathlib import Path

import jax
import jaxlib
from jax._src import lru_cache

from stratagem.core.files import cache_folder


def use_compile_cache() -> None:
    """Let JAX keep what it compiles in the user's cache. Keyed by jaxlib version: others' programs do not fit."""
    lru_cache.LRUCache.put = keep_whole  # type: ignore[method-assign]
    jax.config.update("jax_compilation_cache_dir", str(cache_folder() / f"xla-{jaxlib.__version__}"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


def keep_whole(self: lru_cache.LRUCache, key: str, value: bytes) -> None:
    """Keep one program; other processes see the whole of it or nothing.

    JAX writes the file in place: a reader beside it, and everybody after a kill, would find half a program,
    which is never replaced.
    """
    path = Path(str(self.path)) / f"{key}-cache"
    if path.exists():
        return
    temporary = path.with_name(f".{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(value)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
