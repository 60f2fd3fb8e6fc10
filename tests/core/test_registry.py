"""Names and options, as people type them."""

from dataclasses import dataclass
from typing import Literal

import pytest

from stratagem.agents import make_agent
from stratagem.core.errors import BadOption, UnknownName
from stratagem.core.registry import read_options, split_choice
from stratagem.games import GAMES, make_game


@dataclass(frozen=True)
class Options:
    depth: int = 1
    weight: float = 0.5
    quick: bool = False
    style: Literal["calm", "wild"] = "calm"
    limit: int | None = None


def test_a_choice_is_a_name_and_options():
    assert split_choice("mm:depth=4,temperature=0") == ("mm", {"depth": "4", "temperature": "0"})
    assert split_choice("random") == ("random", {})


def test_options_become_what_the_dataclass_says():
    texts = {"depth": "4", "weight": "1e-3", "quick": "yes", "style": "wild", "limit": "none"}
    read = read_options("thing", Options, texts)
    assert Options(**read) == Options(4, 1e-3, True, "wild", None)


@pytest.mark.parametrize(
    ("choice", "kind", "message"),
    [
        ("cors", UnknownName, "did you mean 'corso'"),
        ("corso:width=12", BadOption, "width is 1 to 8, not 12"),
        ("corso:width=0", BadOption, "width is 1 to 8, not 0"),
        ("corso:width=five", BadOption, "option width takes int, not 'five'"),
        ("corso:wdith=5", UnknownName, "no option 'wdith'; did you mean 'width'"),
        ("corso:width", BadOption, "'width' is not option=value"),
        ("corso:width=3,width=4", BadOption, "given twice"),
        ("corso:players=5", BadOption, "players is 2 to 4"),
    ],
)
def test_a_bad_game_is_refused_in_words(choice, kind, message):
    with pytest.raises(kind, match=message):
        make_game(choice)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("mm:depth=0", "depth is 1 to 64"),
        ("mm:weight=2", "weight is 0 to 1"),
        ("mm:temperature=-1", "temperature is 0 or more"),
        ("mm:temperature=nan", "temperature is 0 or more"),
        ("mimax", "no agent is called 'mimax'"),
    ],
)
def test_a_bad_agent_is_refused_in_words(choice, message):
    with pytest.raises((BadOption, UnknownName), match=message):
        make_agent(choice, make_game("corso"))


def test_minimax_is_for_two_players():
    with pytest.raises(TypeError, match="two players"):
        make_agent("mm", make_game("corso:players=3"))


@pytest.mark.parametrize("row", list(GAMES), ids=lambda row: row.name)
def test_the_title_of_a_game_can_be_typed(row):
    for options in [{}, *row.variants.values()]:
        game = row.load()(**options)
        assert make_game(game.spec.title) == game


def test_the_ruleset_changes_with_any_parameter():
    rulesets = {make_game(f"corso:width={w},height={h},players={p}").spec.ruleset
                for w in (3, 4) for h in (3, 4) for p in (2, 3)}  # fmt: skip
    assert len(rulesets) == 8
