"""A line of a worker log as its readers hand it on: its text and place, what stands in front of it, and whose it is."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from aiscorr.parse.search.scan import Segment
from aiscorr.parse.values import Value
from aiscorr.parse.worker.prefixes import LinePrefix
from aiscorr.schema.tables import WORKER_LINE

Row = dict[str, Value]
Key = tuple[str, object]
#: What a row of worker_line may hold.
COLUMNS = frozenset(WORKER_LINE.column_names)


class Line(NamedTuple):
    """A segment of a worker log and the prefix that was read in front of it; `text` is without terminal colours."""

    segment: Segment
    text: bytes
    prefix: LinePrefix

    @property
    def body(self) -> bytes:
        """The text behind wrappers and rank tag, its indentation kept."""
        return self.text[self.prefix.body_start :]

    @property
    def message(self) -> bytes:
        """The text behind the stamp as well."""
        return self.text[self.prefix.message_start :]

    def behind_stamp(self) -> Line:
        """The line as it was before a collector put a time and a blank in front of it."""
        start = self.prefix.message_start
        return self._replace(prefix=self.prefix._replace(body_start=start + (self.text[start : start + 1] == b" ")))

    @property
    def is_tagged(self) -> bool:
        """Whether a tag in the line says its rank."""
        return self.prefix.rank_source == "tag"

    @property
    def key(self) -> Key:
        """Whose line it is, as far as its prefix tells: lines of one key make one traceback."""
        prefix = self.prefix
        if prefix.rank_source == "tag":
            return ("rank", prefix.rank)
        if prefix.local_rank is not None:
            return ("local", prefix.local_rank)
        if prefix.task is not None:
            return ("task", prefix.task)
        return ("host", prefix.host)


#: As Line._make, for less work.
line_of = partial(tuple.__new__, Line)
