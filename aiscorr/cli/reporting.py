"""`report`, `verify`, `explain` and `demo`."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from aiscorr.cli import completing
from aiscorr.cli.context import Context, emit, emit_bytes, has_colors
from aiscorr.cli.ingesting import run_ingest, summary_text
from aiscorr.errors import AiscorrError, UsageError

if TYPE_CHECKING:
    from aiscorr.report.document import Report
    from aiscorr.report.layout import Extent

_FORMATS = ("text", "markdown", "json", "html", "pdf")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".pdf": "pdf", ".txt": "text"}
#: Ends of names that promise something else than text.
_FOREIGN = re.compile(r"(?i)\.(?:docx?|odt|rtf|xlsx?|csv|tsv|xml|ya?ml|toml|jsonl|parquet|arrow|svg|png|jpe?g)")


@click.command()
@click.argument("failure", default="latest", shell_complete=completing.failures)
@click.option("--format", "form", type=click.Choice(_FORMATS), help="Else what the end of FILE's name says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
@click.option("--since", metavar="TIME", help="All failures since then: 30d, a day, or a moment in UTC.")
@click.option("--against", metavar="FAILURE", shell_complete=completing.failures, help="What it shares with another.")
@click.option("--no-verify", is_flag=True, help="Do not read the cited lines again.")
@click.option("--brief", is_flag=True, help="Only the verdict, who acts, and the strongest lines.")
@click.option("--full", is_flag=True, help="All there is: triage, words, and suspects and coverage in any case.")
@click.option("--width", type=click.IntRange(60, 400), help="Columns of the text (else the terminal's, else 110).")
@click.option("--color/--no-color", default=None, help="Colours (else on a terminal).")
@click.pass_obj
def report(
    context: Context,
    failure: str,
    form: str | None,
    output: str | None,
    since: str | None,
    against: str | None,
    no_verify: bool,
    brief: bool,
    full: bool,
    width: int | None,
    color: bool | None,
) -> int:
    """The incident report of a failure: latest, an id, a job id, or all."""
    _check_options(failure, since, against, brief=brief, full=full)
    form = form or _form_of(output)
    if form == "pdf" and output is None:
        raise UsageError("a PDF is no text", where="aiscorr report", try_this="-o report.pdf, or -o - for a pipe")
    shown = _Shown(form, width, has_colors(color, output), "brief" if brief else "full" if full else "usual")
    if against is not None:
        text = _comparison(context, failure, against, shown)
    else:
        text = _report(context, None, failure, shown, is_verified=not no_verify, since=since)
    if form == "pdf":
        from aiscorr.report.paper import pdf_of

        emit_bytes(pdf_of(text), str(output))
    elif output is None and form in ("text", "markdown"):
        context.show_commands(text)
    else:
        emit(text, output)
    return 0


def _check_options(failure: str, since: str | None, against: str | None, *, brief: bool, full: bool) -> None:
    """Raises UsageError where options exclude each other."""
    if brief and full:
        raise UsageError("--brief and --full at once", where="aiscorr report", try_this="leave one of them away")
    if since is not None and failure not in ("latest", "all"):
        raise UsageError(f"--since and {failure!r}", where="aiscorr report", try_this="leave one of them away")
    if against is not None and (since is not None or brief or full):
        said = "--against compares two failures, whole"
        raise UsageError(said, where="aiscorr report", try_this="leave --since, --brief and --full away")


@dataclass(frozen=True)
class _Shown:
    """How a document is shown: its form, its columns where they are given, colours, and how much of it."""

    form: str
    width: int | None
    color: bool
    extent: Extent = "usual"

    @property
    def columns(self) -> int:
        """The width of a text: as given, else that of the terminal within limits, else 110."""
        from aiscorr.query.shell import terminal_width

        return self.width or (min(max(terminal_width(), 60), 160) if sys.stdout.isatty() else 110)


def _form_of(output: str | None) -> str:
    """What the name of a file says of its form."""
    _, end = os.path.splitext(output or "")
    form = _SUFFIXES.get(end.lower(), "text")
    if form == "text" and _FOREIGN.fullmatch(end):
        raise UsageError(f"no format of a report is called {end}", where=str(output), try_this=", ".join(_SUFFIXES))
    return form


def _report(
    context: Context, db_path: str | None, failure: str, shown: _Shown, *, is_verified: bool, since: str | None = None
) -> str:
    from aiscorr.report import render
    from aiscorr.report.citation import read_again, read_around

    document = _built(context, db_path, failure, since)
    if is_verified:
        document = read_around(document) if shown.form in ("html", "pdf") else read_again(document)
    if shown.form == "json":
        return render.render_json(document)
    if shown.form == "markdown":
        return render.render_markdown(document, extent=shown.extent)
    if shown.form in ("html", "pdf"):
        from aiscorr.report.html import render_html
        from aiscorr.report.overview_html import render_overview

        return (render_html if document.overview is None else render_overview)(document, extent=shown.extent)
    return render.render_text(document, width=shown.columns, color=shown.color, extent=shown.extent)


def _built(context: Context, db_path: str | None, failure: str, since: str | None) -> Report:
    """The document; of a lake each failure is read from the slice around it."""
    from aiscorr.report.build import build_report, build_report_since, read_apart
    from aiscorr.report.period import moment_since

    now = datetime.now(UTC)
    begin = None if since is None else moment_since(since, now, "--since")
    jobs: list[str] = []
    if db_path is None and context.settings.lake is not None:
        from aiscorr.lake.local import RESULTS

        jobs = context.jobs_called(failure) if begin is None else []
        is_one = begin is None and len(jobs) < 2
        db_path = context.path_of_jobs(jobs) if is_one else context.db_path(RESULTS)
    with context.reading(db_path) as connection:
        if begin is not None:
            return build_report_since(connection, begin, now)
        document = build_report(connection, failure, now)
    if len(jobs) < 2 or context.path_of_jobs(jobs[:1]) == db_path:  # of a small lake all was read
        return document
    return read_apart(document, lambda job: context.reading(context.path_of_jobs([job])), now)


def _comparison(context: Context, first: str, second: str, shown: _Shown) -> str:
    from aiscorr.query.formats import json_text
    from aiscorr.report import render
    from aiscorr.report.comparison import build_comparison, comparison_sections
    from aiscorr.report.document import to_json
    from aiscorr.report.html import render_sections_html
    from aiscorr.report.layout import foot

    with context.reading(context.path_of(first, second)) as connection:
        document = build_comparison(connection, first, second, datetime.now(UTC))
    if shown.form == "json":
        return json_text(to_json(document), indent=2) + "\n"
    sections, last = comparison_sections(document), foot(document)
    if shown.form == "markdown":
        return render.render_sections_markdown(sections, last)
    if shown.form in ("html", "pdf"):
        return render_sections_html(sections, last)
    return render.render_sections_text(sections, last, width=shown.columns, color=shown.color)


@click.command()
@click.argument("failure", default="all", shell_complete=completing.failures)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text")
@click.pass_obj
def verify(context: Context, failure: str, form: str) -> int:
    """Open the original files again and compare every line that is cited as evidence."""
    from aiscorr.query.formats import json_text, printable
    from aiscorr.report.citation import check, citations, missing_files

    cited = citations(_built(context, None, failure, None))
    found = check(cited)
    gone = missing_files(cited)
    if form == "json":
        lines = [{"path": path, "line_no": line_no, "check": state} for (path, line_no), state in sorted(found.items())]
        click.echo(json_text({"lines": lines, "gone_files": gone}, indent=1))
    else:
        for (path, line_no), state in sorted(found.items()):
            if state != "verified" or context.verbosity > 0:
                click.echo(printable(f"{state}: {path}:{line_no}"))
        for path in gone:
            click.echo(printable(f"file gone: {path}"))
        counts = {
            state: sum(1 for value in found.values() if value == state) for state in ("verified", "moved", "gone")
        }
        click.echo(
            f"{len(found)} cited lines: {counts['verified']} verified, {counts['moved']} moved,"
            f" {counts['gone']} gone; {len(gone)} files gone"
        )
    if gone:
        return 3
    return 1 if "gone" in found.values() else 0


@click.command()
@click.argument("name", shell_complete=completing.names)
@click.pass_obj
def explain(context: Context, name: str) -> int:
    """What a pattern, counter, view, word … means, and what a job, failure, chain, node, request or host was."""
    from aiscorr.catalog.explain import explain as explain_name
    from aiscorr.catalog.known import known
    from aiscorr.query.shell import terminal_width
    from aiscorr.store.database import reading

    folders = context.settings.pattern_folders, context.settings.query_folders
    found: list[str] = []
    with contextlib.suppress(AiscorrError), reading(context.db_path()) as connection:
        found = known(connection, name.strip())
    parts = name.split(" / ")  # as a report prints the class of a failure: storage_io / killed
    for part in parts:
        try:
            found += explain_name(part, *folders, may_be_flags=not found)
        except UsageError:
            if not found:
                raise
    width = terminal_width() if sys.stdout.isatty() else 110
    context.show_commands("\n\n".join(_wrapped(text, width) for text in found) + "\n")
    return 0


def _wrapped(text: str, width: int) -> str:
    """The paragraphs, their prose wrapped; commands stay whole."""
    import textwrap

    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        is_whole = line.startswith("  aiscorr ") or len(line) <= width
        lines += [line] if is_whole else textwrap.wrap(
            line, width, subsequent_indent=indent + "  " * bool(indent), break_long_words=False, break_on_hyphens=False
        )  # fmt: skip
    return "\n".join(lines)


@click.command()
@click.option("--keep", metavar="PATH", help="Keep the database here.")
@click.option("--format", "form", type=click.Choice(("text", "markdown", "json")), default="text")
@click.pass_obj
def demo(context: Context, keep: str | None, form: str) -> int:
    """Read the bundled incident into a temporary database and print its report."""
    from aiscorr.config import default_job_count, ingest_options, lake_at
    from aiscorr.demo import demo_folder
    from aiscorr.lake.address import is_lake
    from aiscorr.model import IngestOptions

    with tempfile.TemporaryDirectory(prefix="aiscorr-demo-") as folder:
        db_path = keep or os.path.join(folder, "demo.duckdb")
        paths = [str(path) for path in demo_folder()]
        context.say("reading " + " ".join(paths))
        settings = context.settings
        options = IngestOptions(job_count=settings.job_count or default_job_count())
        if is_lake(db_path):
            options = ingest_options(settings)
            context.found[0] = settings = replace(settings, lake=lake_at(db_path, "--keep", settings))
        summary = run_ingest(context, paths, replace(settings, db_path=db_path), options)
        context.say(summary_text(summary, context, paths).split("\nfailure ")[0])
        shown = _Shown(form, None, has_colors(None))
        text = _report(context, None if is_lake(db_path) else db_path, "latest", shown, is_verified=True)
        emit(text, None)
    if keep is None and form == "text":
        context.say("for the commands above: aiscorr demo --keep demo.duckdb, then aiscorr --db demo.duckdb …")
    return 0
