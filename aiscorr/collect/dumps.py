"""Makes a rank dump its Flight Recorder, by its worker control plane or its pipe, and finds the file it has written.

Needs only the standard library: it is sent to the nodes as text.
"""

from __future__ import annotations

import errno
import os
import re
import select
import socket
import stat
import time
from http.client import HTTPConnection, HTTPException

from aiscorr.collect.processes import Process, dump_pipe
from aiscorr.collect.ranks import RankProcess

_STEM = re.compile(r"^TORCH_\w*(?:DEBUG_INFO_TEMP_FILE|FR_DUMP_TEMP_FILE)$")
_PIPE_STEM = re.compile(r"^TORCH_\w+_DEBUG_INFO_PIPE_FILE$")
_SOCKET = "TORCH_WORKER_SERVER_SOCKET"
_MAX_BYTES = 512 << 20
SETUP = (
    "start the job with TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/tmp/fr_ and TORCH_FR_BUFFER_SIZE=2000"
    " (TORCH_NCCL_TRACE_BUFFER_SIZE=2000 up to PyTorch 2.7) next time; collect stacks works now"
)


def inside(process: Process, path: str, proc: str = "/proc") -> str:
    """A path as the process sees it, also in its container: `/tmp/x` → /proc/4711/root/tmp/x where that is there."""
    if not os.path.isabs(path):
        return os.path.join(proc, str(process.pid), "cwd", path)
    within = os.path.join(proc, str(process.pid), "root", path.lstrip("/"))
    return within if os.path.exists(within) else path


def pipe_of(item: RankProcess, proc: str = "/proc") -> str | None:
    """The pipe of a rank: the one it has open, else `<TORCH_NCCL_DEBUG_INFO_PIPE_FILE><rank>.pipe` (PyTorch 2.3 on)."""
    opened = dump_pipe(item.process.pid, proc)
    if opened is not None:
        return inside(item.process, opened[0], proc)
    stems = [value for name, value in item.process.environment.items() if _PIPE_STEM.match(name) and value]
    return inside(item.process, f"{stems[0]}{item.rank}.pipe", proc) if stems and item.rank is not None else None


def dump_stems(process: Process, more: tuple[str, ...] = ()) -> list[str]:
    """What file names of dumps may begin with: as set, else the defaults of PyTorch ≥2.9, 2.7–2.8 and ≤2.6."""
    environment = process.environment
    home = environment.get("HOME") or "/root"
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    named = [value for name, value in sorted(environment.items()) if _STEM.match(name) and value]
    defaults = [os.path.join(folder, "torch", name) for folder in dict.fromkeys((cache, os.path.join(home, ".cache")))
                for name in ("comm_lib_trace_rank_", "nccl_trace_rank_")]  # fmt: skip
    return list(dict.fromkeys((*more, *named, *defaults, "/tmp/nccl_trace_rank_")))


def press_pipe(path: str, limit_s: float) -> str:
    """Writes `1` into a pipe without ever waiting for its reader; says what went wrong, or nothing."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        if error.errno == errno.ENXIO:
            return "nobody reads the pipe: its process has ended, or the monitor thread is not running"
        return f"the pipe cannot be written: {error.strerror}"
    try:
        if not stat.S_ISFIFO(os.fstat(handle).st_mode):
            return "is no pipe"
        if not select.select([], [handle], [], max(limit_s, 0.0))[1]:
            return "the pipe is full: nobody has read it for long"
        os.write(handle, b"1\n")
    except OSError as error:
        return f"the pipe cannot be written: {error.strerror}"
    finally:
        os.close(handle)
    return ""


def dump_files(
    process: Process, rank: int, more: tuple[str, ...] = (), proc: str = "/proc"
) -> dict[str, tuple[float, int]]:
    """The dump files of a rank with time and size, the newest last."""
    found = {}
    for stem in dump_stems(process, more):
        path = inside(process, f"{stem}{rank}", proc)
        try:
            status = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found[path] = (status.st_mtime, status.st_size)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def read_whole(path: str, deadline_s: float, pause_s: float = 0.2) -> tuple[bytes, float]:
    """A file that somebody may be writing, once it has an end of pickle or JSON and does not grow; what is there at the
    deadline is taken as it is."""
    while True:
        with open(path, "rb") as handle:
            content = handle.read(_MAX_BYTES)
        ends_well = content[-1:] in (b".", b"}", b"]") or content.rstrip()[-1:] in (b"}", b"]")
        is_still = os.stat(path).st_size == len(content)
        if (ends_well and is_still) or time.monotonic() >= deadline_s:
            return content, os.stat(path).st_mtime
        time.sleep(pause_s)


class _SocketConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, limit_s: float) -> None:
        super().__init__("localhost", timeout=limit_s)
        self._path = path

    def connect(self) -> None:
        """Connects to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask_control_plane(process: Process, limit_s: float, proc: str = "/proc") -> tuple[bytes, str]:
    """The dump that the worker control plane hands out (PyTorch 2.4 on), or why not; both empty where there is none."""
    path = process.environment.get(_SOCKET, "")
    if not path:
        return b"", ""
    connection = _SocketConnection(inside(process, path, proc), max(limit_s, 0.1))
    try:
        connection.request("POST", "/handler/dump_nccl_trace_pickle", headers={"Content-Length": "0"})
        answer = connection.getresponse()
        content = answer.read(_MAX_BYTES)
    except (OSError, HTTPException) as error:
        return b"", f"the worker control plane at {path} does not answer: {error}"
    finally:
        connection.close()
    if answer.status != 200 or not content:
        return b"", f"the worker control plane at {path} answers {answer.status}"
    return content, ""
