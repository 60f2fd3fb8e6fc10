"""Every notebook runs from top to bottom in its smallest form, and holds no outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def code_cells(path):
    """The source of each code cell, in order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_outputs(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_its_smallest_form(path, tmp_path):
    script = tmp_path / "cells.py"
    script.write_text("\n\n".join(code_cells(path)), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # the cells are compiled for one short run
        "STRATAGEM_NOTEBOOK": "smallest",
        "STRATAGEM_NOTEBOOK_OUT": str(tmp_path / "run"),
    }
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "## By role" in done.stdout
    assert (tmp_path / "run" / "weights.safetensors").is_file()
