"""Players of Generals: what they remember, and that each does what it is there for."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from stratagem.agents import make_agent
from stratagem.agents.generals_belief import Mind, belief, empty_mind, look
from stratagem.agents.generals_memory import NEVER, blank, note_move, take_in
from stratagem.agents.generals_paths import downhill, flow
from stratagem.games import make_game
from stratagem.games.generals import Generals
from stratagem.games.generals.board import GENERAL, PLAIN, kind_of
from stratagem.games.generals.rules import OPPONENT, SEEN_CASTLE, SEEN_GENERAL, STRUCTURE

ROW = Generals(width=8, height=3, cap=100, apart=4, castles_from=0, castles_to=1)


def seen_by_first(text):
    return ROW.view(ROW.read(text), jnp.int32(0))


def test_what_was_seen_is_remembered_when_it_is_out_of_sight():
    # The stack of seat 0 stands beside the enemy general, then is gone.
    near = "A . . . . . . . / . . . . . .a5 gb7 . / . . . . . c44 . . | 10 -"
    far = "A . . . . . . . / . . . . . .b3 gb8 . / . . . . . c44 . . | 11 -"
    known = take_in(ROW, blank(ROW), seen_by_first(near))
    later = take_in(ROW, known, seen_by_first(far))
    assert int(later.general) == 1 * 8 + 6
    assert int(later.kind[1, 6]) == SEEN_GENERAL
    assert int(later.army[1, 6]) == 7
    assert int(later.kind[2, 5]) == SEEN_CASTLE
    assert int(later.seen_at[1, 6]) == 10
    assert int(later.seen_at[0, 0]) == 11
    assert bool(later.possible[1, 6])
    assert int(later.possible.sum()) == 1
    assert later.land[1, -2:].tolist() == [1, 2]


def test_the_enemy_shows_where_it_was_and_what_it_has_seen():
    before = seen_by_first("A . . . . . . . / .a1 .a1 .a1 . . . . B / . . . . . . . . | 10 -")
    after = seen_by_first("A . . . . . . . / .a1 .a1 .a1 .b4 . . . B / . . . . . . . . | 11 -")
    known = take_in(ROW, take_in(ROW, blank(ROW), before), after)
    assert int(known.their_moves[1, 3]) == 11
    assert int(known.owner[1, 3]) == OPPONENT
    assert known.exposed.tolist()[1] == [False, False, True, True, True, False, False, False]


def test_structure_in_the_fog_is_no_place_for_a_general():
    view = seen_by_first("A . . . . # c41 . / . . . . . . . B / . . . . . . . . | 10 -")
    known = take_in(ROW, blank(ROW), view)
    assert int(known.kind[0, 5]) == STRUCTURE
    assert not bool(known.possible[0, 5])
    assert bool(known.possible[1, 7])
    assert not bool(known.possible[0, 1])


def test_an_enemy_cell_bounds_where_its_general_can_be():
    # Seen in turn 3 at (1, 3): the general is at most three steps away, so not at (1, 7).
    view = seen_by_first("A . . . . . . B / .a1 .a1 .a1 .b2 . . . . / . . . . . . . . | 3 -")
    known = take_in(ROW, blank(ROW), view)
    assert bool(known.possible[1, 6])
    assert not bool(known.possible[1, 7])


def test_taking_in_a_view_twice_changes_nothing():
    view = seen_by_first("A . . . . . . . / .a1 .a1 .a1 .b4 . . . B / . . . . . . . . | 11 -")
    once = take_in(ROW, blank(ROW), view)
    twice = take_in(ROW, once, view)
    for one, other in zip(once, twice, strict=True):
        assert np.array_equal(one, other)


def test_own_moves_are_noted_and_passes_are_not():
    known = take_in(
        ROW, blank(ROW), seen_by_first("A . . . . . . . / . . . . . . . B / . . . . . . . . | 5 -")
    )
    assert int(note_move(ROW, known, jnp.int32(3)).my_moves[0, 0]) == 5
    assert int(note_move(ROW, known, jnp.int32(8)).my_moves[0, 0]) == NEVER


def test_flow_takes_the_shortest_way_on_which_most_arrives():
    goal = jnp.zeros((3, 4), bool).at[0, 3].set(True)
    gain = jnp.array([[4, 0, 0, 0], [9, 9, 9, 0], [0, 0, 0, 0]])
    ground = jnp.ones((3, 4), bool).at[0, 1].set(False)
    ways = flow(goal, ground, gain, 8)
    # From the corner the wall makes it five steps, through the nines: 4 + 9 + 9 + 9 + 0.
    assert int(ways.steps[0, 0]) == 5
    assert int(ways.arrives[0, 0]) == 31
    assert int(downhill(ways.cost)[0, 0]) == 1
    assert not bool(ways.open[0, 1])


@lru_cache
def compiled(name):
    """State of the row to the action of an agent that has seen nothing before."""
    agent = make_agent(name, ROW)

    def act(state):
        view = ROW.view(state, jnp.int32(0))
        return agent.act(agent.memory(), view, ROW.legal(state)[0], jax.random.key(0))

    return jax.jit(act)


def choice(text, agent="cascade"):
    """What an agent that has seen nothing before does on this position of the row."""
    return ROW.write_action(int(compiled(agent)(ROW.read(text))))


@pytest.mark.parametrize("name", ["expander", "hunter", "cascade"])
def test_a_general_that_can_be_taken_is_taken(name):
    open_to_attack = "A . . . . . . . / . . . .a4 .b1 .a9 gb3 . / . . . . . . . . | 60 -"
    assert choice(open_to_attack, name) == "1,5 right"


def test_cascade_meets_a_stack_that_could_take_its_general():
    assert choice("ga3 . . . . . . . / . .b9 .a20 . . . . . / . . . . . . . B | 60 -") == "1,2 left"


def test_cascade_does_not_run_after_a_raider_that_will_be_there_first():
    # Twelve are three steps from the general, thirty are two steps behind them; eight beside it come in time.
    raided = ".a9 . .a1 . . . . . / ga3 . . .b12 . .a30 . . / . . . . . . . B | 60 -"
    assert choice(raided) == "0,0 down"


def test_cascade_keeps_its_guard_at_home_while_a_stack_is_near():
    # Thirty on the general are enough against the twenty in sight, but only as long as they stay.
    near = "ga30 .a1 .a1 .a1 .b20 . . . / . . . . . . . . / . . . . . . . B | 60 -"
    assert choice(near) == "0,0 pass"
    assert choice(near.replace(".b20", ".b1")) in ("0,0 right", "0,0 down")


def test_cascade_meets_the_raider_that_is_nearer_before_the_stronger_one_behind_it():
    # Nine are three steps from the general and can be beaten now; twenty come later.
    two = "ga3 . . .b9 . . .b20 . / .a1 .a1 .a1 .a12 . . .a1 . / . . . . . . . B | 60 -"
    assert choice(two) == "1,3 up"


def test_cascade_runs_for_the_enemy_general_only_when_it_will_be_there_first():
    # Twelve are two steps from my general, which eight can still save; mine are three steps or one from theirs.
    race = "ga3 . .b12 . . . .a1 . / .a9 .a1 . . .a20 . . gb3 / . . . . . . . . | 60 -"
    assert choice(race) == "1,0 up"
    ahead = "ga3 . .b12 . . . .a1 . / .a9 .a1 . . . . .a20 gb3 / . . . . . . . . | 60 -"
    assert choice(ahead) == "1,6 right"


def test_cascade_runs_for_the_enemy_general_when_its_own_is_lost():
    lost = "ga3 . .b12 . . . .a1 . / . .a1 . . .a20 . . gb3 / . . . . . . . . | 60 -"
    assert choice(lost) == "1,4 right"


def test_cascade_gathers_although_nothing_would_get_through():
    # Four could take the empty cell below; but after a tick they go the way on which others join them.
    walled = "ga1 .a4 .a2 .b30 . . . B / # . # # # # # # / # # # # # # # # | 60 -"
    assert choice(walled, "cascade:alarm=2") == "0,1 right"


def walked(plain, start):
    """{cell: steps} on bool[H, W] plain ground, in plain Python."""
    steps, waiting = {start: 0}, [start]
    for row, column in waiting:
        for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            inside = 0 <= cell[0] < plain.shape[0] and 0 <= cell[1] < plain.shape[1]
            if inside and plain[cell] and cell not in steps:
                steps[cell] = steps[row, column] + 1
                waiting.append(cell)
    return steps


def test_a_fair_map_tells_where_the_enemy_general_may_be():
    game = Generals(width=12, height=12, apart=8, castles_from=3, castles_to=5)
    sites = jax.jit(lambda view: look(game, empty_mind(game), view).sites)
    init, view = jax.jit(game.init), jax.jit(game.view)
    for seed in range(6):
        state = init(jax.random.key(seed))
        kind = np.asarray(kind_of(state.cells)).reshape(game.shape)
        plain = (kind == PLAIN) | (kind == GENERAL)
        for seat in range(2):
            home = divmod(int(state.generals[seat]), 12)
            away = walked(plain, home)
            rooms = {cell: sum(far <= 4 for far in walked(plain, cell).values()) for cell in away}
            fair = {
                cell for cell in away if min(rooms[cell], rooms[home]) >= 0.8 * max(rooms[cell], rooms[home])
            }
            told = {
                cell for cell in map(tuple, np.argwhere(sites(view(state, jnp.int32(seat))))) if cell in away
            }
            assert told == {cell for cell in fair if away[cell] >= 8}
            assert divmod(int(state.generals[1 - seat]), 12) in told


def test_places_against_the_rules_of_maps_are_believed_in_little_but_not_ruled_out():
    game = Generals(width=9, height=9, apart=4)
    mind = empty_mind(game)
    believed = belief(mind._replace(sites=mind.sites.at[4, 4].set(True)))
    assert float(believed[4, 4]) > 10 * float(believed[4, 5]) > 0


def belief_with(**cells):
    """The belief on a 9×9 board: possible everywhere, `theirs` were seen to be the enemy's and `nobodys` neutral."""
    game = Generals(width=9, height=9, apart=4)
    known = blank(game)
    seen_at, owner = known.seen_at, known.owner
    for row, column in cells.get("theirs", []):
        seen_at, owner = seen_at.at[row, column].set(80), owner.at[row, column].set(OPPONENT)
    for row, column in cells.get("nobodys", []):
        seen_at = seen_at.at[row, column].set(80)
    possible = known.possible & (seen_at < 0)
    known = known._replace(seen_at=seen_at, owner=owner, possible=possible)
    return belief(Mind(known, owner == OPPONENT, jnp.ones(game.shape, bool)))


