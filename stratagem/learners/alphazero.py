"""AlphaZero: play against yourself with search, learn what the search found and how the games ended, repeat.

One iteration is self-play in every game of the family, then updates; each is one compiled program, and nothing comes
back to the host in between. Several games (the sizes of one board game) share one network.
"""

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import Unsupported
from stratagem.core.game import Game, Listing, Roles, Symmetric
from stratagem.learners import buffer
from stratagem.learners.descent import STEADY, descend, optimiser
from stratagem.learners.gate import match
from stratagem.learners.selfplay import Lanes, Sample, Tally, self_play, start_lanes
from stratagem.networks import cast, make_network
from stratagem.networks.blocks import BATCH, Training
from stratagem.networks.outputs import evaluator, from_mover, listed_policy_loss, policy_loss, value_loss
from stratagem.networks.tensors import read_tree, write_tree
from stratagem.networks.tiles import for_batches
from stratagem.search import Gumbel, Puct, Rule, search
from stratagem.search.tree import check_searchable


@dataclass(frozen=True)
class AlphaZeroConfig:
    """How AlphaZero plays and learns."""

    network: str = "global"
    """The network, with its sizes: paper, classic or global; see docs/alphazero.md."""
    lanes: int = 256
    """Games played side by side."""
    steps: int = 16
    """Moves in every lane before the updates of an iteration."""
    search: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel needs fewer simulations; PUCT is what the papers used."""
    simulations: int = 32
    """Positions looked at for each move."""
    considered: int = 16
    """Gumbel: moves that the root looks at."""
    breadth: int = 0
    """Actions that a node looks at, its likeliest; 0 for all. Games with thousands need it."""
    exploration: float = 1.0
    """PUCT: c_puct."""
    noise: float = 0.25
    """PUCT: share of Dirichlet noise at the root."""
    alpha: float = 0.5
    """PUCT: concentration of the noise."""
    hot_moves: int = 1000
    """Moves of a game that are played with temperature 1; later ones with `cold`."""
    cold: float = 0.0
    """The temperature afterwards."""
    opening_plies: int = 0
    """Some games start from up to this many random moves, so that the network also knows odd positions."""
    opening_share: float = 0.5
    """The share of games that do."""
    trust: float = 0.0
    """Share of the search's own value, against the result of the game, in the value to learn."""
    horizon: int = 0
    """A game that is still open after so many moves is judged by its last value; 0 waits for the result."""
    kept: int = 20
    """Iterations whose samples stay in the replay buffer."""
    updates: int = 64
    """Gradient steps an iteration."""
    batch: int = 512
    """Samples a gradient step, from each game."""
    rate: float = 2e-3
    """Learning rate of Adam, after a warm-up of 100 steps."""
    rate_end: float = 0.1
    """The rate falls along a half cosine to this share of it at the last iteration."""
    decay: float = 1e-4
    """Weight decay, on matrices and convolutions only."""
    clip: float = 1.0
    """Largest norm of a gradient."""
    value_weight: float = 1.0
    """Of the value's loss beside the policy's."""
    average: float = 0.99
    """Decay of the moving average of the weights; the average is what plays."""
    symmetries: bool = True
    """Learn each sample from a random one of the sides that look the same."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the network's arithmetic; weights stay in float32."""
    gate: bool = False
    """A new network must beat the one that plays before it may replace it."""
    gate_share: float = 0.55
    """The share of points that it must score."""
    gate_games: int = 64
    """Games of that match."""
    iterations: int = 100
    """How many times all this is done."""

    @property
    def rule(self) -> Rule:
        if self.search == "puct":
            return Puct(self.simulations, self.exploration, self.noise, self.alpha)
        return Gumbel(self.simulations, self.considered)

    @property
    def playing_rule(self) -> Rule:
        """The same search without noise."""
        if self.search == "puct":
            return Puct(self.simulations, self.exploration, noise=0.0)
        return Gumbel(self.simulations, self.considered, scale=0.0)

    def temperature(self, turn: Array) -> Array:
        return jnp.where(turn < self.hot_moves, 1.0, self.cold)


