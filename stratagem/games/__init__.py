"""The rules, one file (or one small folder) a game, and the table that names them."""

from stratagem.core.game import Game
from stratagem.core.registry import Registry, Row

COMPETITION = {
    "width": 21,
    "height": 21,
    "least": 18,
    "cap": 1200,
    "build": True,
    "deathtouch": 800,
    "apart": 17,
    "mountains_from": 0.24,
    "mountains_to": 0.26,
}
"""Generals as it is played in bot competitions."""

GAMES: Registry[Game] = Registry(
    "game",
    [
        Row(
            name="corso",
            where="stratagem.games.corso:Corso",
            summary="place marbles, expand them in chain reactions, own most of the board",
            variants={
                "3x3": {"width": 3, "height": 3},
                "4x3": {"width": 4, "height": 3},
                "8x8": {"width": 8, "height": 8},
                "three-players": {"width": 4, "height": 4, "players": 3},
                "four-players": {"width": 7, "height": 5, "players": 4},
            },
        ),
        Row(
            name="general",
            where="stratagem.games.general:General",
            summary="storm the General in the middle, or hold it; a die says how far",
            variants={"short": {"turns": 40}},
        ),
        Row(
            name="generala",
            where="stratagem.games.dice.rules:Generala",
            summary="five dice, ten combinations; solved",
            variants={"three-players": {"first_roll_bonus": True, "players": 3}},
        ),
        Row(
            name="yacht",
            where="stratagem.games.dice.rules:Yacht",
            summary="five dice, twelve combinations",
        ),
        Row(
            name="crag",
            where="stratagem.games.dice.rules:Crag",
            summary="three dice, thirteen combinations, one re-roll",
        ),
        Row(
            name="yatzy",
            where="stratagem.games.dice.rules:Yatzy",
            summary="five dice, fifteen combinations, a bonus for the upper ones",
        ),
        Row(
            name="generals",
            where="stratagem.games.generals.game:Generals",
            summary="armies, castles and a hidden general, both sides at once under fog (generals.io)",
            variants={
                "6x6": {
                    "width": 6,
                    "height": 6,
                    "cap": 80,
                    "castles_from": 1,
                    "castles_to": 2,
                    "apart": 4,
                },
                "build-and-deathtouch": {
                    "width": 8,
                    "height": 8,
                    "least": 6,
                    "cap": 120,
                    "apart": 5,
                    "build": True,
                    "deathtouch": 60,
                },
                "competition": COMPETITION,
            },
        ),
        Row(
            name="hispania",
            where="stratagem.games.hispania.rules:Hispania",
            summary="nations rise and fall in Iberia: growth, marches, battles, two to four players",
        ),
    ],
)


def make_game(text: str) -> Game:
    """The game that `name` or `name:option=value,…` stands for."""
    return GAMES.make(text)
