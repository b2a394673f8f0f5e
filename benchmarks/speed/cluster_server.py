"""A web server that answers a pull as a cluster does: map, status, archives of logs as files; and curl of the same.

`python -m benchmarks.speed.cluster_server FOLDER` serves what `pack` put there and prints its address.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.speed.process import REPO

WIDTH = 4


def pack(corpus: Path, folder: Path) -> int:
    """An archive of each daemon's logs, as AIStore packs them; returns how many daemons there are."""
    nodes = sorted(path for path in corpus.iterdir() if path.is_dir())
    for node in nodes:
        with tarfile.open(folder / f"{node.name}.tar.gz", "w:gz", compresslevel=5) as archive:
            for path in sorted(node.iterdir()):
                archive.add(path, arcname=path.name)
    with tarfile.open(folder / "error.tgz", "w:gz") as archive:
        head = b"Started up at 2026/11/20 02:00:00, host ais-target-0, go1.26.6 for linux/amd64\n"
        info = tarfile.TarInfo("aistarget.ais-target-0.ERROR.1120-020000.1")
        info.size = len(head)
        archive.addfile(info, io.BytesIO(head))
    return len(nodes)


class _Handler(BaseHTTPRequestHandler):
    """Files by node; HTTP/1.1 with kept connections."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def do_GET(self) -> None:
        """Answers as a proxy does."""
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        node_id = self.headers.get("Ais-Node-Id", "")
        if query["what"] == ["smap"]:
            self._send(json.dumps(_smap(self.folder)).encode())
        elif query["what"] == ["node_status"]:
            self._send(json.dumps({"snode": _snode(node_id), "tracker": {"up.ns.time": 10**13, "get.n": 5}}).encode())
        else:
            is_error = query["severity"] == ["error"]
            path = self.folder / ("error.tgz" if is_error else f"{node_id}.tar.gz")
            self._head(path.stat().st_size)
            with path.open("rb") as file:
                shutil.copyfileobj(file, self.wfile, 1 << 18)

    def _send(self, body: bytes) -> None:
        self._head(len(body))
        self.wfile.write(body)

    def _head(self, size: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def _snode(node_id: str) -> dict[str, object]:
    return {"daemon_id": node_id, "daemon_type": "target"}


def _smap(folder: Path) -> dict[str, object]:
    nodes = {
        path.name.removesuffix(".tar.gz"): _snode(path.name.removesuffix(".tar.gz")) for path in folder.glob("*.tar.gz")
    }
    return {"tmap": nodes, "pmap": {}, "proxy_si": _snode("p"), "version": "1", "uuid": "benchmark1"}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed.cluster_server", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPO)
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.terminate()
        process.wait()


def curl_command(url: str, folder: Path, out: Path) -> list[str]:
    """curl of all archives into a folder, as many at a time as pull asks for."""
    out.mkdir(exist_ok=True)
    groups = [
        f'url = "{url}/v1/reverse/daemon?what=log&severity=info&all=true"\n'
        f'header = "Ais-Node-Id: {path.name.removesuffix(".tar.gz")}"\noutput = "{out / path.name}"\n'
        for path in sorted(folder.glob("*.tar.gz"))
    ]
    config = out / "curl.txt"
    config.write_text("next\n".join(groups))
    return ["curl", "-s", "--parallel", "--parallel-max", str(WIDTH), "-K", str(config)]


if __name__ == "__main__":
    _Handler.folder = Path(sys.argv[1])
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
