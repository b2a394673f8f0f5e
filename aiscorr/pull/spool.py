"""The spool folder on disk: one pull at a time, a bound on its size, files that appear whole or grow at their end.

A file is written under a temporary name, synced and renamed. A log that grew is added to at its end, so whatever
moment a pull dies at, what is there is a beginning of the node's file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aiscorr.disk import replace_file, sync
from aiscorr.errors import AiscorrError
from aiscorr.model import WORK_PREFIX
from aiscorr.pull.cluster import GapError

_PART = f"{WORK_PREFIX}part-"
_LOCK = f"{WORK_PREFIX}pull.lock"
_COPY_BYTES = 1 << 20


class SpoolFullError(GapError):
    """The bound on the spool's size is reached."""


class SpoolBusyError(AiscorrError):
    """Another pull works in this spool."""


class Spool:
    """A spool folder that this process has locked, with the bytes that are still free in it."""

    def __init__(self, folder: str, max_bytes: int) -> None:
        self.folder = Path(folder)
        self._max_bytes = max_bytes
        self._used = sum(size for _, size in files_of(self.folder))
        self._guard = threading.Lock()
        self._part_no = 0

    def take(self, count: int) -> None:
        """Counts bytes that are about to be written. Raises SpoolFullError."""
        with self._guard:
            if self._used + count > self._max_bytes:
                used = f"{self._used:,} of {self._max_bytes:,} bytes"
                raise SpoolFullError(
                    f"the spool is full ({used}): ingest it, or a larger --max-spool", is_node_lost=True
                )
            self._used += count

    def give_back(self, count: int) -> None:
        """Bytes that are gone from the disk again."""
        with self._guard:
            self._used -= count

    @contextlib.contextmanager
    def part(self) -> Iterator[Path]:
        """A temporary name in the spool; what is still there at the end is removed."""
        with self._guard:
            self._part_no += 1
            path = self.folder / f"{_PART}{self._part_no}"
        try:
            yield path
        finally:
            with contextlib.suppress(FileNotFoundError):
                size = path.stat().st_size
                path.unlink()
                self.give_back(size)

    def write(self, path: Path, chunks: Iterable[bytes]) -> None:
        """Fills a new file. Whatever ends the chunks early, those that came are in the file."""
        with path.open("wb") as handle:
            for chunk in chunks:
                self.take(len(chunk))
                handle.write(chunk)

    def publish(self, part: Path, path: Path, modified_ns: int) -> None:
        """Puts a filled part in its place, durably; a file that was there is replaced."""
        path.parent.mkdir(parents=True, exist_ok=True)
        replaced = path.stat().st_size if path.exists() else 0
        if modified_ns:
            os.utime(part, ns=(modified_ns, modified_ns))
        sync(part)
        os.replace(part, path)
        sync(path.parent)
        self.give_back(replaced)

    def append(self, part: Path, start: int, path: Path) -> int:
        """Adds what a part holds from `start` on to the end of a file, durably; returns the bytes added."""
        count = 0
        with part.open("rb") as source, path.open("ab") as target:
            source.seek(start)
            while chunk := source.read(_COPY_BYTES):
                target.write(chunk)
                count += len(chunk)
            target.flush()
            os.fsync(target.fileno())
        with self._guard:
            self._used += count  # the part goes, these stay
        return count


def files_of(folder: Path) -> Iterator[tuple[Path, int]]:
    """The files below a spool with their sizes, in order."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            with contextlib.suppress(FileNotFoundError):
                yield path, path.stat().st_size


@contextlib.contextmanager
def open_spool(folder: str, max_bytes: int) -> Iterator[Spool]:
    """Locks a spool folder, made where it is missing, and clears what a pull that died left half done.

    Raises SpoolBusyError where another pull is at it, and AiscorrError where it cannot be written.
    """
    try:
        os.makedirs(folder, mode=0o750, exist_ok=True)
        lock = open(os.path.join(folder, _LOCK), "a+", encoding="utf-8")  # noqa: SIM115 (closed by `with` below)
    except OSError as error:
        raise AiscorrError(
            f"the spool folder cannot be written: {error.strerror}", where=folder, try_this="another folder with --out"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SpoolBusyError(
                "another pull is writing this spool folder", where=folder, try_this="wait for it to end, or --out DIR"
            ) from None
        for path, _ in list(files_of(Path(folder))):
            if path.name.startswith(_PART):
                path.unlink()
        yield Spool(folder, max_bytes)


def read_state(path: Path) -> dict[str, Any]:
    """A JSON object that `write_state` wrote; empty where there is none or it is damaged."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Writes a small JSON object, whole or not at all."""
    replace_file(path, json.dumps(state, indent=1, sort_keys=True), part=path.with_name(f"{_PART}{path.name}"))
