"""Whole statistics lines of an AIStore log that the compiled part takes by itself, without a segment for each.

It takes a line only where AisFile would do nothing but note its time and add its pairs; the rest comes as segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiscorr.model import FileSummary
from aiscorr.parse.ais_counters import CompiledCounters, CounterBatch
from aiscorr.parse.ais_state import AisState

if TYPE_CHECKING:
    from aiscorr.native._native import Stats


class WholeLines:
    """A Taker of one file: tells the compiled part the clock, and the file's state and summary what it took."""

    def __init__(self, counters: CompiledCounters, summary: FileSummary, state: AisState) -> None:
        self._stats = counters.stats
        self._summary = summary
        self._state = state

    def open(self) -> Stats | None:
        """As Taker; the first line that has a time is one to look at."""
        if self._summary.first_ns is None or self._state.last_ns < 0:
            return None
        self._stats.aim(self._summary.file_id, self._state.process_no, self._state.day_ns, self._state.last_ns)
        return self._stats

    def close(self) -> None:
        """As Taker."""
        line_count, pair_count, last_ns, latest_ns = self._stats.told()
        if line_count:
            self._state.last_ns = last_ns
            self._summary.event_count += line_count
            self._summary.counter_count += pair_count
            self._summary.last_ns = max(latest_ns, self._summary.last_ns or latest_ns)


def whole_lines(counters: CounterBatch, summary: FileSummary, state: AisState) -> WholeLines | None:
    """The Taker of a file, where there is a compiled part."""
    return WholeLines(counters, summary, state) if isinstance(counters, CompiledCounters) else None
