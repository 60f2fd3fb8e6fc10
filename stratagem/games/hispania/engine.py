"""One step of the game: a token is played, dice fall, and all that follows happens until the next decision.

Everything is one straight pass for all games of a batch: each part acts on the games that are at its point and leaves
the others as they are.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.games.hispania import battle, growth, movement, rounds
from stratagem.games.hispania.arrays import at, lookup, put
from stratagem.games.hispania.scenario import SLOTS
from stratagem.games.hispania.stacks import row_of, slots_of
from stratagem.games.hispania.state import (
    ATTACK,
    CHOOSE,
    DEFEND,
    DONE,
    FOUGHT,
    GO,
    GROW,
    PICK,
    REMOVE,
    ROLL,
    TURN_OVER,
    TYPE_OF,
    After,
    State,
)
from stratagem.games.hispania.tables import MASKS, Tables


def opening(tables: Tables) -> State:
    """Before the events and arrivals of the first round."""
    scenario = tables.scenario
    nations, places = tables.kind.shape
    region, age, hp = (np.full((nations, places), fill, np.int32) for fill in (-1, 0, 0))
    holder = np.full(len(scenario.regions), -1, np.int32)
    births = np.zeros(nations, np.int32)
    for number, nation in enumerate(scenario.nations):
        for where, units in nation.setup:
            holder[where] = number
            for kind, count in units:
                for _ in range(count):
                    place = np.flatnonzero((tables.kind[number] == kind) & (region[number] < 0))[0]
                    region[number, place], age[number, place] = where, births[number]
                    hp[number, place] = scenario.units[kind].hp
                    births[number] += 1
    return State(
        region=jnp.asarray(region),
        hp=jnp.asarray(hp),
        age=jnp.asarray(age),
        births=jnp.asarray(births),
        moved=jnp.zeros(places, bool),
        entry=jnp.full(places, -1, jnp.int32),
        crossed=jnp.zeros(places, jnp.int32),
        picked=jnp.zeros(places, bool),
        holder=jnp.asarray(holder),
        building=jnp.asarray(tables.of_region("building")),
        points=jnp.zeros(nations, jnp.int32),
        vp=jnp.zeros(nations, jnp.int32),
        kills=jnp.zeros((nations, nations), jnp.int32),
        suzerain=jnp.full(nations, -1, jnp.int32),
        waiting=jnp.ones(len(tables.arrivals), bool),
        round=jnp.int32(1),
        nation=jnp.int32(-1),
        half=jnp.int32(1),
        phase=jnp.int32(TURN_OVER),
        battle=jnp.int32(-1),
        combat=jnp.int32(0),
        past=jnp.full((32, 3), -1, jnp.int32),
        steps=jnp.int32(0),
    )


def before_play(tables: Tables) -> After:
    """Round 1 has begun, and nobody's turn yet."""
    state = rounds.events(tables, opening(tables))
    state = rounds.arrive(tables, state, rounds.due_arrivals(tables, state, jnp.bool_(False)))
    return After(state, jnp.zeros_like(state.picked), moment(state))


def first_turn(tables: Tables) -> State:
    """The state in which every game starts: what `follow` makes of `before_play`."""
    state = rounds.next_turn(tables, before_play(tables).state)
    return settle(tables, state, new_turn=jnp.bool_(True))


def play(tables: Tables, state: State, action: Array) -> After:
    """What a token does at once."""
    regions = len(tables.on_map)
    tile, mask = action // MASKS, action % MASKS
    named = tile < regions
    begun = moment(state)
    phase = state.phase
    nation = state.nation
    row = row_of(tables, state, nation)
    chosen = (row.region == tile) & ((mask >> slots_of(row)) & 1 == 1)

    # Growth, or its end.
    buys = (phase == GROW) & named
    slot = jnp.argmax((mask >> np.arange(SLOTS)) & 1).astype(jnp.int32)
    state = remember(state, tile, mask, named, phase)
    state = growth.buy(tables, state, tile, slot, buys)

    # Movement: a group is picked, then it goes.
    ways = movement.ways_of(tables, state)
    goes = (phase == GO) & state.picked
    region = jnp.where(goes, tile, at(state.region, nation))
    removed = (phase == REMOVE) & chosen
    state = state._replace(
        region=put(state.region, nation, jnp.where(removed, -1, region)),
        moved=state.moved | goes,
        entry=jnp.where(goes, at(ways.entry, tile), state.entry),
        crossed=jnp.where(goes, at(ways.crossed, tile), state.crossed),
        picked=chosen & (phase == PICK) & named,
    )

    # Battle.
    chooses, defends, attacks = phase == CHOOSE, phase == DEFEND, phase == ATTACK
    state = state._replace(
        battle=jnp.where(chooses, tile, state.battle),
        combat=jnp.where(chooses, 1, state.combat + (attacks & ~named)),
    )
    submits = defends & (tile == state.battle)
    side = jnp.where(defends, at(state.holder, state.battle), nation)
    state = battle.retreat(tables, state, side, tile, (defends | attacks) & named & ~submits)
    state, strays = battle.submit(tables, state, submits)

    following = lookup((GROW, GO, PICK, ROLL, FOUGHT, FOUGHT, REMOVE, DONE), phase)
    following = jnp.where((phase == PICK) & ~named, CHOOSE, following)
    following = jnp.where((phase == ATTACK) & ~named, ROLL, following)
    following = jnp.where((phase == GROW) & ~named, PICK, following)
    return After(state._replace(phase=following), strays, begun)


