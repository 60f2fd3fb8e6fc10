"""Tree search over any alternating game of perfect information."""

from stratagem.search.rules import Gumbel, Puct, Rule
from stratagem.search.tree import Evaluate, Found, looked_at, search

__all__ = ["Evaluate", "Found", "Gumbel", "Puct", "Rule", "looked_at", "search"]
