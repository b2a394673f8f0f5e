"""One run of the service: reads every source, writes reports, and leaves a row; a source that fails stops no other."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from aiscorr.config import Settings, ingest_options
from aiscorr.errors import AiscorrError
from aiscorr.ingest.retention import remove_old
from aiscorr.ingest.start import ingest_into
from aiscorr.model import IngestOptions, IngestSummary, Retention
from aiscorr.pull.gather import pull
from aiscorr.pull.remote import Place, fetch
from aiscorr.pull.ssh import CONNECT_S, Limits
from aiscorr.serve.fetch import connect, make_room, remote_folder, spool_options
from aiscorr.serve.ledger import ServiceRun, add_run, ledger_path
from aiscorr.serve.notify import notify
from aiscorr.serve.plan import ClusterLogs, JobLogs, ServePlan
from aiscorr.serve.reports import write_reports
from aiscorr.serve.source import source_of


@dataclass
class _Progress:
    """What a run has done so far."""

    file_count: int = 0
    event_count: int = 0
    failures: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    removed_count: int = 0
    is_stopped: bool = False

    def add(self, summary: IngestSummary) -> None:
        """What one source gave."""
        self.file_count += summary.new_file_count
        self.event_count += summary.event_count
        self.failures += [failure[0] for failure in summary.failures if failure[0] not in self.failures]
        self.problems += [f"{problem.path}: {problem.reason}" for problem in summary.unreadable if problem.is_error]
        self.problems += [f"{path}: {problem}" for path, problem in summary.problems]
        self.is_stopped = self.is_stopped or summary.outcome == "stopped"


def run_once(
    plan: ServePlan,
    settings: Settings,
    kind: str,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    should_stop: Callable[[], bool] = lambda: False,
) -> ServiceRun:
    """Reads what is new and writes the reports it leads to; the run is in the ledger when this returns."""
    started = now()
    done = _Progress()
    steps = [partial(_pull, cluster, settings, now) for cluster in plan.clusters if cluster.endpoint]
    steps += [partial(_ingest, paths, options, settings, now) for paths, options in _sources(plan, settings)]
    steps += [partial(_fetch, jobs, plan, settings, now) for jobs in plan.jobs if jobs.host is not None]
    for step in steps:
        if should_stop():
            done.is_stopped = True
            break
        step(should_stop, done)
    if not done.is_stopped:
        _report(plan, settings, now(), done)
    if kind != "interval" and not done.is_stopped and not should_stop():
        (_remove_old if settings.lake is None else _keep_up)(plan, settings, now(), done)
    run = ServiceRun(
        kind=kind,
        started_at=started.isoformat(),
        ended_at=now().isoformat(),
        outcome=_outcome(done),
        file_count=done.file_count,
        event_count=done.event_count,
        failures=tuple(done.failures),
        reports=tuple(done.reports),
        problems=tuple(done.problems),
        removed_count=done.removed_count,
        notices=tuple(dict.fromkeys(done.notices)),
    )
    add_run(ledger_path(settings.base_path), run)
    return run


def _pull(
    cluster: ClusterLogs,
    settings: Settings,
    now: Callable[[], datetime],
    should_stop: Callable[[], bool],
    done: _Progress,
) -> None:
    """Fetches what is new in a cluster and reads it; what a node did not give is a problem of the run."""
    try:
        connection, notices = connect(cluster.endpoint, settings.pull, f"[[serve.cluster]] {cluster.endpoint}")
        done.notices += notices
        summary = pull(connection, spool_options(settings, settings.pull), should_stop=should_stop)
        done.notices += summary.notices
        done.problems += [f"{result.node.node_id}: {part}: {reason}" for result, part, reason in summary.gaps]
        done.is_stopped = done.is_stopped or summary.is_stopped
        options = replace(ingest_options(settings), cluster=cluster.name or summary.cluster_id or None)
        _ingest([summary.folder], options, settings, now, should_stop, done)
        make_room(os.path.dirname(summary.folder), settings, settings.pull, now())
    except Exception as error:  # whatever it is, the other sources are read and the run leaves its row
        done.problems.append(f"{cluster.endpoint}: {_said(error)}")
        done.is_stopped = done.is_stopped or should_stop()


def _sources(plan: ServePlan, settings: Settings) -> list[tuple[list[str], IngestOptions]]:
    """Paths to read and what is known of them; storage logs first, so that a failure finds them there."""
    common = ingest_options(settings)
    found: list[tuple[list[str], IngestOptions]] = []
    for cluster in plan.clusters:
        options = replace(common, cluster=cluster.name, timezone=cluster.timezone or common.timezone)
        if cluster.paths:
            found.append((list(cluster.paths), options))
    for jobs in plan.jobs:
        files = jobs.files() if jobs.host is None else []
        if files:
            found.append((files, _job_options(jobs, common)))
    return found


def _job_options(jobs: JobLogs, common: IngestOptions) -> IngestOptions:
    templates = (jobs.template,) if jobs.has_job_id else ()
    return replace(common, job_id=jobs.job_id, job_templates=templates, timezone=jobs.timezone or common.timezone)


def _fetch(
    jobs: JobLogs,
    plan: ServePlan,
    settings: Settings,
    now: Callable[[], datetime],
    should_stop: Callable[[], bool],
    done: _Progress,
) -> None:
    """Brings copies of another host's worker logs up to date and reads them; what was not had is a problem."""
    place, folder = Place(jobs.host or "", jobs.template), remote_folder(settings)
    limits = Limits(settings.pull.read_s + CONNECT_S, settings.pull.node_s, should_stop)
    since_ns = int((now() - plan.recent).timestamp()) * 1_000_000_000
    try:
        fetched = fetch(place, folder, limits, max_bytes=settings.pull.max_spool, since_ns=since_ns)
        done.problems += fetched.problems
        done.is_stopped = done.is_stopped or should_stop()
        here = replace(jobs, template=place.template_in(folder), host=None)
        files = here.files()
        if files:
            _ingest(files, _job_options(here, ingest_options(settings)), settings, now, should_stop, done)
            make_room(folder, settings, settings.pull, now())
    except Exception as error:  # whatever it is, the other sources are read and the run leaves its row
        done.problems.append(f"{place.host}:{place.template}: {_said(error)}")