class Learned(NamedTuple):
    """Everything that must survive a kill, but for the replay buffer, which has files of its own."""

    iteration: Array  # int32: iterations done
    key: Array
    network: Any
    optimiser: Any
    average: Any  # the network that plays: the moving average
    best: Any  # with gating, the network that plays instead; else None
    lanes: tuple[Lanes, ...]  # for each game


class State(NamedTuple):
    learned: Learned
    rings: tuple[buffer.Ring, ...]  # for each game


class AlphaZero:
    """The learner, for one game or for several that share a network.

    With `taught`, a network of the configured kind, learning goes on from there and not from chance.
    """

    def __init__(self, games: Sequence[Game], config: AlphaZeroConfig, taught: Any = None):
        for game in games:
            check_searchable(game)
            if config.symmetries and not isinstance(game, Symmetric):
                raise Unsupported(f"{game.spec.name} has no symmetries to learn from; try --symmetries off")
        self.games = tuple(games)
        self.config = config
        self.taught = taught
        self._saved: dict[Path, int] = {}
        self._play = tuple(jax.jit(functools.partial(play_iteration, game, config)) for game in games)
        self._learn = jax.jit(functools.partial(learn_iteration, self.games, config))
        self._insert = jax.jit(buffer.insert, donate_argnums=0)
        self._gate = jax.jit(functools.partial(gate_iteration, self.games[0], config))

    @property
    def iterations(self) -> int:
        return self.config.iterations

    def start(self, key: Array) -> State:
        """The state before the first iteration; same key, same run."""
        learned = jax.jit(functools.partial(start_learning, self.games, self.config))(key)
        if self.taught is not None:
            best = None if learned.best is None else self.taught
            learned = learned._replace(network=self.taught, average=self.taught, best=best)
        return State(learned, self._empty_rings())

    def iterate(self, state: State) -> tuple[State, Mapping[str, float]]:
        """One iteration: (the state after it, numbers to log)."""
        learned, rings = state
        key, learn_key, gate_key, *play_keys = jax.random.split(learned.key, 3 + len(self.games))
        player = learned.average if learned.best is None else learned.best
        with ThreadPoolExecutor(len(self.games)) as pool:  # the first time, all compile at once
            played = list(
                pool.map(lambda play, *rest: play(player, *rest), self._play, learned.lanes, play_keys)
            )
        lanes, samples, tallies = zip(*played, strict=True)
        rings = tuple(
            self._insert(ring, sample, learned.iteration) for ring, sample in zip(rings, samples, strict=True)
        )
        learned = learned._replace(iteration=learned.iteration + 1, key=key, lanes=lanes)
        # The number of iterations is an argument, so that runs of different lengths share a compiled program.
        learned, losses = self._learn(learned, rings, learn_key, jnp.int32(self.config.iterations))
        metrics = dict(losses)
        if learned.best is not None:
            best, score = self._gate(learned.best, learned.average, gate_key)
            learned = learned._replace(best=best)
            metrics["gate_score"] = score
        metrics |= _describe(list(tallies), self.games[0])
        return State(learned, rings), {name: float(value) for name, value in jax.device_get(metrics).items()}

    def iteration(self, state: State) -> int:
        return int(state.learned.iteration)

    def network(self, state: State) -> Any:
        """The network that plays."""
        return state.learned.average if state.learned.best is None else state.learned.best

    def save(self, state: State, folder: Path) -> None:
        """Write the new samples, then the checkpoint, then forget what it no longer needs."""
        done = self.iteration(state)
        for index, ring in enumerate(state.rings):
            self._folder(folder, index).save(ring, done, self._saved.get(folder, 0))
        facts = {"kind": "checkpoint", "iteration": done, "network": self.config.network}
        write_tree(folder / "checkpoint.safetensors", state.learned, facts)
        self._saved[folder] = done
        for index in range(len(self.games)):
            self._folder(folder, index).forget(done - self.config.kept)

    def load(self, folder: Path) -> State:
        """What `save` wrote, bit for bit."""
        like = jax.eval_shape(functools.partial(start_learning, self.games, self.config), jax.random.key(0))
        learned = read_tree(folder / "checkpoint.safetensors", like)
        done = int(learned.iteration)
        empty = self._empty_rings()
        rings = [self._folder(folder, index).load(ring, done) for index, ring in enumerate(empty)]
        self._saved[folder] = done
        return State(learned, tuple(rings))

    def _folder(self, folder: Path, index: int) -> buffer.BufferFolder:
        game = self.games[index]
        return buffer.BufferFolder(folder / "buffer" / game.spec.ruleset, game)

    def _empty_rings(self) -> tuple[buffer.Ring, ...]:
        shapes = jax.eval_shape(functools.partial(start_learning, self.games, self.config), jax.random.key(0))
        rings = []
        for game, lanes in zip(self.games, shapes.lanes, strict=True):
            play = functools.partial(play_iteration, game, self.config)
            sample = jax.eval_shape(play, shapes.average, lanes, jax.random.key(0))[1]
            rings.append(buffer.empty_ring(sample, self.config.kept))
        return tuple(rings)


