"""Has a statement answered by a process of its own: starts it, hands it the question, bounds it, takes the answer.

The statement goes over stdin, never into the arguments, which others on the machine can read; nothing of the
environment goes with it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aiscorr.errors import DatabaseError, QueryError
from aiscorr.sandbox.question import MOST_SQL_BYTES, Answer, LimitError, Limits, Question
from aiscorr.store.database import check_there

_COMMAND = (sys.executable, "-P", "-s", "-B", "-m", "aiscorr.sandbox")
_HEAD_BYTES = 1 << 20
_SAID_BYTES = 4096
_BLOCK = 1 << 16
_ENDED_BY_TIME = (-signal.SIGALRM, -signal.SIGXCPU)


class Sandbox:
    """Answers questions about a database within limits; usable by several threads."""

    def __init__(self, db_path: str, limits: Limits) -> None:
        self.limits = limits
        self._db_path = os.path.abspath(db_path)
        self._free = threading.BoundedSemaphore(limits.at_a_time)
        self._guard = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    def ask(self, question: Question, db_path: str | None = None) -> Answer:
        """The answer. Raises QueryError for a statement that is refused or fails, LimitError, DatabaseError.

        `db_path`: the database to ask where it is another one.
        """
        path = os.path.abspath(db_path or self._db_path)
        check_there(path)
        if len(question.sql.encode("utf-8", "surrogatepass")) > MOST_SQL_BYTES:
            raise LimitError("size", f"the statement is longer than {MOST_SQL_BYTES:,} bytes", "a shorter one")
        if not self._free.acquire(blocking=False):
            raise LimitError("count", f"{self.limits.at_a_time} queries are running already", "again in a moment")
        try:
            return self._answer(question, path)
        finally:
            self._free.release()

    def close(self) -> None:
        """Ends the statements that run; none is answered any more."""
        with self._guard:
            self._is_closed = True
            for process in self._running:
                process.kill()

    def _answer(self, question: Question, path: str) -> Answer:
        limits = self.limits
        wanted = limits.row_count if question.row_count is None else max(question.row_count, 0)
        row_limit = min(wanted, limits.row_count)
        asked = {
            **asdict(question), "db_path": path, "row_count": row_limit,
            "seconds": limits.seconds, "memory_bytes": limits.memory_bytes, "byte_count": limits.byte_count,
        }  # fmt: skip
        with os.fdopen(os.memfd_create("question"), "w+b") as stdin:
            stdin.write(json.dumps(asked).encode())
            stdin.seek(0)
            process = self._started(stdin)
            try:
                ended = _output(process, time.monotonic() + limits.seconds, limits.byte_count + _HEAD_BYTES)
            finally:
                self._end(process)
        if self._is_closed:
            raise self._reached("closed")
        if ended is None:
            raise self._reached("time")
        head, body = _head(ended[0])
        if head is None:
            raise self._died(process.returncode, ended[1])
        if head.get("limit"):
            raise self._reached(head["limit"])
        if "what" in head:
            kind = DatabaseError if head["is_database"] else QueryError
            raise kind(head["what"], where=head["where"], try_this=head["try"])
        return Answer(
            question.form, tuple(head["columns"]), tuple(head["types"]), head["row_count"], row_limit,
            head["is_complete"], body,
        )  # fmt: skip

    def _started(self, stdin: Any) -> subprocess.Popen[bytes]:
        with self._guard:
            if self._is_closed:
                raise self._reached("closed")
            process = subprocess.Popen(
                _COMMAND, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                env=_environment(), start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with self._guard:
            self._running.discard(process)
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def _reached(self, limit: str) -> LimitError:
        limits = self.limits
        what, try_this = {
            "time": (f"the query took longer than {limits.seconds:g} s", "a narrower one: a failure, a node, a time"),
            "memory": (f"the query needs more than {limits.memory_bytes >> 20} MiB", "fewer rows or columns at once"),
            "size": (f"the answer is larger than {limits.byte_count:,} bytes", "fewer columns, or LIMIT"),
            "closed": ("the service is stopping", "again when it is back"),
        }[limit]
        return LimitError(limit, what, try_this)

    def _died(self, code: int, said: bytes) -> Exception:
        """What to make of a process that ended without an answer."""
        if code in _ENDED_BY_TIME:
            return self._reached("time")
        if code < 0 or b"bad_alloc" in said or b"MemoryError" in said:
            return self._reached("memory")
        last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
        return DatabaseError(
            f"the process of the query ended with exit code {code}: {''.join(last)}",
            where="aiscorr.sandbox", try_this="aiscorr query with the same statement",
        )  # fmt: skip


def _environment() -> dict[str, str]:
    """Where modules are, and nothing else of the service's own.

    Arrow's own allocator would reserve more addresses at once than the process may have.
    """
    places = [str(Path(__file__).resolve().parents[2]), *(path for path in sys.path if os.path.isabs(path))]
    paths = os.pathsep.join(dict.fromkeys(places))
    return {"PYTHONPATH": paths, "HOME": "/", "LC_ALL": "C.UTF-8", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def _output(process: subprocess.Popen[bytes], end: float, most: int) -> tuple[bytes, bytes] | None:
    """Both outputs of a process that has ended; None for one that had not at `end`, or says more than it may."""
    found = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in found:
            selector.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]
        while selector.get_map():
            left = end - time.monotonic()
            if left <= 0 or len(found[process.stdout]) > most:
                return None
            for key, _ in selector.select(left):
                block = os.read(key.fd, _BLOCK)
                if not block:
                    selector.unregister(key.fileobj)
                held = found[key.fileobj]  # type: ignore[index]
                held += block
    try:
        process.wait(max(end - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return None
    return bytes(found[process.stdout]), bytes(found[process.stderr][-_SAID_BYTES:])


def _head(output: bytes) -> tuple[dict[str, Any] | None, bytes]:
    """The first line of an answer as values, and what stands below it."""
    line, mark, body = output.partition(b"\n")
    try:
        return (json.loads(line), body) if mark else (None, b"")
    except ValueError:
        return None, b""
