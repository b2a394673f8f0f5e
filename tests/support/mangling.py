"""Damages logs line by line and keeps book: which lines are as they were, and where they stand now."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of a damaged log: its bytes, and its number in the log as it was if nothing was done to it."""

    data: bytes
    origin: int | None


Doc = list[Line]


def lines_of(data: bytes) -> Doc:
    """A log as it is."""
    return [Line(text, number) for number, text in enumerate(data.removesuffix(b"\n").split(b"\n"), 1)]


def _cut(doc: Doc, at: int, chance: random.Random) -> Doc:
    text = doc[at].data
    return [*doc[:at], Line(text[: chance.randrange(len(text) + 1)], None), *doc[at + 1 :]]


def _glue(doc: Doc, at: int, _chance: random.Random) -> Doc:
    joined = b"".join(line.data for line in doc[at : at + 2])
    return [*doc[:at], Line(joined, None), *doc[at + 2 :]]


def _cut_and_glue(doc: Doc, at: int, chance: random.Random) -> Doc:
    return _glue(_cut(doc, at, chance), at, chance)


def _duplicate(doc: Doc, at: int, _chance: random.Random) -> Doc:
    return [*doc[: at + 1], doc[at], *doc[at + 1 :]]


def _reorder(doc: Doc, at: int, chance: random.Random) -> Doc:
    other, found = chance.randrange(len(doc)), [*doc]
    found[at], found[other] = found[other], found[at]
    return found


def _flip(doc: Doc, at: int, chance: random.Random) -> Doc:
    text = bytearray(doc[at].data)
    for _ in range(min(len(text), chance.randrange(1, 6))):
        place = chance.randrange(len(text))
        text[place] ^= 1 << chance.randrange(8)
    return [*doc[:at], Line(bytes(text).replace(b"\n", b"?").replace(b"\r", b"?"), None), *doc[at + 1 :]]


def _hole(doc: Doc, at: int, chance: random.Random) -> Doc:
    text = doc[at].data
    place = chance.randrange(len(text) + 1)
    return [*doc[:at], Line(text[:place] + bytes(chance.choice((1, 512, 5000))) + text[place:], None), *doc[at + 1 :]]


def _hole_between(doc: Doc, at: int, chance: random.Random) -> Doc:
    return [*doc[:at], Line(bytes(chance.choice((1, 4096, 70_000))), None), *doc[at:]]


def _recode(doc: Doc, at: int, chance: random.Random) -> Doc:
    text = doc[at].data.decode("utf-8", "replace")
    data = chance.choice(
        (text.encode("utf-16"), (text + "é").encode("latin-1", "replace"), b"\xff\xfe" + text.encode())
    )
    return [*doc[:at], Line(data.replace(b"\n", b"?"), None), *doc[at + 1 :]]


def _carriage(doc: Doc, at: int, _chance: random.Random) -> Doc:
    line = doc[at]
    return [*doc[:at], Line(line.data.rstrip(b"\r") + b"\r", line.origin), *doc[at + 1 :]]


def _long(doc: Doc, at: int, chance: random.Random) -> Doc:
    return [*doc[:at], Line(b"x" * chance.choice((70_000, 600_000)), None), *doc[at:]]


def _drop(doc: Doc, at: int, _chance: random.Random) -> Doc:
    return [*doc[:at], *doc[at + 1 :]]


WAYS: tuple[Callable[[Doc, int, random.Random], Doc], ...] = (
    _cut, _glue, _cut_and_glue, _duplicate, _reorder, _flip, _hole, _hole_between, _recode, _carriage, _long, _drop,
)  # fmt: skip


def mangled(data: bytes, chance: random.Random, times: int) -> Doc:
    """The log with so many damages at random places."""
    doc = lines_of(data)
    for _ in range(times):
        doc = chance.choice(WAYS)(doc, chance.randrange(len(doc)), chance) or doc
    return doc


def bytes_of(doc: Doc, chance: random.Random) -> bytes:
    """The damaged log as a file, sometimes without its last newline."""
    return b"\n".join(line.data for line in doc) + chance.choice((b"\n", b"\n", b""))


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Bytes of an archive with a piece missing, repeated, zeroed or noisy."""
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((1, 2, 16, 700)))
    way = chance.randrange(5)
    if way == 0:
        return data[:start]
    middle = (b"", data[start:end] * 2, bytes(end - start), chance.randbytes(end - start))[way - 1]
    return data[:start] + middle + data[end:]