def start_learning(games: tuple[Game, ...], config: AlphaZeroConfig, key: Array) -> Learned:
    """Before the first iteration."""
    run_key, network_key, *lane_keys = jax.random.split(key, 2 + len(games))
    network = make_network(config.network, games[0], network_key)
    return Learned(
        iteration=jnp.int32(0),
        key=run_key,
        network=network,
        optimiser=optimiser(config, config.iterations).init(network),
        average=network,
        best=network if config.gate else None,
        lanes=tuple(
            start_lanes(game, config.lanes, lane_key, config.breadth or None, config.horizon)
            for game, lane_key in zip(games, lane_keys, strict=True)
        ),
    )


def play_iteration(
    game: Game, config: AlphaZeroConfig, network: Any, lanes: Lanes, key: Array
) -> tuple[Lanes, Sample, Tally]:
    """The self-play of one iteration."""
    openings = (config.opening_plies, config.opening_share)
    return self_play(
        game,
        self_player(game, config, network),
        config.rule,
        config.temperature,
        config.steps,
        openings,
        config.trust,
        lanes,
        key,
        config.breadth or None,
    )


def self_player(game: Game, config: AlphaZeroConfig, network: Any) -> Any:
    """The network as self-play asks it."""
    view = jax.eval_shape(lambda: game.view(game.init(jax.random.key(0)), jnp.int32(0)))
    return for_batches(cast(network, jnp.dtype(config.precision)), view)


def learn_iteration(
    games: tuple[Game, ...],
    config: AlphaZeroConfig,
    learned: Learned,
    rings: tuple[buffer.Ring, ...],
    key: Array,
    iterations: Array,
) -> tuple[Learned, dict[str, Array]]:
    """The updates of one iteration, of so many in all."""
    loss = functools.partial(batch_loss, games, config, rings, learned.iteration)
    carry = (learned.network, learned.optimiser, learned.average)
    done = (learned.iteration - 1) * config.updates
    (network, state, average), losses = descend(
        loss,
        optimiser(config, iterations),
        config.average,
        done,
        carry,
        jax.random.split(key, config.updates),
    )
    means = jax.tree.map(jnp.mean, losses)
    return learned._replace(network=network, optimiser=state, average=average), means


