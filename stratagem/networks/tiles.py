"""Convolutions for batches of small boards, with a quarter of the multiplications (Winograd's filtering at Toom and
Cook's points).

A 3 × 3 convolution of a board of m × m cells needs (m + 2)² products of matrices instead of 9·m²: 49 instead of 225 for
a 5 × 5 board. Each product has its own weights, so there is more to read, and a single position gains nothing; a batch
reads them once. On CPUs a batch of 256 with 64 channels took six tenths of the time. Larger boards would have to be cut
into tiles, and lost more by that than they gained. The results differ from the plain convolution by a rounding that
grows with m (1e-4 in the logits of the shipped networks at m = 5).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.networks.blocks import Conv, Training

LARGEST_SIDE = 5
MOST_SPREAD = 4  # from few channels to very many, the way back costs more than is saved
POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5)  # and infinity


def filtering(side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(A [m, n], G [n, 3], B [n, n]) with n = m + 2: A ((G g) · (B d)) is what the filter g makes of d."""
    points = POINTS[: side + 1]

    def at_points(length: int) -> np.ndarray:
        """The values of a polynomial with so many coefficients at the points; the last one is at infinity."""
        finite = [[point**power for power in range(length)] for point in points]
        return np.array([*finite, [0.0] * (length - 1) + [1.0]])

    return at_points(side).T, at_points(3), np.linalg.inv(at_points(side + 2)).T


class TileConv(eqx.Module):
    """A 3 × 3 convolution with its weights at the points."""

    weight: Array  # float32[n·n', C_in, C_out]
    bias: Array | None
    height: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def __init__(self, conv: Conv, height: int, width: int):
        down, across = filtering(height)[1], filtering(width)[1]
        weight = jnp.einsum("ai,bj,ijcd->abcd", down, across, conv.weight, precision="highest")
        self.weight = weight.reshape(-1, *conv.weight.shape[2:])
        self.bias, self.height, self.width = conv.bias, height, width

    def __call__(self, board: Array, training: Training | None = None) -> Array:
        (from_rows, _, into_rows), (from_columns, _, into_columns) = map(filtering, (self.height, self.width))
        shape = len(self.weight), self.height, self.width
        # What lies outside the board is zero.
        into = np.einsum("pi,qj->pqij", into_rows[:, 1:-1], into_columns[:, 1:-1]).reshape(shape)
        back = np.einsum("ip,jq->pqij", from_rows, from_columns).reshape(shape)
        at_points = jnp.einsum("phw,hwc->pc", jnp.asarray(into, jnp.float32), board)
        products = jnp.einsum("pc,pce->pe", at_points, self.weight)
        result = jnp.einsum("phw,pe->hwe", jnp.asarray(back, jnp.float32), products)
        return result if self.bias is None else result + self.bias


def for_batches(network: Any, view: Any) -> Any:
    """In tiles for batches of small boards on a CPU; accelerators have fast convolutions of their own."""
    shape: tuple[int, ...] = getattr(view, "shape", ())
    if len(shape) != 3 or max(shape[:2]) > LARGEST_SIDE or jax.default_backend() != "cpu":
        return network
    return with_tiles(network, shape[0], shape[1])


def with_tiles(network: Any, height: int, width: int) -> Any:
    """The same network for boards of this size, with its 3 × 3 convolutions in tiles."""

    def swap(part: Any) -> Any:
        if not isinstance(part, Conv):
            return part
        size, _, inputs, outputs = part.weight.shape
        fits = size == 3 and outputs <= MOST_SPREAD * inputs and part.weight.dtype == jnp.float32
        return TileConv(part, height, width) if fits else part

    return jax.tree.map(swap, network, is_leaf=lambda part: isinstance(part, Conv))
