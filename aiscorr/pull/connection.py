"""How a cluster is reached: endpoint, token, TLS and time limits; and the SDK's client made of them."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiscorr.errors import UsageError
from aiscorr.secret import read_secret

if TYPE_CHECKING:
    from aistore.sdk import Client
    from aistore.sdk.retry_config import RetryConfig

_TRIES = 2
_PAUSE_S = 0.5


@dataclass(frozen=True)
class Connection:
    """What a client of a cluster is made of. `client_cert` is (certificate, key); times in seconds."""

    endpoint: str
    token: str | None = field(default=None, repr=False)
    ca: str | None = None
    client_cert: tuple[str, str] | None = None
    is_verified: bool = True
    connect_s: float = 3.0
    read_s: float = 20.0
    node_s: float = 600.0

    @property
    def verify(self) -> bool | str:
        """As `requests` takes it: the file of the CA, True for the system's, False for none."""
        return (self.ca or True) if self.is_verified else False


def check_endpoint(endpoint: str) -> str:
    """The address of a proxy without a path. Raises UsageError where it is none, or holds a password."""
    parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{endpoint!r} is no address of a proxy", where="the endpoint", try_this="--endpoint http://proxy-0:51080"
        )
    if parts.username or parts.password:
        raise UsageError(
            "an endpoint holds no user and no password",
            where=f"{parts.scheme}://…@{parts.hostname}",
            try_this="a token: AIS_AUTHN_TOKEN, or --token-file FILE",
        )
    return f"{parts.scheme}://{parts.netloc}"


def read_token(path: str) -> str:
    """The token in a file, bare or as the `ais` CLI keeps it (`{"token": …}`).

    Raises UsageError where others may read the file, or no token is in it.
    """
    text = read_secret(path, "token")
    if text.startswith("{"):
        try:
            text = str(json.loads(text).get("token") or "")
        except ValueError:
            text = ""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise UsageError("there is no token in the file", where=path, try_this=f"ais auth login USER -f {path}")
    return text


def check_tls(connection: Connection) -> None:
    """Raises UsageError for a certificate, key or CA that cannot be used."""
    import ssl

    cert, key = connection.client_cert or (None, None)
    for path in (connection.ca, cert, key):
        if path is not None and not os.access(path, os.R_OK):
            raise UsageError("the file cannot be read", where=path, try_this="check the path and its permissions")
    context = ssl.create_default_context()
    path = connection.ca or ""
    try:
        if connection.ca and os.path.isfile(connection.ca):
            context.load_verify_locations(connection.ca)
        if cert is not None:
            path = cert
            context.load_cert_chain(cert, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            f"no certificate or key that can be used: {error}",
            where=path,
            try_this="PEM files; the key without password",
        ) from None


def open_client(connection: Connection, width: int) -> Client:
    """The SDK's client with few retries: what does not answer is a gap, and the next pull asks again.

    `width`: connections at a time. The SDK's own retries would wait minutes for a node that is dead.
    """
    from aistore.sdk import Client
    from urllib3 import disable_warnings
    from urllib3.exceptions import InsecureRequestWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that TLS is not verified is said by the command line
        client = Client(
            connection.endpoint,
            skip_verify=not connection.is_verified,
            ca_cert=connection.ca,
            client_cert=connection.client_cert,
            timeout=(connection.connect_s, connection.read_s),
            retry_config=_few_retries(),
            token=connection.token,
            max_pool_size=width,
        )
    if not connection.is_verified:
        disable_warnings(InsecureRequestWarning)
    client.cluster().client.session_manager.session.auth = _as_it_is
    return client


def _few_retries() -> RetryConfig:
    """Once more for a node that is busy, and for a connection that broke."""
    from aistore.sdk.retry_config import RetryConfig
    from requests.exceptions import ConnectionError as BrokenError
    from requests.exceptions import ConnectTimeout, SSLError
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_fixed
    from urllib3.util.retry import Retry

    def is_worth_it(error: BaseException) -> bool:
        """An idle connection that the node had closed looks like this once; asking again costs nothing."""
        return isinstance(error, BrokenError) and not isinstance(error, ConnectTimeout | SSLError)

    busy = Retry(
        total=_TRIES, connect=0, read=False, other=0, status=_TRIES, status_forcelist=[429, 503],
        backoff_factor=_PAUSE_S, raise_on_status=False, respect_retry_after_header=False,
    )  # fmt: skip
    broken = Retrying(
        stop=stop_after_attempt(_TRIES), wait=wait_fixed(_PAUSE_S), retry=retry_if_exception(is_worth_it), reraise=True
    )
    return RetryConfig(http_retry=busy, network_retry=broken)


def _as_it_is(request: object) -> object:
    """Keeps `requests` from putting a password of ~/.netrc in the place of the token."""
    return request
