"""Line formats (formats/*.toml): collector wrappers, time stamps, rank tags and file kinds, compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from aiscorr.errors import SpecError
from aiscorr.parse.regex_facts import first_bytes
from aiscorr.parse.spec import Sample, compile_regex, read_samples
from aiscorr.parse.spec_files import read_folder

ROLES = ("file", "wrapper", "stamp", "rank")
KINDS = ("ais_log", "worker_log", "flight_recorder", "stack_dump", "node_status", "unknown")
_KEYS = {"title", "source", "role", "order", "regex", "anywhere", "kind", "share", "min_count", "sample", "near_miss"}


@dataclass(frozen=True)
class LineFormat:
    """One line format. `share`: for role file, the part of the first lines that must match."""

    name: str
    path: str
    title: str
    source: str
    role: str
    order: int
    regex: re.Pattern[bytes]
    is_anywhere: bool
    kind: str | None
    share: float
    min_count: int
    samples: tuple[Sample, ...]
    near_misses: tuple[str, ...]

    @cached_property
    def first_bytes(self) -> frozenset[int] | None:
        """The bytes a match may begin with; None where any will do."""
        return first_bytes(self.regex)


def parse_format(path: Path, raw: Mapping[str, Any]) -> LineFormat:
    """A checked format from the content of its file; the file stem is its name."""
    unknown = sorted(set(raw) - _KEYS)
    if unknown:
        raise SpecError(f"unknown key {unknown[0]!r}", where=str(path), try_this=f"one of {', '.join(sorted(_KEYS))}")
    for key in ("title", "source", "role", "order", "regex"):
        if key not in raw:
            raise SpecError(
                f"key {key!r} is missing", where=str(path), try_this="see another format file for an example"
            )
    if raw["role"] not in ROLES:
        raise SpecError(f"role = {raw['role']!r} is not known", where=str(path), try_this=f"one of {', '.join(ROLES)}")
    if raw["role"] == "file" and raw.get("kind") not in KINDS:
        raise SpecError(
            f"kind = {raw.get('kind')!r} is not known", where=str(path), try_this=f"one of {', '.join(KINDS)}"
        )
    samples, misses = read_samples(raw, path)
    return LineFormat(
        name=path.stem,
        path=str(path),
        title=str(raw["title"]),
        source=str(raw["source"]),
        role=str(raw["role"]),
        order=int(raw["order"]),
        regex=compile_regex(raw["regex"], where=str(path)),
        is_anywhere=bool(raw.get("anywhere", False)),
        kind=raw.get("kind"),
        share=float(raw.get("share", 0.5)),
        min_count=int(raw.get("min_count", 1)),
        samples=samples,
        near_misses=misses,
    )


@lru_cache(maxsize=8)
def load_formats(role: str, extra_folders: tuple[str, ...] = ()) -> tuple[LineFormat, ...]:
    """The formats of one role in their order; a later folder replaces a format of the same name."""
    chosen = (form for form in _all_formats(extra_folders) if form.role == role)
    return tuple(sorted(chosen, key=lambda form: (form.order, form.name)))


@lru_cache(maxsize=8)
def _all_formats(extra_folders: tuple[str, ...]) -> tuple[LineFormat, ...]:
    found: dict[str, LineFormat] = {}
    for folder in (Path(__file__).parent.parent / "formats", *map(Path, extra_folders)):
        for path, raw in read_folder(folder).items():
            form = parse_format(Path(path), raw)
            found[form.name] = form
    return tuple(found.values())
