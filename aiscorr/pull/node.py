"""One node: its status, then of each severity the new bytes of its current log, or the archive of all that it keeps.

The archive is taken the first time and whenever the current log is another file than the one known: then it holds
the end of the old one too. Whether it is the same file is told by its last bytes, not only by its length.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiscorr.model import WORK_PREFIX, ByteStream, SourceRef, Unreadable
from aiscorr.pull.cluster import Cluster, GapError, Node, RefusedError, RotatedError
from aiscorr.pull.spool import Spool, read_state, write_state
from aiscorr.sources.read import TruncatedError, expand

SEVERITIES = ("info", "error")
STATE_NAME = f"{WORK_PREFIX}node.json"
#: Bytes that are asked for again, to see that the node's log is still the file whose beginning is here.
_OVERLAP = 4096
_LOG_NAME = re.compile(r"ais(?:target|proxy)\.[\w.-]+\.(INFO|ERROR)\.[\w.-]+", re.ASCII)
_COPY_BYTES = 1 << 20


class StoppedError(GapError):
    """The user asked to stop."""

    def __init__(self) -> None:
        super().__init__("the pull was stopped", is_node_lost=True)


@dataclass
class NodeResult:
    """What came of one node; `gaps` are (part, reason)."""

    node: Node
    sampled_at: datetime
    status: dict[str, Any] | None = None
    byte_count: int = 0
    gaps: list[tuple[str, str]] = field(default_factory=list)
    is_refused: bool = False
    is_stopped: bool = False


@dataclass
class _Unpacked:
    """The logs of an archive with their sizes, the newest of them, and what is wrong with the archive.

    `damage`: logs may be missing, and the archive is to be asked for again; `stranger`: a member is left out.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    newest: str | None = None
    damage: str | None = None
    stranger: str | None = None


