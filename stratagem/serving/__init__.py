"""Batched inference with hot reload: what the studio and the analysis engine call.

In process: `Service`. Over a socket: `Server` on one side, `Client` (threads) and `AsyncClient` (asyncio) on the other.
"""

from stratagem.serving.agents import MOVER, Turn
from stratagem.serving.client import AsyncClient, Client
from stratagem.serving.errors import (
    BadRequest,
    Busy,
    Cancelled,
    Closed,
    Failed,
    Late,
    ServerGone,
    ServingError,
)
from stratagem.serving.models import Evaluation
from stratagem.serving.server import Server
from stratagem.serving.service import Service, Settings

__all__ = [
    "MOVER",
    "AsyncClient",
    "BadRequest",
    "Busy",
    "Cancelled",
    "Client",
    "Closed",
    "Evaluation",
    "Failed",
    "Late",
    "Server",
    "ServerGone",
    "Service",
    "ServingError",
    "Settings",
    "Turn",
]
