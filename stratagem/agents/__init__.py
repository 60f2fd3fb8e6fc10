"""Things that choose actions, and the table that names them."""

from stratagem.agents.agent import Agent
from stratagem.core.errors import UnknownName
from stratagem.core.game import Game
from stratagem.core.registry import Registry, Row, split_choice

DICE = ("generala", "yacht", "crag", "yatzy")

AGENTS: Registry[Agent] = Registry(
    "agent",
    [
        Row("random", "stratagem.agents.simple:Random", "any legal action"),
        Row(
            "greedy",
            "stratagem.agents.simple:Greedy",
            "the best score after one move",
            games=("corso", "general"),
        ),
        Row(
            "mm",
            "stratagem.agents.corso:Minimax",
            "depth-k minimax on marbles and dyed cells, sampled by score",
            games=("corso",),
        ),
        Row(
            "net",
            "stratagem.agents.network:Net",
            "a trained network without search",
            games=("corso", "general"),
        ),
        Row(
            "az",
            "stratagem.agents.network:AlphaZero",
            "AlphaZero: tree search with a trained network",
            games=("corso", "general"),
        ),
        Row(
            "perfect",
            "stratagem.agents.corso:PerfectPlayer",
            "never gives anything away, on boards that can be solved",
            games=("corso",),
        ),
        Row(
            "expectimax",
            "stratagem.agents.general:Expectimax",
            "one or two actions ahead, the mean over the dice, a hand heuristic",
            games=("general",),
        ),
        Row(
            "nemesis",
            "stratagem.agents.general_nemesis:Nemesis",
            "learned against expectimax, and expects its answers",
            games=("general",),
        ),
        Row(
            "malina",
            "stratagem.agents.dice:Malina",
            "perfect, from the solved table",
            games=("generala", "yacht"),
        ),
        Row(
            "maximus", "stratagem.agents.dice:Maximus", "the most points, on average, for itself", games=DICE
        ),
        Row("mindful", "stratagem.agents.dice:Mindful", "as if all others maximised their score", games=DICE),
        Row("joe", "stratagem.agents.dice:Joe", "goes for the nearest pattern", games=DICE),
        Row("standing-greedy", "stratagem.agents.dice:StandingGreedy", "scores most at once", games=DICE),
        Row("standing-random", "stratagem.agents.dice:StandingRandom", "scores anything at once", games=DICE),
        Row(
            "expander",
            "stratagem.agents.generals_simple:Expander",
            "takes what it can",
            games=("generals",),
        ),
        Row(
            "hunter",
            "stratagem.agents.generals_simple:Hunter",
            "expands, and walks its largest army to the likeliest general",
            games=("generals",),
        ),
        Row(
            "cascade",
            "stratagem.agents.generals_cascade:Cascade",
            "plans by priority: win, defend, expand, take castles, attack",
            games=("generals",),
        ),
        Row(
            "naive",
            "stratagem.agents.hispania_naive:Naive",
            "takes what scores most at the next count",
            games=("hispania",),
        ),
        Row(
            "historical",
            "stratagem.agents.hispania_historical:Historical",
            "goes where its nations are rewarded, garrisons, attacks when the odds are good",
            games=("hispania",),
        ),
        Row(
            "remote",
            "stratagem.serving.remote:Remote",
            "a network or agent of a running `stratagem serve`: socket=PATH,model=NAME",
            games=("corso", "general", *DICE),
        ),
        Row(
            "policy",
            "stratagem.agents.policy:Policy",
            "a network trained by PPO self-play, with memory, without search",
            games=("generals", "hispania"),
        ),
    ],
)


def make_agent(text: str, game: Game) -> Agent:
    """The agent that `name` or `name:option=value,…` stands for, ready to play this game."""
    row = AGENTS.row(split_choice(text)[0])
    if row.games and game.spec.name not in row.games:
        fitting = ", ".join(other.name for other in agents_for(game))
        raise UnknownName(f"agent {row.name!r} does not play {game.spec.name}; these do: {fitting}")
    return AGENTS.make(text, game)


def agents_for(game: Game) -> list[Row[Agent]]:
    """The rows of the agents that play a game."""
    return [row for row in AGENTS if not row.games or game.spec.name in row.games]
