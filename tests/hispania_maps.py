"""Maps of Hispania for tests that only look."""

from stratagem.agents.hispania_senses import HispaniaSenses
from stratagem.games.hispania import engine
from stratagem.games.hispania.rules import Hispania
from stratagem.games.hispania.state import narrow


def still(name):
    """Senses of a map whose games start before the first arrivals, so that nothing has to be compiled for it."""
    game = Hispania(name)
    game.__dict__["_first"] = narrow(engine.opening(game.tables))
    return HispaniaSenses(game)
