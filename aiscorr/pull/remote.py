"""Worker logs that lie on a login node, into a spool folder: first all of a file, later its new bytes.

What is here of a file is always its beginning. A file is read whole again where its head, or what stood before its new
bytes, is not what is here. A copy's path holds the host and the path there: `SPOOL/login1:/logs/7/error-0.out`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiscorr.model import WORK_PREFIX
from aiscorr.parse.path_hints import fits
from aiscorr.pull.cluster import GapError
from aiscorr.pull.spool import Spool, open_spool, read_state, write_state
from aiscorr.pull.ssh import SEEN_BYTES, Answer, Limits, RemoteFile, Wanted, list_files, read_files
from aiscorr.sources.names import printable

_STATE = f"{WORK_PREFIX}remote.json"
#: Files asked for in one call.
_CALL_FILES = 200
_CALL_BYTES = 256 << 20


@dataclass(frozen=True)
class Place:
    """Where logs lie: a host as ssh knows it, and a path there with `*`, `?`, `**` and `{job_id}`."""

    host: str
    template: str

    @property
    def folder(self) -> str:
        """The name of the host's folder in the spool."""
        return self.host.replace("[", "").replace("]", "") + ":"

    def template_in(self, spool: str) -> str:
        """What the template is for the copies in a spool."""
        return os.path.join(spool, self.folder, self.template.lstrip("/"))


@dataclass(frozen=True)
class Fetched:
    """What came: new bytes, files they are of, and what could not be had, a sentence each."""

    byte_count: int = 0
    file_count: int = 0
    problems: tuple[str, ...] = ()


def fetch(place: Place, spool_folder: str, limits: Limits, *, max_bytes: int, since_ns: int) -> Fetched:
    """Brings the copies of a place up to date: files that were written to since a moment. Raises AiscorrError."""
    with open_spool(spool_folder, max_bytes) as spool:
        try:
            files, said = list_files(place.host, place.template, limits)
        except GapError as gap:
            return Fetched(problems=(f"{place.host}:{place.template}: {gap.reason}",))
        work = _Fetch(place, spool, limits)
        problems = [f"{place.host}:{place.template}: {said}"] if said else []
        problems += work.run([one for one in files if one.modified_ns >= since_ns])
        if not said:
            work.forget({one.path for one in files})
        return Fetched(work.byte_count, work.file_count, tuple(problems))


class _Fetch:
    """One fetch from one host."""

    def __init__(self, place: Place, spool: Spool, limits: Limits) -> None:
        self._place = place
        self._spool = spool
        self._limits = limits
        self._folder = spool.folder.absolute() / place.folder
        self._folder.mkdir(exist_ok=True)
        self._state = read_state(self._folder / _STATE)
        self.byte_count = 0
        self.file_count = 0

    def run(self, files: Sequence[RemoteFile]) -> list[str]:
        """Fetches what changed; files that are not what they were are fetched whole in a second round."""
        problems: list[str] = []
        wanted = [self._wanted(one) for one in files if self._state.get(one.path) != _mark(one)]
        for _ in range(2):
            again: list[Wanted] = []
            for batch in _batches(wanted):
                try:
                    problems += self._read(batch, again)
                except (GapError, OSError) as error:
                    reason = error.reason if isinstance(error, GapError) else f"the spool: {error.strerror or error}"
                    return [*problems, f"{self._place.host}:{self._place.template}: {reason}"]
                finally:
                    write_state(self._folder / _STATE, self._state)
            wanted = again
        return problems

    def forget(self, there: Set[str]) -> None:
        """Remembers no more of the place what is not there any more."""
        is_gone = {path for path in self._state if path not in there and fits(path, self._place.template)}
        if is_gone:
            self._state = {path: mark for path, mark in self._state.items() if path not in is_gone}
            write_state(self._folder / _STATE, self._state)

    def _local(self, file: RemoteFile) -> Path:
        return self._folder / file.path.lstrip("/")

    def _wanted(self, file: RemoteFile) -> Wanted:
        path = self._local(file)
        have = path.stat().st_size if path.is_file() else 0
        return Wanted(file, have if have <= file.size else 0)

    def _read(self, batch: Sequence[Wanted], again: list[Wanted]) -> list[str]:
        """One call: each file into a part, and from there into its place once it has ended, or as far as it came."""
        problems = []
        answers = read_files(self._place.host, batch, self._limits)
        with self._spool.part() as part:
            for answer in self._answers(answers, part):
                if not answer.is_readable:
                    problems.append(f"{self._origin(answer)}: it cannot be read")
                elif not self._take(answer, part):
                    again.append(replace(answer.wanted, have_bytes=0))
                elif answer.is_whole and self._local(answer.wanted.file).stat().st_size < answer.wanted.file.size:
                    problems.append(f"{self._origin(answer)}: it ended early; the next run reads on")
        return problems

    def _answers(self, answers: Iterator[tuple[Answer, bytes]], part: Path) -> Iterator[Answer]:
        """The files as they end, their bytes in the part; also the one that was on its way when it broke off."""
        handle = part.open("wb")
        last: Answer | None = None
        try:
            for answer, content in answers:
                last = answer
                if content:
                    self._spool.take(len(content))
                    handle.write(content)
                    continue
                handle.close()
                yield answer
                self._empty(part)
                last, handle = None, part.open("wb")
        except GapError:
            handle.close()
            if last is not None:  # what came is the beginning of what was asked for
                yield last
            raise
        finally:
            handle.close()

    def _empty(self, part: Path) -> None:
        if part.exists():
            self._spool.give_back(part.stat().st_size)
            part.unlink()

    def _take(self, answer: Answer, part: Path) -> bool:
        """Puts what came in its place; False where the file is not the one whose beginning is here."""
        wanted, file = answer.wanted, answer.wanted.file
        path, overlap = self._local(file), wanted.have_bytes - wanted.start
        came = part.stat().st_size
        if wanted.have_bytes:
            with path.open("rb") as here, part.open("rb") as new:
                if here.read(min(SEEN_BYTES, wanted.have_bytes)) != answer.head:
                    return False
                here.seek(wanted.start)
                if new.read(overlap) != here.read():
                    return not answer.is_whole
            self.byte_count += self._spool.append(part, overlap, path)
        elif answer.is_whole or not path.exists():
            self._spool.publish(part, path, 0)
            self.byte_count += came
        os.utime(path, ns=(file.modified_ns, file.modified_ns))
        self.file_count += 1
        if path.stat().st_size == file.size:
            self._state[file.path] = _mark(file)
        return True

    def _origin(self, answer: Answer) -> str:
        return f"{self._place.host}:{printable(answer.wanted.file.path)}"


def _mark(file: RemoteFile) -> list[Any]:
    """What is remembered of a file that is here whole."""
    return [file.inode, file.size, file.modified_ns]


def _batches(wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    """Files of one call each: so many that a call is worth it, so few that it ends."""
    batch: list[Wanted] = []
    size = 0
    for one in wanted:
        if batch and (len(batch) >= _CALL_FILES or size >= _CALL_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.file.size - one.start
    if batch:
        yield batch
