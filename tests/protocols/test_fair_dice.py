"""Honest dice: what was committed to is what fell, and any change is found."""

import hashlib
import hmac
import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.agents import make_agent
from stratagem.arena.session import Session
from stratagem.cli.main import main
from stratagem.core.errors import BadOption, DamagedFile, StratagemError
from stratagem.games import make_game
from stratagem.protocols.fair_dice import FairDice, dice_of
from stratagem.protocols.replay import Replay, load, parse, positions, verify

SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def played():
    """A finished game of Crag with honest dice."""
    game = make_game("crag")
    agent = make_agent("standing-greedy", game)
    dice = FairDice(SECRET).with_nonce("no tricks")
    session = Session(game, [agent, agent], 0, keys=dice.key)
    while not session.over:
        seat = session.movers[0]
        session.act({seat: session.think(seat)})
    spec = game.spec
    return Replay(
        game=spec.name,
        parameters=dict(spec.parameters),
        ruleset=spec.ruleset,
        seats=["a", "b"],
        actions=session.actions,
        returns=session.returns,
        fair=dice.reveal(),
    )


def test_a_key_is_what_the_documentation_says():
    digest = hmac.new(SECRET, b"stratagem dice 1\n4\nno tricks", hashlib.sha256).digest()
    words = [int.from_bytes(digest[:4], "big"), int.from_bytes(digest[4:8], "big")]
    key = FairDice(SECRET, "no tricks").key(4)
    assert np.asarray(jax.random.key_data(key)).tolist() == words
    assert FairDice(SECRET).commitment == hashlib.sha256(SECRET).hexdigest()


@settings(max_examples=20, deadline=None)
@given(st.integers(-1, 10_000), st.integers(-1, 10_000), st.text(max_size=20), st.text(max_size=20))
def test_other_turns_and_other_nonces_have_other_luck(turn, other_turn, nonce, other_nonce):
    one, other = (
        np.asarray(jax.random.key_data(FairDice(SECRET, words).key(at))).tolist()
        for words, at in ((nonce, turn), (other_nonce, other_turn))
    )
    assert (one == other) == ((turn, nonce) == (other_turn, other_nonce))


def test_fresh_dice_differ_and_keep_their_secret_out_of_logs():
    one, other = FairDice.fresh(), FairDice.fresh()
    assert one.commitment != other.commitment
    assert one.secret.hex() not in repr(one) + str(one.sealed())


def test_a_game_with_honest_dice_verifies_from_its_file(played, tmp_path, capsys):
    path = tmp_path / "game.json"
    played.save(path)
    assert load(path) == played
    verify(load(path))
    assert main(["verify", str(path)]) == 0
    assert "honest dice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"secret": "00" * 32}, "not those that were committed to"),
        ({"commitment": "00" * 32}, "not those that were committed to"),
        ({"secret": None}, "not revealed yet"),
    ],
)
def test_a_broken_commitment_is_found(played, change, message):
    with pytest.raises(DamagedFile, match=message):
        verify(replace(played, fair={**played.fair, **change}))


def test_another_nonce_gives_other_dice_and_is_found(played):
    with pytest.raises(StratagemError):
        verify(replace(played, fair={**played.fair, "nonce": "tricks"}))


def test_every_recorded_roll_is_checked_against_the_secret(played):
    game = played.rules()
    rolls = [int(state.dice) for state in positions(played, game)]
    verify(replace(played, outcomes=rolls))
    # The first roll of the second turn of the table, replaced by another that is just as possible.
    wrong = [*rolls]
    wrong[2] = (rolls[2] + 1) % len(game.keeps.rolls)
    with pytest.raises(StratagemError, match=r"turn 2: .* is not what the secret gives"):
        verify(replace(played, outcomes=wrong))


@pytest.mark.parametrize(
    "fair",
    [
        7,
        {},
        {"commitment": "00", "nonce": "", "secret": None},
        {"commitment": "00" * 32, "nonce": 5, "secret": None},
        {"commitment": "00" * 32, "nonce": "x" * 201, "secret": None},
        {"commitment": "00" * 32, "nonce": "", "secret": "G" * 64},
    ],
)
def test_a_malformed_reveal_is_refused(played, fair):
    with pytest.raises(DamagedFile):
        parse({**json.loads(json.dumps(played.as_json())), "fair": fair}, "game")


def test_a_seed_beside_honest_dice_is_refused(played):
    with pytest.raises(DamagedFile, match="not from both"):
        parse({**played.as_json(), "seed": 5}, "game")


def test_replays_without_honest_dice_look_as_they_always_did(played):
    plain = replace(played, fair=None, seed=5)
    assert "fair" not in plain.as_json()
    assert parse(plain.as_json(), "game") == plain


@pytest.mark.parametrize(("secret", "nonce"), [(b"short", ""), (SECRET, "x" * 201), (SECRET, "\ud800")])
def test_unfit_dice_are_refused(secret, nonce):
    with pytest.raises(BadOption):
        FairDice(secret, nonce)


def test_a_secret_that_was_committed_to_is_accepted():
    assert dice_of(FairDice(SECRET, "x").reveal()) == FairDice(SECRET, "x")
