"""Networks that are served: a weight file, checked and compiled, that judges many positions at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from stratagem.core.errors import BadOption, DamagedFile
from stratagem.core.game import Game
from stratagem.games import make_game
from stratagem.networks.tensors import read_facts
from stratagem.networks.tiles import for_batches
from stratagem.networks.weights import load_weights
from stratagem.serving.checks import shapes_of
from stratagem.serving.ladder import Ladder, like
from stratagem.serving.lane import Batch

TILES_FROM = 4  # rows; with fewer the plain convolutions are faster


class Evaluation(NamedTuple):
    """What a network says of a position."""

    logits: np.ndarray  # float32[A]; −inf where illegal
    values: np.ndarray  # float32[P] in [−1, 1], the seat to move first, then round the table
    version: int = 1  # of the model: goes up with every reload

    @property
    def policy(self) -> np.ndarray:
        """float32[A]: probabilities over the legal actions."""
        weights = np.exp(self.logits - self.logits.max())
        return weights / weights.sum()


class Forms(NamedTuple):
    """One network in the forms in which it is computed."""

    single: Any
    batch: Any  # for TILES_FROM rows and more

    def of(self, rows: int) -> Any:
        return self.batch if rows >= TILES_FROM else self.single


def judge(forms: Forms, rows: tuple[Any, Array]) -> tuple[Array, Array]:
    """(float32[B, A] logits, −inf where illegal; float32[B, P] values)."""
    views, legals = rows
    output = jax.vmap(forms.of(len(legals)))(views)
    return jnp.where(legals, output.logits, -jnp.inf), output.values


@dataclass(frozen=True)
class Model:
    """One version of a served network, ready to answer."""

    name: str
    path: Path
    game: Game
    forms: Forms
    ladder: Ladder
    version: int

    @property
    def largest(self) -> int:
        return self.ladder.largest

    def __call__(self, questions: list[Any]) -> Batch:
        """Judge (view, legal) pairs. Equal ones are judged once: games that begin alike ask alike."""
        places: dict[tuple[bytes, ...], int] = {}
        rows: list[Any] = []
        where: list[int] = []
        for question in questions:
            name = tuple(leaf.tobytes() for leaf in jax.tree.leaves(question))
            if name not in places:
                places[name] = len(rows)
                rows.append(question)
            where.append(places[name])
        (logits, values), slots = self.ladder(self.forms, rows)
        answers = [Evaluation(logits[place], values[place], self.version) for place in where]
        return Batch(answers, len(rows), slots)


def game_of(path: Path | str, title: str = "") -> Game:
    """The game that a weight file plays; it must be named if the file plays several."""
    if title:
        return make_game(title)
    titles = list(read_facts(path).get("rulesets", {}).values())
    if not titles:
        raise DamagedFile(f"{path}: names no game")
    if len(titles) > 1:
        raise BadOption(f"{path} plays {', '.join(titles)}; say which, as in {path}@{titles[0]}")
    return make_game(titles[0])


def load_model(name: str, path: Path, game: Game, sizes: list[int], before: Model | None = None) -> Model:
    """Read, check, compile and try a weight file. The programs of `before` are used again if they fit."""
    shapes = shapes_of(game)
    network = load_weights(path, game)
    forms = Forms(network, for_batches(network, shapes.view))
    if before is not None and same_shapes(forms, before.forms) and before.ladder.sizes == sizes:
        ladder = before.ladder
    else:
        ladder = Ladder(judge, forms, (shapes.view, shapes.legal), sizes)
    model = Model(name, path, game, forms, ladder, before.version + 1 if before else 1)
    rehearse(model)
    return model


def rehearse(model: Model) -> None:
    """Have every program answer once, about the opening; they must agree with each other and be finite."""
    state = model.game.init(jax.random.key(0))
    seat = int(np.argmax(model.game.to_move(state)))
    row = jax.tree.map(np.asarray, (model.game.view(state, jnp.int32(seat)), model.game.legal(state)[seat]))
    seen = []
    for size in model.ladder.sizes:
        (logits, values), _ = model.ladder(model.forms, [row] * size)
        seen.append(np.concatenate([logits[-1][row[1]], values[-1]]))
    if not np.isfinite(seen).all():
        raise DamagedFile(
            f"{model.path}: the network answers with numbers that are not finite; train it anew"
        )
    if not np.allclose(seen, seen[0], rtol=1e-2, atol=1e-2):
        raise DamagedFile(f"{model.path}: its numbers are too large to be computed in batches; train it anew")


def same_shapes(one: Any, other: Any) -> bool:
    """Whether two networks fit the same compiled program."""
    return bool(jax.tree.flatten(like(one)) == jax.tree.flatten(like(other)))
