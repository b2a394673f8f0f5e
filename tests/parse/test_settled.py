"""What the compiled part settles of worker logs without Python comes out as Python has it."""

from __future__ import annotations

import io
import re
from collections import Counter

import pytest
from budgets import drawn
from hypothesis import given
from hypothesis import strategies as st
from lines import NOW_NS, RowSink, events, read_worker

from aiscorr import native
from aiscorr.model import IngestOptions, SourceRef
from aiscorr.parse.file_reader import FileReader
from aiscorr.parse.search.expression_code import code_of, holder
from aiscorr.parse.search.scan import Segment
from aiscorr.parse.spec.pattern_files import pattern_set
from aiscorr.parse.stamps import YearContext
from aiscorr.parse.worker import reader as worker_reader
from aiscorr.parse.worker.prefixes import PrefixReader

pytestmark = pytest.mark.skipif(native.module is None, reason="the compiled part was not built here")

LINES = [
    b"2026-11-20 10:00:00,000 INFO [rank 1] step 5",
    b"[rank3]: RuntimeError: boom",
    b"[default2]:plain",
    b"[NeMo I 2026-11-20 23:03:23 train:131 rank:0] global_step: 4",
    b"3: [rank3]: x",
    b"no time 12:34 here",
    b"[E514 01:00:20.718261873 ProcessGroupNCCL.cpp:567] late",
    b"r7i3n0:38601:38671 [3] NCCL INFO comm 0x1489a8001060 rank 0 nranks 16",
    b"\x1b[32m2026-11-20 10:00:00\x1b[0m green",
    b"old\rnew [rank 4]",
    b"",
]
TEXTS = st.lists(st.sampled_from(LINES) | st.binary(max_size=30), max_size=30).map(b"\n".join)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[PrefixReader, PrefixReader]:
    """A reader with the compiled part and one without."""
    compiled = PrefixReader()
    with monkeypatch.context() as inner:
        inner.setattr(native, "module", None)
        return compiled, PrefixReader()


def test_the_last_stamp_is_the_same(both: tuple[PrefixReader, PrefixReader]) -> None:
    """Both find the same line with a stamp in front of a place, and tell the years the same."""

    @drawn(60, 1000)
    @given(TEXTS, st.integers(0, 400), st.integers(-1, 200))
    def check(text: bytes, low: int, known: int) -> None:
        low = text.rfind(b"\n", 0, min(low, len(text))) + 1
        found = []
        for reader in both:
            years = YearContext(1_700_000_000 * 10**9)
            found.append((reader.last_stamp(text, low, len(text), known, years), years))
        assert found[0] == found[1]

    check()


def test_the_last_line_of_another_rank_is_the_same(both: tuple[PrefixReader, PrefixReader]) -> None:
    """Both find the same line that is of none of the owners known."""

    owner = st.tuples(st.none() | st.integers(0, 4), st.none())

    @drawn(60, 1000)
    @given(TEXTS, st.sets(owner, max_size=4), st.none() | st.integers(0, 4), st.booleans())
    def check(text: bytes, known: set[tuple[int | None, int | None]], rank: int | None, takes_nobody: bool) -> None:
        first, second = (reader.last_other(text, len(text), rank, known, takes_nobody) for reader in both)
        assert first == second

    check()


