"""Tree search over any alternating game of perfect information."""

from stratagem.search.rules import Gumbel, Puct, Rule
from stratagem.search.tree import Evaluate, Found, search

__all__ = ["Evaluate", "Found", "Gumbel", "Puct", "Rule", "search"]
