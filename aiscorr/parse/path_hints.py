"""What a path says about a file: job, node, rank, attempt, date. Hints only; content goes first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_GENERIC_FOLDER = re.compile(
    r"^(?:logs?|workers?|worker[_-]?logs?|std(?:err|out)|outputs?|out|errors?|err|torchrun[\w.-]*|attempt_\d+|none_\w+|\d{1,3}|"
    r"(?:node|rank|executor)[_-]?\d*|ais|aiscorr-(?:stacks|dumps)-\w+|traces?|debug[_-]?dumps?|ais[_-]?logs?|ais[_-]archives?[\w-]*|ais-stderr|fr|fr_json|"
    r"(?:stacks?|dumps?|py-?spy)(?:[_.-]?\d[\w.-]*|[_-](?:first|second|third|again|later|before|after|now|hang|hung))?|snap(?:shot)?[_-]?\d*|t\d+|slurm[_-]?logs?|runs?|peer)$",
    re.IGNORECASE,
)
_SLURM_FILE = re.compile(
    r"(?:^|[_-])(?:error|err|log|out|output|slurm|sbatch\w*|stderr|stdout|console|launcher|torchrun|mpi(?:run)?)[_-](?:[A-Za-z][\w.]*?[_-])?(\d{4,9})(?:_\d+)?(?:[_-](\d{1,5}))?(?:[._-]rank[_-]?(\d{1,6}))?\.(?:out|err|log|txt)$",
    re.IGNORECASE,
)
_JOB_LOG = re.compile(r"^(?:log|error)-[\w.]+_(\d{4,9})_(\d{1,5})\.(?:out|err|log)$")
#: The number of a job, which is no date.
_JOB_NO = r"(?!(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d))(\d{5,9})"
#: `srun --output=train-%j-%t.out` and `sbatch --output=train-%j.out`: any name, a job, its task.
_NAMED_OUTPUT = re.compile(
    rf"^[A-Za-z][\w.-]*?[_-]{_JOB_NO}"
    r"(?:[_-](\d{1,5}))?(?:[._-]rank[_-]?(\d{1,6}))?\.(?:out|err)$"
)
#: The number of a job and no more, of one output: `job5120341.out`, `5120341.log`.
_BARE_NUMBER = re.compile(rf"^(?:job)?{_JOB_NO}()(?:\.[a-z]{{2,6}})?\.(?:out|err|log|txt)$")
#: A pod or node of a job with a number in its name: `train-5120341-worker-0.log`, `train-5120341.node1.log`.
_POD_OUTPUT = re.compile(
    rf"^[A-Za-z][\w.-]*?(?<!\d)[_-]{_JOB_NO}"
    r"[._-](?:(?:worker|node)[_-]?(\d{1,5})|(?:master|launcher)[_-]?\d{1,5})(?:\.[a-z]+)?\.(?:out|err|log|txt)$"
)
#: What names a job, the closest first.
_JOB_NAMES = (_JOB_LOG, _SLURM_FILE, _NAMED_OUTPUT, _POD_OUTPUT, _BARE_NUMBER)
_RUN_FOLDER = re.compile(r"^(.+)_([a-z0-9_]{8})$")
_ATTEMPT = re.compile(r"^attempt_(\d+)$")
_NODE = re.compile(r"(?:^|[._-])node[_-]?(\d{1,5})(?=[._-]|$)", re.IGNORECASE)
_RANK_FILE = re.compile(r"(?:^|[_.-])(?:global[_-]?)?rank[_-]?(\d{1,6})(?=[_.-]|$)", re.IGNORECASE)
_AIS_ARCHIVE = re.compile(r"^(?:ais)?(target|proxy)-([A-Za-z0-9_-]{4,20}?)(?:\.tar\.gz|\.tgz|\.tar|\.gz|\.log|$)")
_AIS_FILE = re.compile(
    r"^ais(target|proxy)\.(.+?)\.(?:INFO|WARNING|ERROR)\.(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})\.(\d+)$"
)
_AIS_OLD_FILE = re.compile(
    r"^ais(target|proxy)\.(.+?)\.[^.]+\.log\.(?:INFO|WARNING|ERROR)\.(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})\.(\d+)$"
)
_AIS_LINK = re.compile(r"^ais(target|proxy)(?:\.(?:INFO|ERROR))?$")
#: The name that PyTorch gives to dumps: nccl_trace_rank_5 (2.2 to 2.8), comm_lib_trace_rank_5 (2.9 on).
DUMP_NAME = re.compile(r"(?:^|[_.-])(?:\w+_)?trace_rank_?(\d{1,6})(?=[_.-]|$)", re.IGNORECASE)


def file_name(path: str) -> str:
    """The last part of a path, in an archive or not."""
    return re.split(r"[/!]", path)[-1]


def is_dump_name(path: str) -> bool:
    """Whether the name is one that PyTorch gives to Flight Recorder dumps."""
    return DUMP_NAME.search(file_name(path)) is not None


@dataclass(frozen=True)
class WorkerHints:
    """Job id, job folder, torchrun run name, attempt, node number, global and local rank, as far as told."""

    job_id: str | None
    job_folder: str
    run_name: str | None
    attempt_no: int | None
    node_no: int | None
    rank: int | None
    local_rank: int | None
    is_launcher_stream: bool


@dataclass(frozen=True)
class AisHints:
    """Role, node id (archive name), host, and month, day, hour, minute, second of the file name."""

    role: str | None
    node_id: str | None
    host: str | None
    date: tuple[int, int, int, int, int, int] | None
    has_year: bool


def _parts(path: str) -> list[str]:
    return [part for part in re.split(r"[/!]", path) if part]


def job_folder_of(path: str) -> str:
    """The nearest folder above the file whose name is not generic (logs, attempt_0), as a full path."""
    folders = path.replace("!", "/").split("/")[:-1]
    attempt = next((index for index, name in enumerate(folders) if _ATTEMPT.match(name)), None)
    if attempt is not None and attempt > 0:
        folders = folders[: attempt - 1]
    for end in range(len(folders), 0, -1):
        if folders[end - 1] and not _GENERIC_FOLDER.match(folders[end - 1]):
            return "/".join(folders[:end])
    return "/".join(folders) or "/"


def worker_hints(path: str) -> WorkerHints:
    """Hints for a worker log.

    `…/error-5120341-1.out` → job 5120341, node 1; `…/error-5120341-rank6.out` → its rank 6;
    `…/run7_ab12cd34/attempt_0/3/stderr.log` → run run7, attempt 0, local rank 3; `rank3.log` → rank 3;
    `torchrun.node1.err` → node 1, as does a folder of the job.
    """
    parts = _parts(path)
    name = parts[-1] = re.sub(r"\.(?:gz|zst)$", "", parts[-1])
    job_id = node_no = attempt = local = run_name = rank = None
    match = next(filter(None, (form.search(name) for form in _JOB_NAMES)), None)
    if match is not None:
        job_id = match.group(1)
        node_no = int(match.group(2)) if match.group(2) else None
    for index, part in enumerate(parts[:-1]):
        found = _ATTEMPT.match(part)
        if found is None:
            continue
        attempt = int(found.group(1))
        if index + 1 < len(parts) - 1 and parts[index + 1].isdigit():
            local = int(parts[index + 1])
        run = _RUN_FOLDER.match(parts[index - 1]) if index else None
        if run is not None and run.group(1) != "none":
            run_name = run.group(1)
    ranked = _RANK_FILE.search(name)
    if ranked is not None and (match is None or match.lastindex == 3):
        rank = int(ranked.group(1))
    is_stream = local is None and rank is None
    folder = job_folder_of(path)
    if node_no is None:
        below = parts[len(_parts(folder)) :]
        node_no = next((int(found.group(1)) for part in below if (found := _NODE.search(part))), None)
    return WorkerHints(job_id, folder, run_name, attempt, node_no, rank, local, is_stream)


def ais_hints(path: str) -> AisHints:
    """Hints for an AIStore log: `aistarget.ais-target-3.INFO.1120-231705.1`, `aistarget-<id>.tar.gz`."""
    parts = _parts(path)
    role = node_id = host = None
    date: tuple[int, int, int, int, int, int] | None = None
    has_year = False
    for part in parts:
        archive = _AIS_ARCHIVE.match(part)
        if archive is not None:
            role, node_id = archive.group(1), archive.group(2)
    name = parts[-1]
    match = _AIS_FILE.match(name)
    old = _AIS_OLD_FILE.match(name)
    if match is not None:
        role, host = match.group(1), match.group(2)
        date = (0, *(int(part) for part in match.groups()[2:7]))  # type: ignore[assignment]
    elif old is not None:
        role, host, has_year = old.group(1), old.group(2), True
        date = tuple(int(part) for part in old.groups()[2:8])  # type: ignore[assignment]
    else:
        link = _AIS_LINK.match(name)
        role = link.group(1) if link else role
    return AisHints(role, node_id, host, date, has_year)


def job_of(path: str, templates: Iterable[str]) -> str | None:
    """The job's id in a path, by the first glob with `{job_id}` that fits it; None where none does.

    `/logs/5120341/error-0.out` and `/logs/{job_id}/error-*.out` → `5120341`.
    """
    for template in templates:
        match = _template(template).fullmatch(path)
        if match is not None:
            return match.group("job")
    return None


def fits(path: str, template: str) -> bool:
    """Whether a path is one of those that a glob, perhaps with `{job_id}`, stands for."""
    return _template(template).fullmatch(path) is not None


@lru_cache(maxsize=64)
def _template(template: str) -> re.Pattern[str]:
    parts = re.split(r"(\{job_id\}|\*\*/|\*|\?)", template)
    wild = {"{job_id}": "(?P<job>[^/]+?)", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(part) or re.escape(part) for part in parts))
