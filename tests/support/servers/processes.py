"""Processes that servers run in: started with a file for what they say, awaited, and ended with this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
_START_S = 60
_STOP_S = 15
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def free_port() -> int:
    """A port of this machine that nothing listens on at the moment."""
    with socket.create_server((LOOPBACK, 0)) as found:
        return int(found.getsockname()[1])


def new_password() -> str:
    """A password that nobody knows."""
    return secrets.token_hex(12)


def answers(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False


def started(
    command: Sequence[str | Path],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    owner: tuple[int, int] | None = None,
) -> subprocess.Popen[bytes]:
    """A process whose outputs go to the end of a file; `owner` is the user and group that it runs as.

    It is interrupted when the process that started it ends, however that ends.
    """
    user, group = owner or (None, None)
    with log.open("ab") as said:
        return subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder,
            env={**os.environ, **(environment or {})}, start_new_session=True, preexec_fn=_end_with_parent,
            user=user, group=group, extra_groups=None if owner is None else (),
        )  # fmt: skip


def await_start(process: subprocess.Popen[bytes], is_up: Callable[[], bool], log: Path) -> bool:
    """Whether a server came up before its process ended. Raises TimeoutError with what it said."""
    end = time.monotonic() + _START_S
    while process.poll() is None:
        if is_up():
            return True
        if time.monotonic() > end:
            raise TimeoutError(f"a server did not come up in {_START_S} s:\n{last_of(log)}")
        time.sleep(0.05)
    return False


def ended(process: subprocess.Popen[bytes], by: signal.Signals = signal.SIGINT) -> None:
    """Ends a process, by force where it does not end in time."""
    process.send_signal(by)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def killed(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all below it at once, with the signal that cannot be caught."""
    below = list(_below(process.pid))
    for pid in (process.pid, *below):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in below):
        time.sleep(0.01)


def last_of(log: Path) -> str:
    """The last lines of what a server said."""
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-15:])


def _below(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that they have."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(path.parent.name)
            yield child
            yield from _below(child)


def _end_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
