"""`stratagem train`"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import numpy as np
import tyro

from stratagem.arena.climb import climb
from stratagem.arena.report import Standing, markdown, standing
from stratagem.arena.report import write_report as write_rating
from stratagem.arena.tournament import Tournament, run_tournament
from stratagem.cli import train_ppo
from stratagem.cli.output import log, out, print_json, progress_bar
from stratagem.cli.tournament import print_table
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption
from stratagem.core.files import recover_lines
from stratagem.core.game import Game
from stratagem.core.registry import read_options
from stratagem.games import make_game
from stratagem.learners.alphazero import AlphaZero, AlphaZeroConfig, State, policies_of
from stratagem.learners.mesh import join
from stratagem.learners.presets import preset
from stratagem.learners.report import write_report
from stratagem.learners.run import Run, run
from stratagem.networks import parameters
from stratagem.networks.weights import save_weights
from stratagem.search import Puct

LADDERS = {
    "corso": ("random", "mm:depth=1", "mm:depth=2", "mm:depth=3", "mm:depth=4"),
    "general": ("random", "greedy", "expectimax:depth=1", "expectimax:depth=2"),
}
"""Opponents that need no training, from weak to strong."""


@dataclass(frozen=True)
class Command:
    """Train a player by self-play, rate it, and say where to play it.

    The run is a folder with metrics, checkpoints, weights and a report. Ctrl-C saves and leaves; --resume goes on.
    """

    game: Annotated[str, tyro.conf.arg(metavar="GAME")]
    """The game, with options after a colon: corso:width=4,height=4."""
    preset: Literal["quick", "paper", "seed", "best", "gpu", "smoke", "laptop"] = "quick"
    """AlphaZero: quick (minutes on two cores), paper (the Corso paper's), seed (GENERAL's), best or gpu (an H200).
    PPO, for games with secrets and for Hispania: smoke (seconds), laptop (twenty minutes), gpu (25 minutes of an H200),
    paper; best is Hispania's full map."""
    set: tuple[str, ...] = ()
    """Settings that differ from the preset: iterations=30 simulations=64. See docs/alphazero.md and ppo.md."""
    also: tuple[str, ...] = ()
    """More variants that the same network learns: corso:width=4,height=4."""
    out: Path | None = None
    """Folder of the run; runs/GAME-PRESET unless given."""
    seed: int = 0
    """Same seed, same run (on the same machine)."""
    resume: bool = False
    """Go on with the run in the folder."""
    start: Path | None = None
    """PPO: weights to begin with, which may come from a smaller board."""
    teachers: tuple[str, ...] = ()
    """Instead of PPO: learn to move as these agents do, who play each other: expander hunter cascade."""
    data: Path | None = None
    """Instead of PPO: learn to move as in the games of a data set (stratagem replays dataset)."""
    devices: int = 0
    """PPO: over so many devices; 0 for all there are."""
    distributed: str = ""
    """PPO: one of several processes, which all run this command: HOST:PORT of the first, or auto under SLURM."""
    processes: int = 1
    """How many processes there are."""
    process: int = 0
    """Which of them this is, from 0; the first one writes."""
    minutes: float = 0.0
    """Save and stop after so long; 0 for no limit."""
    rate: int = 20
    """Games of each pair in the rating afterwards; 0 for none."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        if self.distributed:
            join(self.distributed, self.processes, self.process)
        use_compile_cache()
        games = [make_game(text) for text in (self.game, *self.also)]
        if train_ppo.fits(games[0]):
            return train_ppo.train(self.for_ppo())
        config = configured(self.preset, games[0], self.set)
        folder = self.out or Path("runs") / f"{games[0].spec.name}-{self.preset}"
        learner = AlphaZero(games, config)
        weights = folder / "weights.safetensors"
        settings = Run(
            folder,
            self.seed,
            self.resume,
            evaluate_every=max(config.iterations // 4, 1),
            minutes=self.minutes,
        )
        log.print(
            f"Training {games[0].spec.title}, preset {self.preset}: {config.iterations} iterations of "
            f"{config.lanes} games side by side. The first minute goes into compiling."
        )
        ladder = list(ladder_of(games[0])[:4])
        described = {**asdict(config), "games": [game.spec.title for game in games]}
        state, done = run(
            learner,
            settings,
            described,
            evaluate=partial(climb, games[0], ladder, 20),
            say=lambda line: log.print(line, highlight=False),
        )
        network = learner.network(state)
        summary = {"iterations": learner.iteration(state), "preset": self.preset, "seed": self.seed}
        save_weights(weights, network, config.network, games, {**summary, "parameters": parameters(network)})
        if not done:
            log.print(
                f"Stopped at iteration {summary['iterations']}; the same command with --resume goes on."
            )
            return 0
        return self.show(learner, state, weights, folder)

    def for_ppo(self) -> train_ppo.Training:
        """The same wishes for the other learner."""
        if self.also:
            raise BadOption(
                "PPO learns several sizes as one game: generals:width=12,height=12,least=8, not --also"
            )
        given = {one.name: getattr(self, one.name) for one in fields(train_ppo.Training)}
        return train_ppo.Training(**given)

    def show(self, learner: AlphaZero, state: State, weights: Path, folder: Path) -> int:
        """Rate, report, and tell."""
        game, network = learner.games[0], learner.network(state)
        player = f"az:simulations=100,weights={weights}"
        outcome = None
        if self.rate:
            entrants = (player, f"net:weights={weights}", *ladder_of(game))
            tournament = Tournament(self.game, entrants, self.rate, self.seed)
            results_log = folder / "rating" / "results.jsonl"
            results_log.unlink(missing_ok=True)
            with progress_bar("rating games") as update:
                results = run_tournament(tournament, results_log, workers=1, progress=update)
            anchor = next(name for name in ("mm:depth=1", "random") if name in entrants)
            outcome = standing(tournament, results, anchor)
            write_rating(outcome, folder / "rating")
            outcome = renamed(outcome, {entrants[0]: "az:simulations=100", entrants[1]: "net"})
        report = write_report(
            folder,
            f"Training of {game.spec.title}",
            {
                "preset": self.preset,
                "network": f"`{learner.config.network}`, {parameters(network):,} numbers",
                "iterations": learner.iteration(state),
                "seed": self.seed,
                "ruleset": f"`{game.spec.ruleset}`",
            },
            recover_lines(folder / "metrics.jsonl"),
            opening(game, network),
            table_of(outcome) if outcome else "",
        )
        if self.json:
            content: dict[str, Any] = {
                "game": game.spec.title,
                "weights": str(weights),
                "report": str(report),
            }
            print_json(content | ({"rating": outcome.as_json()} if outcome else {}))
            return 0
        if outcome:
            print_table(outcome)
        out.print(f"Report: {report}")
        out.print(f"Play it: stratagem play {self.game} --against {player}")
        return 0


def renamed(outcome: Standing, names: Mapping[str, str]) -> Standing:
    """With shorter names for those whose weights are known from the context."""
    return replace(
        outcome,
        ratings=[replace(row, name=names.get(row.name, row.name)) for row in outcome.ratings],
        move_seconds={names.get(name, name): spent for name, spent in outcome.move_seconds.items()},
        roles=[
            replace(
                row,
                player=names.get(row.player, row.player),
                against=row.against and names.get(row.against, row.against),
            )
            for row in outcome.roles
        ],
    )


def table_of(outcome: Standing) -> str:
    """The rating table as Markdown, and where the rest is."""
    lines = markdown(outcome).splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("|"))
    length = next(index for index, line in enumerate(lines[first:]) if not line.startswith("|"))
    return "\n".join(
        [*lines[first : first + length], "", "All results: [rating/report.md](rating/report.md)."]
    )


def configured(name: str, game: Game, changes: tuple[str, ...]) -> AlphaZeroConfig:
    """A preset with some settings changed."""
    options = dict(part.partition("=")[::2] for part in changes)
    return replace(preset(name, game), **read_options("AlphaZero", AlphaZeroConfig, options))


def ladder_of(game: Game) -> tuple[str, ...]:
    """Who there is to measure a player against."""
    return LADDERS.get(game.spec.name, ("random",))


def opening(game: Any, network: Any) -> dict[str, np.ndarray]:
    """The paper's figure: the policy of the first move, by the network alone and after 100 playouts."""
    state = game.init(jax.random.key(0))
    shape = np.shape(game.view(state, 0))[:2]
    if len(shape) != 2 or shape[0] * shape[1] != game.spec.actions:
        return {}
    policies = policies_of(network, game, state, Puct(100, noise=0.0), jax.random.key(0))
    names = {"network": "network alone", "search": "100 playouts"}
    return {names[name]: policy.reshape(shape) for name, policy in policies.items()}
