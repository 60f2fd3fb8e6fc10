"""Settings of PPO that were found to work, by what one has to spend, with the board that each is for."""

from collections.abc import Mapping

from stratagem.core.errors import UnknownName
from stratagem.learners.ppo import PPOConfig
from stratagem.learners.ppo_preset import Preset
from stratagem.learners.ppo_token_presets import TOKEN_PRESETS

# For games on boards of cells.
PRESETS: dict[str, Preset] = {
    # Seconds, besides compiling: that everything works.
    "smoke": Preset(
        board="width=6,height=6,cap=40,castles_from=0,castles_to=1,apart=3",
        config=PPOConfig(
            network="patch:depth=1,width=16,heads=2,feed=2,bins=16",
            games=8,
            steps=16,
            stock=16,
            restock=2,
            minibatch=32,
            rate_high=1e-3,
            average=0.9,
            iterations=4,
        ),
        rivals=("random",),
        games=4,
        evaluate=4,
    ),
    # About twenty minutes on two cores.
    "laptop": Preset(
        board="width=8,height=8,cap=200,castles_from=1,castles_to=3,apart=6",
        config=PPOConfig(
            network="patch:depth=2,width=64,heads=2,feed=2,margin=1",
            games=64,
            steps=64,
            stock=256,
            restock=16,
            shaping=1.0,
            shaping_until=600,
            normalise=True,
            minibatch=256,
            gradient=0.5,
            rate=0.5,
            rate_power=1.0,
            rate_high=5e-4,
            entropy=0.05,
            entropy_power=0.1,
            average=0.995,
            iterations=800,
        ),
        rivals=("expander",),
        games=48,
        evaluate=200,
        teachers=("hunter", "cascade"),
        lessons=500,
    ),
    # One H200 for 25 minutes, by --minutes 25: boards of 8 to 12, for strength and not for size.
    "gpu": Preset(
        board="width=12,height=12,least=8,cap=400,castles_from=2,castles_to=5,apart=8",
        config=PPOConfig(
            network="patch:depth=5,width=256,heads=8,feed=3,margin=1",
            games=2048,
            steps=128,
            stock=8192,
            restock=512,
            shaping=1.0,
            shaping_until=600,
            normalise=True,
            minibatch=2048,
            gradient=0.5,
            rate=0.1,
            rate_power=1.0,
            rate_low=1e-5,
            rate_high=3e-4,
            entropy=0.05,
            average=0.999,
            precision="bfloat16",
            iterations=4000,
        ),
        rivals=("expander", "hunter", "cascade"),
        games=128,
        evaluate=100,
    ),
    # The published recipe: a week of four H200s.
    "paper": Preset(
        board="width=24,height=24,least=18",
        config=PPOConfig(stock=8192, restock=256, precision="bfloat16"),
        rivals=("expander", "hunter", "cascade"),
        games=128,
        evaluate=200,
    ),
}
# What one network grows over, from small boards to those of the published agent.
BOARDS: dict[str, str] = {
    "8-12": PRESETS["gpu"].board,
    "12-15": "width=15,height=15,least=12,cap=600,castles_from=4,castles_to=7,apart=10",
    "18-24": PRESETS["paper"].board,
}
PRESETS["quick"] = PRESETS["laptop"]  # what `stratagem train` does unless told otherwise


FAMILIES: Mapping[str, Mapping[str, Preset]] = {"boards": PRESETS, "tokens": TOKEN_PRESETS}


def ppo_preset(name: str, family: str = "boards") -> Preset:
    """The settings of this name, for games of this family."""
    presets = FAMILIES[family]
    if name not in presets:
        raise UnknownName(f"PPO has no preset {name!r} for this game; there is {', '.join(presets)}")
    return presets[name]
