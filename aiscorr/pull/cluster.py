"""What is asked of a cluster: its map, a node's status, a node's logs; every failure becomes a gap with its reason.

The SDK gives the map; offsets, streams and the status of proxies it lacks, so these go through its request client.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from aiscorr.errors import AiscorrError
from aiscorr.parse.redact import redact
from aiscorr.pull.connection import Connection, open_client

if TYPE_CHECKING:
    from requests import Response

_CHUNK_BYTES = 256 * 1024
_REVERSE = "reverse/daemon"
_ROTATED = "log likely rotated"
_GATEWAY = (502, 503, 504)
_REFUSED = (401, 403)


class GapError(Exception):
    """A part of a node could not be fetched, and why; `is_node_lost`: asking it for more is of no use."""

    def __init__(self, reason: str, *, is_node_lost: bool = False) -> None:
        self.reason = reason
        self.is_node_lost = is_node_lost
        super().__init__(reason)


class RefusedError(GapError):
    """AuthN wants a token, or another one."""


class RotatedError(GapError):
    """The offset lies behind the end of the node's current log: it is another file now."""


class UnreachableError(AiscorrError):
    """The proxy that was asked does not answer; another one may."""


@dataclass(frozen=True)
class Node:
    """A daemon as the cluster map lists it; `snode` is its entry there."""

    node_id: str
    role: str
    snode: dict[str, Any]


@dataclass(frozen=True)
class ClusterMap:
    """The nodes of a cluster, its id (empty if it has none) and the map's version."""

    cluster_id: str
    version: int
    nodes: tuple[Node, ...]


class Cluster:
    """Asks a cluster through one of its proxies."""

    def __init__(self, connection: Connection, width: int) -> None:
        self._connection = connection
        self._cluster = open_client(connection, width).cluster()

    def read_map(self) -> ClusterMap:
        """The cluster map. Raises AiscorrError where the endpoint gives none."""
        from aistore.sdk.types import Smap
        from pydantic import ValidationError

        try:
            answer = self._request("daemon", {"what": "smap"}, {})
            smap = Smap.model_validate_json(answer.content)
        except GapError as gap:
            error = self.failed(gap)
            if gap.is_node_lost and not isinstance(gap, RefusedError):
                raise UnreachableError(error.what, where=error.where, try_this=error.try_this) from None
            raise error from None
        except ValidationError:
            raise AiscorrError(
                "what answers is no AIStore proxy: it gave no cluster map",
                where=self._connection.endpoint,
                try_this="the address of a proxy (gateway) with its port, not of a web page or load balancer",
            ) from None
        as_sent = json.loads(answer.content)
        nodes = tuple(
            Node(node_id, node.daemon_type, as_sent[part][node_id])
            for part, listed in (("pmap", smap.pmap), ("tmap", smap.tmap))
            for node_id, node in listed.items()
        )
        return ClusterMap(smap.uuid, smap.version, nodes)

    def failed(self, gap: GapError) -> AiscorrError:
        """The error that ends a pull which can fetch nothing."""
        if isinstance(gap, RefusedError):
            try_this = (
                "ais auth login USER -f ~/.aistoken && aiscorr pull --token-file ~/.aistoken, or AIS_AUTHN_TOKEN;"
                " the token needs the permission show-cluster"
            )
        else:
            try_this = "another proxy with --endpoint (`ais show cluster proxy` lists them), and the network to it"
        if "certificate" in gap.reason.lower():
            try_this = "the CA that signed it: --ca FILE, AIS_CLIENT_CA, or ca under [pull] in aiscorr.toml"
        return AiscorrError(
            f"the cluster gives nothing: {gap.reason}", where=self._connection.endpoint, try_this=try_this
        )

    def read_status(self, node: Node) -> tuple[dict[str, Any], datetime]:
        """A node's node_status and the moment of it by the clock of whoever answered. Raises GapError."""
        answer = self._request(_REVERSE, {"what": "node_status"}, {"Ais-Node-Id": node.node_id})
        try:
            status = json.loads(answer.content)
            if not isinstance(status, dict) or not status:
                raise ValueError("nothing in it")
        except ValueError as error:
            raise GapError(f"an answer that is no node_status: {error}") from None
        return status, _moment(answer)

    def read_log(
        self, node: Node, severity: str, *, offset: int = 0, is_archive: bool = False, deadline: float
    ) -> Generator[bytes]:
        """The node's current log from an offset on, or the archive of its retained logs, as they arrive.

        `deadline` is of time.monotonic(). Raises RotatedError, or GapError, perhaps after some of the bytes.
        """
        params = {"what": "log", "severity": severity}
        if is_archive:
            params["all"] = "true"
        if offset:
            params["offset"] = str(offset)
        answer = self._request(_REVERSE, params, {"Ais-Node-Id": node.node_id}, is_streamed=True)
        try:
            for chunk in answer.iter_content(_CHUNK_BYTES):
                yield chunk
                if time.monotonic() > deadline:
                    raise GapError(f"it took longer than {self._connection.node_s:g} s", is_node_lost=True)
        except _broken_errors() as error:
            raise GapError(f"the answer broke off: {self._words(error)}", is_node_lost=True) from None
        finally:
            answer.close()

    def _request(
        self, path: str, params: dict[str, str], headers: dict[str, str], *, is_streamed: bool = False
    ) -> Response:
        from aistore.sdk.errors import APIRequestError

        verify = self._connection.verify  # of each request: of a session, an environment variable would replace it
        try:
            answer: Response = self._cluster.client.request(
                "get", path=path, params=params, headers=headers, stream=is_streamed, verify=verify
            )
        except APIRequestError as error:
            raise _gap(error.status_code, error.message) from None
        except _broken_errors() as error:
            raise GapError(self._words(error), is_node_lost=True) from None
        return answer

    def _words(self, error: Exception) -> str:
        """What went wrong on the way, without the address and the objects of the libraries in between."""
        from requests.exceptions import ConnectTimeout, ReadTimeout, SSLError

        text = str(error)
        if isinstance(error, ConnectTimeout):
            return f"no connection within {self._connection.connect_s:g} s"
        if isinstance(error, ReadTimeout) or "Read timed out" in text:
            return f"no answer within {self._connection.read_s:g} s"
        inner = getattr(error.args[0], "reason", None) if error.args else None
        said = str(inner or text).rsplit(">: ", 1)[-1].rsplit("): ", 1)[-1]
        if isinstance(error, SSLError):
            return f"the TLS certificate: {said}"
        return redact(said)[:300]


def _broken_errors() -> tuple[type[Exception], ...]:
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    return (RequestException, HTTPError)


def _gap(status: int, body: str) -> GapError:
    """What an error answer means for the pull."""
    try:
        message = str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        message = body.strip()
    message = redact(" ".join(message.split()))[:300]
    said = f": {message}" if message else ""
    if status in _REFUSED:
        return RefusedError(f"the token is refused or missing ({status}){said}", is_node_lost=True)
    if status in _GATEWAY:
        return GapError(f"the node does not answer: {status} from the proxy{said}", is_node_lost=True)
    if status == 404 and "not present in Smap" in message:
        return GapError(f"it left the cluster map, or was taken out because it hangs{said}", is_node_lost=True)
    if status == 400 and _ROTATED in message:
        return RotatedError(message)
    return GapError(f"HTTP {status}{said}")


def _moment(answer: Response) -> datetime:
    """The Date of an answer, which is the node's clock; this host's where there is none."""
    try:
        return parsedate_to_datetime(answer.headers["Date"]).astimezone(UTC)
    except (KeyError, ValueError, TypeError):
        return datetime.now(UTC)
