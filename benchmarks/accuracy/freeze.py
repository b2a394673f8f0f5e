"""Chooses the incidents of `frozen/incidents.tar.xz` among all generated ones and packs them; the bytes repeat.

Comes in: the archives of all parts. Goes out: one archive with a folder an incident. The parts take turns; each gives,
of the smaller half of its incidents, one of a kind that is not chosen yet (runs without a failure, which are of few
kinds, may repeat theirs), and of these the one whose side and whose evidence taken away are represented least so far,
measured by their share of all; then the smallest.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.places import incidents


@dataclass(frozen=True)
class Candidate:
    """A generated incident; `size` is in bytes."""

    folder: Path
    part: str
    kind: str
    side: str
    taken: str
    size: int


def candidate(folder: Path) -> Candidate:
    """What the choice looks at, read from the folder's files and the `[accuracy]` of its truth."""
    made = tomllib.loads((folder / "truth.toml").read_text("utf-8"))["accuracy"]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Candidate(folder, made["part"], made["kind"], made["side"], made["taken"], size)


def chosen(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """At most `count` of the candidates, in the order in which they are chosen, no two faults of one kind."""
    parts = {part: _smaller_half(candidates, part) for part in sorted({one.part for one in candidates})}
    sides, taken = Counter(one.side for one in candidates), Counter(one.taken for one in candidates)
    found: list[Candidate] = []
    kinds: set[str] = set()
    has_sides: Counter[str] = Counter()
    has_taken: Counter[str] = Counter()

    def represented(one: Candidate) -> tuple[float, int, str]:
        share = has_sides[one.side] / sides[one.side] + has_taken[one.taken] / taken[one.taken]
        return round(share, 9), one.size, one.folder.name

    while len(found) < count:
        before = len(found)
        for part in parts.values():
            fresh = [one for one in part if one.kind not in kinds]
            if fresh and len(found) < count:
                best = min(fresh, key=represented)
                found.append(best)
                part.remove(best)
                if best.side != "none":
                    kinds.add(best.kind)
                has_sides[best.side] += 1
                has_taken[best.taken] += 1
        if len(found) == before:
            break
    return found


def _smaller_half(candidates: Sequence[Candidate], part: str) -> list[Candidate]:
    found = sorted((one for one in candidates if one.part == part), key=lambda one: (one.size, one.folder.name))
    return found[: (len(found) + 1) // 2]


def freeze(places: Sequence[Path], archive: Path, unpacked: Path, count: int = 300) -> list[Candidate]:
    """Writes the archive and returns what is in it, by name; the places are unpacked below the folder `unpacked`."""
    found = chosen([candidate(folder) for folder in incidents(places, unpacked)], count)
    found.sort(key=lambda one: one.folder.name)
    with (
        lzma.open(archive, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out,
    ):
        for one in found:
            for entry, content in _entries(one.folder):
                out.addfile(entry, io.BytesIO(content))
    return found


def _entries(folder: Path) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """The files of an incident, of no owner; the time of each is that of the collection of the logs, and dates them."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            entry = tarfile.TarInfo(str(path.relative_to(folder.parent)))
            content = path.read_bytes()
            entry.size, entry.mtime = len(content), int(path.stat().st_mtime)
            yield entry, content
