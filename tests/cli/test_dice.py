"""The dice games on the command line: messages without a solved table, typed games, exact matches."""

import json

import pytest

from stratagem.cli.main import main
from stratagem.cli.play_dice import read_words
from stratagem.games.dice.rules import Generala

TYPED = "players Ana, Bob\nAna: 13334 keep 333, 33336 keep 3333, 33334 four of a kind\nBob: 11333 full\n"


@pytest.fixture
def unsolved(monkeypatch, tmp_path):
    from stratagem.agents import dice

    monkeypatch.setenv("STRATAGEM_CACHE", str(tmp_path))
    dice.solved.cache_clear()


@pytest.mark.usefixtures("unsolved")
@pytest.mark.parametrize(
    "words", [["review", "{game}"], ["match", "generala", "malina", "joe", "--games", "2"]]
)
def test_what_needs_the_table_says_how_to_make_it(capsys, tmp_path, words):
    typed = tmp_path / "game.txt"
    typed.write_text(TYPED)
    assert main([word.format(game=typed) for word in words]) == 2
    assert "stratagem solve generala" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["match", "generala", "malina", "random", "--exact"], "an exact match takes two of"),
        (["match", "corso", "random", "greedy", "--exact"], "exact matches are for dice games"),
        (["match", "yatzy:upper_bonus=false", "maximus", "joe", "--exact"], "too large"),
        (["match", "crag", "malina", "joe"], "does not play crag"),
        (["review", "no-such-file"], "not readable"),
    ],
)
def test_bad_words_get_one_clear_line(capsys, words, complaint):
    assert main(words) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1


def test_a_sampled_match_of_players_without_tables(capsys):
    assert main(["match", "crag", "maximus", "joe", "--games", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 2


@pytest.mark.parametrize(
    ("text", "left", "action"),
    [
        ("33", 2, "keep 3-3"),
        ("3 3", 2, "keep 3-3"),
        ("all", 2, "keep 1-1-3-3-3"),
        ("nothing", 1, "keep nothing"),
        ("full", 0, "full_house"),
        ("four of", 0, "four_of_a_kind"),
        ("fours", 0, "fours"),
    ],
)
def test_a_person_types_what_is_meant(text, left, action):
    game = Generala()
    state = game.read(f"{'/'.join([','.join('-' * 10)] * 2)} 11333 {left} 1")
    assert game.write_action(read_words(game, state, text)) == action
