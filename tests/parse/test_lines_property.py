"""Whatever lines come in, all are accounted for; neither the size of blocks nor the number of visits changes a row."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from budgets import drawn
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from lines import AIS_HEADER, NOW_NS, Reading, Row, events, read_pieces
from scenes import column, read_in, rows
from stored_rows import Table, files, leave_analysis_out, stored

from aiscorr.model import IngestOptions
from aiscorr.parse import file_reader
from aiscorr.parse.search.chunks import BlockReader
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.schema.tables import FILE_TABLES

pytestmark = pytest.mark.usefixtures("either_reader")

EXAMPLES = drawn(30, 400, suppress_health_check=list(HealthCheck))
#: Each example makes databases; a failure is shown as found, because making it smaller would take minutes.
FEW = drawn(2, 12, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate))
SAMPLES = {kind: [s.line.encode() for p in pattern_set(kind) for s in p.samples] for kind in ("ais", "worker")}
NOISE = [
    b"",
    b" ",
    b"plain text without meaning",
    b"\tindented",
    b"caf\xc3\xa9 \xff\xfe",
    b"\0\0\0",
    b"step 7 | loss: 3.1",
    b'  File "/w/train.py", line 9, in main',
    b"Traceback (most recent call last):",
    b"[rank3]: Traceback (most recent call last):",
    b'[rank3]:   File "/w/train.py", line 9, in main',
    b"[rank3]: RuntimeError: boom",
    b"RuntimeError: boom",
    b"2026-11-20 10:00:00,000 INFO [rank 1] step 5",
    b"[NeMo I 2026-11-20 23:03:23 train:131 rank:0] global_step: 4",
    b"============================================================",
    b"  exitcode  : -6 (pid: 27160)",
    b"W 23:04:52.801902 shared_dm:350 t[UrJt8102] trouble",
    b"E 00:00:01.000001 x:1 t[UrJt8102] more trouble",
    b"I 23:05:00.000001 {a.n:1,b.n:22}",
    b"I 23:05:00.000001 {a.n:1,b.n:2",
    b"I 23:05:00.000001 {a.n:1,b.n:x}",
    b"I 11:00:00.100001 common:494 20 Nov 26 11:00 PST =============",
    AIS_HEADER.strip().encode(),
    b"panic: boom",
    b"x" * 3000,
]


def mixtures(kind: str, most: int = 40) -> st.SearchStrategy[bytes]:
    """Bytes of a log: lines of any pattern, noise and random bytes, with all kinds of line ends."""
    line = st.one_of(st.sampled_from(SAMPLES[kind]), st.sampled_from(NOISE), st.binary(max_size=60))
    end = st.sampled_from([b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b""])
    return st.lists(st.tuples(line, end), max_size=most).map(lambda pairs: b"".join(a + b for a, b in pairs))


def comparable(reading: Reading) -> dict[str, list[str]]:
    """All rows of a source by table, in an order of their own."""
    return {
        table.name: sorted(json.dumps(row, sort_keys=True) for row in getattr(reading, table.name))
        for table in FILE_TABLES
    }


def counted(data: bytes) -> int:
    """The lines of a file as `wc` and an editor count them: an unended last line counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@pytest.mark.parametrize("kind", ["ais", "worker"])
def test_lines_are_accounted_for(kind: str) -> None:
    """Lines are counted as they are, and events, counters and rejects are as many as their rows, each on a line."""

    @EXAMPLES
    @given(mixtures(kind))
    def check(data: bytes) -> None:
        found = read_pieces(kind, data, [10**9])
        summary = found.summary
        assert summary.line_count == counted(data)
        assert summary.event_count == len(events(found)) + len(found.stats_line)
        assert summary.reject_count == len(found.rejected_line)
        assert summary.counter_count == len(found.counter_sample) == sum(row["name_count"] for row in found.stats_line)
        lines = data.split(b"\n")
        for table in FILE_TABLES:
            for row in getattr(found, table.name):
                assert 1 <= row["line_no"] <= max(1, summary.line_count), (table.name, row)
                check_place(row, data, lines)
        blank = {number for number, line in enumerate(lines, 1) if not line.strip(b"\0 \r\t")}
        assert not {row["line_no"] for row in events(found)} & blank, "a blank line is no event"

    check()


def check_place(row: Row, data: bytes, lines: list[bytes]) -> None:
    """A row's text stands on its line, and its place is where that line begins."""
    if "byte_offset" not in row or row["line_no"] == 0:
        return
    before = lines[: row["line_no"] - 1]
    start = sum(len(line) + 1 for line in before)
    assert row["byte_offset"] == start, row
    text = row.get("text")
    if text:
        shown = lines[row["line_no"] - 1].decode("utf-8", "replace").replace("\0", "")
        assert text.replace("\0", "")[:30].strip() in shown.replace("\x1b", "") or "\x1b" in shown


