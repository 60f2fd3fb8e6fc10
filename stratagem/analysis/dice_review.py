"""The coach: every decision of a two-player dice game graded against the solved table.

All values are equities of the first seat, so that they telescope: from the value of the game each roll adds its luck
and each decision its skill (never positive for the one who decides), and what comes out is the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log10
from typing import Any

import numpy as np

from stratagem.agents.dice import action_values, sheets
from stratagem.analysis.dice_words import reason
from stratagem.core.errors import Unsupported
from stratagem.games.dice.rules import DiceGame, State
from stratagem.protocols.replay import Replay, positions
from stratagem.solvers.dice_table import Table

MARKS = ((0.08, "??"), (0.03, "?"), (0.01, "?!"))  # equity lost, and how it is marked
SAME = 1e-7  # the table is float32: closer than this is equally good


@dataclass(frozen=True)
class Decision:
    """One graded decision and the roll before it."""

    turn: int
    """Counted from 1; each seat has its own turns."""
    seat: int
    dice: str
    left: int
    """Re-rolls left when it was taken."""
    action: str
    best: str
    luck: float
    """What the roll before it brought, for this seat; zero when no dice were rolled."""
    before: float
    """This seat's equity with best play from here."""
    after: float
    """The same after what was done."""
    loss: float
    """before - after."""
    rank: int
    """1 for the best; how many alternatives were better, plus one."""
    alternatives: int
    mark: str
    """?! inaccuracy, ? error, ?? blunder."""
    why: str


@dataclass(frozen=True)
class Summary:
    """One seat's game."""

    name: str
    result: float
    """+1 win, 0 draw, -1 loss; the equity of the last position if the game breaks off."""
    skill: float
    """Own losses and the opponent's, as they counted for this seat."""
    luck: float
    """Dice of both seats and the seat itself, as they counted for this seat; skill + luck = result."""
    lost: float
    """Equity that this seat gave away in all."""
    decisions: int
    errors: int
    blunders: int
    rating: float
    """Elo against a perfect player, if one always gave away so much."""


@dataclass(frozen=True)
class Review:
    """A graded game."""

    game: str
    finished: bool
    start: float
    """Equity of the first seat before the first roll; counted as luck."""
    decisions: tuple[Decision, ...]
    seats: tuple[Summary, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def review_replay(replay: Replay, table: Table) -> Review:
    """Grade a recorded or typed game."""
    game = replay.rules()
    if not isinstance(game, DiceGame):
        raise Unsupported(f"review grades dice games that are solved; {replay.game} is none")
    *states, last = positions(replay, game)
    chosen = [max(row) for row in replay.actions]  # -1 for the seat that was not to move
    return review(game, [*states, last], chosen, replay.seats, table)


def review(
    game: DiceGame, states: Sequence[State], actions: Sequence[int], names: Sequence[str], table: Table
) -> Review:
    """Grade `actions`, one for each of `states` but the last."""
    if game.players != 2:
        raise Unsupported(f"only games of two players are solved; this one has {game.players}")
    everything = (1 << len(game.family.categories)) - 1
    start = table.equity(everything, everything, 0) if not _scored(states[0]) else None
    standing = start
    decisions: list[Decision] = []
    for state, action in zip(states[:-1], actions, strict=True):
        mover, (one, other) = sheets(game, state)
        mine, theirs = (one, other) if mover == 0 else (other, one)
        turn = table.turn(mine.open, theirs.open, mine.score - theirs.score)
        values = action_values(game, turn, state)
        sign = 1.0 if mover == 0 else -1.0
        best, taken = int(np.argmax(values)), float(values[action])
        before = float(values[best])
        if standing is None:
            start = standing = sign * before
        luck = sign * before - standing
        loss = before - taken
        standing = sign * taken
        mark = next((mark for least, mark in MARKS if loss >= least), "")
        better = int((values > taken + SAME).sum())
        why = reason(game, state, mine.open, turn, values, action, best) if loss > SAME else ""
        decisions.append(
            Decision(
                turn=len(game.family.categories) - mine.open.bit_count() + 1,
                seat=mover,
                dice="-".join(map(str, game.keeps.rolls[int(state.dice)])),
                left=int(state.left),
                action=game.write_action(action),
                best=game.write_action(action if loss <= SAME else best),
                luck=sign * luck,
                before=before,
                after=taken,
                loss=loss,
                rank=better + 1,
                alternatives=int(np.isfinite(values).sum()),
                mark=mark,
                why=why,
            )
        )
    if start is None or standing is None:
        raise ValueError("there is no decision to review")
    finished = bool(game.done(states[-1]))
    result = float(np.asarray(game.returns(states[-1]))[0]) if finished else standing
    summaries = tuple(_summary(seat, names[seat], decisions, start, result) for seat in range(2))
    return Review(game.spec.title, finished, start, tuple(decisions), summaries)


def _scored(state: State) -> bool:
    return bool((np.asarray(state.sheet) >= 0).any())


def _summary(seat: int, name: str, decisions: list[Decision], start: float, result: float) -> Summary:
    sign = 1.0 if seat == 0 else -1.0
    own = [one for one in decisions if one.seat == seat]
    skill = sum(one.loss * (-1.0 if one.seat == seat else 1.0) for one in decisions)
    luck = sign * start + sum(one.luck * (1.0 if one.seat == seat else -1.0) for one in decisions)
    lost = sum(one.loss for one in own)
    return Summary(
        name=name,
        result=sign * result,
        skill=skill,
        luck=luck,
        lost=lost,
        decisions=len(own),
        errors=sum(one.mark == "?" for one in own),
        blunders=sum(one.mark == "??" for one in own),
        rating=elo(-lost),
    )


def elo(result: float) -> float:
    """The rating difference at which this result, +1 win to -1 loss, is expected."""
    share = min(max((1 + result) / 2, 1e-4), 1 - 1e-4)
    return 400 * log10(share / (1 - share))
