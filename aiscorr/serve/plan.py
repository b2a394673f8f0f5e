"""What the service is to do, from `[serve]` of aiscorr.toml: sources, times, and where reports go."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from aiscorr.config import check_keys, check_zone
from aiscorr.errors import UsageError
from aiscorr.model import Retention
from aiscorr.report.period import duration
from aiscorr.secret import read_secret

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_KEYS = {
    "timezone": str, "nightly": str, "every": str, "grace": str, "wait": str, "recent": str, "reports": str,
    "cluster": object, "jobs": object, "notify": object, "http": dict, "retention": dict,
}  # fmt: skip
_CLUSTER_KEYS = {"name": str, "logs": object, "endpoint": str, "timezone": str}
_TARGET_KEYS = {"name": str, "kind": str, "url": str, "url_file": str, "command": object, "confidence": object}
_RETENTION_KEYS = {"counters": str, "events": str, "failures": str}
_REMOTE = re.compile(r"([^/:]+|[^/]*\[[^/]*\]):(.*)", re.DOTALL)
_HOST = re.compile(r"[A-Za-z0-9_.@%\[][A-Za-z0-9_.@%:\[\]-]*")
_KINDS = ("webhook", "slack", "alertmanager", "command")
_JOB_KEYS = {"path": str, "timezone": str, "job": str}


@dataclass(frozen=True)
class ClusterLogs:
    """A cluster: pulled from `endpoint`, or logs that something else puts into folders. `name` replaces its own id."""

    name: str | None
    paths: tuple[str, ...]
    timezone: str | None
    endpoint: str | None = None


@dataclass(frozen=True)
class JobLogs:
    """Worker logs: a glob in which `{job_id}` may stand for the job's id. `host`: where they lie, None: here."""

    template: str
    job_id: str | None
    timezone: str | None
    host: str | None = None

    @property
    def has_job_id(self) -> bool:
        """Whether the path tells the job."""
        return "{job_id}" in self.template

    def files(self) -> list[str]:
        """The files there are now, sorted."""
        return sorted(glob.glob(self.template.replace("{job_id}", "*"), recursive=True))


@dataclass(frozen=True)
class Target:
    """Who is told of failures: a `url`, one in a file that only its owner may read, or a command with JSON as input.

    `confidence`: told of are failures that storage caused at least so surely.
    """

    name: str
    kind: str
    confidence: float
    url: str | None = None
    url_file: str | None = None
    command: tuple[str, ...] = ()

    def address(self) -> str:
        """The address. Raises UsageError where its file can no longer be read, or others can read it."""
        return self.url if self.url is not None else read_secret(self.url_file or "", "address")


@dataclass(frozen=True)
class ServePlan:
    """The whole plan.

    `nightly`: time of day of the nightly run, in `zone`. `every`: between other runs, None: only nightly.
    `grace`: how late a run may begin. `wait`: how long a report waits for worker logs that are missing.
    `recent`: how far back failures get a report.
    """

    zone: ZoneInfo
    nightly: time
    every: timedelta | None
    grace: timedelta
    wait: timedelta
    recent: timedelta
    reports: str
    clusters: tuple[ClusterLogs, ...]
    jobs: tuple[JobLogs, ...]
    targets: tuple[Target, ...] = ()
    retention: Retention = field(default_factory=Retention)


def read_plan(values: Mapping[str, Any] | None, *, base: str, where: str) -> ServePlan:
    """The plan of a `[serve]` table; paths are relative to `base`. Raises UsageError."""
    if not values:
        raise UsageError(
            "nothing says what the service is to read",
            where=where,
            try_this="aiscorr serve --example config >> aiscorr.toml, then name your folders in it",
        )
    check_keys(values, _KEYS, f"{where} [serve]")
    zone = values.get("timezone", "UTC")
    check_zone(zone, f"{where} [serve] timezone")
    every = values.get("every")
    plan = ServePlan(
        zone=ZoneInfo(zone),
        nightly=_time_of_day(values.get("nightly", "02:30"), f"{where} [serve] nightly"),
        every=duration(every, f"{where} [serve] every") if every is not None else None,
        grace=duration(values.get("grace", "6h"), f"{where} [serve] grace"),
        wait=duration(values.get("wait", "15m"), f"{where} [serve] wait"),
        recent=duration(values.get("recent", "14d"), f"{where} [serve] recent"),
        reports=reports_folder(values, base),
        clusters=tuple(_cluster(raw, base, where) for raw in _tables(values, "cluster", where)),
        jobs=tuple(_job(raw, base, where) for raw in _tables(values, "jobs", where)),
        targets=tuple(_target(raw, base, where) for raw in _tables(values, "notify", where)),
        retention=_retention(values.get("retention", {}), f"{where} [serve.retention]"),
    )
    if not plan.clusters and not plan.jobs:
        raise UsageError(
            "no source is named", where=f"{where} [serve]", try_this="add [[serve.cluster]] or [[serve.jobs]]"
        )
    return plan


