"""The compiled part of the readers gives the very rows that Python gives, and refuses what is not in its bounds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TypeVar

import pytest
from commands import Command
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st
from lines import AIS_HEADER, Reading, read_pieces, read_text
from mangling import bytes_of, mangled
from scenes import REPO
from test_mangled import EXAMPLES, real_log

from aiscorr import native
from aiscorr.model import IngestOptions
from aiscorr.parse.ais.record import plain_record, records_of, stats_of
from aiscorr.parse.search.scan import Segment
from aiscorr.parse.stamps import iso_bytes_ns

needs_compiled = pytest.mark.skipif(native.module is None, reason="the compiled part was not built here")


Read = TypeVar("Read")


def without(patch: pytest.MonkeyPatch, read: Callable[..., Read], *given_: object) -> Read:
    """What a function reads without the compiled part."""
    with patch.context() as inner:
        inner.setattr(native, "module", None)
        return read(*given_)


def everything(reading: Reading) -> tuple[object, ...]:
    """All rows of all tables, whatever their order, and the summary."""
    rows = {
        name: sorted(json.dumps(row, sort_keys=True, default=str) for row in found)
        for name, found in reading.tables.items()
        if found
    }
    return rows, repr(reading.summary)


@needs_compiled
@pytest.mark.parametrize("kind", ["ais", "worker"])
def test_mangled_logs_read_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mangled logs, cut into blocks anywhere, give the same rows, line numbers and rejects with and without it."""

    @EXAMPLES
    @given(st.integers(0, 10**9), st.integers(1, 60), st.sampled_from([1024, 4096, 30_011, 10**9]))
    def check(seed: int, times: int, block_bytes: int) -> None:
        chance = random.Random(seed)
        data = bytes_of(mangled(real_log(kind), chance, times), chance)
        compiled = read_pieces(kind, data, [block_bytes])
        assert everything(compiled) == everything(without(monkeypatch, read_pieces, kind, data, [block_bytes]))

    check()


NAMES = st.sampled_from(
    ["get.n", "err.get.n", "a", "get.n:", "q,", "", "é", "\x7f", "x" * 300, "#", '"a"', "b c", "\0"]
)
VALUES = st.one_of(
    st.integers(-(10**19), 10**19).map(str),
    st.sampled_from(
        ["0", "-0", "007", "-", "", "+1", "9" * 18, "-" + "9" * 18, "9" * 19, "1.5", "0x1", " 1", "1 ", "{"]
    ),
)
PAIR = st.one_of(st.tuples(NAMES, VALUES).map(":".join), st.just("get.n:1"), st.just("put.n:22"))
CLOCK = st.sampled_from(
    ["02:00:00.000001", "02:00:11.5", "02:00:05.123456", "23:59:59.999999", "00:00:00.000000", "99:99:99.999999"]
)
ENDS = st.sampled_from(
    ["}", "", "}\0", "} ", ",}", "}I 02:00:07.000000 {a:1}", "}}", "\r", "}\rI 02:00:07.000000 {a:1}"]
)
LINE = st.builds(
    lambda head, clock, pairs, end: f"{head} {clock} {{{','.join(pairs)}{end}",
    st.sampled_from(["I", "I", "I", "\0I", "E", " I", "W"]), CLOCK, st.lists(PAIR, max_size=6), ENDS,
)  # fmt: skip


