"""Rows of the lines that the compiled part settles: those of plain messages, many at once and column by column.

The compiled part (native/events.c) reads prefixes and tries patterns as reader.py does, and leaves to it each line that
is not plain, or that changes how the lines behind it are read. Here stands what is known of a pattern as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aiscorr import native
from aiscorr.cache import cached_json, key_of
from aiscorr.model import FileSummary
from aiscorr.parse.batches import PartSink
from aiscorr.parse.ids import client_ids, may_hold_ids, words_of
from aiscorr.parse.search.expression_code import code_of
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.stamps import YearContext
from aiscorr.parse.values import Value, add_values
from aiscorr.parse.worker.line import COLUMNS, Row
from aiscorr.parse.worker.open_blocks import OpenBlocks
from aiscorr.parse.worker.state import WorkerState
from aiscorr.parse.zone import ZoneClock

if TYPE_CHECKING:
    from aiscorr.native._native import Events, Prefixes

#: What becomes of a line of a pattern, as in events.c.
_NEVER, _ROW, _START, _FAIL, _END, _PYTHON = range(6)
_FLUSH_ROWS = 5_000
#: To load the patterns takes as long as to read the lines of some hundred KiB in Python.
WORTH_BYTES = 512 << 10
#: Raise when patterns are written otherwise for the compiled part.
_KINDS_VERSION = "1"
_ENDING_TIERS = ("collective", "process", "launcher", "gpu")


def ends_attempt(pattern: Pattern) -> bool:
    """Whether its message is how a rank of an attempt ends."""
    is_fatal = pattern.severity == "error" and pattern.tier in _ENDING_TIERS and pattern.role in ("cause", "symptom")
    return is_fatal or pattern.marks == "attempt_end"


class SettledRows:
    """The rows of all files that one process reads, until they are written; `events` is None without compiled part."""

    def __init__(self, patterns: Sequence[Pattern], prefixes: Prefixes | None) -> None:
        self._patterns = patterns
        self._prefixes = prefixes
        self._left = WORTH_BYTES
        self.events: Events | None = None

    def expect(self, byte_count: int) -> None:
        """So many bytes are read next; once they are many it is worth while to load what settles their lines."""
        self._left -= byte_count
        if self.events is None and self._left < 0 and native.module is not None and self._prefixes is not None:
            name = f"patterns-{key_of([_KINDS_VERSION, *(repr(_facts(pattern)) for pattern in self._patterns)])}.json"
            kinds = cached_json(name, lambda: json.dumps(list(map(_kind, self._patterns))).encode(), _unpacked)
            self.events = native.module.Events(self._prefixes, kinds)

    def flush_where_full(self, sink: PartSink, zone: ZoneClock | None) -> None:
        """Writes the rows where they are many, or where their file has a clock of its own."""
        if self.events is not None and (zone is not None or len(self.events) >= _FLUSH_ROWS):
            self.flush(sink, zone)

    def flush(self, sink: PartSink, zone: ZoneClock | None = None) -> None:
        """Writes the rows."""
        count = len(self.events) if self.events is not None else 0
        if self.events is None or not count:
            return
        columns: dict[str, list[Any]] = self.events.take()
        numbers, groups, texts = columns.pop("pattern"), columns.pop("groups"), columns["text"]
        if zone is not None:
            columns["local_ns"] = [
                zone.to_utc(moment) if moment is not None and printed is None else moment
                for moment, printed in zip(columns["local_ns"], columns["zone_offset_s"], strict=True)
            ]
        columns["pattern"] = [self._patterns[number].name for number in numbers]
        columns["severity"] = [self._patterns[number].severity for number in numbers]
        told: dict[str, list[Value]] = {}
        for place, (number, captured, text) in enumerate(zip(numbers, groups, texts, strict=True)):
            row: Row = {}
            if may_hold_ids(held := words_of(text)):
                row.update(client_ids(text, held))
            add_values(row, self._patterns[number].converted(captured), COLUMNS)
            for name, value in row.items():
                if name not in told:
                    told[name] = columns.get(name) or [None] * count
                told[name][place] = value
        sink.add_columns("worker_line", {**columns, **told}, count)


def _facts(pattern: Pattern) -> tuple[object, ...]:
    """All that `_kind` depends on."""
    return (pattern.regex_text, pattern.inside, pattern.opens, pattern.marks, ends_attempt(pattern))


def _unpacked(kinds: list[list[Any]]) -> tuple[tuple[object, ...], ...]:
    return tuple((*kind[:3], *(None if part is None else bytes.fromhex(part) for part in kind[3:])) for kind in kinds)


def _kind(pattern: Pattern) -> tuple[int | str | None, ...]:
    """A pattern as events.c takes it, with its code as hexadecimal digits."""
    if pattern.inside is not None:
        return _NEVER, 0, 0, None, None, None
    if pattern.opens is not None:
        what = _PYTHON
    elif pattern.marks == "attempt_start":
        what = _PYTHON if ends_attempt(pattern) else _START
    elif pattern.marks == "attempt_end":
        what = _END
    else:
        what = _FAIL if ends_attempt(pattern) else _ROW
    rank_group = pattern.regex.groupindex.get("rank", 0)
    code = code_of(pattern.regex)
    parts = (None, None, None) if code is None else tuple(part.hex() for part in code)
    return what, pattern.regex.groups, rank_group, *parts


class SettledLines:
    """Takes the plain lines of one file, and tells the file's state of them."""

    def __init__(
        self,
        rows: SettledRows,
        summary: FileSummary,
        state: WorkerState,
        years: YearContext,
        blocks: OpenBlocks,
    ) -> None:
        self._rows = rows
        self._summary = summary
        self._state = state
        self._years = years
        self._blocks = blocks

    def open(self) -> Events | None:
        """As Taker: nothing is taken while lines belong to blocks."""
        events, state, summary = self._rows.events, self._state, self._summary
        if events is None or not self._blocks.is_empty:
            return None
        events.aim(
            summary.file_id, state.attempt_no, summary.path_rank, summary.path_local_rank, state.stamp_ns,
            state.stamp_zone_s, state.stamp_offset, state.searched_offset, state.first_ns, state.last_ns,
            state.own_zone_ns, state.is_lone, state.is_utc, state.is_tail_taken, state.is_attempt_over,
        )  # fmt: skip
        return events

    def close(self) -> bool:
        """As Taker."""
        told = self._rows.events.told() if self._rows.events is not None else None
        if told is None:
            return False
        state = self._state
        (count, started, state.stamp_ns, state.stamp_zone_s, state.stamp_offset, state.searched_offset, state.first_ns,
         state.last_ns, state.own_zone_ns, is_lone, is_utc, near_ns, noted_ns) = told  # fmt: skip
        state.is_lone, state.is_utc = bool(is_lone), bool(is_utc)
        self._summary.event_count += count
        state.started_ranks += [rank for rank in started if rank not in state.started_ranks]
        if near_ns is not None:
            self._years.near_ns = near_ns
        if noted_ns is not None:
            self._years.note(noted_ns)
        return False
