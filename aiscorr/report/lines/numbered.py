"""Lines of a source with their numbers, from one on, without keeping what comes before it in memory."""

from __future__ import annotations

from collections.abc import Iterator

from aiscorr.errors import SourceError
from aiscorr.sources.read import TruncatedError, buffered, open_member

#: So much of a line is kept; a line of gigabytes is no line of a log.
LINE_BYTES = 1 << 14
_BLOCK_BYTES = 1 << 20


def numbered_lines(path: str, first: int = 1) -> Iterator[tuple[int, bytes]]:
    """The lines of a file or archive member from number `first` on, each without its line break and cut where long.

    Raises SourceError where the file is gone or cannot be read; of a damaged archive the lines before the damage come.
    """
    try:
        with buffered(open_member(path), _BLOCK_BYTES) as stream:
            rest = b""
            left = first - 1
            while left > 0:
                block = stream.read(_BLOCK_BYTES)
                if not block:
                    return
                count = block.count(b"\n")
                if count >= left:
                    rest = block.split(b"\n", left)[left]
                    break
                left -= count
            yield from _lines(rest, stream, first)
    except TruncatedError:
        return
    except OSError as error:
        raise SourceError(f"it cannot be read: {error.strerror or error}", where=path, try_this="ulimit -n") from None


def _lines(head: bytes, stream: object, first: int) -> Iterator[tuple[int, bytes]]:
    """The lines of what was read already and of what follows it."""
    readline = stream.readline  # type: ignore[attr-defined]
    number = first
    *whole, rest = head.split(b"\n")
    for line in whole:
        yield number, line[:LINE_BYTES]
        number += 1
    while more := readline(LINE_BYTES):
        kept = rest + more if len(rest) < LINE_BYTES else rest
        if not more.endswith(b"\n"):
            rest = kept
            continue
        yield number, kept.rstrip(b"\r\n")[:LINE_BYTES]
        number, rest = number + 1, b""
    if rest:
        yield number, rest[:LINE_BYTES]
