"""The HTTP server as tests see it: started over a database on a free port, and asked with what a client would send."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from aiscorr.config import load_settings
from aiscorr.serve.web.server import listening
from aiscorr.serve.web.settings import http_settings

TOKEN = "correct-horse-battery-staple"


@dataclass(frozen=True)
class Got:
    """An answer: status, headers with small names, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Site:
    """A server that runs, and what it has said."""

    address: str
    said: list[str] = field(default_factory=list)

    def get(self, path: str, headers: Mapping[str, str] | None = None, **given: object) -> Got:
        """What GET gives; `given` goes into the address."""
        return self.ask("GET", path + ("?" + urlencode(given) if given else ""), headers)

    def post(self, path: str, values: object, headers: Mapping[str, str] | None = None) -> Got:
        """What POST of JSON gives."""
        return self.ask("POST", path, {"Content-Type": "application/json", **(headers or {})}, json.dumps(values))

    def query(self, sql: str, **given: object) -> Got:
        """What a statement gives."""
        return self.get("/api/query", sql=sql, **given)

    def ask(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None) -> Got:
        """What one request gives, over a connection of its own."""
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        try:
            connection.request(method, path.partition("#")[0], body, {"Connection": "close", **(headers or {})})
            answer = connection.getresponse()
            return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()


@contextmanager
def site(
    db: str, folder: Path, values: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Site]:
    """The server over a database, with `[serve.http]` as given; `folder` is that of the reports."""
    settings = load_settings(db=db, config=None, environment=environment or {}, folder=str(folder))
    http = http_settings(
        {"listen": "127.0.0.1:0", "query_seconds": 30, **(values or {})}, environment or {},
        listen=None, base=str(folder), where="aiscorr.toml",
    )  # fmt: skip
    said: list[str] = []
    with listening(http, settings, str(folder / "reports"), said.append) as address:
        yield Site(address, said)
