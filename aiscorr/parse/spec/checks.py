"""What is checked of every spec file, be it of a pattern or a format: its keys, its words, its regex, its samples."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiscorr.errors import SpecError
from aiscorr.parse.values import Value


@dataclass(frozen=True)
class Sample:
    """A line that a spec must match, with the values it must give."""

    line: str
    expect: Mapping[str, Value]


def require(condition: bool, what: str, path: Path, try_this: str) -> None:
    """Raises a SpecError for the file where the condition does not hold."""
    if not condition:
        raise SpecError(what, where=str(path), try_this=try_this)


def check_names(path: Path, raw: Mapping[str, Any], known: Collection[str], needed: Iterable[str], kind: str) -> None:
    """Raises a SpecError for a key that is not known, or for one that is missing in a file of this kind."""
    unknown = sorted(set(raw) - set(known))
    require(not unknown, f"unknown key {unknown[0] if unknown else ''!r}", path, f"one of {', '.join(sorted(known))}")
    for key in needed:
        require(key in raw, f"key {key!r} is missing", path, f"see another {kind} file for an example")


def one_of(raw: Mapping[str, Any], key: str, allowed: Iterable[str], path: Path) -> str | None:
    """The word under a key, None where there is none. Raises a SpecError for one that is not allowed."""
    value = raw.get(key)
    if value is None:
        return None
    allowed = tuple(allowed)
    require(value in allowed, f"{key} = {value!r} is not known", path, f"one of {', '.join(allowed)}")
    return str(value)


def read_samples(raw: Mapping[str, Any], path: Path) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """The samples and near misses of a spec file."""
    samples = tuple(Sample(str(s["line"]), dict(s.get("expect", {}))) for s in raw.get("sample", ()))
    misses = tuple(str(s["line"]) for s in raw.get("near_miss", ()))
    require(bool(samples), "no [[sample]]", path, "add a real line and the values it gives")
    return samples, misses


def compile_regex(text: str, *, where: str, flags: int = 0) -> re.Pattern[bytes]:
    """The bytes regex, or a SpecError that shows the expression with a caret below the mistake."""
    try:
        return re.compile(text.encode(), flags)
    except re.error as error:
        raise SpecError(
            f"the regex does not compile: {error.msg}",
            where=where,
            regex=text,
            position=None if error.pos is None else len(text.encode()[: error.pos].decode(errors="replace")),
            try_this="correct the expression at the caret",
        ) from None
