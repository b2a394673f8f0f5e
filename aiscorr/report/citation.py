"""Reads cited lines and records again in the original files: verified, moved (elsewhere in the file) or gone.

A line is compared as it was stored: without colours, without what a progress bar had overwritten,
secrets taken out, cut to the stored length, joined with its rest where a terminal broke it, without marks of a quote.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from aiscorr.errors import SourceError
from aiscorr.parse.flight.pickled import MAX_BYTES, DumpError, load_dump
from aiscorr.parse.flight.recorder import FlightDump, parse_dump
from aiscorr.parse.redact import redact
from aiscorr.parse.values import strip_ansi
from aiscorr.report import document as doc
from aiscorr.report.excerpts import AROUND, Excerpts, traceback_read
from aiscorr.sources.read import TruncatedError, buffered, exists, open_member

_MIN_TELLING = 12
#: So many lines may be one that a terminal broke.
_MOST_PARTS = 12
_QUOTE = re.compile(r"^(?:\s*>)+")
_STATISTICS = re.compile(r"\{(?:…\}|[a-z][\w.-]*:-?\d)")
_Cited = TypeVar("_Cited", doc.CitedLine, doc.ChainStep)


@dataclass(frozen=True)
class Citation:
    """A line to read again, or a record of a dump; `text` of statistics is put together from the stored counters."""

    path: str
    line_no: int
    text: str | None
    locator: str | None = None

    @property
    def key(self) -> tuple[str, int | str]:
        """Path, and line number or locator."""
        return self.path, self.line_no or self.locator or 0


def is_statistics(text: str) -> bool:
    """Whether a cited text is a statistics line of AIStore (`{err.get.n:2,get.n:7}`); JSON of a worker is not."""
    return _STATISTICS.match(text) is not None


def citations(report: doc.Report) -> list[Citation]:
    """Every line that a report cites as evidence or as a step of a chain, once each."""
    found: dict[tuple[str, int | str], Citation] = {}
    for failure in report.failures:
        for item in failure.cited:
            locator = item.locator if isinstance(item, doc.CitedLine) else None
            found.setdefault(item.key, Citation(item.key[0], item.line_no or 0, item.text, locator))
    return list(found.values())


def check(cited: Iterable[Citation], excerpts: Excerpts | None = None) -> dict[tuple[str, int | str], str]:
    """verified, moved or gone for each (path, line number or locator); a file is read once, to its last line cited.

    `excerpts` keeps the lines around each.
    """
    by_path: dict[str, list[Citation]] = {}
    for item in cited:
        by_path.setdefault(item.path, []).append(item)
    result: dict[tuple[str, int | str], str] = {}
    for path, items in by_path.items():
        result |= _check_dump(path, items) if items[0].locator else _check_file(path, items, excerpts)
    return result


def read_again(report: doc.Report) -> doc.Report:
    """The report with what is found at the lines it cites."""
    return with_checks(report, check(citations(report)))


def read_around(report: doc.Report) -> doc.Report:
    """As `read_again`, with the surroundings of what it shows, and the culprits' tracebacks, as a page shows them."""
    cited = {item.key: item for item in citations(report)}
    excerpts = Excerpts(report)
    for path, line_no in excerpts.wanted:
        cited.setdefault((path, line_no), Citation(path, line_no, None))
    checked = with_checks(report, check(cited.values(), excerpts))
    failures = (
        replace(
            one,
            excerpts=excerpts.of(one.failure_id),
            tracebacks=tuple(map(traceback_read, one.tracebacks)),
        )
        for one in checked.failures
    )
    return replace(checked, failures=tuple(failures))


def with_checks(report: doc.Report, checks: dict[tuple[str, int | str], str]) -> doc.Report:
    """The report with what reading the cited lines again gave, by path and line number."""

    def seen(items: tuple[_Cited, ...]) -> tuple[_Cited, ...]:
        return tuple(replace(item, check=checks.get(item.key)) for item in items)

    def one(failure: doc.FailureReport) -> doc.FailureReport:
        causes = tuple(
            replace(cause, supports=seen(cause.supports), contradicts=seen(cause.contradicts))
            for cause in failure.root_causes
        )
        chains = tuple(replace(chain, steps=seen(chain.steps)) for chain in failure.chains)
        return replace(failure, root_causes=causes, chains=chains)

    return replace(report, failures=tuple(map(one, report.failures)))


def missing_files(cited: Iterable[Citation]) -> list[str]:
    """The cited files that are not there any more."""
    return sorted({item.path for item in cited if not exists(item.path)})


def _check_dump(path: str, items: list[Citation]) -> dict[tuple[str, int | str], str]:
    """Whether the records that a Flight Recorder dump was cited for are still in it and say the same.

    A later attempt writes its dumps under the same names, with the same numbers of records.
    """
    try:
        with buffered(open_member(path)) as stream:
            dump = parse_dump(load_dump(stream.read(MAX_BYTES + 1)))
    except (SourceError, TruncatedError, OSError, DumpError):
        return {item.key: "gone" for item in items}
    told = _told_by(dump)
    return {item.key: "verified" if _says(told.get(item.locator or ""), item.text) else "gone" for item in items}


