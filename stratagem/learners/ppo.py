"""PPO self-play, for any game: alternating or simultaneous, with secrets and chance. One iteration is one program.

All seats are played by the same network from their own views and memories, and all learn; with a pool, half of them are
played by its earlier versions. An iteration is a rollout, advantages seat by seat, a filter that keeps the decisions
that mattered, one pass of updates, and a moving average of the weights, which is what plays in the end.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array, lax
from jax.sharding import Mesh

from stratagem.core.errors import BadOption, Unsupported
from stratagem.core.game import Game
from stratagem.learners.guests import Guest, partners_at
from stratagem.learners.mesh import by_games, divided, everywhere, spread_rows
from stratagem.learners.pool import Pool, new_pool, play_pool, renewed, seat_at, share_of
from stratagem.learners.ppo_rollout import (
    Goal,
    Lanes,
    Potential,
    Turn,
    restock,
    rewarding,
    rollout,
    scattered,
    start_lanes,
)
from stratagem.learners.ppo_update import (
    Sample,
    Weights,
    advantages_of,
    batch_loss,
    filtered,
    samples_at,
)
from stratagem.learners.whole_state import WholeState, numbers
from stratagem.networks import cast, make_network
from stratagem.networks.senses import Senses


@dataclass(frozen=True)
class PPOConfig:
    """How PPO plays and learns. As it stands, the published recipe for Generals."""

    network: str = "patch"
    """The network, with its sizes: patch, unet or mlp; see docs/ppo.md."""
    games: int = 512
    """Games played side by side."""
    steps: int = 512
    """Turns collected from each game before the updates of an iteration."""
    stock: int = 0
    """First positions made in advance, for games that are slow to set up; 0 makes each when it is needed."""
    restock: int = 64
    """How many of them are made anew in each iteration."""
    scatter: int = 0
    """Iterations before learning in which lanes begin one after another, so that long games differ in age.
    (Lessons go on meanwhile.)"""
    discount: float = 1.0
    """Gamma: what a result is worth one decision earlier."""
    trace: float = 0.9
    """Lambda: how far advantages look past the next decision."""
    cut_is_draw: bool = False
    """A game that reaches its limit of turns counts as drawn; else what would have come is left to the value."""
    shaping: float = 0.0
    """Share of the gain in potential that is added to the reward."""
    shaping_until: int = 0
    """The iteration by which that share has fallen to nothing; 0 if it stays."""
    margin: float = 0.0
    """Part of the result that is not who won but by how much, in games that tell."""
    pool: int = 0
    """Earlier versions of the network to play against, instead of playing against itself; 0 for none."""
    pool_wins: float = 0.6
    """The share of points against them at which a copy of the network takes the place of the oldest."""
    pool_games: int = 100
    """Games against each that this takes at least."""
    chunk: int = 200
    """Turns for which all games have the same opponent of the pool."""
    sparring: str = ""
    """Players who sit opposite in some of the games, `hunter+cascade`; nobody learns from their moves."""
    sparring_share: float = 0.25
    """Of the games, equally for each of them."""
    top: float = 0.25
    """The share of decisions, by size of advantage, that is learned from."""
    normalise: bool = False
    """Advantages are divided by their root mean square."""
    minibatch: int = 1024
    """Decisions a gradient step."""
    epochs: int = 1
    """How often each decision is learned from."""
    clip: float = 0.2
    """How far a probability may move, as a share of itself, before it brings no more."""
    value_weight: float = 0.5
    """Of the value's loss beside the policy's."""
    sigma: float = 0.04
    """Width of the bell curve around a value to learn."""
    gradient: float = 0.267
    """Largest norm of a gradient."""
    rate: float = 0.5
    """Learning rate of Adam: rate · (t + 1)^−rate_power, kept between rate_low and rate_high."""
    rate_power: float = 1.1
    rate_low: float = 5e-6
    rate_high: float = 1e-4
    entropy: float = 0.05
    """Worth of an undecided policy: entropy · (t + 1)^−entropy_power."""
    entropy_power: float = 0.2
    average: float = 0.999
    """Decay, at each gradient step, of the moving average of the weights; the average is what plays."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the network's arithmetic; weights stay in float32."""
    iterations: int = 30_000
    """How many times all this is done."""

    def __post_init__(self) -> None:
        for name in ("top", "sparring_share"):
            if not 0 < getattr(self, name) <= 1:
                raise BadOption(f"PPO: {name} is a share above 0 and up to 1, not {getattr(self, name)}")
        if not 0 <= self.margin <= 1:
            raise BadOption(f"PPO: margin is a part from 0 to 1, not {self.margin}")
        if self.pool and self.sparring:
            raise BadOption("PPO: a pool or sparring, not both at once")
        if self.scatter < 0:
            raise BadOption(f"PPO: scatter is a number of iterations, not {self.scatter}")
        for name in ("games", "steps", "minibatch", "epochs", "iterations", "chunk", "pool_games"):
            if getattr(self, name) < 1:
                raise BadOption(f"PPO: {name} is at least 1, not {getattr(self, name)}")

    def rate_at(self, iteration: Array) -> Array:
        falling = self.rate * (iteration + 1.0) ** -self.rate_power
        return jnp.clip(falling, self.rate_low, self.rate_high)

    def entropy_at(self, iteration: Array) -> Array:
        return self.entropy * (iteration + 1.0) ** -self.entropy_power

    def shaping_at(self, iteration: Array) -> Array:
        left = 1 - iteration / self.shaping_until if self.shaping_until else 1.0
        return self.shaping * jnp.maximum(left, 0.0)

    def batches(self, game: Game) -> tuple[int, int]:
        """(Gradient steps an epoch, decisions in each)."""
        movers = game.spec.seats if game.spec.dynamics == "simultaneous" else 1
        others = 1.0 if self.pool else self.sparring_share if self.sparring else 0.0  # games with guests
        learners = 1 - others * (game.spec.seats - 1) / game.spec.seats
        kept = max(1, round(self.top * self.games * self.steps * movers * learners))
        size = min(self.minibatch, kept)
        return kept // size, size