class NodePull:
    """Pulls one node into its folder of the spool."""

    def __init__(
        self, cluster: Cluster, spool: Spool, folder: Path, *, limit_s: float, should_stop: Callable[[], bool]
    ) -> None:
        self._cluster = cluster
        self._spool = spool
        self._folder = folder
        self._limit_s = limit_s
        self._should_stop = should_stop
        self._state = read_state(folder / STATE_NAME)
        self._byte_count = 0
        #: Bytes of logs that have come over the network, compressed or not.
        self.arrived_count = 0

    def run(self, node: Node) -> NodeResult:
        """What could be had of the node."""
        result = NodeResult(node, datetime.now(UTC))
        parts: list[tuple[str, Callable[[], None]]] = [("node_status", lambda: self._status(result))]
        parts += [(f"{severity} log", self._log_of(node, severity)) for severity in SEVERITIES]
        self._deadline = time.monotonic() + self._limit_s
        for part, fetch in parts:
            try:
                if self._should_stop():
                    raise StoppedError
                fetch()
            except OSError as error:
                gap = GapError(f"the spool cannot be written: {error.strerror or error}", is_node_lost=True)
            except GapError as error:
                gap = error
            else:
                continue
            is_all = gap.is_node_lost and not result.status and not self._byte_count
            result.gaps.append(("all" if is_all else part, gap.reason))
            result.is_refused, result.is_stopped = isinstance(gap, RefusedError), isinstance(gap, StoppedError)
            if gap.is_node_lost:
                break
        result.byte_count = self._byte_count
        return result

    def _status(self, result: NodeResult) -> None:
        result.status, result.sampled_at = self._cluster.read_status(result.node)

    def _log_of(self, node: Node, severity: str) -> Callable[[], None]:
        def fetch() -> None:
            if not self._is_known(severity) or not self._fetch_new_bytes(node, severity):
                self._fetch_archive(node, severity)

        return fetch

    def _is_known(self, severity: str) -> bool:
        """The beginning of the node's current log is here, and nothing older is missing."""
        known = self._state.get(severity, {})
        current = known.get("current")
        return bool(known.get("is_whole") and current and (self._folder / current).is_file())

    def _fetch_new_bytes(self, node: Node, severity: str) -> bool:
        """Adds what the current log has more; False where it is another file by now."""
        path = self._folder / self._state[severity]["current"]
        size = path.stat().st_size
        with path.open("rb") as handle:
            handle.seek(max(0, size - _OVERLAP))
            tail = handle.read()
        with self._spool.part() as part:
            gap: GapError | None = None
            try:
                self._spool.write(part, self._chunks(node, severity, offset=size - len(tail)))
            except RotatedError:
                return False
            except GapError as error:  # what came before it is kept
                gap = error
            with part.open("rb") as handle:
                if part.stat().st_size >= len(tail) and handle.read(len(tail)) == tail:
                    self._byte_count += self._spool.append(part, len(tail), path)
                elif gap is None:
                    return False
        if gap is not None:
            raise gap
        return True

    def _chunks(self, node: Node, severity: str, *, offset: int = 0, is_archive: bool = False) -> Iterator[bytes]:
        asked = self._cluster.read_log(node, severity, offset=offset, is_archive=is_archive, deadline=self._deadline)
        with closing(asked) as chunks:
            for chunk in chunks:
                if self._should_stop():
                    raise StoppedError
                self.arrived_count += len(chunk)
                yield chunk

    def _fetch_archive(self, node: Node, severity: str) -> None:
        """Takes all logs that the node keeps, first to disk, then one by one."""
        with self._spool.part() as archive:
            archive.touch()
            gap: GapError | None = None
            try:
                self._spool.write(archive, self._chunks(node, severity, is_archive=True))
            except GapError as error:  # the logs that had come whole before it are kept
                gap = error
            unpacked = self._unpack(archive, severity)
        sizes, is_whole = unpacked.sizes, gap is None and unpacked.damage is None
        removed = self._state.get("removed", {})
        if is_whole:  # what the node has dropped need not be remembered
            label = f".{severity.upper()}."
            removed = {name: size for name, size in removed.items() if name in sizes or label not in name}
        self._state = {**self._state, "removed": removed, severity: {"current": unpacked.newest, "is_whole": is_whole}}
        self._folder.mkdir(parents=True, exist_ok=True)
        write_state(self._folder / STATE_NAME, self._state)
        if gap is not None:
            raise gap
        problem = unpacked.damage or unpacked.stranger
        if problem is not None:
            raise GapError(f"the archive of its logs: {problem}")
        if not sizes:
            raise GapError("it keeps no log files (log.to_stderr is on?)")

    def _unpack(self, archive: Path, severity: str) -> _Unpacked:
        """Puts the logs of an archive in their places."""
        unpacked = _Unpacked(damage=None if archive.stat().st_size else "it is empty")
        newest = (0, "")
        ref = SourceRef(str(archive), str(archive), stored_byte_count=archive.stat().st_size)
        for found in expand(ref) if unpacked.damage is None else ():
            if isinstance(found, Unreadable):
                unpacked.damage = found.reason if found.is_error else unpacked.damage
                continue
            member, stream = found
            name = (member.members or ("",))[-1]
            match = _LOG_NAME.fullmatch(name)
            if match is None or match.group(1) != severity.upper():
                unpacked.stranger = f"a member that is no {severity} log: {name[:80]!r}"
                continue
            unpacked.sizes[name], is_cut = self._take_member(stream, name, member.modified_ns)
            unpacked.damage = "it ends early" if is_cut else unpacked.damage
            newest = max(newest, (member.modified_ns, name))
        unpacked.newest = newest[1] or None
        return unpacked

    def _take_member(self, stream: ByteStream, name: str, modified_ns: int) -> tuple[int, bool]:
        """Puts a log of an archive in its place unless all of it is there; its size, and whether it was cut."""
        path = self._folder / name
        with self._spool.part() as part:
            is_cut = False
            try:
                self._spool.write(part, _read(stream))
            except TruncatedError:
                is_cut = True
            size = part.stat().st_size
            known = path.stat().st_size if path.is_file() else self._state.get("removed", {}).get(name, -1)
            if size > known or (path.is_file() and not is_cut and not _begins_with(path, part)):
                begun = path.stat().st_size if path.is_file() and _begins_with(part, path) else 0
                self._spool.publish(part, path, modified_ns)
                self._byte_count += size - begun
        return size, is_cut


def _read(stream: ByteStream) -> Iterator[bytes]:
    buffer = bytearray(_COPY_BYTES)
    with memoryview(buffer) as view:
        while count := int(stream.readinto(view) or 0):
            yield bytes(view[:count])


def _begins_with(longer: Path, shorter: Path) -> bool:
    """The one file begins with all bytes of the other."""
    left = os.path.getsize(shorter)
    if os.path.getsize(longer) < left:
        return False
    with longer.open("rb") as one, shorter.open("rb") as other:
        while left > 0:
            size = min(left, _COPY_BYTES)
            if one.read(size) != other.read(size):
                return False
            left -= size
    return True
