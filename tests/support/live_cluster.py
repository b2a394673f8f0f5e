"""A cluster over real HTTP, as AIStore answers: its map, node_status, logs with offsets, archives, and its faults.

The answers are those of fixtures/rest_answers, or the recorded ones beside the repository.
"""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_httpserver import HTTPServer
from scenes import FIXTURES
from werkzeug import Request, Response

ANSWERS = FIXTURES / "rest_answers"
RECORDED = "rest-replay"
_STARTED_S = datetime(2026, 10, 5, 10, 0, tzinfo=UTC).timestamp()


@dataclass
class FakeNode:
    """A daemon: its status and, by severity, its log files in the order they were begun; `fault` is what is wrong."""

    node_id: str
    role: str
    status: dict[str, Any]
    logs: dict[str, dict[str, bytes]]
    fault: str = ""
    begun: dict[str, float] = field(default_factory=dict)

    def current(self, severity: str = "info") -> str:
        """The name of the file that is written to."""
        return list(self.logs[severity])[-1]

    def write(self, text: str, severity: str = "info") -> None:
        """Adds to the current log."""
        self.logs[severity][self.current(severity)] += text.encode()

    def rotate(self, text: str, severity: str = "info") -> None:
        """Begins another log."""
        stem = self.current(severity).rsplit(".", 2)[0]
        self.logs[severity][f"{stem}.1005-1{len(self.logs[severity])}0000.1"] = text.encode()

    def archive(self, severity: str) -> bytes:
        """All files of a severity as tar.gz, flat, as AIStore packs them."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for number, (name, data) in enumerate(self.logs[severity].items()):
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(data), int(_STARTED_S + number)
                tar.addfile(info, io.BytesIO(data))
        return packed.getvalue()


class FakeCluster:
    """Answers as a proxy does; `asked` are the node and the query of each request for a log."""

    def __init__(self, server: HTTPServer, nodes: list[FakeNode], smap: dict[str, Any]) -> None:
        self.server = server
        self.nodes = {node.node_id: node for node in nodes}
        self.smap = smap
        self.token: str | None = None
        self.asked: list[tuple[str, dict[str, str]]] = []
        #: Set to end the silence of nodes that hang and of archives that stall.
        self.is_over = threading.Event()
        self.is_stalled = threading.Event()
        server.expect_request("/v1/daemon").respond_with_handler(self._map)
        server.expect_request("/v1/reverse/daemon").respond_with_handler(self._reverse)

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return self.server.url_for("").rstrip("/")

    def log_requests(self, severity: str = "info") -> list[tuple[str, str]]:
        """(node, offset or `all` or empty) of the log requests since the last call, in the order of nodes."""
        found = [(node, query) for node, query in self.asked if query["severity"] == severity]
        self.asked = [item for item in self.asked if item[1]["severity"] != severity]
        return sorted((node, "all" if "all" in query else query.get("offset", "")) for node, query in found)

    def _map(self, request: Request) -> Response:
        return self._refusal(request) or _json(self.smap)

    def _refusal(self, request: Request) -> Response | None:
        if self.token is None or request.headers.get("Authorization") == f"Bearer {self.token}":
            return None
        return _error(401, "token required" if "Authorization" not in request.headers else "invalid token")

    def _reverse(self, request: Request) -> Response:
        node_id, query = request.headers["Ais-Node-Id"], request.args.to_dict()
        node = self.nodes.get(node_id)
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        if query["what"] == "log":
            self.asked.append((node_id, query))
        if node is None or (node.fault == "leaves" and query["what"] == "log"):
            message = f"p[x]: cannot forward request to node node {node_id} not present in Smap v15"
            return _error(404, message, tcode="errNodeNotFound")
        if node.fault == "dead":
            return Response(status=502)
        if node.fault == "hangs":
            self.is_over.wait(30)
            return Response(status=404)
        if query["what"] == "node_status":
            return _json(node.status)
        return self._log(node, query)

    def _log(self, node: FakeNode, query: dict[str, str]) -> Response:
        severity = query["severity"]
        if query.get("all") == "true":
            return Response(self._stream(node, node.archive(severity)), content_type="application/x-gzip")
        data, offset = node.logs[severity][node.current(severity)], int(query.get("offset", 0))
        if offset > len(data):
            return _error(400, f"log likely rotated (offset {offset}, size {len(data)})")
        return Response(self._stream(node, data[offset:]), content_type="text/plain; charset=utf-8")

    def _stream(self, node: FakeNode, data: bytes) -> Iterator[bytes]:
        """The bytes, in the middle of which a node stalls or goes away."""
        if node.fault == "breaks":
            yield data[: len(data) // 2]
            raise ConnectionAbortedError("the node went away")
        if node.fault == "stalls":
            yield data[: len(data) // 2]
            self.is_stalled.set()
            self.is_over.wait(30)
        else:
            yield data


def fake_cluster(server: HTTPServer) -> FakeCluster:
    """The cluster of fixtures/rest_answers."""
    smap = json.loads((ANSWERS / "smap.json").read_text())
    nodes = []
    for node_id, snode in (smap["pmap"] | smap["tmap"]).items():
        logs: dict[str, dict[str, bytes]] = {"info": {}, "error": {}}
        for path in sorted((ANSWERS / node_id).iterdir(), key=lambda path: path.name.split(".")[-2]):
            logs["info" if ".INFO." in path.name else "error"][path.name] = path.read_bytes()
        status = json.loads((ANSWERS / f"node_status-{node_id}.json").read_text())
        nodes.append(FakeNode(node_id, snode["daemon_type"], status, logs))
    return FakeCluster(server, nodes, smap)


def recorded_cluster(server: HTTPServer, folder: Path) -> str:
    """Serves the recorded answers as they are, by path, query and node; gives the address."""

    def rest(request: Request) -> Response:
        """Any other offset: the end of the log from there."""
        name = f"log-severity_{request.args['severity']}-{request.headers['Ais-Node-Id']}"
        (path,) = folder.glob(f"{name}.*.txt")
        return Response(path.read_bytes()[int(request.args["offset"]) :], content_type="text/plain; charset=utf-8")

    for entry in json.loads((folder / "index.json").read_text()):
        if "direct" in entry:
            continue
        path, _, query = entry["path"].partition("?")
        headers = {"Ais-Node-Id": entry["ais_node_id"]} if entry["ais_node_id"] else {}
        server.expect_request(
            path, query_string=dict(pair.split("=") for pair in query.split("&")), headers=headers
        ).respond_with_data((folder / entry["file"]).read_bytes(), entry["status"], content_type=entry["content_type"])
    server.expect_request("/v1/reverse/daemon").respond_with_handler(rest)
    return server.url_for("").rstrip("/")


def _json(body: object) -> Response:
    return Response(json.dumps(body), content_type="application/json; charset=utf-8")


def _error(status: int, message: str, **more: str) -> Response:
    """An error as a node words it."""
    body = {**more, "message": message, "method": "GET", "url_path": "/v1/daemon", "node": "t[x]", "status": status}
    return Response(json.dumps(body), status, content_type="application/json")
