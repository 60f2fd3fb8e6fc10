"""What a seat of Generals knew in a recorded game, worked out in the process in which agents think."""

from collections import OrderedDict
from typing import Any

from stratagem.analysis.sight import Sight
from stratagem.protocols import replay as replays

MOST = 4  # games that are kept ready

_sights: OrderedDict[tuple[str, int], Sight] = OrderedDict()


def see(name: str, content: dict[str, Any], seat: int, turn: int, weights: str | None) -> dict[str, Any]:
    """Beliefs of a turn, row by row, and where the network of a weight file looked, if one is given ("" is shipped)."""
    sight = _sights.pop((name, seat), None) or made(content, seat)
    _sights[name, seat] = sight
    while len(_sights) > MOST:
        _sights.popitem(last=False)
    found: dict[str, Any] = {"turn": turn, "seat": seat, "attention": None}
    found["belief"] = [[round(float(share), 4) for share in row] for row in sight.belief(turn)]
    if weights is not None:
        patch, maps = sight.attention(turn, weights)
        found["attention"] = {"patch": patch, "maps": maps.round(4).astype(float).tolist()}
    return found


def made(content: dict[str, Any], seat: int) -> Sight:
    replay = replays.parse(content, "the replay")
    game = replay.rules()
    return Sight(game, list(replays.positions(replay, game)), replay.actions, seat)