def _says(told: str | None, text: str | None) -> bool:
    return told is not None and (text is None or told in text)


def _told_by(dump: FlightDump) -> dict[str, str]:
    """What the text of a citation holds, by its locator: as the views fr_collective and fr_group put it."""
    told = {"dump": f"{dump.entry_count} records"}
    names = ("record_id", "entry_no", "operation", "is_p2p", "p2p_seq_num", "seq_num")
    for record_id, entry_no, operation, is_p2p, p2p_no, number in zip(
        *(dump.collectives[name] for name in names), strict=True
    ):
        shown = p2p_no if is_p2p else number
        locator = f"entry={entry_no}" if record_id is None else f"record_id={record_id}"
        told[locator] = f"{operation or 'operation'} number {'?' if shown is None else shown} in "
    for group in dump.groups:
        counts = (group.last_enqueued, group.last_started, group.last_completed)
        words = ("?" if count is None else str(count) for count in counts)
        locator = f"pg_config {group.guid or '?'}" if group.pg_id is None else f"pg_status {group.pg_id}"
        told[locator] = "enqueued {}, started {}, completed {}".format(*words)
    return told


def _check_file(path: str, items: list[Citation], excerpts: Excerpts | None) -> dict[tuple[str, int | str], str]:
    wanted = {item.line_no: item for item in items}
    result: dict[tuple[str, int | str], str] = {(path, item.line_no): "gone" for item in items}
    missed: list[Citation] = []
    before: deque[bytes] = deque(maxlen=AROUND)
    try:
        with buffered(open_member(path)) as stream:
            for number, (raw, *rest) in enumerate(_with_next(stream), start=1):
                item = wanted.pop(number, None)
                if item is not None:
                    if excerpts is not None:
                        excerpts.keep(path, number, before, (raw, *rest))
                    if _is_same(item.text, raw) or _is_joined(item.text, [raw, *rest]):
                        result[path, number] = "verified"
                    else:
                        missed.append(item)
                before.append(raw)
                if not wanted:
                    break
    except (SourceError, TruncatedError, OSError):
        return result
    missed += wanted.values()
    for item in _found_elsewhere(path, missed):
        result[path, item.line_no] = "moved"
    return result


def _found_elsewhere(path: str, missed: list[Citation]) -> list[Citation]:
    left = [item for item in missed if item.text and len(item.text) >= _MIN_TELLING]
    found: list[Citation] = []
    if not left:
        return found
    try:
        with buffered(open_member(path)) as stream:
            for raw in stream:
                hit = next((item for item in left if _is_same(item.text, raw)), None)
                if hit is not None:
                    found.append(hit)
                    left.remove(hit)
                if not left:
                    break
    except (SourceError, TruncatedError, OSError):
        pass
    return found


def _is_same(stored: str | None, raw: bytes) -> bool:
    """Whether a raw line is the stored one; of a statistics line, whether it has every counter that is cited."""
    if stored is None or is_statistics(stored):
        return b"{" in raw and _counters(stored or "") <= _counters(raw.decode("utf-8", "replace"))
    wanted = redact(strip_ansi(stored)).strip()  # what is taken out grows with the versions
    text = redact(strip_ansi(raw.decode("utf-8", "replace"))).strip()
    return text.startswith(wanted) or wanted in text


def _with_next(lines: Iterable[bytes]) -> Iterator[tuple[bytes, ...]]:
    """Each line with those behind it that may be its rest."""
    window: deque[bytes] = deque(maxlen=_MOST_PARTS)
    for line in lines:
        window.append(line)
        if len(window) == _MOST_PARTS:
            yield tuple(window)
    if len(window) == _MOST_PARTS:
        window.popleft()
    while window:
        yield tuple(window)
        window.popleft()


def _is_joined(stored: str | None, lines: Sequence[bytes]) -> bool:
    """Whether the stored line is the first of these with its rest, blanks at the breaks and marks of a quote aside."""
    if stored is None or len(stored) < _MIN_TELLING:
        return False
    texts = [_QUOTE.sub("", strip_ansi(line.decode("utf-8", "replace"))) for line in lines]
    wanted, first = _squeezed(stored), _squeezed(texts[0])
    return bool(first) and 0 <= _squeezed("".join(texts)).find(wanted) < len(first)


def _squeezed(text: str) -> str:
    return "".join(redact(text).split())


def _counters(text: str) -> set[str]:
    """The pairs of a statistics line, cut or not: `I 10:03:00.000000 {get.n:1,put.n:2}` → {"get.n:1", "put.n:2"}."""
    return {pair for pair in re.split("[,…]", text.rpartition("{")[2].rstrip("}…\r\n ")) if pair}
