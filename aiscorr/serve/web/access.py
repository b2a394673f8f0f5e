"""Who may ask: the token, the name the server is called by, and the headers that keep a browser from helping others.

Without a token only programs of this machine can reach the server, but a web page in a browser of this machine is one
of them; so the name it asks for must be this machine's own, and what it asks for must not be for another page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response

from aiscorr.serve.web.frame import policy_of_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: What a machine that watches over the service may ask without a token.
OPEN_PATHS = ("/livez", "/readyz")
#: What another page may lead a browser to: to look, never to change.
_LOOKING = ("GET", "HEAD")
_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": policy_of_page(),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Access:
    """Lets through who may ask, and puts the headers on every answer.

    `token` None: anyone whose request names the machine itself, or `host`, the address that is listened on.
    """

    def __init__(self, app: ASGIApp, token: str | None, host: str) -> None:
        self._app = app
        self._digest = None if token is None else _digest(token.encode())
        self._names = {*_OWN_NAMES, f"[{host}]" if ":" in host else host}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        if self._digest is None:
            if _name_of(headers.get("host", "")) not in self._names:
                return _refused(421, "the request is for another host", "http://127.0.0.1, or a token")
        elif path not in OPEN_PATHS and not self._is_known(headers.get("authorization", "")):
            answer = _refused(401, "a token is needed", "Authorization: Bearer TOKEN; a browser's password, any user")
            answer.headers["WWW-Authenticate"] = 'Basic realm="aiscorr", charset="UTF-8"'
            return answer
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and (
            headers.get("sec-fetch-mode") != "navigate" or path.startswith("/api/") or method not in _LOOKING
        ):
            return _refused(403, "the request is of another site's page", "the address typed into the browser")
        return None

    def _is_known(self, authorization: str) -> bool:
        """Whether the token came with it, as such or as the password of any user."""
        scheme, _, value = authorization.partition(" ")
        given = value.strip().encode()
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(_digest(given), self._digest or b"")


def _digest(token: bytes) -> bytes:
    """Of one length whatever the token is, so that comparing tells nothing of it."""
    return hashlib.sha256(token).digest()


def _name_of(host: str) -> str:
    """The name in a Host header, without the port."""
    name, mark, port = host.lower().rpartition(":")
    return name if mark and port.isdigit() else host.lower()


def _refused(status: int, what: str, try_this: str) -> Response:
    return JSONResponse({"error": what, "try": try_this}, status)
