"""Corso against its rules page: pictures, a plain reference, and what must always hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagem.core import play
from stratagem.core.errors import IllegalAction
from stratagem.games.corso import Corso


def position(picture, player=1):
    """The text form of a drawn board: `.` empty, capital a marble, small letter dyed."""
    rows = ["".join(line.split()) for line in picture.strip().splitlines()]
    return f"{'/'.join(row.replace('.', 'O') for row in rows)} {player}"


def after(game, text, cell):
    """The position after the mover acts on a cell given by name."""
    state = game.read(text)
    actions = jnp.full(game.spec.seats, game.read_action(cell), jnp.int32)
    play.check(game, state, actions)
    return game.write(game.step(state, actions, jax.random.key(0)))


def test_placing_puts_a_marble_on_an_empty_cell():
    assert after(Corso(3, 3), "OOO/OOO/OOO 1", "b2") == "OOO/OAO/OOO 2"


def test_expanding_dyes_the_marble_and_its_neighbours_but_no_diagonal():
    before = position("""
        . . .
        . A .
        . . B
    """)
    assert after(Corso(3, 3), before, "b2") == position("""
        . a .
        a a a
        . a B
    """, player=2)  # fmt: skip


def test_a_chain_takes_marbles_of_any_colour_and_their_neighbours():
    before = position("""
        A B . .
        . B . .
        . . A .
        . . . B
    """)
    assert after(Corso(4, 4), before, "a1") == position("""
        a a a .
        a a a .
        . a A .
        . . . B
    """, player=2)  # fmt: skip


def test_dyed_cells_are_overwritten_by_a_later_expansion():
    before = position("""
        b b A
        . b .
    """)
    assert after(Corso(3, 2), before, "c1") == position("""
        b a a
        . b a
    """, player=2)  # fmt: skip


def test_an_expansion_that_fills_nothing_is_a_legal_tempo_move():
    before = position("""
        A b .
        b b b
    """)
    assert after(Corso(3, 2), before, "a1") == position("""
        a a .
        a b b
    """, player=2)  # fmt: skip


def test_expansion_does_not_wrap_around_the_edge():
    before = position("""
        . . A
        . . .
        . . .
    """)
    assert after(Corso(3, 3), before, "c1") == position("""
        . a a
        . . a
        . . .
    """, player=2)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "cell", "reason"),
    [
        ("bOO/OAO/OOO 1", "a1", "a1 is dyed"),
        ("aOO/OAO/OOO 1", "a1", "a1 is dyed"),
        ("BOO/OAO/OOO 1", "a1", "a1 holds a marble of player 2"),
    ],
)
def test_what_is_not_allowed_is_refused_with_its_reason(text, cell, reason):
    with pytest.raises(IllegalAction, match=reason):
        after(Corso(3, 3), text, cell)


def test_the_game_ends_as_soon_as_no_cell_is_empty_and_marbles_count():
    game = Corso(3, 1)
    state = game.read("AOb 1")
    assert not game.done(state)
    end = game.read(after(game, "AOb 1", "b1"))
    assert game.done(end)
    assert game.scores(end).tolist() == [2, 1]
    assert game.returns(end).tolist() == [1, -1]


def test_equal_scores_draw_and_the_top_scores_of_three_share():
    two = Corso(2, 2)
    assert two.returns(two.read("aA/bB 1")).tolist() == [0, 0]
    three = Corso(3, 2, 3)
    shared = three.returns(three.read("aAb/BCc 1"))
    assert shared.tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    assert three.returns(three.read("aab/bBC 1")).tolist() == pytest.approx([-0.5, 1, -0.5])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("OOO/OOO 1", "3 rows of 3 cells"),
        ("OOO/OOO/OO 1", "3 rows of 3 cells"),
        ("OOO/OXO/OOO 1", "'X' is not O or one of ABab"),
        ("OOO/OCO/OOO 1", "'C' is not"),
        ("OOO/OOO/OOO", "player to move"),
        ("OOO/OOO/OOO 3", "player to move"),
    ],
)
def test_a_bad_position_text_says_what_is_wrong(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        Corso(3, 3).read(text)


class Reference:
    """Corso straight from the rules page, one cell at a time, without a thought for speed."""

    def __init__(self, width, height, players):
        self.width, self.height, self.players = width, height, players
        self.marble, self.dyed, self.mover = {}, {}, 0

    def neighbours(self, cell):
        row, column = cell
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if 0 <= r < self.height and 0 <= c < self.width:
                yield r, c

    def cells(self):
        return [(row, column) for row in range(self.height) for column in range(self.width)]

    def empty(self):
        return [cell for cell in self.cells() if cell not in self.marble and cell not in self.dyed]

    def legal(self):
        return {cell for cell in self.cells() if cell in self.empty() or self.marble.get(cell) == self.mover}

    def act(self, cell):
        if cell in self.marble:
            component, edge = {cell}, [cell]
            while edge:
                for near in self.neighbours(edge.pop()):
                    if near in self.marble and near not in component:
                        component.add(near)
                        edge.append(near)
            for one in component | {near for member in component for near in self.neighbours(member)}:
                self.marble.pop(one, None)
                self.dyed[one] = self.mover
        else:
            self.marble[cell] = self.mover
        self.mover = (self.mover + 1) % self.players

    def text(self):
        signs = ["ABCD"[self.marble[c]] if c in self.marble else "abcd"[self.dyed[c]] if c in self.dyed else "O"
                 for c in self.cells()]  # fmt: skip
        rows = ["".join(signs[i : i + self.width]) for i in range(0, len(signs), self.width)]
        return f"{'/'.join(rows)} {self.mover + 1}"


SHAPES = [(5, 5, 2), (3, 3, 2), (4, 3, 3), (8, 8, 2), (8, 5, 4), (1, 7, 2), (7, 1, 2), (6, 6, 3)]


@pytest.mark.parametrize(("width", "height", "players"), SHAPES)
def test_fast_rules_agree_with_the_plain_ones_move_by_move(width, height, players):
    game = Corso(width, height, players)
    step, legal = jax.jit(game.step), jax.jit(game.legal)
    rng = np.random.default_rng(width * 100 + height * 10 + players)
    for _ in range(6):
        plain, state = Reference(width, height, players), game.init(jax.random.key(0))
        turns = 0
        while plain.empty():
            assert not game.done(state)
            allowed = sorted(row * width + column for row, column in plain.legal())
            assert np.flatnonzero(np.asarray(legal(state))[plain.mover]).tolist() == allowed
            action = int(rng.choice(allowed))
            plain.act(divmod(action, width))
            state = step(state, jnp.full(players, action), jax.random.key(0))
            assert game.write(state) == plain.text()
            turns += 1
        assert game.done(state)
        assert turns <= game.spec.longest


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 24), max_size=60))
def test_a_cell_never_becomes_empty_again_and_the_mover_can_always_move(cells):
    game = Corso()
    state, step = game.init(jax.random.key(0)), _STEP
    filled = 0
    for cell in cells:
        if game.done(state):
            break
        assert game.legal(state)[state.mover].any()
        if not game.legal(state)[state.mover, cell]:
            continue
        state = step(state, jnp.full(2, cell), jax.random.key(0))
        now = int(game.scores(state).sum())
        assert now >= filled
        filled = now


_STEP = jax.jit(Corso().step)
