"""An S3 endpoint of its own (moto's server, which keeps objects in memory) behind a door that can be shut."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from . import Missing
from .door import Door
from .processes import LOOPBACK, answers, await_start, ended, free_port, last_of, new_password, started

_ATTEMPTS = 5
REGION = "us-east-1"
#: Errors of S3 that moto does not have by itself: it lets everybody in at any rate.
ERRORS = {
    "SlowDown": (503, "Please reduce your request rate."),
    "ExpiredToken": (400, "The provided token has expired."),
    "InvalidAccessKeyId": (403, "The AWS Access Key Id you provided does not exist in our records."),
    "SignatureDoesNotMatch": (403, "The request signature we calculated does not match the signature you provided."),
    "AccessDenied": (403, "Access Denied"),
}


@dataclass(frozen=True)
class S3:
    """An endpoint: its address, who may enter, and what may be done to it."""

    door: Door
    key_id: str
    secret: str

    @property
    def address(self) -> str:
        """The address of the endpoint."""
        return f"http://{LOOPBACK}:{self.door.port}"

    def environment(self) -> dict[str, str]:
        """The variables that clients of S3 read."""
        return {
            "AWS_ACCESS_KEY_ID": self.key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.address,
        }

    def new_bucket(self, name: str) -> str:
        """A new bucket, as the start of the addresses of what will be in it."""
        self.ask("PUT", f"/{name}")
        return f"s3://{name}/"

    def keys(self, bucket: str) -> list[str]:
        """The names of all objects of a bucket, in order."""
        found: list[str] = []
        after = ""
        while True:
            page = ElementTree.fromstring(self.ask("GET", f"/{bucket}?list-type=2{after}"))
            names = [key.text or "" for key in page.iterfind("{*}Contents/{*}Key")]
            found += names
            if page.findtext("{*}IsTruncated") != "true":
                return sorted(found)
            after = f"&start-after={names[-1]}"

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The body of an answer, past no door. Raises urllib.error.HTTPError."""
        port = self.door.target
        request = urllib.request.Request(f"http://{LOOPBACK}:{port}{path}", method=method, data=body)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return bytes(answer.read())

    def refuse(self, seconds: float | None = None, error: str | None = None) -> None:
        """Refuses connections for so many seconds, or until `start`; with one of ERRORS answers that instead."""
        if error is None:
            self.door.shut(seconds)
        else:
            self.door.answer(_refusal(error), seconds)

    def stop(self) -> None:
        """Refuses connections from now on; the objects are kept."""
        self.door.shut()

    def start(self) -> None:
        """Lets clients in again."""
        self.door.open()


def _refusal(error: str) -> bytes:
    """An answer of S3 that is an error."""
    status, message = ERRORS[error]
    body = f'<?xml version="1.0"?><Error><Code>{error}</Code><Message>{message}</Message></Error>'
    head = f"HTTP/1.1 {status} {error}\r\nContent-Type: application/xml\r\nConnection: close"
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def missing() -> str | None:
    """What there is not to run an endpoint with, in words."""
    if _program() is None:
        return (
            "moto's S3 server is not installed: there is no moto_server on PATH "
            f"or in {Path(sys.prefix).name}/s3 (requirements/s3.txt)"
        )
    return None


@contextmanager
def s3() -> Iterator[S3]:
    """An endpoint without buckets as long as the block runs. Raises Missing."""
    program = _program()
    if program is None:
        raise Missing(missing())
    with tempfile.TemporaryDirectory(prefix="aiscorr-s3-") as name:
        port, process = _started(program, Path(name) / "log")
        door = Door(port)
        try:
            yield S3(door, "test", new_password())
        finally:
            door.shut()
            ended(process)


def _started(program: Path, log: Path) -> tuple[int, subprocess.Popen[bytes]]:
    for _ in range(_ATTEMPTS):
        port = free_port()
        process = started([program, "-H", LOOPBACK, "-p", str(port)], log)
        if await_start(process, lambda port=port: answers(port), log):  # type: ignore[misc]
            return port, process
    raise RuntimeError(f"moto's server does not start:\n{last_of(log)}")


def _program() -> Path | None:
    """The server beside this Python, in the environment `s3` inside this one, or on PATH.

    moto and aistore want different releases of python-dateutil, so they can hardly be in one environment.
    """
    for folder in (Path(sys.prefix) / "bin", Path(sys.prefix) / "s3" / "bin"):
        if (folder / "moto_server").is_file():
            return folder / "moto_server"
    found = shutil.which("moto_server")
    return Path(found) if found else None
