"""The house stands on its arrows: who may import whom."""

import ast
from pathlib import Path

import pytest

import stratagem

ROOT = Path(stratagem.__file__).parent

MAY_IMPORT = {
    "core": set(),
    "games": {"core"},
    "networks": {"core"},
    "search": {"core"},
    "solvers": {"core", "games"},
    "learners": {"core", "networks", "search"},
    "agents": {"core", "games", "networks", "search", "solvers"},
    "arena": {"core", "games", "agents"},
    "analysis": {"core", "games", "search", "agents", "solvers", "protocols"},
    "protocols": {"core", "games", "agents"},
    "serving": {"core", "games", "networks", "search", "agents", "arena"},
    "studio": {"core", "games", "agents", "arena", "analysis", "protocols", "serving"},
    "weights": set(),
}


def imported_parts(path):
    """The parts of the package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "stratagem" and len(parts) > 1:
                yield parts[1]


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_part_imports_only_what_stands_below_it(part):
    for path in (ROOT / part).rglob("*.py"):
        wrong = set(imported_parts(path)) - MAY_IMPORT[part] - {part}
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_nothing_imports_the_command_line():
    for path in ROOT.rglob("*.py"):
        if path.parent != ROOT / "cli":
            assert "cli" not in imported_parts(path), path


def test_every_part_has_its_arrows():
    parts = {path.name for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert parts - {"cli"} <= set(MAY_IMPORT)


def test_learners_search_and_network_blocks_name_no_game():
    from stratagem.games import GAMES

    names = {row.name for row in GAMES}
    files = [*(ROOT / "learners").rglob("*.py"), *(ROOT / "search").rglob("*.py")]
    files += (ROOT / "networks").glob("blocks*.py")
    for path in files:
        words = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        } | {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        named = {name for name in names if any(name == word.lower() for word in words)}
        assert not named, f"{path.relative_to(ROOT)} names {sorted(named)}"


def test_there_is_no_drawer_for_odds_and_ends():
    assert not [
        path for path in ROOT.rglob("*.py") if path.stem in ("utils", "helpers", "util", "common", "misc")
    ]
