"""`stratagem studio`"""

import secrets
import socket
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from stratagem.cli.output import log, print_json
from stratagem.core.compile_cache import use_compile_cache
from stratagem.core.errors import BadOption


@dataclass(frozen=True)
class Command:
    """Play, watch, compare and learn in the browser.

    Ctrl-C ends it; when it starts again, games go on where they were.
    """

    port: int = 8321
    """Where to listen; 0 takes a free port."""
    host: str = "127.0.0.1"
    """The address to listen on. Any other than the loopback address asks visitors for a token."""
    token: str = ""
    """What visitors must know; drawn at random unless given. Not needed on the loopback address."""
    no_browser: bool = False
    """Only print the address."""
    runs: Path = Path("runs")
    """Where tournaments and training runs are; games are kept in the folder `studio` of it."""
    json: bool = False
    """Print one JSON object with the address when ready."""

    def run(self) -> int:
        try:
            import uvicorn

            from stratagem.studio import Settings, create_app
        except ImportError as error:
            raise BadOption(f"the studio needs {error.name}; pip install 'stratagem[studio]'") from error
        use_compile_cache()
        settings = Settings(host=self.host, runs=self.runs, folder=self.runs / "studio")
        token = self.token or ("" if settings.local else secrets.token_urlsafe(18))
        settings = Settings(host=self.host, token=token, runs=self.runs, folder=self.runs / "studio")
        listening = listen(self.host, self.port)
        port = listening.getsockname()[1]
        shown = f"[{self.host}]" if ":" in self.host else self.host
        address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
        config = uvicorn.Config(
            create_app(settings),
            log_level="warning",
            ws_max_size=settings.limits.message,
            ws_max_queue=8,
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        if self.json:
            print_json({"ready": True, "address": address, "port": port})
        log.print(
            f"The studio is at {address}  (Ctrl-C ends it)", highlight=False, markup=False, soft_wrap=True
        )
        if not self.no_browser:
            threading.Timer(1.0, webbrowser.open, (address,)).start()
        uvicorn.Server(config).run(sockets=[listening])
        return 0


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound before anything else is done."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)  # who comes before the server is ready waits
    except OSError as error:
        raise BadOption(f"cannot listen on {host}, port {port}: {error.strerror}; try --port 0") from error
    return listening