def _ingest(
    paths: list[str],
    options: IngestOptions,
    settings: Settings,
    now: Callable[[], datetime],
    should_stop: Callable[[], bool],
    done: _Progress,
) -> None:
    try:
        summary = ingest_into(
            settings.lake or settings.db_path,
            paths,
            options,
            now=now(),
            memory_limit=settings.memory_limit,
            threads=settings.thread_count,
            should_stop=should_stop,
        )
    except Exception as error:  # whatever it is, the other sources are read and the run leaves its row
        done.problems.append(f"{paths[0]}: {_said(error)}")
        return
    done.add(summary)


def _report(plan: ServePlan, settings: Settings, now: datetime, done: _Progress) -> None:
    if settings.lake is None and not os.path.exists(settings.db_path):
        return
    source = source_of(settings)
    try:
        done.reports += write_reports(source, plan.reports, now=now, wait=plan.wait, recent=plan.recent)
        with source.opened() as connection:
            done.problems += notify(connection, plan.targets, plan.reports, since=now - plan.recent)
    except Exception as error:  # as above
        done.problems.append(f"{plan.reports}: reports: {_said(error)}")


def _remove_old(plan: ServePlan, settings: Settings, now: datetime, done: _Progress) -> None:
    """Makes room by age, once a night: what failures need is kept."""
    try:
        removed = remove_old(
            settings.db_path, plan.retention, now=now, memory_limit=settings.memory_limit, threads=settings.thread_count
        )
    except Exception as error:  # as above
        done.problems.append(f"{settings.db_path}: removing what is old: {_said(error)}")
        return
    done.removed_count += removed.row_count
    done.problems += [removed.problem] if removed.problem else []


def _keep_up(plan: ServePlan, settings: Settings, now: datetime, done: _Progress) -> None:
    """Keeps a lake quick, once a night."""
    from aiscorr.lake.upkeep import keep_up

    if settings.lake is None:
        return
    if plan.retention != Retention():
        done.notices.append("notice: [serve.retention] is for a database file; of a lake nothing is removed so far")
    try:
        keep_up(settings.lake, memory_limit=settings.memory_limit)
    except Exception as error:  # as above
        done.problems.append(f"{settings.base_path}: upkeep of the lake: {_said(error)}")


def _said(error: Exception) -> str:
    """What went wrong in one line; a fault that is none of the user's with its kind."""
    text = " ".join(str(error).split())
    return text if isinstance(error, AiscorrError) else f"{type(error).__name__}: {text}"


def _outcome(done: _Progress) -> str:
    if done.is_stopped:
        return "stopped"
    if not done.problems:
        return "ok"
    return "partial" if done.file_count or done.reports else "failed"
