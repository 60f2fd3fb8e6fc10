"""Compiled programs kept from one run of a command to the next."""

import jax
import jaxlib

from stratagem.core.files import cache_folder


def use_compile_cache() -> None:
    """Let JAX keep what it compiles in the user's cache. Keyed by jaxlib version: others' programs do not fit."""
    jax.config.update("jax_compilation_cache_dir", str(cache_folder() / f"xla-{jaxlib.__version__}"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
