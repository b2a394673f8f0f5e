"""The inner loops of reading in C, where they were built; `module` is None elsewhere, and Python does the same, slower.

`hatch_build.py` builds them. AISCORR_NO_NATIVE=1 leaves them out, when it is set then or when the program runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiscorr.native._native import Words

#: As in module.c: what was built from other sources is not used.
VERSION = 8


def _load() -> ModuleType | None:
    if os.environ.get("AISCORR_NO_NATIVE"):
        return None
    try:
        from aiscorr.native import _native
    except ImportError:
        return None
    return _native if getattr(_native, "VERSION", 0) == VERSION else None


module: ModuleType | None = _load()


def count_newlines(data: bytes | bytearray, start: int, end: int) -> int:
    """The newlines between two places."""
    return data.count(b"\n", start, end) if module is None else int(module.count_newlines(data, start, end))


def iso_ns(raw: bytes) -> int | None:
    """Nanoseconds of a plain time since 1970 as ISO 8601 writes it; None where Python is to look at it."""
    return None if module is None else module.iso_ns(raw)


def record_head(line: bytes) -> tuple[str, int, str | None, int] | None:
    """Severity, nanoseconds since midnight, source location and where the message begins, of a plain AIStore record.

    None where Python is to look at the line.
    """
    return None if module is None else module.record_head(line)


#: As in words.c.
MOST_WORDS = _LONGEST_WORD = 64


def _compiled(words: tuple[bytes, ...], *, folds: bool = False) -> list[Words] | None:
    """The words in parts as the compiled part takes them; None where it is not there or does not take one of them."""
    if module is None or any(not 0 < len(word) <= _LONGEST_WORD for word in words):
        return None
    return [module.Words(words[at : at + MOST_WORDS], folds) for at in range(0, len(words), MOST_WORDS)]


def finder(words: tuple[bytes, ...], *, folds: bool = False) -> Callable[[str | bytes], int]:
    """What tells which of some words a text holds: bit n of its answer is the n-th word.

    `folds`: the words are in lower case, and the case of the text does not count. Words asked of a `str` are ASCII.
    """
    compiled = _compiled(words, folds=folds)
    if compiled is None:
        return _plain_finder(words, folds)
    parts = [part.of for part in compiled]
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        first, second = parts
        return lambda text: first(text) | second(text) << MOST_WORDS
    return lambda text: sum(part(text) << number * MOST_WORDS for number, part in enumerate(parts))


def place_finder(words: tuple[bytes, ...]) -> Callable[[bytes | bytearray, int, int], int]:
    """What tells where the first of some words between two places of a text begins; -1 for none."""
    parts = _compiled(words)
    if parts is None:
        return lambda text, start, end: _first_place(words, text, start, end)

    def find(text: bytes | bytearray, start: int, end: int) -> int:
        found = -1
        for part, most in zip(parts, (0, *(_LONGEST_WORD for _ in parts)), strict=False):
            place = part.first_place(text, start, end if found < 0 else min(end, found + most))
            found = place if place >= 0 and (found < 0 or place < found) else found
        return found

    return find


def _first_place(words: tuple[bytes, ...], text: bytes | bytearray, start: int, end: int) -> int:
    found = -1
    for word in words:
        place = text.find(word, start, end if found < 0 else min(end, found + len(word) - 1))
        found = place if place >= 0 else found
    return found


def line_finder(words: tuple[bytes, ...]) -> Callable[[bytes, int], tuple[int, int] | None]:
    """What tells where the last line in front of a place begins and ends that holds one of some words."""
    parts = _compiled(words)
    if parts is None:
        return lambda text, end: _last_line(words, text, end)

    def find(text: bytes, end: int) -> tuple[int, int] | None:
        found = None
        for part in parts:
            found = part.last_line(text, found[1] + 1 if found else 0, end) or found
        return found

    return find


def _last_line(words: tuple[bytes, ...], text: bytes, end: int) -> tuple[int, int] | None:
    while end >= 0:
        start = text.rfind(b"\n", 0, end) + 1
        if any(text.find(word, start, end) >= 0 for word in words):
            return start, end
        end = start - 1
    return None


def _plain_finder(words: tuple[bytes, ...], folds: bool) -> Callable[[str | bytes], int]:
    of_bytes = [(1 << number, word) for number, word in enumerate(words)]
    of_text = [(bit, word.decode("utf-8", "replace")) for bit, word in of_bytes]

    def find(text: str | bytes) -> int:
        if folds:
            text = text.lower()
        if isinstance(text, str):
            return sum(bit for bit, word in of_text if word in text)
        return sum(bit for bit, word in of_bytes if word in text)

    return find


def describe() -> str:
    """Whether logs are read by the compiled part, in a few words."""
    return "compiled reader" if module is not None else "reader in Python only (slower; no C compiler at installation?)"