def reports_folder(values: Mapping[str, Any], base: str) -> str:
    """Where the reports of a `[serve]` table go."""
    return os.path.abspath(os.path.join(base, values.get("reports", "reports")))


def _retention(raw: Mapping[str, Any], where: str) -> Retention:
    """How long rows are kept: counters no longer than events, events no longer than failures."""
    check_keys(raw, _RETENTION_KEYS, where)
    ages = {key: duration(text, f"{where} {key}") for key, text in raw.items()}
    events, failures = (ages.get(key, timedelta.max) for key in ("events", "failures"))
    if not ages.get("counters", events) <= events <= failures:
        raise UsageError(
            "counters may not be kept longer than events, nor events longer than failures (what is not named is kept)",
            where=where,
            try_this='counters = "30d", events = "90d", failures = "400d"',
        )
    return Retention(**ages)


def _tables(values: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UsageError(f"{key!r} must be tables", where=where, try_this=f"write [[serve.{key}]]")
    return found


def _cluster(raw: Mapping[str, Any], base: str, where: str) -> ClusterLogs:
    where = f"{where} [[serve.cluster]]"
    check_keys(raw, _CLUSTER_KEYS, where)
    logs, endpoint = raw.get("logs", []), raw.get("endpoint")
    paths = [logs] if isinstance(logs, str) else logs
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths) or not (paths or endpoint):
        raise UsageError(
            "'logs' names no folder, and there is no 'endpoint'", where=where, try_this='logs = ["/var/log/ais"]'
        )
    folders = tuple(os.path.abspath(os.path.join(base, path)) for path in paths)
    return ClusterLogs(raw.get("name"), folders, _zone(raw, where), endpoint)


def _job(raw: Mapping[str, Any], base: str, where: str) -> JobLogs:
    where = f"{where} [[serve.jobs]]"
    check_keys(raw, _JOB_KEYS, where)
    path = raw.get("path")
    if not path:
        raise UsageError("'path' is missing", where=where, try_this='path = "/logs/{job_id}/error-*.out"')
    if path.count("{job_id}") > 1:
        raise UsageError("{job_id} may stand once in a path", where=where, try_this="put * in the other place")
    remote = _REMOTE.fullmatch(path)
    if remote is None:
        return JobLogs(os.path.abspath(os.path.join(base, path)), raw.get("job"), _zone(raw, where))
    host, template = remote.groups()
    if not template.startswith("/") or _HOST.fullmatch(host) is None or set("[]") & set(template):
        raise UsageError(
            f"{path!r} is no path of another host: user@host:/path from the root on, no wildcards but *, ?, **",
            where=where,
            try_this='path = "me@login1:/logs/error-{job_id}-*.out"',
        )
    return JobLogs(os.path.normpath(template), raw.get("job"), _zone(raw, where), host)


def _target(raw: Mapping[str, Any], base: str, where: str) -> Target:
    where = f"{where} [[serve.notify]]"
    check_keys(raw, _TARGET_KEYS, where)
    kind, url, url_file = raw.get("kind"), raw.get("url"), raw.get("url_file")
    command, confidence = raw.get("command", []), raw.get("confidence", 0.8)
    if kind not in _KINDS:
        raise UsageError(f"kind = {kind!r} is not known", where=where, try_this="one of: " + ", ".join(_KINDS))
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        raise UsageError("'command' must be a list of texts", where=where, try_this='command = ["mail-storage"]')
    given = [name for name, value in (("url", url), ("url_file", url_file), ("command", command)) if value]
    if len(given) != 1 or (kind == "command") != (given == ["command"]):
        needed = "command" if kind == "command" else "url or url_file"
        raise UsageError(f"{kind} needs {needed}, and nothing else", where=where, try_this="correct it")
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise UsageError("'confidence' must be from 0 to 1", where=where, try_this="confidence = 0.8")
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageError("'url' must begin with http:// or https://", where=where, try_this="correct it")
    path = os.path.abspath(os.path.join(base, url_file)) if url_file else None
    if path is not None:
        read_secret(path, "address", f"{where} url_file")
    return Target(raw.get("name") or str(kind), str(kind), float(confidence), url, path, tuple(command))


def _zone(raw: Mapping[str, Any], where: str) -> str | None:
    zone = raw.get("timezone")
    if zone is not None:
        check_zone(zone, where)
    return zone


def _time_of_day(value: object, where: str) -> time:
    match = _CLOCK.fullmatch(str(value))
    if match is None:
        raise UsageError(f"{value!r} is no time of day", where=where, try_this="such as 02:30")
    return time(int(match.group(1)), int(match.group(2)))