def test_belief_is_near_enemy_land_and_away_from_nobodys():
    believed = belief_with(theirs=[(4, 1)], nobodys=[(4, 7)])
    assert float(believed[4, 2]) > float(believed[0, 4]) > float(believed[4, 6]) > 0
    assert float(believed[4, 1]) == 0  # seen, and no general


def test_land_that_was_free_in_the_opening_says_nothing():
    game = Generals(width=9, height=9, apart=4)
    early = blank(game)._replace(seen_at=blank(game).seen_at.at[4, 7].set(20))
    believed = belief(Mind(early, early.owner == OPPONENT, jnp.ones(game.shape, bool)))
    assert float(believed[4, 6]) == float(believed[0, 0])


def duel(game, first, second, games, seed=0):
    """(returns of the first, whether anyone chose an illegal action), both of `games` games in one program."""

    def one(key):
        map_key, play_key = jax.random.split(key)

        def turn(carry):
            state, memories, key, foul = carry
            key, *keys = jax.random.split(key, 3)
            legal = game.legal(state)
            views = [game.view(state, jnp.int32(seat)) for seat in range(2)]
            players = list(zip((first, second), memories, views, legal, keys, strict=True))
            actions = jnp.stack([agent.act(memory, *rest) for agent, memory, *rest in players])
            foul = foul | ~legal[jnp.arange(2), actions].all()
            memories = tuple(
                agent.remember(memory, view, action)
                for (agent, memory, view, *_), action in zip(players, actions, strict=True)
            )
            return game.step(state, actions), memories, key, foul

        begin = (game.init(map_key), (first.memory(), second.memory()), play_key, jnp.bool_(False))
        state, _, _, foul = jax.lax.while_loop(lambda carry: ~game.done(carry[0]), turn, begin)
        return game.returns(state)[0], foul

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), games))


def test_players_never_foul_and_the_order_of_strength_shows():
    game = make_game("generals:width=10,height=10,apart=7,castles_from=1,castles_to=2,cap=200")
    agents = {name: make_agent(name, game) for name in ("random", "expander", "cascade")}
    for stronger, weaker, margin in (("expander", "random", 8), ("cascade", "expander", 4)):
        returns, fouls = duel(game, agents[stronger], agents[weaker], 16)
        assert not bool(fouls.any())
        assert float(returns.sum()) >= margin  # wins minus losses of 16


def test_players_play_where_castles_are_built():
    game = make_game("generals:width=8,height=8,apart=5,build=yes,cap=60")
    _, fouls = duel(game, make_agent("cascade", game), make_agent("hunter", game), 8)
    assert not bool(fouls.any())