@needs_compiled
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_statistics_lines_read_the_same(zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics lines of any form, at any time of day, give the same rows and rejects with and without it."""
    options = IngestOptions(kind="ais_log", timezone=zone)

    @EXAMPLES
    @given(st.lists(st.one_of(LINE, st.just("I 02:00:03.000000 {get.n:1,put.n:2}")), max_size=40), st.booleans())
    def check(lines: list[str], is_headed: bool) -> None:
        data = (AIS_HEADER * is_headed + "\n".join(lines)).encode("utf-8", "surrogateescape")

        def read() -> Reading:
            return read_text(data, options=options)

        assert everything(read()) == everything(without(monkeypatch, read))

    check()


HEADED = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["I ", "W ", "E ", "F ", " E ", "E"]),
        st.sampled_from(["02:00:00.000001", "23:59:60.123456", "02:00:00.00001", "2:00:00.0000012"]),
        st.sampled_from([" ", "", "  "]),
        st.sampled_from(
            ["moss:684 ", "log.go:12] ", "a_1:2 ", ":1 ", "moss: ", "x.go:1", "{", "m.go.go:1 ", "1:2] ", "é:1 "]
        ),
        st.sampled_from(["", "text", "{a:1}", "cut I 02:00:07.000000 glued", "E 02:", "\0", "É", "W 1"]),
    ),
)  # fmt: skip


@needs_compiled
@EXAMPLES
@given(HEADED.map(str.encode))
def test_heads_of_records_read_the_same(line: bytes) -> None:
    """A record that the compiled part takes apart is the one that Python finds, alone in its line."""
    record = plain_record(line)
    if record is not None:
        assert records_of(line) == ([record], None)
        assert stats_of(line) is None


@needs_compiled
def test_plain_records_are_left_to_the_compiled_part() -> None:
    """With a source location in either form, or none; not where statistics or another record may be in the line."""
    for text in (b"moss:684 t[a] x", b"log.go:12] x", b"no location", b""):
        assert plain_record(b"W 02:00:00.000001 " + text) is not None
        assert plain_record(b"W 02:00:00.000001 " + text + b" E 02:00:00.000001 glued") is None
    assert plain_record(b"I 02:00:00.000001 {a:1}") is None


TEXTS = st.sampled_from(
    ["shared_dm:350 t[UrJt8102] shared-dm", "{a:1,b:2}", "{a:1,b:2", "", "target.go:12] ok", "x ===== y", "=====", " =",
     "20 Nov 26 02:00 UTC =====", "cut sho I 02:00:06.000000 glued", "E 02", "W 1", "\0", "out of space", "{", "é"]
)  # fmt: skip
HEADS = st.sampled_from(["I", "I", "I", "W", "E", "\0I", " I", "\t", "panic:"])
BEHIND = st.builds(lambda head, clock, text: f"{head} {clock} {text}", HEADS, CLOCK, TEXTS)


@needs_compiled
@pytest.mark.parametrize("start", [AIS_HEADER, AIS_HEADER + "I 02:00:01.000000 Node t[UrJt8102], Version 4.2\n"])
def test_lines_behind_a_warning_read_the_same(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a warning or an error, of any form, gives the same rows and follow counts with and without it."""

    @EXAMPLES
    @given(st.lists(st.one_of(BEHIND, st.just("E 02:00:03.000000 target:9 get failed"), TEXTS), max_size=40))
    def check(lines: list[str]) -> None:
        data = (start + "\n".join(lines)).encode()
        assert everything(read_text(data)) == everything(without(monkeypatch, read_text, data))

    check()


WORDS = (b"rank", b"a", b"aa", b"/v1/", "\u212a".lower().encode(), b"x" * 64, b"kelvin", b"t[", b"=>", b" ")


@needs_compiled
@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("words", [(), WORDS, tuple(b"w%d " % number for number in range(150)), (b"x" * 65, b"y")])
def test_words_are_found(words: tuple[bytes, ...], folds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are found in a text and in bytes with and without it, however many they are, whatever the letters."""
    find = native.finder(words, folds=folds)
    monkeypatch.setattr(native, "module", None)
    plain = native.finder(words, folds=folds)
    pieces = st.sampled_from(
        [
            *(word.decode() for word in words),
            "RANK",
            "\u212aelvin",
            "\u0130",
            "é",
            "\ud800",
            "W7 w149 ",
            "\0",
            "x",
            "ran",
        ]
    )

    @EXAMPLES
    @given(st.lists(pieces, max_size=12).map("".join))
    def check(text: str) -> None:
        raw = text.encode("utf-8", "surrogatepass")
        assert find(text) == plain(text) and find(raw) == plain(raw)

    check()


@needs_compiled
def test_times_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time is the same with and without it, also one that does not exist or is far away."""
    chance = random.Random(11)
    years, ends = (1970, 2000, 2024, 2026, 1900, 9999, 0), ("", ",5", ".123456789", ",", ".12x", ".1234567890", ",+1")

    def moment(raw: bytes) -> int | None:
        try:
            return iso_bytes_ns(raw)
        except ValueError:
            return None

    for _ in range(5000):
        day = f"{chance.choice(years):04}{chance.choice('-/')}{chance.randrange(14):02}-{chance.randrange(33):02}"
        clock = ":".join(f"{chance.randrange(limit):02}" for limit in (25, 61, 62))
        raw = f"{day}{chance.choice(' T_x')}{clock}{chance.choice(ends)}".encode()
        assert moment(raw) == without(monkeypatch, moment, raw)


@needs_compiled
def test_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of counter names in changing order keep their values."""
    chance = random.Random(7)
    names = [f"n{number}.n" for number in range(3000)]
    bodies = [",".join(f"{chance.choice(names)}:{chance.randrange(10**18)}" for _ in range(50)) for _ in range(400)]
    data = (AIS_HEADER + "".join(f"I 23:03:00.000000 {{{body}}}\n" for body in bodies)).encode()
    reading = read_text(data)
    assert len(reading.counter_sample) == 400 * 50
    assert everything(reading) == everything(without(monkeypatch, read_text, data))


@pytest.fixture
def compiled() -> ModuleType:
    """The compiled part."""
    if native.module is None:
        pytest.skip("the compiled part was not built here")
    return native.module


def test_newlines_are_counted(compiled: ModuleType) -> None:
    """Newlines are counted between any two places, also such that lie outside of the text."""
    text = bytes(random.Random(3).choice(b"\n\nab") for _ in range(9000))
    for start, end in [(0, 9000), (1, 8999), (17, 4200), (5000, 5000), (6000, 5000), (-5, 20_000), (9000, 9001)]:
        assert compiled.count_newlines(text, start, end) == text.count(b"\n", max(start, 0), max(end, 0))


@pytest.mark.parametrize(
    ("size", "hits", "error"),
    [
        (5, [], ValueError), (-1, [], ValueError), (4, [(5, 0)], ValueError), (4, [(-1, 0)], ValueError),
        (4, [(3, 0), (2, 0)], ValueError), (4, [(1,)], IndexError), (4, [(2, "x")], TypeError), (4, [3], SystemError),
    ],
)  # fmt: skip
def test_hits_outside_of_the_block_are_refused(
    size: int, hits: list[object], error: type[Exception], compiled: ModuleType
) -> None:
    """A size or a hit that is not in the block is an error, and nothing is read."""
    with pytest.raises(error):
        compiled.Walk(Segment._make, b"abc\n", size, hits, 1, 0)


def test_wrong_arguments_are_refused(compiled: ModuleType) -> None:
    """What takes no lines is given none, and pairs that are none are not taken."""
    walk = compiled.Walk(Segment._make, b"abc\n", 4, [(2, 0)], 1, 0)
    with pytest.raises(TypeError):
        walk.next(False, object())
    with pytest.raises(ValueError, match="64"):
        compiled.Words((b"",), False)
    with pytest.raises(ValueError, match="64"):
        compiled.Words((b"x",) * 65, False)
    with pytest.raises(TypeError, match="Prefixes"):
        compiled.Events(object(), ())
    with pytest.raises(ValueError, match="damaged"):
        compiled.Search(b"", b"", b"")
    stats = compiled.Stats()
    with pytest.raises(ValueError, match="name:integer"):
        stats.add(b"a:1,b", 1, 1, 0, 0, 0, True)
    assert stats.take()["value"] == b"" and len(stats) == 0


def printed(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_it_can_be_left_out() -> None:
    """AISCORR_NO_NATIVE=1 reads without the compiled part."""
    program = "from aiscorr import native; print(native.module, native.describe())"
    assert printed(program, AISCORR_NO_NATIVE="1").startswith("None reader in Python only")


def test_ingest_says_how_it_reads(run: Command) -> None:
    """`-v ingest` says whether logs are read by the compiled part."""
    Path("notes").write_text("nothing\n")
    assert native.describe() in run("-v", "ingest", "notes").err


def test_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled part that was built from other sources is not used."""
    monkeypatch.setitem(sys.modules, "aiscorr.native._native", SimpleNamespace(VERSION=0))  # type: ignore[arg-type]
    monkeypatch.setattr(native, "_native", SimpleNamespace(VERSION=0), raising=False)
    assert native._load() is None


@pytest.mark.parametrize("way", ["AISCORR_NO_NATIVE", "CC"])
def test_a_wheel_without_a_compiler(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the C part cannot be built, or is not wanted, the wheel is pure Python."""
    monkeypatch.setenv(way, "1" if way == "AISCORR_NO_NATIVE" else "false")
    (built,) = WheelBuilder(str(REPO)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".so")]
    assert Path(built).name.endswith("-py3-none-any.whl")


@needs_compiled
def test_a_wheel_with_a_compiler(tmp_path: Path) -> None:
    """Where the C part was built the wheel holds it, and says for which machines it is."""
    (built,) = WheelBuilder(str(REPO)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        assert "aiscorr/native/_native.abi3.so" in archive.namelist()
    assert "-cp311-abi3-" in Path(built).name
