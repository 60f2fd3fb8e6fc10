"""The exact solver against a brute force written straight from the rules, which shares no code with it."""

import json
import os
import runpy
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from stratagem.solvers.corso import PerfectCorso, Solver, first_moves, solve
from stratagem.solvers.corso_bits import Position, image, make_board, pack, play, symmetries, unpack

LETTERS = ".AaBb"
DOCS = Path(__file__).parents[2] / "docs"


def board(picture):
    """Cell codes of a picture: `A`/`a` marble/dyed of player 1, `B`/`b` of player 2, `.` empty."""
    return np.array([LETTERS.index(letter) for letter in picture.split()], np.int8)


class BruteForce:
    """Plain recursion over every continuation; positions are tuples of cell codes."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.beside = [self.cells_beside(cell) for cell in range(width * height)]
        self.known = {}

    def cells_beside(self, cell):
        row, column = divmod(cell, self.width)
        steps = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
        return [r * self.width + c for r, c in steps if 0 <= r < self.height and 0 <= c < self.width]

    def legal(self, cells, player):
        """Empty cells and own marbles, until no cell is empty."""
        return [cell for cell, code in enumerate(cells) if code in (0, 1 + 2 * player)] if 0 in cells else []

    def play(self, cells, player, cell):
        after = list(cells)
        if cells[cell] == 0:
            after[cell] = 1 + 2 * player
            return tuple(after)
        component, frontier = {cell}, [cell]
        while frontier:
            for near in self.beside[frontier.pop()]:
                if cells[near] in (1, 3) and near not in component:
                    component.add(near)
                    frontier.append(near)
        for member in component:
            for target in (member, *self.beside[member]):
                after[target] = 2 + 2 * player
        return tuple(after)

    def moves(self, cells, player):
        """The margin of every legal action."""
        return {
            cell: -self.margin(self.play(cells, player, cell), 1 - player)
            for cell in self.legal(cells, player)
        }

    def margin(self, cells, player):
        if (cells, player) not in self.known:
            if 0 in cells:
                value = max(self.moves(cells, player).values())
            else:
                first = sum(code in (1, 2) for code in cells)
                lead = first - (len(cells) - first)
                value = lead if player == 0 else -lead
            self.known[cells, player] = value
        return self.known[cells, player]

    def random_position(self, rng, most_empty, most_marbles=99):
        """A position of a random game with few enough empty cells and marbles, and who is to move."""
        while True:
            cells, player = (0,) * (self.width * self.height), 0
            while 0 in cells:
                if cells.count(0) <= most_empty and cells.count(1) + cells.count(3) <= most_marbles:
                    return cells, player
                cells = self.play(cells, player, int(rng.choice(self.legal(cells, player))))
                player = 1 - player


def check(solver, truth, cells, player):
    """Outcome, margin, best moves and the margin of every move agree with brute force."""
    moves = truth.moves(cells, player)
    value = truth.margin(cells, player)
    solution = solver.solve(np.array(cells), player)
    assert solution.margin == value, (cells, player)
    assert solution.outcome == np.sign(value)
    assert solution.best == tuple(cell for cell in moves if moves[cell] == value), (cells, player)
    assert solver.outcome(np.array(cells), player) == np.sign(value)
    assert solver.margins(np.array(cells), player) == moves, (cells, player)


@pytest.mark.parametrize(("width", "height"), [(2, 3), (3, 2), (5, 1), (1, 6), (2, 4)])
def test_every_position_of_a_tiny_board_agrees_with_brute_force(width, height):
    truth, solver = BruteForce(width, height), Solver(width, height)
    truth.margin((0,) * (width * height), 0)
    for cells, player in list(truth.known):
        check(solver, truth, cells, player)


def test_every_position_of_3x3_agrees_with_brute_force():
    truth, solver = BruteForce(3, 3), Solver(3, 3)
    assert truth.margin((0,) * 9, 0) == 3
    assert len(truth.known) > 10_000
    for cells, player in list(truth.known):
        check(solver, truth, cells, player)


@pytest.mark.parametrize(
    ("width", "height", "most_empty", "positions"),
    [(3, 4, 5, 2000), (4, 3, 6, 500), (4, 4, 4, 2000), (4, 4, 5, 300), (5, 5, 3, 300), (6, 6, 2, 100)],
)
def test_random_late_positions_agree_with_brute_force(width, height, most_empty, positions):
    rng = np.random.default_rng(width * 100 + height * 10 + most_empty)
    truth, solver = BruteForce(width, height), Solver(width, height, megabytes=16)
    for _ in range(positions):
        check(solver, truth, *truth.random_position(rng, most_empty, most_marbles=7))


def test_a_table_of_any_size_gives_the_same_answers():
    truth, rng = BruteForce(4, 4), np.random.default_rng(3)
    sizes = [Solver(4, 4, megabytes=megabytes) for megabytes in (0, 0.001, 0.1, 64)]
    for _ in range(30):
        cells, player = truth.random_position(rng, 8)
        solutions = [solver.solve(np.array(cells), player, "moves") for solver in sizes]
        assert len({(s.outcome, s.margin, s.best, tuple(s.margins.items())) for s in solutions}) == 1


def test_symmetric_and_colour_inverted_positions_have_equal_values():
    rng = np.random.default_rng(4)
    for width, height in ((4, 4), (3, 5)):
        truth = BruteForce(width, height)
        for _ in range(10):
            cells, player = truth.random_position(rng, 7)
            margins = set()
            for destination in symmetries(width, height):
                turned = np.zeros(width * height, np.int8)
                turned[destination] = cells
                inverted = np.array([0, 3, 4, 1, 2], np.int8)[turned]
                margins.add(solve(turned, player, width, height, megabytes=1).margin)
                margins.add(solve(inverted, 1 - player, width, height, megabytes=1).margin)
            assert len(margins) == 1


def test_one_more_cell_never_hurts_and_a_dyed_one_is_worth_at_most_two():
    # The third fact the table relies on, here on brute force alone.
    truth, rng = BruteForce(3, 3), np.random.default_rng(5)
    for _ in range(2000):
        cells, player = truth.random_position(rng, 6)
        value = truth.margin(cells, player)
        for cell, code in enumerate(cells):
            if code in (3 - 2 * player, 4 - 2 * player):
                given = (*cells[:cell], code - 2 + 4 * player, *cells[cell + 1 :])
                gain = truth.margin(given, player) - value
                assert gain >= 0
                assert code % 2 == 1 or gain <= 2


def typed(position) -> Position:
    return tuple(np.uint64(plane) for plane in position)


@pytest.mark.parametrize(("width", "height"), [(3, 3), (5, 4), (8, 8), (7, 1), (1, 7)])
def test_bitboards_play_by_the_rules(width, height):
    rng, rules, bits = np.random.default_rng(6), BruteForce(width, height), make_board(width, height)
    cells, player = (0,) * (width * height), 0
    while 0 in cells:
        position = typed(pack(np.array(cells, np.int8), player))
        assert tuple(unpack(position, player, bits)) == cells
        cell = int(rng.choice(rules.legal(cells, player)))
        after = typed(play(position, np.uint64(1 << cell), bits))
        cells, player = rules.play(cells, player, cell), 1 - player
        assert tuple(unpack(after, player, bits)) == cells


def test_images_move_every_cell_where_the_symmetry_says():
    cells = board("""
        A . b
        a B .
        . . A
    """)
    quarter_turns = {tuple(np.rot90(cells.reshape(3, 3), turn).ravel()) for turn in range(4)}
    mirrored = {tuple(np.rot90(cells.reshape(3, 3).T, turn).ravel()) for turn in range(4)}
    position, bits = typed(pack(cells, 0)), make_board(3, 3)
    images = {tuple(unpack(typed(image(position, g)), 0, bits)) for g in symmetries(3, 3)}
    assert images == quarter_turns | mirrored


def test_2x2_is_a_win_for_the_first_player_by_two():
    # The paper says the second player wins. But whatever the answer to a marble is, expanding it fills the board:
    # an answer beside it joins the component (4 to 0), one across the diagonal keeps only itself (3 to 1).
    solution, table = first_moves(2, 2)
    assert (solution.outcome, solution.margin) == (1, 2)
    assert table.tolist() == [[2, 2], [2, 2]]


def test_3x3_is_won_from_the_centre_by_three():
    solution, table = first_moves(3, 3)
    assert solution.best == (4,)
    assert table.tolist() == [[-3, 1, -3], [1, 3, 1], [-3, 1, -3]]


@pytest.mark.parametrize(
    ("width", "height", "margin"),
    [(4, 3, 2), (4, 4, 0), (5, 3, 1), (8, 2, 2), (6, 3, 0), (5, 4, 2), (7, 3, 1)],
)
def test_solved_boards_keep_their_margins(width, height, margin):
    assert Solver(width, height).margin(np.zeros(width * height), 0) == margin


def test_the_first_player_wins_5x5_by_one():
    # The paper calls 5×5 unknown. Every first move wins by exactly one cell (docs/corso.md); here the centre.
    after = np.zeros(25, np.int8)
    after[12] = 1
    assert Solver(5, 5).margin(after, 1) == -1


def test_small_boards_have_the_first_moves_of_the_facts_file():
    for fact in json.loads((DOCS / "corso.json").read_text()):
        if fact["width"] * fact["height"] <= 15:
            solution, table = first_moves(fact["width"], fact["height"])
            assert solution.outcome == fact["value"]
            assert {cell: table.ravel()[int(cell)] for cell in fact["margins"]} == fact["margins"]


def test_the_facts_page_is_drawn_from_the_facts_file():
    script = runpy.run_path(str(DOCS / "make_corso.py"))
    facts = json.loads((DOCS / "corso.json").read_text())
    assert (DOCS / "corso.md").read_text() == script["render"](facts)


def test_a_finished_game_has_a_margin_and_no_moves():
    solution = solve(board("A b B b"), 1, 2, 2, goal="moves")
    assert (solution.outcome, solution.margin, solution.best, solution.margins) == (1, 2, (), {})


def test_the_outcome_alone_costs_less_than_the_margins():
    empty = np.zeros(18)
    outcome, moves = (solve(empty, 0, 6, 3, goal=goal) for goal in ("outcome", "moves"))
    assert (outcome.outcome, outcome.margin, outcome.best) == (0, None, None)
    assert outcome.nodes < moves.nodes


def test_progress_names_every_first_move_once():
    news = []
    first_moves(4, 3, progress=news.append)
    finished = [report for report in news if report.moves]
    assert sorted(cell for report in finished for cell in report.moves) == list(range(12))
    assert [report.done for report in finished] == [1, 2, 3, 4]
    assert all(report.total == 4 for report in finished)


def test_a_search_that_takes_too_long_says_so():
    solver = Solver(6, 5, megabytes=16, seconds=0.3)
    with pytest.raises(TimeoutError, match=r"6×5 Corso was not solved in 0\.3 s"):
        solver.margin(np.zeros(30), 0)
    late = board("""
        a a b b A B
        a a b b . b
        a A b b b b
        a a a . b b
        a a a a b b
    """)
    solver.seconds = None
    assert solver.margin(late, 0) == solve(late, 0, 6, 5, megabytes=1).margin


def test_ctrl_c_stops_a_search_at_once():
    solver = Solver(6, 5, megabytes=16)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        solver.margin(np.zeros(30), 0)
    assert solver.nodes > 0


def test_a_perfect_player_never_lets_a_win_slip():
    rng, rules, perfect = np.random.default_rng(8), BruteForce(3, 4), PerfectCorso(3, 4)
    for _ in range(20):
        cells, player = (0,) * 12, 0
        while 0 in cells:
            moves = perfect.best_moves(np.array(cells), player) if player == 0 else rules.legal(cells, player)
            cells, player = rules.play(cells, player, int(rng.choice(moves))), 1 - player
        assert sum(code in (1, 2) for code in cells) >= 7  # 3×4 is worth +2 to the first player.


def test_boards_out_of_reach_are_refused_with_advice():
    with pytest.raises(ValueError, match=r"up to 25 cells \(5×5\), got 6×6\. Use a smaller board"):
        PerfectCorso(6, 6)
    with pytest.raises(ValueError, match="up to 40 cells, got 8×8"):
        Solver(8, 8)
    with pytest.raises(ValueError, match="3×3 position is 9 codes from 0 to 4, got 4"):
        solve(np.zeros(4), 0, 3, 3)
    with pytest.raises(ValueError, match="0 or 1, got 2"):
        solve(np.zeros(9), 2, 3, 3)
    with pytest.raises(ValueError, match="1 to 64 cells"):
        make_board(9, 8)
