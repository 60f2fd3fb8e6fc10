"""What `stratagem train --teachers` and `--data` learn from, and with which settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from stratagem.agents import make_agent
from stratagem.core.errors import BadOption
from stratagem.core.game import Game
from stratagem.games.generals.game import Generals
from stratagem.learners.cloning import CloningConfig
from stratagem.learners.cloning_sources import Games, Recorded, Source, Teachers
from stratagem.learners.ppo import PPOConfig
from stratagem.protocols.generals_dataset import Batch, Dataset

GAMES_AT_ONCE = 32  # of a data set: whole games are long


def cloning_config(config: PPOConfig) -> CloningConfig:
    """Settings for cloning that go with a preset of PPO: the same network, so that PPO can go on from it."""
    return CloningConfig(
        network=config.network,
        minibatch=config.minibatch,
        precision=config.precision,
        iterations=min(config.iterations, 500),
    )


def source_of(
    game: Game, senses: Any, teachers: tuple[str, ...], data: Path | None, config: PPOConfig, seed: int
) -> Source:
    """Teachers who play in the lanes of the preset, or the games of a data set, shuffled anew each time round."""
    if teachers and data:
        raise BadOption("learn from --teachers or from --data, not from both at once")
    if data:
        if not isinstance(game, Generals):
            raise BadOption(f"data sets hold games of generals, not of {game.spec.name}")
        return Recorded(game, senses, Reader(Dataset(data, game), seed).games)
    agents = tuple(make_agent(name, game) for name in teachers)
    for name, agent in zip(teachers, agents, strict=True):
        if not agent.traceable:
            raise BadOption(f"--teachers: {name} cannot be compiled; see stratagem games {game.spec.name}")
    return Teachers(
        game, senses, agents, config.games, config.steps, config.stock, config.restock, config.scatter
    )


class Reader:
    """The games of an iteration: the same for the same seed and iteration, also after a restart."""

    def __init__(self, dataset: Dataset, seed: int):
        self.dataset, self.seed = dataset, seed
        self.size = min(GAMES_AT_ONCE, len(dataset))
        if not self.size:
            raise BadOption(f"{dataset.folder} holds no games; its filters dropped {dict(dataset.dropped)}")
        self.rounds = len(dataset) // self.size  # what is left over is in another order the next time round
        self.longest = max(len(game.actions) for game in dataset)
        self.next = -1
        self.batches: Iterator[Batch] = iter(())

    def games(self, iteration: int) -> Games:
        if iteration != self.next or iteration % self.rounds == 0:
            self.batches = self.dataset.batches(self.size, seed=self.seed + iteration // self.rounds)
            for _ in range(iteration % self.rounds):
                next(self.batches)
        self.next = iteration + 1
        batch = next(self.batches)
        missing = self.longest - batch.actions.shape[1]
        actions = jnp.pad(batch.actions, ((0, 0), (0, max(missing, 0)), (0, 0)), constant_values=-1)
        return Games(batch.start, jnp.swapaxes(actions[:, : self.longest], 0, 1), batch.returns)
