"""Settings that were found to work, by what one has to spend."""

from dataclasses import replace

from stratagem.core.errors import UnknownName
from stratagem.core.game import Game, Listing
from stratagem.learners.alphazero import AlphaZeroConfig

# For games with an action for each cell.
PRESETS: dict[str, AlphaZeroConfig] = {
    # About five minutes on two cores.
    "quick": AlphaZeroConfig(
        network="global:channels=16,blocks=3",
        lanes=128,
        steps=25,
        simulations=16,
        considered=8,
        opening_plies=6,
        opening_share=0.5,
        trust=0.25,
        kept=15,
        updates=50,
        batch=256,
        rate=3e-3,
        average=0.98,
        iterations=110,
    ),
    # The paper's numbers: 100 games an iteration, 30 iterations, 100 playouts, ten epochs of batches of 64.
    # 100 lanes of 18 moves are about 100 games, so ten epochs are about 280 batches.
    "paper": AlphaZeroConfig(
        network="paper",
        lanes=100,
        steps=18,
        search="puct",
        simulations=100,
        exploration=1.0,
        noise=0.0,
        kept=1,
        updates=280,
        batch=64,
        rate=1e-3,
        rate_end=1.0,
        clip=1e9,
        average=0.0,
        iterations=30,
    ),
}

# An H200: thousands of lanes keep it busy.
PRESETS["gpu"] = AlphaZeroConfig(
    network="global:channels=96,blocks=6",
    lanes=4096,
    steps=16,
    simulations=64,
    considered=16,
    opening_plies=16,
    opening_share=0.5,
    trust=0.3,
    kept=24,
    updates=64,
    batch=4096,
    rate=2e-3,
    average=0.995,
    precision="bfloat16",
    iterations=400,
)

# The same search and network on whatever there is, with patience.
PRESETS["best"] = replace(
    PRESETS["gpu"], lanes=512, batch=1024, updates=48, average=0.99, precision="float32", iterations=1000
)

# For games that list their few legal actions among thousands, and take a hundred turns or more.
LISTING_PRESETS: dict[str, AlphaZeroConfig] = {
    # Ten to fifteen minutes on two cores.
    "quick": AlphaZeroConfig(
        network="from-to:channels=24,blocks=3,width=16",
        lanes=128,
        steps=16,
        simulations=12,
        considered=8,
        breadth=48,
        opening_plies=40,
        opening_share=0.5,
        trust=0.3,
        horizon=48,
        kept=12,
        updates=24,
        batch=256,
        rate=4e-3,
        average=0.98,
        iterations=120,
    ),
    # The seed's numbers: 32 games an iteration, 100 simulations, a buffer of 20 iterations, three epochs over it in
    # batches of 32, a match of 20 games at 0.55. 32 lanes of 100 moves are about 32 games, so three epochs are 6,000
    # batches.
    "seed": AlphaZeroConfig(
        network="classic:channels=196,blocks=7,planes=9",
        lanes=32,
        steps=100,
        search="puct",
        simulations=100,
        breadth=256,
        exploration=1.0,
        noise=0.0,
        hot_moves=10,
        cold=0.1,
        kept=20,
        updates=6000,
        batch=32,
        rate=5e-4,
        rate_end=1.0,
        clip=1e9,
        average=0.0,
        symmetries=False,
        gate=True,
        gate_share=0.55,
        gate_games=20,
        iterations=100,
    ),
    # An H200, 15 to 20 minutes.
    "gpu": AlphaZeroConfig(
        network="from-to:channels=64,blocks=6,width=32",
        lanes=4096,
        steps=16,
        simulations=48,
        considered=16,
        breadth=64,
        opening_plies=60,
        opening_share=0.5,
        trust=0.3,
        horizon=64,
        kept=16,
        updates=64,
        batch=4096,
        rate=2e-3,
        average=0.995,
        precision="bfloat16",
        iterations=200,
    ),
}


def preset(name: str, game: Game) -> AlphaZeroConfig:
    """The settings of this name that fit this game."""
    fitting = LISTING_PRESETS if isinstance(game, Listing) else PRESETS
    if name not in fitting:
        raise UnknownName(f"{game.spec.name} has no preset {name!r}; there is {', '.join(fitting)}")
    return fitting[name]
