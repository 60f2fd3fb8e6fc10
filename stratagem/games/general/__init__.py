"""GENERAL: one side storms the General in the middle, the other holds it; a die says how far."""

from stratagem.games.general.rules import After, General, State

__all__ = ["After", "General", "State"]