class Learned(NamedTuple):
    """All that must survive a kill."""

    iteration: Array  # int32: iterations done
    updates: Array  # int32: gradient steps done
    key: Array
    network: Any
    optimiser: Any
    average: Any  # the moving average, which plays
    lanes: Lanes
    pool: Pool | None = None


class PPO(WholeState):
    """The learner. `senses` says how a player of this game sees it; `first` are weights to begin with.

    If those have iterations of the same plan behind them, `begun` says how many: schedules go on from there.
    `partners` are the agents that the config names for sparring.
    With a mesh, its games are spread over the devices.
    """

    def __init__(
        self,
        game: Game,
        senses: Senses,
        config: PPOConfig,
        first: Any = None,
        mesh: Mesh | None = None,
        begun: int = 0,
        partners: Sequence[Any] = (),
    ):
        self.game, self.senses, self.config, self._first, self._begun = game, senses, config, first, begun
        potential, goal = potential_of(senses, config), goal_of(senses, config)
        if bool(partners) != bool(config.sparring):
            raise BadOption(
                f"PPO: sparring is {config.sparring!r}, and {len(partners)} partners came: name them and bring them"
            )
        guests = partners_at(game, partners, round(config.sparring_share * config.games)) if partners else []
        self._start = functools.partial(start_learning, game, senses, config, guests)
        step = functools.partial(iterate, game, senses, config, potential, goal, mesh, guests, begun)
        if mesh is None:
            self._layout = None
            self._begin, self._iterate = jax.jit(self._start), jax.jit(step)
        else:
            divided(mesh, games=config.games, minibatch=config.batches(game)[1])
            for guest in guests:
                divided(mesh, sparring=len(guest.lanes))
            self._layout = layout(jax.eval_shape(self._start, jax.random.key(0)), mesh)
            self._begin = jax.jit(self._start, out_shardings=self._layout)
            self._iterate = jax.jit(step, out_shardings=(self._layout, everywhere(mesh)))

    def start(self, key: Array) -> Learned:
        """The state before the first iteration; same key, same run."""
        learned = self._begin(key)
        if self._first is not None:
            pool = new_pool(self._first, self.config.pool) if self.config.pool else None
            updates = self._begun * self.config.epochs * self.config.batches(self.game)[0]
            learned = self.placed(
                learned._replace(
                    iteration=jnp.int32(self._begun),
                    updates=jnp.int32(updates),
                    network=self._first,
                    average=self._first,
                    pool=pool,
                )
            )
        return learned

    def iterate(self, state: Learned) -> tuple[Learned, Mapping[str, float]]:
        """One iteration: (the state after it, numbers to log)."""
        state, metrics = self._iterate(state)
        return state, numbers(metrics)

    def placed(self, state: Learned) -> Learned:
        return state if self._layout is None else jax.device_put(state, self._layout)


