"""MM-k against a plain minimax without pruning, written straight from the rules."""

import numpy as np
import pytest

from stratagem.agents.corso_minimax import WIN, choose_many, root_scores, root_scores_many

CODES = {".": 0, "A": 1, "a": 2, "B": 3, "b": 4}


def board(picture):
    """Cell codes of a picture: `A`/`a` marble/dyed of player 1, `B`/`b` of player 2, `.` empty."""
    return np.array([CODES[letter] for letter in picture.split()], np.int8)


def beside(cell, width, height):
    row, column = divmod(cell, width)
    steps = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return [r * width + c for r, c in steps if 0 <= r < height and 0 <= c < width]


def play(cells, player, cell, width, height):
    """The rules page, word for word."""
    after = list(cells)
    marble, dyed = 1 + 2 * player, 2 + 2 * player
    if cells[cell] == 0:
        after[cell] = marble
        return after
    assert cells[cell] == marble
    component, frontier = {cell}, [cell]
    while frontier:
        for near in beside(frontier.pop(), width, height):
            if cells[near] in (1, 3) and near not in component:
                component.add(near)
                frontier.append(near)
    for member in component:
        for target in (member, *beside(member, width, height)):
            after[target] = dyed
    return after


def legal(cells, player):
    return [cell for cell, code in enumerate(cells) if code in (0, 1 + 2 * player)] if 0 in cells else []


def paper_score(cells, weight):
    """Formula 11 of the paper: from the side of player 1."""
    m1, d1, m2, d2 = (list(cells).count(code) for code in (1, 2, 3, 4))
    if 0 not in cells and m1 + d1 != m2 + d2:
        return WIN if m1 + d1 > m2 + d2 else -WIN
    return m1 + weight * d1 - (m2 + weight * d2)


def plain_minimax(cells, player, depth, weight, width, height):
    moves = legal(cells, player)
    if depth == 0 or not moves:
        return paper_score(cells, weight)
    results = [
        plain_minimax(play(cells, player, cell, width, height), 1 - player, depth - 1, weight, width, height)
        for cell in moves
    ]
    return max(results) if player == 0 else min(results)


def plain_root_scores(cells, player, depth, weight, width, height):
    scores = np.full(width * height, -np.inf)
    for cell in legal(cells, player):
        after = play(cells, player, cell, width, height)
        score = plain_minimax(after, 1 - player, depth - 1, weight, width, height)
        scores[cell] = score if player == 0 else -score
    return scores


def random_position(rng, width, height, turns):
    """A position after that many random turns (fewer if the game ends first), and who is to move."""
    cells, player = [0] * (width * height), 0
    for _ in range(turns):
        moves = legal(cells, player)
        after = play(cells, player, int(rng.choice(moves)), width, height)
        if 0 not in after:
            break
        cells, player = after, 1 - player
    return np.array(cells, np.int8), player


@pytest.mark.parametrize(("width", "height"), [(2, 2), (3, 3), (4, 2), (2, 5), (4, 4), (5, 5), (8, 8)])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_scores_equal_plain_minimax_bit_for_bit(width, height, depth):
    rng = np.random.default_rng(1000 * width + 10 * height + depth)
    for weight in (0.0, 0.3, 0.7, 1.0):
        checked = 0
        while checked < 3:
            position, player = random_position(rng, width, height, int(rng.integers(0, width * height)))
            if len(legal(position, player)) ** depth > 20_000:
                continue  # The plain search would take too long.
            expected = plain_root_scores(position, player, depth, weight, width, height)
            actual = root_scores(position, player, width, height, depth, weight)
            assert np.array_equal(actual, expected), (position, player, weight)
            checked += 1


def test_a_batch_scores_like_its_rows():
    rng = np.random.default_rng(5)
    positions, players = zip(*(random_position(rng, 5, 5, turns) for turns in range(20)), strict=True)
    together = root_scores_many(np.array(positions), np.array(players), 5, 5, 3, 0.7)
    for row, (position, player) in enumerate(zip(positions, players, strict=True)):
        assert np.array_equal(together[row], root_scores(position, player, 5, 5, 3, 0.7))


def test_a_move_that_ends_the_game_ahead_is_worth_a_win():
    position = board("""
        a a A
        a A .
        b b B
    """)
    scores = root_scores(position, 0, 3, 3, 1)
    # Placing ends the game 6 to 3. The corner marble alone fills the empty cell too, 6 to 3. The centre marble
    # takes one cell of the bottom row with it, 7 to 2.
    assert scores[5] == WIN
    assert scores[2] == WIN
    assert scores[4] == WIN


def test_a_drawn_end_is_worth_the_formula():
    position = board("""
        A b
        B .
    """)
    # Placing: 2 marbles against 1 marble and 1 dyed cell, 2 to 2.
    assert root_scores(position, 0, 2, 2, 3, 0.7)[3] == 2 - (1 + 0.7)


def test_a_finished_game_has_no_actions():
    finished = board("""
        A b
        B a
    """)
    assert np.all(root_scores(finished, 0, 2, 2, 2) == -np.inf)
    assert choose_many(finished[None], np.array([0]), 2, 2, 2, 0.7, 1.0, np.array([0.5])).tolist() == [-1]


def test_actions_are_drawn_from_the_softmax():
    position = board("""
        . A .
        . . B
        . . .
    """)
    scores = root_scores(position, 0, 3, 3, 2)
    temperature = 1.3
    expected = np.exp((scores - scores.max()) / temperature)
    expected /= expected.sum()
    draws = 20_000
    # Evenly spread uniforms instead of random ones: every frequency is then right to one draw.
    uniforms = (np.arange(draws) + 0.5) / draws
    cells, players = np.repeat(position[None], draws, 0), np.zeros(draws, np.int64)
    actions = choose_many(cells, players, 3, 3, 2, 0.7, temperature, uniforms)
    frequencies = np.bincount(actions, minlength=9) / draws
    assert np.abs(frequencies - expected).max() < 1e-3


def test_temperature_zero_is_uniform_among_the_best():
    draws = 4_000
    uniforms = (np.arange(draws) + 0.5) / draws
    cells, players = np.zeros((draws, 9), np.int8), np.zeros(draws, np.int64)
    best = root_scores(cells[0], 0, 3, 3, 3)
    winners = np.flatnonzero(best == best.max())
    actions = choose_many(cells, players, 3, 3, 3, 0.7, 0.0, uniforms)
    numbers = np.bincount(actions, minlength=9)
    assert np.flatnonzero(numbers).tolist() == winners.tolist()
    assert np.ptp(numbers[winners]) <= 1


def test_bad_arguments_are_named():
    cells = np.zeros((1, 9), np.int8)
    with pytest.raises(ValueError, match="depth 0"):
        root_scores_many(cells, np.array([0]), 3, 3, 0)
    with pytest.raises(ValueError, match=r"cells must be \[B, 25\]"):
        root_scores_many(cells, np.array([0]), 5, 5, 1)
    with pytest.raises(ValueError, match="temperature"):
        choose_many(cells, np.array([0]), 3, 3, 1, 0.7, -1.0, np.array([0.1]))
