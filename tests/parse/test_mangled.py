"""Whatever happens to the bytes of a log or an archive: no crash, no untouched record lost, all counts add up."""

from __future__ import annotations

import gzip
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
from budgets import drawn
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from lines import NOW_NS, Reading, events, read_pieces
from mangling import Doc, bytes_of, damaged, mangled
from packing import tar_of, zip_of, zstd
from scenes import FIXTURES

from aiscorr.ingest.scanning import ScanResult, provisional_ids, scan_task
from aiscorr.model import IngestOptions, SourceRef
from aiscorr.schema.tables import FILE_TABLES

EXAMPLES = drawn(15, 200, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate))
FEW = drawn(6, 80, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate))
SCENARIO = FIXTURES / "target_killed_short_batch"
PREFIX = re.compile(rb"(?<![\w:.])[EW] [012]\d:[0-5]\d:[0-5]\d\.\d{6} ")
STATISTICS = re.compile(rb"^I [012]\d:[0-5]\d:[0-5]\d\.\d{6} \{[a-zA-Z]")


@lru_cache(maxsize=2)
def real_log(kind: str) -> bytes:
    """The lines of real logs of a kind, one file behind the other."""
    folder = SCENARIO / ("ais" if kind == "ais" else "workers")
    names = "*.INFO.*" if kind == "ais" else "*.out"
    return b"".join(path.read_bytes() for path in sorted(folder.rglob(names)))


def on_lines(reading: Reading) -> Counter[tuple[int, str]]:
    """How many events of a pattern stand on a line; a statistics line is one."""
    found = Counter((row["line_no"], row["pattern"]) for row in events(reading))
    return found + Counter((row["line_no"], "statistics") for row in reading.stats_line)


@lru_cache(maxsize=2)
def standing_alone(kind: str) -> dict[int, dict[str, int]]:
    """By line of the real log the patterns that are recognised there, and the line where the record begins.

    Only those are meant that would be recognised if nothing else stood in the file.
    """
    reading = read_pieces(kind, real_log(kind), [10**9])
    begins = {row["line_no"]: row.get("block_line_no") or row["line_no"] for row in events(reading)}
    found: dict[int, dict[str, int]] = {}
    lines = real_log(kind).split(b"\n")
    for number, pattern in on_lines(reading):
        alone = on_lines(read_pieces(kind, lines[number - 1] + b"\n", [10**9]))
        if (1, pattern) in alone:
            found.setdefault(number, {})[pattern] = begins.get(number, number)
    return found


def is_whole(doc: Doc, number: int, begin: int) -> bool:
    """Whether the record that ends on a line stands there as it was written, from its first line on."""
    origin = doc[number - 1].origin
    if origin is None or number - 1 < origin - begin:
        return False
    return all(doc[number - 1 - back].origin == origin - back for back in range(origin - begin + 1))


def check_counts(reading: Reading, line_count: int) -> None:
    """Lines, events, counters and rejects are as many as the summary says."""
    summary = reading.summary
    assert summary.line_count == line_count
    assert summary.event_count == len(events(reading)) + len(reading.stats_line)
    assert summary.reject_count == len(reading.rejected_line)
    assert summary.counter_count == len(reading.counter_sample)


@pytest.mark.parametrize("kind", ["ais", "worker"])
def test_mangled_logs(kind: str) -> None:
    """Untouched records stand on their lines, damaged ones whose beginning is whole are recognised, counts add up."""
    known = standing_alone(kind)
    assert len(known) > (100 if kind == "ais" else 20)

    @EXAMPLES
    @given(st.integers(0, 10**9), st.integers(1, 40), st.sampled_from([2048, 10**9]))
    def check(seed: int, times: int, block_bytes: int) -> None:
        chance = random.Random(seed)
        doc = mangled(real_log(kind), chance, times)
        data = bytes_of(doc, chance)
        reading = read_pieces(kind, data, [block_bytes])
        check_counts(reading, data.count(b"\n") + (not data.endswith(b"\n")))
        found = on_lines(reading)
        rejected = {row["line_no"] for row in reading.rejected_line}
        for number, line in enumerate(doc, 1):
            for pattern, begin in known.get(line.origin or 0, {}).items():
                if is_whole(doc, number, begin):
                    assert found[number, pattern], (number, pattern, line.data)
            if kind == "ais" and line.origin is None and len(line.data) < 4000:
                told = len(PREFIX.findall(line.data)) + len(STATISTICS.findall(line.data.lstrip(b"\0")))
                here = sum(count for (line_no, _), count in found.items() if line_no == number)
                assert not told or here or number in rejected, line.data

    check()


# --- archives ------------------------------------------------------------------------------------------------------


def scanned(data: bytes) -> ScanResult:
    """What a scan makes of a file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        ref = SourceRef(str(path), str(path), stored_byte_count=len(data), modified_ns=NOW_NS)
        return scan_task(provisional_ids([(ref, None)]), folder, "x", IngestOptions(), NOW_NS, lambda: False)


def members() -> list[tuple[str, bytes]]:
    """Real logs by name."""
    return [(path.name, path.read_bytes()) for path in sorted(SCENARIO.rglob("*")) if path.suffix in (".out", ".1")]


PACKS: dict[str, Callable[[], bytes]] = {
    "tar": lambda: tar_of(members()),
    "tar.gz": lambda: gzip.compress(tar_of(members()), mtime=0),
    "tar.zst": lambda: zstd(tar_of(members())),
    "zip": lambda: zip_of(members()),
    "gz": lambda: gzip.compress(real_log("ais"), mtime=0),
    "nested": lambda: tar_of([("a.zip", zip_of(members())), ("b.tgz", gzip.compress(tar_of(members()), mtime=0))]),
}


@pytest.mark.parametrize("pack", PACKS)
def test_damaged_archives(pack: str) -> None:
    """A damaged archive gives what is whole in it and names the damage in words; it never ends the run."""
    whole = PACKS[pack]()
    intact = {s.content_hash: (s.line_count, s.event_count, s.counter_count) for s in scanned(whole).summaries}

    @FEW
    @given(st.integers(0, 10**9))
    def check(seed: int) -> None:
        result = scanned(damaged(whole, random.Random(seed)))
        assert not result.is_stopped
        reasons = [problem.reason for problem in result.unreadable] + [s.problem or "" for s in result.summaries]
        assert not any("fault of aiscorr" in reason for reason in reasons), reasons
        for summary in result.summaries:
            counts = (summary.line_count, summary.event_count, summary.counter_count)
            assert intact.get(summary.content_hash, counts) == counts
        same = {s.content_hash for s in result.summaries} & set(intact)
        is_named = any(problem.is_error for problem in result.unreadable) or any(
            s.is_cut_short for s in result.summaries
        )
        if pack in ("tar.gz", "gz", "tar.zst") and same != set(intact):
            assert is_named or result.summaries, "what is missing has a reason"

    check()


def test_no_table_is_forgotten() -> None:
    """The tables that the counts are checked against are tables of files."""
    names = {table.name for table in FILE_TABLES}
    assert {"ais_line", "worker_line", "stats_line", "counter_sample", "rejected_line"} <= names
