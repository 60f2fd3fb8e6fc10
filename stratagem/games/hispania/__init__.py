"""Hispania: nations rise and fall on the Iberian Peninsula; stacks, battles, many decisions a turn."""

from stratagem.games.hispania.rules import Hispania, View
from stratagem.games.hispania.state import After, State

__all__ = ["After", "Hispania", "State", "View"]
