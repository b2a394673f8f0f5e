"""Where the HTTP server listens, who may ask it, and what a query may use: `[serve.http]`, --listen, environment."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiscorr.config import byte_count, check_keys
from aiscorr.errors import UsageError
from aiscorr.sandbox.question import Limits
from aiscorr.secret import read_secret

DEFAULT_LISTEN = "127.0.0.1:9464"
TOKEN_VARIABLE = "AISCORR_HTTP_TOKEN"
_KEYS = {
    "listen": str, "token_file": str, "cert": str, "key": str, "queries": int, "query_seconds": (int, float),
    "query_memory": str, "query_rows": int, "query_bytes": str,
}  # fmt: skip
_ADDRESS = re.compile(r"(?:\[([^\]\s]+)\]|([^:\s\[\]]+)):(\d{1,5})")
_SHORTEST_TOKEN = 16
_LEAST_MEMORY = 64 << 20


@dataclass(frozen=True)
class HttpSettings:
    """`host` and `port` to listen on, port 0 for any free one; the token that is asked for, None for none; TLS."""

    host: str
    port: int
    token: str | None = field(default=None, repr=False)
    cert: str | None = None
    key: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can reach it."""
        return _is_loopback(self.host)


def http_settings(
    values: Mapping[str, Any], environment: Mapping[str, str], *, listen: str | None, base: str, where: str
) -> HttpSettings:
    """The settings of a `[serve.http]` table; `listen` goes before it, paths are relative to `base`.

    Raises UsageError for what is wrong, and for an address that others can reach without a token being set.
    """
    limits, where = query_limits(values, where), f"{where} [serve.http]"
    named = listen or values.get("listen", DEFAULT_LISTEN)
    host, port = _address(named, "--listen" if listen else where)
    files = {
        name: os.path.abspath(os.path.join(base, os.path.expanduser(values[name])))
        for name in ("token_file", "cert", "key")
        if name in values
    }
    token = _token(files.get("token_file"), environment, where)
    if token is None and not _is_loopback(host):
        raise UsageError(
            f"{named} can be reached from other machines, and no token is set",
            where="--listen" if listen else where,
            try_this=f'token_file = "http.token" in [serve.http] (openssl rand -hex 32), {TOKEN_VARIABLE},'
            f" or {DEFAULT_LISTEN}",
        )
    _check_tls(files.get("cert"), files.get("key"), where)
    return HttpSettings(host, port, token, files.get("cert"), files.get("key"), limits)


def _address(text: str, where: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match[3]) > 65535:
        raise UsageError(f"{text!r} is no HOST:PORT", where=where, try_this=f"{DEFAULT_LISTEN} or [::1]:9464")
    return match[1] or match[2], int(match[3])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _token(path: str | None, environment: Mapping[str, str], where: str) -> str | None:
    """The token: of the environment, else of the file that it or the table names."""
    token, place = environment.get(TOKEN_VARIABLE), TOKEN_VARIABLE
    path = environment.get(f"{TOKEN_VARIABLE}_FILE") or path
    if not token and path is None:
        return None
    if not token and path is not None:
        token, place = read_secret(path, "token", where), path
    if not token or len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"a token is {_SHORTEST_TOKEN} characters or more, without spaces",
            where=place,
            try_this="openssl rand -hex 32",
        )
    return token


def _check_tls(cert: str | None, key: str | None, where: str) -> None:
    if bool(cert) != bool(key):
        raise UsageError("a certificate needs its key, and a key its certificate", where=where, try_this="cert and key")
    if cert is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key, password=lambda: "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise UsageError(
            f"no certificate or key that can be used: {error}",
            where=f"{where} {cert}",
            try_this="PEM files; the key without password",
        ) from None


def query_limits(values: Mapping[str, Any], where: str) -> Limits:
    """What a query may use, as a `[serve.http]` table says. Raises UsageError."""
    check_keys({"http": values}, {"http": dict}, f"{where} [serve]")
    where = f"{where} [serve.http]"
    check_keys(values, _KEYS, where)
    default = Limits()
    memory = byte_count(values["query_memory"], where) if "query_memory" in values else default.memory_bytes
    limits = Limits(
        seconds=float(values.get("query_seconds", default.seconds)),
        memory_bytes=memory,
        row_count=values.get("query_rows", default.row_count),
        byte_count=byte_count(values["query_bytes"], where) if "query_bytes" in values else default.byte_count,
        at_a_time=values.get("queries", default.at_a_time),
    )
    if min(limits.seconds, limits.row_count, limits.byte_count, limits.at_a_time) <= 0:
        raise UsageError("a limit of queries must be greater than 0", where=where, try_this="correct it")
    if limits.memory_bytes < _LEAST_MEMORY:
        raise UsageError("'query_memory' must be 64MiB or more", where=where, try_this='query_memory = "512MiB"')
    return limits
