"""Every registered game and variant, held against every promise of the protocol."""

import pytest

from tests.conformance.cases import CASES
from tests.conformance.checks import CHECKS

GROUPED = [pytest.param(case, marks=pytest.mark.xdist_group(case)) for case in CASES]


@pytest.mark.parametrize("promise", CHECKS)
@pytest.mark.parametrize("case", GROUPED)
def test_game_keeps_promise(case, promise):
    check = CHECKS[promise]
    check(CASES[case])
