"""The sieve gives on every line that may hold a candidate, wherever it stands in a block, and little else."""

from __future__ import annotations

import random
import re
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_mangled import EXAMPLES

from aiscorr import native
from aiscorr.parse.search import sieve
from aiscorr.parse.search.prefilter import Expression, Hit, LiteralPrefilter
from aiscorr.parse.search.sieve import SievedPrefilter, sieved

pytestmark = pytest.mark.skipif(
    native.module is None or not native.module.HAS_SIEVE, reason="not compiled here, or not made for this processor"
)
TEXTS = (
    b"OOM",
    b"abcd",
    b"abcde",
    b"bcdefg",
    b"failed to ",
    b"]: Smap v",
    b"aaaaaaa",
    b"x" * 255,
    b"\xff\x00\xff\x00",
)
LINE = re.compile(rb"[^\n]*\n|[^\n]+")
SEVERE = re.compile(rb"[EW] [012]")
STATISTICS = re.compile(rb"I \d\d:\d\d:\d\d\.\d{6} \{[a-zA-Z]")
PIECES = st.sampled_from(
    [*TEXTS, *(text[1:] for text in TEXTS), *(text[:-1] for text in TEXTS), b"ABCD", b" oom", b"\n", b"\n", b"\r", b" ",
     b"E 1", b"W 2", b"E", b" 0", b"I 23:05:55.123456 {", b"I 23:05:55.12345 {", b"a.n:1,b:2}", b"{", b"plain text "]
)  # fmt: skip
BLOCK = st.lists(st.one_of(PIECES, st.binary(max_size=6)), max_size=60).map(b"".join)


def lines_of(block: bytes) -> list[tuple[int, bytes]]:
    """The lines of a block with their places."""
    return [(match.start(), match.group()) for match in LINE.finditer(block)]


def wanted(line: bytes, *, is_ais: bool) -> bytes | int | None:
    """What is to come of a line: itself, the end of the match of a statistics line, nothing."""
    found = [place for text in TEXTS if (place := line.find(text)) >= 0]
    severe, statistics = (SEVERE.search(line), STATISTICS.search(line)) if is_ais else (None, None)
    first = min([*found, *([severe.start()] if severe else [])], default=len(line))
    if statistics and statistics.end() - 2 < first and b" " not in line[statistics.end() :]:
        return statistics.end()
    return line if first < len(line) or statistics else None


@EXAMPLES
@given(BLOCK, st.integers(0, 300), st.booleans())
def test_lines_that_hold_a_text_and_no_others(block: bytes, filler: int, is_ais: bool) -> None:
    """Lines that hold a text come whole, in order, whatever stands around them and wherever the block ends."""
    block = b"." * filler + b"\n" + block
    search = native.module.Sieve(TEXTS, 7 if is_ais else -1)  # type: ignore[union-attr]
    found = [(place, wanted(line, is_ais=is_ais)) for place, line in lines_of(block)]
    assert search.lines(block) == b"".join(what for _, what in found if isinstance(what, bytes))
    assert search.placed([]) == [(place + what, 7) for place, what in found if isinstance(what, int)]


def test_words_are_chosen_anew_and_find_the_same() -> None:
    """In MiB of text that holds many words of the texts every line is found, as often as words are chosen anew."""
    chance = random.Random(7)
    words = [b"failed", b" to ", b"fail", b"abc", b"bcdef", b"Smap", b" v", b"aaaaaa", b"OOM", b"\n"]
    search = native.module.Sieve(TEXTS, -1)  # type: ignore[union-attr]
    for _ in range(24):
        block = b"".join(chance.choices(words, k=60_000))
        expected = b"".join(line for line in LINE.findall(block) if any(text in line for text in TEXTS))
        assert search.lines(block) == expected


class Recorder:
    """A search that notes what it is given and finds each `abcd`."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def find(self, block: memoryview) -> list[Hit]:
        """As Prefilter."""
        self.given.append(bytes(block))
        return [(match.end(), 3) for match in re.finditer(b"abcd", self.given[-1])]


def test_hits_stand_where_they_are_in_the_block() -> None:
    """Hits have their places in the block, those of statistics lines among them, in order."""
    block = b"plain\nan abcd here\nI 23:05:55.123456 {a.n:1}\nplain\nabcd abcd\nI 23:05:55.123456 {a:2}"
    inner = Recorder()
    with patch.object(sieve, "WORTH_BYTES", 0):
        hits = SievedPrefilter(inner, TEXTS, 1).find(memoryview(block))
    assert inner.given == [b"an abcd here\nabcd abcd\n"]
    ends = [(match.end(), 3) for match in re.finditer(b"abcd", block)]
    assert hits == sorted([*ends, *((match.end(), 1) for match in STATISTICS.finditer(block))])


def test_a_small_log_and_one_full_of_events_go_without() -> None:
    """The first MiB are searched whole, and so is a stretch of blocks of which much would be searched anyway."""
    inner = Recorder()
    search = SievedPrefilter(inner, TEXTS)
    search.find(memoryview(b"plain text\n"))
    assert inner.given == [b"plain text\n"]
    with patch.object(sieve, "WORTH_BYTES", 0):
        search = SievedPrefilter(inner, TEXTS)
    for block in (b"plain\nabcd\n", b"plain\n"):
        search.find(memoryview(block))
    assert inner.given[1:] == [b"abcd\n", b"plain\n"]


def test_texts_it_cannot_look_for() -> None:
    """Where a literal is short, or case does not count, the search is left as it is."""
    inner = LiteralPrefilter([])
    assert sieved(inner, [Expression(rb"x abc y", (b"abcd", b"ab"))]) is inner
    assert sieved(inner, [Expression(rb"(?i)abcd", (b"abcd",))]) is inner
    assert sieved(inner, [Expression(rb"abcd", (b"abcd",))]) is not inner


@pytest.mark.parametrize("texts", [(b"ab",), (b"a\nbcd",), (b"a" * 256,), ("abcd",), [b"abcd"]])
def test_bad_texts_are_refused(texts: object) -> None:
    """A text that is too short, too long, of two lines or no bytes is refused."""
    with pytest.raises((ValueError, TypeError)):
        native.module.Sieve(texts, -1)  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize("hits", [[(99, 1)], [(-1, 1)], [(7, 1), (1, 1)], [7], [(1,)], (), [("a", 1)]])
def test_bad_hits_are_refused(hits: object) -> None:
    """Hits that are out of order or do not stand in the lines are refused."""
    search = native.module.Sieve(TEXTS, -1)  # type: ignore[union-attr]
    search.lines(b"abcd\nplain\nabcde\n")
    with pytest.raises((ValueError, TypeError, IndexError, SystemError)):
        search.placed(hits)  # type: ignore[arg-type]