def remember(state: State, tile: Array, mask: Array, named: Array, phase: Array) -> State:
    """The token joins the sequence of this phase; answers of a defender do not."""
    chooses = phase == CHOOSE
    token = jnp.stack(
        [
            jnp.where(named & ~chooses, tile, -1),
            mask,
            jnp.where(chooses, tile, state.battle),
        ]
    )
    past = jnp.concatenate([token[None], state.past[:-1]])
    joins = phase != DEFEND
    return state._replace(
        past=jnp.where(joins, past, state.past),
        steps=jnp.where(joins, jnp.minimum(state.steps + 1, len(past)), state.steps),
    )


def moment(state: State) -> Array:
    """int32[4]: what tells one phase from another: its kind, the nation, the half and the round."""
    return jnp.stack([state.phase, state.nation, state.half, state.round]).astype(jnp.int32)


def follow(tables: Tables, after: After, outcome: Array) -> State:
    """Dice and consequences, up to the next decision."""
    state = after.state
    phase = after.begun[0]
    nation = state.nation
    rolled = state.phase == ROLL
    state = rounds.cond_state(rolled, battle.fight(tables, state, outcome), state)
    state = battle.send_home(tables, state, after.strays)
    state = after_combat(tables, state, rolled, stood=phase == DEFEND)

    # After a move: go on while a piece can move.
    stuck = (phase == GO) & ~movement.groups(tables, state).any()
    state = state._replace(phase=jnp.where(stuck, CHOOSE, state.phase))

    # After the battles: a second half, or overpopulation.
    peace = (state.phase == CHOOSE) & ~battle.battles_of(tables, state).any()
    again = peace & (state.half == 1) & at(at(tables.major, nation), state.round)
    state = state._replace(
        half=jnp.where(again, 2, jnp.where(peace, 1, state.half)),
        phase=jnp.where(again, PICK, jnp.where(peace, REMOVE, state.phase)),
    )
    fed = (state.phase == REMOVE) & (growth.surplus(tables, state) <= 0)
    state = state._replace(phase=jnp.where(fed, TURN_OVER, state.phase))
    state = rest(state, again | fed)
    ended = state.phase == TURN_OVER
    state = settle(tables, rounds.next_turn(tables, state), new_turn=ended)
    goes_on = (moment(state)[1:] == after.begun[1:]).all()
    goes_on &= lookup(TYPE_OF, state.phase) == lookup(TYPE_OF, phase)
    return state._replace(past=jnp.where(goes_on, state.past, -1), steps=jnp.where(goes_on, state.steps, 0))


def after_combat(tables: Tables, state: State, rolled: Array, stood: Array) -> State:
    """After a roll or a retreat decision: does the battle go on, and who decides?"""
    fought = rolled | (state.phase == FOUGHT)
    sides = battle.sides_of(tables, state)
    attackers, defenders = sides.attacking.any(), sides.defending.any()
    keeper = at(state.holder, state.battle)
    defenders &= (keeper >= 0) & (keeper != state.nation)
    on = fought & attackers & defenders
    may_go = (battle.refuges(tables, state).any() | battle.may_submit(tables, state)) & ~stood
    asks = on & may_go
    last = state.combat >= tables.scenario.rules.max_battle_rounds
    trapped = on & ~asks & last & ~battle.ways_back(tables, state).any()
    state = battle.destroy_attackers(tables, state, trapped)

    over = (fought & ~on) | trapped
    taken = over & attackers & ~trapped & (state.battle >= 0)
    razed = taken & (lookup(tables.of_building("razed"), at(state.building, state.battle)) > 0)
    phase = jnp.where(over, CHOOSE, jnp.where(asks, DEFEND, ATTACK))
    return state._replace(
        phase=jnp.where(fought, phase, state.phase),
        building=put(state.building, jnp.where(razed, state.battle, -1), 0),
        battle=jnp.where(over, -1, state.battle),
        combat=jnp.where(over, 0, state.combat),
    )


def rest(state: State, now: Array) -> State:
    """The active nation's pieces may move again."""
    return state._replace(
        moved=state.moved & ~now,
        entry=jnp.where(now, -1, state.entry),
        crossed=jnp.where(now, 0, state.crossed),
    )


def settle(tables: Tables, state: State, new_turn: Array) -> State:
    """Growth begins or ends, and pieces out of play are all alike."""
    state = rounds.earn(tables, state, (state.phase == GROW) & new_turn)
    able, _ = growth.purchases(tables, state)
    grown = (state.phase == GROW) & ~able.any()
    state = state._replace(phase=jnp.where(grown, PICK, state.phase))
    begun = state.phase != GROW
    own = jnp.arange(len(state.vp)) == state.nation
    capped = jnp.minimum(state.points, tables.scenario.rules.carry_cap)
    gone = state.region < 0
    there = (at(state.region, state.nation) >= 0) & (state.phase != DONE)
    return state._replace(
        points=jnp.where(own & begun, capped, state.points),
        hp=jnp.where(gone, 0, state.hp),
        age=jnp.where(gone, 0, state.age),
        moved=state.moved & there,
        entry=jnp.where(there, state.entry, -1),
        crossed=jnp.where(there & (state.entry >= 0), state.crossed, 0),
    )
