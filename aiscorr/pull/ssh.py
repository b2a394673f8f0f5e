"""Talks to the shell of another host through the user's own `ssh`: which files are there, and bytes of several of them.

What is sent is a script for `/bin/sh` with GNU find, tail, head, gzip and base64; nothing has to be installed there.
Bytes come compressed as base64, so that no content and no break of the line can be taken for something else.
"""

from __future__ import annotations

import binascii
import contextlib
import os
import select
import shlex
import signal
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from aiscorr.parse.path_hints import fits
from aiscorr.parse.redact import redact
from aiscorr.pull.cluster import GapError

_BEGIN = b"aiscorr-begin\n"
CONNECT_S = 10
_UNREACHED = 255
_POLL_S = 0.3
_CHUNK_BYTES = 1 << 16
_MOST_LISTED_BYTES = 64 << 20
#: Of base64, a multiple of 4.
_LINE_CHARS = 16384
_GZIP = 16 + zlib.MAX_WBITS
#: Bytes at a file's beginning, and before its new ones, that tell whether it is still the file whose beginning is here.
SEEN_BYTES = 4096


@dataclass(frozen=True)
class RemoteFile:
    """A file of another host: its path there, and what tells whether it has changed."""

    path: str
    inode: int
    size: int
    modified_ns: int


@dataclass(frozen=True)
class Wanted:
    """A file that is to be read up to `size`; `have_bytes` of it are here, 0 where all of it is wanted."""

    file: RemoteFile
    have_bytes: int = 0

    @property
    def start(self) -> int:
        """Where reading begins: a little before what is missing."""
        return max(0, self.have_bytes - SEEN_BYTES)


@dataclass(frozen=True)
class Limits:
    """How long a host may say nothing, and how long a call may take, in seconds; whether to stop at once."""

    silent_s: float
    call_s: float
    should_stop: Callable[[], bool]


def list_files(host: str, template: str, limits: Limits) -> tuple[list[RemoteFile], str | None]:
    """The files that a template fits, and what the host says it could not look at. Raises GapError."""
    base, depth, glob = _search(template)
    words = ["find", "-L", base, *(["-maxdepth", str(depth)] if depth is not None else []), "-type", "f"]
    words += ["-path", glob, "-printf", r"%i\0%s\0%T@\0%p\0"]
    found = bytearray()
    call = _Call(host, f"{shlex.join(words)}\n", limits)
    for chunk in call.chunks():
        found += chunk
        if len(found) > _MOST_LISTED_BYTES:
            raise GapError("too many files fit the path: a narrower one")
    fields = bytes(found).split(b"\0")
    rows = zip(*(fields[part::4] for part in range(4)), strict=False)
    files = [
        RemoteFile(os.fsdecode(path), int(inode), int(size), _nanoseconds(modified))
        for inode, size, modified, path in rows
    ]
    said = call.said if call.code else None
    is_hidden = [any(name.startswith(".") for name in one.path[len(base) :].split("/")) for one in files]
    return [one for one, hidden in zip(files, is_hidden, strict=True) if fits(one.path, template) and not hidden], said


def _search(template: str) -> tuple[str, int | None, str]:
    """Where to look, how deep (None: however deep), and a glob that fits at least all that the template does."""
    pattern = template.replace("{job_id}", "*")
    wild = min((pattern.index(sign) for sign in "*?" if sign in pattern), default=len(pattern))
    base = pattern[:wild].rpartition("/")[0] if wild < len(pattern) else pattern
    depth = None if "**" in pattern else pattern[len(base) :].count("/")
    literal = pattern.replace("**/", "*").replace("\\", "\\\\").replace("[", "\\[")
    return base or "/", depth, literal


def _nanoseconds(text: bytes) -> int:
    """`1789381205.1234567890` of find as nanoseconds."""
    seconds, _, part = text.partition(b".")
    return int(seconds) * 1_000_000_000 + int(part[:9].ljust(9, b"0") or b"0")


