"""Trains the networks that play Generals and Hispania, stage by stage, on a machine with an accelerator:

    python docs/make_policies.py --stage clone --minutes 9 --out OUT
    python docs/make_policies.py --stage small --start OUT/clone.safetensors --minutes 9 --out OUT
    python docs/make_policies.py --stage small --resume --minutes 9 --out OUT
    python docs/make_policies.py --stage middle --start OUT/small.safetensors --minutes 9 --out OUT
    python docs/make_policies.py --stage large --start OUT/middle.safetensors --minutes 9 --out OUT

A stage is a board or a map. For Generals: first the moves of teachers on 8 to 12 a side, then self-play there, on 12 to
15, on 18 to 24, with one network. For Hispania: iberia-small, iberia-medium, hispania-clone (the moves of `historical`
on the full map), hispania, and iberia-flat, a plain network on the small map to compare with. OUT gets the weights
(bfloat16) and metrics of the stage as it goes, and a snapshot every few minutes for the rating curve
(benchmarks/ppo_curve.py). On the same machine `--resume` goes on exactly where the stage was left; on another one
`--start` with the weights of the same stage goes on with its schedules, in new games and with Adam anew. What was
spent before is read from the file and added up in the next one. Settings: `--set rate_high=1e-4 games=1024`.
"""

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

from stratagem.agents.senses import senses_for
from stratagem.cli.train_cloning import cloning_config, source_of
from stratagem.cli.train_ppo import FAMILIES, climbing, configured, first_weights, partners_of
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.files import read_json, recover_lines, write_json
from stratagem.games import make_game
from stratagem.learners.cloning import Cloning
from stratagem.learners.mesh import mesh_of
from stratagem.learners.ppo import PPO, PPOConfig
from stratagem.learners.ppo_presets import BOARDS, ppo_preset
from stratagem.learners.run import Run, run
from stratagem.networks import make_network, parameters
from stratagem.networks.weights import save_policy, weight_facts

SAVING = 30.0  # seconds kept for the last checkpoint
STORED = "bfloat16"
LARGEST = 16 * 2**20  # bytes of a weight file, so that it can travel
LOOK = 10  # iterations between two looks at the clock
KEEP = 60.0  # seconds between two weight files


@dataclass(frozen=True)
class Stage:
    """One part of the plan."""

    game: str
    set: tuple[str, ...] = ()
    """Settings that differ from the preset's."""
    teachers: tuple[str, ...] = ()
    """Whose moves are learned; nobody's in self-play."""
    preset: str = "gpu"


def generals(board: str) -> str:
    return f"generals:{BOARDS[board]}"


SPARRING = ("sparring=hunter+cascade", "sparring_share=0.5")
# On a larger board the policy is no beginner: its entropy goes on where it was, and does not start anew.
GROWN = ("shaping=0", "rate_high=1e-4", "entropy=0.012", "entropy_power=0", *SPARRING)
SMALL, MEDIUM, FULL = (f"hispania:scenario={name}" for name in ("iberia-small", "iberia-medium", "hispania"))
STAGES = {
    "clone": Stage(generals("8-12"), ("iterations=150",), ("hunter", "cascade")),
    "small": Stage(generals("8-12"), ("shaping=0", *SPARRING)),
    "middle": Stage(generals("12-15"), GROWN),
    "large": Stage(
        generals("18-24"),
        (
            *GROWN,
            "games=1024",
            "steps=256",
            "rate=0.02",
            "sparring=hunter+hunter+cascade",
            "sparring_share=0.6",
        ),
    ),
    "iberia-small": Stage(SMALL),
    "iberia-flat": Stage(SMALL, ("network=flat:width=384,depth=3",)),
    "iberia-medium": Stage(MEDIUM, ("rate_high=3e-4",)),
    "hispania-clone": Stage(FULL, ("iterations=40", "share=0.5"), ("historical",), preset="best"),
    "hispania": Stage(FULL, preset="best"),
}


def main() -> None:
    began = time.monotonic()
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--stage", choices=STAGES, required=True)
    asked.add_argument("--minutes", type=float, default=9.0, help="of this command")
    asked.add_argument("--start", type=Path, help="weights to begin with")
    asked.add_argument("--resume", action="store_true", help="go on with the stage in the folder of runs")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--runs", type=Path, default=Path("runs/make_policies"))
    asked.add_argument("--preset", help="instead of that of the stage")
    asked.add_argument("--set", nargs="*", default=[], help="name=value of the settings")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--snapshots", type=float, default=3.0, help="minutes between snapshots; 0 for none")
    asked.add_argument(
        "--evaluate",
        type=int,
        default=0,
        help="iterations between matches, which take minutes to compile; 0 for none",
    )
    words = asked.parse_args()
    use_compile_cache()
    words.out.mkdir(parents=True, exist_ok=True)
    tell(device=jax.devices()[0].device_kind, jax=jax.__version__, stage=words.stage)
    stage = STAGES[words.stage]
    game = make_game(stage.game)
    preset = ppo_preset(words.preset or stage.preset, FAMILIES.get(game.spec.name, "boards"))
    senses = senses_for(game)
    learner = learner_of(stage, words, preset, game, senses)
    keeper = Keeper(words, learner.config, senses)
    matches = climbing(game, senses, preset) if words.evaluate else None

    def look(network: Any, iteration: int) -> dict[str, float]:
        keeper.look(network, iteration)
        due = matches and iteration % words.evaluate == 0
        return matches(network, iteration) if due else {}

    left = words.minutes - (time.monotonic() - began + SAVING) / 60
    settings = Run(keeper.folder, words.seed, words.resume, save_every=100, evaluate_every=LOOK, minutes=left)
    described = {**asdict(learner.config), "game": game.spec.title, "stage": words.stage}
    state, done = run(learner, settings, described, evaluate=look)
    summary = keeper.write(learner.network(state), learner.iteration(state))
    tell(done=done, **summary, seconds=time.monotonic() - began)


