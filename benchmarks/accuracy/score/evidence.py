"""Opens the files that a report cites, without the help of aiscorr: do the cited lines say what is quoted?"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.score.mistakes import Mistake
from benchmarks.accuracy.score.truth import Json

_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_UNREADABLE = (OSError, EOFError, KeyError, ValueError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_QUOTED_MAIL = re.compile(r"^(\s*>)+")
#: A line that a terminal broke goes on in the next ones.
_LINES_JOINED = 6
#: A piece of a shortened quotation that is shorter says too little to be looked for.
_PIECE_LENGTH = 8


def cited(failure: Json) -> list[Json]:
    """Every line that a failure cites for or against its hypotheses."""
    causes = failure.get("root_causes", [])
    return [line for cause in causes for line in (*cause.get("supports", []), *cause.get("contradicts", []))]


class CitedFiles:
    """Files by the paths that a report gives (`archive!member` is inside an archive); each is read once."""

    def __init__(self, roots: Sequence[Path]) -> None:
        """`roots` are the folders that paths may be relative to."""
        self._roots = tuple(roots)
        self._read: dict[Path, list[str] | None] = {}

    def stands(self, line: Json) -> bool | None:
        """True: the line says what is cited. False: it does not. None: the path leads nowhere."""
        path, line_no = str(line.get("path") or ""), line.get("line_no")
        lines = self._lines(path) if path else None
        if lines is None:
            return None
        if not line_no:
            return bool(line.get("locator")) or None
        return 0 < line_no <= len(lines) and _says(lines[line_no - 1 :][:_LINES_JOINED], line.get("text") or "")

    def mistakes(self, failure: Json, *, is_strict: bool) -> list[Mistake]:
        """What is wrong with the evidence of a failure; strict: every path exists and some line is cited."""
        lines = cited(failure)
        stands = [(line, self.stands(line)) for line in lines]
        false = [line for line, is_there in stands if is_there is False]
        nowhere = [line for line, is_there in stands if is_there is None]
        found = []
        if false:
            where = f"{false[0].get('path')}:{false[0].get('line_no')}"
            found.append(Mistake("evidence", f"{len(false)} of {len(lines)} lines do not say so, e.g. {where}"))
        if is_strict and nowhere:
            words = f"{len(nowhere)} of {len(lines)} paths lead nowhere, e.g. {nowhere[0].get('path')}"
            found.append(Mistake("evidence", words))
        if is_strict and not lines:
            found.append(Mistake("evidence", "none"))
        return found

    def _lines(self, path: str) -> list[str] | None:
        for place in (Path(path), *(root / path for root in self._roots)):
            if place not in self._read:
                content = _content(place)
                self._read[place] = None if content is None else content.decode(errors="replace").split("\n")
            if (lines := self._read[place]) is not None:
                return lines
        return None


def _says(lines: Sequence[str], text: str) -> bool:
    """The pieces of a shortened text stand in order, the first of them beginning in the first line."""
    pieces = [piece for part in text.split("…") if (piece := _bare(part))]
    sure = [piece for piece in pieces if len(piece) >= _PIECE_LENGTH] or pieces[:1]
    bare = [_bare(line) for line in lines]
    whole, at = "".join(bare), 0
    for number, piece in enumerate(sure):
        at = whole.find(piece, at)
        if at < 0 or (number == 0 and at >= max(len(bare[0]), 1)):
            return False
    return bool(sure)


def _bare(text: str) -> str:
    """Without colours, a mail's quotation marks, white space and what cannot be seen."""
    plain = _QUOTED_MAIL.sub("", _TERMINAL.sub("", text))
    return "".join(sign for sign in plain if sign.isprintable() and not sign.isspace())


def _content(path: Path) -> bytes | None:
    """The decompressed bytes of a file or of a member of an archive; None if there is none that can be read."""
    first, *inside = str(path).split("!")
    try:
        data = Path(first).read_bytes()
        for name in inside:
            data = _member(data, name)
        is_packed = data.startswith(_GZIP) and (inside or not first.endswith((".tar.gz", ".tgz")))
        return gzip.decompress(data) if is_packed else data
    except _UNREADABLE:
        return None


def _member(archive: bytes, name: str) -> bytes:
    if archive.startswith(_ZIP):
        return zipfile.ZipFile(io.BytesIO(archive)).read(name)
    if archive.startswith(_ZSTD):
        import pyarrow as pa

        archive = pa.CompressedInputStream(pa.BufferReader(archive), "zstd").read()
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        member = packed.extractfile(name)
        if member is None:
            raise ValueError(f"{name} is no file")
        return member.read()
