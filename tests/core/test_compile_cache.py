"""The cache of compiled programs: a program is there whole, or not at all."""

import os
import subprocess
import sys

COMPILE = """
import os, pathlib, jax, jax.numpy as jnp
from stratagem.core import compile_cache
compile_cache.use_compile_cache()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
whole = pathlib.Path.write_bytes
def cut(self, data):
    whole(self, data[:len(data) // 2])
    os._exit(9)
if {killed}:
    pathlib.Path.write_bytes = cut
print(jax.jit(lambda x: jnp.sort(x) * 3)(jnp.arange(9.0)).sum())
"""


def compile_once(cache, killed):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", COMPILE.format(killed=killed)],
        env=os.environ | {"STRATAGEM_CACHE": str(cache)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def programs(cache):
    return {path: path.stat().st_size for path in cache.rglob("*-cache") if path.name.startswith("jit_")}


def test_a_process_killed_while_it_keeps_a_program_leaves_no_half_of_it(tmp_path):
    assert compile_once(tmp_path, killed=True).returncode == 9
    assert not programs(tmp_path)
    for _ in range(2):  # the second reads what the first has kept
        done = compile_once(tmp_path, killed=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "108.0\n", "")
    assert programs(tmp_path)
