"""Tree search over any alternating game of perfect information."""

from stratagem.search.rules import Gumbel, Puct, Rule
from stratagem.search.tree import Evaluate, Found, Growing, grow, looked_at, plant, search

__all__ = ["Evaluate", "Found", "Growing", "Gumbel", "Puct", "Rule", "grow", "looked_at", "plant", "search"]
