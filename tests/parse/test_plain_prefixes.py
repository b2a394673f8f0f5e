"""The compiled part reads the prefixes of worker lines as Python's regexes do, and refuses code that is damaged."""

from __future__ import annotations

import random
import re
from pathlib import Path
from types import ModuleType

import pytest
from budgets import drawn
from hypothesis import given
from hypothesis import strategies as st
from lines import NOW_NS

from aiscorr import native
from aiscorr.parse.search.expression_code import code_of
from aiscorr.parse.spec.formats import load_formats
from aiscorr.parse.stamps import Stamp, YearContext
from aiscorr.parse.worker.prefixes import LinePrefix, PrefixReader

needs_compiled = pytest.mark.skipif(native.module is None, reason="the compiled part was not built here")

FORMS = [form for role in ("wrapper", "stamp", "rank") for form in load_formats(role)]
PIECES = sorted({line for form in FORMS for line in (*(s.line for s in form.samples), *form.near_misses)})
#: What formats turn on, and what may stand around a prefix.
PARTS = [
    "[rank3]: ",
    "[rank12]:",
    "[default5]:",
    "[Rank 2] ",
    "RANK 7: ",
    "rank=4, ",
    " rank: 9] ",
    "[PG 0(default_pg) Rank 1] ",
    "2026-11-20 23:05:55,123 ",
    "[2026-02-30 23:05:55] ",
    "2026-11-20T23:05:55.5Z ",
    "2026-11-20T23:05:55+09:00 stdout F ",
    "[NeMo W 2026-11-20 23:05:55 a:1 rank:3] ",
    "3: ",
    " 12: ",
    "node-4: ",
    "(train pid=77, ip=10.0.0.1) ",
    "[1,0]<stdout>:",
    "[E1120 23:05:53.231169699 x.cpp:757] ",
    "I1120 23:05:53.231169 88 a.py:3] ",
    "[stderr] ",
    "ERROR 11-20 23:05:55 ",
    "  ",
    "time      : 2026-11-20_23:05:55",
    "CANCELLED AT 2026-11-20T23:05:55",
    "[11/20 23:05:55 x]",
    "\n",
    "\r",
    "é",
    "[",
    "]",
    " ",
]
ROUNDS = drawn(100, 2000)


def line_of(seed: int) -> bytes:
    """A line of samples and parts of prefixes, cut and changed anywhere."""
    chance = random.Random(seed)
    text = "".join(chance.choice(PARTS if chance.random() < 0.6 else PIECES) for _ in range(chance.randrange(1, 6)))
    line = bytearray(text.encode()[chance.randrange(3) * chance.randrange(40) :])
    for _ in range(chance.randrange(3)):
        if line:
            line[chance.randrange(len(line))] = chance.choice(b"0123456789[]: rR.,-\xff\0aZ")
    return bytes(line) + b"x" * chance.choice([0, 0, 0, 600, 5000])


def told(reader: PrefixReader, line: bytes, what: str) -> tuple[object, YearContext]:
    """What a reader tells of a line, and what it told the years."""
    years = YearContext(NOW_NS, near_ns=NOW_NS)
    return getattr(reader, what)(line, years), years


@pytest.fixture(scope="module")
def both() -> tuple[PrefixReader, PrefixReader]:
    """A reader with the compiled part, and one without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "module", None)
        plain = PrefixReader()
    return PrefixReader(), plain


@needs_compiled
@ROUNDS
@given(st.integers(0, 10**9))
def test_prefixes_read_the_same(both: tuple[PrefixReader, PrefixReader], seed: int) -> None:
    """Prefix, stamps and owner of any line are the same with and without it, and so is what the years are told."""
    line = line_of(seed)
    for what in ("read", "stamps", "owner"):
        first, second = (told(reader, line, what) for reader in both)
        assert first == second
        assert repr(first) == repr(second)


@needs_compiled
@pytest.mark.parametrize("line", PIECES)
def test_samples_read_the_same(both: tuple[PrefixReader, PrefixReader], line: str) -> None:
    """So are those of every sample and near miss of a format."""
    for what in ("read", "stamps", "owner"):
        first, second = (told(reader, line.encode(), what) for reader in both)
        assert first == second


@needs_compiled
def test_plain_lines_are_read_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line with a time as ISO 8601 writes it is never given to Python's regexes."""
    reader = PrefixReader()
    monkeypatch.setattr(PrefixReader, "_read", lambda *given: pytest.fail("Python was asked"))
    found = reader.read(b"[default3]:2026-11-20 23:05:55,5 [rank3] failed", YearContext(NOW_NS))
    assert (found.rank, found.local_rank, found.message_start) == (3, 3, 33)


def test_every_format_has_code() -> None:
    """Every regex of a prefix in the package can be written as code."""
    assert [form.name for form in FORMS if code_of(form.regex) is None] == []


