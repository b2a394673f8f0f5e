"""Reads pattern and format files (TOML), checks every key and sample, and hands out compiled specs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from aiscorr.errors import SpecError
from aiscorr.parse.spec_files import read_folder
from aiscorr.parse.values import CONVERTERS, Value, default_converter
from aiscorr.tables import AIS_LINE, STEP_LINE, WORKER_LINE, WORKER_TAIL, Table

#: Patterns that the tests have checked, every one.
_OWN_FOLDER = Path(__file__).parent.parent / "patterns"
SEVERITIES = ("error", "warning", "info")
ROLES = (
    "cause",
    "symptom",
    "consequence",
    "retry",
    "recovery",
    "lifecycle",
    "identity",
    "context",
    "noise",
)
TIERS = (
    "process",
    "training",
    "data_io",
    "collective",
    "launcher",
    "gpu",
    "network",
    "storage",
    "membership",
    "capacity",
    "load",
    "get_batch",
    "lifecycle",
    "other",
)
FORMAT_TABLES: dict[str, Table] = {
    "ais": AIS_LINE,
    "worker": WORKER_LINE,
    "tail": WORKER_TAIL,
    "step": STEP_LINE,
    "repeated": STEP_LINE,
}
BLOCKS = ("traceback", "torchrun_table", "collective_stack", "message", "oom_kill", "threads")
#: What the frames of a traceback can tell that it was doing.
FRAME_KINDS = (
    "storage",
    "checkpoint",
    "data_loading",
    "decoding",
    "collective",
    "log_upload",
    "hub_wait",
    "another_service",
    "other",
)
#: What a pattern may ask of the traceback its line ends: a kind, that the last call talked to a process beside, or that
#: it waited for data which the program itself was to get, or that a compiler of kernels made it.
INSIDES = (*FRAME_KINDS, "helper_process", "data_wait", "compiler")
MARKS = ("attempt_start", "attempt_end", "job_success")
RANK_EFFECTS = ("timed_out", "notified", "reached_barrier", "names_peer", "killed", "lost_peer")
FAILURE_CLASSES = (
    "storage_io",
    "data_loading_stall",
    "data",
    "network",
    "gpu",
    "gpu_fabric",
    "collective_mismatch",
    "rank_hang",
    "software",
    "infrastructure",
    "undetermined",
)

RECIPIENTS = ("storage", "client", "training")
_TEXT_KEYS = ("title", "means", "look_at", "fix", "source")
_KEYS = {
    *_TEXT_KEYS,
    "severity",
    "tier",
    "role",
    "fix_by",
    "failure_class",
    "activity",
    "chain_step",
    "node_effect",
    "subject",
    "formats",
    "priority",
    "literal",
    "regex",
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


@dataclass(frozen=True)
class Sample:
    """A line that a spec must match, with the values it must give."""

    line: str
    expect: Mapping[str, Value]


@dataclass(frozen=True)
class Pattern:
    """One recognised message. `literals`: every match contains at least one of them. `inside`: it is the exception
    of a traceback whose frames are of this kind, and nothing else.

    Regex and converters are made when they are first asked for: a run meets few of the many patterns.
    """

    name: str
    path: str
    title: str
    means: str
    look_at: str
    fix: str
    source: str
    severity: str
    tier: str
    role: str
    formats: tuple[str, ...]
    priority: int
    literals: tuple[bytes, ...]
    regex_text: bytes
    named_converters: Mapping[str, str]
    constant: Mapping[str, Value] = field(default_factory=dict)
    fix_by: str | None = None
    failure_class: str | None = None
    activity: str | None = None
    chain_step: str | None = None
    node_effect: str | None = None
    subject: str | None = None
    opens: str | None = None
    inside: str | None = None
    marks: str | None = None
    rank_effect: str | None = None
    prefilter: str | None = None
    samples: tuple[Sample, ...] = ()
    near_misses: tuple[str, ...] = ()

    @cached_property
    def regex(self) -> re.Pattern[bytes]:
        """The compiled regex. Raises SpecError."""
        return compile_regex(self.regex_text.decode(), where=self.path)

    @cached_property
    def convert(self) -> dict[str, str]:
        """The converter of each group. Raises SpecError."""
        return _converters(self.named_converters, self.regex, self.formats, Path(self.path))

    def check(self) -> None:
        """Makes regex and converters. Raises SpecError where one is wrong."""
        _ = self.convert

    @cached_property
    def _groups(self) -> tuple[tuple[str, Callable[[str], Value]] | None, ...]:
        """Name and converter of each group by its number; None for a group without a name."""
        named = {number: name for name, number in self.regex.groupindex.items()}
        chosen = (named.get(number) for number in range(1, self.regex.groups + 1))
        return tuple((name, CONVERTERS[self.convert[name]]) if name is not None else None for name in chosen)

    def values(self, match: re.Match[bytes]) -> dict[str, Value]:
        """The captured groups of a match, converted; empty groups are left out."""
        found: dict[str, Value] = dict(self.constant)
        for group, raw in zip(self._groups, match.groups(), strict=True):
            if raw is None or group is None:
                continue
            name, convert = group
            text = raw.decode("utf-8", "replace")
            try:
                found[name] = convert(text)
            except (ValueError, OverflowError):
                found[f"bad_{name}"] = text
        return found


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


def _require(condition: bool, what: str, path: Path, try_this: str) -> None:
    if not condition:
        raise SpecError(what, where=str(path), try_this=try_this)


def _one_of(raw: Mapping[str, Any], key: str, allowed: Iterable[str], path: Path) -> str | None:
    value = raw.get(key)
    if value is None:
        return None
    allowed = tuple(allowed)
    _require(value in allowed, f"{key} = {value!r} is not known", path, f"one of {', '.join(allowed)}")
    return str(value)


def read_samples(raw: Mapping[str, Any], path: Path) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """The samples and near misses of a spec file."""
    samples = tuple(Sample(str(s["line"]), dict(s.get("expect", {}))) for s in raw.get("sample", ()))
    misses = tuple(str(s["line"]) for s in raw.get("near_miss", ()))
    _require(bool(samples), "no [[sample]]", path, "add a real line and the values it gives")
    return samples, misses


def _converters(
    named: Mapping[str, str], regex: re.Pattern[bytes], formats: tuple[str, ...], path: Path
) -> dict[str, str]:
    types: dict[str, str] = {}
    for name in formats:
        types.update({column.name: column.type for column in FORMAT_TABLES[name].columns})
    chosen = {group: default_converter(types.get(group, "VARCHAR")) for group in regex.groupindex}
    for group, converter in named.items():
        _require(group in chosen, f"convert.{group}: the regex has no such group", path, "name a group of the regex")
        _require(
            converter in CONVERTERS,
            f"convert.{group} = {converter!r} is not known",
            path,
            f"one of {', '.join(sorted(CONVERTERS))}",
        )
        chosen[group] = converter
    return chosen


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
    unknown = sorted(set(raw) - _KEYS)
    _require(not unknown, f"unknown key {unknown[0] if unknown else ''!r}", path, f"one of {', '.join(sorted(_KEYS))}")
    for key in (*_TEXT_KEYS, "severity", "tier", "role", "formats", "literal", "regex"):
        _require(key in raw, f"key {key!r} is missing", path, "see another pattern file for an example")
    for key, value in raw.items():
        _require(_has_its_type(key, value), f"{key} = {value!r} is of the wrong type", path, _TYPES.get(key, "a text"))
    _require(
        bool(raw["formats"]) and all(f in FORMAT_TABLES for f in raw["formats"]),
        f"formats = {raw['formats']!r} is not known",
        path,
        f"any of {', '.join(FORMAT_TABLES)}",
    )


def checked_pattern(path: Path, raw: Mapping[str, Any]) -> Pattern:
    """A pattern whose file is right in every key, its regex and its converters. Raises SpecError."""
    _check_keys(path, raw)
    pattern = parse_pattern(path, raw)
    _require(
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
        severity=_one_of(raw, "severity", SEVERITIES, path) or "info",
        tier=_one_of(raw, "tier", TIERS, path) or "other",
        role=_one_of(raw, "role", ROLES, path) or "context",
        formats=formats,
        priority=int(raw.get("priority", 50)),
        literals=tuple(text.encode() for text in literals),
        regex_text=raw["regex"].encode(),
        named_converters=dict(raw.get("convert", {})),
        constant=dict(raw.get("constant", {})),
        fix_by=_one_of(raw, "fix_by", RECIPIENTS, path),
        failure_class=_one_of(raw, "failure_class", FAILURE_CLASSES, path),
        activity=raw.get("activity"),
        chain_step=raw.get("chain_step"),
        node_effect=raw.get("node_effect"),
        subject=_one_of(raw, "subject", ("self", "peer"), path),
        opens=_one_of(raw, "opens", BLOCKS, path),
        inside=_one_of(raw, "inside", INSIDES, path),
        marks=_one_of(raw, "marks", MARKS, path),
        rank_effect=_one_of(raw, "rank_effect", RANK_EFFECTS, path),
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


def sample_mismatch(pattern: Pattern, sample: Sample) -> str | None:
    """Why a sample does not hold, or None. Shows the regex and how far it matched."""
    line = sample.line.encode()
    match = pattern.regex.search(line)
    if match is None:
        regex = pattern.regex.pattern.decode()
        return f"{pattern.path}: no match\n  line  {sample.line}\n  regex {regex}\n  {_how_far(pattern, line)}"
    if not any(literal in line for literal in pattern.literals):
        return f"{pattern.path}: the sample holds none of the literals {list(pattern.literals)}"
    values = pattern.values(match)
    for key, expected in sample.expect.items():
        if values.get(key) != expected:
            return f"{pattern.path}: {key} is {values.get(key)!r}, expected {expected!r}\n  line  {sample.line}"
    return None


def _how_far(pattern: Pattern, line: bytes) -> str:
    text = pattern.regex.pattern
    for end in range(len(text) - 1, 0, -1):
        try:
            part = re.compile(text[:end])
        except re.error:
            continue
        if part.search(line):
            return f"matches as far as {text[:end].decode()!r}"
    return "matches nothing of it"