def layout(state: Learned, mesh: Mesh) -> Any:
    """Where the parts of a state live: games where they are played, all else everywhere."""
    places = jax.tree.map(lambda leaf: everywhere(mesh), state)
    lanes = jax.tree.map(lambda leaf: by_games(mesh), state.lanes)
    return places._replace(lanes=lanes._replace(stock=places.lanes.stock))


def potential_of(senses: Any, config: PPOConfig) -> Potential | None:
    """What shaping goes by, if there is shaping."""
    if not config.shaping:
        return None
    if not hasattr(senses, "potential"):
        raise Unsupported(f"{senses.spec.name} has no potential to shape rewards with; try --set shaping=0")
    return senses.potential


def goal_of(senses: Any, config: PPOConfig) -> Goal | None:
    """By how much a game was won, if that counts."""
    if not config.margin:
        return None
    if not hasattr(senses, "margin"):
        raise Unsupported(f"{senses.spec.name} does not tell by how much a game was won; try --set margin=0")
    return Goal(senses.margin, config.margin)


def start_learning(
    game: Game, senses: Senses, config: PPOConfig, guests: Sequence[Guest], key: Array
) -> Learned:
    """Before the first iteration."""
    run_key, network_key, lane_key = jax.random.split(key, 3)
    network = make_network(config.network, senses, network_key)  # type: ignore[arg-type]
    guests = [seat_at(game, senses, network, config.games)] if config.pool else guests
    return Learned(
        iteration=jnp.int32(0),
        updates=jnp.int32(0),
        key=run_key,
        network=network,
        optimiser=optimiser(config).init(network),
        average=network,
        lanes=start_lanes(game, senses, config.games, config.stock, lane_key, guests),
        pool=new_pool(network, config.pool) if config.pool else None,
    )


def optimiser(config: PPOConfig) -> optax.GradientTransformation:
    """Adam without its rate, which depends on the iteration."""
    return optax.chain(optax.clip_by_global_norm(config.gradient), optax.scale_by_adam(eps=1e-5))


def iterate(
    game: Game,
    senses: Senses,
    config: PPOConfig,
    potential: Potential | None,
    goal: Goal | None,
    mesh: Mesh | None,
    guests: Sequence[Guest],
    begun: int,
    learned: Learned,
) -> tuple[Learned, dict[str, Array]]:
    """One iteration, from games to weights."""
    key, stock_key, play_key, learn_key = jax.random.split(learned.key, 4)
    lanes = restock(game, learned.lanes, config.restock, stock_key)
    age = learned.iteration - begun
    if config.scatter:
        seated = [seat_at(game, senses, learned.network, config.games)] if config.pool else guests
        lanes = scattered(game, senses, lanes, seated, age, config.scatter, jax.random.fold_in(stock_key, 0))
    resting = age < config.scatter
    player = cast(learned.network, jnp.dtype(config.precision))
    reward = rewarding(game, potential, config.shaping_at(learned.iteration), goal)
    if learned.pool is None:
        lanes, turns = rollout(game, senses, player, lanes, config.steps, reward, play_key, guests)
        learned, losses = learn(game, senses, config, learned, turns, learn_key, mesh, resting)
        learned = learned._replace(iteration=learned.iteration + 1, key=key, lanes=lanes)
        return learned, losses | told(turns) | sparred(game, guests, turns)

    def play(lanes: Lanes, steps: int, key: Array, guest: Guest) -> tuple[Lanes, Turn]:
        return rollout(game, senses, player, lanes, steps, reward, key, [guest])

    pool, lanes, turns = play_pool(
        game, senses, learned.pool, lanes, config.steps, config.chunk, play, play_key
    )
    learned, losses = learn(game, senses, config, learned, turns, learn_key, mesh, resting)
    share = share_of(pool)
    pool = renewed(pool, learned.network, config.pool_wins, config.pool_games)
    learned = learned._replace(iteration=learned.iteration + 1, key=key, lanes=lanes, pool=pool)
    return learned, losses | told(turns) | {"against the pool": share, "joined": pool.joined}


