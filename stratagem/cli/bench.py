"""`stratagem bench`"""

import statistics
import time
from dataclasses import dataclass
from typing import Annotated

import jax
import tyro

from stratagem.cli.output import out, print_json, progress_bar
from stratagem.core import play
from stratagem.games import make_game


@dataclass(frozen=True)
class Command:
    """How many random games a second one batch of a game plays on this machine."""

    game: Annotated[str, tyro.conf.arg(metavar="GAME")]
    """The game, with options after a colon: corso:width=7,height=7."""
    batch: int = 4096
    """Games side by side."""
    repeats: int = 5
    """Measurements; the median counts."""
    seed: int = 0
    """Other seeds give other games."""
    json: bool = False
    """Print one JSON object instead of a line."""

    def run(self) -> int:
        game = make_game(self.game)
        run = jax.jit(lambda key: play.random_games(game, self.batch, key).turn)
        with progress_bar("measuring") as update:
            jax.block_until_ready(run(jax.random.key(self.seed)))
            seconds, turns = [], 0
            for i in range(self.repeats):
                key = jax.random.key(self.seed + i + 1)
                began = time.perf_counter()
                turns = int(jax.block_until_ready(run(key)).sum())
                seconds.append(time.perf_counter() - began)
                update(i + 1, self.repeats)
        middle = statistics.median(seconds)
        content = {
            "game": game.spec.title,
            "device": jax.devices()[0].device_kind,
            "batch": self.batch,
            "games_per_second": round(self.batch / middle, 1),
            "turns_per_second": round(turns / middle, 1),
            "seconds": [round(value, 6) for value in seconds],
        }
        if self.json:
            print_json(content)
        else:
            out.print(
                f"{content['game']} on {content['device']}: {content['games_per_second']:,.0f} random games a second, "
                f"{content['turns_per_second']:,.0f} turns a second, {self.batch} games side by side"
            )
        return 0
