"""Frozen objects handed between the stages of ingestion and of the report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

#: Of the folders beside a database that ingests work in; they hold no logs.
WORK_PREFIX = ".aiscorr-"
#: The engine that runs tasks in processes of this machine.
PROCESSES = "processes"


class ByteStream(Protocol):
    """The part of a binary file that readers use."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fills the buffer as far as it can; returns the bytes read, 0 at the end."""

    def close(self) -> None:
        """Lets go of the file."""


@dataclass(frozen=True)
class SourceRef:
    """One readable thing: a plain file, a compressed file or an archive member.

    `path` is what users see (absolute, `archive!member`); `file_path` is what is opened; `members` are
    the names to go through inside it, outermost first. Sizes in bytes, time in nanoseconds since 1970.
    """

    path: str
    file_path: str
    members: tuple[str, ...] = ()
    compression: str | None = None
    stored_byte_count: int = 0
    modified_ns: int = 0

    @property
    def member(self) -> str | None:
        """The name inside the archive, else None."""
        return "!".join(self.members) or None


@dataclass(frozen=True)
class Unreadable:
    """A path that could not be read, and why (in words for the user)."""

    path: str
    reason: str
    is_error: bool = True


@dataclass(frozen=True)
class IngestOptions:
    """What the user said about the files of one ingest call.

    `job_templates`: globs of worker logs in which `{job_id}` stands for the job's id. `engine`: where tasks run.
    """

    kind: str | None = None
    cluster: str | None = None
    job_id: str | None = None
    job_templates: tuple[str, ...] = ()
    timezone: str | None = None
    timezone_globs: tuple[tuple[str, str], ...] = ()
    year: int | None = None
    job_count: int = 1
    engine: str = PROCESSES
    pattern_folders: tuple[str, ...] = ()
    format_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Retention:
    """How long rows are kept, by the time they tell; None: for ever.

    `counters` and `events` are those that no kept failure needs; `failures` go with all that they cite.
    """

    counters: timedelta | None = None
    events: timedelta | None = None
    failures: timedelta | None = None


@dataclass(frozen=True)
class KnownFile:
    """What the database holds of a path that is looked at again."""

    file_id: int
    path: str
    content_hash: str
    head_hash: str
    byte_count: int
    stored_byte_count: int
    modified_ns: int
    kind: str
    state: str
    resume_offset: int
    resume_state: str | None
    parser_version: int
    options_key: str
    duplicate_of: int | None = None

    def is_read_by(self, parser_version: int, options_key: str) -> bool:
        """Whether it was read by this version of the readers with these options."""
        return self.parser_version == parser_version and self.options_key == options_key


@dataclass
class FileSummary:
    """What reading one file gave besides rows; becomes a row of ingested_file."""

    ref: SourceRef
    file_id: int
    kind: str = "unknown"
    kind_reason: str = ""
    state: str = "ingested"
    duplicate_of: int | None = None
    content_hash: str = ""
    head_hash: str = ""
    byte_count: int = 0
    resume_offset: int = 0
    resume_state: str | None = None
    resume_line_no: int = 1
    resume_attempt_no: int = 0
    line_count: int = 0
    event_count: int = 0
    counter_count: int = 0
    reject_count: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    is_utc: bool = False
    date_method: str | None = None
    date_line_no: int | None = None
    zone: str | None = None
    cluster: str | None = None
    is_cluster_given: bool = False
    node_id: str | None = None
    node_role: str | None = None
    node_id_source: str | None = None
    host: str | None = None
    pod: str | None = None
    version: str | None = None
    job_id: str | None = None
    job_folder: str | None = None
    run_name: str | None = None
    attempt_no: int | None = None
    worker_node_no: int | None = None
    path_rank: int | None = None
    path_local_rank: int | None = None
    is_stream_copy: bool = False
    problem: str | None = None
    is_cut_short: bool = False
    is_unusable: bool = False
    options_key: str = ""
    parser_version: int = 0
    is_tail_only: bool = False


@dataclass(frozen=True)
class IngestSummary:
    """The outcome of one ingest run, for the screen and for `--format json`.

    `failures` are those that it found or concluded again; where there are any `latest_failure_id` is the one that
    `report` shows without a name.
    """

    run_id: int
    outcome: str
    file_count: int
    new_file_count: int
    unchanged_count: int
    duplicate_count: int
    byte_count: int
    line_count: int
    event_count: int
    counter_count: int
    reject_count: int
    seconds: float
    kinds: dict[str, int]
    unknown: tuple[tuple[str, str], ...]
    unreadable: tuple[Unreadable, ...]
    problems: tuple[tuple[str, str], ...]
    failures: tuple[tuple[str, str, str, str], ...] = ()
    latest_failure_id: str | None = None
