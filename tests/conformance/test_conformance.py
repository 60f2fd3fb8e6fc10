"""Every registered game and variant, held against every promise of the protocol."""

import pytest

from tests.conformance.cases import CASES
from tests.conformance.checks import CHECKS


@pytest.mark.parametrize("promise", CHECKS)
@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case}:") for case in CASES])
def test_game_keeps_promise(case, promise):
    check = CHECKS[promise]
    check(CASES[case])
