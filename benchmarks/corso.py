"""Corso: batched random games and minimax moves, against the same in plain Python, in one run.

    python benchmarks/corso.py [--batch 65536] [--skip-minimax]

The yardstick is plain Python in the manner of the author's code, which was measured at 5,200 random games a second,
0.022 s for an MM-3 move and 0.25 s for an MM-4 move on one thread of a machine of this class.
"""

import argparse
import random
import sys
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import measure, report

from stratagem.core import play
from stratagem.games.corso import Corso

SIDE = 5
CELLS = SIDE * SIDE
NEAR = [
    [r * SIDE + c for r, c in ((i // SIDE - 1, i % SIDE), (i // SIDE + 1, i % SIDE), (i // SIDE, i % SIDE - 1),
                               (i // SIDE, i % SIDE + 1)) if 0 <= r < SIDE and 0 <= c < SIDE]
    for i in range(CELLS)
]  # fmt: skip
EMPTY, MARBLE, DYED = 0, 1, 2


def plain_moves(board, player):
    return [
        i for i, (kind, owner) in enumerate(board) if kind == EMPTY or (kind == MARBLE and owner == player)
    ]


def plain_step(board, player, cell):
    board = list(board)
    if board[cell][0] == EMPTY:
        board[cell] = (MARBLE, player)
        return board
    component, edge = {cell}, [cell]
    while edge:
        for near in NEAR[edge.pop()]:
            if board[near][0] == MARBLE and near not in component:
                component.add(near)
                edge.append(near)
    for one in component:
        board[one] = (DYED, player)
        for near in NEAR[one]:
            board[near] = (DYED, player)
    return board


def plain_over(board):
    return all(kind != EMPTY for kind, _ in board)


def plain_random_game(rng):
    board, player = [(EMPTY, None)] * CELLS, 0
    while not plain_over(board):
        board = plain_step(board, player, rng.choice(plain_moves(board, player)))
        player = 1 - player
    return sum(owner == 0 for _, owner in board)


def plain_score(board, weight=0.7):
    worth = {MARBLE: 1.0, DYED: weight, EMPTY: 0.0}
    if plain_over(board):
        lead = sum(1 if owner == 0 else -1 for _, owner in board)
        return 1e6 if lead > 0 else -1e6
    return sum(worth[kind] * (1 if owner == 0 else -1) for kind, owner in board if kind != EMPTY)


def plain_minimax(board, player, depth, alpha=-1e9, beta=1e9):
    if depth == 0 or plain_over(board):
        return plain_score(board)
    if player == 0:
        best = -1e9
        for cell in plain_moves(board, player):
            best = max(best, plain_minimax(plain_step(board, player, cell), 1, depth - 1, alpha, beta))
            alpha = max(alpha, best)
            if alpha >= beta:
                break
        return best
    best = 1e9
    for cell in plain_moves(board, player):
        best = min(best, plain_minimax(plain_step(board, player, cell), 0, depth - 1, alpha, beta))
        beta = min(beta, best)
        if alpha >= beta:
            break
    return best


def plain_root(board, player, depth):
    moves = plain_moves(board, player)
    return {cell: plain_minimax(plain_step(board, player, cell), 1 - player, depth - 1) for cell in moves}


def positions(count, rng):
    """Boards in the middle of random games, as plain boards and as cell codes with the player to move."""
    boards = []
    while len(boards) < count:
        board, player = [(EMPTY, None)] * CELLS, 0
        for _ in range(rng.randrange(14)):
            if not plain_over(board):
                board = plain_step(board, player, rng.choice(plain_moves(board, player)))
                player = 1 - player
        if not plain_over(board):
            boards.append((board, player))
    codes = np.array([[0 if kind == EMPTY else 2 * owner + kind for kind, owner in board] for board, _ in boards],
                     np.int8)  # fmt: skip
    return boards, codes, np.array([player for _, player in boards])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--batch", type=int, nargs="*", default=None, help="games side by side; several are tried"
    )
    parser.add_argument("--skip-minimax", action="store_true")
    options = parser.parse_args()
    rng = random.Random(0)
    games, began = 0, time.perf_counter()
    while time.perf_counter() - began < 2:
        plain_random_game(rng)
        games += 1
    plain_rate = games / (time.perf_counter() - began)
    on_cpu = jax.devices()[0].platform == "cpu"
    game, best = Corso(), (0.0, 0, {})
    for batch in options.batch or ([16384, 65536] if on_cpu else [1 << 18, 1 << 20, 1 << 22]):
        run = jax.jit(partial(play.random_games, game, batch))
        keys = iter(jax.random.split(jax.random.key(1), 10_000))
        seconds = measure(lambda run=run, keys=keys: jax.block_until_ready(run(next(keys))), least=2.0)
        best = max(best, (batch / seconds["median"], batch, seconds), key=lambda row: row[0])
    rate, batch, seconds = best
    report(
        "corso random games",
        batch=batch,
        games_per_second=round(rate),
        plain_games_per_second=round(plain_rate),
        ratio=round(rate / plain_rate, 1),
        seconds=seconds,
    )
    if options.skip_minimax:
        return
    from stratagem.agents.corso_minimax import root_scores, root_scores_many

    boards, codes, players = positions(400, rng)
    for depth, plain_count in ((3, 12), (4, 4)):
        seconds = measure(lambda depth=depth: root_scores_many(codes, players, SIDE, SIDE, depth))
        fast = seconds["median"] / len(boards)
        # The same positions for both: the plain side is too slow for all of them.
        chosen = range(0, len(boards), len(boards) // plain_count)
        began = time.perf_counter()
        plain = [plain_root(*boards[i], depth) for i in chosen]
        plain_seconds = (time.perf_counter() - began) / len(plain)
        began = time.perf_counter()
        for i, expected in zip(chosen, plain, strict=True):
            scores = root_scores(codes[i], int(players[i]), SIDE, SIDE, depth)
            sign = 1 if players[i] == 0 else -1
            wrong = [cell for cell, value in expected.items()
                     if abs(sign * value) < 1e5 and abs(scores[cell] - sign * value) > 1e-6]  # fmt: skip
            assert not wrong, "the two minimaxes disagree"
        same_seconds = (time.perf_counter() - began) / len(plain)
        report(
            f"corso MM-{depth}",
            moves_per_second=round(1 / fast, 1),
            seconds_per_move=fast,
            plain_seconds_per_move=plain_seconds,
            ratio=round(plain_seconds / same_seconds, 1),
            seconds=seconds,
        )


if __name__ == "__main__":
    main()
