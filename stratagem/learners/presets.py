"""Settings that were found to work, by what one has to spend."""

from dataclasses import replace

from stratagem.learners.alphazero import AlphaZeroConfig

PRESETS: dict[str, AlphaZeroConfig] = {
    # About five minutes on two cores.
    "quick": AlphaZeroConfig(
        network="global:channels=32,blocks=3",
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
        iterations=60,
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
