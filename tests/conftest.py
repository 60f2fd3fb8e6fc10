"""Tests of one file share a worker, so that what they compile and solve is used again; a group mark overrides it."""

import os

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Tests never touch the user's cache. The folder is shared by the workers of one run."""
    if "STRATAGEM_CACHE" not in os.environ:
        shared = tmp_path_factory.getbasetemp()
        if "PYTEST_XDIST_WORKER" in os.environ:
            shared = shared.parent
        os.environ["STRATAGEM_CACHE"] = str(shared / "cache")
    return os.environ["STRATAGEM_CACHE"]
