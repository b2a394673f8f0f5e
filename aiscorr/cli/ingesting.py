"""`ingest`: options, progress on stderr, Ctrl-C, and the summary."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from aiscorr.cli.context import Context

if TYPE_CHECKING:
    from aiscorr.config import Settings
    from aiscorr.model import IngestOptions, IngestSummary

KINDS = ("ais_log", "worker_log", "flight_recorder", "stack_dump", "node_status", "unknown")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--kind", type=click.Choice(KINDS), help="Take the files for this, whatever they look like.")
@click.option("--cluster", metavar="NAME", help="Name of the AIStore cluster the logs are from.")
@click.option("--job", metavar="ID", help="Job the worker logs are from.")
@click.option("--timezone", metavar="ZONE", help="IANA zone of files that print none.")
@click.option("--year", type=click.IntRange(2015, 2100), help="Year of lines that print none.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes to read with (else the CPUs).")
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="Of the summary, on stdout."
)
@click.pass_obj
def ingest(
    context: Context, paths: Sequence[str], kind: str | None, cluster: str | None, job: str | None,
    timezone: str | None, year: int | None, jobs: int | None, form: str,
) -> int:  # fmt: skip
    """Read files, folders and archives into the database.

    What a file is, is told by its content. The same bytes twice give nothing new; a grown file gives its tail.
    """
    from aiscorr.config import check_zone, default_job_count
    from aiscorr.model import IngestOptions

    settings = context.settings
    if timezone:
        check_zone(timezone, "--timezone")
    options = IngestOptions(
        kind=kind, cluster=cluster, job_id=job, timezone=timezone or settings.timezone,
        timezone_globs=settings.timezone_globs, year=year, job_count=jobs or settings.job_count or default_job_count(),
        pattern_folders=settings.pattern_folders, format_folders=settings.format_folders,
    )  # fmt: skip
    summary = run_ingest(context, paths, settings, options)
    click.echo(_summary_json(summary) if form == "json" else summary_text(summary, context), nl=False)
    if summary.outcome == "stopped":
        return 130
    return 3 if any(problem.is_error for problem in summary.unreadable) else 0


def run_ingest(context: Context, paths: Sequence[str], settings: Settings, options: IngestOptions) -> IngestSummary:
    """Ingests with progress on a terminal and Ctrl-C that keeps what was read."""
    from aiscorr import pipeline

    with _stoppable(context) as should_stop, _progress(context) as progress:
        return pipeline.ingest(
            paths, settings.db_path, options, now=datetime.now(UTC), memory_limit=settings.memory_limit,
            threads=settings.thread_count, should_stop=should_stop, progress=progress,
        )  # fmt: skip


@contextlib.contextmanager
def _stoppable(context: Context) -> Iterator[Callable[[], bool]]:
    """Ctrl-C once: what was read is kept and published; twice: nothing is."""
    asked: list[bool] = []

    def stop(_number: int, _frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)
        context.say("stopping: what has been read is kept (Ctrl-C again to drop it)")

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def _progress(context: Context) -> Iterator[Callable[[str, int, int, int], None]]:
    """A line on stderr that tells how far ingestion is; nothing where stderr is no terminal."""
    if context.verbosity < 0 or not sys.stderr.isatty():
        yield lambda phase, file_count, byte_count, row_count: None
        return
    started = time.monotonic()
    total = [0, 0]

    def show(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
        if phase == "read":
            total[:] = [file_count, byte_count]
        seconds = time.monotonic() - started
        size = f"{byte_count / 1e6:,.1f} MB"
        text = {
            "read": f"{file_count} files, {size} to read",
            "scan": f"{file_count} of {total[0]} files, {size}, {row_count:,} rows, {seconds:.0f} s",
            "load": f"loading {row_count:,} events of {file_count} files, then analysing, {seconds:.0f} s",
        }[phase]
        click.echo(f"\r\x1b[K{text}", nl=False, err=True)

    try:
        yield show
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def _summary_json(summary: IngestSummary) -> str:
    from dataclasses import asdict

    from aiscorr.query import json_text

    values = asdict(summary)
    for name in ("unknown", "problems"):
        key = "why" if name == "unknown" else "problem"
        values[name] = [{"path": path, key: text} for path, text in values[name]]
    names = ("failure_id", "failure_class", "storage_verdict", "statement")
    values["failures"] = [dict(zip(names, failure, strict=True)) for failure in summary.failures]
    return json_text(values, indent=1) + "\n"


def summary_text(summary: IngestSummary, context: Context) -> str:
    """What an ingest read, left out and found, for people."""
    from aiscorr.query import printable

    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.kinds.items()))
    lines = [
        f"{summary.file_count} files: {summary.new_file_count} new, {summary.unchanged_count} unchanged,"
        f" {summary.duplicate_count} with bytes already known" + (f" ({kinds})" if kinds else ""),
        f"{summary.byte_count / 1e6:,.1f} MB, {summary.line_count:,} lines, {summary.event_count:,} events,"
        f" {summary.counter_count:,} counter values, {summary.reject_count:,} rejected, {summary.seconds:.1f} s",
    ]
    for problem in summary.unreadable:
        lines.append(f"{'unreadable' if problem.is_error else 'skipped'}: {problem.path}: {problem.reason}")
    lines += [f"problem: {path}: {text}" for path, text in summary.problems]
    shown = summary.unknown if context.verbosity > 0 else summary.unknown[:10]
    lines += [f"unknown: {path}: {why}" for path, why in shown]
    if len(shown) < len(summary.unknown):
        lines.append(
            f"unknown: {len(summary.unknown) - len(shown)} more (aiscorr -v ingest …, or aiscorr query @files)"
        )
    for failure_id, failure_class, verdict, statement in summary.failures[:10]:
        lines.append(f"failure {failure_id}: {failure_class}, storage {verdict}: {statement}")
    if len(summary.failures) > 10:
        lines.append(f"{len(summary.failures) - 10} more failures (aiscorr query @failures)")
    if summary.failures:
        lines.append("read more: aiscorr report" + ("" if len(summary.failures) == 1 else " FAILURE"))
    elif summary.run_id:
        lines.append("no failure that was not known (aiscorr query @failures)")
    return "".join(f"{printable(line)}\n" for line in lines)
