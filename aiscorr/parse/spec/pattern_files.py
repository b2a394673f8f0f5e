"""Reads pattern files: every key of a user's is checked, those of the package are checked by the tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from aiscorr.parse.spec import pattern_words as words
from aiscorr.parse.spec.checks import check_names, one_of, read_samples, require
from aiscorr.parse.spec.files import read_folder
from aiscorr.parse.spec.pattern import FORMAT_TABLES, Pattern

#: Patterns that the tests have checked, every one.
_OWN_FOLDER = Path(__file__).parents[2] / "patterns"
_TEXT_KEYS = ("title", "means", "look_at", "fix", "source")
_NEEDED_KEYS = (*_TEXT_KEYS, "severity", "tier", "role", "formats", "literal", "regex")
_KEYS = {
    *_NEEDED_KEYS,
    "fix_by",
    "failure_class",
    "activity",
    "chain_step",
    "node_effect",
    "subject",
    "priority",
    "convert",
    "constant",
    "opens",
    "inside",
    "marks",
    "rank_effect",
    "prefilter",
    "sample",
    "near_miss",
}
_TYPES = {
    "priority": "a whole number",
    "literal": "a text or a list of texts",
    "formats": "a list of texts",
    "convert": "a table of texts",
    "constant": "a table",
    "sample": "tables [[sample]] with a text `line` and a table `expect`",
    "near_miss": "tables [[near_miss]] with a text `line`",
}


def _is_samples(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and isinstance(item.get("line"), str) and isinstance(item.get("expect", {}), dict)
        for item in value
    )


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _has_its_type(key: str, value: object) -> bool:
    if key == "priority":
        return isinstance(value, int) and not isinstance(value, bool)
    if key in ("sample", "near_miss"):
        return _is_samples(value)
    if key == "convert":
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    if key == "constant":
        return isinstance(value, dict)
    return _is_texts(value) if key == "formats" else isinstance(value, str) or (key == "literal" and _is_texts(value))


def _check_keys(path: Path, raw: Mapping[str, Any]) -> None:
    check_names(path, raw, _KEYS, _NEEDED_KEYS, "pattern")
    for key, value in raw.items():
        require(_has_its_type(key, value), f"{key} = {value!r} is of the wrong type", path, _TYPES.get(key, "a text"))
    require(
        bool(raw["formats"]) and all(f in FORMAT_TABLES for f in raw["formats"]),
        f"formats = {raw['formats']!r} is not known",
        path,
        f"any of {', '.join(FORMAT_TABLES)}",
    )


def checked_pattern(path: Path, raw: Mapping[str, Any]) -> Pattern:
    """A pattern whose file is right in every key, its regex and its converters. Raises SpecError."""
    _check_keys(path, raw)
    pattern = parse_pattern(path, raw)
    require(
        all(pattern.literals), "an empty literal", path, "a text of three characters or more that every match contains"
    )
    pattern.check()
    return pattern


def parse_pattern(path: Path, raw: Mapping[str, Any]) -> Pattern:
    """A pattern from the content of its file, that is right in its keys; the file stem is its name."""
    formats = tuple(raw["formats"])
    literals = (raw["literal"],) if isinstance(raw["literal"], str) else tuple(raw["literal"])
    samples, misses = read_samples(raw, path)
    return Pattern(
        name=path.stem,
        path=str(path),
        **{key: str(raw[key]) for key in _TEXT_KEYS},
        severity=one_of(raw, "severity", words.SEVERITIES, path) or "info",
        tier=one_of(raw, "tier", words.TIERS, path) or "other",
        role=one_of(raw, "role", words.ROLES, path) or "context",
        formats=formats,
        priority=int(raw.get("priority", 50)),
        literals=tuple(text.encode() for text in literals),
        regex_text=raw["regex"].encode(),
        named_converters=dict(raw.get("convert", {})),
        constant=dict(raw.get("constant", {})),
        fix_by=one_of(raw, "fix_by", words.RECIPIENTS, path),
        failure_class=one_of(raw, "failure_class", words.FAILURE_CLASSES, path),
        activity=raw.get("activity"),
        chain_step=raw.get("chain_step"),
        node_effect=raw.get("node_effect"),
        subject=one_of(raw, "subject", words.SUBJECTS, path),
        opens=one_of(raw, "opens", words.BLOCKS, path),
        inside=one_of(raw, "inside", words.INSIDES, path),
        marks=one_of(raw, "marks", words.MARKS, path),
        rank_effect=one_of(raw, "rank_effect", words.RANK_EFFECTS, path),
        prefilter=raw.get("prefilter"),
        samples=samples,
        near_misses=misses,
    )


def load_patterns(folders: Iterable[Path], kind: str | None = None) -> tuple[Pattern, ...]:
    """All patterns of the folders (of one format); a later folder replaces a pattern of the same name."""
    found: dict[str, Pattern] = {}
    for folder in folders:
        for path, raw in read_folder(folder).items():
            if kind is None or kind in raw.get("formats", (kind,)):
                read = parse_pattern if folder == _OWN_FOLDER else checked_pattern
                pattern = read(Path(path), raw)
                found[pattern.name] = pattern
    return tuple(sorted(found.values(), key=lambda p: (p.priority, p.name)))


@lru_cache(maxsize=8)
def pattern_set(kind: str, extra_folders: tuple[str, ...] = ()) -> tuple[Pattern, ...]:
    """The patterns of one format (`ais`, `worker`, `tail`, `step`, `repeated`), ours first, then the user's."""
    return load_patterns([_OWN_FOLDER, *map(Path, extra_folders)], kind)