@pytest.mark.parametrize("words", [(b"rank", b"a"), tuple(b"w%d" % n for n in range(70))])
def test_lines_and_places_of_words(words: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first place and the last line of some words are the same with and without it."""
    finders = [(native.place_finder(words), native.line_finder(words))]
    with monkeypatch.context() as inner:
        inner.setattr(native, "module", None)
        finders.append((native.place_finder(words), native.line_finder(words)))

    @drawn(60, 1000)
    @given(st.lists(st.sampled_from(["rank", "a", "w7", "w69", "\n", " x"]), max_size=20), st.integers(0, 30))
    def check(parts: list[str], place: int) -> None:
        text = "".join(parts).encode()
        place = min(place, len(text))
        assert finders[0][0](text, place, len(text)) == finders[1][0](text, place, len(text))
        assert finders[0][1](text, place) == finders[1][1](text, place)

    check()


@pytest.mark.parametrize("kind", ["worker", "tail", "step", "repeated"])
def test_patterns_match_the_same(kind: str) -> None:
    """Every pattern that has code holds in the same lines as its regex: its samples, near misses and parts of them."""
    for pattern in pattern_set(kind):
        if code_of(pattern.regex) is None:
            continue
        holds = holder(pattern.regex)
        lines = [*(sample.line for sample in pattern.samples), *pattern.near_misses]
        for line in (text.encode() for text in lines):
            for text in (line, line[1:], line[: len(line) // 2], line.upper(), b"x " + line + b" 7"):
                assert holds(text) == (pattern.regex.search(text) is not None), (pattern.name, text)


@pytest.mark.parametrize(
    "text", [r"a*?(?:ab|b)c", r"[^\n]*(?:x|yz)$", r"(?i)\bq+W", r"(?=.*(?:no|ok)\b)z.{0,3}?\d", r"(?:a|ab)(?:c|bcd)d*"]
)
def test_what_follows_a_repeat(text: str) -> None:
    """A place is passed over only where what follows a repeat cannot begin."""
    regex = re.compile(text.encode())
    assert code_of(regex) is not None
    holds = holder(regex)

    @drawn(200, 2000)
    @given(st.text("abcdxyzqwWQnok 07\n", max_size=14))
    def check(line: str) -> None:
        assert holds(line.encode()) == (regex.search(line.encode()) is not None)

    check()


def test_each_file_has_its_own_clock() -> None:
    """Rows of a file without a zone, gathered before those of one with a zone, keep their times."""
    line = "2026-11-20 10:00:{:02d},000 INFO [rank 0] train:79 - process group ready world_size=4 pid=7 host=vm\n"
    text = "".join(line.format(n) for n in range(20))
    sink = RowSink()
    reader = FileReader(sink, IngestOptions(timezone_globs=(("*tokyo*", "Asia/Tokyo"),)), now_ns=NOW_NS)
    for number, name in enumerate(("plain.log", "tokyo.log", "last.log"), 1):
        path = f"/logs/job{number}/{name}"
        reader.read(SourceRef(path, path, modified_ns=NOW_NS), io.BytesIO(text.encode()), number)  # type: ignore[arg-type]
    reader.flush()
    times = [{row["local_ns"] for row in sink.tables["worker_line"] if row["file_id"] == n} for n in (1, 2, 3)]
    assert len(times[0]) == 20
    assert times[0] == times[2] == {moment + 9 * 3600 * 10**9 for moment in times[1]}


def test_most_messages_never_become_python_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of plain messages the first of a file is Python's, and the rest are settled; their rows are those of Python."""
    seen: Counter[str] = Counter()
    take = worker_reader.WorkerFile._take

    def counted(self: worker_reader.WorkerFile, segment: Segment) -> None:
        seen["taken"] += 1
        take(self, segment)

    monkeypatch.setattr(worker_reader.WorkerFile, "_take", counted)
    line = "2026-11-20 10:00:{:02d},000 INFO [rank {}] train:79 - process group ready world_size=4 pid={} host=vm\n"
    bare = "n1:38601:38671 [3] NCCL INFO comm 0x1489a8001060 rank 59 nranks 64 cudaDev 3 busId 8a000 - Init COMPLETE\n"
    text = "".join(line.format(n % 60, n % 4, n) + bare for n in range(300))
    settled = read_worker(text, options=IngestOptions(kind="worker_log", timezone="Asia/Tokyo"))
    assert seen["taken"] < 10 < len(events(settled)) == 600
    monkeypatch.setattr(native, "module", None)
    assert events(settled) == events(read_worker(text, options=IngestOptions(kind="worker_log", timezone="Asia/Tokyo")))