@pytest.mark.parametrize(
    "text", [rb"(a)\1", rb"(?m)^a", rb"(?:a*)*b", rb"(?=(a))a", rb"(?<=a)(?:xy){0,40}", rb"()" * 16, rb"(a)?(?(1)b|c)"]
)
def test_rare_expressions_have_no_code(text: bytes) -> None:
    """References, lines within a text, endless repeats of nothing and the like are left to Python."""
    assert code_of(re.compile(text)) is None


OWN_FORMAT = """title = "A wrapper"
source = "a test"
role = "wrapper"
order = 15
regex = '''{regex}'''
[[sample]]
line = "{line}"
[[near_miss]]
line = "nothing"
"""


@needs_compiled
@pytest.mark.parametrize(
    ("regex", "lines"),
    [
        (r"^<(?P<host>\w+?)(?:-\d+)??>(?!x)", ["<ab-12>", "<a-1-2>", "<ab>x", "<>", "<ab> [rank3]:"]),
        (r"^(?i:node) (?P<host>[^\W\d]+)\b[ :](?<=:)", ["NODE ab: 3", "node a1: ", "Node ab ", "node ÄÖ: "]),
        (r"^(?:a|ab)(?:c|bcd)(?P<task>\d++)$", ["abcd12", "abc", "ac7", "abcd12\n", "abcdx"]),
        (r"^(?:(?P<task>\d)|[xy]){2,3}z", ["12z", "x1z", "1xyz", "xz", "1234z"]),
        (r"^(?:[a-f]{2}:)+(?P<pid>\d{1,20}) ", ["ab:cd:12 x", "ab:" * 50 + "1 ", "ab:99999999999999999999 ", "ab 1 "]),
        (r"^(?P<host>.*)\B\.(?P<task>[1-9]) ", ["a b.1 ", "..2 ", "a\r.3 ", "a" * 600 + ".1 "]),
    ],
)
def test_formats_of_users_read_the_same(regex: str, lines: list[str], tmp_path: Path) -> None:
    """Formats of a user's folder are read as by Python's regexes, whether they can be written as code or not."""
    (tmp_path / "wrapper_own.toml").write_text(OWN_FORMAT.format(regex=regex, line="nothing"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "module", None)
        plain = PrefixReader((str(tmp_path),))
    reader = PrefixReader((str(tmp_path),))
    for line in (*lines, *(f"{line}2026-11-20 23:05:55 rank=3] a" for line in lines)):
        assert told(reader, line.encode(), "read") == told(plain, line.encode(), "read")


@pytest.fixture
def compiled() -> ModuleType:
    """The compiled part."""
    if native.module is None:
        pytest.skip("the compiled part was not built here")
    return native.module


def form(
    code: list[int], sets: bytes = b"", firsts: bytes = b"\xff" * 32, groups: tuple[int, ...] = (0,) * 7
) -> object:
    """A format as the compiled part takes it."""
    numbers = b"".join(number.to_bytes(4, "little", signed=True) for number in code)
    return (numbers, sets, firsts, groups, False, True, False, False, (), -1)


@pytest.mark.parametrize(
    "damaged",
    [
        form([]),
        form([13]),
        form([-1]),
        form([1]),
        form([1, 97]),
        form([2, 0, 0]),
        form([2, 1, 0], b"\0" * 32),
        form([6, 9, 0]),
        form([8, -1, 0]),
        form([8, 3, 1, 0, 0]),
        form([9, 32, 0]),
        form([9, -1, 0]),
        form([10, 4, 0, -1, 0, 0]),
        form([10, 0, 0, 0, 0]),
        form([11, 0, -1, 2, 0], b"\0" * 32),
        form([0], b"\0"),
        form([0], firsts=b""),
        form([0], groups=(16, 0, 0, 0, 0, 0, 0)),
        form([0], groups=(-1, 0, 0, 0, 0, 0, 0)),
    ],
)
def test_damaged_code_is_refused(damaged: object, compiled: ModuleType) -> None:
    """Code that would lead out of itself, its sets or its groups is an error, and never runs."""
    good = form([0])
    with pytest.raises(ValueError, match=r"damaged|number"):
        compiled.Prefixes((good, good, good, damaged), 0, 0, LinePrefix, Stamp, tuple.__new__)


def test_wrong_forms_are_refused(compiled: ModuleType) -> None:
    """Forms that are missing, and lines that are no bytes, are errors."""
    good = form([0])
    for forms, wrapper_count, stamp_count in [
        ((), 0, 0),
        ((good,) * 3, 1, 0),
        ((good,) * 3, -1, 1),
        ((good,) * 3, 0, -1),
    ]:
        with pytest.raises(ValueError, match="missing"):
            compiled.Prefixes(forms, wrapper_count, stamp_count, LinePrefix, Stamp, tuple.__new__)
    reader = compiled.Prefixes((good,) * 3, 0, 0, LinePrefix, Stamp, tuple.__new__)
    for what in (reader.read, reader.stamps, reader.owner):
        assert what(b"x" * 4097) is None
        with pytest.raises(TypeError):
            what("text")
