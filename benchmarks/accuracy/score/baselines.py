"""What users have today, on the same incidents: naive rules, torchrun's "Root Cause", grep, torchfrtrace.

Each looks at the logs alone and says whom and what it would blame; None is "has nothing to say".
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.score.truth import Truth

_TABLE = re.compile(r"time      : (\S+)\n.*?rank      : (\d+) ", re.DOTALL)
_ROOT = re.compile(r"Root Cause \(first observed failure\):\n(?:.*\n)*?.*rank      : (\d+) ")
_FATAL = re.compile(r"error|exception|fatal|timeout|timed out|killed|signal", re.IGNORECASE)
_HARMLESS = re.compile(
    r"errors/__init__|errors\.html|OMP_NUM|timeout=|Retrying|retrying|Connection pool", re.IGNORECASE
)
_RANK = re.compile(r"\[?rank[ :]?(\d+)\]?|\[Rank (\d+)\]")
_STORAGE = re.compile(r"aistore|AISError|AISBatchLoader|/v1/(?:ml|objects)/|ais://|HTTPConnectionPool")
_AIS_ERROR = re.compile(rb"^[WE] \d\d:\d\d:\d\d", re.MULTILINE)
_MISSING = re.compile(r"missing ranks: \{([\d, ]+)\}|Culprit rank (\d+)")
_FRTRACE = "TORCHFRTRACE"


@dataclass(frozen=True)
class Blame:
    """Whom a tool blames: ranks, and storage yes or no."""

    ranks: frozenset[int] | None = None
    storage: bool | None = None


def _of_workers(truth: Truth, pattern: str = "*") -> list[Path]:
    """The files of the job: `workers` of an incident, `logs` of a recorded job."""
    return sorted(path for name in ("workers", "logs") for path in (truth.folder / name).rglob(pattern))


def _texts(truth: Truth) -> Iterator[str]:
    """The worker logs, without dumps and stacks."""
    for path in _of_workers(truth):
        if path.is_file() and "trace_rank_" not in path.name and path.parent.name != "pyspy":
            yield path.read_bytes().decode("utf-8", "replace")


def any_ais_error(truth: Truth) -> Blame:
    """Blames storage if AIStore has any warning or error in its logs (they hold little more than the incident)."""
    files = [path for path in (truth.folder / "ais").rglob("*") if path.is_file()]
    return Blame(storage=any(_AIS_ERROR.search(path.read_bytes()) for path in files)) if files else Blame()


def first_exit(truth: Truth) -> Blame:
    """Blames the rank that exited first by the tables of all agents."""
    exits = sorted((time, int(rank)) for text in _texts(truth) for time, rank in _TABLE.findall(text))
    return Blame(frozenset({exits[0][1]})) if exits else Blame()


def torchrun_root_cause(truth: Truth) -> Blame:
    """Believes the first "Root Cause" that torchrun prints."""
    for text in _texts(truth):
        if found := _ROOT.search(text):
            return Blame(frozenset({int(found.group(1))}))
    return Blame()


def first_fatal_line(truth: Truth) -> Blame:
    """Believes the first line that looks fatal, in the order of the files: its rank, and storage if it names any."""
    for text in _texts(truth):
        for line in text.split("\n"):
            if _FATAL.search(line) and not _HARMLESS.search(line):
                rank = _RANK.search(line)
                ranks = frozenset({int(rank.group(1) or rank.group(2))}) if rank else None
                return Blame(ranks, bool(_STORAGE.search(line)))
    return Blame()


def torchfrtrace(truth: Truth) -> Blame:
    """Runs PyTorch's analyzer on the dumps, where there are dumps; its first finding counts."""
    program = frtrace_program()
    folders = sorted({path.parent for path in _of_workers(truth, "*trace_rank_*")})
    if program is None or not folders:
        return Blame()
    done = subprocess.run([program, str(folders[0])], capture_output=True, text=True, timeout=300)
    found = _MISSING.search(done.stderr + done.stdout)
    if not found:
        return Blame()
    return Blame(frozenset(int(rank) for rank in (found.group(1) or found.group(2)).split(",")))


def frtrace_program() -> str | None:
    """The program `torchfrtrace` (PyTorch 2.10 and later): of the variable TORCHFRTRACE or of the path."""
    return os.environ.get(_FRTRACE) or shutil.which("torchfrtrace")


BASELINES: dict[str, Callable[[Truth], Blame]] = {
    "storage if AIStore logged any warning or error": any_ais_error,
    "first rank that exited": first_exit,
    'torchrun\'s first "Root Cause"': torchrun_root_cause,
    "first fatal line (grep)": first_fatal_line,
    "torchfrtrace, where there are dumps": torchfrtrace,
}


def has_dumps(truth: Truth) -> bool:
    """The job left Flight Recorder dumps."""
    return bool(_of_workers(truth, "*trace_rank_*"))