def learn(
    game: Game,
    senses: Senses,
    config: PPOConfig,
    learned: Learned,
    turns: Turn,
    key: Array,
    mesh: Mesh | None = None,
    resting: Array | bool = False,
) -> tuple[Learned, dict[str, Array]]:
    """The updates of one iteration; at rest they change nothing but Adam's means."""
    advantage, known = advantages_of(turns, config.discount, config.trace, config.cut_is_draw)
    known &= jnp.logical_not(turns.led)
    target = turns.value + advantage
    count, size = config.batches(game)
    places = filtered(advantage, known, count * size)
    samples = samples_at(turns, advantage, target, known, places)
    if config.normalise:
        scale = jnp.sqrt((jnp.square(samples.advantage) * samples.weight).sum() / samples.weight.sum())
        samples = samples._replace(advantage=samples.advantage / (scale + 1e-6))
    weights = Weights(config.clip, config.value_weight, config.sigma, config.entropy_at(learned.iteration))
    rate = jnp.where(resting, 0.0, config.rate_at(learned.iteration))

    def update(learned: Learned, rows: Array) -> tuple[Learned, dict[str, Array]]:
        batch = spread_rows(jax.tree.map(lambda leaf: leaf[rows], samples), mesh)
        return one_update(senses, config, weights, rate, learned, batch)

    orders = jax.vmap(lambda one: jax.random.permutation(one, count * size))(
        jax.random.split(key, config.epochs)
    )
    learned, parts = lax.scan(update, learned, orders.reshape(config.epochs * count, size))
    means = jax.tree.map(jnp.mean, parts)
    spread_of = jnp.var(turns.value + advantage, where=known)
    return learned, means | {
        "explained": 1 - jnp.square(advantage).mean(where=known) / jnp.maximum(spread_of, 1e-6),
        "advantage": jnp.abs(samples.advantage).mean(),
        "rate": rate,
    }


def one_update(
    senses: Senses, config: PPOConfig, weights: Weights, rate: Array, learned: Learned, batch: Sample
) -> tuple[Learned, dict[str, Array]]:
    """One gradient step."""

    def loss(network: Any) -> tuple[Array, dict[str, Array]]:
        return batch_loss(cast(network, jnp.dtype(config.precision)), senses, weights, batch)

    (_, parts), gradients = jax.value_and_grad(loss, has_aux=True)(learned.network)
    changes, state = optimiser(config).update(gradients, learned.optimiser)
    network = jax.tree.map(lambda old, change: old - rate * change, learned.network, changes)
    # Early on a long average would hold what the network was before it knew anything.
    pace = jnp.minimum(config.average, (learned.updates + 1) / (learned.updates + 10))
    average = jax.tree.map(lambda old, new: pace * old + (1 - pace) * new, learned.average, network)
    learned = learned._replace(network=network, optimiser=state, average=average, updates=learned.updates + 1)
    return learned, parts | {"gradient": optax.tree.norm(gradients)}


def sparred(game: Game, guests: Sequence[Guest], turns: Turn) -> dict[str, Array]:
    """Points against each partner, of the games that ended with the learner in the first seat."""
    points = {}
    for number, guest in enumerate(guests):
        lanes = np.unique(guest.lanes)
        lanes = lanes[lanes % game.spec.seats == 0]
        done, first = turns.done[:, lanes], turns.first[:, lanes]
        share = jnp.where(done, (first + 1) / 2, 0.0).sum() / jnp.maximum(done.sum(), 1)
        points[f"against partner {number + 1}"] = share
    return points


def told(turns: Turn) -> dict[str, Array]:
    """What the games were like."""
    games = turns.done.sum()
    some = jnp.maximum(games, 1)
    decided = turns.done & (turns.first != 0) & turns.moved[..., 0]
    wrong = decided & (turns.value[..., 0] * turns.first < 0)  # until the last turn
    return {
        "games": games,
        "moves_a_game": jnp.where(turns.done, turns.length, 0).sum() / some,
        "undecided": turns.cut.sum() / some,
        "first_seat": jnp.where(turns.done, turns.first, 0).sum() / some,
        "upsets": wrong.sum() / jnp.maximum(decided.sum(), 1),
    }
