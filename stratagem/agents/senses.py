"""Which senses a trained policy of a game has."""

from typing import Any

from stratagem.agents.generals_senses import GeneralsSenses
from stratagem.agents.hispania_senses import HispaniaSenses
from stratagem.core.game import Game
from stratagem.networks.senses import PlainSenses, Senses

SENSES: dict[str, Any] = {"generals": GeneralsSenses, "hispania": HispaniaSenses}


def senses_for(game: Game) -> Senses:
    """How a policy sees this game."""
    return SENSES.get(game.spec.name, PlainSenses)(game)
