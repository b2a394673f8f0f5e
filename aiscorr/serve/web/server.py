"""Runs the HTTP server in a thread of the service, from `start` to `stop`."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from aiscorr.config import Settings
from aiscorr.errors import AiscorrError, UsageError
from aiscorr.serve.ledger import ledger_path
from aiscorr.serve.reader import Reader

if TYPE_CHECKING:
    from aiscorr.serve.web.settings import HttpSettings

_GRACE_S = 3
_MOST_CONNECTIONS = 200
_BACKLOG = 128


@contextlib.contextmanager
def listening(http: HttpSettings, settings: Settings, reports: str, say: Callable[[str], None]) -> Iterator[str]:
    """Answers requests while the block runs; gives the address. Raises UsageError where it cannot listen."""
    uvicorn = _uvicorn()
    from aiscorr.serve.web.answers import site_of
    from aiscorr.serve.web.app import app
    from aiscorr.serve.web.metrics import RunCounts

    reader = Reader(settings, http.limits)
    counts = RunCounts(ledger_path(settings.base_path))
    site = site_of(reader, counts, reports, say, http.limits.at_a_time, http.token)
    listener = _listener(http)
    server = uvicorn.Server(uvicorn.Config(
        app(site, http), http="h11", loop="asyncio", ws="none", lifespan="off", log_config=None, access_log=False,
        proxy_headers=False, server_header=False, limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_S, ssl_certfile=http.cert, ssl_keyfile=http.key,
    ))  # fmt: skip
    thread = threading.Thread(target=_run, args=(server, listener, say), name="http", daemon=True)
    thread.start()
    try:
        address = _address(http, listener)
        say(f"listening on {address}")
        if http.token is not None and http.cert is None and not http.is_local:
            say("notice: the token goes over the network unencrypted; cert and key in [serve.http] encrypt it")
        yield address
    finally:
        server.should_exit = True
        reader.sandbox.close()
        thread.join(2 * _GRACE_S)
        listener.close()


def _uvicorn() -> Any:
    try:
        import starlette  # noqa: F401  (both are of the extra)
        import uvicorn
    except ImportError as error:
        raise UsageError(
            f"the HTTP server needs a package that is not installed: {error.name}",
            where="aiscorr serve --listen, or [serve.http]",
            try_this="pip install '.[serve]' in the folder of aiscorr's source",
        ) from None
    return uvicorn


def _listener(http: HttpSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((http.host, http.port))
        listener.listen(_BACKLOG)  # whoever asks at once waits for the thread to begin
    except OSError as error:
        listener.close()
        raise AiscorrError(
            f"it is not possible to listen there: {error.strerror or error}",
            where=f"{http.host}:{http.port}",
            try_this="another port with --listen HOST:PORT, or end the program that listens there",
        ) from None
    return listener


def _address(http: HttpSettings, listener: socket.socket) -> str:
    host = f"[{http.host}]" if ":" in http.host else http.host
    return f"{'https' if http.cert else 'http'}://{host}:{listener.getsockname()[1]}"


def _run(server: Any, listener: socket.socket, say: Callable[[str], None]) -> None:
    try:
        server.run(sockets=[listener])
    except Exception as error:  # the service goes on; whoever watches over it finds no /livez
        say(f"http: the server ended: {type(error).__name__}: {error}")