def batch_loss(
    games: tuple[Any, ...],
    config: AlphaZeroConfig,
    rings: tuple[buffer.Ring, ...],
    iterations: Array,
    network: Any,
    key: Array,
) -> tuple[Array, tuple[Any, dict[str, Array]]]:
    """The mean over the games of a family of the loss on a batch of each."""
    player = cast(network, jnp.dtype(config.precision))
    losses, moments = [], ()
    for game, ring, game_key in zip(games, rings, jax.random.split(key, len(games)), strict=True):
        draw_key, turn_key, drop_key = jax.random.split(game_key, 3)
        batch = buffer.draw_batch(ring, iterations, config.batch, draw_key)
        if config.symmetries:
            sides = game.symmetries().actions.shape[0]
            turns = jax.random.randint(turn_key, (config.batch,), 0, sides)
            batch = jax.vmap(functools.partial(turned, game))(batch, turns)
        one = functools.partial(sample_loss, game, player)
        found, seen = jax.vmap(one, axis_name=BATCH)(batch, jax.random.split(drop_key, config.batch))
        weight = batch.real / jnp.maximum(batch.real.sum(), 1)
        losses.append({name: (loss * weight).sum() for name, loss in found.items()})
        moments = jax.tree.map(lambda leaf: leaf[0], seen)  # the same for the whole batch
    means = jax.tree.map(lambda *parts: sum(parts) / len(parts), *losses)
    total = means["policy_loss"] + config.value_weight * means["value_loss"] + STEADY * means["drift"]
    return total, (moments, means | {"loss": total})


def sample_loss(game: Any, network: Any, sample: Sample, key: Array) -> tuple[dict[str, Array], Any]:
    """(Losses of the policy and of the value, and `drift`; what batch norms saw) for one sample."""
    mover = jnp.argmax(game.to_move(sample.state)).astype(jnp.int32)
    output = network(game.view(sample.state, mover), Training(key))
    target = sample.policy.astype(jnp.float32)
    if isinstance(game, Listing) and sample.choices is not None:
        policy, away = listed_policy_loss(output, game.listed(sample.state), sample.choices, target)
    else:
        policy, away = policy_loss(output, spread(game, sample, target), game.legal(sample.state)[mover])
    value = value_loss(output, from_mover(sample.values, mover))
    return {"policy_loss": policy, "value_loss": value, "drift": away}, output.moments


def spread(game: Game, sample: Sample, target: Array) -> Array:
    """float32[A] from float32[M]: the target of every action."""
    if sample.choices is None:
        return target
    return jnp.zeros(game.spec.actions).at[sample.choices].add(target)


def turned(game: Any, sample: Sample, g: Array) -> Sample:
    """The same sample seen from another side."""
    group = game.symmetries()
    moved = group.actions[g]
    choices, policy = sample.choices, sample.policy
    if choices is None:
        policy = jnp.zeros_like(policy).at[moved].set(policy)
    else:
        choices = jnp.where(choices >= 0, moved[choices], -1).astype(choices.dtype)
    return Sample(
        state=game.turn_state(sample.state, g),
        choices=choices,
        policy=policy,
        values=jnp.zeros_like(sample.values).at[group.seats[g]].set(sample.values),
        real=sample.real,
    )


def gate_iteration(game: Game, config: AlphaZeroConfig, best: Any, new: Any, key: Array) -> tuple[Any, Array]:
    """(Whichever may play from now on, the share of points of the new one)."""
    score = match(game, config.playing_rule, new, best, config.gate_games, key, config.breadth or None)
    passed = score >= config.gate_share
    return jax.tree.map(lambda fresh, old: jnp.where(passed, fresh, old), new, best), score


def _describe(tallies: list[Tally], game: Game) -> dict[str, Array]:
    every = jax.tree.map(lambda *parts: jnp.stack(parts), *tallies)
    games = every.games.sum()
    first = "first_role" if isinstance(game, Roles) else "first_seat"
    return {
        "games": games,
        "moves_a_game": every.moves.sum() / jnp.maximum(games, 1),
        first: every.first.mean(),
        "surprise": every.surprise.mean(),
    }


def policies_of(network: Any, game: Game, state: Any, rule: Rule, key: Array) -> dict[str, np.ndarray]:
    """float[A] each: what the network alone and what the search would play in a position."""
    evaluate = evaluator(game, network)
    legal = game.legal(state).any(axis=0)
    alone = jax.nn.softmax(jnp.where(legal, evaluate(state)[0], -jnp.inf))
    found = eqx.filter_jit(search)(game, evaluate, rule, state, key, 0.0)
    visits = found.visits / found.visits.sum()
    return {"network": np.asarray(alone), "search": np.asarray(visits)}
