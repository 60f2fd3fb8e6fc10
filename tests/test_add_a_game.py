"""A new game is a rules file with a text form, a row and a playthrough. Nothing else has to change."""

import json
import sys
import textwrap

import pytest

from stratagem.cli.main import main
from stratagem.core.registry import Row
from stratagem.games import GAMES, make_game
from tests.conformance.checks import CHECKS
from tests.playthroughs.playthrough import playthrough

RULES = '''
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from stratagem.core.game import GameSpec, winners_share


class State(NamedTuple):
    pile: Array  # int32
    mover: Array  # int32


@dataclass(frozen=True)
class Nim:
    """Take one, two or three stones; who takes the last one wins."""

    stones: int = 12

    @property
    def spec(self):
        return GameSpec("nim", seats=2, actions=3, longest=self.stones, parameters={"stones": self.stones})

    def init(self, key):
        return State(jnp.int32(self.stones), jnp.int32(0))

    def to_move(self, state):
        return (jnp.arange(2) == state.mover) & ~self.done(state)

    def legal(self, state):
        return self.to_move(state)[:, None] & (jnp.arange(1, 4) <= state.pile)[None]

    def step(self, state, actions, key):
        return State(state.pile - 1 - actions[state.mover], 1 - state.mover)

    def done(self, state):
        return state.pile == 0

    def returns(self, state):
        return jnp.where(self.done(state), winners_share(jnp.arange(2) != state.mover), 0.0)

    def view(self, state, seat):
        return state

    def state_of(self, view):
        return view

    def write(self, state):
        return f"{int(state.pile)} {int(state.mover) + 1}"

    def read(self, text):
        pile, _, player = text.partition(" ")
        if not pile.isdecimal() or player not in ("1", "2"):
            raise ValueError(f"{text!r} is not a pile and the player to move")
        return State(jnp.int32(int(pile)), jnp.int32(int(player) - 1))

    def write_action(self, action):
        return str(action + 1)

    def read_action(self, text):
        return int(text) - 1
'''


@pytest.fixture
def nim(tmp_path, monkeypatch):
    (tmp_path / "their_nim.py").write_text(textwrap.dedent(RULES))
    monkeypatch.syspath_prepend(str(tmp_path))
    GAMES.add(Row("nim", "their_nim:Nim", "take the last stone"))
    yield make_game("nim:stones=7")
    GAMES.remove("nim")
    sys.modules.pop("their_nim", None)


@pytest.mark.parametrize("promise", CHECKS)
def test_the_new_game_conforms(nim, promise):
    check = CHECKS[promise]
    check(nim)


def test_the_new_game_has_a_playthrough(nim):
    text = playthrough(nim)
    assert text.startswith("game nim:stones=7\n")
    assert "over, returns" in text


def test_the_new_game_is_listed_played_recorded_and_verified(nim, tmp_path, capsys):
    assert main(["games", "--json"]) == 0
    listed = {game["name"]: game for game in json.loads(capsys.readouterr().out)["games"]}
    assert "random" in listed["nim"]["agents"]
    from stratagem.agents import AGENTS

    AGENTS.add(Row("twin", "stratagem.agents.simple:Random", "another random player"))
    try:
        words = [
            "match",
            "nim:stones=9",
            "random",
            "twin",
            "--games",
            "10",
            "--save",
            str(tmp_path / "games"),
            "--json",
        ]
        assert main(words) == 0
    finally:
        AGENTS.remove("twin")
    assert json.loads(capsys.readouterr().out)["games"] == 10
    replays = sorted(map(str, (tmp_path / "games").glob("*.json")))
    assert len(replays) == 10
    assert main(["verify", *replays]) == 0
