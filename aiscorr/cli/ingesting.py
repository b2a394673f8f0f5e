"""`ingest`: options, progress on stderr, Ctrl-C, and the summary."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from aiscorr.cli.context import Context
from aiscorr.cli.progress import Show, progress

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
@click.option("--engine", metavar="ENGINE", help="Where to read and judge: processes, dask, dask://HOST:PORT, …")
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="Of the summary, on stdout."
)
@click.pass_obj
def ingest(
    context: Context, paths: Sequence[str], kind: str | None, cluster: str | None, job: str | None,
    timezone: str | None, year: int | None, jobs: int | None, engine: str | None, form: str,
) -> int:  # fmt: skip
    """Read files, folders and archives into the database.

    The content of a file says what it is. The same bytes twice give nothing new; a grown file gives its tail.
    """
    from dataclasses import replace

    from aiscorr.config import check_zone, ingest_options
    from aiscorr.ingest.engine import check_name

    settings = context.settings
    if timezone:
        check_zone(timezone, "--timezone")
    known = ingest_options(settings)
    options = replace(
        known, kind=kind, cluster=cluster, job_id=job, timezone=timezone or known.timezone, year=year,
        job_count=jobs or known.job_count, engine=check_name(engine, "--engine") if engine else known.engine,
    )  # fmt: skip
    summary = run_ingest(context, paths, settings, options)
    click.echo(_summary_json(summary) if form == "json" else summary_text(summary, context, paths), nl=False)
    if summary.outcome == "stopped":
        return 130
    return 3 if summary.outcome == "partial" else 0


def run_ingest(context: Context, paths: Sequence[str], settings: Settings, options: IngestOptions) -> IngestSummary:
    """Ingests with progress on a terminal and Ctrl-C that keeps what was read."""
    from aiscorr import native
    from aiscorr.ingest.start import ingest_into

    if context.verbosity > 0:
        context.say(native.describe())
    with stoppable(context) as stop, progress(context) as show:
        return ingest_into(
            settings.lake or settings.db_path, paths, options, now=datetime.now(UTC),
            memory_limit=settings.memory_limit, threads=settings.thread_count, should_stop=lambda: stop.is_asked,
            progress=stop.watching(show),
        )  # fmt: skip


class _Stop:
    """What Ctrl-C does: once while files are read, what is promised holds; twice, or later, it does not."""

    def __init__(self, context: Context, promise: str) -> None:
        self._context = context
        self._promise = promise
        self.is_asked = False
        self.is_dropped = False
        self._is_storing = False

    def on_signal(self, _number: int, _frame: object) -> None:
        """Takes the signal. Raises KeyboardInterrupt where the run is to be dropped."""
        if self.is_asked or self._is_storing:
            self.is_dropped = True
            raise KeyboardInterrupt
        self.is_asked = True
        with contextlib.suppress(RuntimeError):  # Python lets nobody write to stderr inside a write to stderr
            self._context.say(f"stopping: {self._promise} (Ctrl-C again to drop it)")

    def watching(self, show: Show) -> Show:
        """The progress, of which the phase is noted: from storing on there is nothing to be kept."""

        def watched(phase: str, file_count: int, byte_count: int, row_count: int) -> None:
            self._is_storing = phase not in ("read", "scan")
            show(phase, file_count, byte_count, row_count)

        return watched


@contextlib.contextmanager
def stoppable(context: Context, promise: str = "what has been read is kept, stored and analysed") -> Iterator[_Stop]:
    """Ctrl-C as long as the block runs; `promise` is said when it is first met.

    Raises KeyboardInterrupt where the run is dropped, whatever became of it on its way: DuckDB and Arrow make errors
    of their own of one that is raised in Python code they call.
    """
    stop = _Stop(context, promise)
    previous = signal.signal(signal.SIGINT, stop.on_signal)
    try:
        yield stop
    except Exception:
        if stop.is_dropped:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, previous)


def _summary_json(summary: IngestSummary) -> str:
    from dataclasses import asdict

    from aiscorr.query.formats import json_text

    values = asdict(summary)
    for name in ("unknown", "problems"):
        key = "why" if name == "unknown" else "problem"
        values[name] = [{"path": path, key: text} for path, text in values[name]]
    names = ("failure_id", "failure_class", "storage_verdict", "statement")
    values["failures"] = [dict(zip(names, failure, strict=True)) for failure in summary.failures]
    return json_text(values, indent=1) + "\n"


#: So many files that are unknown for the same reason have a line each.
_FEW = 3
#: What -q leaves of a summary.
_NEWS = ("unreadable", "problem", "failure")


def summary_text(summary: IngestSummary, context: Context, paths: Sequence[str]) -> str:
    """What an ingest read, left out and found, for people; with -q only what could not be read, and failures."""
    from aiscorr.query.formats import printable
    from aiscorr.sources import names

    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.kinds.items()))
    noun = "file" if summary.file_count == 1 else "files"
    told = summary.new_file_count + summary.unchanged_count + summary.duplicate_count + len(summary.unknown)
    inside = f" ({told} with what archives hold)" if told > summary.file_count else ""
    unknown = f", {len(summary.unknown)} of no known kind" if summary.unknown else ""
    lines = [
        f"{summary.file_count} {noun}{inside}: {summary.new_file_count} new, {summary.unchanged_count} unchanged,"
        f" {summary.duplicate_count} with bytes already known{unknown}" + (f" ({kinds})" if kinds else ""),
        f"{summary.byte_count / 1e6:,.1f} MB, {summary.line_count:,} lines, {summary.event_count:,} events,"
        f" {summary.counter_count:,} counter values, {summary.reject_count:,} rejected, {summary.seconds:.1f} s",
    ]
    unreadable = [p for p in summary.unreadable if p.is_error]
    skipped = [p for p in summary.unreadable if not p.is_error]
    is_all = context.verbosity > 0
    lines += _some("unreadable", [(p.path, p.reason) for p in unreadable], 8, is_all)
    lines += _some("problem", summary.problems, 8, is_all)
    lines += _some("skipped", [(p.path, p.reason) for p in skipped], 4, is_all)
    unknown_files = summary.unknown if is_all else _alike(summary.unknown)
    lines += _some("unknown", unknown_files, 10, is_all, ", or aiscorr query @files")
    for failure_id, failure_class, verdict, statement in summary.failures[:6]:
        lines.append(f"failure {failure_id}: {failure_class}, storage {verdict}: {statement}")
    if len(summary.failures) > 6:
        lines.append(f"failures: {len(summary.failures) - 6} more ({context.command('query @failures')})")
    if context.verbosity < 0:
        lines = [line for line in lines if line.startswith(_NEWS)]
    elif summary.failures:
        lines.append(f"read more: {context.command('report')}{_which(summary)}")
    elif not summary.file_count and not summary.unreadable:
        lines.append(f"no file was found in {', '.join(map(names.printable, paths))}")
    elif summary.run_id:
        lines.append(f"no new failure ({context.command('query @failures')})")
    return "".join(f"{printable(line)}\n" for line in lines)


def _which(summary: IngestSummary) -> str:
    """What to add to `report` to see what the run found: nothing where it is the failure shown without a name."""
    if len(summary.failures) > 1:
        return " FAILURE"
    failure_id = summary.failures[0][0]
    return "" if failure_id == summary.latest_failure_id else f" {failure_id}"


def _alike(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Files that are unknown for the same reason as one line, where they are more than a few."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in found:
        by_reason.setdefault(reason, []).append(path)
    few = {reason for reason, paths in by_reason.items() if len(paths) <= _FEW}
    alike = [
        (f"{len(paths)} files, such as {paths[0]}", reason) for reason, paths in by_reason.items() if reason not in few
    ]
    return [*((path, reason) for path, reason in found if reason in few), *alike]


def _some(label: str, found: Sequence[tuple[str, str]], most: int, is_all: bool, else_see: str = "") -> list[str]:
    """A line for each, the first ones only so that all fits on a screen; the rest is counted."""
    shown = found if is_all else found[:most]
    lines = [f"{label}: {path}: {text}" for path, text in shown]
    if len(shown) < len(found):
        lines.append(f"{label}: {len(found) - len(shown)} more (aiscorr -v ingest …{else_see})")
    return lines
