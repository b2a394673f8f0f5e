"""Dumps the stacks of a process with py-spy, and says in plain words what keeps it from doing so.

Needs only the standard library: it is sent to the nodes as text.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from aiscorr.collect.processes import Process

_CAP_SYS_PTRACE = 19
_ROOT_HINT = "sudo, or in a container --cap-add SYS_PTRACE (Kubernetes: securityContext.capabilities.add SYS_PTRACE)"


@dataclass(frozen=True)
class StackOptions:
    """How py-spy is called; `nonblocking` does not pause the process, and may show a stack in motion."""

    program: str | None = None
    is_json: bool = False
    native: bool = False
    local_variables: bool = False
    nonblocking: bool = False
    each_limit_s: float = 20.0


def find_py_spy(given: str | None, process: Process) -> str | None:
    """The py-spy to use: the one given, that of PATH, that beside the Python of the process, that of its PATH."""
    if given:
        return shutil.which(given)
    beside = [*map(os.path.dirname, (process.program, process.command[0])), process.environment.get("PATH", "")]
    return shutil.which("py-spy") or shutil.which("py-spy", path=os.pathsep.join(item for item in beside if item))


def py_spy_command(program: str, pid: int, options: StackOptions) -> list[str]:
    """`py-spy dump --pid 4711 --nonblocking` and so on (py-spy 0.3 and 0.4)."""
    flags = (("--json", options.is_json), ("--native", options.native), ("--locals", options.local_variables),
             ("--nonblocking", options.nonblocking))  # fmt: skip
    return [program, "dump", "--pid", str(pid), *(flag for flag, is_on in flags if is_on)]


def dump_stack(program: str, pid: int, options: StackOptions, limit_s: float) -> tuple[bytes, str]:
    """What py-spy prints, or why it printed nothing; it is ended at the limit, and Linux lets the process run on."""
    try:
        ended = subprocess.run(
            py_spy_command(program, pid, options), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=max(min(limit_s, options.each_limit_s), 0.1), check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return b"", "no answer of py-spy within the time limit"
    except OSError as error:
        return b"", f"py-spy cannot be run: {error.strerror or error}"
    if ended.returncode == 0 and ended.stdout.strip():
        return ended.stdout, ""
    words = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip().splitlines()
    return b"", words[0][:300] if words else f"py-spy ended with code {ended.returncode} and no word"


def advice(error: str, process: Process, proc: str = "/proc") -> str:
    """What to do about an error of py-spy; its words are those of 0.3 and 0.4."""
    text = error.lower()
    if "permission denied" in text or "operation not permitted" in text:
        return permission_advice(process, proc) or _ROOT_HINT
    if "failed to find python version" in text:
        return "a newer py-spy (it must know this Python), or --native"
    if "no such file" in text or "no such process" in text:
        return "nothing: the process has ended meanwhile; see its log"
    if "time limit" in text or "failed to suspend" in text:
        return "--nonblocking; a process in state D (see /proc/PID/wchan) waits in the kernel, often for a file system"
    return "py-spy dump --pid by hand on that host"


def permission_advice(process: Process, proc: str = "/proc") -> str:
    """What would allow to look into the process, or nothing where it is allowed (Linux: Yama's ptrace_scope, user)."""
    if os.geteuid() == 0 or has_ptrace_capability(proc):
        return ""
    if process.uid != os.geteuid():
        return f"run as the user of the job (uid {process.uid}), or with {_ROOT_HINT}"
    scope = _first_line(os.path.join(proc, "sys/kernel/yama/ptrace_scope"))
    if scope in ("", "0"):
        return ""
    if scope == "3":
        return "nothing: ptrace_scope is 3, and only a reboot opens it; faulthandler or collect dumps instead"
    return f"ptrace_scope is {scope}: sudo sysctl kernel.yama.ptrace_scope=0, or run with {_ROOT_HINT}"


def has_ptrace_capability(proc: str = "/proc") -> bool:
    """CAP_SYS_PTRACE is among the effective capabilities of this process."""
    try:
        with open(os.path.join(proc, "self/status"), encoding="ascii", errors="replace") as handle:
            masks = [line.split()[1] for line in handle if line.startswith("CapEff:")]
    except OSError:
        return False
    return bool(masks) and bool(int(masks[0], 16) >> _CAP_SYS_PTRACE & 1)


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as handle:
            return handle.readline().strip()
    except OSError:
        return ""
