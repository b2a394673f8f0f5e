"""The surroundings of cited lines, kept while the lines are read again, and tracebacks, read whole.

Lines are kept as they are shown: without colours, secrets taken out, long ones cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from aiscorr.errors import SourceError
from aiscorr.parse.redact import redacted_lines
from aiscorr.parse.values import strip_ansi
from aiscorr.report import document as doc
from aiscorr.sources.read import TruncatedError, buffered, open_member

if TYPE_CHECKING:
    from aiscorr.report.layout import Placed

#: Lines before and after a cited one.
AROUND = 10
_LONGEST_LINE = 300
#: So many places of a failure, and so much text of a report, have surroundings; what carries the verdict goes first.
_MOST_PLACES = 80
_MOST_TEXT = 160_000
_LEAST_TEXT = 20_000
#: A longer traceback shows its first lines and its last ones.
_TRACEBACK_HEAD, _TRACEBACK_TAIL = 10, 70


class Excerpts:
    """Keeps the lines around places that a report shows, as much as a page may hold."""

    def __init__(self, report: doc.Report) -> None:
        self._places = {one.failure_id: list(islice(_places(one), _MOST_PLACES)) for one in report.failures}
        self._most_text = max(_MOST_TEXT // max(len(report.failures), 1), _LEAST_TEXT)
        self._found: dict[tuple[str, int], tuple[int, tuple[str, ...]]] = {}

    @property
    def wanted(self) -> Iterator[tuple[str, int]]:
        """The places whose surroundings are to be kept."""
        for places in self._places.values():
            yield from places

    def keep(self, path: str, line_no: int, before: Iterable[bytes], lines: Sequence[bytes]) -> None:
        """Keeps a line with those before it and behind it."""
        kept = [*before, *lines[: AROUND + 1]]
        first = line_no - (len(kept) - len(lines[: AROUND + 1]))
        self._found[path, line_no] = first, tuple(_shown(kept))

    def of(self, failure_id: str) -> tuple[doc.Excerpt, ...]:
        """The excerpts of a failure; those of neighbouring lines are one."""
        size = 0
        chosen: list[tuple[str, int]] = []
        for place in self._places[failure_id]:
            if place in self._found:
                size += sum(map(len, self._found[place][1]))
                if size > self._most_text and chosen:
                    break
                chosen.append(place)
        result: list[doc.Excerpt] = []
        for path, line_no in sorted(chosen):
            first, lines = self._found[path, line_no]
            last = result[-1] if result else None
            if last is not None and last.path == path and last.first_line_no + len(last.lines) >= first:
                grown = last.lines[: first - last.first_line_no] + lines
                result[-1] = replace(last, lines=grown, cited=(*last.cited, line_no))
            else:
                result.append(doc.Excerpt(path, first, lines, (line_no,)))
        return tuple(result)


def traceback_read(traceback: doc.Traceback) -> doc.Traceback:
    """The traceback with its lines; without lines where its file is gone."""
    try:
        with buffered(open_member(traceback.path)) as stream:
            raws = list(islice(stream, traceback.line_no - 1, traceback.last_line_no))
    except (SourceError, TruncatedError, OSError):
        return traceback
    own = f"[rank{traceback.rank}]:"
    lines = _shown(raws)
    if lines and lines[0].startswith(own):
        lines = [line.removeprefix(own).removeprefix(" ") for line in lines if line.startswith(own)]
    if len(lines) > _TRACEBACK_HEAD + _TRACEBACK_TAIL:
        left = len(lines) - _TRACEBACK_HEAD - _TRACEBACK_TAIL
        lines = [*lines[:_TRACEBACK_HEAD], f"… {left} lines left out …", *lines[-_TRACEBACK_TAIL:]]
    return replace(traceback, lines=tuple(lines))


def _shown(raws: Iterable[bytes]) -> list[str]:
    texts = [text.rstrip() for text in redacted_lines([strip_ansi(raw.decode("utf-8", "replace")) for raw in raws])]
    return [text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…" for text in texts]


def _places(failure: doc.FailureReport) -> Iterator[tuple[str, int]]:
    """What a failure's report cites, what carries the verdict first, once each."""
    causes = failure.root_causes
    timeline = sorted(failure.timeline, key=lambda item: item.weight)
    groups: tuple[Iterable[Placed], ...] = (
        [line for cause in causes[:1] for line in (*cause.supports, *cause.contradicts)],
        failure.verdict_chain.steps if failure.verdict_chain else (),
        failure.asked_for,
        failure.ruled_out,
        [line for cause in causes[1:] for line in (*cause.supports, *cause.contradicts)],
        [item for item in timeline if item.weight == 1],
        failure.tracebacks,
        failure.stacks,
        failure.not_judged,
        failure.suspects,
        failure.triage,
        failure.clocks,
        timeline,
    )
    seen: set[tuple[str, int]] = set()
    for group in groups:
        for item in group:
            line_no = getattr(item, "line_no", None)
            if item.path and line_no and (item.path, line_no) not in seen:
                seen.add((item.path, line_no))
                yield item.path, line_no
