"""Golden playthroughs: one random game of each variant, written out, so that no rule changes unnoticed.

`python -m tests.playthroughs.playthrough NAME …` writes them anew (all that are missing, without a name). Do that only
when the rules were meant to change, and raise `version` in the game's spec with it.
"""

import sys
from pathlib import Path

import jax
import numpy as np

from stratagem.core import play
from tests.conformance.cases import CASES

FOLDER = Path(__file__).parent
SEED = 20
LONGEST = 120  # turns shown; longer games are cut


def playthrough(game):
    """The text of a playthrough."""
    init, step = jax.jit(game.init), jax.jit(game.step)
    choose = jax.jit(lambda state, key: play.random_actions(game, play.resume(game, state), key))
    facts = jax.jit(
        lambda state: (game.to_move(state), game.legal(state), game.returns(state), game.done(state))
    )
    state = init(play.turn_key(SEED, -1))
    lines = [f"game {game.spec.title}", f"ruleset {game.spec.ruleset}", f"seed {SEED}", ""]
    for turn in range(LONGEST):
        to_move, legal, returns, done = (np.asarray(part) for part in facts(state))
        lines.append(f"{turn:3} {game.write(state)}")
        if done:
            lines.append(f"    over, returns {' '.join(f'{value:+.3f}' for value in returns)}")
            break
        actions = choose(state, jax.random.fold_in(play.turn_key(SEED, turn), 1))
        chosen = np.where(to_move, np.asarray(actions), -1)
        names = [game.write_action(int(action)) if action >= 0 else "-" for action in chosen]
        lines.append(f"    legal {' '.join(map(str, legal.sum(axis=1)))}, played {' '.join(names)}")
        state = step(state, actions, play.turn_key(SEED, turn))
    return "\n".join(lines) + "\n"


def path_of(name):
    return FOLDER / f"{name}.txt"


if __name__ == "__main__":
    for name in sys.argv[1:] or [name for name in CASES if not path_of(name).exists()]:
        path_of(name).write_text(playthrough(CASES[name]), encoding="utf-8")
        print(path_of(name))
