"""Statistics lines `{name:value,…}` of AIStore daemons: bodies are gathered and split many at once.

Names are unquoted, values raw integers (AIStore 3.18 to 5.0). A line that nlog cut at 2048 bytes has no
closing brace: its last pair may be half and is dropped, the others count. A pair that is not name:integer is
dropped too.
"""

from __future__ import annotations

import io
import re
from itertools import accumulate, compress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from aiscorr import native
from aiscorr.parse.batches import PartSink
from aiscorr.schema.tables import STATS_LINE

if TYPE_CHECKING:
    import pyarrow as pa

    from aiscorr.native._native import Stats

_FLUSH_BYTES = 16 * 1024 * 1024
#: Lines, pairs and names of them; as many as there are in so many bytes.
_FLUSH_VALUES = 600_000
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


class CounterBatch(Protocol):
    """Gathers statistics lines of any number of files and writes parts of stats_line and counter_sample."""

    def add(self, body: bytes, place: StatsPlace, byte_offset: int, *, is_whole: bool) -> int:
        """One line and its good pairs; returns how many there are."""

    def flush_where_full(self) -> None:
        """Writes what was gathered where it is much; called after each block."""

    def flush(self) -> None:
        """Writes what was gathered."""


def counter_batch(sink: PartSink) -> CounterBatch:
    """The fastest there is here."""
    return PlainCounters(sink) if native.module is None else CompiledCounters(sink)


class PlainCounters:
    """A CounterBatch in Python: bodies are split by Arrow, many at once."""

    def __init__(self, sink: PartSink) -> None:
        self._sink = sink
        self._bodies: list[bytes] = []
        self._places: list[StatsPlace] = []
        self._counts: list[int] = []
        self._size = 0

    def add(self, body: bytes, place: StatsPlace, byte_offset: int, *, is_whole: bool) -> int:
        """As CounterBatch."""
        count = body.count(b",") + 1 if body else 0
        row = {**place._asdict(), "byte_offset": byte_offset, "name_count": count, "is_complete": is_whole}
        self._sink.add("stats_line", row)
        if body:
            self._bodies.append(body)
            self._places.append(place)
            self._counts.append(count)
            self._size += len(body)
        return count

    def flush_where_full(self) -> None:
        """As CounterBatch."""
        if self._size >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """As CounterBatch."""
        if self._bodies:
            import pyarrow as pa

            lines = {
                name: pa.array(values, of_type)
                for (name, of_type), values in zip(_place_types().items(), zip(*self._places, strict=True), strict=True)
            }
            _write(self._sink, lines, self._counts, *_split(self._bodies))
        self._bodies, self._places, self._counts, self._size = [], [], [], 0


class CompiledCounters:
    """A CounterBatch that the compiled part fills; what `stats` takes itself is written with the rest."""

    def __init__(self, sink: PartSink) -> None:
        self._sink = sink
        self.stats: Stats = native.module.Stats()  # type: ignore[union-attr]

    def add(self, body: bytes, place: StatsPlace, byte_offset: int, *, is_whole: bool) -> int:
        """As CounterBatch."""
        return self.stats.add(body, *place, byte_offset, is_whole)

    def flush_where_full(self) -> None:
        """As CounterBatch."""
        if len(self.stats) >= _FLUSH_VALUES:
            self.flush()

    def flush(self) -> None:
        """As CounterBatch."""
        import pyarrow as pa

        if not len(self.stats):
            return
        raw = self.stats.take()
        types = {**_place_types(), "byte_offset": pa.int64(), "name_count": pa.int32()}
        lines = {name: _column(raw[name], of_type) for name, of_type in types.items()}
        is_complete = _column(raw["is_complete"], pa.int8()).to_pylist()
        rows = {**lines, "is_complete": pa.array(map(bool, is_complete), pa.bool_())}
        if not len(lines["line_no"]):
            return
        self._sink.write("stats_line", pa.RecordBatch.from_pydict({n: rows[n] for n in STATS_LINE.column_names}))
        names = pa.DictionaryArray.from_arrays(_column(raw["name"], pa.int32()), pa.array(raw["names"], pa.string()))
        _write(self._sink, lines, lines["name_count"].to_pylist(), names, _column(raw["value"], pa.int64()))


def _place_types() -> dict[str, pa.DataType]:
    """The Arrow types of a StatsPlace."""
    import pyarrow as pa

    return dict(zip(StatsPlace._fields, (pa.int32(), pa.int64(), pa.int32(), pa.int64()), strict=True))


def _column(raw: object, of_type: pa.DataType) -> pa.Array:
    """The array whose values these bytes are."""
    import pyarrow as pa

    buffer = pa.py_buffer(raw)
    return pa.Array.from_buffers(of_type, buffer.size // of_type.byte_width, [None, buffer])


def _write(sink: PartSink, lines: dict[str, pa.Array], counts: list[int], names: pa.Array, values: pa.Array) -> None:
    """Writes the pairs of lines; what is of the line stands there once for all of its pairs.

    Without pyarrow.compute, which takes longer to import than this.
    """
    import pyarrow as pa

    if not len(values):
        return
    ends = pa.array(accumulate(filter(None, counts)), pa.int32())
    rows = {
        name: pa.RunEndEncodedArray.from_arrays(ends, _with_pairs(lines[name], counts)) for name in StatsPlace._fields
    }
    sink.write("counter_sample", pa.RecordBatch.from_pydict({**rows, "name": names, "value": values}))


def _with_pairs(column: pa.Array, counts: list[int]) -> pa.Array:
    """The values of the lines that have pairs, as almost all have."""
    import pyarrow as pa

    return column if all(counts) else pa.array(compress(column.to_pylist(), counts), column.type)


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
