"""Who can be played against: the agents of each game from weak to strong, in plain words, and what some lack."""

from typing import Any

from stratagem.agents import DICE, agents_for
from stratagem.agents.readiness import Unsolved, check_ready
from stratagem.core.errors import StratagemError
from stratagem.core.game import Game
from stratagem.core.registry import split_choice
from stratagem.studio.shelf import Shelf

STRENGTHS: dict[str, tuple[tuple[str, str], ...]] = {
    "corso": (
        ("random", "random"),
        ("very easy", "greedy"),
        ("beginner", "mm:depth=1"),
        ("easy", "mm:depth=2"),
        ("fair", "mm:depth=3"),
        ("strong", "mm:depth=5,temperature=0"),
        ("network alone", "net"),
        ("AlphaZero", "az:simulations=100"),
        ("AlphaZero, thinking longer", "az:simulations=400"),
        ("perfect", "perfect"),
    ),
    "general": (
        ("random", "random"),
        ("easy", "greedy"),
        ("fair", "expectimax:depth=1"),
        ("strong", "expectimax:depth=2"),
        ("network alone", "net"),
        ("AlphaZero", "az:simulations=100"),
        ("learned against strong", "nemesis"),
    ),
    "generals": (
        ("random", "random"),
        ("easy", "expander"),
        ("fair", "hunter"),
        ("strong", "cascade"),
        ("trained by self-play", "policy"),
    ),
    "hispania": (
        ("random", "random"),
        ("easy", "naive"),
        ("fair", "historical"),
        ("trained by self-play", "policy"),
    ),
    **dict.fromkeys(
        DICE,
        (
            ("random", "random"),
            ("scores anything at once", "standing-random"),
            ("never rolls again", "standing-greedy"),
            ("fair", "joe"),
            ("strong", "maximus"),
            ("very strong", "mindful"),
            ("perfect", "malina"),
        ),
    ),
}
"""Per game: the opponents that a page offers, weakest first."""

WORDS = {
    "mm:depth=1": "looks one move ahead",
    "mm:depth=2": "looks two moves ahead",
    "mm:depth=3": "looks three moves ahead",
    "mm:depth=5,temperature=0": "looks five moves ahead and never errs there",
    "az:simulations=100": "a trained network that tries a hundred continuations",
    "az:simulations=400": "a trained network that tries four hundred continuations",
    "expectimax:depth=1": "the best on average after its own move",
    "expectimax:depth=2": "the best on average after your answer",
    "malina": "perfect, from the solved game: nobody beats it in the long run",
}
"""What an opponent does, where its row among the agents does not say it well."""

QUICK_CELLS = 16  # Corso boards up to this size are solved at once; 25 cells take half a minute of one core


def offers(game: Game, shelf: Shelf) -> list[dict[str, Any]]:
    """Everybody who plays a game here, weakest first; who is not ready says why, and what to do about it."""
    summaries = {row.name: row.summary for row in agents_for(game)}
    found = []
    for label, agent in STRENGTHS.get(game.spec.name, (("random", "random"),)):
        name = split_choice(agent)[0]
        if name not in summaries:
            continue
        try:
            check_ready(agent, game)
            lack = ""
        except Unsolved as error:
            lack = str(error)
        except StratagemError:  # not for this board, or nobody has trained it
            continue
        words = WORDS.get(agent, summaries[name]) + waiting(name, game)
        found.append({"label": label, "agent": agent, "words": words, "ready": not lack, "why": lack})
    return found + [trained(one.name, one.policy, one.network) for one in shelf.playing(game)]


def trained(name: str, policy: bool, network: str) -> dict[str, Any]:
    """The offer of a weight file."""
    agent = f"policy:weights={name}" if policy else f"az:simulations=100,weights={name}"
    words = f"the network of training run {name.split('/')[0]} ({network.split(':')[0]})"
    return {"label": "trained here", "agent": agent, "words": words, "ready": True, "why": ""}


def waiting(name: str, game: Any) -> str:
    """A word of warning about an opponent that thinks long."""
    slow = name == "perfect" and game.cells > QUICK_CELLS
    return "; on this board it may think for a minute before its first move" if slow else ""
