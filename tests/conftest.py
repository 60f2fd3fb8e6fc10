"""Which tests share a worker, a cache that is not the user's, and what a worker may keep in memory."""

import os
import resource
import signal
import threading
from importlib.metadata import version
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Half of the time of the tests is compiling. What they compile runs for moments, so it need not be made very fast.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1")
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    # Started in the background of a shell, Ctrl-C is ignored here and in every program that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


MOST_BYTES = 3 * 2**30  # a worker that has so much at the end of a file drops its compiled programs

LONGEST = (
    "tests/studio/test_pages_armies.py",
    "tests/studio/test_pages_dice.py",
    "tests/studio/test_pages_corso.py",
    "tests/learners/test_resume.py",
    "tests/notebooks/test_notebooks.py",
    "tests/games/test_generals_differential.py",
    "tests/learners/test_alphazero.py",
    "tests/learners/test_cloning.py",
    "tests/learners/test_ppo.py",
    "tests/games/test_hispania_differential.py",
    "tests/protocols/test_generals_live.py",
    "tests/agents/test_generals_agents.py",
    "tests/arena/test_tournament.py",
    "tests/games/test_general_differential.py",
    "tests/conformance/test_conformance.py",
    "tests/analysis/test_fog.py",
    "tests/networks/test_hispania_networks.py",
    "tests/learners/test_ppo_resume.py",
    "tests/learners/test_mesh.py",
    "tests/learners/test_listed_actions.py",
    "tests/solvers/test_dice.py",
    "tests/studio/test_server.py",
)
"""Files that take minutes come first, so that no worker is left alone with one when the others are done."""


class ByFileOrCase(LoadScopeScheduling):
    """The tests of one file run in one worker, so that what they compile and solve is used again.

    A file whose test names carry a case (`test[case: …]`) is split by case.
    """

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        case, colon, _ = test.partition("[")[2].partition(":")
        return f"{file}::{case}" if colon and file.endswith("test_conformance.py") else file


def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = (
        False  # which would put the files with the fewest tests last, long or short
    )
    return ByFileOrCase(config, log)


def pytest_collection_modifyitems(items):
    places = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Tests never touch the user's cache. Each worker has its own, so that none waits for another's solution.

    Compiled programs are shared: what one worker's programs compile, the others' need not.
    """
    if "STRATAGEM_CACHE" not in os.environ:
        own = tmp_path_factory.getbasetemp()
        run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
        compiled = f"xla-{version('jaxlib')}"
        (run / compiled).mkdir(exist_ok=True)
        (own / "cache").mkdir()
        (own / "cache" / compiled).symlink_to(run / compiled, target_is_directory=True)
        os.environ["STRATAGEM_CACHE"] = str(own / "cache")
    return os.environ["STRATAGEM_CACHE"]


@pytest.fixture(scope="module")
def compile_cache(cache):
    """What this file compiles is found by the programs that it starts, and the other way round."""
    import jax

    from stratagem.core.compile_cache import use_compile_cache

    before = jax.config.jax_compilation_cache_dir
    use_compile_cache()
    yield jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.fixture(scope="module", autouse=True)
def _memory():
    """What one file compiled is of some use to the next, but adds up to gigabytes."""
    yield
    if memory() > MOST_BYTES:
        import jax

        jax.clear_caches()


def memory():
    """Bytes that this process has now; where the system does not tell, the most that it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()
