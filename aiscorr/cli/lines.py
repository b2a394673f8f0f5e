"""`lines`: a line of a log in its surroundings, or the lines of a failure from all its files in order of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from aiscorr.cli import completing
from aiscorr.cli.context import Context, has_colors
from aiscorr.errors import AiscorrError, SourceError, UsageError

if TYPE_CHECKING:
    from aiscorr.report.lines.merged import MergedLine, Span
    from aiscorr.report.lines.surroundings import NearLine

_PLACE = re.compile(r"(.+):(\d+)")
_RECORD = re.compile(r".+:(?:record_id|entry|frame|dump|pg_\w+)[= ]?\S*")
#: What the pager goes to: a line that is an error or that the verdict cites.
_MARKED = "^[>!]"
_LEGEND = "Marks: > is cited by the verdict, ! is an error; in the pager n and N go to the next and the last of them"
_SHOWN = 100_000
_TEXT = 4_000


@click.command()
@click.argument("what", metavar="FILE:LINE|FAILURE", default="latest", shell_complete=completing.places)
@click.option("-C", "around", type=click.IntRange(0, 100_000), default=10, help="Lines before and after FILE:LINE.")
@click.option("--before", default="10s", metavar="TIME", help="How much before what the report names: 30s, 5m, 2h.")
@click.option("--after", default="10s", metavar="TIME", help="How much after it.")
@click.option("--of", "owners", multiple=True, metavar="WHO", help="Only lines of this node or rank; several times.")
@click.option("--limit", type=click.IntRange(0), default=_SHOWN, help="Lines of a failure; 0 for all.")
@click.option("--color/--no-color", default=None, help="Colours (else on a terminal).")
@click.pass_obj
def lines(
    context: Context, what: str, around: int, before: str, after: str, owners: Sequence[str], limit: int,
    color: bool | None,
) -> int:  # fmt: skip
    """A line in its surroundings, or all lines of a failure, from all its files merged by corrected time.

    \b
    aiscorr lines workers/error-0.out:29 -C 20    a line as a report cites it, also archive.tar.gz!member:29
    aiscorr lines 5120341                         a failure, a job, or latest; n and N go to the next error
    aiscorr lines latest --of AZq6Oo53 --of 5     what a node and a rank wrote in its time
    """
    place = _PLACE.fullmatch(what)
    if place is not None:
        return _around(context, place[1], int(place[2]), around, is_colored=has_colors(color))
    if _RECORD.fullmatch(what):
        raise UsageError("a record of a dump is no line", where=what, try_this="aiscorr query @collectives")
    spans = _seconds(before, "--before"), _seconds(after, "--after")
    return _merged(context, what, spans, owners, limit, has_colors(color))


def _around(context: Context, name: str, line_no: int, around: int, *, is_colored: bool) -> int:
    from contextlib import ExitStack

    from aiscorr.report.lines.stored import file_called
    from aiscorr.report.lines.surroundings import lines_around

    if line_no < 1:
        raise UsageError("lines are counted from 1", where=f"{name}:{line_no}", try_this=f"{name}:1")
    with ExitStack() as stack:
        connection: Any = None
        try:
            connection = stack.enter_context(context.reading())
        except AiscorrError as error:  # a file can be read without a database; its times are not known then
            context.say(f"without times: {error.what}")
        path = file_called(connection, name)
        found = list(lines_around(connection, path, line_no, around))
    context.show(_near(path, line_no, found, is_colored), jump="^>" if around else None)
    return 0


def _near(path: str, line_no: int, found: list[NearLine], is_colored: bool) -> Iterator[str]:
    """The file, then its lines with their numbers, the one that was asked for marked."""
    from aiscorr.query.formats import printable

    size = len(str(found[-1].line_no)) if found else 1
    first = next((line.utc_ns for line in found if line.utc_ns is not None), None)
    day = f" ({_moment(first):%Y-%m-%d}, times in UTC)" if first is not None else ""
    yield f"{printable(path)}{day}\n"
    for line in found:
        is_it = line.line_no == line_no
        time = _clock(line.utc_ns) if line.is_exact and line.utc_ns is not None else ""
        head = f"{'>' if is_it else ' '} {line.line_no:>{size}}  " + (f"{time:<12}  " if day else "")
        yield _colored(head, "bold" if is_it else "", is_colored) + _cut(line.text) + "\n"


def _merged(
    context: Context, which: str, spans: tuple[float, float], owners: Sequence[str], limit: int, is_colored: bool
) -> int:
    from aiscorr.report.blocks import Places
    from aiscorr.report.lines.merged import merged_lines, span_of

    missing: list[SourceError] = []
    with context.reading(context.path_of(which)) as connection:
        ids = _failures(connection, which)
        if not ids:
            raise UsageError("no failure is known so far", where="aiscorr lines", try_this="aiscorr ingest PATH…")
        span = span_of(connection, ids[0], *spans)
        paths, found = merged_lines(connection, span, missing.append)
    if owners:
        theirs = _of(found, owners)
        found = chain((next(theirs),), theirs)
    places = Places(paths)
    head = [
        f"Failure {span.failure_id}: {_moment(span.first_ns):%Y-%m-%d %H:%M:%S} to {_moment(span.last_ns):%H:%M:%S}"
        f" UTC, {len(paths)} files" + (f" below {places.root}" if places.root else "") + "\n",
        f"{_LEGEND}\n",
        *beyond(span, spans),
    ]
    context.show(_texts(head, found, places.line, limit, is_colored), jump=_MARKED)
    for error in missing:
        click.echo(f"error: {error}", err=True)
    return 3 if missing else 0


def beyond(span: Span, spans: tuple[float, float]) -> Iterator[str]:
    """That the report names lines further off than these, and how to see them."""
    far = ("before", span.first_ns - span.named_first_ns), ("after", span.named_last_ns - span.last_ns)
    for (side, distance_ns), shown_s in zip(far, spans, strict=True):
        if distance_ns > 0:
            minutes = int((shown_s + distance_ns / 1e9) // 60) + 1
            yield f"The report names lines from further {side}: --{side} {minutes}m shows them\n"


def _of(found: Iterable[MergedLine], owners: Sequence[str]) -> Iterator[MergedLine]:
    """The lines of these nodes and ranks. Raises UsageError, with whose lines there are, where none is theirs."""
    others: set[str] = set()
    is_any = False
    for line in found:
        if any(_is_owner(owner, line.who) for owner in owners):
            is_any = True
            yield line
        else:
            others.add(line.who)
    if not is_any:
        said = f"no line of {', '.join(owners)} in this time"
        raise UsageError(said, where="--of", try_this=f"--before 5m, or one of {', '.join(sorted(others)[:12])}")


def _is_owner(owner: str, who: str) -> bool:
    """Whether a node (`t[ID]`, an id or its beginning) or a rank (`rank 5`, `5`) is the one that wrote a line."""
    rank = re.fullmatch(r"(?:rank[ =]?)?(\d+)", owner)
    return who == f"rank {rank[1]}" if rank else who.startswith(re.sub(r"^[tp]\[|\]$", "", owner))


def _failures(connection: Any, which: str) -> list[str]:
    """The failures that are meant. Raises UsageError, which says so where a file is named without a line."""
    from aiscorr.report.failure_choice import failure_ids
    from aiscorr.report.lines.stored import file_called

    try:
        return failure_ids(connection, which)
    except UsageError as error:
        try:
            path = file_called(connection, which)
        except AiscorrError:
            raise error from None
    raise UsageError("a file, and no line of it", where=path, try_this=f"aiscorr lines {path}:1")


def _texts(head: list[str], found: Iterable[MergedLine], place: Any, limit: int, is_colored: bool) -> Iterator[str]:
    """The lines as text, and at the end how many there are and how to get more."""
    from aiscorr.query.formats import printable

    yield from head
    count, size, day = 0, 8, ""
    for line in found:
        if limit and count == limit:
            yield f"… cut behind {limit:,} lines, at {_clock(line.utc_ns)}; all of them: --limit 0\n"
            return
        moment = _moment(line.utc_ns)
        if day != (day := f"{moment:%Y-%m-%d}"):
            yield f"--- {day}\n"
        count, size = count + 1, max(size, len(line.who))
        time = "" if line.is_exact is None else ("" if line.is_exact else "~") + _clock(line.utc_ns)
        tone = {">": "bold yellow", "!": "red"}.get(line.mark, "")
        text = _colored(f"{time:<13}  {line.who:<{size}}  {_cut(line.text)}", tone, is_colored)
        yield f"{line.mark} {text}  {_colored(printable(place(line.path, line.line_no)), 'cyan', is_colored)}\n"
    yield f"{count:,} lines; more before and after them: --before 5m --after 5m\n"


def _seconds(text: str, where: str) -> float:
    from aiscorr.report.period import duration

    return 0.0 if text in ("0", "0s") else duration(text, where).total_seconds()


def _moment(utc_ns: int) -> datetime:
    return datetime.fromtimestamp(utc_ns // 1000 / 1e6, UTC)


def _clock(utc_ns: int) -> str:
    from aiscorr.report.blocks import clock

    return clock(_moment(utc_ns))


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text) - _TEXT:,} more characters)"


def _colored(text: str, tone: str, is_colored: bool) -> str:
    if not (is_colored and tone):
        return text
    bold, _, color = tone.rpartition(" ")
    return click.style(text, bold=bool(bold) or tone == "bold" or None, fg=None if color == "bold" else color)