class Answer:
    """What came of one file: its head, and its bytes as they come; `is_whole` once the host has said it is done."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.head = b""
        self.is_readable = True
        self.is_whole = False
        self._unpack = zlib.decompressobj(_GZIP)

    def unpacked(self, line: bytes) -> bytes:
        """The bytes that a line of base64 stands for."""
        return self._unpack.decompress(binascii.a2b_base64(line))


def read_files(host: str, wanted: Sequence[Wanted], limits: Limits) -> Iterator[tuple[Answer, bytes]]:
    """Bytes of the files as they come, each with its file; one with no bytes at the end of each. Raises GapError."""
    call = _Call(host, "".join(_read_script(number, one) for number, one in enumerate(wanted)), limits)
    answer: Answer | None = None
    is_body = False
    try:
        for line in _lines(call.chunks()):
            if line.startswith(b"#file "):
                answer, is_body = Answer(wanted[int(line[6:])]), False
            elif answer is None:
                continue
            elif line == b"#body":
                is_body = True
            elif line in (b"#end", b"#fail"):
                answer.is_readable, answer.is_whole = line == b"#end", line == b"#end"
                yield answer, b""
                answer = None
            elif is_body:
                content = answer.unpacked(line)
                if content:
                    yield answer, content
            else:
                answer.head += binascii.a2b_base64(line)
    except (binascii.Error, zlib.error, ValueError, IndexError):
        raise GapError("what came is no answer to what was asked: gzip and base64 must be there") from None
    if call.code:
        raise GapError(f"the shell there ended with {call.code}{call.words}", is_node_lost=True)


def _read_script(number: int, wanted: Wanted) -> str:
    """Asks for the head of a file and for its bytes from where reading begins."""
    name, count = shlex.quote(wanted.file.path), wanted.file.size - wanted.start
    lines = f"base64 -w {_LINE_CHARS}"
    head = f"{{ head -c {min(SEEN_BYTES, wanted.have_bytes)} | {lines}; }} < {name}"
    body = f"tail -c +{wanted.start + 1} < {name} | head -c {count} | gzip -1 | {lines}"
    return f"echo '#file {number}'; if {head}; then echo '#body'; {body}; echo '#end'; else echo '#fail'; fi\n"


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


class _Call:
    """One run of ssh with a script; `code` and what was `said` on standard error are known when it has ended."""

    def __init__(self, host: str, script: str, limits: Limits) -> None:
        self.code = 0
        self.said = ""
        self._host = host
        self._script = b"printf 'aiscorr-begin\\n'\n" + os.fsencode(script)
        self._limits = limits

    @property
    def words(self) -> str:
        """What the host said, to be put behind something."""
        return f": {self.said}" if self.said else ""

    def chunks(self) -> Iterator[bytes]:
        """What the script writes. Raises GapError where the host is not reached, silent, or takes too long."""
        with tempfile.TemporaryFile() as script, tempfile.TemporaryFile() as errors:
            script.write(self._script)
            script.seek(0)
            process = self._start(script, errors)
            try:
                yield from _after_begin(self._read(process))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(CONNECT_S)
            finally:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                self.code = process.wait()
                _output(process).close()
                errors.seek(0)
                self.said = redact(" ".join(errors.read(4096).decode(errors="replace").split()))[:300]
        if self.code == _UNREACHED:
            raise GapError(f"the host is not reached{self.words}", is_node_lost=True)

    def _start(self, script: IO[bytes], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        command = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}", self._host, "/bin/sh -s"]
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            return subprocess.Popen(
                command, stdin=script, stdout=subprocess.PIPE, stderr=errors, env=environment, start_new_session=True
            )
        except OSError as error:
            raise GapError(f"ssh cannot be run: {error.strerror}", is_node_lost=True) from None

    def _read(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        """The output, until its end; whoever is silent or slow for too long is left."""
        handle = _output(process).fileno()
        end = time.monotonic() + self._limits.call_s
        spoke = time.monotonic()
        while True:
            if self._limits.should_stop():
                raise GapError("stopped", is_node_lost=True)
            now = time.monotonic()
            if now > end or now - spoke > self._limits.silent_s:
                limit = self._limits.call_s if now > end else self._limits.silent_s
                raise GapError(f"the host was silent, or not done, for {limit:g} s", is_node_lost=True)
            if select.select([handle], [], [], _POLL_S)[0]:
                chunk = os.read(handle, _CHUNK_BYTES)
                if not chunk:
                    return
                spoke = time.monotonic()
                yield chunk


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdout is None:
        raise GapError("ssh has no output", is_node_lost=True)
    return process.stdout


def _after_begin(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Leaves out what the host's own start-up files print before the script begins."""
    held: bytes | None = b""
    for chunk in chunks:
        if held is None:
            yield chunk
            continue
        held += chunk
        _, sign, after = held.partition(_BEGIN)
        if sign:
            held = None
            yield after
        else:
            held = held[-(1 << 16) :]