def learner_of(stage, words, preset, game, senses):
    """PPO or cloning, with the settings of the stage and those that were asked for."""
    changes = (*stage.set, *words.set)
    if stage.teachers:
        config = configured(cloning_config(preset.config), changes)
        fits(config, senses)
        source = source_of(game, senses, stage.teachers, None, preset.config, words.seed)
        return Cloning(senses, source, config, first_weights(words.start, senses, config))
    config = configured(preset.config, changes)
    fits(config, senses)
    first = first_weights(words.start, senses, config)
    partners = partners_of(config, game)
    return PPO(game, senses, config, first, mesh_of(0), begun(words.start, words.stage), partners)


def fits(config, senses):
    """Refuses a network whose file could not travel, before any time is spent on it."""
    shapes = jax.eval_shape(lambda: make_network(config.network, senses, jax.random.key(0)))
    size = 2 * sum(leaf.size for leaf in jax.tree.leaves(shapes))
    if size > LARGEST:
        sys.exit(
            f"{config.network} would make files of {size:,} bytes, more than {LARGEST:,}; take a smaller one"
        )


def begun(start, stage):
    """The iterations of this stage that the weights to begin with have behind them."""
    spent = weight_facts(start)["summary"].get("spent", {}) if start else {}
    return spent.get(stage, {}).get("iterations", 0)


class Keeper:
    """Writes weights, metrics and snapshots of a stage, each with all that was spent on it."""

    def __init__(self, words, config, senses):
        self.stage, self.out, self.every = words.stage, words.out, 60 * words.snapshots
        self.folder = words.runs / words.stage
        self.config, self.senses = config, senses
        noted = self.folder / "before.json"  # so that a resumed run knows it too
        if words.start and not (words.resume and noted.exists()):
            write_json(noted, weight_facts(words.start)["summary"])
        self.before = read_json(noted) if noted.exists() else {}
        self.written = self.snapped = time.monotonic()

    def look(self, network, iteration):
        """Now and then the weights, and more rarely a snapshot that stays."""
        now = time.monotonic()
        if self.every and now - self.snapped > self.every:
            self.snapped = now
            minutes = self.summary(network, iteration)["minutes"]
            self.save(f"at-{round(10 * minutes):05d}-{self.stage}.safetensors", network, iteration)
        if now - self.written > KEEP:
            self.written = now
            self.write(network, iteration)

    def write(self, network, iteration):
        """The weights and metrics of the stage so far; returns the summary."""
        if (self.folder / "metrics.jsonl").exists():
            shutil.copy(self.folder / "metrics.jsonl", self.out / f"{self.stage}-metrics.jsonl")
        return self.save(f"{self.stage}.safetensors", network, iteration)

    def save(self, name, network, iteration):
        summary = self.summary(network, iteration)
        save_policy(self.out / name, network, self.config.network, self.senses, summary, STORED)
        return summary

    def summary(self, network, iteration):
        """What the file says of its training: this stage and all before it, in minutes of the device."""
        earlier = self.before.get("spent", {})
        same = earlier.get(self.stage, {"minutes": 0.0, "turns": 0, "iterations": 0})
        rows = recover_lines(self.folder / "metrics.jsonl")
        turns = 0
        if isinstance(self.config, PPOConfig):
            turns = (iteration - same["iterations"]) * self.config.games * self.config.steps
        now = {
            "minutes": round(same["minutes"] + sum(row["seconds"] for row in rows) / 60, 2),
            "turns": same["turns"] + turns,
            "iterations": iteration,
            "config": asdict(self.config),
        }
        spent = {**earlier, self.stage: now}
        return {
            "stage": self.stage,
            "iterations": iteration,
            "minutes": round(sum(part["minutes"] for part in spent.values()), 2),
            "turns": sum(part["turns"] for part in spent.values()),
            "parameters": parameters(network),
            "device": jax.devices()[0].device_kind,
            "spent": spent,
        }


def tell(**facts) -> None:
    print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
