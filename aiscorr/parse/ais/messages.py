"""What messages of AIStore records say: pattern, captured values, identifiers. One that comes again is not searched.

The same node tells the same of the same peer or request many times: six of seven warnings and errors of recorded
incidents had been written before.
"""

from __future__ import annotations

from typing import NamedTuple

from aiscorr.parse.ais.record import AisRecord
from aiscorr.parse.ids import ais_ids
from aiscorr.parse.spec.pattern import Pattern
from aiscorr.parse.values import Value, add_values
from aiscorr.schema.tables import AIS_LINE

_COLUMNS = frozenset(AIS_LINE.column_names)
_OTHERS = {"W": "other_warning", "E": "other_error"}
#: So many messages are kept before all are forgotten, and none that is longer.
_MOST, _LONGEST_BYTES = 2048, 1024


class Told(NamedTuple):
    """The name of the pattern (None for an INFO record without one, which gives no row) and columns of the row."""

    name: str | None
    values: dict[str, Value]


class Messages:
    """Patterns by the number of their expression, None for one that is no pattern, and what is known of messages."""

    def __init__(self, patterns: tuple[Pattern | None, ...]) -> None:
        self._patterns = patterns
        self._known: dict[tuple[bytes, str, tuple[int, ...], str | None], Told] = {}

    def told(self, record: AisRecord, candidates: tuple[int, ...], self_id: str | None) -> Told:
        """What a record says in whose line these expressions fired; `self_id`: who writes. Not to be changed."""
        key = (record.message, record.severity, candidates, self_id)
        found = self._known.get(key)
        if found is None:
            found = self._search(record, candidates, self_id)
            if len(record.message) <= _LONGEST_BYTES:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[key] = found
        return found

    def _search(self, record: AisRecord, candidates: tuple[int, ...], self_id: str | None) -> Told:
        name, captured = _OTHERS.get(record.severity), dict[str, Value]()
        for number in candidates:
            pattern = self._patterns[number]
            match = pattern.regex.search(record.message) if pattern is not None else None
            if pattern is not None and match is not None:
                name, captured = pattern.name, pattern.values(match)
                break
        if name is None:
            return Told(None, {})
        values = ais_ids(record.message.decode("utf-8", "replace"), self_id)
        add_values(values, captured, _COLUMNS)
        return Told(name, values)
