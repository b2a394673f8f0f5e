"""Lines of an AIStore log that the compiled part takes by itself, without a segment for each.

It takes a line only where AisFile would do nothing but end a record, note the time and add the pairs of statistics;
the rest comes as segments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aiscorr.model import FileSummary
from aiscorr.parse.ais.counters import CompiledCounters, CounterBatch
from aiscorr.parse.ais.state import AisState

if TYPE_CHECKING:
    from aiscorr.native._native import Stats


class WholeLines:
    """A Taker of one file: tells the compiled part the clock, and the file's state and summary what it took."""

    def __init__(
        self, counters: CompiledCounters, summary: FileSummary, state: AisState, end_record: Callable[[], None]
    ) -> None:
        self._stats = counters.stats
        self._summary = summary
        self._state = state
        self._end_record = end_record

    def open(self) -> Stats | None:
        """As Taker; the first line that has a time is one to look at."""
        if self._summary.first_ns is None or self._state.last_ns < 0:
            return None
        state = self._state
        self._stats.aim(self._summary.file_id, state.process_no, state.day_ns, state.last_ns, bool(state.ids))
        return self._stats

    def close(self) -> bool:
        """As Taker."""
        told = self._stats.told()
        if told is None:
            return False
        line_count, pair_count, self._state.last_ns, latest_ns, is_ended = told
        if is_ended:
            self._end_record()
        self._summary.event_count += line_count
        self._summary.counter_count += pair_count
        self._summary.last_ns = max(latest_ns, self._summary.last_ns or latest_ns)
        return is_ended


def whole_lines(
    counters: CounterBatch, summary: FileSummary, state: AisState, end_record: Callable[[], None]
) -> WholeLines | None:
    """The Taker of a file, where there is a compiled part; it says when a record that wanted every line is over."""
    return WholeLines(counters, summary, state, end_record) if isinstance(counters, CompiledCounters) else None
