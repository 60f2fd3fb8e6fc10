"""Hispania as a game: tokens, views and results over the engine.

An action is `tile · 64 + units`: `units` is a set of slots (in Growth the one place on the menu), and tile R stands for
"none". What a token is about besides follows from the phase: in B the tile is the battle, in D and A the battle is the
one that is fought.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import RulesetMismatch
from stratagem.core.game import GameSpec, winners_share
from stratagem.core.play import pick
from stratagem.games.hispania import battle, drawing, encoding, engine, growth, movement, text
from stratagem.games.hispania.arrays import at
from stratagem.games.hispania.loading import load
from stratagem.games.hispania.scenario import SLOTS, Scenario
from stratagem.games.hispania.state import (
    ATTACK,
    CHOOSE,
    DEFEND,
    DONE,
    GO,
    GROW,
    PICK,
    REMOVE,
    ROLL,
    After,
    State,
    narrow,
    widen,
)
from stratagem.games.hispania.tables import MASKS, Tables

# A step is thousands of operations. Compiled one by one, as outside of a trace, they would take minutes.
compiled = partial(jax.jit, static_argnums=0)


class View(NamedTuple):
    """Nothing is hidden: `encoding` turns it into numbers for a network."""

    state: State
    seat: Array  # int32


@dataclass(frozen=True)
class Hispania:
    """Hispania on one of its maps."""

    scenario: str = "iberia-small"
    """A shipped scenario (iberia-small, iberia-medium, hispania) or the path of a file."""
    digest: str = ""
    """What the scenario must contain, as a check that a replay is played by the file it was made with."""

    def __post_init__(self) -> None:
        found = load(self.scenario).digest
        if self.digest not in ("", found):
            raise RulesetMismatch(
                f"hispania: scenario {self.scenario} has digest {found}, not {self.digest}: "
                "the file has changed; bring the old one back or leave the digest out"
            )
        object.__setattr__(self, "digest", found)

    @cached_property
    def tables(self) -> Tables:
        return Tables(load(self.scenario))

    @property
    def content(self) -> Scenario:
        return self.tables.scenario

    @property
    def regions(self) -> int:
        return len(self.content.regions)

    @property
    def none(self) -> int:
        """The action that names nothing: stop, end, stand, go on."""
        return self.regions * MASKS

    @cached_property
    def spec(self) -> GameSpec:
        return GameSpec(
            name="hispania",
            seats=len(self.content.players),
            actions=(self.regions + 1) * MASKS,
            longest=longest_game(self.content),
            chance="dice",
            parameters={"scenario": self.scenario, "digest": self.digest},
        )

    # Chance: the dice of one combat round.

    def opening(self) -> After:
        return self._opening

    @cached_property
    def _opening(self) -> After:
        with jax.ensure_compile_time_eval():
            after = jax.jit(engine.before_play, static_argnums=0)(self.tables)
            return after._replace(state=narrow(after.state))

    @cached_property
    def _first(self) -> State:
        with jax.ensure_compile_time_eval():
            return jax.jit(lambda: narrow(engine.first_turn(self.tables)))()

    @compiled
    def afterstate(self, state: State, actions: Array) -> After:
        action = actions[self._seat(state)].astype(jnp.int32)
        after = engine.play(self.tables, widen(state), action)
        return after._replace(state=narrow(after.state))

    @compiled
    def outcomes(self, after: After) -> Array:
        state = widen(after.state)
        chances = battle.outcome_chances(self.tables, state)
        nothing = jnp.arange(len(chances)) == 0
        return jnp.where(state.phase == ROLL, chances, nothing.astype(jnp.float32))

    @compiled
    def resolve(self, after: After, outcome: Array) -> State:
        wide = after._replace(state=widen(after.state))
        return narrow(engine.follow(self.tables, wide, jnp.asarray(outcome, jnp.int32)))

    @compiled
    def outcome_of(self, after: After, dice: Array) -> Array:
        """int32: the outcome of these faces, int32[2, 6]: attackers and defenders in slot order."""
        return battle.outcome_of(self.tables, widen(after.state), dice)

    def init(self, key: Array) -> State:
        return self._first

    def step(self, state: State, actions: Array, key: Array) -> State:
        return self.fall(self.afterstate(state, actions), jax.random.randint(key, (2, SLOTS), 1, 7))

    def fall(self, after: After, dice: Array) -> State:
        """The dice, int32[2, 6], fall."""
        return self.resolve(after, self.outcome_of(after, dice))

    # Decisions.

    def decider(self, state: State) -> Array:
        """int32: the nation that decides."""
        defender = at(state.holder, state.battle)
        return jnp.where(state.phase == DEFEND, defender, state.nation).astype(jnp.int32)

    def _seat(self, state: State) -> Array:
        return at(self.tables.of_nation("player"), self.decider(state))

    def to_move(self, state: State) -> Array:
        return (jnp.arange(self.spec.seats) == self._seat(state)) & ~self.done(state)

    def legal(self, state: State) -> Array:
        return self.to_move(state)[:, None] & self.choices(state).reshape(1, -1)

    @compiled
    def choices(self, state: State) -> Array:
        """bool[R + 1, 64]: the legal tokens of whoever decides."""
        tables, state = self.tables, widen(state)
        phase = state.phase
        able, is_unit = growth.purchases(tables, state)
        buys = jnp.zeros((self.regions, MASKS), bool).at[:, 1 << np.arange(SLOTS)].set(able)
        many = jnp.where(phase == GROW, buys, False)
        many = jnp.where(phase == PICK, movement.groups(tables, state), many)
        many = jnp.where(phase == REMOVE, growth.removals(tables, state), many)
        back, away = battle.ways_back(tables, state), battle.refuges(tables, state)
        gives_up = (jnp.arange(self.regions) == state.battle) & battle.may_submit(tables, state)
        one = jnp.where(phase == GO, movement.ways_of(tables, state).open, False)
        one = jnp.where(phase == CHOOSE, battle.battles_of(tables, state), one)
        one = jnp.where(phase == DEFEND, away | gives_up, one)
        one = jnp.where(phase == ATTACK, back, one)
        last = state.combat >= tables.scenario.rules.max_battle_rounds
        none = (phase == PICK) | (phase == DEFEND) | ((phase == ATTACK) & ~last)
        none |= (phase == GROW) & ~(able & is_unit).any()
        tiles = many | (one[:, None] & (np.arange(MASKS) == 0))
        nowhere = none & (np.arange(MASKS) == 0)
        return jnp.concatenate([tiles, nowhere[None]])

    def sample(self, state: State, points: Array) -> Array:
        legal = self.choices(state).reshape(-1)
        action = jnp.minimum(pick(legal, points[self._seat(state)]), self.spec.actions - 1)
        return jnp.full(self.spec.seats, action, jnp.int32)

    # Results.

    def done(self, state: State) -> Array:
        return state.phase == DONE

    def by_player(self, values: Array) -> Array:
        """int32[P] from int32[N]: sums over the nations of each player."""
        players = jnp.arange(self.spec.seats)[:, None] == self.tables.of_nation("player")
        return jnp.where(players, values, 0).sum(axis=1, dtype=jnp.int32)

    def scores(self, state: State) -> Array:
        """int32[P]: victory points."""
        return self.by_player(state.vp.astype(jnp.int32))

    def returns(self, state: State) -> Array:
        held = growth.held_by(state).sum(axis=1, dtype=jnp.int32)
        rank = self.scores(state) * 1024 + self.by_player(held)
        result = winners_share(rank == rank.max())
        return jnp.where(self.done(state), result, 0.0).astype(jnp.float32)

    # What an agent sees.

    def view(self, state: State, seat: Array) -> View:
        return View(state, jnp.asarray(seat, jnp.int32))

    def state_of(self, view: View) -> Any:
        return view.state

    def encode(self, view: View) -> encoding.Encoding:
        """The view in numbers, from the side of whoever decides."""
        return encoding.encode(self.tables, view.state)

    def factors(self, state: State) -> encoding.Factors:
        """The legal values of a token: type, tile, units given the tile, battle."""
        return encoding.factors(self.tables, state, self.choices(state))

    def action_of(self, state: State, tile: Array, units: Array, battle: Array) -> Array:
        """int32: the action for the parts of a token."""
        return encoding.action_of(self.tables, state, tile, units, battle)

    # Text. Host side only.

    def write(self, state: State) -> str:
        return text.write(self.tables, state)

    def read(self, line: str) -> State:
        return text.read(self.tables, line)

    def render(self, state: State, width: int = 110) -> str:
        """The map for a terminal: regions, stacks, control, points."""
        return drawing.render(self.tables, state, width)

    def draw(self, state: State, seat: int | None) -> dict[str, Any]:
        return drawing.draw(self.tables, state)

    def write_action(self, action: int) -> str:
        return text.write_action(self.tables, action)

    def read_action(self, word: str) -> int:
        return text.read_action(self.tables, word)


def longest_game(scenario: Scenario) -> int:
    """A bound on the decisions of a game: no nation turn can take more than its pieces, points and battles allow."""
    rules = scenario.rules
    regions = len(scenario.regions)
    land = sum(region.pop + max(one.income for one in scenario.buildings) for region in scenario.regions)
    prices = [unit.price for unit in scenario.units] + [one.price for one in scenario.buildings]
    cheapest = min(price for price in prices if price)
    total = 0
    for nation in scenario.nations:
        pieces = sum(nation.units) + sum(bool(line.leader) for line in nation.reinforce)
        battles = min(pieces, regions) * (1 + 2 * rules.max_battle_rounds)
        half = 1 + 2 * pieces + battles
        turns = nation.end - nation.start + 1
        bought = (land + rules.carry_cap) // cheapest + 1
        total += turns * (bought + half + pieces) + len(nation.major_invasions) * half
    return total
