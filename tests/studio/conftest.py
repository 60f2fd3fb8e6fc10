"""A running studio, and a browser to look at it with."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NO_BROWSER = (
    "the page tests need Chromium: `apt-get install chromium`, or say where it is: STRATAGEM_BROWSER=PATH"
)


class Studio:
    """A server process and where it keeps things."""

    def __init__(self, folder: Path, *options: str):
        self.folder, self.options = folder, options
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stratagem.cli.main", "studio", "--no-browser", "--json",
             "--port", "0", "--runs", str(self.folder), *self.options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        ready = json.loads(self.process.stdout.readline())
        self.port, self.address = ready["port"], f"http://127.0.0.1:{ready['port']}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


@contextmanager
def running(folder, *options):
    studio = Studio(folder, *options)
    try:
        yield studio
    finally:
        if studio.process.poll() is None:
            studio.stop()


@pytest.fixture(scope="module")
def studio(compile_cache, tmp_path_factory):
    """One for all tests of a file. What it compiles is used by the checks of the tests, too."""
    with running(tmp_path_factory.mktemp("runs")) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    path = os.environ.get("STRATAGEM_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser, studio):
    """A page of a fresh visitor; errors in its scripts fail the test."""
    context = browser.new_context(base_url=studio.address, viewport={"width": 1240, "height": 900})
    page = context.new_page()
    page.set_default_timeout(90_000)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors
