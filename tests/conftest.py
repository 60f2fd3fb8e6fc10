"""Which tests share a worker, a cache that is not the user's, and what a worker may keep in memory."""

import os
import resource
import signal
import threading

import pytest
from xdist.scheduler import LoadScopeScheduling

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    # Started in the background of a shell, Ctrl-C is ignored here and in every program that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


MOST_KIB = 2**21  # a worker that once had so much drops its compiled programs after each file


class ByFileOrCase(LoadScopeScheduling):
    """The tests of one file run in one worker, so that what they compile and solve is used again.

    A file whose test names carry a case (`test[case: …]`) is split by case.
    """

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        case, colon, _ = test.partition("[")[2].partition(":")
        return f"{file}::{case}" if colon and file.endswith("test_conformance.py") else file


def pytest_xdist_make_scheduler(config, log):
    return ByFileOrCase(config, log)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Tests never touch the user's cache. Each worker has its own, so that none waits for another's solution."""
    if "STRATAGEM_CACHE" not in os.environ:
        os.environ["STRATAGEM_CACHE"] = str(tmp_path_factory.getbasetemp() / "cache")
    return os.environ["STRATAGEM_CACHE"]


@pytest.fixture(scope="module", autouse=True)
def _memory():
    """What one file compiled is of little use to the next, and adds up to gigabytes."""
    yield
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MOST_KIB:
        import jax

        jax.clear_caches()
