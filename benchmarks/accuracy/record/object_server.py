"""An object server on the loopback that answers like AIStore's proxy and targets, and misbehaves on request.

The proxy redirects reads of `/v1/objects/BUCKET/NAME` to one of two targets; `/s3/BUCKET/KEY` is answered in place.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from benchmarks.accuracy.record.scenario import Fault

_PROXY, _TARGETS = "p[KwHp8080]", ("t[ChRt8081]", "t[zQdt8082]")
_ROOTS = re.compile(r"^/(v1/objects|s3)/")
_S3_CODES = {400: "ExpiredToken", 403: "AccessDenied", 404: "NoSuchKey", 503: "SlowDown"}
_S3_ERROR = "<Error><Code>{code}</Code><Message>{message}</Message><Resource>{path}</Resource></Error>"


class _Server(ThreadingHTTPServer):
    """One daemon: keeps its open connections so that it can be taken away, and closes without a farewell."""

    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False

    def __init__(self, port: int, store: ObjectStore, name: str) -> None:
        self.store, self.name = store, name
        self.stopping = threading.Event()
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def shutdown_request(self, request: Any) -> None:
        """Closes; a lingering time of zero then sends a reset instead of an end."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are no news."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection of a daemon."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        """Remembers the connection."""
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        """Forgets the connection."""
        self.server.open.discard(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """The server's own log is not part of a recording."""

    def do_HEAD(self) -> None:
        """Like GET, without the body; faults of reads spare it."""
        self._answer("head:")

    def do_GET(self) -> None:
        """Redirects, misbehaves, or answers with the object."""
        self._answer("")

    def _answer(self, method: str) -> None:
        path = unquote(urlsplit(self.path).path)
        store = self.server.store
        is_proxy = self.server.name == _PROXY
        if is_proxy and path.startswith("/v1/objects/"):
            fault = store.fault_of("proxy:" + method + path)
            if fault is None:
                self._redirect(path)
                return
        else:
            fault = store.fault_of(method + path)
        if fault is not None:
            self._misbehave(fault, path)
        elif (body := store.body_of(path)) is None:
            self._refuse(404, f"{self.server.name}: {_uname(path)} does not exist", path)
        else:
            self._send_part(body)

    def do_PUT(self) -> None:
        """Takes an object, if no fault says otherwise."""
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if (fault := self.server.store.fault_of("put:" + path)) is not None:
            self._misbehave(fault, path)
            return
        self.server.store.put(path, body)
        self._send(200, b"")

    def _redirect(self, path: str) -> None:
        url = urlsplit(self.path)
        query = f"{url.query}&" if url.query else ""
        where = f"http://127.0.0.1:{self.server.store.target_port(path)}{url.path}?{query}pid=KwHp8080"
        self.send_response(307)
        self.send_header("Location", f"{where}&utm={time.time_ns()}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_part(self, body: bytes) -> None:
        """The object, or the part of it that was asked for."""
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            self._send(200, body)
            return
        first = int(asked[1])
        last = min(int(asked[2] or len(body)), len(body) - 1)
        if first > last:
            self._send(416, b"", {"Content-Range": f"bytes */{len(body)}"})
        else:
            self._send(206, body[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{len(body)}"})

    def _refuse(self, status: int, message: str, path: str, headers: Mapping[str, str] | None = None) -> None:
        if path.startswith("/s3/"):
            code = _S3_CODES.get(status, "InternalError")
            text = _S3_ERROR.format(code=code, message=message, path=path)
        else:
            client = f"{self.client_address[0]}:{self.client_address[1]}"
            place = {"method": self.command, "url_path": path, "remote_addr": client}
            text = json.dumps({"message": message, **place, "caller": "", "node": self.server.name, "status": status})
        self._send(status, text.encode(), headers)

    def _misbehave(self, fault: Fault, path: str) -> None:
        body = self.server.store.body_of(path) or b""
        if fault.kind == "hang":
            self.server.stopping.wait()
            self.close_connection = True
        elif fault.kind == "drip":
            self._drip(body)
        elif fault.kind == "late":
            self.server.stopping.wait(fault.delay_s)
            self._send_part(body)
        elif fault.kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        elif fault.kind == "close":
            self.close_connection = True
        elif fault.kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif fault.kind == "spoil":
            self._send(200, bytes(255 - byte for byte in body))
        elif fault.kind == "status":
            self._refuse(fault.status, f"{self.server.name}: {fault.message or 'try again later'}", path, fault.headers)
        else:
            raise ValueError(f"no such fault: {fault.kind}")

    def _drip(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for at in range(len(body)):
            if self.server.stopping.wait(1.0):
                break
            self.wfile.write(body[at : at + 1])
        self.close_connection = True


class ObjectStore:
    """A proxy and two targets that hold the same objects; usable as a context."""

    def __init__(self, objects: Mapping[str, bytes], faults: Sequence[Fault] = (), first_port: int = 0) -> None:
        self._objects, self._faults = dict(objects), tuple(faults)
        self._seen: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()
        self._wanted = [first_port + step if first_port else 0 for step in range(1 + len(_TARGETS))]
        self._servers: list[_Server] = []

    def __enter__(self) -> ObjectStore:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        """Where the proxy listens."""
        return f"http://127.0.0.1:{self._wanted[0]}"

    def start(self) -> None:
        """Starts the daemons, at the ports of the last time if there was one."""
        if self._servers:
            return
        names = (_PROXY, *_TARGETS)
        for number, name in enumerate(names):
            try:
                server = _Server(self._wanted[number], self, name)
            except OSError:
                server = _Server(0, self, name)
            self._wanted[number] = server.server_address[1]
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Takes the daemons away; their open connections end."""
        for server in self._servers:
            server.stopping.set()
            server.shutdown()
            server.server_close()
            for connection in list(server.open):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._servers = []

    def fault_of(self, path: str) -> Fault | None:
        """The first fault that still holds for a path; counts the request."""
        with self._lock:
            for number, fault in enumerate(self._faults):
                if re.search(fault.path, path):
                    self._seen[number, path] += 1
                    if not fault.first or self._seen[number, path] <= fault.first:
                        return fault
        return None

    def body_of(self, path: str) -> bytes | None:
        """The object at `/v1/objects/BUCKET/NAME` or `/s3/BUCKET/KEY`."""
        return self._objects.get(re.sub(_ROOTS, "", path))

    def put(self, path: str, body: bytes) -> None:
        """Stores an object."""
        self._objects[re.sub(_ROOTS, "", path)] = body

    def target_port(self, path: str) -> int:
        """The target an object lies on."""
        return self._wanted[1 + zlib.crc32(path.encode()) % len(_TARGETS)]


def _uname(path: str) -> str:
    return "ais://" + re.sub(_ROOTS, "", path)
