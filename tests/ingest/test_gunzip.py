"""What a gzip stream holds, in whatever state it is."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest
from packing import tar_of

from aiscorr.model import SourceRef, Unreadable
from aiscorr.sources import gunzip
from aiscorr.sources.gunzip import BlockStream, GzipError, PlainInflater, unzipped
from aiscorr.sources.read import TruncatedError, expand

TEXT = b"".join(b"%d %x\n" % (number, random.Random(number).getrandbits(200)) for number in range(20_000))
WHOLE = gzip.compress(TEXT, mtime=0)


def read(data: bytes) -> tuple[bytes, type[Exception] | None]:
    """All that comes out of a stream, and what ended it."""
    found = bytearray()
    try:
        for block in unzipped(io.BytesIO(data)):
            found += block
    except (EOFError, GzipError) as error:
        return bytes(found), type(error)
    return bytes(found), None


@pytest.mark.parametrize("cut", [1, 9, 40_000, 262_144, 262_145, len(WHOLE) - 8, len(WHOLE) - 1])
def test_all_in_front_of_a_cut_comes_out(cut: int) -> None:
    """As many bytes as zlib makes of what is there; isal may keep back the last symbol."""
    found, error = read(WHOLE[:cut])
    there = zlib.decompressobj(31).decompress(WHOLE[:cut])
    assert error is EOFError
    assert found == there[: len(found)]
    assert len(there) - len(found) < 8


def test_members_and_zeros_between_them() -> None:
    """`cat a.gz b.gz`, with the zeros of tapes and of holes between and behind, beyond one read."""
    assert read(WHOLE + b"\0" * 300_000 + gzip.compress(b"more") + b"\0" * 600_000) == (TEXT + b"more", None)
    assert read(b"") == (b"", None)


def test_the_standard_library_inflates_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no isal: members, a cut anywhere, damage."""
    monkeypatch.setattr(gunzip, "new_inflater", PlainInflater)
    monkeypatch.setattr(gunzip, "_READ_BYTES", 1 << 14)
    assert read(WHOLE + b"\0" * 300_000 + gzip.compress(b"more")) == (TEXT + b"more", None)
    for cut in (1, 40_000, 262_144, len(WHOLE) - 8):
        assert read(WHOLE[:cut]) == (zlib.decompressobj(31).decompress(WHOLE[:cut]), EOFError)
    with pytest.raises(zlib.error):
        b"".join(unzipped(io.BytesIO(WHOLE[:40_000] + b"\xff" * 4096 + WHOLE[44_096:])))


def test_what_is_damaged_or_no_gzip_ends_it() -> None:
    """All in front of it comes out but for a block at most."""
    at = len(WHOLE) // 2
    found, error = read(WHOLE[:at] + bytes(byte ^ 0x55 for byte in WHOLE[at : at + 4096]) + WHOLE[at + 4096 :])
    intact = len(zlib.decompressobj(31).decompress(WHOLE[:at]))
    assert error is GzipError
    assert intact - len(found) <= 1 << 16
    assert TEXT[: min(intact, len(found))] == found[:intact]
    assert read(WHOLE + b"a log that was appended") == (TEXT, GzipError)


@pytest.mark.parametrize("text", [b"one line\n", TEXT], ids=["short", "long"])
def test_a_wrong_checksum_or_length_is_told_behind_all_data(text: bytes) -> None:
    """A trailer that belongs to other data is damage; what it stands behind comes out, also of a short log."""
    whole = gzip.compress(text)
    assert read(whole[:-8] + b"\1\2\3\4" + whole[-4:]) == (text, GzipError)
    assert read(whole[:-1] + b"\7") == (text, GzipError)
    assert read(whole[:-3]) == (text, EOFError)


class Dribble(io.RawIOBase):
    """A stream that gives a few bytes at once."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__()
        self._inner, self._size = io.BytesIO(data), size

    def read(self, size: int = -1, /) -> bytes:
        """The next few bytes."""
        return self._inner.read(min(size, self._size) if size >= 0 else self._size)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_heads_with_everything_in_them(size: int) -> None:
    """A name, a comment, an extra field and a checksum of the head (RFC 1952), in pieces of any size."""
    body = gzip.compress(b"some lines\n" * 50)[10:]
    head = b"\x1f\x8b\x08" + bytes([2 | 4 | 8 | 16]) + bytes(6)
    whole = head + b"\x04\x00abcd" + b"name\0" + b"comment\0" + b"\xaa\xbb" + body
    found = b"".join(unzipped(cast(Any, Dribble(whole + whole, size))))
    assert found == b"some lines\n" * 100
    assert read(whole[:20])[1] is EOFError


@pytest.mark.parametrize("data", [b"no gzip at all", b"\x1f\x8b\x07" + bytes(20)])
def test_other_data_is_refused(data: bytes) -> None:
    """By its first bytes or its method."""
    assert read(data) == (b"", GzipError)


@pytest.mark.parametrize("is_tar", [False, True])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_last_lines_of_a_cut_file_are_read(is_tar: bool, size: int, tmp_path: Path) -> None:
    """Through the streams that readers are given, whatever they ask for at once."""
    whole = gzip.compress(tar_of([("a.log", TEXT)])) if is_tar else WHOLE
    cut = whole[: len(whole) // 2]
    (tmp_path / "a.gz").write_bytes(cut)
    streams = expand(SourceRef("a.gz", str(tmp_path / "a.gz"), stored_byte_count=len(cut)))
    found = next(streams)
    assert not isinstance(found, Unreadable)
    buffer, count = memoryview(bytearray(len(TEXT))), 0
    with pytest.raises(TruncatedError, match="ended before"):
        while got := found[1].readinto(buffer[count : count + size]):
            count += got
    there = zlib.decompressobj(31).decompress(cut)[512 if is_tar else 0 :]
    assert count > len(there) - 8
    assert buffer[:count] == there[:count]


def test_a_stream_of_blocks_ends() -> None:
    """Reads of any size, none more at the end."""
    stream = BlockStream(block for block in (b"ab", b"cde"))
    assert [stream.read(size) for size in (1, 3, 2, 5)] == [b"a", b"bcd", b"e", b""]


def test_an_error_comes_behind_what_was_read() -> None:
    """Also where a read asks for more than there is in front of it, and as often as it is asked."""

    def blocks() -> Generator[bytes, None, None]:
        yield b"ab"
        raise EOFError("cut")

    stream = BlockStream(blocks())
    assert stream.read(5) == b"ab"
    for _ in range(2):
        with pytest.raises(EOFError, match="cut"):
            stream.read(5)
