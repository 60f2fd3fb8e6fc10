"""How good maps of Generals are, by walking them in plain NumPy, many at once.

`python -m tests.games.generals_maps --maps 10000` prints one JSON line; the tests hold the same measure on fewer maps.
"""

import argparse
import json
import time
from typing import NamedTuple

import jax
import numpy as np

from stratagem.games.generals import Generals
from stratagem.games.generals.board import CASTLE, MOUNTAIN, kind_of

FAIR = 0.8


class Measures(NamedTuple):
    """What there is to say of N maps."""

    connected: np.ndarray  # bool[N]: every cell that is no mountain can be walked to
    apart: np.ndarray  # int[N]: steps from general to general, through castles if that is shorter
    free: np.ndarray  # bool[N]: the generals can meet without taking a castle
    rooms: np.ndarray  # int[N, 2]: cells within half the least walk of each general, castles apart

    def fair(self, game):
        """bool[N]: far enough apart, a free way, and comparable room."""
        comparable = self.rooms.min(axis=1) >= FAIR * self.rooms.max(axis=1)
        return (self.apart >= game.apart) & self.free & comparable


def measure(game, states):
    """The measures of a batch of new games."""
    kinds = np.asarray(kind_of(states.cells)).reshape(-1, *game.shape)
    generals = np.asarray(states.generals)
    ground, plain = kinds != MOUNTAIN, (kinds != MOUNTAIN) & (kinds != CASTLE)
    whole = walks(ground, generals[:, 0])
    lanes = [walks(plain, generals[:, seat]) for seat in range(2)]
    here = np.arange(len(kinds)), *np.divmod(generals[:, 1], game.width)
    rooms = [((steps >= 0) & (steps <= game.apart // 2)).sum(axis=(1, 2)) for steps in lanes]
    return Measures(
        connected=((whole >= 0) == ground).all(axis=(1, 2)),
        apart=whole[here],
        free=lanes[0][here] >= 0,
        rooms=np.stack(rooms, axis=1),
    )


def walks(ground, starts):
    """int16[N, H, W]: steps from int[N] starts over bool[N, H, W] ground, wave by wave; −1 where there is no way."""
    steps = np.full(ground.shape, -1, np.int16)
    wave = np.zeros(ground.shape, bool)
    wave.reshape(len(ground), -1)[np.arange(len(ground)), starts] = True
    distance = 0
    while wave.any():
        steps[wave] = distance
        wide = np.pad(wave, ((0, 0), (1, 1), (1, 1)))
        beside = wide[:, :-2, 1:-1] | wide[:, 2:, 1:-1] | wide[:, 1:-1, :-2] | wide[:, 1:-1, 2:]
        wave = beside & ground & (steps < 0)
        distance += 1
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    game, began = Generals(), time.perf_counter()
    make = jax.jit(jax.vmap(game.init))
    found = []
    for first in range(0, arguments.maps, 1000):
        keys = jax.random.split(jax.random.key(arguments.seed + first), min(1000, arguments.maps - first))
        found.append(measure(game, make(keys)))
    all_maps = Measures(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    ratio = all_maps.rooms.min(axis=1) / all_maps.rooms.max(axis=1)
    line = {
        "board": f"{game.height}x{game.width}",
        "maps": arguments.maps,
        "connected": int(all_maps.connected.sum()),
        "fair": int(all_maps.fair(game).sum()),
        "walk between generals": [int(np.percentile(all_maps.apart, part)) for part in (0, 50, 100)],
        "smaller room over larger": [round(float(np.percentile(ratio, part)), 3) for part in (0, 50, 100)],
        "seconds": round(time.perf_counter() - began, 1),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
