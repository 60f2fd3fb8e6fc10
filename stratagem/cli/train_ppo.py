"""`stratagem train` for games with secrets: PPO self-play or cloning, matches on the way, weights and a report.

from stratagem.cli.train_ppo import Training, train
train(Training("generals", "gpu", minutes=25))
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from stratagem.agents import agents_for, make_agent
from stratagem.agents.senses import senses_for
from stratagem.cli.output import log, out, print_json, progress_bar
from stratagem.cli.train_cloning import cloning_config, source_of
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption
from stratagem.core.files import recover_lines
from stratagem.core.game import Game
from stratagem.core.registry import read_options, split_choice
from stratagem.games import make_game
from stratagem.learners.cloning import Cloning, CloningConfig
from stratagem.learners.duel import ladder
from stratagem.learners.mesh import mesh_of, writes
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.learners.ppo_presets import Preset, ppo_preset
from stratagem.learners.report import write_report
from stratagem.learners.run import Run, run
from stratagem.networks import full_choice, parameters, same_weights, worked_out_as
from stratagem.networks.tensors import read_facts
from stratagem.networks.weights import load_policy, save_policy

RATED = {
    "generals": ("random", "expander", "hunter", "cascade"),
    "hispania": ("random", "naive", "historical"),
}
FAMILIES = {"hispania": "tokens"}
"""Which presets fit a game; `boards` unless listed."""


@dataclass(frozen=True)
class Training:
    """What was asked for; see `stratagem train --help`."""

    game: str
    preset: str = "laptop"
    set: tuple[str, ...] = ()
    start: Path | None = None
    out: Path | None = None
    seed: int = 0
    resume: bool = False
    minutes: float = 0.0
    rate: int = 20
    json: bool = False
    teachers: tuple[str, ...] = ()
    data: Path | None = None
    devices: int = 0


def fits(game: Game) -> bool:
    """Whether a game is learned by PPO: search cannot look through secrets or see simultaneous moves.

    Nor can it look far where a turn is a chain of tokens.
    """
    hidden = game.spec.information == "imperfect" or game.spec.dynamics == "simultaneous"
    return hidden or FAMILIES.get(game.spec.name) == "tokens"


def train(asked: Training) -> int:
    """Learn until done or stopped, then rate and report."""
    began = time.monotonic()
    use_compile_cache()
    name, options = split_choice(asked.game)
    preset = ppo_preset(asked.preset, FAMILIES.get(name, "boards"))
    title = asked.game if options else f"{name}:{preset.board}"
    game = make_game(title)
    senses = senses_for(game)
    folder = asked.out or Path("runs") / f"{game.spec.name}-{asked.preset}"
    known = {row.name for row in agents_for(game)}
    begun = asked.start or asked.teachers or asked.data
    lessons = preset.lessons if not begun and known.issuperset(preset.teachers) else 0
    config: PPOConfig | CloningConfig
    learner: Any
    if asked.teachers or asked.data:
        config = configured(cloning_config(preset.config), asked.set)
        source = source_of(game, senses, asked.teachers, asked.data, preset.config, asked.seed)
        learner = Cloning(senses, source, config, first_weights(asked.start, senses, config))
        moves = "the games of " + (" and ".join(asked.teachers) or str(asked.data))
    else:
        config = configured(preset.config, asked.set)
        first = first_weights(asked.start, senses, config)
        if lessons and not underway(folder, asked.resume):
            first = taught(asked, preset, config, game, senses, folder / "lessons")
            if first is None:
                log.print("Stopped in the lessons before self-play; the same command with --resume goes on.")
                if asked.json:
                    print_json({"game": game.spec.title, "done": False, "iterations": 0})
                return 0
        learner = PPO(game, senses, config, first, mesh_of(asked.devices), partners=partners_of(config, game))
        moves = f"{config.steps} turns in {config.games} games side by side"
    log.print(
        f"Training {game.spec.title}, preset {asked.preset}: {config.iterations} iterations of {moves}. "
        "The first minutes go into compiling."
    )
    described = {
        **asdict(config),
        "game": game.spec.title,
        "start": asked.start.name if asked.start else None,
        "teachers": list(asked.teachers),
        "lessons": lessons or None,
        "data": asked.data.name if asked.data else None,
    }
    settings = Run(
        folder, asked.seed, asked.resume, save_every=25, evaluate_every=preset.evaluate,
        minutes=asked.minutes and max(asked.minutes - (time.monotonic() - began) / 60, 0.01),
    )  # fmt: skip
    state, done = run(
        learner,
        settings,
        described,
        evaluate=climbing(game, senses, preset),
        say=lambda line: log.print(line, highlight=False),
    )
    if not writes():
        return 0
    weights = folder / "weights.safetensors"
    network = learner.network(state)
    summary: dict[str, Any] = {
        "iterations": learner.iteration(state),
        "preset": asked.preset,
        "seed": asked.seed,
        "parameters": parameters(network),
    }
    if isinstance(config, PPOConfig):
        summary["turns"] = summary["iterations"] * config.games * config.steps
    if asked.teachers:
        summary["teachers"] = list(asked.teachers)
    save_policy(weights, network, config.network, senses, summary)
    rating = rated(asked, title, game, weights, folder) if done and asked.rate else None
    report = reported(folder, game, config, summary, rating)
    if asked.json:
        told: dict[str, Any] = {"game": game.spec.title, "done": done, **summary}
        told |= {"weights": str(weights), "report": str(report)}
        print_json(told | ({"rating": rating.as_json()} if rating else {}))
        return 0
    if not done:
        log.print(f"Stopped at iteration {summary['iterations']}; the same command with --resume goes on.")
    out.print(f"Report: {report}")
    out.print(
        f"Watch it: stratagem match {title} policy:weights={weights} {RATED.get(name, ('random',))[-1]}"
    )
    return 0


def underway(folder: Path, resume: bool) -> bool:
    """Whether self-play has begun in this folder and is to go on."""
    return resume and any((folder / "checkpoints").glob("*.safetensors"))


def taught(asked: Training, preset: Preset, config: PPOConfig, game: Game, senses: Any, folder: Path) -> Any:
    """The network after the lessons of a preset, which have a folder of their own; None if they were stopped."""
    lessons = replace(cloning_config(config), iterations=preset.lessons)
    source = source_of(game, senses, preset.teachers, None, config, asked.seed)
    learner = Cloning(senses, source, lessons)
    log.print(
        f"First {preset.lessons} lessons from the games of {' and '.join(preset.teachers)}, then self-play."
    )
    settings = Run(folder, asked.seed, asked.resume, save_every=25, minutes=asked.minutes)
    described = {**asdict(lessons), "game": game.spec.title, "teachers": list(preset.teachers)}
    state, done = run(learner, settings, described, say=lambda line: log.print(line, highlight=False))
    return learner.network(state) if done else None


Config = TypeVar("Config", PPOConfig, CloningConfig)


def configured(config: Config, changes: tuple[str, ...]) -> Config:
    """A preset's settings with some changed."""
    options = dict(part.partition("=")[::2] for part in changes)
    kind = type(config)
    return replace(config, **read_options("PPO" if kind is PPOConfig else "cloning", kind, options))


