"""Ratings from results: Bradley–Terry strengths with draws (Davidson), fitted jointly, on the 400-point scale.

A win of i over j has probability πᵢ / (πᵢ + πⱼ + ν·√(πᵢ·πⱼ)), a draw ν·√(πᵢ·πⱼ) over the same sum, with ν common to
all pairs. Strengths are maximum likelihood, intervals come from the observed information, and one player, the
anchor, has rating zero by definition. The likelihood has no maximum when a player (or a group) took nothing
from the rest or gave nothing to it: such players are outside the measurable range and get a one-sided bound.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from stratagem.core.errors import BadOption

SCALE = 400 / math.log(10)
NORMAL95 = 1.959963984540054


@dataclass(frozen=True)
class Rating:
    """One row of a rating list."""

    name: str
    rating: float | None
    """Against the anchor; None outside the measurable range."""
    low: float | None
    high: float | None
    """The 95 % interval; outside the measurable range one end is a bound and the other is None."""
    range: Literal["measured", "anchor", "above", "below", "unconnected"]
    games: int
    score: float
    """Points per game, a draw being half a point."""


def pair_results(names: list[str], results: list[tuple[str, str, float]]) -> np.ndarray:
    """float[3, N, N] from (one, other, score of one): wins, draws and losses of row against column."""
    index = {name: i for i, name in enumerate(names)}
    counts = np.zeros((3, len(names), len(names)))
    for one, other, score in results:
        outcome = 0 if score > 0.5 else 2 if score < 0.5 else 1
        counts[outcome, index[one], index[other]] += 1
        counts[2 - outcome, index[other], index[one]] += 1
    return counts


def rate(names: list[str], results: list[tuple[str, str, float]], anchor: str) -> list[Rating]:
    """Ratings of all, best first, from results (one, other, score of one in {0, ½, 1})."""
    if anchor not in names:
        raise BadOption(f"the anchor {anchor!r} is not one of the players: {', '.join(names)}")
    counts = pair_results(names, results)
    wins, draws, _ = counts
    games = counts.sum(axis=(0, 2))
    points = (wins + draws / 2).sum(axis=1)
    took = csr_matrix((wins + draws > 0).astype(int))  # an edge from each player to those it took points from
    _, groups = connected_components(took, connection="strong")
    zero = names.index(anchor)
    measured = np.flatnonzero(groups == groups[zero])
    theta, errors, nu = _fit(counts[:, measured[:, None], measured], int(np.flatnonzero(measured == zero)[0]))
    strength = dict(zip(measured.tolist(), theta.tolist(), strict=True))
    rows = []
    reach = _reaches(wins + draws > 0)
    for i, name in enumerate(names):
        score = points[i] / games[i] if games[i] else 0.0
        if i in strength:
            place = int(np.flatnonzero(measured == i)[0])
            value, margin = SCALE * theta[place], SCALE * NORMAL95 * errors[place]
            kind: Literal["measured", "anchor"] = "anchor" if i == zero else "measured"
            row = Rating(name, value, value - margin, value + margin, kind, int(games[i]), score)
        elif reach[i, zero] and not reach[zero, i]:
            bound = _bound(counts[:, i], strength, nu, above=True)
            row = Rating(name, None, bound, None, "above", int(games[i]), score)
        elif reach[zero, i] and not reach[i, zero]:
            bound = _bound(counts[:, i], strength, nu, above=False)
            row = Rating(name, None, None, bound, "below", int(games[i]), score)
        else:
            row = Rating(name, None, None, None, "unconnected", int(games[i]), score)
        rows.append(row)
    order = {"above": 2, "measured": 1, "anchor": 1, "unconnected": 0, "below": -1}
    return sorted(rows, key=lambda row: (order[row.range], row.rating or 0.0, row.score), reverse=True)


def expected_score(difference: float, nu: float = 0.0) -> float:
    """The score per game of a player rated `difference` points above the other."""
    half = difference / SCALE / 2
    win, loss, draw = math.exp(half), math.exp(-half), nu
    return (win + draw / 2) / (win + loss + draw)


def wilson(points: float, games: float) -> tuple[float, float]:
    """95 % interval of a score per game (exact for wins and losses; wider than needed with draws)."""
    if not games:
        return 0.0, 1.0
    share, z2 = points / games, NORMAL95**2
    middle = (share + z2 / (2 * games)) / (1 + z2 / games)
    margin = NORMAL95 * math.sqrt(share * (1 - share) / games + z2 / (4 * games**2)) / (1 + z2 / games)
    return max(0.0, middle - margin), min(1.0, middle + margin)


def _fit(counts: np.ndarray, zero: int) -> tuple[np.ndarray, np.ndarray, float]:
    """(log strengths, their standard errors, ν) with player `zero` at zero."""
    wins, draws, _ = counts
    size = len(wins)
    drawn = bool(draws.any())
    free = [i for i in range(size) if i != zero]
    if not free:
        return np.zeros(1), np.zeros(1), 0.0

    def unpack(point: np.ndarray) -> tuple[np.ndarray, float]:
        theta = np.zeros(size)
        theta[free] = point[: len(free)]
        return theta, float(point[-1]) if drawn else -np.inf

    def terms(point: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P(win), P(draw), P(loss) of row against column."""
        theta, log_nu = unpack(point)
        half = (theta[:, None] - theta[None, :]) / 2
        logits = np.stack([half, np.full_like(half, log_nu), -half])
        logits -= logits.max(axis=0)
        weights = np.exp(logits)
        win, draw, loss = weights / weights.sum(axis=0)
        return win, draw, loss

    upper = np.triu(np.ones((size, size)), 1)  # every pair once

    def loss_and_slope(point: np.ndarray) -> tuple[float, np.ndarray]:
        win, draw, loss = terms(point)
        tiny = 1e-300
        log = wins * np.log(win + tiny) + wins.T * np.log(loss + tiny)
        if drawn:
            log = log + draws * np.log(draw + tiny)
        games = wins + wins.T + draws
        # d log / d theta_row: half the score difference seen minus expected.
        slope = (wins - wins.T - games * (win - loss)) / 2
        by_player = (slope * upper).sum(axis=1) - (slope * upper).sum(axis=0)
        gradient = by_player[free]
        if drawn:
            gradient = np.append(gradient, ((draws - games * draw) * upper).sum())
        return -float((log * upper).sum()), -gradient

    first = np.zeros(len(free) + drawn)
    best = minimize(loss_and_slope, first, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    step = 1e-4
    columns = [
        (loss_and_slope(best.x + step * unit)[1] - loss_and_slope(best.x - step * unit)[1]) / (2 * step)
        for unit in np.eye(len(best.x))
    ]
    information = np.array(columns)
    covariance = np.linalg.pinv((information + information.T) / 2)
    theta, log_nu = unpack(best.x)
    errors = np.zeros(size)
    errors[free] = np.sqrt(np.maximum(np.diag(covariance)[: len(free)], 0))
    return theta, errors, math.exp(log_nu)


def _reaches(edges: np.ndarray) -> np.ndarray:
    """bool[N, N]: whether a path of edges leads from row to column."""
    reach = edges | np.eye(len(edges), dtype=bool)
    for middle in range(len(edges)):
        reach |= reach[:, middle, None] & reach[None, middle]
    return reach


def _bound(counts: np.ndarray, strength: dict[int, float], nu: float, *, above: bool) -> float | None:
    """The rating at which a one-sided record against measured players had a chance of 5 %."""
    games = {j: counts[:, j].sum() for j in strength if counts[:, j].sum()}
    if not games:
        return None
    sign = 1 if above else -1

    def surprise(theta: float) -> float:
        log = 0.0
        for j, number in games.items():
            half = sign * (theta - strength[j]) / 2
            top = max(half, -half)
            total = math.exp(half - top) + nu * math.exp(-top) + math.exp(-half - top)
            log += number * (half - top - math.log(total))
        return log - math.log(0.05)

    return SCALE * float(brentq(surprise, -200, 200))
