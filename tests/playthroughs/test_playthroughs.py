"""The rules of every game are as they were when its playthrough was recorded."""

import pytest

from tests.conformance.cases import CASES
from tests.playthroughs.playthrough import FOLDER, path_of, playthrough


@pytest.mark.parametrize("case", CASES)
def test_game_is_played_as_recorded(case):
    assert path_of(case).exists(), f"no playthrough: python -m tests.playthroughs.playthrough {case}"
    assert playthrough(CASES[case]) == path_of(case).read_text(encoding="utf-8")


def test_every_playthrough_belongs_to_a_game():
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CASES)
