"""Every game that must conform: the registered ones with all their variants, and the tiny ones of the tests."""

from stratagem.games import GAMES
from tests.tiny_games import TINY_GAMES


def all_cases():
    """{identifier: game}; the identifier is also the name of the golden playthrough."""
    cases = dict(TINY_GAMES)
    for row in GAMES:
        cases[row.name] = row.load()()
        for variant, options in row.variants.items():
            cases[f"{row.name}-{variant}"] = row.load()(**options)
    return cases


CASES = all_cases()