@pytest.mark.parametrize("kind", ["ais", "worker"])
def test_blocks_change_nothing(kind: str) -> None:
    """Behind its first stamp a log read in blocks of any size gives the rows of the log read at once."""
    # but for progress lines, which are sampled block by block, and the file's times where its stamps run backwards
    first = b"2026-11-20 10:00:00,000 INFO start\n" if kind == "worker" else AIS_HEADER.encode()

    @EXAMPLES
    @given(mixtures(kind), st.lists(st.integers(1, 400), min_size=1, max_size=5))
    def check(data: bytes, sizes: list[int]) -> None:
        data = first + data
        whole, cut = read_pieces(kind, data, [10**9]), read_pieces(kind, data, [len(first), *sizes])
        rows, wanted = ({**comparable(one), "step_line": []} for one in (cut, whole))
        assert rows == wanted
        cut_summary, whole_summary = (replace(one.summary, first_ns=None, last_ns=None) for one in (cut, whole))
        assert cut_summary == whole_summary

    check()


@pytest.mark.parametrize("kind", ["ais", "worker"])
def test_lines_are_read_alike_wherever_they_stand(kind: str) -> None:
    """The same lines further down in a file are the same events."""

    @EXAMPLES
    @given(mixtures(kind, most=12), st.integers(1, 50))
    def check(data: bytes, count: int) -> None:
        before = b"nothing of interest\n" * count
        here, below = read_pieces(kind, data, [10**9]), read_pieces(kind, before + data, [10**9])
        assert [(row["line_no"] + count, row["pattern"], row["text"]) for row in events(here)] == [
            (row["line_no"], row["pattern"], row["text"]) for row in events(below)
        ]

    check()


# --- several visits ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_blocks() -> Iterator[None]:
    """Files are read in blocks of 2 KiB, and nothing is analysed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_reader, "BlockReader", partial(BlockReader, block_bytes=2048))
        leave_analysis_out(patch)
        yield


def put(path: Path, data: bytes) -> None:
    """Writes a log that was last changed at a fixed moment."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(NOW_NS, NOW_NS))


def seen(db: Path) -> dict[str, Table]:
    """All that a database holds of its files."""
    return {"ingested_file": files(db), **stored(db)}


def differing(one: dict[str, Table], other: dict[str, Table]) -> dict[str, tuple[Table, Table]]:
    """By table the rows that only one of two databases holds."""
    found = {}
    for name, found_rows in one.items():
        left, right = Counter(found_rows), Counter(other[name])
        if left != right:
            found[name] = list((left - right).elements()), list((right - left).elements())
    return found


@pytest.mark.parametrize("kind", ["ais", "worker"])
def test_a_grown_file_is_read_as_if_at_once(kind: str, small_blocks: None) -> None:
    """A file that grew between two visits, at whatever byte, gives the rows of the file read once at its end."""
    options = IngestOptions(kind=f"{kind}_log")

    @FEW
    @given(mixtures(kind, most=150), mixtures(kind, most=40), st.integers(0, 3000))
    def check(first: bytes, second: bytes, back: int) -> None:
        first = AIS_HEADER.encode() * (kind == "ais") + b"plain text without meaning\n" * 200 + first
        data = first + second
        with tempfile.TemporaryDirectory() as folder:
            log, once, twice = Path(folder) / "job" / "x.log", Path(folder) / "once.db", Path(folder) / "twice.db"
            put(log, data[: len(first) - back])
            read_in(twice, log, options=options)
            put(log, data)
            read_in(once, log, options=options)
            read_in(twice, log, options=options)
            assert differing(seen(twice), seen(once)) == {}

    check()


def test_only_the_tail_of_a_grown_file_is_read(tmp_path: Path, small_blocks: None) -> None:
    """A grown file is not read from its beginning again."""
    log, db = tmp_path / "job" / "x.log", tmp_path / "x.db"
    lines = b"".join(b"[NeMo I 2026-11-20 23:03:23 train:131 rank:0] global_step: %d\n" % n for n in range(1000))
    put(log, lines)
    read_in(db, log)
    (offset,) = column(db, "select resume_offset from ingested_file")
    assert len(lines) - 4096 <= offset < len(lines)
    read_from: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        read_on = file_reader.FileReader.read_on
        patch.setattr(
            file_reader.FileReader,
            "read_on",
            lambda self, ref, stream, known, before: (
                read_from.append(stream._inner._handle.tell()),
                read_on(self, ref, stream, known, before),
            )[1],
        )
        put(log, lines + b"[rank0]: RuntimeError: boom\n")
        read_in(db, log)
    assert read_from == [offset]
    assert rows(db, "select line_count, byte_count from ingested_file") == [(1001, len(lines) + 28)]


def test_ingesting_twice_is_ingesting_once(small_blocks: None) -> None:
    """A second visit to the same files, together or one by one, changes no row and reads nothing."""

    @FEW
    @given(mixtures("ais"), mixtures("worker"))
    def check(ais: bytes, worker: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            base, db = Path(folder) / "logs", Path(folder) / "x.db"
            put(base / "aistarget.INFO", ais)
            put(base / "rank0.log", worker)
            put(base / "rank1.log", worker + b"\n")
            read_in(db, base)
            first = seen(db)
            again = [read_in(db, base), read_in(db, base / "rank0.log", base / "rank0.log", base)]
            assert [(s.new_file_count, s.unchanged_count, s.run_id) for s in again] == [(0, 3, 0), (0, 3, 0)]
            os.utime(base / "rank0.log", ns=(NOW_NS, NOW_NS - 10**9))
            assert read_in(db, base).new_file_count == 0
            assert differing(seen(db), first) == {}

    check()
