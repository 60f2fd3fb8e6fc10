"""Networks for games whose actions are `from · cells + to` on one board, and a few more behind those.

Every cell says what it offers as a start and what it wants as an end, and the logit of a move is how well the two
fit. So what is learned about one cell is known of all, and 10,000 moves cost one small matrix product, less than a
single convolution: it is not worth computing it for the legal ones alone.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption
from stratagem.networks.blocks import BoardNorm, Conv, Dense, GlobalBlock, Training, pool
from stratagem.networks.boards import Reader
from stratagem.networks.general_planes import reader_of
from stratagem.networks.outputs import Output, belief_output


class FromToNet(eqx.Module):
    """Residual blocks that hear the whole board, a from-to policy head and a belief in results. Two players."""

    stem: Conv
    blocks: list[GlobalBlock]
    norm: BoardNorm
    start: Conv
    end: Conv
    start_listen: Dense
    end_listen: Dense
    offsets: Array  # float[2·H − 1, 2·W − 1]: what a move of so many rows and columns is worth anywhere
    others: Dense
    squeeze: Conv
    hidden: Dense
    value: Dense
    reader: Reader = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, int, int],
        actions: int,
        channels: int,
        blocks: int,
        width: int,
        results: int,
        reader: Reader,
        key: Array,
    ):
        height, wide, planes = shape
        keys = iter(jax.random.split(key, blocks + 9))
        head = max(16, channels // 2)
        self.stem = Conv(planes, channels, 3, next(keys))
        self.blocks = [GlobalBlock(channels, next(keys)) for _ in range(blocks)]
        self.norm = BoardNorm(channels)
        # One more than `width`: each side also speaks for its cell alone, whatever the other says.
        self.start = Conv(channels, width + 1, 1, next(keys), gain=0.3)
        self.end = Conv(channels, width + 1, 1, next(keys), gain=0.3)
        self.start_listen = Dense(3 * channels, width + 1, next(keys), gain=0.1)
        self.end_listen = Dense(3 * channels, width + 1, next(keys), gain=0.1)
        self.offsets = jnp.zeros((2 * height - 1, 2 * wide - 1))
        self.others = Dense(3 * channels, actions - (height * wide) ** 2, next(keys), gain=0.1)
        self.squeeze = Conv(channels, head, 1, next(keys))
        self.hidden = Dense(3 * head, 2 * head, next(keys))
        self.value = Dense(2 * head, results, next(keys), gain=0.1)
        self.reader = reader

    def __call__(self, view: Array, training: Training | None = None) -> Output:
        board = self.stem(self.reader(view), training)
        for block in self.blocks:
            board = block(board, training)
        board = jax.nn.relu(self.norm(board))
        usual = board.shape[0] * board.shape[1]  # the board has one size, so it is the usual one
        summary = pool(board, usual)
        logits = jnp.concatenate([self._moves(board, summary).reshape(-1), self.others(summary)])
        features = jax.nn.relu(self.hidden(pool(jax.nn.relu(self.squeeze(board)), usual)))
        return belief_output(logits, self.value(features)[None], 2)

    def _moves(self, board: Array, summary: Array) -> Array:
        """float[H·W, H·W]: the logit of each move."""
        height, wide, _ = board.shape
        start = (self.start(board) + self.start_listen(summary)).reshape(height * wide, -1)
        end = (self.end(board) + self.end_listen(summary)).reshape(height * wide, -1)
        fit = start[:, :-1] @ end[:, :-1].T / (start.shape[1] - 1) ** 0.5
        return fit + start[:, -1:] + end[:, -1] + self.offsets[_steps_between(height, wide)]

    def absorb(self, moments: list) -> "FromToNet":
        return self


def _steps_between(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(int[H·W, H·W], int[H·W, H·W]): rows and columns from one cell to another, counted from the largest step up."""
    row, column = np.divmod(np.arange(height * width), width)
    return row[None] - row[:, None] + height - 1, column[None] - column[:, None] + width - 1


@dataclass(frozen=True)
class FromTo:
    """Residual blocks with global pooling and a from-to policy head."""

    game: Any
    channels: int = 64
    blocks: int = 5
    width: int = 32
    """Numbers with which a start and an end find each other."""
    results: int = 2
    """Results that the value head tells apart; with two, a draw is half of each."""
    planes: int = 0
    """Of the view: the first 9 or 12; 0 for all that is known, with a plane for each value of the die; 31 for that and
    where units can go with each die."""

    def build(self, key: Array) -> FromToNet:
        spec, reader = self.game.spec, reader_of(self.planes)
        view = jax.eval_shape(lambda key: self.game.view(self.game.init(key), jnp.int32(0)), key)
        shape: Any = jax.eval_shape(reader, view).shape
        if spec.seats != 2 or spec.actions <= (shape[0] * shape[1]) ** 2:
            raise BadOption(
                f"network from-to is for two players who move from cell to cell; {spec.name} is not"
            )
        return FromToNet(
            shape, spec.actions, self.channels, self.blocks, self.width, self.results, reader, key
        )