def first_weights(start: Path | None, senses: Any, config: PPOConfig | CloningConfig) -> Any:
    """The weights to begin with, which may come from a smaller board; None for fresh ones."""
    if start is None:
        return None
    found, wanted = str(read_facts(start).get("network")), full_choice(config.network, senses.game)
    if not same_weights(found, wanted):
        raise BadOption(f"{start} holds {found}, not {wanted}; begin with --set network={found}")
    return worked_out_as(load_policy(start, senses), config.network, senses)


def partners_of(config: PPOConfig, game: Game) -> list[Any]:
    """The agents that a config names for sparring."""
    agents = [make_agent(name, game) for name in config.sparring.split("+") if name]
    for agent in agents:
        if not agent.traceable:
            raise BadOption(f"sparring: {config.sparring!r} cannot be compiled; see stratagem games")
    return agents


def climbing(game: Game, senses: Any, preset: Preset) -> Any:
    """The matches on the way."""
    rivals: dict[str, Any] = {name: make_agent(name, game) for name in preset.rivals}
    return ladder(game, senses, rivals, preset.games, heat=1.0)


def rated(asked: Training, title: str, game: Game, weights: Path, folder: Path) -> Any:
    """The standing after games of everyone against everyone."""
    from stratagem.arena.report import standing
    from stratagem.arena.report import write_report as write_rating
    from stratagem.arena.tournament import Tournament, run_tournament
    from stratagem.cli.tournament import print_table

    entrants = (f"policy:weights={weights}", *RATED.get(game.spec.name, ("random",)))
    tournament = Tournament(title, entrants, asked.rate, asked.seed)
    results_log = folder / "rating" / "results.jsonl"
    results_log.unlink(missing_ok=True)
    with progress_bar("rating games") as update:
        results = run_tournament(tournament, results_log, workers=1, progress=update)
    outcome = standing(tournament, results, "random")
    write_rating(outcome, folder / "rating")
    if not asked.json:
        print_table(outcome)
    return outcome


def reported(
    folder: Path, game: Game, config: PPOConfig | CloningConfig, summary: Mapping[str, Any], rating: Any
) -> Path:
    """The report of the run so far."""
    facts = {
        "preset": summary["preset"],
        "network": f"`{config.network}`, {summary['parameters']:,} numbers",
        "iterations": summary["iterations"],
        **({"turns": f"{summary['turns']:,}"} if "turns" in summary else {}),
        "seed": summary["seed"],
        "ruleset": f"`{game.spec.ruleset}`",
    }
    told = "[rating/report.md](rating/report.md)" if rating else ""
    rows = recover_lines(folder / "metrics.jsonl")
    return write_report(folder, f"Training of {game.spec.title}", facts, rows, {}, told)
