"""Does a policy of Generals know where the enemy general hides? Its value token's attention, head by head.

    python benchmarks/attention.py WEIGHTS [--board 18-24] [--games 256] [--rival hunter] [--metrics FILE …] [--out OUT]

In every turn in which the seat has not yet found the enemy general, each head's peak (the patch that the value token
hears most) counts as a hit if its middle is within two cells of the general, along both axes. The best head is
chosen on one half of the games and reported on the other, by tenth of the game and by turn, beside three others: a
patch of the board at random, a patch at random among those that may still hold the general, and the likeliest cell of
the cascade's belief. Intervals are over games, because the turns of a game are much alike. Without a rival the policy
plays itself. OUT gets attention.json, attention.png (the curves, and that head on one position), and metrics.png.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from attention_plots import plot_attention, plot_metrics
from machine import machine

from stratagem.agents import make_agent
from stratagem.agents.attention import looking
from stratagem.agents.generals_belief import empty_mind, look
from stratagem.agents.generals_memory import note_move
from stratagem.agents.senses import senses_for
from stratagem.analysis.generals_guess import general_chances
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.files import recover_lines, write_json
from stratagem.games import make_game
from stratagem.games.generals.board import standing
from stratagem.learners.guests import Snapshot
from stratagem.learners.ppo_presets import BOARDS
from stratagem.learners.ppo_rollout import spread
from stratagem.networks import cast
from stratagem.networks.attention_maps import attention_maps
from stratagem.networks.transformer import to_patches
from stratagem.networks.weights import load_policy, weight_facts

NEAR = 2  # cells
STRETCH = 25  # turns of all games in one go
DRAWN = 16  # games of which positions are kept, to draw one
TENTHS = 10
BY_TURN = 50  # turns in one bucket


class Table(NamedTuple):
    """One game under way."""

    state: Any
    mind: Any  # of the seat that is looked into
    other: Any  # what the rival remembers
    lead: Any  # int32[2]: by how much land and army the first seat was ahead before the last turn


class Turn(NamedTuple):
    """What one turn told; with [T, B] in front, what all games did."""

    hits: Any  # bool[L, heads]: the peak of each is near the general
    belief: Any  # bool: the likeliest cell is
    chance: Any  # float32: the share of all patches that are
    possible: Any  # float32: the share of those that may still hold the general
    unseen: Any  # bool: the game is on and the general not found
    playing: Any  # bool: the game is on
    entropy: Any  # float32: of the policy


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("weights", type=Path)
    asked.add_argument("--board", default="18-24", help=f"of {', '.join(BOARDS)}, or options")
    asked.add_argument("--games", type=int, default=256)
    asked.add_argument("--rival", help="an agent; the policy itself unless given")
    asked.add_argument("--seed", type=int, default=2000)
    asked.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    asked.add_argument(
        "--metrics", nargs="*", type=Path, default=[], help="metrics.jsonl of training, in order"
    )
    asked.add_argument("--out", type=Path, default=Path("runs/attention"))
    words = asked.parse_args()
    use_compile_cache()
    words.out.mkdir(parents=True, exist_ok=True)
    game = make_game(f"generals:{BOARDS.get(words.board, words.board)}")
    senses = senses_for(game)
    looking(game, str(words.weights))  # refuses what is no patch network
    network = cast(load_policy(words.weights, senses), jnp.dtype(words.precision))
    rival = make_agent(words.rival, game) if words.rival else None
    began = time.perf_counter()
    turns, last, kept = play(game, senses, rival, network, words.games, jax.random.key(words.seed))
    facts = {
        "weights": words.weights.name,
        "summary": weight_facts(words.weights)["summary"],
        "board": game.spec.title,
        "rival": words.rival or "itself",
        "games": words.games,
        "seconds": time.perf_counter() - began,
        **judged(turns),
        **ends(game, turns, last),
        "machine": machine(),
    }
    layer, head = facts["best"]["layer"], facts["best"]["head"]
    drawn = position(game, turns, kept)
    if drawn:
        facts["drawn"] = {"game": drawn["game"], "turn": drawn["turn"]}
        size, maps = looking(game, str(words.weights))
        drawn |= {"size": size, "heat": np.asarray(maps(drawn["mind"].known, drawn["view"]))[layer, head]}
    write_json(words.out / "attention.json", facts)
    plot_attention(facts, drawn, words.out / "attention.png")
    if words.metrics:
        plot_metrics(
            [row for path in words.metrics for row in recover_lines(path)], words.out / "metrics.png"
        )
    print(json.dumps({"benchmark": "attention", **facts}), flush=True)


def play(game, senses, rival, network, games, key):
    """(Turn[T, B], the tables at the end, {turn: tables of the games that may be drawn})."""
    start_key, key = jax.random.split(key)
    seats = seats_of(games)
    other = rival or Snapshot(senses, network)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(start_key, games))
    blank = Table(states, *spread((empty_mind(game), other.memory(), jnp.zeros(2, jnp.int32)), (games,)))

    @jax.jit
    def stretch(network, tables, first):
        def turn(tables, number):
            keys = jax.random.split(jax.random.fold_in(key, number), games)
            step = partial(one_turn, game, senses, rival or Snapshot(senses, network), network)
            return jax.vmap(step)(seats, tables, keys)

        return jax.lax.scan(turn, tables, first + jnp.arange(STRETCH))

    tables, parts, kept = blank, [], {}
    for first in range(0, game.cap, STRETCH):
        kept[first] = jax.tree.map(lambda leaf: np.asarray(leaf[:DRAWN]), tables)
        tables, part = stretch(network, tables, first)
        parts.append(jax.device_get(part))
        if not parts[-1].playing[-1].any():
            break
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts), tables, kept


def seats_of(games):
    """int32[B]: the seat that is looked into; two games with each, so that both halves of the games have both."""
    return jnp.arange(games) // 2 % 2


def one_turn(game, senses, rival, network, seat, table, key):
    """(The table after a turn of one game, what it told)."""
    act_key, rival_key, step_key = jax.random.split(key, 3)
    state, legal, playing = table.state, game.legal(table.state), ~game.done(table.state)
    view, other_view = game.view(state, seat), game.view(state, 1 - seat)
    mind = look(game, table.mind, view)
    features = senses.features(senses.observe(table.mind.known, view)[1])
    chances = network(features).chances(legal[seat])
    action = jax.random.categorical(act_key, chances).astype(jnp.int32)
    answer = rival.act(table.other, other_view, legal[1 - seat], rival_key)
    actions = jnp.zeros(2, jnp.int32).at[seat].set(action).at[1 - seat].set(answer)
    told = Turn(
        *near_the_general(game, network, features, mind, view, state.generals[1 - seat]),
        unseen=playing & (mind.known.general < 0),
        playing=playing,
        entropy=-jnp.where(legal[seat], jnp.exp(chances) * chances, 0.0).sum(),
    )
    land, army = standing(state)
    after = Table(
        state=game.step(state, actions, step_key),
        mind=mind._replace(known=note_move(game, mind.known, action)),
        other=rival.remember(table.other, other_view, answer),
        lead=jnp.stack([land[0] - land[1], army[0] - army[1]]),
    )
    return jax.tree.map(lambda old, new: jnp.where(playing, new, old), table, after), told


def near_the_general(game, network, features, mind, view, general):
    """(bool[L, heads] attention, bool belief, float32 any patch, float32 any patch that may hold it)."""
    size = network.size
    maps = attention_maps(network, features)  # [L, heads, R, S]
    down, across = maps.shape[2:]
    middles = jnp.stack(jnp.meshgrid(jnp.arange(down), jnp.arange(across), indexing="ij")) * size + size // 2
    goal = jnp.stack([general // game.width, general % game.width])
    near = jnp.abs(middles.reshape(2, -1) - goal[:, None]).max(axis=0) <= NEAR  # bool[R · S]
    there = to_patches(features.present[..., None], size).any(axis=-1).reshape(-1)
    open_still = there & to_patches(mind.known.possible[..., None], size).any(axis=-1).reshape(-1)
    hits = near[jnp.argmax(maps.reshape(*maps.shape[:2], -1), axis=-1)]
    likeliest = jnp.argmax(general_chances(mind, view))
    cell = jnp.stack([likeliest // game.width, likeliest % game.width])
    shares = [(near & some).sum() / jnp.maximum(some.sum(), 1) for some in (there, open_still)]
    return hits, jnp.abs(cell - goal).max() <= NEAR, *shares


def judged(turns):
    """The best head of one half of the games, and how it and the others did in the other half."""
    games = turns.unseen.shape[1]
    chosen_on, told_on = np.arange(games) % 2 == 0, np.arange(games) % 2 == 1
    shares = by_game(turns.hits, turns.unseen)  # [B, L, heads]
    first, second = (np.nanmean(shares[half], axis=0) for half in (chosen_on, told_on))
    layer, head = np.unravel_index(np.argmax(first), first.shape)
    lengths = turns.playing.sum(axis=0)
    numbers = np.arange(len(turns.unseen))[:, None]
    tenths = np.minimum(numbers * TENTHS // np.maximum(lengths, 1), TENTHS - 1)
    buckets = {"by_tenth": tenths, "by_turn": np.broadcast_to(numbers // BY_TURN, turns.unseen.shape)}
    series = {
        "attention": turns.hits[..., layer, head],
        "belief": turns.belief,
        "any patch": turns.chance,
        "any possible patch": turns.possible,
    }
    return {
        "best": {
            "layer": int(layer),
            "head": int(head),
            "share_where_chosen": float(first[layer, head]),
            "share": float(second[layer, head]),
        },
        "heads": np.round(second, 4).tolist(),
        **{
            name: {
                one: over(bucket[:, told_on], values[:, told_on], turns.unseen[:, told_on])
                for one, values in series.items()
            }
            for name, bucket in buckets.items()
        },
    }


def by_game(values, counts):
    """float[B, …]: the mean over the turns [T, B] that count; NaN in games without any."""
    weight = counts.reshape(*counts.shape, *[1] * (values.ndim - 2))
    number = weight.sum(axis=0)
    total = np.where(weight, values, 0).sum(axis=0)
    return np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)


def over(bucket, values, counts):
    """A row for each bucket that games reached: the mean over games of their means, with its interval."""
    rows = []
    for number in np.unique(bucket[counts]):
        means = by_game(values, counts & (bucket == number))
        means = means[~np.isnan(means)]
        margin = 1.96 * means.std(ddof=1) / len(means) ** 0.5 if len(means) > 1 else 1.0
        share = float(means.mean())
        rows.append(
            {
                "bucket": int(number),
                "share": share,
                "low": max(0.0, share - margin),
                "high": min(1.0, share + margin),
                "games": len(means),
            }
        )
    return rows


def ends(game, turns, last):
    """How the games ended, when the general was found, and how certain the policy was."""
    returns = np.asarray(jax.vmap(game.returns)(last.state))[:, 0]
    ahead = (np.sign(np.asarray(last.lead)) * np.sign(returns)[:, None] > 0).sum(axis=1)
    won = returns != 0
    lengths = turns.playing.sum(axis=0)
    found = turns.unseen.sum(axis=0) < lengths
    return {
        "endings": {
            "won ahead in land and army": int((won & (ahead == 2)).sum()),
            "won ahead in one of them": int((won & (ahead == 1)).sum()),
            "won ahead in neither": int((won & (ahead == 0)).sum()),
            "undecided": int((~won).sum()),
        },
        "turns": {"median": float(np.median(lengths)), "low": int(lengths.min()), "high": int(lengths.max())},
        "found_in": float(found.mean()),
        "found_at_turn": float(np.median(turns.unseen.sum(axis=0)[found])) if found.any() else None,
        "entropy": float(turns.entropy[turns.playing].mean()),
    }


def position(game, turns, kept):
    """The position, of those that were kept, that is nearest to 60 % of its game with the general still hidden."""
    lengths, seats = turns.playing.sum(axis=0), np.asarray(seats_of(turns.playing.shape[1]))
    best = None
    for turn, tables in kept.items():
        for number in range(1, len(tables.lead), 2):  # of the half that the head was not chosen on
            if turn < len(turns.unseen) and turns.unseen[turn, number]:
                off = abs(turn / lengths[number] - 0.6)
                best = min(best or (off, turn, number), (off, turn, number))
    if best is None:
        return None
    _, turn, number = best
    table = jax.tree.map(lambda leaf: jnp.asarray(leaf[number]), kept[turn])
    seat = jnp.int32(seats[number])

    @jax.jit
    def seen(table):
        view = game.view(table.state, seat)
        mind = look(game, table.mind, view)
        return view, mind, general_chances(mind, view).reshape(game.shape)

    view, mind, belief = seen(table)
    return {
        "game": number,
        "turn": turn,
        "mind": table.mind,
        "view": view,
        "owner": np.asarray(mind.known.owner),
        "kind": np.asarray(mind.known.kind),
        "belief": np.asarray(belief),
        "general": divmod(int(table.state.generals[1 - seat]), game.width),
        "own": divmod(int(table.state.generals[seat]), game.width),
    }


if __name__ == "__main__":
    main()
