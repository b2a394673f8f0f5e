"""Line formats (formats/*.toml): collector wrappers, time stamps, rank tags and file kinds, compiled."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from aiscorr import cache
from aiscorr.parse.search.regex_facts import RegexFacts
from aiscorr.parse.spec.checks import Sample, check_names, compile_regex, one_of, read_samples, require
from aiscorr.parse.spec.files import read_folder

ROLES = ("file", "wrapper", "stamp", "rank")
KINDS = ("ais_log", "worker_log", "flight_recorder", "stack_dump", "node_status", "unknown")
_NEEDED_KEYS = ("title", "source", "role", "order", "regex")
_KEYS = {*_NEEDED_KEYS, "anywhere", "kind", "share", "min_count", "sample", "near_miss"}


_NO_FACTS = RegexFacts(None, None, None, frozenset())
_FACTS_VERSION = "1"


@dataclass(frozen=True)
class LineFormat:
    """One line format. `share`: for role file, the part of the first lines that must match.

    The regex is compiled when it is first asked for: a run tries few of them.
    """

    name: str
    path: str
    title: str
    source: str
    role: str
    order: int
    regex_text: str
    is_anywhere: bool
    kind: str | None
    share: float
    min_count: int
    samples: tuple[Sample, ...]
    near_misses: tuple[str, ...]
    facts: RegexFacts = _NO_FACTS

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        """The compiled regex. Raises SpecError."""
        return compile_regex(self.regex_text, where=self.path)


def parse_format(path: Path, raw: Mapping[str, Any]) -> LineFormat:
    """A checked format from the content of its file; the file stem is its name."""
    check_names(path, raw, _KEYS, _NEEDED_KEYS, "format")
    role, kind = str(one_of(raw, "role", ROLES, path)), raw.get("kind")
    require(role != "file" or kind in KINDS, f"kind = {kind!r} is not known", path, f"one of {', '.join(KINDS)}")
    samples, misses = read_samples(raw, path)
    return LineFormat(
        name=path.stem,
        path=str(path),
        title=str(raw["title"]),
        source=str(raw["source"]),
        role=role,
        order=int(raw["order"]),
        regex_text=str(raw["regex"]),
        is_anywhere=bool(raw.get("anywhere", False)),
        kind=kind,
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
    for folder in (Path(__file__).parents[2] / "formats", *map(Path, extra_folders)):
        for path, raw in read_folder(folder).items():
            form = parse_format(Path(path), raw)
            found[form.name] = form
    facts = _facts(found.values())
    return tuple(replace(form, facts=facts[form.name]) for form in found.values())


def _facts(forms: Collection[LineFormat]) -> dict[str, RegexFacts]:
    """What is known of the regexes by the names of their formats, kept in the cache. Raises SpecError."""

    def make() -> bytes:
        return json.dumps({form.name: _plain(RegexFacts.of(form.regex)) for form in forms}).encode()

    key = cache.key_of([_FACTS_VERSION, sys.version, *(f"{f.name} {f.regex_text}" for f in forms)])
    return cache.cached_json(
        f"formats-{key}.json", make, lambda held: {form: _from_plain(*facts) for form, facts in held.items()}
    )


def _plain(facts: RegexFacts) -> list[object]:
    words = None if facts.words is None else [word.decode("latin-1") for word in facts.words]
    first = None if facts.first_bytes is None else sorted(facts.first_bytes)
    return [words, facts.width, first, sorted(facts.groups)]


def _from_plain(words: list[str] | None, width: int | None, first: list[int] | None, groups: list[str]) -> RegexFacts:
    known = None if words is None else tuple(word.encode("latin-1") for word in words)
    return RegexFacts(known, width, None if first is None else frozenset(first), frozenset(groups))
