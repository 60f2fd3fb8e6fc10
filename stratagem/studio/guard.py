"""Who may talk to the studio at all: checked for every request and every websocket, before anything else is done.

- Beyond the loopback address a token is asked for, once in the address and then as a cookie.
- A page of another site cannot reach in: the Origin must be this server's own, and the Host must be one that it has.
- Requests have a size and a rate.
"""

import asyncio
import hmac
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.responses import JSONResponse, RedirectResponse

from stratagem.studio.limits import Buckets, Limits

COOKIE = "stratagem-studio"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HEADERS = [
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
     b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]  # fmt: skip


class TooLarge(Exception):
    """The body of a request goes on and on."""


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: Any, token: str, local: bool, limits: Limits):
        self.app, self.token, self.local, self.limits = app, token, local, limits
        self.rates = Buckets(limits.requests_s, 5 * limits.requests_s)
        self.sockets = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await self._refuse(scope, receive, send, *refusal)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif self.token and "token" in (query := parse_qs(scope["query_string"].decode("latin-1"))):
            await self._let_in(scope, receive, send, query["token"][0])
        else:
            await self._http(scope, receive, send)

    def _refusal(self, scope: Any, headers: dict[str, str]) -> tuple[int, str] | None:
        """(status, reason) if this is not to be answered."""
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        if self.local and host not in LOOPBACK:
            return 403, "this studio listens on the loopback address only; open it as localhost"
        origin = headers.get("origin")
        if origin and urlsplit(origin).netloc != headers.get("host"):
            return 403, "a page of another site may not talk to this studio"
        if scope["type"] == "http" and not self.rates.take(address(scope)):
            return 429, "too many requests; wait a moment"
        if self.token and not self._knows_token(scope, headers):
            return 401, "open the address that `stratagem studio` printed, with its token"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body:
            return 413, f"a request is at most {self.limits.body} bytes"
        return None

    def _knows_token(self, scope: Any, headers: dict[str, str]) -> bool:
        offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except Exception:  # whatever a client calls a cookie
            cookie = None
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        known = [one for one in (offered, cookie.value if cookie else "", bearer) if one]
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in known)

    async def _let_in(self, scope: Any, receive: Any, send: Any, token: str) -> None:
        """Keep the token as a cookie, and take it out of the address."""
        answer = RedirectResponse(scope["path"] or "/", 303)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        await answer(scope, receive, send)

    async def _http(self, scope: Any, receive: Any, send: Any) -> None:
        seen, begun = 0, False

        async def bounded() -> Any:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limits.body:
                raise TooLarge
            return message

        async def dressed(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            await send(message)

        try:
            await self.app(scope, bounded, dressed)
        except TooLarge:
            if not begun:
                await self._refuse(
                    scope, receive, send, 413, f"a request is at most {self.limits.body} bytes"
                )
        except asyncio.CancelledError:  # the server ends in the middle of a request
            if not begun:
                await self._refuse(scope, receive, send, 503, "the studio is closing")

    async def _websocket(self, scope: Any, receive: Any, send: Any) -> None:
        if self.sockets >= self.limits.connections:
            await self._refuse(scope, receive, send, 503, "too many connections")
            return
        self.sockets += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.sockets -= 1

    async def _refuse(self, scope: Any, receive: Any, send: Any, status: int, reason: str) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": reason[:100]})
            return
        await JSONResponse({"error": reason}, status)(scope, receive, send)


def address(scope: Any) -> str:
    return scope["client"][0] if scope.get("client") else "?"
