"""Generals (the game of generals.io), one against one: simultaneous moves under fog of war."""

from stratagem.games.generals.board import State
from stratagem.games.generals.game import Generals, Pooled
from stratagem.games.generals.maps import Pool, make_pool, refresh
from stratagem.games.generals.rules import View

__all__ = ["Generals", "Pool", "Pooled", "State", "View", "make_pool", "refresh"]
