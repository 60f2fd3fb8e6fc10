"""Settings of PPO for games whose decisions are tokens: many decisions a turn, on maps of several sizes."""

from dataclasses import replace

from stratagem.learners.ppo import PPOConfig
from stratagem.learners.ppo_preset import Preset

SMALL = "hierarchical:width=64,piece_width=32,heads=4,feed=2,depth=1,memory=8,bins=32"
TOKEN_PRESETS: dict[str, Preset] = {
    # Seconds, besides compiling: that everything works.
    "smoke": Preset(
        board="scenario=iberia-small",
        config=PPOConfig(
            network="hierarchical:width=16,piece_width=8,heads=2,feed=1,depth=1,memory=4,bins=8",
            games=8,
            steps=16,
            minibatch=32,
            shaping=0.5,
            shaping_until=2,
            rate_high=1e-3,
            average=0.9,
            iterations=4,
        ),
        rivals=("random",),
        games=4,
        evaluate=4,
    ),
    # Some forty minutes on two cores: lessons first, then self-play.
    "laptop": Preset(
        board="scenario=iberia-small",
        config=PPOConfig(
            network=SMALL,
            games=128,
            steps=64,
            trace=0.95,
            top=0.5,
            normalise=True,
            minibatch=512,
            gradient=0.5,
            rate=0.3,
            rate_power=1.0,
            rate_low=5e-5,
            rate_high=4e-4,
            entropy=0.012,
            entropy_power=0.2,
            average=0.99,
            iterations=400,
        ),
        rivals=("random", "naive"),
        games=64,
        evaluate=100,
        teachers=("historical",),
        lessons=80,
    ),
    # One H200: four minutes on the small map and eight on the medium one, by --minutes and --resume.
    "gpu": Preset(
        board="scenario=iberia-small",
        config=PPOConfig(
            network=SMALL,
            games=4096,
            steps=64,
            trace=0.95,
            sparring="historical",
            sparring_share=0.5,
            top=0.5,
            normalise=True,
            minibatch=2048,
            gradient=0.5,
            rate=0.06,
            rate_power=1.0,
            rate_low=3e-5,
            rate_high=4e-4,
            entropy=0.02,
            entropy_power=0.0,
            average=0.998,
            precision="bfloat16",
            iterations=3000,
        ),
        rivals=("historical",),
        games=256,
        evaluate=100,
    ),
}
# The full map for four, begun with what was learned on smaller ones: --start FILE. Who hardly ever wins learns from
# shaping, and from how much it has won.
TOKEN_PRESETS["best"] = Preset(
    board="scenario=hispania",
    config=replace(
        TOKEN_PRESETS["gpu"].config,
        games=2048,
        scatter=20,
        sparring_share=0.8,
        shaping=0.8,
        shaping_until=200,
        margin=0.8,
        top=0.7,
        epochs=2,
        rate=0.1,
        rate_high=3e-4,
        entropy=0.005,
        iterations=1000,
    ),
    rivals=("historical",),
    games=64,
    evaluate=100,
)
TOKEN_PRESETS["quick"] = TOKEN_PRESETS["laptop"]
