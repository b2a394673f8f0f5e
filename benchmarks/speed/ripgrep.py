"""The patterns of aiscorr as ripgrep takes them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from aiscorr.parse.search.shortened import shorten
from aiscorr.parse.spec.pattern import Pattern

#: One name may stand in one pattern only of a file, and counting needs none.
_NAMED = re.compile(r"\(\?P<\w+>")
#: A selection of worker patterns of every tier, about as many as a hand-written filter has.
SUBSET = [
    "sdk_retry",
    "urllib3_retry",
    "sdk_batch_short_retry",
    "sdk_batch_short",
    "lhotse_object_failed",
    "lhotse_batch_truncated",
    "http_pool_full",
    "http_read_timeout",
    "http_max_retries",
    "image_corrupt_warning",
    "fs_stale_handle",
    "gpu_xid_other",
    "cuda_illegal_memory_access",
    "cuda_out_of_memory",
    "nccl_watchdog_timeout",
    "nccl_watchdog_failure_detected",
    "nccl_heartbeat_missing",
    "dataloader_worker_killed",
    "dataloader_timeout",
    "slurm_cancelled",
    "slurm_node_failure",
    "process_group_ready",
    "training_started",
    "torchrun_child_failed",
    "torchrun_closing_signal",
    "python_traceback",
    "python_exception",
]
#: What facts give for AIStore logs: warnings, errors and statistics lines.
AIS_PATTERNS = ("^[EW] ", r"^I .{15} \{")


def write_patterns(patterns: Iterable[Pattern], path: Path) -> tuple[int, int]:
    """Writes a pattern file; returns how many patterns it holds and how many of them stand in shortened form.

    ripgrep has no look-around, so a pattern with one is given without it.
    """
    lines: list[str] = []
    shortened = 0
    for pattern in patterns:
        text = _NAMED.sub("(?:", pattern.regex.pattern.decode())
        flags = "(?i)" if pattern.regex.flags & re.IGNORECASE else ""
        if not _is_taken(flags + text):
            plain = shorten(pattern.regex)
            text = plain.decode() if plain else "|".join(re.escape(literal.decode()) for literal in pattern.literals)
            shortened += 1
        lines.append(flags + text)
    path.write_text("\n".join(lines) + "\n")
    return len(lines), shortened


def _is_taken(text: str) -> bool:
    if "\n" in text:
        return False
    done = subprocess.run(["rg", "--no-unicode", "-a", "-c", "-e", text, "/dev/null"], capture_output=True)
    return done.returncode < 2


def count_command(pattern_file: Path, folder: Path, threads: int = 1) -> list[str]:
    """Counts the matching lines of every file of a folder."""
    options = ["-a", "--no-unicode", "-I", "-c", f"-j{threads}", "--no-config", "--no-ignore", "--hidden"]
    return ["rg", *options, "-f", str(pattern_file), str(folder)]
