"""Statistics lines `{name:value,…}` of AIStore daemons: bodies are gathered and split many at once.

Names are unquoted, values raw integers (AIStore 3.18 to 5.0). A line that nlog cut at 2048 bytes has no
closing brace: its last pair may be half and is dropped, the others count. A pair that is not name:integer is
dropped too.
"""

from __future__ import annotations

import io
import re
from array import array
from typing import TYPE_CHECKING, NamedTuple

from aiscorr.parse.batches import PartSink

if TYPE_CHECKING:
    import pyarrow as pa

_FLUSH_BYTES = 16 * 1024 * 1024
_PAIR = re.compile(rb"[!-+\--9;-~]+:-?[0-9]{1,18}")
PAIRS = re.compile(rb"(?:[!-+\--9;-~]++:-?[0-9]{1,18}+(?:,(?=.)|\Z))++", re.DOTALL)


class StatsPlace(NamedTuple):
    """Where a statistics line stands and when it was printed (nanoseconds, the file's clock)."""

    file_id: int
    line_no: int
    process_no: int
    local_ns: int


def stats_body(message: bytes) -> tuple[bytes, bool]:
    """The pairs of a statistics message without braces, and whether the line was whole.

    `{a.n:1,b.n:2}` → (b"a.n:1,b.n:2", True); `{a.n:1,b.n:2` → (b"a.n:1", False).
    """
    text = message.strip()
    if text.endswith(b"}"):
        return text[1:-1], True
    return text[1:].rpartition(b",")[0], False


def good_pairs(body: bytes) -> tuple[bytes, bool]:
    """The pairs of a body that are name:integer, and whether all of them are.

    `a.n:1,b.n:x,c.n:3` → (b"a.n:1,c.n:3", False).
    """
    if not body or PAIRS.fullmatch(body):
        return body, True
    return b",".join(pair for pair in body.split(b",") if _PAIR.fullmatch(pair)), False


class CounterBatch:
    """Gathers statistics bodies of any number of files and writes counter_sample parts."""

    def __init__(self, sink: PartSink) -> None:
        self._sink = sink
        self._bodies: list[bytes] = []
        self._places: list[StatsPlace] = []
        self._counts: list[int] = []
        self._size = 0

    def add(self, body: bytes, place: StatsPlace) -> int:
        """The good pairs of one line; returns how many there are."""
        count = body.count(b",") + 1
        self._bodies.append(body)
        self._places.append(place)
        self._counts.append(count)
        self._size += len(body)
        if self._size >= _FLUSH_BYTES:
            self.flush()
        return count

    def flush(self) -> None:
        """Splits and writes what was gathered."""
        if self._bodies:
            self._write(*_split(self._bodies))
        self._bodies, self._places, self._counts, self._size = [], [], [], 0

    def _write(self, names: pa.Array, values: pa.Array) -> None:
        import pyarrow as pa

        indices = array("i")
        for number, count in enumerate(self._counts):
            indices.extend(array("i", (number,)) * count)
        chosen = pa.Array.from_buffers(pa.int32(), len(indices), [None, pa.py_buffer(indices)])
        types = (pa.int32(), pa.int64(), pa.int32(), pa.int64())
        columns = {
            name: pa.array(values, of_type)
            for name, values, of_type in zip(StatsPlace._fields, zip(*self._places, strict=True), types, strict=True)
        }
        rows = {name: column.take(chosen) for name, column in columns.items()}
        self._sink.write("counter_sample", pa.RecordBatch.from_pydict({**rows, "name": names, "value": values}))


def _split(bodies: list[bytes]) -> tuple[pa.Array, pa.Array]:
    """Names and values of all pairs in order."""
    import pyarrow as pa
    from pyarrow import csv

    table = csv.read_csv(
        io.BytesIO(b",".join(bodies).replace(b",", b"\n")),
        read_options=csv.ReadOptions(column_names=["name", "value"], use_threads=False, block_size=64 << 20),
        parse_options=csv.ParseOptions(delimiter=":", quote_char=False, double_quote=False),
        convert_options=csv.ConvertOptions(
            column_types={"name": pa.dictionary(pa.int32(), pa.string()), "value": pa.int64()},
            null_values=[],
            strings_can_be_null=False,
        ),
    ).combine_chunks()
    return table.column("name").chunk(0), table.column("value").chunk(0)
