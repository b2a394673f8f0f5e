"""A place between two records of a file, from which reading goes on when the file has grown; kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from aiscorr.checksum import END_BYTES, ContentSum, SumMark, SumPlace, short_hash
from aiscorr.model import FileSummary, KnownFile

if TYPE_CHECKING:
    from aiscorr.parse.ais.state import AisState
    from aiscorr.parse.worker.state import WorkerState

_COUNTS = ("event_count", "counter_count", "reject_count", "first_ns", "last_ns", "date_method", "date_line_no")
_counts_of = attrgetter(*_COUNTS)


@dataclass(frozen=True, slots=True)
class ResumePlace:
    """What was read up to a place: its bytes, what the reader knows, what the summary counts."""

    before: SumPlace
    state: AisState | WorkerState
    counts: tuple[object, ...]

    @classmethod
    def of(cls, before: SumPlace, state: AisState | WorkerState, summary: FileSummary) -> ResumePlace:
        """The place as it is now; reading goes on and changes nothing of it."""
        return cls(before, state.copy(), _counts_of(summary))

    def note(self, summary: FileSummary) -> None:
        """Puts the place into the summary, from where it is stored."""
        summary.resume_offset = self.before.byte_count
        summary.resume_state = json.dumps(
            {
                "reader": self.state.dump(),
                "counts": dict(zip(_COUNTS, self.counts, strict=True)),
                "sum": asdict(self.before.mark()),
                "kind_reason": summary.kind_reason,
            },
            separators=(",", ":"),
        )


def is_as_read(known: KnownFile, head: bytes, before: bytes) -> bool:
    """Whether a file that grew holds what was read of it: by its first bytes and the last in front of the place."""
    if known.resume_offset < END_BYTES or known.resume_state is None:
        return False
    mark = json.loads(known.resume_state)["sum"]
    return bool(short_hash(head) == known.head_hash and short_hash(before[-END_BYTES:]) == mark["tail_hash"])


def resume(kept: str, summary: FileSummary, before: bytes) -> tuple[str, ContentSum]:
    """What the reader knew, and the sum so far, of a place that was kept; its counts go into the summary.

    `before` are the bytes in front of the place.
    """
    place = json.loads(kept)
    summary.kind_reason, summary.is_tail_only = place["kind_reason"], True
    for name, value in place["counts"].items():
        setattr(summary, name, value)
    return place["reader"], ContentSum(SumMark(**place["sum"]), before[-END_BYTES:])
